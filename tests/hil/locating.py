"""Boards with a fault, and checks of the fault's description."""

import dataclasses
from collections.abc import Sequence

import numpy as np
import onnx

from tests.compiler.models import make, node
from tests.hil.conftest import QUICK
from tigris_pio.format.enums import DType, OpKind
from tigris_pio.format.reader import PlanFile
from tigris_pio.hil.check import CheckReport, HostPlan, Mismatch, check, find_model
from tigris_pio.hil.client import Board
from tigris_pio.hil.locate.first_wrong import KERNEL, FirstWrong, PlanNames
from tigris_pio.hil.locate.search import locate
from tigris_pio.hil.samples import random_samples
from tigris_pio.host.calls import Call

#: For a search without a differing output.
NO_MISMATCH = Mismatch("", 0, 0, 0, 0, 0, 0)


@dataclasses.dataclass(frozen=True)
class Wrong:
    """A fault of faults.c."""

    kind: OpKind
    dtype: DType
    row: int
    channel: int
    flip: int = 64
    more: str = ""

    @property
    def spec(self) -> str:
        """The fault as the board's option."""
        fault = f"kind={self.kind},dtype={self.dtype},row={self.row},channel={self.channel},flip={self.flip}"
        return f"{fault},{self.more}" if self.more else fault

    def first_call(self, file: PlanFile, calls: Sequence[Call]) -> int:
        """The first call, from 1, that the fault changes; 0: none."""
        words = PlanNames(file)
        for index, call in enumerate(calls, 1):
            op = file.ops[call.op]
            is_kernel = (op.kind, op.dtype) == (self.kind, self.dtype)
            in_rows = call.first <= self.row < call.first + call.rows
            if is_kernel and in_rows and self.channel < file.tensors[words.tensor(call.op)].channels:
                return index
        return 0


def checked(url: str, plan: HostPlan, count: int = 2, **options: object) -> CheckReport:
    """Checks random samples."""
    with Board(url, timing=QUICK) as board:
        return check(board, plan, random_samples(plan.session.inputs, count).inputs, **options)  # type: ignore[arg-type]


def located(url: str, plan: HostPlan, count: int = 1) -> FirstWrong | str:
    """Searches in the last of `count` random samples, even if no output differs."""
    samples = random_samples(plan.session.inputs, count).inputs
    with Board(url, timing=QUICK) as board:
        model = find_model(board, plan.file)
        return locate(board, model, plan.file, plan.session, samples, count - 1, NO_MISMATCH)


def assert_found(found: FirstWrong | str | None, plan: HostPlan, wrong: Wrong) -> FirstWrong:
    """Asserts that the first changed call is named, with the element and its values on both sides."""
    assert isinstance(found, FirstWrong), found
    inputs = random_samples(plan.session.inputs, found.sample + 1).inputs[found.sample]
    plan.session.reset()
    _, calls = plan.session.run_raw_calls(inputs)
    call = wrong.first_call(plan.file, calls)
    op = plan.file.ops[calls[call - 1].op]
    assert (found.call, found.calls, found.cause, found.op) == (call, len(calls), KERNEL, calls[call - 1].op)
    assert (found.name, found.reproducible, found.tolerance) == (plan.file.text(op.name), True, 0)
    assert found.kernel == f"{wrong.kind.name.lower()} {wrong.dtype.name.lower()}"
    stage = plan.file.stages[found.stage]
    assert stage.first_op <= found.op < stage.first_op + stage.op_count
    assert found.difference is not None
    at = found.difference.first
    assert (at.row, at.column, at.channel, at.image) == (wrong.row, 0, wrong.channel, 0)
    tensor = plan.file.tensors[PlanNames(plan.file).tensor(found.op)]
    if tensor.dtype == DType.INT8:
        assert np.array(at.host).astype(np.uint8) ^ np.uint8(wrong.flip) == np.array(at.board).astype(np.uint8)
    assert found.difference.differing == tensor.width
    return found


def mixed() -> onnx.ModelProto:
    """A float32 network with many kinds of kernels."""
    rng = np.random.default_rng(1)
    shapes = {"w1": (4, 2, 3, 3), "b1": (4,), "w2": (3, 4, 1, 1), "w3": (2, 7, 3, 3)}
    weights = {name: 0.3 * rng.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}
    nodes = [
        node("Conv", "x w1 b1", "c", "conv", pads=[1, 1, 1, 1]),
        node("MaxPool", "c", "p", "pool", kernel_shape=[2, 2], strides=[2, 2]),
        node("Sigmoid", "p", "s", "sigmoid"),
        node("Conv", "p w2", "d", "narrow"),
        node("Concat", "s d", "both", "join", axis=1),
        node("Resize", "both - sizes", "r", "grow", mode="linear", coordinate_transformation_mode="half_pixel"),
        node("Conv", "r w3", "y", "last", pads=[1, 1, 1, 1]),
    ]
    return make(nodes, {"x": (1, 2, 24, 10)}, ["y"], {**weights, "sizes": np.array([1, 1, 2, 2], np.float32)})


def remembering() -> onnx.ModelProto:
    """An LSTM with the states hn=h, cn=c."""
    rng = np.random.default_rng(2)
    shapes = (("W", (1, 16, 3)), ("R", (1, 16, 4)), ("B", (1, 32)))
    weights = {name: 0.3 * rng.standard_normal(shape).astype(np.float32) for name, shape in shapes}
    nodes = [
        node("LSTM", "x W R B - h c", "all hn cn", "lstm", hidden_size=4),
        node("Squeeze", "all one", "row"),
        node("Tanh", "row", "y", "squash"),
    ]
    inputs = {"x": (6, 1, 3), "h": (1, 1, 4), "c": (1, 1, 4)}
    return make(nodes, inputs, ["y", "hn", "cn"], {**weights, "one": np.array([1])})


def amplifying() -> onnx.ModelProto:
    """y = exp(20 s) + r, s = sigmoid(-x), in float32: an error of s grows 20-fold in y. r = min(exp(20 s), 0) adds no
    error; its operators run between."""
    nodes = [node("Neg", "x", "n", "negate"), node("Sigmoid", "n", "s", "sigmoid"), node("Mul", "s k", "m", "stretch"),
             node("Exp", "m", "e", "raise"), node("Min", "e z", "p"), node("Mul", "p x", "q"), node("Sub", "q x", "o"),
             node("Mul", "o x", "t"), node("Add", "t x", "r"), node("Add", "e r", "y", "join")]  # fmt: skip
    return make(nodes, {"x": (1, 2, 9, 5)}, ["y"], {"k": np.array(20, np.float32), "z": np.zeros((), np.float32)})
