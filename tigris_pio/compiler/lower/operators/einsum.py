"""Einsum of one or two operands, as Transpose, ReduceSum and MatMul."""

from __future__ import annotations

import dataclasses
import math
import string
from collections.abc import Sequence

import numpy as np

from tigris_pio.compiler.ir.graph import Node
from tigris_pio.compiler.lower.builder import Builder
from tigris_pio.compiler.lower.operators.compose import Composer
from tigris_pio.compiler.lower.refusal import Refusal
from tigris_pio.compiler.lower.registry import operator

_MOST_OPERANDS = 2


@dataclasses.dataclass(frozen=True)
class _Operand:
    """A tensor, and the letter of each of its axes."""

    name: str
    letters: str


@operator("Einsum", summary="one or two operands, no index twice in one of them; int8 where MatMul is")
def lower_einsum(builder: Builder, node: Node) -> None:
    """Two operands become a MatMul of [both, first only, summed] and [both, summed, second only]."""
    if len(node.inputs) > _MOST_OPERANDS:
        raise Refusal(f"{len(node.inputs)} operands; at most two are supported")
    terms, result = _indices(builder, node)
    sizes = _sizes(builder, node, terms)
    others = [set(result).union(*terms[:i], *terms[i + 1 :]) for i in range(len(terms))]
    operands = [_summed(builder, node, _Operand(name, term), used, sizes)
                for name, term, used in zip(node.inputs, terms, others, strict=True)]
    if len(operands) == 1:
        permutation = [operands[0].letters.index(letter) for letter in result]
        Composer(builder, node).finish("Transpose", [operands[0].name], {"perm": permutation})
        return
    _product(builder, node, operands, result, sizes)


def _indices(builder: Builder, node: Node) -> tuple[list[str], str]:
    """The letters of each operand and of the result; an ellipsis becomes unused letters."""
    equation = "".join(str(node.attributes["equation"]).split())
    left, arrow, result = equation.partition("->")
    terms = left.split(",")
    if len(terms) != len(node.inputs):
        raise Refusal(f'its equation "{equation}" has {len(terms)} terms for {len(node.inputs)} operands')
    if not arrow:
        once = sorted(letter for letter in set(left) - set(",.") if left.count(letter) == 1)
        result = ("..." if "..." in left else "") + "".join(once)
    ranks = [len(builder.shape(name)) - len(term.replace("...", "")) for name, term in zip(node.inputs, terms,
                                                                                           strict=True)]
    free = [letter for letter in string.ascii_letters if letter not in equation]
    hidden = free[: max((rank for rank, term in zip(ranks, terms, strict=True) if "..." in term), default=0)]
    terms = [term.replace("...", "".join(hidden[len(hidden) - rank :]))
             for rank, term in zip(ranks, terms, strict=True)]
    result = result.replace("...", "".join(hidden))
    for term in (*terms, result):
        if len(set(term)) != len(term):
            raise Refusal(f'its equation "{equation}" names an index twice in one operand')
    return terms, result


def _sizes(builder: Builder, node: Node, terms: Sequence[str]) -> dict[str, int]:
    sizes: dict[str, int] = {}
    for name, term in zip(node.inputs, terms, strict=True):
        shape = builder.shape(name)
        if len(shape) != len(term):
            raise Refusal(f"operand {name} has shape {list(shape)}, its equation the axes {term}")
        for letter, size in zip(term, shape, strict=True):
            if sizes.setdefault(letter, size) != size:
                raise Refusal(f"index {letter} is both {sizes[letter]} and {size} long")
    return sizes


def _summed(builder: Builder, node: Node, operand: _Operand, used: set[str], sizes: dict[str, int]) -> _Operand:
    """The operand, summed over the indices that occur nowhere else."""
    axes = [axis for axis, letter in enumerate(operand.letters) if letter not in used]
    if not axes:
        return operand
    letters = "".join(letter for letter in operand.letters if letter in used)
    total = Composer(builder, node).add("ReduceSum", [operand.name], [sizes[letter] for letter in letters],
                                        {"axes": axes, "keepdims": 0})
    return _Operand(total, letters)


def _product(builder: Builder, node: Node, operands: Sequence[_Operand], result: str, sizes: dict[str, int]) -> None:
    first, second = operands
    both = [letter for letter in first.letters if letter in second.letters and letter in result]
    summed = [letter for letter in first.letters if letter in second.letters and letter not in result]
    rows = [letter for letter in first.letters if letter not in second.letters]
    columns = [letter for letter in second.letters if letter not in first.letters]

    def size(letters: Sequence[str]) -> int:
        return math.prod(sizes[letter] for letter in letters)

    batch, depth = size(both), size(summed)
    a = _matrix(builder, node, first, [*both, *rows, *summed], (batch, size(rows), depth))
    b = _matrix(builder, node, second, [*both, *summed, *columns], (batch, depth, size(columns)))
    made = [*both, *rows, *columns]
    part = f"{node.outputs[0]}/part"
    product = builder.declare(part, (batch, size(rows), size(columns)), node.outputs[0])
    composer = Composer(builder, node)
    composer.add_as("MatMul", [a, b], product)
    shaped = builder.declare(part, [sizes[letter] for letter in made], node.outputs[0])
    composer.add_as("Reshape", [product], shaped)
    composer.finish("Transpose", [shaped], {"perm": [made.index(letter) for letter in result]})


def _matrix(builder: Builder, node: Node, operand: _Operand, order: Sequence[str], shape: tuple[int, ...]) -> str:
    """The operand, transposed to this order of axes and reshaped."""
    permutation = [operand.letters.index(letter) for letter in order]
    if builder.is_constant(operand.name):
        name = builder.fresh(f"{node.outputs[0]}/{operand.name}")
        builder.define_constant(name, np.transpose(builder.float_constant(operand.name), permutation).reshape(shape))
        return name
    part = f"{node.outputs[0]}/part"
    turned = builder.declare(part, [builder.shape(operand.name)[axis] for axis in permutation], operand.name)
    shaped = builder.declare(part, shape, operand.name)
    composer = Composer(builder, node)
    composer.add_as("Transpose", [operand.name], turned, {"perm": permutation})
    composer.add_as("Reshape", [turned], shaped)
    return shaped
