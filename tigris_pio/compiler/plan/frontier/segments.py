"""The segments that may start or end at a cut, with the bytes that they take and their cost.

Sweeps estimate them in bands of one row. Each further row of a band takes a constant number of bytes. It saves calls,
moved rows and rows made again in proportion.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from tigris_pio.compiler.plan.cost import DIRECT_BYTE, again_costs, op_costs
from tigris_pio.compiler.plan.cut.crossings import Crossings, bits, subsets_of
from tigris_pio.compiler.plan.cut.estimate import Prices, fullest, setup
from tigris_pio.compiler.plan.cut.growth import Growth, Paces, Pair
from tigris_pio.compiler.plan.cut.image_sweep import image_fits, windows_of_images
from tigris_pio.compiler.plan.cut.reach import Reach
from tigris_pio.compiler.plan.cut.recompute_sweep import RecomputingFit, recomputing_fits
from tigris_pio.compiler.plan.cut.rolling_sweep import RollingFit, rolling_fits
from tigris_pio.compiler.plan.cut.shapes import Shape, shapes_from
from tigris_pio.compiler.plan.cut.size import Size
from tigris_pio.compiler.plan.frontier.label import Edge, Label
from tigris_pio.compiler.plan.index import ProgramIndex
from tigris_pio.compiler.plan.segment import Segment
from tigris_pio.format.records import VIEW_STATE_BYTES
from tigris_pio.sizes import round_up


class Whole(NamedTuple):
    """A segment that runs whole.

    need: bytes that it takes
    cost: instructions beyond running whole in a stage that has begun
    joins: all its tensors lie in fast memory, so it may join a neighbouring stage
    member: the tensor that ends the chain behind it, if that changes
    deeper: bytes by which the chain then ends higher
    """

    edge: Edge
    need: int
    cost: float
    joins: bool = False
    member: int | None = None
    deeper: int = 0


class Banded(NamedTuple):
    """A segment in bands behind a label.

    need: bytes at one row a band, of them `windows` for windows
    bands: number of bands of one row, of one image
    calls: instructions of calling its kernels in each of these bands
    once: instructions of calling each kernel once
    started: instructions of the stage, and of bytes moved to and from slow memory
    worked: instructions of moving kept rows and of rows made again, in bands of one row
    fetched: instructions that fetching code and weights again counts for, in each band but the first
    copies: tensors moved to or from slow memory in each band
    eats: tensors in fast memory that end with it
    """

    source: Label
    edge: Edge
    need: int
    windows: Size
    bands: int
    images: int
    calls: float
    once: float
    started: float
    worked: float
    fetched: float
    copies: int
    eats: int
    paces: Paces


class Grown(NamedTuple):
    """The saving of a segment in bands of one row if its outputs grow over its inputs.

    saving: bytes
    growth: bytes that each further row a band takes of these
    pair: the pair that continues a chain
    """

    saving: int
    growth: float
    pair: Pair
    lead: int  #: bytes from the start of the pair's output to that of its input


class Segments:
    """The segments of one program.

    slow: bytes of slow memory
    top: bytes that no segment may exceed
    views: the most tensors that a segment may touch; None: any number
    """

    def __init__(self, index: ProgramIndex, slow: int, alignment: int, top: int, views: int | None) -> None:
        self.index, self.slow, self.alignment, self.top, self.views = index, slow, alignment, top, views
        self.sets = Crossings.of(index, alignment)
        self.prices, self.costs = Prices.of(index.processor), op_costs(index)
        self.steps = len(index.ops)
        self.reach = Reach.of(self.steps, slow > 0)
        self._growth = Growth(index, self.sets)
        self._ample = self.sets.total <= slow
        self._subsets: dict[int, Sequence[int]] = {}
        self._rolls: dict[int, list[tuple[RollingFit, Shape, int, float]]] = {}
        self._sized: dict[tuple[int, int, int], Size] = {}

    def starts(self) -> list[int]:
        """The sets of inputs that may lie in fast memory when the run begins."""
        inputs = self.sets.across[0]
        if not self.slow:
            return [inputs]
        return [fast for fast in subsets_of(inputs, 3) if self.sets.size(inputs & ~fast) <= self.slow]

    def after(self, label: Label, edge: Edge) -> int:
        """The tensors in fast memory behind an edge."""
        return (label.fast & self.sets.across[edge.segment.end]) | edge.kept

    # -- what runs whole

    def whole(self, cut: int, label: Label) -> Iterator[Whole]:
        """Segments from a cut that run whole: one operator, or several of which some read what an earlier one brought
        or stored; or image by image."""
        yield from self._one(cut, label)
        if self.index.ops[cut].images > 1:
            yield from self._images(cut, label)
        if self.slow:
            yield from self._run(cut, label)

    def _one(self, cut: int, label: Label) -> Iterator[Whole]:
        """One operator, also in slow memory directly."""
        sets, prices, size = self.sets, self.prices, self.sets.size
        shape, held = self._shapes(cut)[0], size(label.fast)
        state = self._state(shape.views)
        loaded, made = shape.reads & ~label.fast, sets.makes[cut]
        shared = 0 if loaded else sets.shared[cut]
        need = held + size(loaded) + size(made) + sets.scratch[cut] - shared + state
        for kept in self._homes(cut, label, shape.leaves):
            stored = shape.leaves & ~kept
            edge = Edge(Segment(cut, cut + 1), loaded, stored, kept)
            joins = not (loaded or stored or self.index.ops[cut].images > 1)
            cost = 0.0 if joins and label.joins else prices.stage
            cost += prices.view * (1 if joins else shape.views) + self._moved(loaded, stored, cut, cut + 1)
            cost += prices.copy * (loaded | stored).bit_count()
            if shared and label.member & sets.reads[cut] & ~sets.across[cut + 1]:
                yield Whole(edge, need, cost, joins, made, max(0, size(made) - size(label.member)))
            else:
                yield Whole(edge, need, cost, joins)
            if loaded or stored:
                moved = DIRECT_BYTE * (size(loaded) + size(stored))
                direct = edge._replace(segment=Segment(cut, cut + 1, direct=True))
                less = held + size(made & ~stored) + sets.scratch[cut] + state
                if less < need:
                    yield Whole(direct, less, setup(prices, shape.views) + moved)

    def _images(self, cut: int, label: Label) -> Iterator[Whole]:
        """Image by image; of what lies in slow memory one image is brought or made at a time."""
        sets, images, shapes = self.sets, self.index.ops[cut].images, self._shapes(cut)
        held = sets.size(label.fast)
        for end, live in image_fits(self.index, cut, self.top - held, self.reach.rolling):
            shape = shapes[end - cut - 1]
            loaded = shape.reads & ~label.fast
            for kept in self._homes(cut, label, shape.leaves):
                stored = shape.leaves & ~kept
                need = held + sets.size(kept) + self._state(shape.views)
                need += fullest(live, windows_of_images(sets, loaded | stored, cut, end))
                cost = setup(self.prices, shape.views) + self._moved(loaded, stored, cut, end)
                cost += self._for_each_image(loaded, cut, end)
                cost += self.prices.copy * (loaded | stored).bit_count() * images
                yield Whole(Edge(Segment(cut, end), loaded, stored, kept), need, cost)

    def _for_each_image(self, loaded: int, first: int, end: int) -> float:
        """Instructions of bringing what all images read for each but one."""
        names = self.sets.named(loaded, end)
        shared = sum(self.sets.bit[name] for name in names if self.index.tensor(name).batch == 1)
        return (self.index.ops[first].images - 1) * self._moved(shared, 0, first, end) if shared else 0.0

    def _run(self, cut: int, label: Label) -> Iterator[Whole]:
        """Several operators that touch slow memory: what they load stays from its first use to its last. Only where
        that saves something: the last operator reads what an earlier one loaded, or stored."""
        sets, fast, slow = self.sets, label.fast, ~label.fast
        live: list[int] = []
        last: dict[int, int] = {}
        images, seen = self.index.ops[cut].images, 0
        for at, shape in enumerate(self._shapes(cut)[: self.reach.whole]):
            step = cut + at
            if self.index.ops[step].images != images:
                return
            brought = sets.reads[step] & slow
            shared = 0 if brought & shape.reads else sets.shared[step]
            live.append(sets.size(fast & sets.across[step]) + sets.scratch[step] - shared)
            for place in bits(brought):
                bit = 1 << place
                for since in range(last.get(bit, at - 1) + 1, at + 1):
                    live[since] += sets.size(bit)
                last[bit] = at
            made = sets.makes[step]
            live[at] += sets.size(made)
            last[made] = at
            if max(live) > self.top:
                return
            again, seen = sets.reads[step] & (seen | shape.leaves), seen | brought
            if not at or not again:
                continue
            loaded = shape.reads & slow
            for kept in self._homes(cut, label, shape.leaves):
                stored = shape.leaves & ~kept
                if loaded or stored:
                    cost = setup(self.prices, shape.views) + self._moved(loaded, stored, cut, step + 1)
                    cost += self.prices.copy * (loaded | stored).bit_count()
                    longer = [(sets.size(1 << p), last[1 << p] + 1, at) for p in bits(kept) if last[1 << p] < at]
                    need = fullest(live, longer) + self._state(shape.views)
                    yield Whole(Edge(Segment(cut, step + 1), loaded, stored, kept), need, cost)

    # -- what runs in bands

    @functools.cached_property
    def needs(self) -> np.ndarray:
        """Bytes that each operator takes whole, with all that is alive."""
        sets = self.sets
        views = (sets.reads[step].bit_count() + sets.constants[step] + 1 for step in range(self.steps))
        return np.array([sets.size(sets.across[step]) + sets.size(sets.makes[step]) + sets.scratch[step]
                         - sets.shared[step] + self._state(count) for step, count in enumerate(views)])  # fmt: skip

    def first_beyond(self, level: float, first: int, end: int) -> int:
        """The first operator of [first, end) that does not fit a level whole; `end` if all do."""
        beyond = np.flatnonzero(self.needs[first:end] > level)
        return first + int(beyond[0]) if len(beyond) else end

    def rolling(self, cut: int, label: Label, level: float) -> Iterator[Banded]:
        """Segments from a cut that keep the rows which a later band needs; of no use are those whose operators all fit
        `level` whole, the lowest of the label."""
        sets, size, images = self.sets, self.sets.size, self.index.ops[cut].images
        held, least = size(label.fast), 0
        if label.fast == sets.across[cut]:
            least = self.first_beyond(level, cut, min(self.steps, cut + self.reach.rolling)) + 1
            if least > cut + self.reach.rolling or least > self.steps:
                return
        rolled = rolling_fits(self.index, cut, not self.slow, self.top - held, self.reach.rolling)
        known = self._rolls.setdefault(cut, [])
        shapes, fetched = self._shapes(cut), again_costs(self.index, cut)
        for fit in rolled.fits[len(known) :]:
            shape = shapes[len(known)]
            known.append((fit, shape, self._state(shape.views), setup(self.prices, shape.views)))
        for fit, shape, state, begun in known:
            if held + fit.inner.bytes + state > self.top:
                return  # more operators never take less
            if fit.end < least:
                continue
            loaded, eats = shape.reads & ~label.fast, shape.reads & label.fast & ~sets.across[fit.end]
            segment = Segment(cut, fit.end, True, True)
            for kept in self._homes(cut, label, shape.leaves):
                stored = shape.leaves & ~kept
                windows = self._rolling_windows(cut, fit, loaded | stored)
                yield Banded(
                    label, Edge(segment, loaded, stored, kept), held + size(kept) + state + windows.bytes, windows,
                    fit.bands, images, fit.calls, shape.once, begun + self._moved(loaded, stored, cut, fit.end),
                    self.prices.moved_byte * fit.moved_bytes, fetched[fit.end - cut - 1], (loaded | stored).bit_count(),
                    eats, rolled.paces,
                )  # fmt: skip

    def _rolling_windows(self, cut: int, fit: RollingFit, slow: int) -> Size:
        """The windows of a segment when `slow` lies in slow memory."""
        if not slow:
            return fit.inner
        key = (cut, fit.end, slow)
        if key not in self._sized:
            found = fit.inner
            for name, each in itertools.chain(fit.outside, fit.leaving):
                if self.sets.bit[name] & slow:
                    found += each
            self._sized[key] = min(found, fit.all, key=lambda one: one.bytes)
        return self._sized[key]

    def again(self, end: int) -> Iterator[tuple[RecomputingFit, RecomputingFit | None]]:
        """Segments up to a cut that make rows again, shortest first, and the same with what crosses in slow memory."""
        every = iter(recomputing_fits(self.index, end, False, 2 * self.top, self.reach.again))
        beside = next(every, None) if self.slow else None
        for fit in recomputing_fits(self.index, end, True, self.top, self.reach.again):
            while beside is not None and beside.first > fit.first:
                beside = next(every, None)
            yield fit, beside if beside is not None and beside.first == fit.first else None

    def repeated(
        self, end: int, fit: RecomputingFit, apart: RecomputingFit | None, label: Label
    ) -> Iterator[Banded]:
        """One of these from a label at its first cut."""
        cut, size = fit.first, self.sets.size
        shape = self._shapes(cut)[end - cut - 1]
        state = self._state(shape.views)
        loaded, eats = shape.reads & ~label.fast, shape.reads & label.fast & ~self.sets.across[end]
        for kept in self._homes(cut, label, shape.leaves):
            stored = shape.leaves & ~kept
            windows, again, moved = fit.windows, fit.again, self._moved(loaded, stored, cut, end)
            if loaded or stored:
                if apart is None:
                    continue
                crossing = [each for each in apart.crossing if self.sets.bit[each.name] & (loaded | stored)]
                windows = fit.live.beside(cut, crossing).most
                traffic = self.prices.slow_byte * sum(each.traffic for each in crossing)
                again += max(0.0, traffic - moved)
            yield Banded(
                label, Edge(Segment(cut, end, True), loaded, stored, kept),
                size(label.fast) + size(kept) + state + windows.bytes, windows, fit.bands, self.index.ops[cut].images,
                fit.calls, shape.once, setup(self.prices, shape.views) + moved, again, self._fetched(fit, end),
                (loaded | stored).bit_count(), eats, {},
            )  # fmt: skip

    def hope(self, end: int, fit: RecomputingFit) -> Banded:
        """One of these with nothing beside it."""
        shape = self._shapes(fit.first)[end - fit.first - 1]
        nothing = Label(0, False, 0, 0)
        need = self._state(shape.views) + fit.windows.bytes
        return Banded(nothing, Edge(Segment(fit.first, end, True), 0, 0, 0), need, fit.windows, fit.bands,
                      self.index.ops[fit.first].images, fit.calls, shape.once, setup(self.prices, shape.views),
                      fit.again, self._fetched(fit, end), 0, 0, {})  # fmt: skip

    def _fetched(self, fit: RecomputingFit, end: int) -> float:
        return again_costs(self.index, fit.first)[end - fit.first - 1]

    def grown(self, one: Banded) -> Grown | None:
        """The saving of a segment if its outputs grow over its inputs; None if there is none."""
        pairs = self._growth.pairs(one.edge.segment, one.eats, one.edge.kept, one.bands, one.paces)
        if not pairs:
            return None
        pair = next((each for each in pairs if each.eaten == one.source.member), pairs[0])
        lead = pair.drift - self.sets.size(pair.eaten) + self.sets.size(pair.grown)
        return Grown(sum(each.saving for each in pairs), sum(each.growth for each in pairs), pair, lead)

    # -- what all have in common

    def _homes(self, cut: int, label: Label, leaves: int) -> Sequence[int]:
        """Which of the tensors it leaves a segment may leave in fast memory."""
        if not self.slow:
            return (leaves,)
        found = self._subsets.get(leaves)
        if found is None:
            found = self._subsets[leaves] = subsets_of(leaves, 3 if self.index.is_small else 1)
        if self._ample:
            return found
        below = self.sets.across[cut] & ~label.fast
        return [kept for kept in found if self.sets.size(below | (leaves & ~kept)) <= self.slow]

    def _state(self, views: int) -> int:
        """Bytes of run-time state of a stage that touches so many tensors: under a limit all take that."""
        if self.views is not None:
            views = self.views if views <= self.views else 1 << 40
        return round_up(VIEW_STATE_BYTES * views, self.alignment)

    def _moved(self, loaded: int, stored: int, first: int, end: int) -> float:
        """Instructions of moving so much to and from slow memory for operators [first, end)."""
        if not loaded | stored:
            return 0.0
        return self.prices.slow_byte * (self.sets.loaded(loaded, first, end) + self.sets.stored(stored))

    def _shapes(self, cut: int) -> list[Shape]:
        return shapes_from(self.sets, cut, max(self.reach.rolling, self.reach.whole), self.costs.call)


class Costs(NamedTuple):
    """Arrays of segments in bands by levels.

    cost: instructions; infinite if a segment does not fit
    rows: rows of a band
    """

    cost: np.ndarray
    rows: np.ndarray


class Table:
    """Several segments in bands, by columns."""

    def __init__(self, found: Sequence[Banded], copy: float) -> None:
        rows = [(one.need, one.windows.growth, one.windows.credit, one.bands, one.images, one.calls, one.once,
                 one.started, one.worked, one.fetched, copy * one.copies) for one in found]  # fmt: skip
        self._columns = np.array(rows, np.float64).reshape(-1, 11).T[:, :, None]

    def costs(
        self, levels: np.ndarray, saving: np.ndarray | float = 0.0, leads: np.ndarray | float = 0.0,
        most: np.ndarray | float = math.inf,
    ) -> Costs:  # fmt: skip
        """saving: bytes that each takes less; leads: bytes that each further row takes more; most: rows of a band."""
        need, growth, credit, bands, images, calls, once, started, worked, fetched, copies = self._columns
        spare = levels - need + saving
        growth = growth + leads
        grows = growth > 0
        rows = np.floor((spare + credit) / np.where(grows, growth, 1.0)) + 1
        rows = np.minimum(np.minimum(np.where(grows, rows, bands), bands), most)
        fits = (spare >= 0) & (rows >= 1)
        np.maximum(rows, 1, out=rows)
        number = np.ceil(bands / rows)
        share = number / bands
        cost = started + np.maximum(once, calls * share) - once + worked * share + copies * number * images
        cost += fetched * (number * images - 1)
        return Costs(np.where(fits, cost, np.inf), np.ceil(bands / number))
