"""How many instructions kernels take, on the processors that they were counted on: a linear model of what they do."""
