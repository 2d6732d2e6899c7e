"""The first wrong operator: whatever kernel computes wrongly on the board, in whatever plan, is found and named."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import onnx
import pytest

from tests.compiler.models import make, node
from tests.hil.bridge import Bridge
from tests.hil.conftest import QUICK
from tigris_pio import compile_model
from tigris_pio.format.enums import DType, OpKind
from tigris_pio.format.reader import PlanFile
from tigris_pio.hil.check import CheckReport, HostPlan, check, open_plan
from tigris_pio.hil.client import Board
from tigris_pio.hil.first_wrong import KERNEL, FirstWrong, PlanWords
from tigris_pio.hil.samples import random_samples
from tigris_pio.host.calls import Call

Connect = Callable[..., Bridge]
NETWORKS = Path(__file__).resolve().parents[2] / "networks"
K = OpKind


def mixed() -> onnx.ModelProto:
    """A float32 network with a kernel of each sort."""
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
    """An LSTM whose state lives from run to run."""
    rng = np.random.default_rng(2)
    weights = {name: 0.3 * rng.standard_normal(shape).astype(np.float32)
               for name, shape in (("W", (1, 16, 3)), ("R", (1, 16, 4)), ("B", (1, 32)))}
    nodes = [node("LSTM", "x W R B - h c", "all hn cn", "lstm", hidden_size=4),
             node("Squeeze", "all one", "row"), node("Tanh", "row", "y", "squash")]
    return make(nodes, {"x": (6, 1, 3), "h": (1, 1, 4), "c": (1, 1, 4)}, ["y", "hn", "cn"],
                {**weights, "one": np.array([1])})


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
        fault = f"kind={self.kind},dtype={self.dtype},row={self.row},channel={self.channel},flip={self.flip}"
        return f"{fault},{self.more}" if self.more else fault

    def first_call(self, file: PlanFile, calls: Sequence[Call]) -> int:
        """The first call, from 1, that it spoils; 0: none."""
        words = PlanWords(file)
        for index, call in enumerate(calls, 1):
            op = file.ops[call.op]
            is_kernel = (op.kind, op.dtype) == (self.kind, self.dtype)
            in_rows = call.first <= self.row < call.first + call.rows
            if is_kernel and in_rows and self.channel < file.tensors[words.tensor(call.op)].channels:
                return index
        return 0


@pytest.fixture(scope="session")
def plans(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """`plans(model, fast, **options)`: compiled once; a model is a network's name or a function."""
    folder, made = tmp_path_factory.mktemp("plans"), dict[str, Path]()

    def plan(model: str | Callable[[], onnx.ModelProto], fast: str, **options: object) -> Path:
        name = model if isinstance(model, str) else model.__name__
        key = "-".join([name, fast, *(f"{option}{value}" for option, value in options.items())]).replace("'", "")
        if key not in made:
            source = NETWORKS / f"{model}_int8.onnx" if isinstance(model, str) else model()
            made[key] = folder / f"{len(made)}.tgrs"
            compile_model(source, fast=fast, **options).save(made[key])  # type: ignore[arg-type]
        return made[key]

    return plan


def checked(url: str, plan: HostPlan, count: int = 2, **options: float) -> CheckReport:
    with Board(url, timing=QUICK) as board:
        return check(board, plan, random_samples(plan.session.inputs, count).inputs, **options)


def assert_found(report: CheckReport, plan: HostPlan, wrong: Wrong, count: int = 2) -> FirstWrong:
    """The call that the fault spoils first is named, with the element and what both sides have there."""
    found = report.first_wrong
    assert found is not None, report.not_located
    inputs = random_samples(plan.session.inputs, count).inputs[found.sample]
    plan.session.reset()
    _, calls = plan.session.run_raw_calls(inputs)
    call = wrong.first_call(plan.file, calls)
    op = plan.file.ops[calls[call - 1].op]
    assert (found.call, found.calls, found.cause, found.op) == (call, len(calls), KERNEL, calls[call - 1].op)
    assert (found.name, found.reproducible, found.within) == (plan.file.text(op.name), True, 0)
    assert found.kernel == f"{wrong.kind.name.lower()} {wrong.dtype.name.lower()}"
    stage = plan.file.stages[found.stage]
    assert stage.first_op <= found.op < stage.first_op + stage.op_count
    assert found.departure is not None
    at = found.departure.first
    assert (at.row, at.column, at.channel, at.image) == (wrong.row, 0, wrong.channel, 0)
    if wrong.dtype == DType.INT8:
        assert np.int8(at.host) ^ np.int8(wrong.flip) == np.int8(at.board)
    tensor = plan.file.tensors[PlanWords(plan.file).tensor(found.op)]
    assert found.departure.differing == tensor.width
    return found


#: A band in the middle of a rolling stage, or what there is.
KERNELS = [
    ("kws", "8K", Wrong(K.CONV_2D, DType.INT8, 12, 5)),
    ("kws", "8K", Wrong(K.DEPTHWISE_CONV_2D, DType.INT8, 11, 3)),
    ("kws", "8K", Wrong(K.MEAN_OF_SUMS, DType.INT8, 0, 7)),
    ("kws", "8K", Wrong(K.FULLY_CONNECTED, DType.INT8, 0, 4)),
    ("kws", "8K", Wrong(K.SOFTMAX, DType.INT8, 0, 2)),
    ("resnet", "20K", Wrong(K.ADD, DType.INT8, 9, 15)),
    (mixed, "4K", Wrong(K.CONV_2D, DType.FLOAT32, 13, 1, 255)),
    (mixed, "4K", Wrong(K.MAX_POOL, DType.FLOAT32, 5, 2, 255, "add=30000")),
    (mixed, "4K", Wrong(K.UNARY, DType.FLOAT32, 7, 0, 255, "add=30000")),
    (mixed, "4K", Wrong(K.CONCAT, DType.FLOAT32, 6, 6, 255, "add=30000")),
    (mixed, "4K", Wrong(K.RESAMPLE, DType.FLOAT32, 15, 4, 255, "add=30000")),
    (remembering, "4K", Wrong(K.RECURRENT, DType.FLOAT32, 3, 1, 255, "add=30000")),
]


@pytest.mark.parametrize(("model", "fast", "wrong"), KERNELS, ids=lambda value: getattr(value, "spec", None))
def test_a_wrong_kernel_is_named(
    model: str | Callable[[], onnx.ModelProto], fast: str, wrong: Wrong, plans: Callable[..., Path], real_board: Path,
    line: Connect,
) -> None:
    state = {"state": {"hn": "h", "cn": "c"}} if model is remembering else {}
    path = plans(model, fast, **state)
    plan = open_plan(path)
    report = checked(line([real_board, "--fault", wrong.spec, "--model", path]).url, plan)
    assert not report.equal
    assert_found(report, plan, wrong)
