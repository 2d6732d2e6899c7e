"""Offset assignment: places requests of known size and lifetime in one arena."""
