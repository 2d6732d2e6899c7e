"""Finds segments of operators that take one image at a time and fit the fast arena when they run whole, image by image.

Tensors that begin and end in such a segment are in memory for one image only. The same holds for rows that it brings
from slow memory or leaves there.
"""

from __future__ import annotations

from collections.abc import Iterator

from tigris_pio.compiler.plan.cut.crossings import Crossings
from tigris_pio.compiler.plan.index import ProgramIndex
from tigris_pio.sizes import round_up


def image_fits(index: ProgramIndex, first: int, room: int, reach: int) -> Iterator[tuple[int, list[int]]]:
    """The ends of segments from `first` that fit, with the bytes of each step. Nothing for operators without images.

    A segment has at most `reach` operators. The tensors that begin and end in it take at most `room` bytes.
    """
    images = index.ops[first].images
    inner: dict[str, int] = {}
    live: list[int] = []
    for step in range(first, min(first + reach, len(index.ops)) if images > 1 else first):
        op = index.ops[step]
        if op.images != images:
            return
        live.append(op.scratch_bytes)
        inner[op.output] = index.tensor(op.output).bytes
        for name in (*(operand.tensor for operand in op.operands), op.output):
            if name in inner and not index.outlives(name, step + 1):
                size = inner.pop(name) // images
                for at in range(index.lives[name].birth - first, step - first + 1):
                    live[at] += size
        if max(live) > room:
            return
        yield step + 1, live


def image_bytes(index: ProgramIndex, name: str) -> int:
    """Bytes of one image of a tensor; of all of one that has no images."""
    tensor = index.tensor(name)
    return tensor.bytes // tensor.batch


def windows_of_images(sets: Crossings, slow: int, first: int, end: int) -> list[tuple[int, int, int]]:
    """Bytes of one image of each of a set, and the first and last step of a segment that touches it, from its start."""
    return sets.index.once(_windows, sets.alignment, slow, first, end)


def _windows(index: ProgramIndex, alignment: int, slow: int, first: int, end: int) -> list[tuple[int, int, int]]:
    windows = []
    for name in Crossings.of(index, alignment).named(slow, end):
        size = round_up(image_bytes(index, name), alignment)
        uses = index.uses_within(name, first, end)
        made = index.lives[name].birth
        birth = made if made >= first else uses[0]
        windows.append((size, birth - first, max([birth, *uses]) - first))
    return windows
