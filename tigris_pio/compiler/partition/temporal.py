"""Stage 5: where to cut. Shortest paths over cuts, each edge a segment that fits the fast arena.

Two regimes. *Resident*: whatever crosses a cut stays whole in fast memory, so nothing is ever
spilled; a step is hot when even so its layer-by-layer live bytes exceed the room, and only hot
steps need bands. *Spilling*: whatever crosses a cut goes to slow memory, and the path with the
least traffic is sought.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator

import numpy as np

from tigris_pio.compiler.partition.index import ProgramIndex
from tigris_pio.compiler.partition.recompute_sweep import recomputing_fits
from tigris_pio.compiler.partition.rolling_sweep import rolling_fits
from tigris_pio.compiler.partition.segment import Segment

#: Longest segments tried in bands, and whole, in operators: most, least, and the sum over all cuts above which
#: large programs get shorter ones, so that the search stays linear in the number of operators.
BANDED_REACH, WHOLE_REACH = (200, 20, 100_000), (256, 32, 150_000)

#: Costs in units of one byte moved to or from slow memory: starting a stage, calling a kernel
#: once more, a multiply-accumulate done again, and a byte a kernel reads in slow memory itself.
STAGE_COST, CALL_COST, MAC_COST, DIRECT_COST = 64.0, 2.0, 0.5, 8.0

#: A step after all others.
_NEVER = 1 << 60


@dataclasses.dataclass
class _Paths:
    """Cheapest way to reach each cut from cut 0."""

    cost: list[float]
    last: list[Segment | None]

    @staticmethod
    def start(cuts: int) -> _Paths:
        return _Paths([0.0] + [math.inf] * (cuts - 1), [None] * cuts)

    def offer(self, segment: Segment, cost: float) -> None:
        total = self.cost[segment.first] + cost
        if total < self.cost[segment.end]:
            self.cost[segment.end] = total
            self.last[segment.end] = segment

    def segments(self) -> list[Segment] | None:
        """The path to the last cut; None when there is none."""
        if math.isinf(self.cost[-1]):
            return None
        path: list[Segment] = []
        cut = len(self.last) - 1
        while cut > 0:
            segment = self.last[cut]
            assert segment is not None
            path.append(segment)
            cut = segment.first
        return path[::-1]


def _reach(index: ProgramIndex, limits: tuple[int, int, int] = BANDED_REACH) -> int:
    most, least, work = limits
    return min(most, max(least, work // max(1, len(index.ops))))


def _calls(bands: int, ops: int) -> float:
    return STAGE_COST + CALL_COST * bands * ops


def cut_resident(index: ProgramIndex, room: int, recompute: bool) -> list[Segment] | None:
    """Segments such that everything that crosses a cut fits in fast memory with every segment's
    windows; None when there are none. `recompute`: also try bands that make halo rows again."""
    steps, reach = len(index.ops), _reach(index)
    next_hot = _next_hot(index, room)
    paths = _Paths.start(steps + 1)
    for cut in range(steps + 1):
        if recompute and index.crossing[cut] <= room and next_hot[max(0, cut - reach)] < cut:
            _offer_recomputing(index, paths, cut, room, next_hot)
        if cut == steps or math.isinf(paths.cost[cut]):
            continue
        if next_hot[cut] > cut:
            paths.offer(Segment(cut, cut + 1), CALL_COST)
        if next_hot[cut] < cut + reach:
            _offer_rolling(index, paths, cut, room, next_hot)
    segments = paths.segments()
    return None if segments is None else join_whole(segments)


def _next_hot(index: ProgramIndex, room: int) -> list[int]:
    """For each cut the first step at or after it whose live bytes exceed `room`; _NEVER when none does."""
    following = [_NEVER] * (len(index.ops) + 1)
    hot = (index.live > room).tolist()
    for step in range(len(index.ops) - 1, -1, -1):
        following[step] = step if hot[step] else following[step + 1]
    return following


def _offer_rolling(index: ProgramIndex, paths: _Paths, first: int, room: int, next_hot: list[int]) -> None:
    """Rolling segments from `first` that hold at least one hot step."""
    free = room - int(index.crossing[first])
    for fit in rolling_fits(index, first, True, free, _reach(index)):
        if fit.new_output_bytes + fit.window_bytes <= free and next_hot[first] < fit.end:
            paths.offer(Segment(first, fit.end, True, True), _calls(fit.bands, fit.end - first))


def _offer_recomputing(index: ProgramIndex, paths: _Paths, end: int, room: int, next_hot: list[int]) -> None:
    for fit in recomputing_fits(index, end, True, room - int(index.crossing[end]), _reach(index)):
        need = int(index.crossing[fit.first]) + fit.new_output_bytes + fit.window_bytes
        if need <= room and next_hot[fit.first] < end:
            cost = _calls(fit.bands, end - fit.first) + MAC_COST * fit.recomputed_macs
            paths.offer(Segment(fit.first, end, True), cost)


def join_whole(segments: list[Segment]) -> list[Segment]:
    """Neighbouring segments that run whole, joined: in fast memory a cut between them changes nothing."""
    joined: list[Segment] = []
    for segment in segments:
        if joined and not segment.banded and not joined[-1].banded:
            joined[-1] = Segment(joined[-1].first, segment.end)
        else:
            joined.append(segment)
    return joined


def cut_spilling(index: ProgramIndex, room: int, recompute: bool) -> list[Segment]:
    """Segments for an arena of `room` bytes when what crosses a cut lives in slow memory.

    Always finds a path: an operator that fits in no other way works in slow memory directly.
    """
    paths = _Paths.start(len(index.ops) + 1)
    for cut in range(len(index.ops) + 1):
        if recompute and cut:
            for again in recomputing_fits(index, cut, False, room, _reach(index)):
                if again.window_bytes <= room:
                    cost = _calls(again.bands, cut - again.first) + MAC_COST * again.recomputed_macs + again.traffic
                    paths.offer(Segment(again.first, cut, True), cost)
        if cut == len(index.ops):
            break
        op = index.ops[cut]
        direct = sum(index.tensor(o.tensor).bytes for o in op.operands) + index.tensor(op.output).bytes
        paths.offer(Segment(cut, cut + 1, direct=True), STAGE_COST + DIRECT_COST * direct)
        for end, traffic in _whole_fits(index, cut, room):
            paths.offer(Segment(cut, end), _calls(1, end - cut) + traffic)
        for fit in rolling_fits(index, cut, False, room, _reach(index)):
            if fit.window_bytes <= room:
                paths.offer(Segment(cut, fit.end, True, True), _calls(fit.bands, fit.end - cut) + fit.traffic)
    segments = paths.segments()
    assert segments is not None
    return segments


def _whole_fits(index: ProgramIndex, first: int, room: int) -> list[tuple[int, int]]:
    """The ends of the segments from `first` that fit whole, with the slow bytes each moves."""
    key = ("whole", first)
    known, fits = index.memory.get(key, (-1, []))
    if known < room:
        fits = list(_whole_sweep(index, first, room))
        index.memory[key] = room, fits
    return [(end, traffic) for end, traffic, peak in fits if peak <= room]


def _whole_sweep(index: ProgramIndex, first: int, room: int) -> Iterator[tuple[int, int, int]]:
    """The end, the slow bytes moved and the peak of each segment from `first` that fits `room` whole."""
    live = np.zeros(min(len(index.ops) - first, _reach(index, WHOLE_REACH)), dtype=np.int64)
    last_use: dict[str, int] = {}
    loaded = peak = 0
    unread = 0  # bytes made in the segment whose every later reader is still outside it
    for at in range(len(live)):
        step = first + at
        output = index.ops[step].output
        live[at] += index.ops[step].scratch_bytes
        for name, size in index.reads[step]:
            if name not in last_use:
                loaded += size
                last_use[name] = at - 1
            live[last_use[name] + 1 : at + 1] += size
            last_use[name] = at
            life = index.lives[name]
            if life.death == step and life.birth >= first:
                unread -= size
        made = index.tensor(output).bytes
        live[at] += made
        last_use[output] = at
        unread += made
        peak = max(peak, int(live[: at + 1].max()))
        if peak > room:
            return
        yield step + 1, loaded + unread, peak
