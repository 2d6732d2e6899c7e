"""A rig of boards for tests: places where boards are, who has which one now, what is flashed to it."""
