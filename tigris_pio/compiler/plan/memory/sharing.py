"""Tensors that share memory though they live together: requests whose parts lie at fixed distances.

Three kinds of pairs may share:

- An output *grows* over an input of which bands need fewer and fewer rows (`band/overlay.py`).
- An output *takes* the place of an operand in one call, element by element.
- A tensor *holds* another: the parts of a concatenation lie in it before it is complete, and a slice
  lies in its source.

A pair is joined if nothing else that either shares memory with is hurt. Joined tensors may be joined again.
"""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Iterable, Iterator, Mapping

from tigris_pio.compiler.ir.program import ProgramOp
from tigris_pio.compiler.plan.lifetimes import Lifetime
from tigris_pio.compiler.plan.memory.request import Part, Piece, Request

#: Most that share one request: every pair of two that are joined is looked at.
MOST_PARTS = 64


class Kind(enum.Enum):
    """How two that live together share memory."""

    GROWS = enum.auto()  #: the second is written over rows of the first that nothing needs any more
    TAKES = enum.auto()  #: the second is written over the first by the one operator that ends the first's life
    HOLDS = enum.auto()  #: the bytes they share are the same


@dataclasses.dataclass(frozen=True)
class Link:
    """`second` may start `offset` bytes behind `first`; with HOLDS it lies inside."""

    kind: Kind
    first: str
    second: str
    offset: int


@dataclasses.dataclass(frozen=True)
class Block:
    """Bytes taken during `life`: a home or a window."""

    bytes: int
    life: Lifetime
    pieces: tuple[Piece, ...] = ()  #: when not all of it is taken all the time


def links_of(op: ProgramOp, blocks: Mapping[str, str], sizes: Mapping[str, int]) -> Iterator[Link]:
    """The pairs that may share memory in one call of `op` for all its rows.

    blocks: the block in which each tensor lies that may share
    sizes: bytes of the blocks
    """
    target = blocks.get(op.output)
    if target is None:
        return
    sources = [blocks.get(operand.tensor) for operand in op.operands]
    for alias in op.aliases:
        source = sources[alias.operand]
        if source is None:
            continue
        if alias.offset > 0 or sizes[source] < sizes[target] + alias.offset:
            yield Link(Kind.HOLDS, target, source, alias.offset)
        elif alias.offset < 0 or sizes[source] > sizes[target]:
            yield Link(Kind.HOLDS, source, target, -alias.offset)
        else:
            yield Link(Kind.HOLDS, source, target, 0)
    for place in op.in_place:
        source = sources[place]
        if source is not None:
            yield Link(Kind.TAKES, source, target, 0)


class _Groups:
    """The groups joined so far: the members of each, and their distances from its first."""

    def __init__(self, blocks: Mapping[str, Block], alignment: int) -> None:
        self._blocks = blocks
        self._alignment = alignment
        self._group: dict[str, dict[str, int]] = {}
        self._held: dict[str, frozenset[str]] = {}
        self._holders: dict[str, frozenset[str]] = {}

    def groups(self) -> list[dict[str, int]]:
        """Each group once."""
        return list({id(group): group for group in self._group.values()}.values())

    def join(self, link: Link) -> None:
        """Joins the groups of a pair where that hurts nobody."""
        first, second = (self._group.get(name, {name: 0}) for name in (link.first, link.second))
        if first is second or len(first) + len(second) > MOST_PARTS or not self._is_possible(link):
            return
        shift = first[link.first] + link.offset - second[link.second]
        moved = {name: offset + shift for name, offset in second.items()}
        outer, inner = self._holding(link)
        for a, at in first.items():
            for b, other in moved.items():
                together = (a, b) == (link.first, link.second) or (a in outer and b in inner)
                if not together and self._overlap(a, at, b, other):
                    return
        first.update(moved)
        self._group.update(dict.fromkeys(first, first))
        for name in outer:
            self._held[name] = self._held.get(name, frozenset()) | inner
        for name in inner:
            self._holders[name] = self._holders.get(name, frozenset()) | outer

    def _holding(self, link: Link) -> tuple[frozenset[str], frozenset[str]]:
        """Those that will hold others by a link, and the others."""
        if link.kind is not Kind.HOLDS:
            return frozenset(), frozenset()
        return (
            self._holders.get(link.first, frozenset()) | {link.first},
            self._held.get(link.second, frozenset()) | {link.second},
        )

    def _is_possible(self, link: Link) -> bool:
        first, second = self._blocks[link.first], self._blocks[link.second]
        if link.offset % self._alignment:
            return False
        if link.kind is Kind.TAKES:
            return first.life.death == second.life.birth and second.bytes <= first.bytes
        return link.kind is Kind.GROWS or 0 <= link.offset <= first.bytes - second.bytes

    def _overlap(self, a: str, at: int, b: str, other: int) -> bool:
        """Whether two take the same byte at the same step."""
        first, second = self._blocks[a], self._blocks[b]
        return (
            first.life.birth <= second.life.death
            and second.life.birth <= first.life.death
            and at < other + second.bytes
            and other < at + first.bytes
        )


def share(blocks: Mapping[str, Block], links: Iterable[Link], alignment: int) -> list[Request]:
    """One request for each group of blocks that share; blocks that don't have none. Earlier links go first."""
    groups = _Groups(blocks, alignment)
    for link in links:
        groups.join(link)
    return [_request(blocks, group) for group in groups.groups()]


def _request(blocks: Mapping[str, Block], group: Mapping[str, int]) -> Request:
    start = min(group.values())
    parts = tuple(
        Part(name, at - start, block.bytes, block.life, block.pieces)
        for name, at in group.items()
        for block in (blocks[name],)
    )
    size = max(part.offset + part.bytes for part in parts)
    life = Lifetime(min(part.life.birth for part in parts), max(part.life.death for part in parts))
    return Request(f"{parts[0].name} and what shares its memory", size, life, parts)
