"""Stage 6: the bands of a stage, which rows each needs, and what its windows take."""
