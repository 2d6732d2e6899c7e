"""Layers with int16 activations: each function says whether it has lowered a node, which it has when all that the node
reads and writes is quantised, some of it as int16, and a kernel of int16 can be used. The others run as they did."""
