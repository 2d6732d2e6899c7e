"""Describes the first operator whose rows on the board are not the host's, with the model's and the plan's names."""

import dataclasses
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from tigris_pio.format.enums import DType, OpKind, Strategy, TensorFlag, WeightMode
from tigris_pio.format.reader import PlanFile
from tigris_pio.format.records import TensorRecord
from tigris_pio.hil.compare import compare
from tigris_pio.host.calls import Call
from tigris_pio.host.io import NUMPY_TYPES

#: Why the rows differ: the kernel computed them from equal inputs; memory was changed between two calls; the board made
#: another call than the host.
KERNEL, MEMORY, ORDER = "kernel", "memory", "order"
#: Keys of the JSON document for a difference.
_DIFFERENCE = ("image", "row", "column", "channel", "board", "host", "differing", "elements")

#: The compiler's suffix to a node's name if it lowers the node to several operators.
_PART = re.compile(r"/(part|copy|transpose|cast|quantize|dequantize|requantize)(_\d+)?$")


@dataclasses.dataclass(frozen=True)
class Element:
    """An element of a stored tensor, [batch, height, width, channels], and its values on both sides.

    `real`: both values as real numbers, for a quantised tensor.
    """

    image: int
    row: int
    column: int
    channel: int
    board: float
    host: float
    real: tuple[float, ...] | None


@dataclasses.dataclass(frozen=True)
class Difference:
    """The difference of a tensor's rows on both sides: the number of differing elements, and the first of them."""

    differing: int
    elements: int
    first: Element


@dataclasses.dataclass(frozen=True)
class FirstWrong:
    """The first kernel call of a run at which board and host differ.

    If `cause` is KERNEL, `tensor` is the operator's output. If it is MEMORY, `tensor` is an input that was changed
    after operator `writer` wrote it; `writer` is None for an input of the run.
    """

    sample: int
    op: int
    name: str
    nodes: tuple[str, ...]  #: of the model
    kernel: str
    stage: int
    strategy: str
    weights: str  #: the stage's weight mode: in_place, copy, lz4
    call: int  #: number of the run's kernel call, from 1
    calls: int  #: number of kernel calls of the run
    cause: str
    tensor: str
    writer: str | None
    rows: tuple[int, int]  #: of `tensor`: first row, end
    difference: Difference | None  #: None: the call overwrote the rows, so they could not be read
    reproducible: bool  #: another run gave the same bytes
    tolerance: float  #: earlier calls may differ by this much; 0: all bytes before are equal

    def document(self) -> dict[str, Any]:
        """The value of `first_wrong` in the JSON document: the fields, and those of `difference` in its place."""
        found = {**vars(self.difference.first), **vars(self.difference)} if self.difference else {}
        document: dict[str, Any] = {}
        for name, value in vars(self).items():
            document |= {key: found.get(key) for key in _DIFFERENCE} if name == "difference" else {name: value}
        return document

    def sentences(self) -> list[str]:
        """Lines of text: the operator, the place and the explanation."""
        nodes = "" if self.nodes in ((), (self.name,)) else f" of node {', '.join(self.nodes)}"
        head = (
            f"first wrong operator: {self.op} {self.name}{nodes}, {self.kernel}, in stage {self.stage} "
            f"({self.strategy}); kernel call {self.call} of {self.calls} in sample {self.sample}"
        )
        return [head, *(f"  {line}" for line in (self._place(), self._explanation(), self._reproducibility()) if line)]

    def _place(self) -> str:
        what = f"its input {self.tensor}, " if self.cause == MEMORY else ""
        first, last = self.rows[0], self.rows[1] - 1
        span = f"rows {first} to {last}" if last > first else f"row {first}"
        if self.cause == ORDER:
            return ""
        if self.difference is None:
            return f"{what}{span}: the operator overwrote them, so the element is not known"
        at, real = self.difference.first, ""
        if at.real is not None:
            real = f" ({at.real[0]:.6g} and {at.real[1]:.6g})"
        image = f"image {at.image}, " if at.image else ""
        differing, elements = self.difference.differing, self.difference.elements
        return (
            f"{what}{image}row {at.row}, column {at.column}, channel {at.channel}: "
            f"board {at.board:g}, host {at.host:g}{real}; {differing} of {elements} elements of {span} differ"
        )

    def _explanation(self) -> str:
        if self.cause == ORDER:
            return "the board made another call than the host: does its firmware have another version of the runtime?"
        if self.cause == MEMORY:
            when = f"operator {self.writer} wrote it" if self.writer else "the run began"
            return (
                f"that input was the host's when {when}, and was changed before this operator read it: something else "
                "writes to the model's memory (a buffer overrun, a stack, DMA, another task)"
            )
        if self.tolerance:
            return f"its inputs differ from the host's by no more than the tolerance {self.tolerance:g}"
        before = f", and so were all rows of the {self.call - 1} kernel calls before it" if self.call > 2 else ""
        copied = "" if self.weights == "in_place" else ", or the copy of its weights in fast memory was changed"
        return f"its inputs were equal on both sides{before}: the kernel computed other values{copied}"

    def _reproducibility(self) -> str:
        return "" if self.reproducible else "not reproducible: another run of the same inputs gave other bytes"


class PlanNames:
    """Looks up names and records of a plan for the operator of a call."""

    def __init__(self, file: PlanFile) -> None:
        self.file = file
        self._stages = [(i, stage) for i, stage in enumerate(file.stages) for _ in range(stage.op_count)]

    def name(self, op: int) -> str:
        """The operator's name."""
        return self.file.text(self.file.ops[op].name)

    def described(self, op: int) -> dict[str, Any]:
        """The fields of FirstWrong about the operator; a COMMIT comes from no node of the model."""
        record, (number, stage), name = self.file.ops[op], self._stages[op], self.name(op)
        return {
            "op": op,
            "name": name,
            "nodes": () if record.kind == OpKind.COMMIT else (_PART.sub("", name),),
            "kernel": f"{OpKind(record.kind).name} {DType(record.dtype).name}".lower(),
            "stage": number,
            "strategy": Strategy(stage.strategy).name.lower(),
            "weights": WeightMode(stage.weight_mode).name.lower(),
        }

    def tensor(self, op: int, operand: int | None = None) -> int:
        """The tensor of the operator's output, or of input `operand`."""
        record, stage = self.file.ops[op], self._stages[op][1]
        view = record.output_view if operand is None else self.file.operands[record.first_operand + operand].view
        return self.file.views[stage.first_view + view].tensor

    def tensor_name(self, tensor: int) -> str:
        """The tensor's name."""
        return self.file.text(self.file.tensors[tensor].name)

    def takes_batch(self, op: int, tensor: int) -> bool:
        """True if one call has the rows of all images."""
        return self.file.ops[op].images == 1 and self.file.tensors[tensor].batch > 1


def span_of(names: PlanNames, call: Call, operand: int | None = None) -> tuple[int, int]:
    """The rows of one image, first and end, that a call made, or that it read of an operand."""
    tensor = names.tensor(call.op, operand)
    if names.takes_batch(call.op, tensor):
        return 0, names.file.tensors[tensor].height
    rows = call if operand is None else call.operands[operand]
    return rows.first, rows.first + rows.rows


def compare_rows(
    names: PlanNames, call: Call, operand: int | None, board: bytes, host: bytes, tolerance: float = 0.0
) -> Difference | None:
    """Compares the rows that a call made, or read of an operand; None if they are equal.

    `tolerance`: see compare.
    """
    tensor = names.file.tensors[names.tensor(call.op, operand)]
    dtype = NUMPY_TYPES[DType(tensor.dtype)]
    arrays = (np.frombuffer(board, dtype), np.frombuffer(host, dtype))
    found = compare("", *arrays, tolerance)
    if found is None:
        return None
    real = None
    if tensor.scale:
        real = tuple((value - tensor.zero_point) * tensor.scale for value in (found.board, found.host))
    element = Element(*_place(names, tensor, call, operand, found.first), found.board, found.host, real)
    return Difference(found.differing, found.elements, element)


def _place(
    names: PlanNames, tensor: TensorRecord, call: Call, operand: int | None, index: int
) -> tuple[int, int, int, int]:
    """Image, row, column and channel of element `index` of a call's rows."""
    row, rest = divmod(index, tensor.width * tensor.channels)
    column, channel = divmod(rest, tensor.channels)
    first, end = span_of(names, call, operand)
    if names.takes_batch(call.op, names.tensor(call.op, operand)):
        image, row = divmod(row, tensor.height)
        return image, row, column, channel
    image = call.image if tensor.batch > 1 else 0
    return image, end - 1 if tensor.flags & TensorFlag.FOLDED else first + row, column, channel


def find_writer(names: PlanNames, made: Sequence[Call], call: int, operand: int, row: int, image: int) -> int | None:
    """Finds the call, from 1, that wrote a row which call `call` read; None if the row is older than the run."""
    tensor = names.tensor(made[call - 1].op, operand)
    for before in range(call - 1, 0, -1):
        other = made[before - 1]
        if names.tensor(other.op) != tensor:
            continue
        first, end = span_of(names, other)
        one_image = names.file.ops[other.op].images > 1
        if first <= row < end and (not one_image or other.image == image):
            return before
    return None


def describe(
    names: PlanNames,
    made: Sequence[Call],
    sample: int,
    call: int,
    cause: str,
    operand: int | None,
    found: Difference | None,
    reproducible: bool,
    tolerance: float = 0.0,
) -> FirstWrong:
    """Describes call `call`, from 1, of the host's calls `made`.

    `operand`: the input with the difference `found`; None: the output.
    """
    at = made[call - 1]
    span = span_of(names, at, operand)
    before = None
    if operand is not None:
        place = (found.first.row, found.first.image) if found else (span[0], at.image)
        before = find_writer(names, made, call, operand, *place)
    return FirstWrong(
        sample=sample,
        **names.described(at.op),
        call=call,
        calls=len(made),
        cause=cause,
        tensor=names.tensor_name(names.tensor(at.op, operand)),
        writer=names.name(made[before - 1].op) if before else None,
        rows=span,
        difference=found,
        reproducible=reproducible,
        tolerance=tolerance,
    )
