"""Where a banded stage's output may grow over an input that ends with the stage.

Bands go down the rows. Once no later band reads the first rows of the input, they are free. An output that starts
`lead` bytes lower can then be written there row by row, so both take little more than the larger of them. (J. Lin et
al., "MCUNet", 2020, let a depthwise layer's output take its input's place; here it is a whole stage's.)
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

import numpy as np

from tigris_pio.compiler.plan.band.geometry import BandRows, Rows
from tigris_pio.compiler.plan.index import ProgramIndex
from tigris_pio.compiler.plan.segment import Segment
from tigris_pio.sizes import round_up


@dataclasses.dataclass(frozen=True)
class Overlay:
    """`grown`, an output of a stage, starts `lead` bytes or more before `eaten`, one of its inputs."""

    eaten: str
    grown: str
    lead: int

    def saving(self, index: ProgramIndex, alignment: int) -> int:
        """Bytes that both take less than without sharing."""
        eaten, grown = (round_up(index.tensor(name).bytes, alignment) for name in (self.eaten, self.grown))
        return eaten + grown - max(round_up(self.lead, alignment) + eaten, grown)


def find_overlays(
    index: ProgramIndex, segment: Segment, rows: Mapping[str, BandRows], inputs: Sequence[str], outputs: Sequence[str]
) -> tuple[Overlay, ...]:
    """Pairs of an input and an output of `segment` that save memory, those that save most first; no tensor twice.

    `rows`: which every band touches. `inputs` and `outputs`: those that lie whole in fast memory.
    """
    images = index.ops[segment.first].images
    eaten = [name for name in inputs if not index.outlives(name, segment.end) and _plain(index, name, images)]
    grown = [name for name in outputs if _plain(index, name, images)]
    pairs = [Overlay(a, b, _lead(index, segment, rows, a, b)) for a in eaten for b in grown]
    pairs.sort(key=lambda overlay: -overlay.saving(index, 1))
    chosen: list[Overlay] = []
    for overlay in pairs:
        used = {name for other in chosen for name in (other.eaten, other.grown)}
        if overlay.saving(index, 1) > 0 and not used & {overlay.eaten, overlay.grown}:
            chosen.append(overlay)
    return tuple(chosen)


def _plain(index: ProgramIndex, name: str, images: int) -> bool:
    """Whether row r of a tensor lies r rows from its image's start, and is written or read for that image alone."""
    tensor = index.tensor(name)
    return tensor.constant is None and tensor.batch == images and not tensor.folded


def _lead(index: ProgramIndex, segment: Segment, rows: Mapping[str, BandRows], eaten: str, grown: str) -> int:
    """The least distance at which no band writes over a row that is read with it or after it."""
    source, target = index.tensor(eaten), index.tensor(grown)
    written = rows[grown].end * target.row_bytes
    needed = _needed_after_writing(index, segment, rows[eaten].first, eaten, grown) * source.row_bytes
    lead = int((written - needed).max())  # of the first image
    return max(0, lead, lead + (target.bytes - source.bytes) * (target.batch - 1) // target.batch)


def _needed_after_writing(index: ProgramIndex, segment: Segment, first: Rows, eaten: str, grown: str) -> Rows:
    """The first row of `eaten` that is read with each band's rows of `grown` or later."""
    from_here: Rows = np.minimum.accumulate(first[::-1])[::-1]
    if index.uses_within(eaten, segment.first, segment.end)[-1] >= index.lives[grown].birth:
        return from_here
    return np.append(from_here[1:], index.tensor(eaten).height)  # the band has read its rows when it writes
