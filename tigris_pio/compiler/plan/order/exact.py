"""An order of the least peak, by dynamic programming over down-sets.

After some operators have run, all that matters of their order is which ones they were: that set decides what is live
and what can run next. So the orders of a program are paths through such sets (down-sets of its partial order), and the
least peak is that of a bottleneck path (H. Ahn et al., "Ordering Chaos: Memory-Aware Scheduling of Irregularly Wired
Neural Networks for Edge Devices", MLSys 2020). Four rules keep their number small:

- *Pieces.* An operator that all others must come before or after splits the program: the order on one side changes
  nothing on the other. Tensors may pass over it.
- *Least first.* Sets are visited by their peaks, as in Dijkstra's algorithm, so none above the optimum ever is.
- *Bounds.* The peak of a known order must not be reached. A piece is done if its known order meets its lower bound.
- *Free moves.* An operator may run at once if it leaves no more live than it found, within the peak so far. Moving it
  to the front of any order only frees memory earlier.

Above a budget of visited sets a beam takes over: the best few sets of each size.
"""

from __future__ import annotations

import dataclasses
import heapq
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from tigris_pio.compiler.plan.order.flow import Flow, steps

#: Steps from set to set that all pieces of a program may take, first exactly, then in the beam. About two million
#: are taken in a second.
EXACT_STEPS, BEAM_STEPS = 60_000, 60_000
#: Sets of each size that the beam keeps at most.
BEAM_WIDTH = 64


class _Operator(NamedTuple):
    bit: int
    parents: int  #: within the piece
    children: tuple[int, ...]
    made: int  #: bytes of its output
    during: int  #: bytes it adds while it runs, where it shares none
    shared: tuple[tuple[int, int], ...]  #: what it may lie in: all readers, and bytes
    freed: tuple[tuple[int, int], ...]  #: what it may free: all readers, and bytes


@dataclasses.dataclass(frozen=True)
class _Piece:
    """Operators that no operator outside comes between, numbered from 0."""

    ops: tuple[_Operator, ...]
    live: int  #: bytes live before the first
    least: int  #: that one of its operators needs in any order

    @property
    def full(self) -> int:
        return (1 << len(self.ops)) - 1

    def ready(self) -> int:
        return sum(op.bit for op in self.ops if not op.parents)

    def while_running(self, done: int, live: int, number: int) -> int:
        """Live bytes while operator `number` runs."""
        op = self.ops[number]
        if not op.shared:
            return live + op.during
        done |= op.bit
        dying = sum(size for readers, size in op.shared if not readers & ~done)
        return live + op.during - min(dying, op.made)

    def after(self, done: int, live: int, number: int) -> int:
        """Live bytes once operator `number` has run too."""
        op = self.ops[number]
        done |= op.bit
        return live + op.made - sum(size for readers, size in op.freed if not readers & ~done)

    def then_ready(self, done: int, ready: int, number: int) -> int:
        """The operators that can run once operator `number` has run too."""
        op = self.ops[number]
        done, ready = done | op.bit, ready ^ op.bit
        for child in op.children:
            if not self.ops[child].parents & ~done:
                ready |= self.ops[child].bit
        return ready


class _State(NamedTuple):
    """A down-set on the way, in the order it is visited: least peak first, then most operators, then least live."""

    peak: int
    left: int
    live: int
    done: int
    ready: int


def least_peak(flow: Flow, known: Sequence[Sequence[int]]) -> list[int]:
    """An order of the least peak, or within the budget of steps the best found.

    known: orders to better; where none is, the first of the best of them is kept. Each piece is made as good as can be,
    not only the fullest.
    """
    ways = [steps(flow, order) for order in known]
    found, hard = list[int](), []
    for first, end in _pieces(flow):
        peaks = [max(step.during for step in way[first:end]) for way in ways]
        best = min(range(len(known)), key=peaks.__getitem__)
        found += known[best][first:end]
        if end - first > 1:
            hard.append((peaks[best], first, end, ways[best][first].before))
    exact, beam = EXACT_STEPS, BEAM_STEPS
    for bound, first, end, live in sorted(hard, reverse=True):
        piece = _piece(flow, first, end, live)
        if piece.least >= bound:
            continue
        better, exact = _least_first(piece, bound, exact)
        if exact < 0:
            better, beam = _beam(piece, bound, beam)
        if better:
            found[first:end] = [first + number for number in better]
    return found


def _pieces(flow: Flow) -> Iterator[tuple[int, int]]:
    """Ranges of the program's order, each of which ends with an operator that all others come before or after.

    An operator is one when each before it has a child at or before it, and each behind it a parent at or behind it.
    """
    count = len(flow.makes)
    reach, furthest = [], 0  # the last of the first children of the operators before each
    for op in range(count):
        reach.append(furthest)
        furthest = max(furthest, min(flow.children(op), default=count))
    ends, nearest = {count - 1}, count
    for op in range(count - 1, -1, -1):
        if reach[op] <= op <= nearest:
            ends.add(op)
        nearest = min(nearest, max(flow.parents[op], default=-1))
    first = 0
    for op in sorted(ends):
        yield first, op + 1
        first = op + 1


def _piece(flow: Flow, first: int, end: int, live: int) -> _Piece:
    inside = range(first, end)

    def frees(op: int) -> Iterator[int]:
        """The tensors that no operator behind the piece reads: inputs, and the output if nothing reads it."""
        names = (name for name in flow.reads[op] if flow.readers[name][-1] < end)
        unread = () if flow.readers[flow.makes[op]] else (flow.makes[op],)
        return (name for name in (*names, *unread) if not flow.kept[name])

    def bits(ops: Sequence[int]) -> int:
        return sum(1 << op - first for op in ops if op in inside)

    def of(op: int) -> _Operator:
        made, freed = flow.bytes[flow.makes[op]], tuple(frees(op))
        sizes = {name: (bits(flow.readers[name]), flow.bytes[name]) for name in freed}
        return _Operator(
            1 << op - first,
            bits(flow.parents[op]),
            tuple(child - first for child in flow.children(op) if child in inside),
            made,
            made + flow.scratch[op],
            tuple(sizes[name] for name in flow.shares[op] if name in sizes),
            tuple(sizes.values()),
        )

    ops = tuple(of(op) for op in inside)
    given = {name for op in inside for name in frees(op)} - {flow.makes[op] for op in inside}
    passing = live - sum(flow.bytes[name] for name in given)
    return _Piece(ops, live, passing + max(_alone(flow, op, first, given) for op in inside))


def _alone(flow: Flow, op: int, first: int, given: Collection[int]) -> int:
    """The least bytes with which an operator of a piece runs, without tensors that pass over the piece.

    These are its output, and its inputs that are made in the piece or live no longer.
    """
    made_before = range(flow.makes[first], flow.makes[op])  # activations have their makers' order
    read = {name: flow.bytes[name] for name in flow.reads[op] if name in made_before or name in given}
    shared = sum(size for name, size in read.items() if name in flow.shares[op])
    made = flow.bytes[flow.makes[op]]
    return made + flow.scratch[op] + sum(read.values()) - min(shared, made)


def _least_first(piece: _Piece, bound: int, steps: int) -> tuple[list[int] | None, int]:
    """An order of the least peak if that is below `bound`, and the steps left; negative: it was not found in time."""
    start = _State(0, len(piece.ops), piece.live, 0, piece.ready())
    heap, best = [start], {0: 0}
    came: dict[int, int] = {}
    while heap:
        state = heapq.heappop(heap)
        if not state.left:
            return _way(piece, came, state.done), steps
        if state.peak > best[state.done]:
            continue
        for number, following in _following(piece, state, bound):
            steps -= 1
            if following.peak < best.get(following.done, bound):
                best[following.done] = following.peak
                came[following.done] = number
                heapq.heappush(heap, following)
        if steps < 0:
            return None, steps
    return None, steps


def _beam(piece: _Piece, bound: int, steps: int) -> tuple[list[int] | None, int]:
    """An order found with few sets of each size, if its peak is below `bound`, and the steps left."""
    width = max(1, min(BEAM_WIDTH, steps // (4 * len(piece.ops))))
    level = [_State(0, len(piece.ops), piece.live, 0, piece.ready())]
    came: dict[int, int] = {}
    for _ in piece.ops:
        found: dict[int, _State] = {}
        for state in level:
            for number, following in _following(piece, state, bound):
                steps -= 1
                if following.done not in found or following.peak < found[following.done].peak:
                    found[following.done] = following
                    came[following.done] = number
        level = heapq.nsmallest(width, found.values())
        if not level or steps < 0:
            return None, steps
    return _way(piece, came, piece.full), steps


def _following(piece: _Piece, state: _State, bound: int) -> Iterator[tuple[int, _State]]:
    """The operators that may come next without reaching `bound`, each with the set it leads to; one that is free
    alone."""
    steps = []
    ready = state.ready
    while ready:
        bit = ready & -ready
        ready ^= bit
        number = bit.bit_length() - 1
        during = piece.while_running(state.done, state.live, number)
        if during >= bound:
            continue
        live = piece.after(state.done, state.live, number)
        if live <= state.live and during <= max(state.peak, piece.least):
            steps = [(number, during, live)]
            break
        steps.append((number, during, live))
    for number, during, live in steps:
        done = state.done | piece.ops[number].bit
        after = piece.then_ready(state.done, state.ready, number)
        yield number, _State(max(state.peak, during), state.left - 1, live, done, after)


def _way(piece: _Piece, came: Mapping[int, int], done: int) -> list[int]:
    """The operators on the way to a set, first to last."""
    way = []
    while done:
        way.append(came[done])
        done ^= piece.ops[way[-1]].bit
    return way[::-1]
