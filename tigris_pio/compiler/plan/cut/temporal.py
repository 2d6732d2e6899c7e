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

from tigris_pio.compiler.plan.band.spatial import draft_stage
from tigris_pio.compiler.plan.cost import CALL_COST, DIRECT_COST, MAC_COST, calls_cost, setup_cost
from tigris_pio.compiler.plan.cut.image_sweep import image_fits
from tigris_pio.compiler.plan.cut.recompute_sweep import RecomputingFit, recomputing_fits
from tigris_pio.compiler.plan.cut.rolling_sweep import rolling_fits
from tigris_pio.compiler.plan.index import ProgramIndex
from tigris_pio.compiler.plan.segment import Segment
from tigris_pio.format.enums import Home

#: Longest segments tried in bands, and whole, in operators: most, least, and the sum over all cuts above which
#: large programs get shorter ones, so that the search stays linear in the number of operators.
BANDED_REACH, WHOLE_REACH = (200, 20, 100_000), (256, 32, 150_000)

#: Programs of more operators are cut without counting on outputs that grow over inputs.
OVERLAY_REACH = 3000

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

    def improve(self, first: int, end: int, cost: float) -> bool:
        """Whether a segment of that cost would be taken."""
        return self.cost[first] + cost < self.cost[end]

    def offer(
        self, first: int, end: int, cost: float, banded: bool = False, keep: bool = False, direct: bool = False
    ) -> None:
        """A segment, taken if the way to `end` through it is the cheapest so far."""
        if self.improve(first, end, cost):
            self.cost[end] = self.cost[first] + cost
            self.last[end] = Segment(first, end, banded, keep, direct)

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


def _bands_cost(bands: int, ops: int) -> float:
    """What a stage costs beside its traffic and the work it repeats."""
    return setup_cost() + calls_cost(bands, ops)


def cut_resident(index: ProgramIndex, room: int, recompute: bool, overlay: bool) -> list[Segment] | None:
    """Segments such that everything that crosses a cut fits in fast memory with every segment's
    windows; None when there are none. `recompute`: also try bands that make halo rows again. `overlay`: also count on
    outputs that grow over inputs."""
    steps, reach = len(index.ops), _reach(index)
    next_hot = _next_hot(index, room)
    overlay = overlay and steps <= OVERLAY_REACH
    paths = _Paths.start(steps + 1)
    for cut in range(steps + 1):
        if recompute and index.crossing[cut] <= room and next_hot[max(0, cut - reach)] < cut:
            _offer_recomputing(index, paths, cut, room, next_hot, overlay)
        if cut == steps or math.isinf(paths.cost[cut]):
            continue
        images = index.ops[cut].images
        if next_hot[cut] > cut:
            paths.offer(cut, cut + 1, CALL_COST if images == 1 else _bands_cost(images, 1))
        for end in image_fits(index, cut, room, reach):
            paths.offer(cut, end, _bands_cost(images, end - cut))
        if next_hot[cut] < cut + reach:
            _offer_rolling(index, paths, cut, room, next_hot, overlay)
    segments = paths.segments()
    return None if segments is None else join_whole(index, segments)


def _next_hot(index: ProgramIndex, room: int) -> list[int]:
    """For each cut the first step at or after it whose live bytes exceed `room`; _NEVER when none does."""
    following = [_NEVER] * (len(index.ops) + 1)
    hot = (index.live > room).tolist()
    for step in range(len(index.ops) - 1, -1, -1):
        following[step] = step if hot[step] else following[step + 1]
    return following


def _offer_rolling(
    index: ProgramIndex, paths: _Paths, first: int, room: int, next_hot: list[int], overlay: bool
) -> None:
    """Rolling segments from `first` that hold at least one hot step."""
    free = room - int(index.crossing[first])
    for fit in rolling_fits(index, first, True, free, _reach(index)):
        if next_hot[first] >= fit.end:
            continue
        bands = fit.bands * index.ops[first].images
        cost, lacking = _bands_cost(bands, fit.end - first), fit.new_output_bytes + fit.window_bytes - free
        segment = Segment(first, fit.end, True, True)
        if paths.improve(first, fit.end, cost) and (lacking <= 0 or (overlay and _saves(index, segment, lacking))):
            paths.offer(first, fit.end, cost, banded=True, keep=True)


def _saves(index: ProgramIndex, segment: Segment, lacking: int) -> bool:
    """Whether a segment in one-row bands gains so many bytes by outputs that grow over inputs."""
    inputs, outputs = index.inputs(segment.first, segment.end), index.outputs(segment.first, segment.end)
    eaten = [name for name in inputs if name in index.lives and not index.outlives(name, segment.end)]
    if lacking > min(sum(index.tensor(name).bytes for name in names) for names in (eaten, outputs)):
        return False
    homes = {name: Home.FAST for name in (*inputs, *outputs) if name in index.lives}
    overlays = draft_stage(index, segment, 1, homes).overlays
    return sum(overlay.saving(index, 1) for overlay in overlays) >= lacking


def _offer_recomputing(
    index: ProgramIndex, paths: _Paths, end: int, room: int, next_hot: list[int], overlay: bool
) -> None:
    for fit, cost in _recomputing(index, paths, end, True, room - int(index.crossing[end])):
        need = int(index.crossing[fit.first]) + fit.new_output_bytes + fit.window_bytes
        if next_hot[fit.first] >= end or not paths.improve(fit.first, end, cost):
            continue
        if need <= room or (overlay and _saves(index, Segment(fit.first, end, True), need - room)):
            paths.offer(fit.first, end, cost, banded=True)


def _recomputing(
    index: ProgramIndex, paths: _Paths, end: int, resident: bool, room: int
) -> Iterator[tuple[RecomputingFit, float]]:
    """The recomputing segments that end at `end`, each with what its calls and repeated work cost.

    Both only grow towards the front, so the search ends where they alone exceed what other segments reach `end` for.
    """
    reach = _reach(index)
    cheapest_start = min(paths.cost[max(0, end - reach) : end], default=0.0)
    for fit in recomputing_fits(index, end, resident, room, reach):
        bands = fit.bands * index.ops[fit.first].images
        cost = _bands_cost(bands, end - fit.first) + MAC_COST * fit.recomputed_macs
        if cheapest_start + cost >= paths.cost[end]:
            return
        yield fit, cost


def join_whole(index: ProgramIndex, segments: list[Segment]) -> list[Segment]:
    """Neighbouring segments that run whole, joined: in fast memory a cut between them changes nothing. It does between
    those that run image by image."""
    joined: list[Segment] = []
    for segment in segments:
        images = {index.ops[item.first].images for item in (*joined[-1:], segment)}
        if joined and not segment.banded and not joined[-1].banded and images == {1}:
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
            for again, cost in _recomputing(index, paths, cut, False, room):
                if again.window_bytes <= room:
                    paths.offer(again.first, cut, cost + again.traffic, banded=True)
        if cut == len(index.ops):
            break
        op = index.ops[cut]
        direct = sum(index.tensor(o.tensor).bytes for o in op.operands) + index.tensor(op.output).bytes
        paths.offer(cut, cut + 1, setup_cost() + DIRECT_COST * direct, direct=True)
        for end, traffic in _whole_fits(index, cut, room):
            paths.offer(cut, end, _bands_cost(op.images, end - cut) + traffic)
        for fit in rolling_fits(index, cut, False, room, _reach(index)):
            if fit.window_bytes <= room:
                cost = _bands_cost(fit.bands * op.images, fit.end - cut) + fit.traffic
                paths.offer(cut, fit.end, cost, banded=True, keep=True)
    segments = paths.segments()
    assert segments is not None
    return segments


class _KnownWhole(dict[int, tuple[int, list[tuple[int, int, int]]]]):
    """By first operator: up to which room known, and the end, the slow bytes moved and the peak of each."""


def _whole_fits(index: ProgramIndex, first: int, room: int) -> list[tuple[int, int]]:
    """The ends of the segments from `first` that fit whole, with the slow bytes each moves."""
    cache = index.cache(_KnownWhole)
    known, fits = cache.get(first, (-1, []))
    if known < room:
        fits = list(_whole_sweep(index, first, room))
        cache[first] = room, fits
    return [(end, traffic) for end, traffic, peak in fits if peak <= room]


def _whole_sweep(index: ProgramIndex, first: int, room: int) -> Iterator[tuple[int, int, int]]:
    """The end, the slow bytes moved and the peak of each segment from `first` that fits `room` whole."""
    live = [0] * min(len(index.ops) - first, _reach(index, WHOLE_REACH))
    last_use: dict[str, int] = {}
    loaded = peak = 0
    unread = 0  # bytes made in the segment whose every later reader is still outside it
    for at in range(len(live)):
        step = first + at
        if index.ops[step].images != index.ops[first].images:
            return
        output = index.ops[step].output
        live[at] += index.ops[step].scratch_bytes
        changed = at  # the first step whose live bytes are not those of before
        for name, size in index.reads[step]:
            if name not in last_use:
                loaded += size
                last_use[name] = at - 1
            for since in range(last_use[name] + 1, at + 1):
                live[since] += size
            changed = min(changed, last_use[name] + 1)
            last_use[name] = at
            life = index.lives[name]
            if life.death == step and life.birth >= first:
                unread -= size
        made = index.tensor(output).bytes
        live[at] += made
        last_use[output] = at
        unread += made
        peak = max(peak, *live[changed : at + 1])
        if peak > room:
            return
        yield step + 1, loaded + unread, peak
