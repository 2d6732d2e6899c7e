"""The serial harness: runs a board's models with the host's inputs and compares every output byte. See README.md."""
