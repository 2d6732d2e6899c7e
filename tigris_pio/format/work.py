"""The multiplications of each kind of operator, from its parameters and tensors."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

from tigris_pio.format.enums import RecurrentCell

#: A tensor of a program or of a plan.
Tensor: TypeAlias = Any
#: Gates of each cell.
GATES = {RecurrentCell.LSTM: 4, RecurrentCell.GRU: 3, RecurrentCell.RNN: 1}


class Work(NamedTuple):
    """The work of an operator.

    macs: multiply-accumulates, from the parameters, the number of images, the first operand and the output
    factors: the factors of the time that one output element takes, for runtime/src/band.c
    """

    macs: Callable[[Any, int, Tensor, Tensor], int]
    factors: str = ""


def _taps(params: Any) -> int:
    return int(params.kernel_height * params.kernel_width)


def _elements(tensor: Tensor) -> int:
    return int(tensor.batch * tensor.height * tensor.width * tensor.channels)


NONE = Work(lambda *_: 0)
CONVOLUTION = Work(lambda p, _, source, output: _elements(output) * _taps(p) * (source.channels // p.groups),
                   "KERNEL|CHANNELS")
DEPTHWISE = Work(lambda p, _, source, output: _elements(output) * _taps(p), "KERNEL")
TRANSPOSED = Work(lambda p, _, source, output: _elements(source) * _taps(p) * (output.channels // p.groups),
                  "KERNEL|CHANNELS")
#: A constant matrix and `rows` vectors.
LAYER = Work(lambda p, images, *_: images * p.rows * p.in_features * p.out_features, "VECTOR")
MATRICES = Work(lambda p, images, *_: images * math.prod(p.batch) * p.rows * p.depth * p.columns)
#: A constant matrix for each input row.
SUMS = Work(lambda p, _, source, output: source.height * p.in_features * p.out_features)
RECURRENT = Work(lambda p, _, source, output: p.steps * output.height * p.batch * GATES[RecurrentCell(p.cell)] * p.units
                 * (p.inputs + p.units))
SPECTRUM = Work(lambda p, *_: p.samples + p.points * (p.points.bit_length() - 1) + 2 * p.weight_count)
#: No MACs, but an element takes as long as a kernel has taps, or a pixel channels.
POOL, NEIGHBOURS = Work(NONE.macs, "KERNEL"), Work(NONE.macs, "CHANNELS")
