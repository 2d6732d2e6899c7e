"""Networks of the project's own making; README.md."""
