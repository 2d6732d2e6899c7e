"""Layer normalisation that exporters split becomes one operator, in int8 if its input and output are int8."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

from tests.compiler.lower.compare import check, kinds
from tests.compiler.models import Quantiser, make, node, normal
from tigris_pio.format.enums import OpKind

RANDOM = np.random.default_rng(8)
SHAPE = (1, 6, 16)


def taken_apart(square: str = "Pow", ends: str = "factor offset", int8: bool = True, between: bool = False,
                axes: tuple[int, ...] = (-1,), twice: bool = False) -> onnx.ModelProto:
    q = Quantiser()
    q.weights |= {"two": np.array(2.0, np.float32), "epsilon": np.array([1e-5], np.float32),
                  "factor": RANDOM.uniform(-1, 2, SHAPE[-1]).astype(np.float32),
                  "offset": RANDOM.uniform(-1, 1, SHAPE[-1]).astype(np.float32)}
    source = q.pair("x", 0.05, 3) if int8 else "x"
    q.add(node("ReduceMean", source, "m", axes=list(axes)), node("Sub", f"{source} m", "d"))
    again = "d"
    if twice:
        q.add(node("Sub", f"{source} m", "d2"))
        again = "d2"
    q.add(node("Pow", f"{again} two", "p") if square == "Pow" else node("Mul", f"{again} {again}", "p"))
    power = q.pair("p", 0.1, -128) if between else "p"
    q.add(node("ReduceMean", power, "v", axes=list(axes)), node("Add", "epsilon v", "a"), node("Sqrt", "a", "s"))
    q.add(node("Div", "d s", "z"))
    last = "z"
    for name, op in (("factor", "Mul"), ("offset", "Add")):
        if name in ends:
            q.add(node(op, f"{name} {last}", f"with_{name}"))
            last = f"with_{name}"
    q.add(node("Identity", q.pair(last, 0.03, -9) if int8 else last, "y"))
    used = {name for item in q.nodes for name in item.input}
    return make(q.nodes, {"x": SHAPE}, ["y"], {name: v for name, v in q.weights.items() if name in used}, opset=13)


@pytest.mark.parametrize("int8", [False, True])
@pytest.mark.parametrize("arguments", [
    {}, {"square": "Mul"}, {"ends": "factor"}, {"ends": ""}, {"twice": True}, {"axes": (1, 2), "ends": ""},
], ids=str)
def test_layer_normalisation_is_fused(arguments: dict[str, object], int8: bool) -> None:
    model = taken_apart(int8=int8, **arguments)  # type: ignore[arg-type]
    assert [item.op for item in normal(model).nodes if item.op != "Identity"] == ["LayerNormalization"]
    x = (RANDOM.standard_normal(SHAPE) * 2).astype(np.float32)
    compiled = check(model, {"x": x}, rtol=0, atol=0.03001 if int8 else 1e-5)
    assert not int8 or set(kinds(compiled)) - {OpKind.TRANSPOSE} == {OpKind.NORMALISE}


@pytest.mark.parametrize("arguments", [{"between": True}, {"axes": (1,), "ends": ""}], ids=str)
def test_other_patterns_stay(arguments: dict[str, object]) -> None:
    """Quantised squares; axes that are not the last."""
    ops = [item.op for item in normal(taken_apart(**arguments)).nodes]  # type: ignore[arg-type]
    assert "LayerNormalization" not in ops and "Div" in ops
