"""Elementwise functions of one tensor, and Cast.

Between int8 tensors each function is a LOOKUP in a table of 256 bytes, computed in double and rounded half away from
zero. In float32 it is UNARY or TRIGONOMETRIC. Integers and booleans are stored as float32, so only a Cast that changes
values needs a kernel.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tigris_pio.compiler.ir.graph import Node
from tigris_pio.compiler.lower import numerics
from tigris_pio.compiler.lower.builder import Builder
from tigris_pio.compiler.lower.element_types import STORED_TYPES
from tigris_pio.compiler.lower.operators.calls import emit_same, emit_table
from tigris_pio.compiler.lower.operators.compose import Composer
from tigris_pio.compiler.lower.operators.int16 import elementwise
from tigris_pio.compiler.lower.refusal import Refusal
from tigris_pio.compiler.lower.registry import full_name, operator
from tigris_pio.compiler.lower.storage import FLOAT, Numeric
from tigris_pio.format.enums import DType, OpKind, UnaryFunction
from tigris_pio.format.params import UnaryFloatParams

_Function = Callable[[Any], Any]


@dataclasses.dataclass(frozen=True)
class Unary:
    """A function in double, and its float32 kernel with the kernel's parameters."""

    function: _Function
    kernel: UnaryFunction
    alpha: float = 0.0
    beta: float = 0.0


def _sigmoid(x: Any) -> Any:
    return 0.5 * (1 + np.tanh(0.5 * x))


def _elu(x: Any, alpha: float) -> Any:
    return np.where(x < 0, alpha * np.expm1(np.minimum(x, 0)), x)


def _gelu(x: Any, approximate: str) -> Any:
    if approximate == "tanh":
        return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
    return 0.5 * x * (1 + _erf(x / math.sqrt(2)))


def _erf(x: Any) -> Any:
    return np.array([math.erf(value) for value in x])


def _softplus(x: Any) -> Any:
    return np.logaddexp(0, x)


def _scaled_elu(gamma: float, alpha: float) -> Unary:
    return Unary(lambda x: gamma * _elu(x, alpha), UnaryFunction.ELU, gamma * alpha, gamma)


def _celu(alpha: float) -> Unary:
    return Unary(lambda x: np.maximum(x, 0) + np.minimum(0, alpha * np.expm1(np.minimum(x, 0) / alpha)),
                 UnaryFunction.CELU, alpha)


def _gelu_of(approximate: str) -> Unary:
    kernel = UnaryFunction.GELU_TANH if approximate == "tanh" else UnaryFunction.GELU
    return Unary(lambda x: _gelu(x, approximate), kernel)


def _threshold(alpha: float) -> Unary:
    return Unary(lambda x: np.where(x > alpha, x, 0.0), UnaryFunction.THRESHOLD, alpha)


def _shrink(limit: float, bias: float) -> Unary:
    return Unary(lambda x: np.where(x < -limit, x + bias, np.where(x > limit, x - bias, 0.0)), UnaryFunction.SHRINK,
                 limit, bias)


def _is_inf(negative: float, positive: float) -> Unary:
    return Unary(lambda x: (np.isneginf(x) & bool(negative)) | (np.isposinf(x) & bool(positive)),
                 UnaryFunction.IS_INF, negative, positive)


def _clamp(low: float, high: float) -> Unary:
    low = min(low, high)  # ONNX: min(max(x, low), high)
    return Unary(lambda x: np.clip(x, low, high), UnaryFunction.CLAMP, low, high)


def _hard_sigmoid(alpha: float, beta: float) -> Unary:
    return Unary(lambda x: np.clip(alpha * x + beta, 0, 1), UnaryFunction.HARD_SIGMOID, alpha, beta)


def _leaky(alpha: float) -> Unary:
    return Unary(lambda x: np.where(x < 0, alpha * x, x), UnaryFunction.LEAKY_RELU, alpha)


def _clip_between(builder: Builder, node: Node) -> None:
    """A Clip whose bounds are inputs, as Max and Min."""
    low, high = (*node.inputs[1:], "", "")[:2]
    composer, name = Composer(builder, node), node.inputs[0]
    if low and high:
        name = composer.add("Max", [name, low], builder.shape(name))
    composer.finish("Min" if high else "Max", [name, high or low])


def _clip(node: Node) -> Unary:
    return _clamp(float(node.attributes.get("min", -math.inf)), float(node.attributes.get("max", math.inf)))


def _number(node: Node, name: str, default: float) -> float:
    return float(node.attributes.get(name, default))


_TABLE: dict[str, Callable[[Node], Unary]] = {
    "Relu": lambda node: _clamp(0.0, math.inf),
    "Relu6": lambda node: _clamp(0.0, 6.0),
    "Clip": _clip,
    "LeakyRelu": lambda node: _leaky(_number(node, "alpha", 0.01)),
    "Sigmoid": lambda node: Unary(_sigmoid, UnaryFunction.SIGMOID),
    "Tanh": lambda node: Unary(np.tanh, UnaryFunction.TANH),
    "HardSigmoid": lambda node: _hard_sigmoid(_number(node, "alpha", 0.2), _number(node, "beta", 0.5)),
    "HardSwish": lambda node: Unary(lambda x: x * np.clip(x / 6 + 0.5, 0, 1), UnaryFunction.HARD_SWISH),
    "Exp": lambda node: Unary(np.exp, UnaryFunction.EXP),
    "Sqrt": lambda node: Unary(np.sqrt, UnaryFunction.SQRT),
    "Abs": lambda node: Unary(np.abs, UnaryFunction.ABS),
    "Neg": lambda node: Unary(np.negative, UnaryFunction.NEGATE),
    "Log": lambda node: Unary(np.log, UnaryFunction.LOG),
    "Reciprocal": lambda node: Unary(np.reciprocal, UnaryFunction.RECIPROCAL),
    "Erf": lambda node: Unary(_erf, UnaryFunction.ERF),
    "Elu": lambda node: _scaled_elu(1.0, _number(node, "alpha", 1.0)),
    "Selu": lambda node: _scaled_elu(_number(node, "gamma", 1.0507009873554805),
                                     _number(node, "alpha", 1.6732632423543772)),
    "Celu": lambda node: _celu(_number(node, "alpha", 1.0)),
    "Gelu": lambda node: _gelu_of(str(node.attributes.get("approximate", "none"))),
    "Softplus": lambda node: Unary(_softplus, UnaryFunction.SOFTPLUS),
    "Softsign": lambda node: Unary(lambda x: x / (1 + np.abs(x)), UnaryFunction.SOFTSIGN),
    "Mish": lambda node: Unary(lambda x: x * np.tanh(_softplus(x)), UnaryFunction.MISH),
    "ThresholdedRelu": lambda node: _threshold(_number(node, "alpha", 1.0)),
    "Shrink": lambda node: _shrink(_number(node, "lambd", 0.5), _number(node, "bias", 0.0)),
    "Floor": lambda node: Unary(np.floor, UnaryFunction.FLOOR),
    "Ceil": lambda node: Unary(np.ceil, UnaryFunction.CEIL),
    "Round": lambda node: Unary(np.rint, UnaryFunction.ROUND),
    "Sign": lambda node: Unary(np.sign, UnaryFunction.SIGN),
    "Sin": lambda node: Unary(np.sin, UnaryFunction.SIN),
    "Cos": lambda node: Unary(np.cos, UnaryFunction.COS),
    "Tan": lambda node: Unary(np.tan, UnaryFunction.TAN),
    "Asin": lambda node: Unary(np.arcsin, UnaryFunction.ASIN),
    "Acos": lambda node: Unary(np.arccos, UnaryFunction.ACOS),
    "Atan": lambda node: Unary(np.arctan, UnaryFunction.ATAN),
    "Sinh": lambda node: Unary(np.sinh, UnaryFunction.SINH),
    "Cosh": lambda node: Unary(np.cosh, UnaryFunction.COSH),
    "Asinh": lambda node: Unary(np.arcsinh, UnaryFunction.ASINH),
    "Acosh": lambda node: Unary(np.arccosh, UnaryFunction.ACOSH),
    "Atanh": lambda node: Unary(np.arctanh, UnaryFunction.ATANH),
    "IsNaN": lambda node: Unary(np.isnan, UnaryFunction.IS_NAN),
    "IsInf": lambda node: _is_inf(_number(node, "detect_negative", 1), _number(node, "detect_positive", 1)),
    "Not": lambda node: Unary(lambda x: x == 0, UnaryFunction.NOT),
}


#: Functions with steps. The side of a step on which a stored value lies depends on its real value in float32.
_STEP_FUNCTIONS = frozenset(("Ceil", "Floor", "Round", "Shrink", "ThresholdedRelu"))


@operator("TigrisTable", summary="")
def lower_table(builder: Builder, node: Node) -> None:
    """LOOKUP in a table of 256 bytes that normalisation made of several int8 nodes."""
    emit_table(builder, node.inputs[0], node.outputs[0], builder.graph.weights[node.inputs[1]])


@operator(*_TABLE, summary="elementwise", like_input=True)
def lower_unary(builder: Builder, node: Node) -> None:
    """LOOKUP or UNARY in the element order of the input."""
    if node.op == "Clip" and len([name for name in node.inputs if name]) > 1:
        _clip_between(builder, node)
        return
    emit_unary(builder, node, _TABLE[full_name(node)](node))


def emit_unary(builder: Builder, node: Node, unary: Unary) -> None:
    """Emits a node's output as a function of its first input."""
    name, output = node.inputs[0], node.outputs[0]
    if _emit_int16(builder, node, unary):
        return
    if builder.is_int8(name, output):
        source, result = builder.numeric(name), builder.numeric(output)
        codes = (np.arange(-128, 128) - source.zero_point) * source.scale
        if node.op in _STEP_FUNCTIONS or builder.graph.tflite:
            codes = codes.astype(np.float32).astype(np.float64)
        with np.errstate(all="ignore"):  # a table may hold values its input never takes, such as log(-1)
            real = np.asarray(unary.function(codes))
            table = numerics.quantize(real, result.scale, result.zero_point)
            if builder.graph.tflite:
                table = _as_in_tflite(node.op, real.astype(np.float32), result)
        if unary.kernel is UnaryFunction.CLAMP and source == result:
            limits = numerics.activation_range(unary.alpha, unary.beta, result.scale, result.zero_point)
            table = np.clip(np.arange(-128, 128), *limits).astype(np.int8)
        emit_table(builder, name, output, table)
        return
    params = UnaryFloatParams(unary.kernel, unary.alpha, unary.beta)
    kind = OpKind.TRIGONOMETRIC if UnaryFunction.SIN <= unary.kernel <= UnaryFunction.ATANH else OpKind.UNARY
    emit_same(builder, kind, DType.FLOAT32, builder.value(name, FLOAT), output, FLOAT, params)


def _as_in_tflite(op: str, real: np.ndarray, result: Numeric) -> np.ndarray:
    """Quantises `real` as LiteRT does: quotients in float32, NaN as the lowest integer, roots rounded down."""
    steps = (real / np.float32(result.scale)).astype(np.float64)
    steps[np.isnan(steps)] = -np.inf
    return numerics.quantize(np.floor(steps) if op == "Sqrt" else steps, 1.0, result.zero_point)


def _emit_int16(builder: Builder, node: Node, unary: Unary) -> bool:
    """Emits an int16 function in TensorFlow Lite's arithmetic or by straight lines; False if neither is possible."""
    kernel, alpha = unary.kernel, unary.alpha
    if kernel is UnaryFunction.CLAMP:
        return elementwise.emit_two_slopes(builder, node, 1.0, 1.0, alpha, unary.beta)
    slopes = {UnaryFunction.LEAKY_RELU: (alpha, 1.0), UnaryFunction.ABS: (-1.0, 1.0),
              UnaryFunction.NEGATE: (-1.0, -1.0)}.get(kernel)
    if slopes is not None:
        return elementwise.emit_two_slopes(builder, node, *slopes)
    if kernel is UnaryFunction.HARD_SIGMOID:
        return elementwise.emit_hard_sigmoid(builder, node, alpha, unary.beta)
    if kernel is UnaryFunction.HARD_SWISH:
        return elementwise.emit_hard_swish(builder, node)
    logistic = kernel in (UnaryFunction.SIGMOID, UnaryFunction.TANH)
    if logistic and elementwise.emit_logistic(builder, node, kernel is UnaryFunction.TANH):
        return True
    return elementwise.emit_lines(builder, node, unary.function)


@operator("Cast", "CastLike", summary="between float32, bool and integers where no integer can overflow")
def lower_cast(builder: Builder, node: Node) -> None:
    """UNARY for a truncation or a comparison with 0; an alias for all other casts."""
    source, target = (builder.tensors[name].value_dtype for name in (node.inputs[0], node.outputs[0]))
    for dtype in (source, target):
        if dtype.name not in STORED_TYPES:
            raise Refusal(f"it casts {source} to {target}; float32, bool and integers are supported")
    if target == np.bool_ and source != np.bool_:
        emit_unary(builder, node, Unary(lambda x: x != 0, UnaryFunction.IS_TRUE))
    elif target.kind in "iu" and target.itemsize < 4 and not np.can_cast(source, target):
        raise Refusal(f"it casts {source} to {target}, which cannot hold all values")
    elif target.kind in "iu" and source.kind == "f":
        emit_unary(builder, node, Unary(np.trunc, UnaryFunction.TRUNCATE))
    else:
        Composer(builder, node).finish("Identity", node.inputs[:1])
