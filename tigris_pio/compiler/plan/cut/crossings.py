"""Sets of activations as bits: what crosses each cut, what each operator reads, and how many bytes that is."""

from __future__ import annotations

import dataclasses
from functools import cached_property

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
        known = index.cache(_Known)
        if alignment not in known:
            known[alignment] = Crossings(index, alignment)
        return known[alignment]

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Every activation, by bit."""
        return tuple(self.index.lives)

    @cached_property
    def bit(self) -> dict[str, int]:
        """The set that holds one activation alone."""
        return {name: 1 << place for place, name in enumerate(self.names)}

    @cached_property
    def _sizes(self) -> tuple[int, ...]:
        return tuple(round_up(self.index.tensor(name).bytes, self.alignment) for name in self.names)

    @cached_property
    def across(self) -> tuple[int, ...]:
        """What lives across each cut c = 0 … len(ops)."""
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
    def _known_loads(self) -> dict[tuple[int, int, int], float]:
        return {}

    def loaded(self, names: int, first: int, end: int) -> float:
        """Steps [first, end), of which some read each of the set, move no fewer bytes of it."""
        key = (names, first, end) if names & self._uneven else (names, 0, len(self.index.ops))
        known = self._known_loads.get(key)
        if known is None:
            known = self._known_loads[key] = sum(self._moved(self.names[place], *key[1:]) for place in bits(names))
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
            known = sum(self.index.tensor(self.names[place]).bytes for place in bits(names))
            self._known_stores[names] = known
        return known

    @cached_property
    def _uneven(self) -> int:
        """The activations of which some reader needs less than another."""
        return sum(self.bit[name] for name, found in self._shares.items() if len({share for _, share in found}) > 1)

    @cached_property
    def _shares(self) -> dict[str, list[tuple[int, float]]]:
        """Of each activation the readers, and the share of its rows that each needs."""
        shares: dict[str, list[tuple[int, float]]] = {}
        for step, op in enumerate(self.index.ops):
            for operand in op.operands:
                if operand.tensor in self.bit:
                    rows, tensor = operand.rows, self.index.tensor(operand.tensor)
                    window = (rows.last - rows.first) // rows.denominator + 1
                    wanted = min(1.0, window * rows.denominator / rows.numerator) if rows.numerator else 1.0
                    made = self.index.tensor(op.output).height * rows.numerator / rows.denominator / tensor.height
                    wanted *= min(1.0, made) if rows.numerator else 1.0
                    shares.setdefault(operand.tensor, []).append((step, wanted))
        return shares


class _Known(dict[int, Crossings]):
    """By alignment."""


def bits(names: int) -> list[int]:
    """The places of a set's members, ascending."""
    places = []
    while names:
        low = names & -names
        places.append(low.bit_length() - 1)
        names ^= low
    return places
