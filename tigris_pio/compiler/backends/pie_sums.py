"""Words with which the ESP32-S3's vectors add or subtract two int8 tensors, to the portable kernels' bytes.

TensorFlow Lite scales both inputs to a common scale, rounds each, and requantises their sum. The chip computes

    out = saturated((256 * factor[0] * a + 256 * factor[1] * b + 2^14 * offset) >> 35)

in lanes of 40 bits. Factors of a product have 16 bits, so words are two halves. The lower halves' products are summed
and shifted right by 16, the upper halves' are added, and the result is shifted by 11. The compiler rounds the real
factors. It takes the middle of the offsets with which all 65,536 pairs of inputs give the portable bytes. If there is
none, the operator stays portable.
"""

from __future__ import annotations

import functools

import numpy as np

from tigris_pio.compiler.ir.program import Program, ProgramOp
from tigris_pio.compiler.lower import numerics
from tigris_pio.format.enums import OpKind
from tigris_pio.format.params import BinaryInt8Params, PieSumInt8Params
from tigris_pio.format.record import Record

INT8 = (-128, 127)
#: Fraction bits of an output: a factor's, the lower half of which is exact in the sum; and zeros of an offset.
FACTOR_BITS, OFFSET_ZEROS = 27, 14
SUM_BITS = FACTOR_BITS + 8
#: Both halves of a word are signed.
LARGEST_WORD = (1 << 31) - (1 << 15) - 1
_CODES = np.arange(-128, 128, dtype=np.int64)
_NO_LIMIT = 1 << 62


def sum_params(program: Program, op: ProgramOp) -> Record | str:
    """The record of an ADD or SUB for its vector kernel, or why there is none."""
    params = op.params
    assert isinstance(params, BinaryInt8Params)
    touched = (program.tensors[name] for name in (op.output, *(operand.tensor for operand in op.operands)))
    if len({(tensor.batch, tensor.height, tensor.width, tensor.channels) for tensor in touched}) > 1:
        return "pie has no kernel that broadcasts"
    if (params.activation_min, params.activation_max) != INT8:
        return "pie has no kernel for sums with limits other than int8's"
    return with_words(params, op.kind) or "pie has no constants that give the same bytes for its scales"


def with_words(params: BinaryInt8Params, kind: OpKind) -> PieSumInt8Params | None:
    """The record with the words of an ADD or SUB; None if vector arithmetic cannot give the portable bytes."""
    words = _words(params, -1 if kind is OpKind.SUB else 1)
    fields = {field.name: getattr(params, field.name) for field in params.layout()}
    return None if words is None else PieSumInt8Params(**fields, words=words)


@functools.lru_cache(512)
def _words(params: BinaryInt8Params, sign: int) -> tuple[int, ...] | None:
    factors = [_factor(params, 0), sign * _factor(params, 1)]
    scaled = [numerics.multiply_rounded((_CODES - zero) << params.left_shift, multiplier, shift)
              for zero, multiplier, shift in zip(params.zero_point, params.multiplier, params.shift, strict=True)]
    sums = scaled[0][:, None] + sign * scaled[1]
    made = numerics.multiply_rounded(sums, params.output_multiplier, params.output_shift)
    outputs = np.clip(made + params.output_zero_point, *INT8)
    terms = (_CODES[:, None] * factors[0] + _CODES * factors[1]) << 8
    least = np.where(outputs > INT8[0], (outputs << SUM_BITS) - terms, -_NO_LIMIT).max()
    most = np.where(outputs < INT8[1], ((outputs + 1) << SUM_BITS) - 1 - terms, _NO_LIMIT).min()
    lowest, highest = -(-int(least) >> OFFSET_ZEROS), int(most) >> OFFSET_ZEROS
    words = (*factors, (lowest + highest) // 2)
    if lowest > highest or max(map(abs, words)) > LARGEST_WORD:
        return None
    return tuple(word + 2 * (word & 1 << 15) for word in words)


def _factor(params: BinaryInt8Params, place: int) -> int:
    """An input's scale over the output's, in units of 2^-FACTOR_BITS."""
    shift = int(params.shift[place] + params.output_shift + params.left_shift + FACTOR_BITS - 62)
    product = int(params.multiplier[place]) * int(params.output_multiplier)
    return product << shift if shift >= 0 else (product + (1 << -shift >> 1)) >> -shift
