"""Estimates the bytes that a segment saves if outputs grow over inputs, from the paces of a sweep."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from tigris_pio.compiler.ir.pace import Pace
from tigris_pio.compiler.plan.band.geometry import clip
from tigris_pio.compiler.plan.band.overlay import Overlay
from tigris_pio.compiler.plan.band.spatial import draft_stage
from tigris_pio.compiler.plan.cut.crossings import Crossings
from tigris_pio.compiler.plan.index import ProgramIndex
from tigris_pio.compiler.plan.segment import Segment
from tigris_pio.format.enums import Home
from tigris_pio.sizes import round_up

Paces = Mapping[str, Pace]


class Pair(NamedTuple):
    """An output that grows over an input, in bands of one row."""

    eaten: int  #: the input, as a set
    grown: int  #: the output, as a set
    saving: int  #: bytes that both take less than apart
    drift: int  #: bytes that the output ends before the input; negative where it ends behind it
    growth: float  #: of the bytes that it starts before the input, with each further row a band


class Growth:
    """Savings of the segments of a program in bands of one row."""

    def __init__(self, index: ProgramIndex, sets: Crossings) -> None:
        self.index, self.sets = index, sets
        self._known: dict[tuple[Segment, int, int], tuple[Pair, ...]] = {}
        self._rows: dict[tuple[int, int, str], np.ndarray] = {}  # made, by first step, bands and tensor
        self._read: dict[tuple[int, int, str, int], np.ndarray] = {}  # no longer needed, by these and readers

    def pairs(self, segment: Segment, eaten: int, kept: int, bands: int, paces: Paces) -> tuple[Pair, ...]:
        """The pairs of input and output that may overlap in a segment in `bands` bands.

        `eaten` has the inputs in fast memory that end with the segment, `kept` the outputs that it leaves there.
        `paces` has those of the tensors it makes, if it rolls.
        """
        key = segment, eaten, kept
        if key not in self._known:
            self._known[key] = (
                self._rolling(segment, eaten, kept, bands, paces)
                if segment.keep
                else self._drafted(segment, eaten, kept)
            )
        return self._known[key]

    def _drafted(self, segment: Segment, eaten: int, kept: int) -> tuple[Pair, ...]:
        index, bit = self.index, self.sets.bit
        names = (*index.inputs(segment.first, segment.end), *index.outputs(segment.first, segment.end))
        homes = {name: Home.FAST if bit[name] & (eaten | kept) else Home.SLOW for name in names if name in index.lives}
        overlays = draft_stage(index, segment, 1, homes).overlays
        return tuple(self._pair(segment, each.lead, each.eaten, each.grown, 1.0) for each in overlays)

    def _rolling(self, segment: Segment, eaten: int, kept: int, bands: int, paces: Paces) -> tuple[Pair, ...]:
        overs, unders = self._plain(eaten, segment.end), self._plain(kept, segment.end)
        if not overs or not unders:
            return ()
        written = np.array([self._written(segment, bands, paces, under) for under in unders])
        sizes = np.array([self.sets.size(self.sets.bit[under]) for under in unders])
        found: list[tuple[int, int, str, str]] = []  # bytes saved, the lead, and both names
        for over in overs:
            at_once = np.array([[self._at_once(segment, over, under)] for under in unders])
            needed = self._needed(segment, bands, paces, over)
            leads = np.maximum((written - np.where(at_once, needed[:-1], needed[1:])).max(axis=1), 0)
            size = self.sets.size(self.sets.bit[over])
            apart = size + sizes - np.maximum(leads + -leads % self.sets.alignment + size, sizes)
            found += [(int(apart[at]), int(leads[at]), over, unders[at]) for at in np.flatnonzero(apart > 0)]
        chosen: list[Pair] = []
        used: set[str] = set()
        for _, lead, over, under in sorted(found, key=lambda each: -each[0]):
            if over not in used and under not in used:
                used |= {over, under}
                rows = paces[under].numerator / paces[under].denominator
                chosen.append(self._pair(segment, lead, over, under, rows))
        return tuple(chosen)

    def _plain(self, names: int, end: int) -> list[str]:
        found = self.sets.named(names, end)
        return [name for name in found if self.index.tensor(name).batch == 1 and not self.index.tensor(name).folded]

    def _pair(self, segment: Segment, lead: int, eaten: str, grown: str, rows: float) -> Pair:
        """`rows`: of the output in a band. Where an earlier operator reads the input, the rows of a band are free when
        the output's are written."""
        alignment, bit = self.sets.alignment, self.sets.bit
        saving = Overlay(eaten, grown, lead).saving(self.index, alignment)
        drift = round_up(lead, alignment) + self.sets.size(bit[eaten]) - self.sets.size(bit[grown])
        growth = rows * self.index.tensor(grown).row_bytes if self._at_once(segment, eaten, grown) else 0.0
        return Pair(bit[eaten], bit[grown], saving, drift, growth)

    def _at_once(self, segment: Segment, eaten: str, grown: str) -> bool:
        """Whether the input is still read when the output is made."""
        steps = self.index.uses_within(eaten, segment.first, segment.end)
        return steps[-1] >= self.index.lives[grown].birth

    def _written(self, segment: Segment, bands: int, paces: Paces, name: str) -> np.ndarray:
        """Bytes of an output that are there after each band."""
        tensor = self.index.tensor(name)
        return self._made(segment, bands, paces, name)[1:] * tensor.row_bytes

    def _made(self, segment: Segment, bands: int, paces: Paces, name: str) -> np.ndarray:
        """Rows of what a segment makes before the first band, and after each. Segments that start alike share them."""
        key = segment.first, bands, name
        if key not in self._rows:
            height, pace = self.index.tensor(name).height, paces[name]
            rows = clip((np.arange(bands + 1) * pace.numerator + pace.offset) // pace.denominator, height)
            rows[0] = 0
            self._rows[key] = rows
        return self._rows[key]

    def _needed(self, segment: Segment, bands: int, paces: Paces, name: str) -> np.ndarray:
        """Bytes of an input that are no longer needed before the first band has read its rows, and after each has."""
        index, tensor = self.index, self.index.tensor(name)
        steps = index.uses_within(name, segment.first, segment.end)
        key = segment.first, bands, name, len(steps)
        if key not in self._read:
            needed = np.full(bands + 1, tensor.height, np.int64)
            for step in steps:
                op = index.ops[step]
                made = self._made(segment, bands, paces, op.output)
                for operand in op.operands:
                    if operand.tensor == name:
                        rows = operand.rows
                        first = clip((made * rows.numerator + rows.first) // rows.denominator, tensor.height)
                        first[made >= index.tensor(op.output).height] = tensor.height
                        np.minimum(needed, first, out=needed)
            self._read[key] = needed * tensor.row_bytes
        return self._read[key]
