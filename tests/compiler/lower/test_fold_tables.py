"""x times a function of x, int8: one table, with the bytes of the two operators that it replaces."""

import numpy as np
import onnx
import pytest

from tests.compiler.lower.compare import check, noise
from tests.compiler.models import Quantiser, make, node, program
from tests.tflite.compare import check_exact
from tests.tflite.writer import Operator, Tensor, write
from tigris_pio import compile_model
from tigris_pio.format.enums import OpKind

EVERY = np.arange(-128, 128, dtype=np.int8).reshape(1, 4, 8, 8)


def kinds(model: onnx.ModelProto | bytes) -> list[OpKind]:
    return [op.kind for op in compile_model(model).plan.program.ops if op.kind not in (OpKind.QUANTIZE, OpKind.CAST)]


def silu(scale: float, zero: int, result: float, out: int, gate_first: bool, gate_is_read: bool = False) -> bytes:
    """LOGISTIC and MUL of one tensor."""
    shape = EVERY.shape
    tensors = [Tensor("x", shape, "int8", scale, zero), Tensor("gate", shape, "int8", 1 / 256, -128),
               Tensor("y", shape, "int8", result, out)]
    names = ["gate", "x"] if gate_first else ["x", "gate"]
    outputs = ["y", "gate"] if gate_is_read else ["y"]
    return write(tensors, [Operator("LOGISTIC", ["x"], ["gate"]), Operator("MUL", names, ["y"])], ["x"], outputs)


@pytest.mark.parametrize(("numbers", "gate_first"), [
    ((0.05, 3, 0.04, -110), False), ((0.1, -128, 0.1, -128), True), ((0.004, 127, 0.09, 5), False),
    ((0.3, 0, 0.002, 0), True)])
def test_every_byte_is_tensorflow_lite_micros(numbers: tuple[float, int, float, int], gate_first: bool) -> None:
    model = silu(*numbers, gate_first)
    assert kinds(model) == [OpKind.LOOKUP]
    check_exact(model, model, {"x": EVERY})


def test_a_gate_that_is_an_output_stays() -> None:
    model = silu(0.05, 3, 0.04, -110, False, gate_is_read=True)
    assert sorted(kinds(model)) == [OpKind.LOOKUP, OpKind.LOOKUP]
    check_exact(model, model, {"x": EVERY})


def test_a_gate_of_several_products_goes_with_the_last() -> None:
    shape = EVERY.shape
    tensors = [Tensor("x", shape, "int8", 0.05, 3), Tensor("gate", shape, "int8", 1 / 256, -128),
               Tensor("y", shape, "int8", 0.04, -110), Tensor("z", shape, "int8", 0.03, 5)]
    gated = [Operator("MUL", ["x", "gate"], ["y"]), Operator("MUL", ["gate", "x"], ["z"])]
    model = write(tensors, [Operator("LOGISTIC", ["x"], ["gate"]), *gated], ["x"], ["y", "z"])
    assert kinds(model) == [OpKind.LOOKUP, OpKind.LOOKUP]
    check_exact(model, model, {"x": EVERY})


def test_products_of_others_stay() -> None:
    """The gate of another tensor, and one that is repeated along an axis."""
    q = Quantiser()
    x, z = q.pair("x", 0.05, 3), q.pair("z", 0.05, 3)
    q.add(node("Sigmoid", z, "a"))
    q.add(node("Mul", f"{x} {q.pair('a', 1 / 256, -128)}", "b"))
    q.add(node("Identity", q.pair("b", 0.05, 0), "y"))
    for shape in ((1, 3, 4, 5), (1, 3, 1, 1)):
        model = make(q.nodes, {"x": (1, 3, 4, 5), "z": shape}, ["y"], q.weights)
        assert [op.kind for op in program(model).ops].count(OpKind.MUL) == 1
        data = {"x": noise(1, 3, 4, 5), "z": noise(*shape)}
        check(model, data, rtol=0, atol=0.0501)
