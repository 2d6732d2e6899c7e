"""Every segment that may start at a cut, given what lies in fast memory there, with an estimate of what it costs."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial

from tigris_pio.compiler.plan.aim import Aim, Windows
from tigris_pio.compiler.plan.cost import DIRECT_BYTE, op_costs
from tigris_pio.compiler.plan.cut.crossings import Crossings, bits, subsets_of
from tigris_pio.compiler.plan.cut.descent import NO_DESCENT, Descent, Way, ways_to_grow
from tigris_pio.compiler.plan.cut.estimate import Banded, Prices, banded_cost, fullest, rows_that_fit, setup
from tigris_pio.compiler.plan.cut.growth import Growth, Paces
from tigris_pio.compiler.plan.cut.hot import NEVER, following_hot
from tigris_pio.compiler.plan.cut.image_sweep import image_fits, windows_of_images
from tigris_pio.compiler.plan.cut.labels import Edge, Label, Labels
from tigris_pio.compiler.plan.cut.offers import Offer, Repeated, Roll
from tigris_pio.compiler.plan.cut.reach import Reach
from tigris_pio.compiler.plan.cut.recompute_sweep import RecomputingFit, recomputing_fits
from tigris_pio.compiler.plan.cut.rolling_sweep import Rolled, RollingFit, rolling_fits
from tigris_pio.compiler.plan.cut.shapes import Shape, shapes_from
from tigris_pio.compiler.plan.cut.size import Size
from tigris_pio.compiler.plan.index import ProgramIndex
from tigris_pio.compiler.plan.segment import Segment
from tigris_pio.format.records import VIEW_STATE_BYTES
from tigris_pio.sizes import round_up

#: In programs of at most so many operators up to three tensors that a segment leaves get homes each for itself; in
#: larger ones, and when there are more, they all have the same.
SMALL = 60
#: Larger programs make no rows again where they have slow memory.
LARGE = 300
#: A way may be estimated to cost so many times what all must cost less than: drafts often cost less.
LOOSE = 1.03
#: Where bands have as many rows, more make them little cheaper: outputs grow over inputs only where that takes less.
TALL = 4


class _Sized(dict[tuple[int, int, int, Windows | None], Size]):
    """The windows of segments, by first and last cut, what lies in slow memory, and how windows share; None: rows are
    made again, so they share as they like."""


class Edges:
    """The segments of `index` within what `aim` gives. states: bytes of run-time state that some stage takes anyway,
    and that one may take at most; corrected: the better known cost of an edge, from it and an estimate; again: whether
    the cheapest way will be asked for several times; only: the segments ways may take, by first cut; None: all."""

    def __init__(
        self,
        index: ProgramIndex,
        sets: Crossings,
        aim: Aim,
        states: tuple[int, int | None],
        corrected: Callable[[Edge, float], float],
        again: bool,
        only: Mapping[int, Segment] | None = None,
    ) -> None:
        self.again, self.only = again, only
        self.index, self.sets, self.aim = index, sets, aim
        self.state, self.most_state = states
        self.corrected = corrected
        self.prices = Prices.of(index.processor)
        self.costs = op_costs(index)
        self.steps = len(index.ops)
        self.reach = Reach.of(self.steps, aim.slow > 0)
        self.growth = Growth(index, sets)
        self.ample = sets.total <= aim.slow
        self._subsets: dict[int, list[int]] = {}
        self._offers: dict[Hashable, list[Offer]] = {}
        self._sized = index.cache(_Sized)
        self._labels = Labels(sets, self.prices.slow_byte, aim.most * LOOSE, not aim.slow)
        self._rolls: dict[int, list[Roll]] = {}
        self._repeated = None if only else Repeated(sets, aim)
        self._all = False  # whether to tell what is no better than what is known
        self._passes = 0
        self.led = 0  #: how often segments were looked for that lead on from a way, which is what a search takes

    def _starts(self) -> list[int]:
        """The sets of inputs that may lie in fast memory when the run begins."""
        inputs = self.sets.across[0]
        if not self.aim.slow:
            return [inputs]
        found = subsets_of(inputs, 3)
        return [fast for fast in found if self.sets.size(inputs & ~fast) <= self.aim.slow]

    def cheapest(self, most: float = math.inf) -> Label | None:
        """The cheapest way to the last cut that costs less than `most`, or little more; None when there is none."""
        labels = self._labels = Labels(self.sets, self.prices.slow_byte, LOOSE * most, not self.aim.slow)
        self._passes += 1
        for fast in self._starts():
            labels.offer(0, Label(0.0, fast, False, None, None))
        costs: list[float] = []  # of the cheapest way to each cut
        for cut in range(self.steps + 1):
            self._pull(labels, cut, min(costs[max(0, cut - self.reach.again) : cut], default=math.inf))
            kept = labels.kept(cut)
            costs.append(kept[0].cost if kept else math.inf)
            if cut < self.steps:
                for label in kept:
                    self._push(labels, cut, label)
        return min(labels.kept(self.steps), key=lambda label: label.cost, default=None)

    # -- what every kind of segment has in common

    def _free(self, state: int, first: int = 0, end: int = 0) -> int:
        """Bytes for all but the run-time state, in any case or during steps [first, end)."""
        room = self.aim.room_of(first, end) if self.aim.less else self.aim.room
        if self.most_state is not None and state > self.most_state:
            return -1
        return room - max(self.state, state)

    def _state_of(self, views: int) -> int:
        return round_up(VIEW_STATE_BYTES * views, self.aim.alignment)

    def _homes(self, label: Label, cut: int, leaves: int) -> Sequence[int]:
        """Which of the tensors it leaves a segment may leave in fast memory."""
        if not self.aim.slow:
            return (leaves,)
        found = self._subsets.get(leaves)
        if found is None:
            found = self._subsets[leaves] = subsets_of(leaves, 3 if self.steps <= SMALL else 1)
        if self.ample:
            return found
        below = self.sets.across[cut] & ~label.fast
        return [kept for kept in found if self.sets.size(below | (leaves & ~kept)) <= self.aim.slow]

    @property
    def _kept(self) -> bool:
        """Whether what leads on is kept for another pass; most searches end with the first."""
        return self.again and self._passes > 1

    def _offer(self, labels: Labels, label: Label, key: Hashable, offers: Callable[[], Iterator[Offer]]) -> None:
        """Offers what leads on from a way; it does not depend on what that cost and is told once for each `key`. None:
        each time, being what is useful now."""
        self.led += 1
        self.index.work.charge(1)
        known: Iterable[Offer] | None = self._offers.get(key)
        if known is None:
            known = offers()
            if self._kept and key is not None:
                known = self._offers[key] = list(known)
        for offer in known:
            if offer.more is None:
                self._offer_one(labels, label, offer)
            elif labels.beats(offer.edge.segment.end, self._fast_after(label, offer.edge), False,
                              label.cost + offer.cost):  # fmt: skip
                self._offer(labels, label, None if key is None else (key, offer.edge), offer.more)

    def _offer_one(self, labels: Labels, label: Label, offer: Offer) -> None:
        edge, cost, end = offer.edge, label.cost + offer.cost, offer.edge.segment.end
        fast = self._fast_after(label, edge)
        descent = label.descent if offer.descent is None else offer.descent
        descent = descent if descent.member & fast else NO_DESCENT
        if self.only is not None and self.only.get(edge.segment.first) != edge.segment:
            return
        if labels.beats(end, fast, offer.plain, cost, descent):
            known = label.cost + self.corrected(edge, offer.cost)
            if known <= cost or labels.beats(end, fast, offer.plain, known, descent):
                labels.offer(end, Label(known, fast, offer.plain, label, edge, descent))

    def _fast_after(self, label: Label, edge: Edge) -> int:
        """What lies in fast memory behind an edge."""
        return (label.fast & self.sets.across[edge.segment.end]) | edge.kept

    def _may_lead(self, label: Label, segment: Segment, kept: int, least: float) -> bool:
        """Whether a segment that costs so much at least may lead to a better way than is known; what is
        kept is for ways that cost something else too."""
        if self.only is not None and self.only.get(segment.first) != segment:
            return False
        fast = (label.fast & self.sets.across[segment.end]) | kept
        return self._kept or self._all or self._labels.beats(segment.end, fast, False, label.cost + least)

    def _most(self, label: Label) -> float:
        """What a segment must cost less than to lead on from a way, whatever it keeps."""
        return math.inf if self._kept or self._all else self._labels.most - label.cost

    # -- segments that start at a cut

    def _push(self, labels: Labels, cut: int, label: Label) -> None:
        if self._repeated is None or not self._repeated.at(cut):
            key = cut, label.fast, label.plain, label.descent
            self._offer(labels, label, key, partial(self._starting, cut, label))
        else:
            def useful(end: int, kept: int, plain: bool, cost: float) -> bool:
                return labels.beats(end, (label.fast & self.sets.across[end]) | kept, plain, label.cost + cost)

            tell = partial(self._all_starting, cut, label)
            self._offer(labels, label, None, partial(self._repeated.offers, cut, label, tell, useful))

    def _all_starting(self, cut: int, label: Label) -> Iterator[Offer]:
        """Those that are no better than what is known too."""
        self._all = True
        yield from self._starting(cut, label)
        self._all = False

    def _starting(self, cut: int, label: Label) -> Iterator[Offer]:
        all_fast = label.fast == self.sets.across[cut]
        yield from self._one(cut, label)
        if self.only is not None and not self.only[cut].banded and self.only[cut].end == cut + 1:
            return
        if self.index.ops[cut].images > 1 and (all_fast or self.aim.slow):
            yield from self._images(cut, label)
        if self.aim.slow and not (all_fast and self.next_hot[cut] == NEVER):
            yield from self._whole(cut, label)
        if not all_fast or self.aim.slow or self.next_hot[cut] < cut + self.reach.rolling:
            yield from self._rolling(cut, label, all_fast)

    def _one(self, cut: int, label: Label) -> Iterator[Offer]:
        """One operator, whole, or where it does not fit so, in slow memory directly."""
        sets, fast = self.sets, label.fast
        shape = self._shapes(cut)[0]
        free = self._free(self._state_of(shape.views), cut, cut + 1)
        loaded, made = shape.reads & ~fast, sets.makes[cut]
        held = sets.size(fast)
        need = held + sets.size(loaded) + sets.size(made) + sets.scratch[cut] - self._shared(cut, loaded)
        batched = self.index.ops[cut].images > 1
        for kept in self._homes(label, cut, shape.leaves):
            stored = shape.leaves & ~kept
            edge = Edge(Segment(cut, cut + 1), loaded, stored, kept, held)
            if need <= free:
                plain = not (loaded or stored or batched)
                cost = 0.0 if plain and label.plain else self.prices.stage
                cost += self.prices.view * (1 if plain else shape.views) + self._moved(loaded, stored, cut, cut + 1)
                cost += self.prices.copy * (loaded | stored).bit_count()
                yield Offer(edge, cost, plain, self._in_place(cut, label.descent, loaded))
            elif (loaded or stored) and held + sets.size(made & ~stored) + sets.scratch[cut] <= free:
                moved = DIRECT_BYTE * (sum(sets.size(1 << bit) for bit in bits(loaded)) + sets.size(stored))
                direct = edge._replace(segment=Segment(cut, cut + 1, direct=True))
                yield Offer(direct, setup(self.prices, shape.views) + moved)

    def _images(self, cut: int, label: Label) -> Iterator[Offer]:
        """Operators run whole, image by image; of what lies in slow memory one image is brought or made at a time."""
        sets, images, shapes = self.sets, self.index.ops[cut].images, self._shapes(cut)
        held = sets.size(label.fast)
        for end, live in image_fits(self.index, cut, self._free(0) - held, self.reach.rolling):
            shape = shapes[end - cut - 1]
            free = self._free(self._state_of(shape.views), cut, end)
            loaded = shape.reads & ~label.fast
            for kept in self._homes(label, cut, shape.leaves):
                slow = loaded | shape.leaves & ~kept
                beside = held + sets.size(kept)
                if beside + fullest(live, windows_of_images(sets, slow, cut, end)) <= free:
                    edge = Edge(Segment(cut, end), loaded, shape.leaves & ~kept, kept, beside)
                    cost = setup(self.prices, shape.views) + self._moved_for_each(loaded, edge.stored, cut, end)
                    yield Offer(edge, cost + self.prices.copy * slow.bit_count() * images)

    def _moved_for_each(self, loaded: int, stored: int, first: int, end: int) -> float:
        """As `_moved`, with what all images read brought for each."""
        shared = sum(self.sets.bit[name] for name in self.sets.named(loaded, end) if self.index.tensor(name).batch == 1)
        again = (self.index.ops[first].images - 1) * self._moved(shared, 0, first, end) if shared else 0.0
        return self._moved(loaded, stored, first, end) + again

    def _whole(self, cut: int, label: Label) -> Iterator[Offer]:
        """Several operators run whole that touch slow memory: what they load stays from its first use to its last.

        Only where that saves something: the last operator reads what an earlier one loaded, or stored.
        """
        sets, fast, slow = self.sets, label.fast, ~label.fast
        live: list[int] = []
        last: dict[int, int] = {}
        images, seen = self.index.ops[cut].images, 0
        for at, shape in enumerate(self._shapes(cut)[: self.reach.whole]):
            step = cut + at
            if self.index.ops[step].images != images:
                return
            free = self._free(self._state_of(shape.views), cut, step + 1)
            brought = sets.reads[step] & slow
            shared = self._shared(step, brought & shape.reads)
            live.append(sets.size(fast & sets.across[step]) + sets.scratch[step] - shared)
            for place in bits(brought):
                bit = 1 << place
                for since in range(last.get(bit, at - 1) + 1, at + 1):
                    live[since] += sets.size(bit)
                last[bit] = at
            made = sets.makes[step]
            live[at] += sets.size(made)
            last[made] = at
            if max(live) > free:
                return
            again, seen = sets.reads[step] & (seen | shape.leaves), seen | brought
            if not at or not again:
                continue
            loaded = shape.reads & slow
            for kept in self._homes(label, cut, shape.leaves):
                stored = shape.leaves & ~kept
                cost = setup(self.prices, shape.views) + self._moved(loaded, stored, cut, step + 1)
                cost += self.prices.copy * (loaded | stored).bit_count()
                if not (loaded or stored) or not self._may_lead(label, Segment(cut, step + 1), kept, cost):
                    continue
                longer = [(sets.size(1 << p), last[1 << p] + 1, at) for p in bits(kept) if last[1 << p] < at]
                if fullest(live, longer) <= free:
                    yield Offer(Edge(Segment(cut, step + 1), loaded, stored, kept, 0), cost)

    def _rolling(self, cut: int, label: Label, all_fast: bool) -> Iterator[Offer]:
        sets, fast, slow = self.sets, label.fast, self.aim.slow
        held = sets.size(fast)
        rolled = rolling_fits(self.index, cut, not slow, self._free(0) - held, self.reach.rolling)
        hot, most = self.next_hot[cut] if all_fast else -1, self._most(label)
        for fit, shape, free, banded, least in self._rolls_of(cut, rolled):
            if (hot >= fit.end and not slow) or held + fit.inner.stairs.bytes > free or least >= most:
                continue
            loaded = shape.reads & ~fast
            if (brought := self._moved(loaded, 0, cut, fit.end)) + least >= most:
                continue
            segment = Segment(cut, fit.end, True, True)
            for kept in self._homes(label, cut, shape.leaves):
                if hot >= fit.end and kept == shape.leaves:
                    continue  # it runs whole with the same homes
                stored = shape.leaves & ~kept
                moved = brought + self.prices.slow_byte * sets.stored(stored)
                if not self._may_lead(label, segment, kept, moved + least):
                    continue
                eats = shape.reads & fast & ~sets.across[fit.end]
                kind = Windows.SHARED if self.aim.windows is Windows.STAIRS and not eats else self.aim.windows
                kind = min(kind, Windows.STAIRS)  # parked they take as much
                windows = self._windows(cut, fit, kind, loaded | stored)
                yield from self._banded(label, segment, shape, kept, windows, free, banded, moved, rolled.paces)

    def _rolls_of(self, cut: int, rolled: Rolled) -> list[Roll]:
        """What is the same of rolling segments for all ways to their first cut."""
        known, images = self._rolls.setdefault(cut, []), self.index.ops[cut].images
        shapes = self._shapes(cut)
        for fit in rolled.fits[len(known) :]:
            shape = shapes[len(known)]
            banded = Banded(fit.bands * images, fit.calls, fit.moved_bytes)
            least = banded_cost(self.prices, banded, banded.bands, shape.once, shape.views, 0)
            known.append(Roll(fit, shape, self._free(self._state_of(shape.views), cut, fit.end), banded, least))
        return known

    def _windows(self, cut: int, fit: RollingFit, windows: Windows, slow: int) -> Size:
        """The size of the windows of a segment that starts at `cut` when `slow` lies in slow memory."""
        if not slow:
            return fit.inner[windows]
        key = (cut, fit.end, slow, windows)
        size = self._sized.get(key)
        if size is None:
            size = fit.inner[windows]
            for name, each in itertools.chain(fit.outside, fit.leaving):
                if self.sets.bit[name] & slow:
                    size += each
            self._sized[key] = size = min(size, fit.all[windows], key=lambda one: one.bytes)
        return size

    def _banded(
        self, label: Label, segment: Segment, shape: Shape, kept: int, windows: Size, free: int, banded: Banded,
        moved: float, paces: Paces,
    ) -> Iterator[Offer]:  # fmt: skip
        """A segment in bands whose windows take `windows`."""
        loaded, stored = shape.reads & ~label.fast, shape.leaves & ~kept
        beside = self.sets.size(label.fast) + self.sets.size(kept)
        edge, copies = Edge(segment, loaded, stored, kept, beside), (loaded | stored).bit_count()

        def cost(rows: int) -> float:
            return moved + banded_cost(self.prices, banded, rows, shape.once, shape.views, copies)

        rows = 0
        if beside + windows.bytes <= free:
            rows = rows_that_fit(windows, free - beside, banded.bands)
            yield Offer(edge, cost(rows))
        eaten = shape.reads & label.fast & ~self.sets.across[segment.end]
        if eaten and rows < min(TALL, banded.bands) and self.aim.overlays(segment.first, segment.end):

            def grown() -> Iterator[Offer]:
                for spared, rows, descent in self._grown(label, edge, eaten, windows, free, banded.bands, paces):
                    yield Offer(edge._replace(spared=spared), cost(rows), False, descent)

            yield Offer(edge, cost(banded.bands), more=grown)

    def _grown(
        self, label: Label, edge: Edge, eaten: int, windows: Size, free: int, bands: int, paces: Paces
    ) -> Iterator[Way]:
        """Ways to run a segment in bands whose outputs grow over inputs."""
        segment, lacking = edge.segment, edge.beside + windows.bytes - free
        pairs = self.growth.pairs(segment, eaten, edge.kept, lacking, bands, paces)
        if not pairs:
            return
        left = sum(pair.saving for pair in pairs) - lacking
        descent = label.descent
        if not any(pair.eaten == descent.member for pair in pairs):
            descent = Descent(since=segment.first)
        grown = sum(pair.grown for pair in pairs)
        later = (label.fast | edge.kept) & ~(self.sets.since(descent.since, segment.first) | descent.member | grown)
        above = max(0, descent.top + descent.drift - self.sets.size(later))
        if not self.aim.descents:
            rows = rows_that_fit(windows, windows.bytes + left, bands)
            yield Way(0, rows, NO_DESCENT)
            return
        yield from ways_to_grow(pairs, descent, windows, left, above, bands, self.aim.alignment)

    def _in_place(self, step: int, descent: Descent, loaded: int) -> Descent:
        """After an operator that runs whole: what it makes in place of an operand lies where that did."""
        ends = descent.member & self.sets.reads[step] & ~self.sets.across[step + 1]
        return descent._replace(member=self.sets.makes[step]) if ends and self._shared(step, loaded) else descent

    # -- segments that make rows again, which are told by where they end

    def _pull(self, labels: Labels, cut: int, least: float) -> None:
        """`least`: what the cheapest way to any cut costs that they may start at."""
        slow = bool(self.aim.slow)
        if math.isinf(least) or (slow and self.steps > LARGE):
            return
        if self.only is not None and cut not in self._again_ends:
            return
        if not slow and self.next_hot[max(0, cut - self.reach.rolling)] >= cut:
            return
        room = self._free(0)
        # Not all of what crosses need lie in slow memory: what does not fit when all does may fit.
        known = {fit.first: fit for fit in self._again(cut, False, 2 * room, labels, least)} if slow else {}
        for fit in self._again(cut, True, room, labels, least):
            shape = self._shapes(fit.first)[cut - fit.first - 1]
            free = self._free(self._state_of(shape.views), fit.first, cut)
            apart, bands = known.get(fit.first), fit.bands * self.index.ops[fit.first].images
            banded = Banded(bands, fit.calls, 0, fit.again)
            least = banded_cost(self.prices, banded, bands, shape.once, shape.views, 0)
            for label in labels.kept(fit.first):
                if least >= self._most(label):
                    self.led += 1  # a look as any other
                    continue
                key = cut, fit.first, label.fast, label.descent, apart is None
                self._offer(labels, label, key, partial(self._repeating, cut, fit, apart, shape, free, least, label))

    def _repeating(
        self, cut: int, fit: RecomputingFit, apart: RecomputingFit | None, shape: Shape, free: int, least: float,
        label: Label,
    ) -> Iterator[Offer]:  # fmt: skip
        """`least`: what it costs at least, without bytes moved."""
        all_fast = label.fast == self.sets.across[fit.first]
        segment, bands = Segment(fit.first, cut, True), fit.bands * self.index.ops[fit.first].images
        if self._moved(shape.reads & ~label.fast, 0, fit.first, cut) + least >= self._most(label):
            return
        for kept in self._homes(label, fit.first, shape.leaves):
            whole = all_fast and kept == shape.leaves
            if whole and self.next_hot[fit.first] >= cut:
                continue
            if not whole and apart is None:
                continue
            loaded, stored = shape.reads & ~label.fast, shape.leaves & ~kept
            windows, moved, again = fit.windows, self._moved(loaded, stored, fit.first, cut), fit.again
            if not self._may_lead(label, segment, kept, moved + least):
                continue
            if not whole and apart is not None:
                windows, again = self._beside(cut, fit, apart, loaded | stored, moved)
            banded = Banded(bands, fit.calls, 0, again)
            yield from self._banded(label, segment, shape, kept, windows, free, banded, moved, {})

    def _beside(
        self, end: int, fit: RecomputingFit, apart: RecomputingFit, slow: int, moved: float
    ) -> tuple[Size, float]:
        """The windows of a segment that reads and leaves `slow` in slow memory, which takes `moved` instructions when
        it is moved once, and those of making rows again and bringing them again."""
        crossing = [each for each in apart.crossing if self.sets.bit[each.name] & slow]
        key = (fit.first, end, slow, None)
        windows = self._sized.get(key)
        if windows is None:
            windows = self._sized[key] = fit.live.beside(fit.first, crossing).most
        traffic = sum(each.traffic for each in crossing)
        return windows, fit.again + max(0.0, self.prices.slow_byte * traffic - moved)

    def _again(self, end: int, resident: bool, room: int, labels: Labels, least: float) -> Iterator[RecomputingFit]:
        """The segments that end at `end`, while the rows they make again do not alone cost more than any way there.

        Tall bands make fewer rows again: an eighth of them counts.
        """
        worst = labels.dearest(end)
        for fit in recomputing_fits(self.index, end, resident, room, self.reach.again):
            if least + fit.again / 8 >= worst:
                return
            yield fit

    # -- what segments read and leave

    def _moved(self, loaded: int, stored: int, first: int, end: int) -> float:
        """Instructions of moving so much to and from slow memory for operators [first, end)."""
        if not loaded | stored:
            return 0.0
        return self.prices.slow_byte * (self.sets.loaded(loaded, first, end) + self.sets.stored(stored))

    def _shared(self, step: int, loaded: int = 0) -> int:
        """Bytes that an operator run whole has in common with its operands; what is loaded lies in a window of its
        own."""
        return 0 if loaded or step in self.aim.apart else self.sets.shared[step]

    def _shapes(self, cut: int) -> list[Shape]:
        return shapes_from(self.sets, cut, max(self.reach.rolling, self.reach.whole), self.costs.call)

    @cached_property
    def _again_ends(self) -> set[int]:
        """Where segments end that make rows again and that ways may take."""
        return {each.end for each in (self.only or {}).values() if each.banded and not each.keep}

    @cached_property
    def next_hot(self) -> list[int]:
        """For each cut the first step at or after it that does not fit whole; see `hot.py`."""
        def free(step: int, views: int) -> int:
            return self._free(self._state_of(views), step, step + 1)

        return following_hot(self.sets, free, self._shared)
