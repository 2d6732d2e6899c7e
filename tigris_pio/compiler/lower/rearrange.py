"""Finds the transpositions that can run in bands of rows."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

from tigris_pio.compiler.ir.program import RowMap
from tigris_pio.compiler.lower.storage import Dims

_LARGEST_TERM = 65535


@dataclasses.dataclass(frozen=True)
class BandedTranspose:
    """A transposition of one image: output sizes, input strides in elements, and the row map."""

    sizes: tuple[int, ...]
    steps: tuple[int, ...]
    rows: RowMap


def banded_transpose(sizes: Sequence[int], steps: Sequence[int], source: Dims, target: Dims) -> BandedTranspose | None:
    """The transposition of each image with a row map; None if an output row needs the whole input.

    Output element (i0, i1, …) of `sizes` is input element sum(i_k * steps[k]). The first axis must go over the rows of
    both tensors. Either several of its indices make one output row, as in a channel shuffle, or one index makes several
    output rows, as in DepthToSpace.
    """
    batch, height = target[:2]
    if height == 1 or source[0] != batch:
        return None
    own = _one_image(sizes, steps, batch, math.prod(source[1:]))
    if own is None or not own[0]:
        return None
    inner = math.prod(own[0][1:])
    reach = 1 + sum((size - 1) * step for size, step in zip(own[0][1:], own[1][1:], strict=True))
    first = own[1][0]
    output_row, input_row = target[2] * target[3], source[2] * source[3]
    if reach > first:
        return None
    rows = None
    if output_row % inner == 0 and (output_row // inner * first) % input_row == 0:
        count = output_row // inner * first // input_row
        rows = RowMap(count, 1, 0, count - 1)
    elif inner % output_row == 0 and first == input_row:
        rows = RowMap(1, inner // output_row, 0, 0)
    if rows is None or max(rows.numerator, rows.denominator) > _LARGEST_TERM:
        return None
    return BandedTranspose(*own, rows)


def _one_image(sizes: Sequence[int], steps: Sequence[int], batch: int,
               elements: int) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """Sizes and strides within one image of `elements`; None if images are not contiguous in both tensors."""
    if batch == 1:
        return tuple(sizes), tuple(steps)
    if sizes[0] % batch or steps[0] * (sizes[0] // batch) != elements:
        return None
    if sizes[0] == batch:
        return tuple(sizes[1:]), tuple(steps[1:])
    return (sizes[0] // batch, *sizes[1:]), tuple(steps)
