"""Stages 5 and 6: where to cut the program into stages, and in how many bands each stage runs."""
