"""The storage of weights in a plan, for planner, writer and C generator. `format/packing.py` orders each array.

block.py    the weight block of a stage: arrays, offsets, compression
section.py  all weights and constant operands of a plan
"""
