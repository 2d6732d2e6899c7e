"""Runs one operator in every way that a stage can run it. All must give the same bytes, with the portable kernels and
with this processor's vector instructions."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tests.runtime import bands
from tests.runtime.plan_builder import PlanBuilder, StageBuilder
from tigris_pio.compiler.ir.program import RowMap
from tigris_pio.format.enums import DType, Home, OpKind, Packing, ViewFlag, WeightMode
from tigris_pio.format.record import Record
from tigris_pio.host import Session
from tigris_pio.host.io import NUMPY_TYPES

SAME = RowMap.same()

DTYPES = {numbers: dtype for dtype, numbers in NUMPY_TYPES.items()}
Shape = tuple[int, int, int, int]


@dataclasses.dataclass(frozen=True)
class Operator:
    """One operator with its inputs, [batch, height, width, channels] each, and its output's form.

    expected: the output, where the test of the operator is this table
    """

    kind: OpKind
    dtype: DType
    params: Record
    inputs: tuple[np.ndarray, ...]
    rows: tuple[RowMap, ...]
    output_shape: Shape
    output_dtype: DType
    blobs: Mapping[str, np.ndarray] = dataclasses.field(default_factory=dict)
    images: int = 1
    scratch_bytes: int = 0
    packing: Packing = Packing.PORTABLE
    expected: np.ndarray | None = None


def operator(kind: OpKind, params: Record, *inputs: np.ndarray, rows: RowMap | tuple[RowMap, ...] = SAME,
             out: Shape | None = None, dtype: DType | None = None, output_dtype: DType | None = None, images: int = 1,
             scratch_bytes: int = 0, expected: np.ndarray | None = None, **blobs: Any) -> Operator:  # fmt: skip
    """An operator, by default of the first input's type and shape. `rows`: a map for all inputs, or for each."""
    dtype = dtype or DTYPES[inputs[0].dtype]
    maps = (rows,) * len(inputs) if isinstance(rows, RowMap) else rows
    return Operator(kind, dtype, params, inputs, maps, out or inputs[0].shape, output_dtype or dtype, blobs, images,
                    scratch_bytes, expected=expected)  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Way:
    """How a stage runs an operator: rows per band, windows, kept rows, place of the weights."""

    band_rows: int
    windows: bool = False
    keep: bool = False
    weights: WeightMode = WeightMode.IN_PLACE


def _capacities(op: Operator, way: Way) -> list[int]:
    views = [bands.View(array.shape[1], True, True, way.keep) for array in op.inputs]
    views.append(bands.View(op.output_shape[1], True, store=True, pace=(way.band_rows, 1, 0)))
    walk = bands.Op(tuple(enumerate(op.rows)), len(op.inputs))
    bands.walk(views, [walk], -(-op.output_shape[1] // way.band_rows))
    return [max(1, view.highest) for view in views]


def _views(stage: StageBuilder, op: Operator, way: Way, tensors: Sequence[int]) -> list[int]:
    if not way.windows:
        views = [stage.view(tensor) for tensor in tensors[:-1]]
        return [*views, stage.view(tensors[-1], pace=(way.band_rows, 1, 0))]
    capacities = _capacities(op, way)
    flags = ViewFlag.LOAD | (ViewFlag.KEEP if way.keep else ViewFlag(0))
    views = [stage.view(*given, flags=flags) for given in zip(tensors[:-1], capacities, strict=False)]
    return [*views, stage.view(tensors[-1], capacities[-1], flags=ViewFlag.STORE, pace=(way.band_rows, 1, 0))]


def plan_for(op: Operator, way: Way, edit: Callable[[PlanBuilder], None] | None = None) -> bytes:
    """A plan of one stage with this operator; `edit` changes what is not built yet."""
    plan = PlanBuilder()
    home = Home.SLOW if way.windows else Home.FAST
    tensors = []
    for index, array in enumerate(op.inputs):
        tensors.append(plan.tensor(f"in{index}", array.shape, DTYPES[array.dtype], home))
        plan.input(tensors[-1])
    tensors.append(plan.tensor("out", op.output_shape, op.output_dtype, home))
    plan.output(tensors[-1])
    stage = plan.stage(-(-op.output_shape[1] // way.band_rows), way.weights)
    views = _views(stage, op, way, tensors)
    operands = list(zip(views[:-1], op.rows, strict=True))
    stage.op(op.kind, op.dtype, op.params, operands, views[-1], blobs=op.blobs, images=op.images,
             scratch=op.scratch_bytes, packing=op.packing)
    if edit is not None:
        edit(plan)
    return plan.build()


def run(op: Operator, way: Way) -> np.ndarray:
    """The operator's output, run this way."""
    return run_plan(op, plan_for(op, way))


def run_plan(op: Operator, plan: bytes) -> np.ndarray:
    """The output of a plan of this operator."""
    with Session(plan) as session:
        return session.run_raw({f"in{i}": array for i, array in enumerate(op.inputs)})["out"]


def ways(op: Operator) -> list[Way]:
    """All ways to run the operator. Bands and windows need one image at a time, and bands row maps that advance."""
    height = op.output_shape[1]
    result = [Way(height), Way(height, weights=WeightMode.COPY)]
    if op.blobs:
        result.append(Way(height, weights=WeightMode.LZ4))
    whole_batch = op.images == 1 and (op.output_shape[0] > 1 or any(array.shape[0] > 1 for array in op.inputs))
    for rows in {1, 2, max(1, height // 2)}:
        if not whole_batch:
            result += [Way(rows), Way(rows, windows=True), Way(rows, windows=True, keep=True)]
    return result


def run_all_ways(op: Operator) -> np.ndarray:
    """The output, after checking that every way gives exactly the same bytes."""
    first, *others = ways(op)
    expected = run(op, first)
    for way in others:
        actual = run(op, way)
        assert actual.tobytes() == expected.tobytes(), f"{way} differs from {first}"
    return expected
