"""What a segment gains by outputs that grow over inputs, told from the paces of a sweep."""

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


class _Known(dict[tuple[Segment, int, int, int], tuple[Pair, ...]]):
    """What grows in a segment, by what it eats and what it leaves, and the alignment."""


class _Leads(dict[tuple[Segment, str, str], int]):
    """How far an output must lie before an input, by the segment in bands of one row and both names."""


class Growth:
    """Savings of the segments of a program in bands of one row."""

    def __init__(self, index: ProgramIndex, sets: Crossings) -> None:
        self.index, self.sets = index, sets
        self.known = index.cache(_Known)
        self.leads = index.cache(_Leads)

    def pairs(
        self, segment: Segment, eaten: int, kept: int, lacking: int, bands: int, paces: Paces
    ) -> tuple[Pair, ...]:
        """What grows over what in a segment in `bands` bands, when that saves `lacking` bytes; nothing otherwise.

        `eaten`: what ends with it in fast memory; `kept`: what it leaves there; `paces`: of what it makes, if it rolls.
        """
        if lacking > min(self.sets.size(eaten), self.sets.size(kept)):
            return ()
        key = (segment, eaten, kept, self.sets.alignment)
        if key not in self.known:
            self.known[key] = (
                self._rolling(segment, eaten, kept, bands, paces)
                if segment.keep
                else self._drafted(segment, eaten, kept)
            )
        found = self.known[key]
        return found if sum(pair.saving for pair in found) >= lacking else ()

    def _drafted(self, segment: Segment, eaten: int, kept: int) -> tuple[Pair, ...]:
        index, bit = self.index, self.sets.bit
        names = (*index.inputs(segment.first, segment.end), *index.outputs(segment.first, segment.end))
        homes = {name: Home.FAST if bit[name] & (eaten | kept) else Home.SLOW for name in names if name in index.lives}
        overlays = draft_stage(index, segment, 1, homes).overlays
        return tuple(self._pair(segment, each.lead, each.eaten, each.grown, 1.0) for each in overlays)

    def _rolling(self, segment: Segment, eaten: int, kept: int, bands: int, paces: Paces) -> tuple[Pair, ...]:
        pairs = []
        for over in self._plain(eaten, segment.end):
            for under in self._plain(kept, segment.end):
                lead = self._lead(segment, bands, paces, over, under)
                rows = paces[under].numerator / paces[under].denominator
                pairs.append(self._pair(segment, lead, over, under, rows))
        used = 0
        chosen = []
        for pair in sorted(pairs, key=lambda pair: -pair.saving):
            if pair.saving > 0 and not used & (pair.eaten | pair.grown):
                chosen.append(pair)
                used |= pair.eaten | pair.grown
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

    def _lead(self, segment: Segment, bands: int, paces: Paces, eaten: str, grown: str) -> int:
        key = segment, eaten, grown
        if key not in self.leads:
            self.leads[key] = self._find_lead(segment, bands, paces, eaten, grown)
        return self.leads[key]

    def _find_lead(self, segment: Segment, bands: int, paces: Paces, eaten: str, grown: str) -> int:
        """Bytes that the output must lie before the input, as `overlay` finds them from the rows of a drafted stage."""
        index = self.index
        band = np.arange(bands + 1, dtype=np.int64)
        tensor = index.tensor(eaten)
        needed = np.full(bands, tensor.height, dtype=np.int64)
        steps = index.uses_within(eaten, segment.first, segment.end)
        after = 0 if self._at_once(segment, eaten, grown) else 1
        for step in steps:
            op = index.ops[step]
            height = index.tensor(op.output).height
            made = _rows(paces[op.output], band[after : bands + after], height)
            for operand in op.operands:
                if operand.tensor == eaten:
                    rows = operand.rows
                    first = clip((made * rows.numerator + rows.first) // rows.denominator, tensor.height)
                    first[made >= height] = tensor.height
                    np.minimum(needed, first, out=needed)
        output = index.tensor(grown)
        written = _rows(paces[grown], band[1:], output.height) * output.row_bytes
        return max(0, int((written - needed * tensor.row_bytes).max()))


def _rows(pace: Pace, bands: np.ndarray, height: int) -> np.ndarray:
    """Rows after so many bands, within 0 … height."""
    rows = clip((bands * pace.numerator + pace.offset) // pace.denominator, height)
    rows[bands == 0] = 0
    return rows
