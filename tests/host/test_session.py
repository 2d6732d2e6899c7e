"""`Session`: arrays in and out, errors, measurements, traces, rows of streamed inputs."""

import itertools
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.compiler.models import make, node
from tests.runtime.kernel_harness import Way, plan_for
from tests.runtime.operators import operators
from tests.runtime.plan_builder import STATE_BYTES, PlanBuilder
from tigris_pio import Session, compile_model
from tigris_pio.compiler.ir.program import RowMap
from tigris_pio.errors import PlanError, RuntimeFailure, ToolError, UsageError
from tigris_pio.format.enums import DType, Home, OpKind
from tigris_pio.format.params import LookupParams
from tigris_pio.format.records import Header
from tigris_pio.host import library

SHAPE = (1, 4, 3, 2)
NCHW = (0, 3, 1, 2)
TABLE = (-np.arange(-128, 128)).clip(-128, 127).astype(np.int8)


def negate(plan: PlanBuilder, source: int, target: int) -> None:
    """A stage of its own."""
    stage = plan.stage()
    views = [stage.view(source), stage.view(target, pace=(4, 1, 0))]
    operands = [(views[0], RowMap.same())]
    stage.op(OpKind.LOOKUP, DType.INT8, LookupParams(0), operands, views[1], blobs={"table": TABLE})


def negation_plan(scale: float = 0.5, zero_point: int = 3) -> bytes:
    """Model input float32 NCHW, stored int8 NHWC; the output is the input's bytes negated."""
    plan = PlanBuilder()
    x = plan.tensor("x", SHAPE, scale=scale, zero_point=zero_point)
    y = plan.tensor("y", SHAPE, scale=scale, zero_point=zero_point)
    plan.input(x, permutation=NCHW)
    plan.output(y, shape=(2, 12), permutation=NCHW)
    negate(plan, x, y)
    return plan.build()


def two_step_plan() -> bytes:
    """Negation into slow memory and back."""
    plan = PlanBuilder()
    homes = {"x": Home.FAST, "m": Home.SLOW, "y": Home.FAST}
    tensors = [plan.tensor(name, SHAPE, home=home) for name, home in homes.items()]
    plan.input(tensors[0])
    plan.output(tensors[2])
    for source, target in itertools.pairwise(tensors):
        negate(plan, source, target)
    return plan.build()


def test_run_takes_and_gives_the_models_arrays() -> None:
    x = np.linspace(-80, 80, 24).reshape(1, 2, 4, 3).astype(np.float32)
    quantised = np.clip(np.rint(x / np.float32(0.5)) + 3, -128, 127)
    negated = np.clip(-quantised, -128, 127)
    with Session(negation_plan()) as session:
        y = session.run({"x": x})["y"]
    np.testing.assert_array_equal(y, ((negated - 3) * np.float32(0.5)).reshape(2, 12))
    assert y.dtype == np.float32


def test_quantisation_rounds_half_to_even_and_saturates() -> None:
    values = np.array([0.25, 0.75, -0.25, -0.75, 1e30, -1e30, np.inf, -np.inf], np.float32)
    x = np.resize(values, (1, 2, 4, 3))
    with Session(negation_plan(scale=0.5, zero_point=0)) as session:
        stored = session.inputs[0].to_stored(x)
    expected = np.resize([0, 2, 0, -2, 127, -128, 127, -128], (1, 2, 4, 3)).transpose(0, 2, 3, 1)
    np.testing.assert_array_equal(stored, expected)


def test_memory_is_measured() -> None:
    x = np.zeros(SHAPE, np.int8)
    data = two_step_plan()
    with Session(data) as session:
        session.run_raw({"x": x})
        memory = session.memory
    assert (memory.slow_peak, memory.slow_read, memory.slow_written) == (24, 24, 24)
    assert memory.fast_peak == STATE_BYTES + 32 + 24, "state, input, output at a multiple of 16"
    assert memory.fast_peak <= Header.unpack(data).fast_bytes


def test_profile_counts_calls_and_time() -> None:
    op = next(op for op in operators() if op.kind == OpKind.CONV_2D)
    with Session(plan_for(op, Way(2))) as session:
        for _ in range(3):
            session.run_raw({"in0": op.inputs[0]})
        (record,) = session.profile
    assert (record.name, record.strategy, record.calls) == ("op0", "normal", 9)
    assert 0 < record.nanoseconds < 10**9


def test_every_operators_output_can_be_traced() -> None:
    x = np.arange(24).reshape(SHAPE).astype(np.int8)
    with Session(two_step_plan()) as session:
        outputs, traces = session.run_raw_traced({"x": x})
        again = session.run_raw({"x": x})
    np.testing.assert_array_equal(traces["op0"], -x)
    np.testing.assert_array_equal(traces["op1"], x)
    np.testing.assert_array_equal(outputs["y"], again["y"])


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ({}, "missing x; the model takes x"),
        ({"x": np.zeros((1, 2, 4, 3)), "y": 1}, "unknown y; the model takes x"),
        ({"x": np.zeros((1, 2, 4, 4))}, r"'x' has shape \[1, 2, 4, 4\], the model takes \[1, 2, 4, 3\]"),
        ({"x": np.zeros((1, 2, 4, 3), complex)}, "'x' is complex128, the model takes float32"),
        ({"x": [["a"]]}, "'x' has shape"),
        (np.zeros((2, 4, 3)), r"'x' has shape \[2, 4, 3\]"),
    ],
)
def test_wrong_inputs_are_named(inputs: object, message: str) -> None:
    with Session(negation_plan()) as session, pytest.raises(UsageError, match=message):
        session.run(inputs)


def test_one_input_needs_no_name() -> None:
    x = np.ones((1, 2, 4, 3), np.float32)
    with Session(negation_plan()) as session:
        np.testing.assert_array_equal(*(next(iter(session.run(given).values())) for given in (x, {"x": x})))


def test_arenas_that_are_too_small_say_what_is_needed() -> None:
    data = two_step_plan()
    needed = Header.unpack(data).fast_bytes
    state = Header.unpack(data).state_bytes
    with pytest.raises(RuntimeFailure, match=f"arenas of {state} bytes fast and 32 slow .* bytes of fast memory are"):
        Session(data, fast_bytes=state)
    with pytest.raises(RuntimeFailure, match=f"missing; the plan was made for {needed} fast and 32 slow"):
        Session(data, slow_bytes=0)
    assert Session(data, fast_bytes=needed + 5000, slow_bytes=99).inputs


def test_what_is_no_plan_is_refused(tmp_path: Path) -> None:
    data = negation_plan()
    for plan, message in (
        (tmp_path / "absent.tgrs", r"absent\.tgrs: no such file; give a \.tgrs plan"), (b"TGRS", r"no \.tgrs plan"),
        (b"", "the plan is empty"), (data[:-16], "truncated"), (data[:-1] + bytes([data[-1] ^ 255]), "checksum"),
    ):  # fmt: skip
        with pytest.raises(PlanError, match=message):
            Session(plan)


def test_a_write_outside_stops_the_session() -> None:
    with Session(negation_plan()) as session:
        for guard, index in itertools.product(session._fast._guards, (0, -1)):
            guard[index] ^= 1
            with pytest.raises(RuntimeFailure, match="outside the fast memory"):
                session.run_raw({"x": np.zeros(SHAPE, np.int8)})
            guard[index] ^= 1


def test_a_missing_library_names_the_command(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(library, "_PACKAGE", tmp_path / "tigris_pio" / "host")
    with pytest.raises(ToolError, match=r"Install a C compiler: .*; then run: .* -m pip install --force-reinstall"):
        library.library_path()
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "tigris_pio" / "host").mkdir(parents=True)
    with pytest.raises(ToolError, match=f'then run: "{sys.executable}" -m pip install -e "{tmp_path}"'):
        library.library_path()
    monkeypatch.setenv(library.LIBRARY_VARIABLE, str(tmp_path / "none.so"))
    with pytest.raises(ToolError, match=r"TIGRIS_RUNTIME_LIBRARY names .*none\.so, which does not exist"):
        library.library_path()
    (tmp_path / "none.so").write_text("no library")
    with pytest.raises(ToolError, match="no usable runtime library"):
        library.load.__wrapped__()


# Rows of a streamed input given by a function: in the model's order, in the plan's, and neither.

RNG = np.random.default_rng(7)
IMAGE = RNG.normal(size=(1, 3, 24, 8)).astype(np.float32)
SOUND = RNG.normal(size=(1, 5, 40)).astype(np.float32)
SQUARE = RNG.normal(size=(2, 3, 3, 3)).astype(np.float32)
LINE = RNG.normal(size=(2, 5, 3)).astype(np.float32)


def images() -> Any:
    return make([node("Conv", "x w", "y", pads=[1, 1, 1, 1])], {"x": IMAGE.shape}, ["y"], {"w": SQUARE})


def sounds() -> Any:
    return make([node("Conv", "x w", "y")], {"x": SOUND.shape}, ["y"], {"w": LINE})


Source = Callable[[int, int], object]
#: As the model takes it; stored, with the batch and without it.
FORMS: dict[str, tuple[Any, np.ndarray, list[Source]]] = {
    "image": (images, IMAGE, [
        lambda first, rows: IMAGE[:, :, first : first + rows],
        lambda first, rows: IMAGE.transpose(0, 2, 3, 1)[:, first : first + rows],
        lambda first, rows: IMAGE[0].transpose(1, 2, 0)[first : first + rows],
        lambda first, rows: IMAGE[0].transpose(1, 2, 0)[first : first + rows].tolist(),
    ]),
    "sound": (sounds, SOUND, [
        lambda first, rows: SOUND[:, :, first : first + rows],
        lambda first, rows: SOUND[0].T[first : first + rows],
    ]),
}  # fmt: skip


@pytest.mark.parametrize("name", FORMS)
def test_each_form_is_told_by_its_shape(name: str) -> None:
    build, whole, sources = FORMS[name]
    with Session(compile_model(build())) as session:
        expected = session.run({"x": whole})["y"]
    with Session(compile_model(build(), stream="x")) as session:
        for source in sources:
            assert np.array_equal(session.run({"x": source})["y"], expected)


@pytest.mark.parametrize("wrong", [
    lambda _, rows: np.zeros((rows + 1, 8, 3), np.float32),  # too many
    lambda _, rows: np.zeros((1, rows, 3, 8), np.float32),  # as many elements in an order that nobody has
    lambda _, rows: np.zeros(rows * 24, np.float32),
], ids=("too many", "another order", "flat"))  # fmt: skip
def test_other_shapes_are_refused(wrong: Source) -> None:
    with Session(compile_model(images(), stream="x")) as session:
        with pytest.raises(UsageError, match=re.escape("rows were asked for, which are [1, 3, ")):
            session.run({"x": wrong})
        session.run({"x": IMAGE})  # and the session goes on
