"""Fully connected layers that take a map row by row: the sums of the layer that takes it whole."""

from __future__ import annotations

import dataclasses

import numpy as np
import onnx
import pytest

from tests.compiler.models import make, node
from tests.families.quantised import SCHEMES, quantise
from tests.runtime.kernel_harness import Operator, Way, plan_for
from tests.runtime.loader import bind_status
from tests.runtime.operators import operators
from tests.runtime.plan_builder import PlanBuilder, padded_tuple
from tigris_pio import Session, compile_model
from tigris_pio.compiler.emit.writer import write_plan
from tigris_pio.compiler.ir.plan import Budget
from tigris_pio.compiler.ir.program import Program
from tigris_pio.compiler.lower.fold_products import fold_products
from tigris_pio.compiler.options import CompileOptions
from tigris_pio.compiler.pipeline import front
from tigris_pio.compiler.plan.aim import WeightOptions
from tigris_pio.compiler.plan.search import plan_program
from tigris_pio.errors import BudgetError
from tigris_pio.format.enums import OpKind, TensorFlag, WeightMode

SHAPE = (1, 3, 8, 5)


def conv_and_layer(int8: bool, outputs: int, shape: tuple[int, ...] = SHAPE) -> tuple[onnx.ModelProto, np.ndarray]:
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
    ample = compile_model(model)
    with pytest.raises(BudgetError, match="smallest fast memory that works is") as refused:
        compile_model(model, fast=1040)
    smallest = int(str(refused.value).split("works is ")[1].split()[0])
    least = compile_model(model, fast=smallest)
    kinds = [{op.kind for op in compiled.plan.program.ops} for compiled in (ample, least)]
    assert OpKind.SUM_PRODUCTS not in kinds[0] and OpKind.SUM_PRODUCTS in kinds[1]
    map_bytes = 4 * 32 * 32 * (1 if int8 else 4)
    assert smallest < 3 * 32 * 32 * (1 if int8 else 4) + map_bytes // 2
    with Session(ample) as one, Session(least) as other:
        (expected,), (got,) = (list(session.run({"x": x}).values()) for session in (one, other))
    np.testing.assert_allclose(got, expected, rtol=1e-5, atol=0 if int8 else 1e-5)


TIGRIS_ERR_OP = -26
KNOW_FOLDED_INPUTS = {OpKind.MEAN_OF_SUMS, OpKind.SCALE_SUMS}
KNOW_FOLDED_OUTPUTS = {OpKind.SUM_MAP, OpKind.SUM_PRODUCTS, OpKind.RECURRENT}


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
            assert bind_status(data) == TIGRIS_ERR_OP
