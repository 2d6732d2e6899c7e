"""Layers with int16 activations.

Each `emit_…` returns whether it lowered the node. It does if all inputs and the output are quantised, one as int16, and
an int16 kernel exists. Otherwise the caller lowers the node without int16.

    types.py        symmetric int16 types of inputs and outputs
    layers.py       constants of layers with int8 weights
    elementwise.py  sums, products, extremes, and functions of one tensor
    lines.py        functions as tables of straight lines
"""
