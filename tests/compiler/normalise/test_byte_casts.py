"""Casts next to QuantizeLinear and DequantizeLinear: bytes stay bytes, and wider integers saturate."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

from tests.compiler.lower.compare import check
from tests.compiler.models import make, node
from tigris_pio.format.enums import DType, OpKind

T = onnx.TensorProto


@pytest.mark.parametrize("moved", [False, True], ids=["cast", "cast, transpose"])
@pytest.mark.parametrize("kind", [T.UINT8, T.INT8])
def test_no_operator_computes_in_float(kind: int, moved: bool) -> None:
    nodes = [node("Cast", "image", "turned" if not moved else "real", to=T.FLOAT)]
    nodes += [node("Transpose", "real", "turned", perm=[0, 3, 1, 2])] if moved else []
    nodes += [node("QuantizeLinear", "turned s z", "q"), node("DequantizeLinear", "q s z", "r"),
              node("DequantizeLinear", "w t n", "wr"), node("Conv", "r wr", "c"),
              node("QuantizeLinear", "c u z", "cq"), node("DequantizeLinear", "cq u z", "y")]
    random = np.random.default_rng(0)
    weights = {"s": np.array(1.1, np.float32), "z": np.array(-5, np.int8), "t": np.array(0.02, np.float32),
               "n": np.array(0, np.int8), "u": np.array(2.3, np.float32),
               "w": random.integers(-127, 128, (4, 3, 3, 3)).astype(np.int8)}
    shape = (1, 6, 5, 3) if moved else (1, 3, 6, 5)
    model = make(nodes, {"image": shape}, ["y"], weights, types={"image": kind})
    low, high = (0, 256) if kind == T.UINT8 else (-128, 128)
    image = random.integers(low, high, shape).astype(np.uint8 if kind == T.UINT8 else np.int8)
    compiled = check(model, {"image": image}, atol=2.31)
    ops = compiled.plan.program.ops
    assert {op.dtype for op in ops} == {DType.INT8} and OpKind.CAST not in {op.kind for op in ops}


def test_a_cast_with_a_float_reader_stays() -> None:
    nodes = [node("Cast", "x", "real", to=T.FLOAT), node("QuantizeLinear", "real s z", "q"),
             node("DequantizeLinear", "q s z", "y"), node("Exp", "real", "e")]
    model = make(nodes, {"x": (1, 8)}, ["y", "e"], {"s": np.array(3, np.float32), "z": np.array(0, np.int8)},
                 types={"x": T.INT8})
    check(model, {"x": np.arange(-8, 8, 2, dtype=np.int8).reshape(1, 8)}, rtol=1e-6, atol=0)


@pytest.mark.parametrize(("kind", "stored", "scale", "zero"), [
    (T.INT64, np.int8, 0.5, -3), (T.INT32, np.uint8, 1.0, 128), (T.INT16, np.int8, 2.0, 5), (T.BOOL, np.uint8, 0.01, 7),
    (T.INT64, np.int16, 0.02, 0)])
def test_integers_that_are_cast_and_quantised_saturate(kind: int, stored: type, scale: float, zero: int) -> None:
    """Heads with an ArgMax, and transformers with a mask, are quantised so; the Cast back truncates."""
    nodes = [node("Cast", "x", "real", to=T.FLOAT), node("QuantizeLinear", "real s z", "q"),
             node("DequantizeLinear", "q s z", "y"), node("Cast", "y", "whole", to=T.INT64)]
    model = make(nodes, {"x": (1, 40)}, ["q", "y", "whole"],
                 {"s": np.array(scale, np.float32), "z": np.array(zero, stored)}, 21,
                 {"x": kind, "q": onnx.helper.np_dtype_to_tensor_dtype(np.dtype(stored)), "whole": T.INT64})
    values = np.arange(-200, 200, 10).astype(onnx.helper.tensor_dtype_to_np_dtype(kind)).reshape(1, 40)
    check(model, {"x": values}, rtol=0, atol=0)
