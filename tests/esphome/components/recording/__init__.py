"""A microphone that plays a file: for tests on the host."""
