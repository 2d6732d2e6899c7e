"""Stage 5: where to cut the operators into stages."""
