"""Sweeps over the segments of a program: the bytes that each takes, and its calls and moves, in bands of one row."""
