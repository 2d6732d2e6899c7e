"""Indices, bounds, scales and positions that are known only when the network runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
import pytest
from onnx.reference import ReferenceEvaluator

from tests.compiler.models import Quantiser, make, node, ort
from tigris_pio import Session, compile_model
from tigris_pio.errors import BudgetError, UnsupportedError
from tigris_pio.format.enums import DType, OpKind

T = onnx.TensorProto
RNG = np.random.default_rng(8)


def noise(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).normal(size=shape).astype(np.float32)


def check(model: onnx.ModelProto, inputs: Mapping[str, np.ndarray], tolerance: float = 1e-5,
          expected: Mapping[str, np.ndarray] | None = None) -> Any:
    """The reference's results, and the same bytes with little memory."""
    plan = compile_model(model)
    with Session(plan) as session:
        got = session.run(inputs)
    for name, array in (ort(model, inputs) if expected is None else expected).items():
        assert (got[name].shape, got[name].dtype) == (array.shape, array.dtype), name
        np.testing.assert_allclose(got[name].astype(float), array.astype(float), rtol=tolerance, atol=tolerance)
    for share in (0.7, 0.4):
        try:
            small = compile_model(model, fast=int(plan.plan.fast_bytes * share), slow="1M")
        except BudgetError:
            continue
        with Session(small) as session:
            assert all(array.tobytes() == got[name].tobytes() for name, array in session.run(inputs).items())
    return plan


@pytest.mark.parametrize("kind", [T.INT32, T.INT64])
@pytest.mark.parametrize(("shape", "axis", "count"), [
    ((9, 4), 0, (3,)), ((3, 7), 1, (2, 2)), ((2, 5, 3), 1, (4,)), ((2, 3, 4, 5), -1, (6,)), ((6,), 0, ()),
])
def test_gather(shape: tuple[int, ...], axis: int, count: tuple[int, ...], kind: int) -> None:
    model = make([node("Gather", "x i", "y", axis=axis)], {"x": shape, "i": count}, ["y"], types={"i": kind})
    size = shape[axis]
    indices = RNG.integers(-size, size, count).astype(onnx.helper.tensor_dtype_to_np_dtype(kind))
    check(model, {"x": noise(*shape), "i": np.asarray(indices)})


def test_an_embedding_is_read_in_place() -> None:
    """The table is a constant in flash: the memory is that of the rows taken."""
    table = noise(500, 16)
    model = make([node("Gather", "w i", "e"), node("ReduceMean", "e", "y", axes=[0])], {"i": (12,)}, ["y"],
                 {"w": table}, types={"i": T.INT64})
    plan = check(model, {"i": RNG.integers(0, 500, 12)})
    assert plan.report["memory"]["fast_peak"] < 4 * 12 * 16 * 2 + 1024 < table.nbytes


def test_indices_outside_are_the_nearest_inside() -> None:
    """Of an input that breaks ONNX's rules nothing outside the tensor is read."""
    model = make([node("Gather", "x i", "y")], {"x": (4, 2), "i": (6,)}, ["y"], types={"i": T.INT32})
    x, i = noise(4, 2), np.array([4, 100, -5, -100, 2**31 - 1, -(2**31)], np.int32)
    with Session(compile_model(model)) as session:
        np.testing.assert_array_equal(session.run({"x": x, "i": i})["y"], x[[3, 3, 0, 0, 3, 0]])


def test_an_int8_table_stays_int8() -> None:
    q = Quantiser()
    q.weights |= {"w": RNG.integers(-128, 128, (40, 8)).astype(np.int8), "s": np.array(0.02, np.float32),
                  "z": np.array(3, np.int8)}
    nodes = [node("DequantizeLinear", "w s z", "wd"), node("Gather", "wd i", "e"),
             node("QuantizeLinear", "e s z", "eq"), node("DequantizeLinear", "eq s z", "y")]
    plan = check(make(nodes, {"i": (5,)}, ["y"], q.weights, types={"i": T.INT64}), {"i": RNG.integers(0, 40, 5)})
    assert [op.dtype for op in plan.plan.program.ops if op.kind is OpKind.GATHER] == [DType.INT8]


@pytest.mark.parametrize(("shape", "taken", "axis"), [
    ((4, 5), (3, 5), 0), ((4, 5), (2, 3), 1), ((2, 3, 4), (2, 6, 2), 1),
])
def test_gather_elements(shape: tuple[int, ...], taken: tuple[int, ...], axis: int) -> None:
    model = make([node("GatherElements", "x i", "y", axis=axis)], {"x": shape, "i": taken}, ["y"], types={"i": T.INT64})
    check(model, {"x": noise(*shape), "i": RNG.integers(-shape[axis], shape[axis], taken)})


@pytest.mark.parametrize(("shape", "taken", "batch"), [
    ((4, 5), (3, 2), 0), ((4, 5, 2), (2, 3, 1), 0), ((3, 4, 5), (3, 2, 1), 1), ((3, 4, 5), (3, 6, 2), 1),
])
def test_gather_nd(shape: tuple[int, ...], taken: tuple[int, ...], batch: int) -> None:
    model = make([node("GatherND", "x i", "y", batch_dims=batch)], {"x": shape, "i": taken}, ["y"],
                 types={"i": T.INT64})
    limits = np.array(shape[batch : batch + taken[-1]])
    check(model, {"x": noise(*shape), "i": RNG.integers(-limits, limits, taken)})


@pytest.mark.parametrize("bounds", ["low high", "low -", "- high"])
def test_clip_between_computed_bounds(bounds: str) -> None:
    names = [name for name in bounds.split() if name != "-"]
    model = make([node("Clip", f"x {bounds}", "y")], {"x": (3, 4), **dict.fromkeys(names, ())}, ["y"])
    values = {"low": np.array(-0.3, np.float32), "high": np.array(0.4, np.float32)}
    check(model, {"x": noise(3, 4), **{name: values[name] for name in names}})


def test_clip_relative_to_the_loudest() -> None:
    """max - 80 dB, as melspectrograms have it."""
    nodes = [node("ReduceMax", "x", "m", keepdims=0), node("Sub", "m d", "low"), node("Clip", "x low", "y")]
    check(make(nodes, {"x": (5, 6)}, ["y"], {"d": np.array(0.8, np.float32)}), {"x": noise(5, 6)})


@pytest.mark.parametrize("largest", [0, 1])
@pytest.mark.parametrize(("shape", "axis", "count"), [((7,), 0, 7), ((3, 9), -1, 4), ((4, 5, 2), 1, 2), ((6, 3), 0, 1)])
def test_top_k(shape: tuple[int, ...], axis: int, count: int, largest: int) -> None:
    model = make([node("TopK", "x k", "v i", axis=axis, largest=largest)], {"x": shape}, ["v", "i"],
                 {"k": np.array([count])}, types={"i": T.INT64})
    check(model, {"x": noise(*shape)})
    check(model, {"x": RNG.integers(0, 3, shape).astype(np.float32)})  # equal ones: the first counts


def test_top_k_ends_with_what_is_no_number() -> None:
    model = make([node("TopK", "x k", "v i")], {"x": (1, 5)}, ["v", "i"], {"k": np.array([5])}, types={"i": T.INT64})
    x = np.array([[1, np.nan, np.inf, -np.inf, np.nan]], np.float32)
    with Session(compile_model(model)) as session:
        np.testing.assert_array_equal(session.run({"x": x})["i"], [[2, 0, 3, 1, 4]])


@pytest.mark.parametrize("kind", [T.INT64, T.FLOAT])
@pytest.mark.parametrize("axis", [-1, 0, 1])
def test_one_hot(axis: int, kind: int) -> None:
    model = make([node("OneHot", "i d v", "y", axis=axis)], {"i": (2, 3), "v": (2,)}, ["y"],
                 {"d": np.array(5, onnx.helper.tensor_dtype_to_np_dtype(kind))}, types={"i": kind})
    indices = np.array([[0, 4, -1], [-5, 7, 2]]).astype(onnx.helper.tensor_dtype_to_np_dtype(kind))
    check(model, {"i": indices, "v": np.array([-0.5, 2.0], np.float32)})


@pytest.mark.parametrize("reverse", [0, 1])
@pytest.mark.parametrize("exclusive", [0, 1])
def test_cumulative_product(exclusive: int, reverse: int) -> None:
    model = make([node("CumProd", "x a", "y", exclusive=exclusive, reverse=reverse)], {"x": (2, 5, 3)}, ["y"],
                 {"a": np.array(1)}, opset=26)
    x = noise(2, 5, 3)
    turned = x[:, ::-1] if reverse else x
    product = np.cumprod(turned.astype(np.float64), axis=1)
    if exclusive:
        product = np.concatenate([np.ones((2, 1, 3)), product[:, :-1]], axis=1)
    product = product[:, ::-1] if reverse else product
    check(model, {"x": x}, expected={"y": product.astype(np.float32)})


@pytest.mark.parametrize("dtype", [np.int8, np.uint8])
def test_integer_products(dtype: type) -> None:
    """Exactly, for sums within 2^24."""
    info, kind = np.iinfo(dtype), onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    x = RNG.integers(info.min, info.max + 1, (1, 2, 6, 5)).astype(dtype)
    weights = {"w": RNG.integers(info.min, info.max + 1, (4, 2, 3, 3)).astype(dtype), "p": np.array(7, dtype),
               "q": np.array(2, dtype)}
    model = make([node("ConvInteger", "x w p q", "y", pads=[1, 1, 1, 1])], {"x": x.shape}, ["y"], weights,
                 types={"x": kind, "y": T.INT32})
    expected = ReferenceEvaluator(model).run(None, {"x": x})[0]
    check(model, {"x": x}, 0, {"y": expected})
    matrix = RNG.integers(info.min, info.max + 1, (5, 3)).astype(dtype)
    columns = RNG.integers(0, 5, 3).astype(dtype)
    model = make([node("MatMulInteger", "x w p q", "y")], {"x": (4, 5)}, ["y"], {"w": matrix, "p": weights["p"],
                 "q": columns}, types={"x": kind, "y": T.INT32})
    rows = RNG.integers(info.min, info.max + 1, (4, 5)).astype(dtype)
    exact = (rows.astype(np.int64) - 7) @ (matrix.astype(np.int64) - columns.astype(np.int64))
    check(model, {"x": rows}, 0, {"y": exact.astype(np.int32)})


def test_dynamic_quantisation_end_to_end() -> None:
    """A layer as onnxruntime's quantize_dynamic writes it; of seven bits, for its own kernels may saturate."""
    weights = {"w": RNG.integers(-64, 64, (24, 6)).astype(np.int8), "wz": np.array(0, np.int8),
               "ws": np.array(0.01, np.float32), "b": noise(6)}
    nodes = [node("DynamicQuantizeLinear", "x", "xq xs xz"), node("MatMulInteger", "xq w xz wz", "p"),
             node("Cast", "p", "f", to=T.FLOAT), node("Mul", "xs ws", "s"), node("Mul", "f s", "g"),
             node("Add", "g b", "y")]
    model = make(nodes, {"x": (3, 24)}, ["y"], weights)
    check(model, {"x": noise(3, 24)})
    check(model, {"x": np.zeros((3, 24), np.float32)})
    check(model, {"x": np.abs(noise(3, 24)) + 1})


@pytest.mark.parametrize("zero_point", [-128, 0, 5])
def test_integers_that_are_dequantised_along_an_axis(zero_point: int) -> None:
    weights = {"s": np.array([0.5, 0.1, 2.0], np.float32), "z": np.full(3, zero_point, np.int8)}
    model = make([node("DequantizeLinear", "x s z", "y", axis=1)], {"x": (2, 3, 4)}, ["y"], weights,
                 types={"x": T.INT8})
    check(model, {"x": RNG.integers(-128, 128, (2, 3, 4)).astype(np.int8)})


@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_determinants(size: int) -> None:
    x = noise(2, 3, size, size)
    check(make([node("Det", "x", "y")], {"x": x.shape}, ["y"], opset=22), {"x": x},
          expected={"y": np.linalg.det(x.astype(np.float64)).astype(np.float32)})


def test_larger_determinants_are_refused() -> None:
    with pytest.raises(UnsupportedError, match=r"det_y \(Det\): matrices of 5 x 5; up to 4 x 4"):
        compile_model(make([node("Det", "x", "y")], {"x": (5, 5)}, ["y"], opset=22))


@pytest.mark.parametrize("opset", [17, 20])
@pytest.mark.parametrize(("length", "onesided", "inverse"), [(8, 0, 0), (7, 1, 0), (5, 0, 0), (12, 1, 0), (8, 0, 1)])
def test_fourier_transforms(length: int, onesided: int, inverse: int, opset: int) -> None:
    """Of signals that are longer and shorter than the transform."""
    x = noise(2, 8, 3, 2 if inverse else 1)
    values = x[..., 0] + (1j * x[..., 1] if inverse else 0)
    weights = {"n": np.array(length)} | ({"a": np.array(1)} if opset == 20 else {})
    attributes = {"onesided": onesided, "inverse": inverse} | ({"axis": 1} if opset == 17 else {})
    model = make([node("DFT", "x n a" if opset == 20 else "x n", "y", **attributes)], {"x": x.shape}, ["y"], weights,
                 opset=opset)
    result = np.fft.ifft(values, length, 1) if inverse else np.fft.fft(values, length, 1)
    result = result[:, : length // 2 + 1] if onesided else result
    check(model, {"x": x}, expected={"y": np.stack([result.real, result.imag], -1).astype(np.float32)})


@pytest.mark.parametrize("reduction", ["none", "add", "mul", "max", "min"])
@pytest.mark.parametrize(("shape", "taken"), [((6,), (3, 1)), ((4, 5), (2, 1)), ((4, 5, 2), (3, 2))])
def test_scatter_nd(shape: tuple[int, ...], taken: tuple[int, ...], reduction: str) -> None:
    """Distinct places; where updates meet, the last one counts, or all."""
    slices = (*taken[:-1], *shape[taken[-1] :])
    model = make([node("ScatterND", "x i u", "y", reduction=reduction)], {"x": shape, "i": taken, "u": slices}, ["y"],
                 opset=18, types={"i": T.INT64})
    counted = shape[: taken[-1]]
    places = np.stack(np.unravel_index(RNG.permutation(np.prod(counted))[: taken[0]], counted), -1)
    places[0] -= np.array(counted)  # from the end
    check(model, {"x": noise(*shape), "i": places, "u": noise(*slices)})


@pytest.mark.parametrize("reduction", ["none", "add"])
@pytest.mark.parametrize(("shape", "count", "axis"), [((5, 3), 2, 0), ((2, 6), 4, 1), ((2, 5, 3), 2, 1)])
def test_scatter_elements(shape: tuple[int, ...], count: int, axis: int, reduction: str) -> None:
    taken = (*shape[:axis], count, *shape[axis + 1 :])
    order = np.argsort(RNG.random(shape), axis=axis)  # distinct along the axis
    indices = np.take(order, np.arange(count), axis)
    model = make([node("ScatterElements", "x i u", "y", axis=axis, reduction=reduction)],
                 {"x": shape, "i": taken, "u": taken}, ["y"], opset=18, types={"i": T.INT64})
    check(model, {"x": noise(*shape), "i": indices, "u": noise(*taken)})


def test_updates_that_meet_and_updates_outside() -> None:
    """The last one counts; what would lie outside the tensor is left out."""
    model = make([node("ScatterND", "x i u", "y")], {"x": (4,), "i": (5, 1), "u": (5,)}, ["y"], opset=18,
                 types={"i": T.INT64})
    places = np.array([[1], [1], [4], [-5], [2**62]])
    with Session(compile_model(model)) as session:
        result = session.run({"x": np.zeros(4, np.float32), "i": places, "u": np.arange(1, 6, dtype=np.float32)})["y"]
    np.testing.assert_array_equal(result, [0, 2, 0, 0])
