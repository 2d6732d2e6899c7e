"""Models of today's exporters, each written in an environment of its own, compiled and compared with its reference."""
