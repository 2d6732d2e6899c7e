"""Kernel libraries that may run int8 convolutions and fully connected layers instead of the portable kernels.

A library takes weights in their own order, biases without the input's zero point and shifts as int32: operators meant
for one become *plain* (OpKind.PLAIN_…), which the portable kernels can run too, only slower. What a library lacks
keeps its packed form and its portable kernel. Results are the same bytes either way.
"""

from __future__ import annotations

from tigris_pio.compiler.backends.assign import Assignment
from tigris_pio.compiler.backends.backend import BACKENDS, Backend, find_backend

__all__ = ["BACKENDS", "Assignment", "Backend", "find_backend"]
