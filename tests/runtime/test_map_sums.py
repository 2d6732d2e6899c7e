"""Means of maps, and fully connected layers of maps, row by row: equal to those of the whole map."""

import dataclasses

import numpy as np
import onnx
import pytest

from bench.networks import smallest
from tests.compiler.models import make, node
from tests.families.measure import run
from tests.families.quantised import SCHEMES, quantise
from tests.runtime import references
from tests.runtime.kernel_harness import Operator, Way, plan_for
from tests.runtime.loader import Status, bind_status
from tests.runtime.operators import operators
from tests.runtime.plan_builder import PlanBuilder, padded_tuple
from tigris_pio import Session, compile_model
from tigris_pio.compiler.emit.writer import write_plan
from tigris_pio.compiler.ir.plan import Budget
from tigris_pio.compiler.ir.program import Program
from tigris_pio.compiler.lower.fold_products import fold_products
from tigris_pio.compiler.options import CompileOptions
from tigris_pio.compiler.pipeline import Compiled, front
from tigris_pio.compiler.plan.search import plan_program
from tigris_pio.compiler.plan.settings import WeightOptions
from tigris_pio.errors import BudgetError, PlanError
from tigris_pio.format.enums import OpKind, TensorFlag, WeightMode
from tigris_pio.format.kinds import Access, kinds_with
from tigris_pio.format.records import Header

SHAPE = (1, 6, 13, 9)


def conv_and_mean(scales: tuple[float, float] | None) -> tuple[onnx.ModelProto, np.ndarray]:
    """A 3x3 convolution that passes each channel's middle tap on, and the mean; `scales` of an int8 model."""
    middle = np.zeros((6, 6, 3, 3), np.float32)
    middle[range(6), range(6), 1, 1] = 1.0
    x = np.random.default_rng(5).integers(-128, 128, SHAPE)
    conv = {"pads": [1] * 4, "kernel_shape": [3, 3]}
    if scales is None:
        nodes = [node("Conv", "x w", "c", **conv), node("GlobalAveragePool", "c", "y")]
        return make(nodes, {"x": SHAPE}, ["y"], {"w": middle}), x.astype(np.float32) / 7
    weights = {"w": (middle * 127).astype(np.int8), "ws": np.float32(1 / 127), "wz": np.int8(0),
               "s": np.float32(scales[0]), "z": np.int8(3), "ys": np.float32(scales[1]), "yz": np.int8(3)}
    nodes = [
        node("QuantizeLinear", "x s z", "xq"), node("DequantizeLinear", "xq s z", "xd"),
        node("DequantizeLinear", "w ws wz", "wd"), node("Conv", "xd wd", "c", **conv),
        node("QuantizeLinear", "c s z", "cq"), node("DequantizeLinear", "cq s z", "cd"),
        node("GlobalAveragePool", "cd", "p"),
        node("QuantizeLinear", "p ys yz", "pq"), node("DequantizeLinear", "pq ys yz", "y"),
    ]
    return make(nodes, {"x": SHAPE}, ["y"], weights), ((x - 3) * scales[0]).astype(np.float32)


def outputs(model: onnx.ModelProto, x: np.ndarray) -> np.ndarray:
    """The stored output, after checking that plans that sum up in bands give the same bytes."""
    start = front(model, CompileOptions())
    kinds = [op.kind for op in start.program.ops]
    assert OpKind.SUM_MAP in kinds and OpKind.MEAN_OF_SUMS in kinds and OpKind.AVERAGE_POOL not in kinds
    whole = run(start, CompileOptions(), {"x": x})
    map_bytes = start.program.tensors["c" if "c" in start.program.tensors else "cq"].bytes
    windows = map_bytes // 2 + 300  # and run-time state
    rolled = []
    for budget in (Budget(map_bytes + windows), Budget(windows, 1 << 20)):
        small = run(start, CompileOptions(budget), {"x": x})
        banded = [s for s in small.compiled.plan.stages if s.bands > 1 and s.end_op - s.first_op > 1]
        rolled.append(any(OpKind.SUM_MAP in kinds[s.first_op : s.end_op] for s in banded))
        np.testing.assert_array_equal(small.raw["y"], whole.raw["y"])
    assert any(rolled)  # with slow memory; without, the convolution's output may grow over its input instead
    return whole.raw["y"]


def test_float_sums_rows_then_columns() -> None:
    model, x = conv_and_mean(None)
    sums = np.zeros(6, np.float32)
    for pixel in x[0].reshape(6, -1).T:
        sums += pixel
    np.testing.assert_array_equal(outputs(model, x).ravel(), sums / np.float32(13 * 9))


@pytest.mark.parametrize("scales", [(0.05, 0.05), (0.05, 0.013)])
def test_int8_rounds_once(scales: tuple[float, float]) -> None:
    model, x = conv_and_mean(scales)
    q = np.clip(np.rint(x / np.float32(scales[0])) + 3, -128, 127).astype(np.int64)
    sums, taps = q.sum(axis=(2, 3)).ravel(), 13 * 9
    if scales[0] == scales[1]:
        expected = np.sign(sums) * np.floor(np.abs(sums) / taps + 0.5)
    else:
        multiplier, shift = references.quantised_multiplier(float(np.float32(scales[0])) / float(np.float32(scales[1])))
        spare = taps.bit_length() - 1  # TensorFlow Lite's MEAN divides the multiplier, as far to the left as it goes
        multiplier, shift = (multiplier << spare) // taps, shift - spare
        expected = references.requantise(sums - taps * 3, np.int64(multiplier), np.int64(shift)) + 3
    np.testing.assert_array_equal(outputs(model, x).ravel(), np.clip(expected, -128, 127))


def batch_across_stages() -> tuple[Compiled, np.ndarray, int]:
    """The sums of three images, made by one stage for another, at the end of fast memory: a plan, what it gives when it
    all runs at once, and where the sums lie."""
    rng = np.random.default_rng(8)
    weights = {"w": rng.standard_normal((8, 3, 3, 3)).astype(np.float32)}
    nodes = [node("Conv", "x w", "c", pads=[1] * 4), node("GlobalAveragePool", "c", "y")]
    model = make(nodes, {"x": (3, 3, 16, 16)}, ["y"], weights)
    (expected,) = outputs_of(Session(compile_model(model)))
    for fast in range(12000, 9000, -100):
        try:
            compiled = compile_model(model, fast=fast)
        except BudgetError:
            continue
        (sums,) = (name for name, tensor in compiled.plan.program.tensors.items() if tensor.folded)
        home = compiled.plan.homes.get(sums)
        if home is not None and home.offset + 4 * 24 <= Header.unpack(compiled.data).fast_bytes < home.offset + 4 * 40:
            return compiled, expected, home.offset
    raise AssertionError("no plan has the sums at its end")


def outputs_of(session: Session) -> list[np.ndarray]:
    with session:
        (source,) = session.inputs
        x = np.random.default_rng(9).standard_normal(source.stored_shape).astype(np.float32)
        return list(session.run_raw({source.name: x}).values())


def test_each_image_of_a_batch_has_sums_of_its_own() -> None:
    """The sums stay apart in less fast memory than planned, where they move."""
    compiled, expected, _ = batch_across_stages()
    (planned,) = outputs_of(Session(compiled))
    np.testing.assert_array_equal(planned, expected)
    fast = Header.unpack(compiled.data).fast_bytes
    for share in (0.9, 0.7, 0.5):
        (moved,) = outputs_of(Session(compiled.data, fast_bytes=int(share * fast), slow_bytes=1 << 20))
        np.testing.assert_array_equal(moved, expected)


def test_memory_for_the_sums_of_one_image_is_refused() -> None:
    """A hostile plan declares too little memory, so the second image's sums would lie behind the arena."""
    compiled, _, offset = batch_across_stages()
    header = Header.unpack(compiled.data)
    short = dataclasses.replace(header, fast_bytes=offset + 4 * 8)
    assert short.fast_bytes < header.fast_bytes
    with pytest.raises(PlanError, match="tensor's type, shape or placement"):
        Session(short.pack() + compiled.data[header.size() :])


# Fully connected layers that take a map row by row: the sums of the layer that takes it whole.

MAP = (1, 3, 8, 5)


def conv_and_layer(int8: bool, outputs: int, shape: tuple[int, ...] = MAP) -> tuple[onnx.ModelProto, np.ndarray]:
    """A convolution of four channels, and a layer of its whole map with a Relu."""
    random = np.random.default_rng(outputs)
    elements = 4 * shape[2] * shape[3]
    weights = {"w": random.standard_normal((4, shape[1], 3, 3)).astype(np.float32) / 4,
               "m": random.standard_normal((outputs, elements)).astype(np.float32) / 8,
               "b": random.standard_normal(outputs).astype(np.float32)}
    nodes = [node("Conv", "x w", "c", pads=[1] * 4, kernel_shape=[3, 3]), node("Flatten", "c", "f"),
             node("Gemm", "f m b", "g", transB=1), node("Relu", "g", "y")]
    model = make(nodes, {"x": shape}, ["y"], weights)
    return quantise(model, SCHEMES[0]) if int8 else model, random.standard_normal(shape).astype(np.float32)


def raw(program: Program, budget: Budget, x: np.ndarray, weights: WeightMode = WeightMode.IN_PLACE) -> np.ndarray:
    plan = plan_program(program, budget, 16, WeightOptions(False, weights))
    with Session(write_plan(plan, False)) as session:
        (io,) = session.inputs
        (output,) = session.run_raw({io.name: io.to_stored(x)}).values()
    return output


@pytest.mark.parametrize("int8", [False, True], ids=["float", "int8"])
@pytest.mark.parametrize("outputs", [1, 2, 4, 5, 8, 10, 31, 32, 33, 70])
def test_the_sums_are_those_of_the_whole_layer(int8: bool, outputs: int) -> None:
    model, x = conv_and_layer(int8, outputs)
    program = front(model, CompileOptions()).program
    folded = fold_products(program)
    assert folded is not None
    assert [op.kind for op in folded.ops if op.kind not in (OpKind.QUANTIZE, OpKind.DEQUANTIZE)] == [
        OpKind.CONV_2D, OpKind.SUM_PRODUCTS, OpKind.SCALE_SUMS]
    whole = raw(program, Budget(None), x)
    for budget in (Budget(None), Budget(1300), Budget(700, 1 << 16)):
        for weights in (WeightMode.IN_PLACE, WeightMode.LZ4):
            np.testing.assert_array_equal(raw(folded, budget, x, weights), whole)


@pytest.mark.parametrize("int8", [False, True], ids=["float", "int8"])
def test_only_what_does_not_fit_otherwise_is_folded(int8: bool) -> None:
    model, x = conv_and_layer(int8, 10, (1, 3, 32, 32))
    room = smallest(model)
    ample, least = compile_model(model), compile_model(model, fast=room)
    kinds = [{op.kind for op in compiled.plan.program.ops} for compiled in (ample, least)]
    assert OpKind.SUM_PRODUCTS not in kinds[0] and OpKind.SUM_PRODUCTS in kinds[1]
    map_bytes = 4 * 32 * 32 * (1 if int8 else 4)
    assert room < 3 * 32 * 32 * (1 if int8 else 4) + map_bytes // 2
    with Session(ample) as one, Session(least) as other:
        (expected,), (got,) = (list(session.run({"x": x}).values()) for session in (one, other))
    np.testing.assert_allclose(got, expected, rtol=1e-5, atol=0 if int8 else 1e-5)


KNOW_FOLDED_INPUTS = {OpKind.MEAN_OF_SUMS, OpKind.SCALE_SUMS}
KNOW_FOLDED_OUTPUTS = kinds_with(lambda traits: traits.access is Access.STATE)


@pytest.mark.parametrize("op", operators(), ids=lambda op: f"{op.kind.name}-{op.dtype.name}")
def test_other_operators_are_refused_folded_tensors(op: Operator) -> None:
    """They would take a band of one row's memory for rows that lie behind each other."""
    for place in range(len(op.inputs) + 1):
        known = KNOW_FOLDED_INPUTS if place < len(op.inputs) else KNOW_FOLDED_OUTPUTS

        def fold(plan: PlanBuilder, place: int = place) -> None:
            tensor = plan.tensors[place] = dataclasses.replace(plan.tensors[place], flags=TensorFlag.FOLDED)
            row = padded_tuple((tensor.batch, 1, tensor.width, tensor.channels))
            for ios in (plan._inputs, plan._outputs):  # it has one row's bytes
                ios[:] = [dataclasses.replace(io, shape=row, stored_shape=row) if io.tensor == place else io
                          for io in ios]

        data = plan_for(op, Way(op.output_shape[1]), fold)
        if op.kind not in known and {op.images, op.output_shape[0], *(array.shape[0] for array in op.inputs)} == {1}:
            assert bind_status(data) == Status.ERR_OP
