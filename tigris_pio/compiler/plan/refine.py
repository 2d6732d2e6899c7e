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
from tigris_pio.compiler.plan.band.paces import tallest_height
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
#: Placements that are tried, of many more changes whose live bytes are looked at.
TRIES, LOOKS = 12, 100
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
        changes = (each for each in _changes(self.index, found, self.aim.alignment) if each.saves > worth)
        for change in sorted(changes, key=lambda change: -change.saves):
            if change.drafts in self.tried:
                continue
            if self.placed == TRIES or len(self.tried) == LOOKS:
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
    yield from _joined(index, found)
    yield from _in_fast_memory(index, found)


def _others(index: ProgramIndex, draft: Draft, homes: Mapping[str, Home], alignment: int) -> Iterator[Draft]:
    """A stage in fewer bands, and with kept rows made again, but not the other way round: not every stage can roll. Of
    each number of bands what needs the least memory, and the cheapest."""
    if draft.segment.direct or draft.bands == 1:
        return
    again = draft.segment.keep and _may_be_made_again(index, draft.segment)
    for keep in (True, False) if again else (draft.segment.keep,):
        segment = dataclasses.replace(draft.segment, keep=keep)
        alike: dict[int, list[Draft]] = {}
        for rows in (draft.band_rows, *_heights(tallest_height(index, segment), draft)):
            other = _like(draft, draft_stage(index, segment, rows, homes))
            alike.setdefault(other.bands, []).append(other)
        for drafts in alike.values():
            yield min(drafts, key=lambda draft: draft.need(index, alignment))
            yield min(drafts, key=lambda draft: draft_cost(index, draft, homes))


def _may_be_made_again(index: ProgramIndex, segment: Segment) -> bool:
    """Whether no row has a past: sums of many bands, a row made from the one before, rows that come once."""
    made = (index.tensor(op.output) for op in index.ops[segment.first : segment.end])
    return not any(tensor.folded or tensor.sequential or tensor.streamed for tensor in made)


def _heights(most: int, draft: Draft) -> Iterable[int]:
    """Rows of taller bands: all where they are few, else the lowest of each number of bands."""
    if most <= FEW_ROWS:
        return range(draft.band_rows + 1, most + 1)
    return [-(-most // fewer) for fewer in range(max(1, draft.bands - FEWER), draft.bands)]


def _joined(index: ProgramIndex, found: Arrangement) -> Iterator[_Change]:
    """Two neighbours that run whole as one stage."""
    for place, (draft, after) in enumerate(zip(found.drafts, found.drafts[1:], strict=False)):
        first, end = draft.segment.first, after.segment.end
        whole = not any(each.segment.banded or each.segment.direct for each in (draft, after))
        images = {index.ops[each.segment.first].images for each in (draft, after)}
        if not whole or len(images) > 1 or end - first > OPS_PER_STAGE:
            continue
        longer = Segment(first, end)
        segments = [each.segment for each in found.drafts]
        crossing = crossing_tensors(index, [*segments[:place], longer, *segments[place + 2 :]])
        homes = {name: found.homes[name] for name in crossing}
        other = draft_stage(index, longer, 1, homes)
        before = draft_cost(index, draft, found.homes) + draft_cost(index, after, found.homes)
        saved = before - draft_cost(index, other, homes)
        yield _Change(saved, (*found.drafts[:place], other, *found.drafts[place + 2 :]), homes)


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
