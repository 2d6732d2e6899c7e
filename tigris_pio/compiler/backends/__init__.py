"""Backends: kernels that run int8 convolutions and fully connected layers instead of the portable ones.

A library takes weights in canonical order, biases without the input's zero point, and int32 shifts. Operators for a
library therefore have plain kinds (OpKind.PLAIN_…), which portable kernels can also run, but more slowly. All other
operators stay portable. Outputs are the same bytes in both cases.

    backend.py      the table of backends
    chips.py        names of chips, and the backend that `auto` selects for each
    assign.py       gives the operators of a program to a backend
    shape.py        the sizes of an operator as libraries take them
    scratch.py      scratch of a library's kernels in a plan
    balance.py      shares fast memory between arena and scratch
    cmsis_nn.py, esp_nn.py    what these libraries support, and their scratch
    pie.py, pie_scales.py, pie_streams.py    the ESP32-S3's vector kernels
    mve.py           the vector kernels of Cortex-M55
    report.py       the kernel of each operator, and the reason
"""

from __future__ import annotations

from tigris_pio.compiler.backends.assign import Assignment
from tigris_pio.compiler.backends.backend import BACKENDS, Backend, find_backend

__all__ = ["BACKENDS", "Assignment", "Backend", "find_backend"]
