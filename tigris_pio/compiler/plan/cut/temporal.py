"""Decides where to cut, and which tensors stay in fast memory across each cut.

A way to a cut is known by what it leaves in fast memory there; a segment leads from one to another when it fits beside
what lies in fast memory. The cheapest way to the last cut is the cheapest plan, as far as live bytes tell: offsets are
placed afterwards.

What a segment in bands really costs is known when its tallest band is drafted, which takes far longer than an estimate.
So the cheapest path by estimates is looked for, its segments are drafted, and, where one costs more than was estimated,
the search goes on from there. (Lazy evaluation of edges: C. Dellin, S. Srinivasa, "A unifying formalism for shortest
path problems with expensive edge evaluations", ICAPS 2016.)
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Hashable, Mapping, Sequence

from tigris_pio.compiler.plan.aim import Aim, Windows
from tigris_pio.compiler.plan.cost import op_costs, stage_cost
from tigris_pio.compiler.plan.cut.crossings import Crossings
from tigris_pio.compiler.plan.cut.edges import LARGE, SMALL, Edges
from tigris_pio.compiler.plan.cut.labels import Edge, Label
from tigris_pio.compiler.plan.heights import cheapest_band, drafted_alike
from tigris_pio.compiler.plan.index import ProgramIndex
from tigris_pio.compiler.plan.placement import view_count
from tigris_pio.compiler.plan.segment import Segment
from tigris_pio.format.enums import Home
from tigris_pio.format.records import VIEW_STATE_BYTES
from tigris_pio.sizes import round_up

#: Paths whose segments are drafted before the cheapest of them is taken: most, least, and what is divided by the number
#: of operators in between.
ROUNDS = (24, 1, 300)
#: Paths that are drafted while none fits, for what estimates tell to fit may not.
UNFIT = 24
#: Where at most so many are, what leads on from ways is not kept from one to the next.
SEVERAL = 4
#: An estimate that a draft exceeds by less is as good as the draft.
CLOSE = 1.002
#: Of programs of more operators a path is good enough that costs so many times what estimates tell of the cheapest.
FEW, ENOUGH = 12, 1.005
#: The segments that are known are good enough beside the run-time state that they take where all costs so many times
#: what others may: of long programs, and of all but small ones.
SAME_OF_LARGE, SAME = 1.003, 1.0001
#: Amounts of run-time state tried.
STATES = 4
#: Beside slow memory stages of larger programs are also tried that take at most this share of the fast memory for their
#: run-time state: what the longest takes is lost to all. Only where that share is at most so many bytes.
SCARCE = 512
STATE_SHARE = 1 / 8


@dataclasses.dataclass(frozen=True)
class Cut:
    """The segments of a plan, where each tensor that crosses a cut lives, and what the plan costs beyond running whole.

    state: bytes of run-time state that its longest segment takes. spared: bytes that segments leave free for others.
    led: how often its search looked for segments, which is what it took.
    """

    segments: tuple[Segment, ...]
    homes: dict[str, Home]
    cost: float
    state: int
    spared: Mapping[Segment, int]
    led: int = 0


class _Hopeless(list[Aim]):
    """What there is no cut for, be run-time state as small as it may."""


def cheapest_cut(index: ProgramIndex, aim: Aim) -> Cut | None:
    """The cheapest cut whose live bytes fit `aim.room`; None when there is none.

    The run-time state is that of the stage with the most views. At first each segment leaves room for its own; where
    the path found has one that takes more, all others leave room for that, or there are no segments that take so much.
    """
    if any(aim.within(other) for other in index.cache(_Hopeless)):
        return None
    best, wished = _with_state(index, aim, aim.state, None)
    most = state_at_most(aim.room, aim.alignment)
    if aim.slow and len(index.ops) > SMALL and best is not None and most <= SCARCE and best.state > most:
        best = _cheaper(best, _with_state(index, _to_better(index, aim, best), 0, most)[0])
    for _ in range(STATES if len(index.ops) <= SMALL else 0):
        if wished is None or (best is not None and best.cost <= wished.cost * CLOSE):
            break
        found, wished = _with_state(index, _to_better(index, aim, best), 0, wished.state - aim.alignment)
        best = _cheaper(best, found)
    return best


def _to_better(index: ProgramIndex, aim: Aim, best: Cut | None) -> Aim:
    """For what costs less than the best. Estimates of small programs may be above what drafts cost, and all their cuts
    are soon looked at."""
    if best is None or len(index.ops) <= FEW:
        return aim
    return dataclasses.replace(aim, most=min(aim.most, best.cost))


def _cheaper(one: Cut | None, other: Cut | None) -> Cut | None:
    """Of two cuts, of the same cost the first."""
    return min((cut for cut in (one, other) if cut is not None), key=lambda cut: cut.cost, default=None)


def may_be_cut(index: ProgramIndex, aim: Aim) -> bool:
    """Whether estimates tell of a cut whose live bytes fit `aim.room`: mostly there is one, which takes longer to find
    out."""
    return _Search(index, aim, 0, None).edges.cheapest() is not None


def state_at_most(room: int, alignment: int) -> int:
    """Bytes of run-time state that are a small share of so much fast memory."""
    return round_up(int(STATE_SHARE * room), alignment)


def _with_state(index: ProgramIndex, aim: Aim, state: int, most: int | None) -> tuple[Cut | None, Cut | None]:
    """The cheapest cut when each segment leaves room for `state` bytes and takes no more than `most`, and the cheapest
    if each left room for its own only, where that has one that takes more."""
    wished: Cut | None = None
    same: Cut | None = None  # the cheapest in the same segments, which is all there is to better
    for _ in range(STATES):
        sought = _to_better(index, aim, same)
        search = _Search(index, sought, state, most)
        found = search.cheapest()
        if found is None and state and state == aim.state:
            state, search = 0, _Search(index, sought, 0, most)
            found = search.cheapest()
        if found is None and not state and most is None and search.exhausted:
            index.cache(_Hopeless).append(sought)
        if found is None or found.state <= state:
            break
        if len(index.ops) > FEW:  # mostly the same segments do beside the state that they take
            again = _same_segments(index, sought, found, most)
            if again is not None and _does(index, again, found):
                return again, wished
            same = _cheaper(same, again)
        wished, state = wished or found, found.state
    best = _cheaper(same, found)
    return best, None if best is wished else wished


def _same_segments(index: ProgramIndex, aim: Aim, before: Cut, most: int | None) -> Cut | None:
    """The cheapest cut in the segments of one, beside the state that they take."""
    only = {segment.first: segment for segment in before.segments}
    same = _Search(index, aim, before.state, most, only).cheapest()
    if same is None or same.state > before.state:
        return None
    return dataclasses.replace(same, led=before.led)


def _does(index: ProgramIndex, same: Cut, before: Cut) -> bool:
    """Whether a cut in the segments of another costs little more."""
    whole, times = sum(op_costs(index).whole), SAME_OF_LARGE if len(index.ops) > LARGE else SAME
    return whole + same.cost <= times * (whole + before.cost)


#: The room of an edge, whether outputs may grow over inputs, how windows share, whether outputs grow only where bands
#: do not fit otherwise, and whether bands have one row.
_Key = tuple[int, bool, Windows, bool, bool]


class _Drafted(dict[Edge, dict[_Key, float]]):
    """What the segment of an edge costs beyond running whole, by what it was drafted for; infinite when it does not
    fit."""


class _Alike(dict[Hashable, float]):
    """The same by what segments that are alike have in common."""


class _Drafts:
    """What edges cost as drafted."""

    def __init__(self, index: ProgramIndex, sets: Crossings, aim: Aim, state: int) -> None:
        self.index, self.sets, self.aim, self.state = index, sets, aim, state
        self.drafted, self.alike = index.cache(_Drafted), index.cache(_Alike)
        self.corrected: dict[Edge, float] = {}

    def correct(self, edge: Edge, cost: float) -> float:
        """What an edge costs that was estimated to cost so much: as its draft says, if there is one."""
        known = self.corrected.get(edge)
        if known is None and edge in self.drafted:
            known = self.drafted[edge].get(self._key(edge))
            if known is not None:
                self.corrected[edge] = known
        return cost if known is None else known

    def draft(self, path: Sequence[Label], cost: float) -> tuple[bool, float]:
        """Whether all segments cost about what was estimated, and what the path costs."""
        well = True
        for label in path:
            edge, before = label.edge, label.before
            assert edge is not None and before is not None
            if edge.segment.banded and edge not in self.corrected:
                estimated = label.cost - before.cost
                self.corrected[edge] = found = self._cost(edge)
                well = well and found <= estimated * CLOSE + 1
                cost += found - estimated
        return well, cost

    def _key(self, edge: Edge) -> _Key:
        segment = edge.segment
        state = round_up(VIEW_STATE_BYTES * view_count(self.index, segment), self.aim.alignment)
        room = self.aim.room_of(segment.first, segment.end) - max(self.state, state) - edge.beside - edge.spared
        aim = self.aim
        return room, aim.overlays(segment.first, segment.end), aim.windows, aim.frugal, aim.lowest

    def _cost(self, edge: Edge) -> float:
        index, sets, segment = self.index, self.sets, edge.segment
        known, key = self.drafted.setdefault(edge, {}), self._key(edge)
        if key not in known:
            room = key[0]
            slow = edge.loaded | edge.stored
            names = (*index.inputs(segment.first, segment.end), *index.outputs(segment.first, segment.end))
            homes = {n: Home.SLOW if sets.bit[n] & slow else Home.FAST for n in names if n in sets.bit}
            alike = drafted_alike(index, segment, homes, room, self.aim)
            if alike not in self.alike:
                draft = cheapest_band(index, segment, homes, room, self.aim)
                fits = draft.need(index, self.aim.alignment, self.aim.windows) <= room
                whole = sum(op_costs(index).whole[segment.first : segment.end])
                self.alike[alike] = stage_cost(index, draft) - whole if fits else math.inf
            known[key] = self.alike[alike]
        return known[key]


class _Search:
    """`only`: the segments that may be used, by first cut; None: all."""

    def __init__(
        self, index: ProgramIndex, aim: Aim, state: int, most: int | None, only: Mapping[int, Segment] | None = None
    ) -> None:
        self.index = index
        self.sets = Crossings.of(index, aim.alignment)
        self.drafts = _Drafts(index, self.sets, aim, state)
        self.rounds = _rounds(len(index.ops), bool(state) or most is not None)
        self.edges = Edges(index, self.sets, aim, (state, most), self.drafts.correct, self.rounds > SEVERAL, only)
        self.exhausted = False  #: whether there are no more paths

    def cheapest(self) -> Cut | None:
        """The cheapest of the paths that are drafted; some more are while none fits."""
        enough = ENOUGH if len(self.index.ops) > FEW else 1.0
        best: Cut | None = None
        for tried in range(max(2 * self.rounds, UNFIT)):
            end = self.edges.cheapest(_to_better(self.index, self.drafts.aim, best).most)
            self.exhausted = end is None
            if end is None or (best is not None and end.cost >= best.cost):
                break
            path = _path(end)
            well, cost = self.drafts.draft(path, end.cost)
            if cost < (math.inf if best is None else best.cost):
                best = self._cut(path, cost)
            if well or (best is not None and (best.cost <= enough * end.cost or tried + 1 >= self.rounds)):
                break
        return best

    def _cut(self, path: Sequence[Label], cost: float) -> Cut:
        segments = tuple(label.edge.segment for label in path if label.edge is not None)
        views = max(view_count(self.index, segment) for segment in segments)
        state = round_up(VIEW_STATE_BYTES * views, self.sets.alignment)
        spared = {label.edge.segment: label.edge.spared for label in path if label.edge is not None}
        return Cut(segments, self._homes(path), cost, state, spared, self.edges.led)

    def _homes(self, path: Sequence[Label]) -> dict[str, Home]:
        """Where each tensor that crosses one of the path's cuts lives."""
        start = path[0].before
        assert start is not None
        placed = [(0, start.fast, self.sets.across[0] & ~start.fast)]
        placed += [(each.segment.end, each.kept, each.stored) for each in (label.edge for label in path) if each]
        homes = {name: Home.FAST for cut, fast, _ in placed for name in self.sets.named(fast, cut)}
        return homes | {name: Home.SLOW for cut, _, slow in placed for name in self.sets.named(slow, cut)}


def _rounds(steps: int, more: bool) -> int:
    """How many paths are drafted; `more`: another search was without constraints on run-time state."""
    most, least, work = ROUNDS
    rounds = min(most, max(least, work // (steps + 1)))
    return max(least, rounds // 3) if more and steps > FEW else rounds


def _path(end: Label) -> list[Label]:
    """The labels up to `end`, but for the one it starts from."""
    path = []
    label = end
    while label.before is not None:
        path.append(label)
        label = label.before
    return path[::-1]
