"""Decides where to cut the operators into stages."""
