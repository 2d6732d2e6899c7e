"""All the ways to run a segment of a program, each with what it costs and what it needs of the fast arena."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterable, Iterator, Mapping

import numpy as np

from tigris_pio.compiler.plan.band.paces import Rolling, tallest_height
from tigris_pio.compiler.plan.band.spatial import Draft, draft_stage
from tigris_pio.compiler.plan.cost import plan_cost
from tigris_pio.compiler.plan.index import ProgramIndex
from tigris_pio.compiler.plan.segment import Segment
from tigris_pio.format.enums import Home
from tigris_pio.sizes import round_up


@dataclasses.dataclass(frozen=True)
class Way:
    """A strategy of a segment and its height, whatever step the segment begins at."""

    banded: bool
    keep: bool
    direct: bool
    band_rows: int

    def draft(self, index: ProgramIndex, first: int, end: int, homes: Mapping[str, Home]) -> Draft:
        """The stage of operators [first, end)."""
        return draft_stage(index, self.segment(first, end), self.band_rows, homes)

    def segment(self, first: int, end: int) -> Segment:
        """Operators [first, end) run so."""
        return Segment(first, end, self.banded, self.keep, self.direct)


@dataclasses.dataclass(frozen=True)
class Ways:
    """The ways to run one segment while the tensors that it reads and leaves lie at given homes, cheapest first.

    need: a row a way, a column a step: aligned bytes of windows and scratch, less what overlays save. stays: whether
    homes are taken for all of the stage. shares: whether its operators may share memory with their operands. views: of
    each way. lead: bytes by which overlays move apart what shares memory.
    """

    ways: tuple[Way, ...]
    cost: np.ndarray
    need: np.ndarray
    stays: np.ndarray
    shares: np.ndarray
    views: np.ndarray
    lead: np.ndarray

    def smallest(self) -> Ways:
        """Of each strategy those that another does not better in all memory they take."""
        apart = np.column_stack((self.need, self.views, self.lead))
        kinds = [dataclasses.astuple(way)[:3] for way in self.ways]
        chosen: list[int] = []
        for place in np.lexsort(apart.T).tolist():
            if not any(kinds[other] == kinds[place] and (apart[other] <= apart[place]).all() for other in chosen):
                chosen.append(place)
        chosen.sort()
        arrays = (self.cost, self.need, self.stays, self.shares, self.views, self.lead)
        return Ways(tuple(self.ways[place] for place in chosen), *(array[chosen] for array in arrays))


#: By names of operators, of what dies and of what is left, and homes: segments of different orders are often the same.
Known = dict[tuple[object, ...], Ways]


def ways_of(
    index: ProgramIndex, first: int, end: int, homes: Mapping[str, Home], alignment: int, below: float, known: Known
) -> Ways:
    """All ways to run operators [first, end) that cost at most `below`.

    `homes`: of what they read and leave, and perhaps of others. `known`: for one program, alignment and limit.
    """
    inputs, outputs = index.inputs(first, end), index.outputs(first, end)
    dying = tuple(name for name in inputs if name in index.lives and not index.outlives(name, end))
    names = tuple(op.name for op in index.ops[first:end])
    key = (names, dying, outputs, tuple(homes.get(name) for name in (*inputs, *outputs)))
    if key not in known:
        known[key] = _find_ways(index, first, end, homes, alignment, below)
    return known[key]


def _find_ways(
    index: ProgramIndex, first: int, end: int, homes: Mapping[str, Home], alignment: int, below: float
) -> Ways:
    slow = any(homes.get(name) is Home.SLOW for name in (*index.inputs(first, end), *index.outputs(first, end)))
    rows = []
    for ways in _all_ways(index, first, end, slow):
        for way in ways:
            draft = way.draft(index, first, end, homes)
            cost = plan_cost(index, (draft,))
            if cost <= below:
                shares = draft.bands == 1 and not way.direct
                rows.append((cost, way, _need(index, draft, alignment), shares, len(draft.views),
                             sum(overlay.lead for overlay in draft.overlays)))
        if cost - draft.slow_read > below and not way.banded and not way.direct:
            break  # whole: no way has fewer calls or writes less, and bands may read less only by leaving rows out
    rows.sort(key=lambda row: row[0])
    many = end > first and index.ops[first].images > 1
    return Ways(
        tuple(row[1] for row in rows),
        np.array([row[0] for row in rows], dtype=float),
        np.array([row[2] for row in rows], dtype=np.int64).reshape(len(rows), end - first),
        np.array([row[1].banded or many for row in rows], dtype=bool),
        np.array([row[3] for row in rows], dtype=bool),
        np.array([row[4] for row in rows], dtype=np.int64),
        np.array([row[5] for row in rows], dtype=np.int64),
    )


def _need(index: ProgramIndex, draft: Draft, alignment: int) -> np.ndarray:
    first = draft.segment.first
    need = np.zeros(draft.segment.end - first, dtype=np.int64)
    for piece in (piece for request in draft.requests for piece in request.taken):
        need[piece.life.birth - first : piece.life.death - first + 1] += round_up(piece.bytes, alignment)
    return need - sum(overlay.saving(index, alignment) for overlay in draft.overlays)


def _all_ways(index: ProgramIndex, first: int, end: int, slow: bool) -> Iterator[Iterable[Way]]:
    """By strategy, whole first."""
    ops = index.ops[first:end]
    if any(op.images != ops[0].images for op in ops):
        return
    yield (Way(False, False, False, 1),)
    if slow and len(ops) == 1:
        yield (Way(False, False, True, 1),)
    for keep in (True, False):
        if all(index.bandable[first:end]) and (rolls if keep else repeats)(index, first, end):
            heights = range(tallest_height(index, Segment(first, end, True, keep)), 0, -1)
            yield (Way(True, keep, False, rows) for rows in heights)


def rolls(index: ProgramIndex, first: int, end: int) -> bool:
    """Whether every operator of a segment can be paced."""
    rolling, made = Rolling(index, 1), {}
    for step in range(first, end):
        if rolling.add(step, made) is None:
            return False
        made[index.ops[step].output] = step
    return True


def repeats(index: ProgramIndex, first: int, end: int) -> bool:
    """Whether the operators of a segment may make rows again."""
    made = {op.output: index.tensor(op.output) for op in index.ops[first:end]}
    operands = itertools.chain.from_iterable(op.operands for op in index.ops[first:end])
    if any(operand.rows.numerator == 0 and operand.tensor in made for operand in operands):
        return False
    once = any(tensor.folded or tensor.sequential or tensor.streamed for tensor in made.values())
    return not once and index.tensor(index.ops[end - 1].output).height > 1
