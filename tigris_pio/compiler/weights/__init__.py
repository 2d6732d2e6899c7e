"""The storage of weights in a plan, for planner, writer and C generator.

packing.py  the order of an operator's weights, as its kernel reads them
pie.py      the weights in streams of the ESP32-S3's vector kernels
block.py    the weight block of a stage: arrays, offsets, compression
section.py  all weights and constant operands of a plan
"""
