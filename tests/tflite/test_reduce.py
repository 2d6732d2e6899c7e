"""Reductions of int8, exactly TensorFlow Lite Micro's, over any axes."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from onnx import TensorProto

from tests.compiler.models import node
from tests.tflite.compare import check_exact
from tests.tflite.twin import Twin, Value
from tigris_pio.format.enums import DType

OPS = {"ReduceMean": "MEAN", "ReduceSum": "SUM", "ReduceMax": "REDUCE_MAX", "ReduceMin": "REDUCE_MIN"}
SHAPES = ((7,), (5, 9), (3, 4, 5), (1, 7, 5, 3), (2, 4, 3, 6))
QUANTISATIONS = ((0.05, 3, 0.05, 3), (0.05, -128, 0.021, 127), (0.0117, 127, 0.0831, -128))


def axes_of(rank: int) -> list[tuple[int, ...]]:
    if rank == 4:
        return [(0,), (1,), (3,), (0, 2), (1, 2), (2, 3), (1, 3), (0, 1, 2, 3)]
    return [axes for count in range(1, rank + 1) for axes in itertools.combinations(range(rank), count)]


def reduction(op: str, shape: tuple[int, ...], axes: tuple[int, ...], keep: bool,
              quantisation: tuple[float, int, float, int]) -> Twin:
    scale, zero, out_scale, out_zero = quantisation
    if op in ("ReduceMax", "ReduceMin"):
        out_scale, out_zero = scale, zero  # as TensorFlow Lite Micro demands
    count = int(np.prod([shape[axis] for axis in axes]))
    result = tuple(1 if axis in axes else size for axis, size in enumerate(shape) if keep or axis not in axes)
    output = Value(result, out_scale * (count / 3 if op == "ReduceSum" else 1), out_zero)
    onnx = {"keepdims": int(keep)}
    indices = {"axes": np.array(axes, np.int64)}
    if op == "ReduceSum":
        return Twin(op, OPS[op], [Value(shape, scale, zero)], output, onnx, {"keepDims": keep}, indices,
                    {"axes": np.array(axes, np.int32)})
    return Twin(op, OPS[op], [Value(shape, scale, zero)], output, {**onnx, "axes": axes}, {"keepDims": keep}, {},
                {"axes": np.array(axes, np.int32)})


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("op", OPS)
def test_any_axes(op: str, shape: tuple[int, ...]) -> None:
    """Every set of axes; quantisation and keep_dims take turns."""
    for index, axes in enumerate(axes_of(len(shape))):
        keep = index % 2 == 0 or len(axes) == len(shape)
        case = reduction(op, shape, axes, keep, QUANTISATIONS[index % len(QUANTISATIONS)])
        compiled = check_exact(case.reference(), case.onnx(), case.arrays(index))
        assert all(item.dtype == DType.INT8 for item in compiled.plan.program.ops), axes


@pytest.mark.parametrize("op", ["ArgMax", "ArgMin"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_positions(op: str, shape: tuple[int, ...]) -> None:
    for axis in range(len(shape)):
        result = shape[:axis] + shape[axis + 1 :]
        tflite = "ARG_MAX" if op == "ArgMax" else "ARG_MIN"
        case = Twin(op, tflite, [Value(shape, 0.1, 5)], Value(result, 1.0), {"axis": axis, "keepdims": 0},
                    {"outputType": 2}, {}, {"axis": np.array(axis, np.int32)}, "int32")
        model = case.onnx()
        model.graph.node[-1].output[0] = "p"
        model.graph.node.append(node("Cast", "p", "y", to=TensorProto.INT32))
        check_exact(case.reference(), model, {"x0": case.arrays()["x0"] // 40 * 40})


@pytest.mark.parametrize("quantisation", QUANTISATIONS)
@pytest.mark.parametrize("rows", [1, 13])
@pytest.mark.parametrize("batch", [1, 2])
def test_mean_of_a_map(batch: int, rows: int, quantisation: tuple[float, int, float, int]) -> None:
    """Over rows and columns: the mean that becomes global pooling, one image by rolling sums; NCHW in ONNX."""
    shape = (batch, rows, 11, 6)
    case = reduction("ReduceMean", shape, (1, 2), True, quantisation)
    model = case.onnx()
    x = case.arrays()["x0"]
    model.graph.node[-2].CopyFrom(node("ReduceMean", "t", "m", axes=[2, 3]))
    model.graph.node.insert(1, node("Transpose", "d0", "t", perm=[0, 3, 1, 2]))
    model.graph.node.insert(3, node("Transpose", "m", "r", perm=[0, 2, 3, 1]))
    check_exact(case.reference(), model, {"x0": x})
