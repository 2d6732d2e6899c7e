"""The bands of a stage: the rows that each needs, and the sizes of its windows."""
