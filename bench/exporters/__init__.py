"""Models that today's exporters write, each in an environment of its own, compiled and held to its reference."""
