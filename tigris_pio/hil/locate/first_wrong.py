"""The first operator whose rows on the board are not the host's, in the model's and the plan's words."""

from __future__ import annotations

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

#: Why the rows depart: the kernel computed them from equal inputs; memory was changed between two calls; the board made
#: another call than the host.
KERNEL, MEMORY, ORDER = "kernel", "memory", "order"

#: What the compiler puts behind a node's name where several operators are made of it.
_PART = re.compile(r"/(part|copy|transpose|cast|quantize|dequantize|requantize)(_\d+)?$")


@dataclasses.dataclass(frozen=True)
class Element:
    """An element of a stored tensor, [batch, height, width, channels], and what both sides have there; `real`: as real
    numbers, of a quantised tensor."""

    image: int
    row: int
    column: int
    channel: int
    board: float
    host: float
    real: tuple[float, float] | None


@dataclasses.dataclass(frozen=True)
class Departure:
    """Rows of a tensor on both sides: how many elements differ, and the first that does."""

    differing: int
    elements: int
    first: Element


@dataclasses.dataclass(frozen=True)
class FirstWrong:
    """The first kernel call of a run at which board and host part.

    Where `cause` is KERNEL, `tensor` is the operator's output; where it is MEMORY, an input that was changed after it
    was written, by `writer` or, None, by no operator.
    """

    sample: int
    call: int  #: which of the run's kernel calls, from 1
    calls: int  #: kernel calls of the run
    op: int
    name: str
    nodes: tuple[str, ...]  #: of the model
    kernel: str
    stage: int
    strategy: str
    weights: str  #: how that stage finds them: in_place, copy, lz4
    cause: str
    tensor: str
    writer: str | None
    rows: tuple[int, int]  #: of `tensor`: first, and end
    departure: Departure | None  #: None: the call wrote over the rows, so they could not be read
    reproducible: bool  #: it came again, with the same bytes
    within: float  #: the tolerance, where earlier calls departed by less; 0: all bytes before are equal

    def document(self) -> dict[str, Any]:
        """As JSON has it."""
        first = self.departure.first if self.departure else None
        names = ("image", "row", "column", "channel", "board", "host")
        return {
            "sample": self.sample,
            "op": self.op,
            "name": self.name,
            "nodes": list(self.nodes),
            "kernel": self.kernel,
            "stage": self.stage,
            "strategy": self.strategy,
            "weights": self.weights,
            "call": self.call,
            "calls": self.calls,
            "cause": self.cause,
            "tensor": self.tensor,
            "writer": self.writer,
            "rows": list(self.rows),
            **{name: getattr(first, name) if first else None for name in names},
            "differing": self.departure.differing if self.departure else None,
            "elements": self.departure.elements if self.departure else None,
            "reproducible": self.reproducible,
            "tolerance": self.within,
        }

    def sentences(self) -> list[str]:
        """For people: which operator, where, and what it means."""
        nodes = "" if self.nodes in ((), (self.name,)) else f" of node {', '.join(self.nodes)}"
        head = (
            f"first wrong operator: {self.op} {self.name}{nodes}, {self.kernel}, in stage {self.stage} "
            f"({self.strategy}); kernel call {self.call} of {self.calls} in sample {self.sample}"
        )
        return [head, *(f"  {line}" for line in (self._place(), self._meaning(), self._again()) if line)]

    def _place(self) -> str:
        what = f"its input {self.tensor}, " if self.cause == MEMORY else ""
        first, last = self.rows[0], self.rows[1] - 1
        span = f"rows {first} to {last}" if last > first else f"row {first}"
        if self.cause == ORDER:
            return ""
        if self.departure is None:
            return f"{what}{span}: the operator wrote over them, so which element is not known"
        at, real = self.departure.first, ""
        if at.real is not None:
            real = f" ({at.real[0]:.6g} and {at.real[1]:.6g})"
        image = f"image {at.image}, " if at.image else ""
        differing, elements = self.departure.differing, self.departure.elements
        return (
            f"{what}{image}row {at.row}, column {at.column}, channel {at.channel}: "
            f"board {at.board:g}, host {at.host:g}{real}; {differing} of {elements} elements of {span} differ"
        )

    def _meaning(self) -> str:
        if self.cause == ORDER:
            return "the board made another call than the host: is its firmware of another version of the runtime?"
        if self.cause == MEMORY:
            when = f"operator {self.writer} wrote it" if self.writer else "the run began"
            return (
                f"that input was the host's when {when}, and was changed before this operator read it: something else "
                "writes to the model's memory (a buffer that overruns, a stack, DMA, another task)"
            )
        if self.within:
            return f"its inputs depart from the host's by no more than the tolerance {self.within:g}"
        before = f", as was all that the {self.call - 1} kernel calls before it made" if self.call > 2 else ""
        copied = "" if self.weights == "in_place" else ", or the copy of its weights in fast memory was changed"
        return f"its inputs were equal on both sides{before}: the kernel computed otherwise{copied}"

    def _again(self) -> str:
        return "" if self.reproducible else "not reproducible: another run of the same inputs gave other bytes"


class PlanWords:
    """A plan's records by what a call says."""

    def __init__(self, file: PlanFile) -> None:
        self.file = file
        self._stages = [(i, stage) for i, stage in enumerate(file.stages) for _ in range(stage.op_count)]

    def name(self, op: int) -> str:
        """The operator's."""
        return self.file.text(self.file.ops[op].name)

    def nodes(self, op: int) -> tuple[str, ...]:
        """The model's node that it was made of, after which operators are named; none of what commits a state."""
        if self.file.ops[op].kind == OpKind.COMMIT:
            return ()
        return (_PART.sub("", self.name(op)),)

    def kernel(self, op: int) -> str:
        """Its kernel, `conv_2d int8`."""
        record = self.file.ops[op]
        return f"{OpKind(record.kind).name.lower()} {DType(record.dtype).name.lower()}"

    def stage(self, op: int) -> int:
        """The stage that it is in."""
        return self._stages[op][0]

    def strategy(self, op: int) -> str:
        """How that stage runs."""
        return Strategy(self._stages[op][1].strategy).name.lower()

    def weights(self, op: int) -> str:
        """How that stage's operators find their weights."""
        return WeightMode(self._stages[op][1].weight_mode).name.lower()

    def tensor(self, op: int, operand: int | None = None) -> int:
        """The index of its output, or of an input."""
        record, stage = self.file.ops[op], self._stages[op][1]
        view = record.output_view if operand is None else self.file.operands[record.first_operand + operand].view
        return self.file.views[stage.first_view + view].tensor

    def tensor_name(self, tensor: int) -> str:
        """A tensor's."""
        return self.file.text(self.file.tensors[tensor].name)

    def takes_batch(self, op: int, tensor: int) -> bool:
        """Whether one call has the rows of all images."""
        return self.file.ops[op].images == 1 and self.file.tensors[tensor].batch > 1


def span_of(words: PlanWords, call: Call, operand: int | None = None) -> tuple[int, int]:
    """The rows of one image, first and end, that a call made or, of an operand, read."""
    tensor = words.tensor(call.op, operand)
    if words.takes_batch(call.op, tensor):
        return 0, words.file.tensors[tensor].height
    rows = call if operand is None else call.operands[operand]
    return rows.first, rows.first + rows.rows


def departure(
    words: PlanWords, call: Call, operand: int | None, board: bytes, host: bytes, tolerance: float = 0.0
) -> Departure | None:
    """How the rows that a call made, or read, differ; None when they do not, by more than `tolerance` (see compare)."""
    tensor = words.file.tensors[words.tensor(call.op, operand)]
    dtype = NUMPY_TYPES[DType(tensor.dtype)]
    arrays = (np.frombuffer(board, dtype), np.frombuffer(host, dtype))
    found = compare("", *arrays, tolerance)
    if found is None:
        return None
    real = None
    if tensor.scale:
        values = (found.board_value, found.host_value)
        real = ((values[0] - tensor.zero_point) * tensor.scale, (values[1] - tensor.zero_point) * tensor.scale)
    image, row, column, channel = _place(words, tensor, call, operand, found.first)
    element = Element(image, row, column, channel, found.board_value, found.host_value, real)
    return Departure(found.differing, found.elements, element)


def _place(
    words: PlanWords, tensor: TensorRecord, call: Call, operand: int | None, index: int
) -> tuple[int, int, int, int]:
    """Image, row, column and channel of element `index` of a call's rows."""
    row, rest = divmod(index, tensor.width * tensor.channels)
    column, channel = divmod(rest, tensor.channels)
    first, end = span_of(words, call, operand)
    if words.takes_batch(call.op, words.tensor(call.op, operand)):
        image, row = divmod(row, tensor.height)
        return image, row, column, channel
    image = call.image if tensor.batch > 1 else 0
    return image, end - 1 if tensor.flags & TensorFlag.FOLDED else first + row, column, channel


def writer(words: PlanWords, made: Sequence[Call], call: int, operand: int, row: int, image: int) -> int | None:
    """Which call, from 1, wrote a row that call `call` read; None when none of this run did."""
    tensor = words.tensor(made[call - 1].op, operand)
    for before in range(call - 1, 0, -1):
        other = made[before - 1]
        if words.tensor(other.op) != tensor:
            continue
        first, end = span_of(words, other)
        one_image = words.file.ops[other.op].images > 1
        if first <= row < end and (not one_image or other.image == image):
            return before
    return None


def describe(
    words: PlanWords,
    made: Sequence[Call],
    sample: int,
    call: int,
    cause: str,
    operand: int | None,
    found: Departure | None,
    reproducible: bool,
    within: float = 0.0,
) -> FirstWrong:
    """Call `call`, from 1, of the host's, `made`, in words.

    operand: the input that `found` is of; None: its output.
    """
    at = made[call - 1]
    span = span_of(words, at, operand)
    before = None
    if operand is not None:
        place = (found.first.row, found.first.image) if found else (span[0], at.image)
        before = writer(words, made, call, operand, *place)
    return FirstWrong(
        sample=sample,
        call=call,
        calls=len(made),
        op=at.op,
        name=words.name(at.op),
        nodes=words.nodes(at.op),
        kernel=words.kernel(at.op),
        stage=words.stage(at.op),
        strategy=words.strategy(at.op),
        weights=words.weights(at.op),
        cause=cause,
        tensor=words.tensor_name(words.tensor(at.op, operand)),
        writer=words.name(made[before - 1].op) if before else None,
        rows=span,
        departure=found,
        reproducible=reproducible,
        within=within,
    )
