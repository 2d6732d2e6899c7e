"""Stage 7: the execution plan as bytes."""
