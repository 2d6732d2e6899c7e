"""Sets of activations as bits: the set that crosses each cut, the set that each operator reads, and their bytes.

In long programs, activations that are never in one set share a bit. With a bit each, sets and the time of a look-up
would grow with the program.
"""

from __future__ import annotations

import bisect
import dataclasses
from collections import deque
from collections.abc import Hashable
from functools import cached_property

from tigris_pio.compiler.plan.cut.reach import Reach
from tigris_pio.compiler.plan.index import ProgramIndex
from tigris_pio.sizes import round_up


@dataclasses.dataclass(frozen=True)
class Crossings:
    """The activations of a program, the one at place i being bit i of every set.

    Sizes are rounded up to `alignment`, as any placement must.
    """

    index: ProgramIndex
    alignment: int

    @staticmethod
    def of(index: ProgramIndex, alignment: int) -> Crossings:
        """Kept with the index."""
        return index.once(Crossings, alignment)

    @cached_property
    def places(self) -> dict[str, int]:
        """The bit of every activation.

        Two activations share a bit if no segment touches both, and if they have equal bytes and are moved in the same
        way. So the bytes of a set do not depend on the cut.
        """
        steps = len(self.index.ops)
        apart = max(2 * max(Reach.of(steps, slow)) for slow in (False, True))
        left: dict[Hashable, deque[tuple[int, int]]] = {}  # places of each kind, with the steps that they are free at
        places: dict[str, int] = {}
        free = 0
        for name, life in sorted(self.index.lives.items(), key=lambda each: each[1].birth):
            tensor = self.index.tensor(name)
            kind = (tensor.bytes, tensor.batch, frozenset(share for _, share in self._shares.get(name, ())))
            known = left.setdefault(kind, deque())
            if known and known[0][0] < life.birth:
                places[name] = known.popleft()[1]
            else:
                places[name], free = free, free + 1
            bisect.insort(known, (life.death + apart, places[name]))
        return {name: places[name] for name in self.index.lives}

    @cached_property
    def _tenants(self) -> dict[int, list[tuple[int, str]]]:
        """The activations at each place, with the steps that make them, ascending."""
        tenants: dict[int, list[tuple[int, str]]] = {}
        for name, life in self.index.lives.items():
            bisect.insort(tenants.setdefault(self.places[name], []), (life.birth, name))
        return tenants

    def named(self, names: int, end: int) -> list[str]:
        """The activations in a set at cut `end`, or in a set that a segment up to there touches, in the order they are
        made."""
        found = [self.tenant(place, end) for place in bits(names)]
        return sorted(found, key=lambda name: self.index.lives[name].birth)

    def tenant(self, place: int, end: int) -> str:
        """The activation with this bit at cut `end`, or the last one before."""
        tenants = self._tenants[place]
        return tenants[max(0, bisect.bisect_left(tenants, end, key=lambda each: each[0]) - 1)][1]

    @cached_property
    def bit(self) -> dict[str, int]:
        """The set that holds one activation alone."""
        return {name: 1 << place for name, place in self.places.items()}

    @cached_property
    def _sizes(self) -> dict[int, int]:
        """Aligned bytes of what lies at each place."""
        return {place: round_up(self.index.tensor(name).bytes, self.alignment) for name, place in self.places.items()}

    @cached_property
    def total(self) -> int:
        """Aligned bytes of all activations."""
        return sum(self._sizes[place] for place in self.places.values())

    @cached_property
    def across(self) -> tuple[int, ...]:
        """The set that lives across each cut c = 0 … len(ops)."""
        cuts = len(self.index.ops) + 1
        born, died = [0] * (cuts + 1), [0] * (cuts + 1)
        for name, life in self.index.lives.items():
            born[life.birth + 1] |= self.bit[name]
            died[min(life.death, cuts - 1) + 1] |= self.bit[name]
        masks, live = [], 0
        for cut in range(cuts):
            live = (live | born[cut]) & ~died[cut]  # what nobody reads is born and dies at once
            masks.append(live)
        return tuple(masks)

    @cached_property
    def reads(self) -> tuple[int, ...]:
        """The activations each operator reads."""
        return tuple(sum(self.bit[name] for name, _ in reads) for reads in self.index.reads)

    @cached_property
    def makes(self) -> tuple[int, ...]:
        """The activation each operator makes."""
        return tuple(self.bit[op.output] for op in self.index.ops)

    @cached_property
    def constants(self) -> tuple[int, ...]:
        """How many constant tensors each operator reads."""
        tensors = self.index.program.tensors
        return tuple(
            len({o.tensor for o in op.operands if tensors[o.tensor].constant is not None}) for op in self.index.ops
        )

    @cached_property
    def scratch(self) -> tuple[int, ...]:
        """Bytes of each operator's scratch."""
        return tuple(round_up(op.scratch_bytes, self.alignment) for op in self.index.ops)

    @cached_property
    def shared(self) -> tuple[int, ...]:
        """Bytes that tensors which live together have in common while each operator runs whole; at most."""
        return tuple(int(shared) for shared in self.index.shared)

    @cached_property
    def _known_sizes(self) -> dict[int, int]:
        return {0: 0}

    def size(self, names: int) -> int:
        """Aligned bytes of a set."""
        known = self._known_sizes.get(names)
        if known is None:
            known = sum(self._sizes[place] for place in bits(names))
            self._known_sizes[names] = known
        return known

    @cached_property
    def _known_loads(self) -> dict[int | tuple[int, int, int], float]:
        return {}

    def loaded(self, names: int, first: int, end: int) -> float:
        """Steps [first, end), of which some read each of the set, move no fewer bytes of it."""
        uneven = names & self._uneven
        key = (names, first, end) if uneven else names
        known = self._known_loads.get(key)
        if known is None:
            if not uneven:
                first, end = 0, len(self.index.ops)
            known = self._known_loads[key] = sum(self._moved(name, first, end) for name in self.named(names, end))
        return known

    def _moved(self, name: str, first: int, end: int) -> float:
        """Bytes of the rows that the greediest reader during steps [first, end) needs."""
        shares = [share for step, share in self._shares.get(name, ()) if first <= step < end]
        return max(shares, default=1.0) * self.index.tensor(name).bytes

    @cached_property
    def _known_stores(self) -> dict[int, int]:
        return {0: 0}

    def stored(self, names: int) -> int:
        """Bytes that a stage which stores the set moves."""
        known = self._known_stores.get(names)
        if known is None:
            known = sum(self.index.tensor(name).bytes for name in self.named(names, len(self.index.ops)))
            self._known_stores[names] = known
        return known

    @cached_property
    def _uneven(self) -> int:
        """The activations of which some reader needs less than another."""
        uneven = {self.bit[name] for name, found in self._shares.items() if len({share for _, share in found}) > 1}
        return sum(uneven)

    @cached_property
    def _shares(self) -> dict[str, list[tuple[int, float]]]:
        """For each activation its readers, and the share of its rows that each needs."""
        shares: dict[str, list[tuple[int, float]]] = {}
        for step, op in enumerate(self.index.ops):
            for operand in op.operands:
                if operand.tensor in self.index.lives:
                    rows, tensor = operand.rows, self.index.tensor(operand.tensor)
                    window = (rows.last - rows.first) // rows.denominator + 1
                    wanted = min(1.0, window * rows.denominator / rows.numerator) if rows.numerator else 1.0
                    made = self.index.tensor(op.output).height * rows.numerator / rows.denominator / tensor.height
                    wanted *= min(1.0, made) if rows.numerator else 1.0
                    shares.setdefault(operand.tensor, []).append((step, wanted))
        return shares


def bits(names: int) -> list[int]:
    """The places of a set's members, ascending."""
    places = []
    while names:
        low = names & -names
        places.append(low.bit_length() - 1)
        names ^= low
    return places


def subsets_of(names: int, most: int) -> list[int]:
    """All subsets of up to `most` tensors, the whole set first; of more only all and none."""
    members = bits(names)
    if len(members) > most:
        return [names, 0]
    found = [0]
    for place in members:
        found += [known | 1 << place for known in found]
    return found[::-1]
