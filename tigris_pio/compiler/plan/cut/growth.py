"""What a segment gains by outputs that grow over inputs, told from the paces of a sweep."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tigris_pio.compiler.ir.pace import Pace
from tigris_pio.compiler.plan.band.geometry import clip
from tigris_pio.compiler.plan.band.spatial import draft_stage
from tigris_pio.compiler.plan.cut.crossings import Crossings, bits
from tigris_pio.compiler.plan.index import ProgramIndex
from tigris_pio.compiler.plan.segment import Segment
from tigris_pio.format.enums import Home
from tigris_pio.sizes import round_up

Paces = Mapping[str, Pace]


class _Known(dict[tuple[Segment, int, int, int], int]):
    """Bytes gained by a segment, by what it eats and what it leaves, and the alignment."""


class Growth:
    """Savings of the segments of a program in bands of one row."""

    def __init__(self, index: ProgramIndex, sets: Crossings) -> None:
        self.index, self.sets = index, sets
        self.known = index.cache(_Known)

    def saves(self, segment: Segment, eaten: int, kept: int, lacking: int, bands: int, paces: Paces) -> bool:
        """Whether a segment in `bands` bands gains `lacking` bytes. `eaten`: what ends with it in fast memory; `kept`:
        what it leaves there; `paces`: of what it makes, if it rolls."""
        if lacking > min(self.sets.size(eaten), self.sets.size(kept)):
            return False
        key = (segment, eaten, kept, self.sets.alignment)
        if key not in self.known:
            rolls = segment.keep
            self.known[key] = self._rolling(segment, eaten, kept, bands, paces) if rolls else self._drafted(segment)
        return self.known[key] >= lacking

    def _drafted(self, segment: Segment) -> int:
        index = self.index
        names = (*index.inputs(segment.first, segment.end), *index.outputs(segment.first, segment.end))
        homes = {name: Home.FAST for name in names if name in index.lives}
        overlays = draft_stage(index, segment, 1, homes).overlays
        return sum(overlay.saving(index, self.sets.alignment) for overlay in overlays)

    def _rolling(self, segment: Segment, eaten: int, kept: int, bands: int, paces: Paces) -> int:
        pairs = []
        for over in self._plain(eaten):
            for under in self._plain(kept):
                lead = self._lead(segment, bands, paces, over, under)
                pairs.append((self._saved(lead, over, under), over, under))
        used: set[str] = set()
        total = 0
        for saving, over, under in sorted(pairs, reverse=True):
            if saving > 0 and not used & {over, under}:
                total, used = total + saving, used | {over, under}
        return total

    def _plain(self, names: int) -> list[str]:
        found = [self.sets.names[place] for place in bits(names)]
        return [name for name in found if self.index.tensor(name).batch == 1 and not self.index.tensor(name).folded]

    def _saved(self, lead: int, eaten: str, grown: str) -> int:
        over, under = (round_up(self.index.tensor(name).bytes, self.sets.alignment) for name in (eaten, grown))
        return over + under - max(round_up(lead, self.sets.alignment) + over, under)

    def _lead(self, segment: Segment, bands: int, paces: Paces, eaten: str, grown: str) -> int:
        """Bytes that the output must lie before the input, as `overlay` finds them from the rows of a drafted stage."""
        index = self.index
        band = np.arange(bands + 1, dtype=np.int64)
        tensor = index.tensor(eaten)
        needed = np.full(bands, tensor.height, dtype=np.int64)
        steps = index.uses_within(eaten, segment.first, segment.end)
        after = 0 if steps[-1] >= index.lives[grown].birth else 1
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
