"""An arrangement looked at once more when its offsets are known.

The search judges by live bytes, and leaves room for what only a placement tells: how low outputs lie that grow over
one another, what lies beside a stage's windows when they are fullest. What is left over may let in taller bands, rows
made again where they were kept, fewer stages, or a tensor in fast memory that was sent to slow memory. So each such
change is tried, the one that saves most first, and kept where the offsets fit.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from tigris_pio.compiler.plan.aim import Aim, Windows
from tigris_pio.compiler.plan.band.paces import rolling_paces, tallest_height
from tigris_pio.compiler.plan.band.spatial import Draft, draft_stage
from tigris_pio.compiler.plan.cost import plan_cost
from tigris_pio.compiler.plan.cut.pieces import OPS_PER_STAGE
from tigris_pio.compiler.plan.heights import draft_cost
from tigris_pio.compiler.plan.index import ProgramIndex
from tigris_pio.compiler.plan.placement import Arrangement, least_bytes, placed
from tigris_pio.compiler.plan.residency import crossing_tensors
from tigris_pio.compiler.plan.segment import Segment
from tigris_pio.format.enums import Home

#: Programs of more operators are left as they are.
REACH = 100
#: Placements that are tried, of many more changes whose live bytes are looked at: fewer of plans of many stages.
TRIES, LOOKS, LOOKS_AT_STAGES = 12, 100, 1000
#: Of a stage of up to so many rows all heights are tried; of others so many smaller numbers of bands.
FEW_ROWS, FEWER = 24, 6
#: What a change must save, as a share of what the stages cost.
WORTH = 0.001

_Drafts = tuple[Draft, ...]


class _Change(NamedTuple):
    """All drafts and homes of an arrangement that costs less."""

    saves: float
    drafts: _Drafts
    homes: Mapping[str, Home]


def refined(index: ProgramIndex, found: Arrangement, aim: Aim) -> Arrangement:
    """`found`, or what is cheaper and fits both limits too."""
    parks = any(view.parked is not None for draft in found.drafts for view in draft.views)
    if parks or len(index.ops) > REACH or not any(_may_be_bettered(index, draft) for draft in found.drafts):
        return found
    windows = Windows.SHARED if aim.slow else Windows.STAIRS
    attempts = _Attempts(index, dataclasses.replace(aim, windows=windows))
    while (better := attempts.better(found)) is not None:
        found = better
    return found


class _Attempts:
    """Changes that were tried within `aim`."""

    def __init__(self, index: ProgramIndex, aim: Aim) -> None:
        self.index, self.aim = index, aim
        self.tried = set[_Drafts]()
        self.placed = 0

    def better(self, found: Arrangement) -> Arrangement | None:
        """The first that fits of what is cheaper, the cheapest first; None when there is none, or enough was tried."""
        worth = WORTH * plan_cost(self.index, found.drafts)
        looks = min(LOOKS, max(TRIES, LOOKS_AT_STAGES // len(found.drafts)))
        changes = (each for each in _changes(self.index, found, self.aim.alignment) if each.saves > worth)
        for change in sorted(changes, key=lambda change: -change.saves):
            if change.drafts in self.tried:
                continue
            if self.placed == TRIES or len(self.tried) >= looks:
                break
            self.tried.add(change.drafts)
            if least_bytes(self.index, change.drafts, change.homes, self.aim) > self.aim.limit:
                continue
            self.placed += 1
            other = placed(self.index, change.drafts, change.homes, self.aim)
            if other.fast_bytes <= self.aim.limit and other.slow.peak <= self.aim.slow:
                return other
        return None


def _may_be_bettered(index: ProgramIndex, draft: Draft) -> bool:
    return draft.bands > 1 or draft.slow_read + draft.slow_written > 0 or index.ops[draft.segment.first].images > 1


def _changes(index: ProgramIndex, found: Arrangement, alignment: int) -> Iterator[_Change]:
    for place, draft in enumerate(found.drafts):
        for other in _others(index, draft, found.homes, alignment):
            saved = draft_cost(index, draft, found.homes) - draft_cost(index, other, found.homes)
            yield _Change(saved, _with(found.drafts, {place: other}), found.homes)
    yield from _joined(index, found, alignment)
    yield from _in_fast_memory(index, found)


def _others(index: ProgramIndex, draft: Draft, homes: Mapping[str, Home], alignment: int) -> Iterator[Draft]:
    """A stage in fewer bands, with rows kept and with rows made again. Of each number of bands what needs the least
    memory, and the cheapest."""
    for segment in _alike(index, draft):
        drafts: dict[int, list[Draft]] = {}
        for rows in (draft.band_rows, *_heights(tallest_height(index, segment), draft)):
            for other in _drafted(index, draft, segment, rows, homes):
                drafts.setdefault(other.bands, []).append(other)
        for same in drafts.values():
            yield from _best(index, same, homes, alignment)


def _shorter(index: ProgramIndex, draft: Draft, homes: Mapping[str, Home], alignment: int) -> Iterator[Draft]:
    """Likewise a stage in the next larger number of bands."""
    for segment in _alike(index, draft):
        more: list[Draft] = []
        for rows in range(draft.band_rows - 1, 0, -1):
            drafts = [each for each in _drafted(index, draft, segment, rows, homes) if each.bands > draft.bands]
            if more and any(each.bands > more[0].bands for each in drafts):
                break
            more += drafts
        if more:
            yield from _best(index, more, homes, alignment)


def _best(index: ProgramIndex, drafts: list[Draft], homes: Mapping[str, Home], alignment: int) -> Iterator[Draft]:
    yield min(drafts, key=lambda draft: draft.need(index, alignment))
    yield min(drafts, key=lambda draft: draft_cost(index, draft, homes))


def _alike(index: ProgramIndex, draft: Draft) -> Iterator[Segment]:
    """The segment of a stage that runs in bands, with rows kept and, where it may be, with rows made again."""
    if draft.bands > 1 and not draft.segment.direct:
        yield dataclasses.replace(draft.segment, keep=True)
        if _may_be_made_again(index, draft.segment):
            yield dataclasses.replace(draft.segment, keep=False)


def _drafted(
    index: ProgramIndex, draft: Draft, segment: Segment, rows: int, homes: Mapping[str, Home]
) -> Iterator[Draft]:
    """`segment` in bands of `rows` rows, if it can roll where rows are kept; no overlays where `draft` has none."""
    if not segment.keep or rolling_paces(index, segment, rows) is not None:
        yield _like(draft, draft_stage(index, segment, rows, homes))


def _may_be_made_again(index: ProgramIndex, segment: Segment) -> bool:
    """Whether no row has a past: sums of many bands, a row made from the one before, rows that come once."""
    made = (index.tensor(op.output) for op in index.ops[segment.first : segment.end])
    return not any(tensor.folded or tensor.sequential or tensor.streamed for tensor in made)


def _heights(most: int, draft: Draft) -> Iterable[int]:
    """Rows of taller bands: all where they are few, else the lowest of each number of bands."""
    if most <= FEW_ROWS:
        return range(draft.band_rows + 1, most + 1)
    return [-(-most // fewer) for fewer in range(max(1, draft.bands - FEWER), draft.bands)]


def _joined(index: ProgramIndex, found: Arrangement, alignment: int) -> Iterator[_Change]:
    """Neighbours that run whole as one stage. Its views take more memory for their states, so it may fit only where
    the bands of some other stage are shorter."""
    shorter = [
        (place, other, draft_cost(index, other, found.homes) - draft_cost(index, draft, found.homes))
        for place, draft in enumerate(found.drafts)
        for other in _shorter(index, draft, found.homes, alignment)
    ]
    for start, end in _runs(index, found.drafts):
        joined = found.drafts[start:end]
        longer = Segment(joined[0].segment.first, joined[-1].segment.end)
        segments = [each.segment for each in found.drafts]
        crossing = crossing_tensors(index, [*segments[:start], longer, *segments[end:]])
        homes = {name: found.homes[name] for name in crossing}
        other = draft_stage(index, longer, 1, homes)
        saved = sum(draft_cost(index, each, found.homes) for each in joined) - draft_cost(index, other, homes)
        for changes, costs in (({}, 0.0), *(({at: each}, costs) for at, each, costs in shorter)):
            drafts = _with(found.drafts, changes)
            yield _Change(saved - costs, (*drafts[:start], other, *drafts[end:]), homes)


def _runs(index: ProgramIndex, drafts: _Drafts) -> Iterator[tuple[int, int]]:
    """Neighbours [start, end), two at least, that may be one stage that runs whole."""
    whole = [not (draft.segment.banded or draft.segment.direct) for draft in drafts]
    images = [index.ops[draft.segment.first].images for draft in drafts]
    for start, draft in enumerate(drafts):
        for end in range(start + 1, len(drafts) + 1):
            ops = drafts[end - 1].segment.end - draft.segment.first
            if not whole[end - 1] or images[end - 1] != images[start] or ops > OPS_PER_STAGE:
                break
            if end > start + 1:
                yield start, end


def _in_fast_memory(index: ProgramIndex, found: Arrangement) -> Iterator[_Change]:
    """Each tensor of slow memory in fast memory."""
    for name, home in found.homes.items():
        if home is not Home.SLOW:
            continue
        homes = {**found.homes, name: Home.FAST}
        touching = {
            place: draft for place, draft in enumerate(found.drafts) if any(view.tensor == name for view in draft.views)
        }
        if not any(draft.segment.direct for draft in touching.values()):
            others = {
                place: _like(draft, draft_stage(index, draft.segment, draft.band_rows, homes))
                for place, draft in touching.items()
            }
            before = sum(draft_cost(index, draft, found.homes) for draft in touching.values())
            saved = before - sum(draft_cost(index, draft, homes) for draft in others.values())
            yield _Change(saved, _with(found.drafts, others), homes)


def _with(drafts: _Drafts, others: Mapping[int, Draft]) -> _Drafts:
    return tuple(others.get(place, draft) for place, draft in enumerate(drafts))


def _like(draft: Draft, other: Draft) -> Draft:
    """`other` without overlays where `draft` has none."""
    return other if draft.overlays or not other.overlays else dataclasses.replace(other, overlays=())
