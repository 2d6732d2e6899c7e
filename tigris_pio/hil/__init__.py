"""The serial harness: asks a board what it runs, runs it with the host's inputs, compares every output byte."""
