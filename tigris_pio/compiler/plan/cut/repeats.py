"""Where a program repeats itself: steps from which the next operators are as from an earlier step.

What a sweep over segments finds from one such step holds from the other, with other tensors. Weights may differ, and
what kernels compute; how rows of tensors depend on one another may not, nor how long tensors live.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator

from tigris_pio.compiler.ir.program import ProgramTensor
from tigris_pio.compiler.plan.cost import op_costs
from tigris_pio.compiler.plan.cut.crossings import Crossings
from tigris_pio.compiler.plan.index import ProgramIndex


class _Known(dict[int, list[int]]):
    """By the number of operators that are compared."""


class _Crossed(dict[tuple[int, int], list[int]]):
    """By that and the alignment."""


def earliest_alike(index: ProgramIndex, reach: int) -> list[int]:
    """For each step the earliest from which the next `reach` operators, or all to the end, are alike.

    Of two such steps the n-th operators make tensors that play the same part, and what is read from before was made as
    many steps before, or is the same input.
    """
    known = index.cache(_Known)
    if reach not in known:
        known[reach] = _earliest(_runs(_operators(index), reach))
    return known[reach]


def earliest_crossed_alike(sets: Crossings, reach: int) -> list[int]:
    """For each step the earliest from which the next `reach` operators, or all to the end, are alike, and before which
    as much is alive: tensors that were made as many steps before, take as many bytes, and live as long, as far as these
    operators go."""
    known = sets.index.cache(_Crossed)
    if (reach, sets.alignment) not in known:
        each = zip(_operators(sets.index), sets.constants, sets.shared, strict=True)
        runs = zip(_runs(_numbered(each), reach), _crossing(sets, reach), strict=True)
        known[reach, sets.alignment] = _earliest(runs)
    return known[reach, sets.alignment]


def _crossing(sets: Crossings, reach: int) -> Iterator[Hashable]:
    """What a search sees of the tensors across each cut but the last."""
    index = sets.index
    for cut, across in enumerate(sets.across[:-1]):
        found: list[Hashable] = []
        for name in sets.named(across, cut):
            life, tensor = index.lives[name], index.tensor(name)
            made: Hashable = cut - life.birth if life.birth >= 0 else name
            found.append((made, tensor.bytes, tensor.batch, min(life.death - cut, reach)))
        yield tuple(found)


def _numbered(kinds: Iterable[Hashable]) -> list[int]:
    """A number for each, the same for equal ones."""
    known: dict[Hashable, int] = {}
    return [known.setdefault(kind, len(known)) for kind in kinds]


def _earliest(kinds: Iterable[Hashable]) -> list[int]:
    """The place of the first that is equal, for each."""
    first: dict[Hashable, int] = {}
    return [first.setdefault(kind, step) for step, kind in enumerate(kinds)]


def _runs(numbers: list[int], reach: int) -> list[int]:
    """Numbers of runs of `reach` operators, from those of single ones: runs are doubled, and at last overlap. (R. Karp,
    R. Miller, A. Rosenberg, "Rapid identification of repeated patterns in strings, trees and arrays", STOC 1972.)"""
    steps, length = len(numbers), 1
    while length < reach:
        further = min(length, reach - length)
        pairs: dict[tuple[int, int], int] = {}
        numbers = [
            pairs.setdefault((numbers[step], numbers[step + further] if step + further < steps else -1), len(pairs))
            for step in range(steps)
        ]
        length += further
    return numbers


def _operators(index: ProgramIndex) -> list[int]:
    """A number for each operator, the same for those that are alike."""
    return _numbered(_kinds(index))


def _kinds(index: ProgramIndex) -> Iterator[Hashable]:
    """What a sweep sees of each operator."""
    calls = op_costs(index).call
    for step, op in enumerate(index.ops):
        read = tuple((operand.rows, _tensor(index, step, operand.tensor)) for operand in op.operands)
        output = _tensor(index, step, op.output)
        yield index.bandable[step], op.images, op.scratch_bytes, calls[step], read, output


def _tensor(index: ProgramIndex, step: int, name: str) -> Hashable:
    """What a sweep sees of a tensor: when it is made and last read, from `step` on, and its rows."""
    life = index.lives.get(name)
    if life is None:
        return None
    made: Hashable = step - life.birth if life.birth >= 0 else name
    return made, life.death - step, _rows(index.tensor(name))


def _rows(tensor: ProgramTensor) -> Hashable:
    return (tensor.batch, tensor.height, tensor.row_bytes, tensor.bytes, tensor.folded, tensor.sequential,
            tensor.streamed)  # fmt: skip
