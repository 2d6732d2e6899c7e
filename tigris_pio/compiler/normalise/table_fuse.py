"""Table fuse: functions of one tensor that exporters write as several nodes become one node.

PyTorch, for example, exports GELU as Div, Erf, Add, Mul, Mul. Nodes that compute a function of one int8 tensor through
float32 become a TigrisTable, a table of 256 bytes. It is filled as ONNX defines each node, and rounded by the model
format's rule. Functions between DEQUANTIZE and QUANTIZE of a .tflite file become tables too. Nodes whose results are
all int8 stay, because each has TensorFlow Lite's arithmetic. In float32, GELU, its approximation by tanh, and HardSwish
are recognised by their values.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Collection, Iterable, Mapping, Sequence

import numpy as np

from tigris_pio.compiler.evaluate import evaluate, is_deterministic
from tigris_pio.compiler.ir.graph import Node, Quantisation
from tigris_pio.compiler.normalise.editor import GraphEditor, dequantised
from tigris_pio.errors import ModelError
from tigris_pio.format.enums import Rounding
from tigris_pio.format.rounding import rounded

#: A node whose inputs are an int8 tensor and the 256 output bytes for -128 … 127.
TABLE = "TigrisTable"
_ELEMENTWISE = frozenset((
    "Abs", "Acos", "Acosh", "Add", "And", "Asin", "Asinh", "Atan", "Atanh", "Cast", "Ceil", "Celu", "Clip", "Cos",
    "Cosh", "Div", "Elu", "Equal", "Erf", "Exp", "Floor", "Gelu", "Greater", "GreaterOrEqual", "HardSigmoid",
    "HardSwish", "Identity", "IsInf", "IsNaN", "LeakyRelu", "Less", "LessOrEqual", "Log", "Max", "Mean", "Min", "Mish",
    "Mod", "Mul", "Neg", "Not", "Or", "PRelu", "Pow", "Reciprocal", "Relu", "Relu6", "Round", "Selu", "Shrink",
    "Sigmoid", "Sign", "Sin", "Sinh", "Softplus", "Softsign", "Sqrt", "Sub", "Sum", "Swish", "Tan", "Tanh",
    "ThresholdedRelu", "Where", "Xor",
))  # fmt: skip
#: Nodes that only change how numbers are stored.
_CONVERSIONS = frozenset(("DEQUANTIZE", "QUANTIZE", "QuantizeLinear"))
#: A function in float32 has so many nodes, and exactly one of them is of _DISTINCTIVE.
_LEAST_NODES, _MOST_NODES, _DISTINCTIVE = 4, 10, frozenset(("Erf", "Tanh", "Clip", "HardSigmoid", "Relu"))
#: Bounds the nodes of a table, each of which is evaluated once.
_MOST_NODES_INT8 = 64
#: Exceeds any integer of 16 bits.
_MOST_STEPS = 1 << 20
#: Attributes of fused activations, and of Clip once its bounds are attributes.
_BOUNDS = frozenset(("activation_min", "activation_max", "min", "max"))
#: Arguments at which functions are compared, and the relative tolerance of their values.
_POINTS = np.linspace(-9, 9, 433, dtype=np.float32)
_TOLERANCE = 2e-6
#: Elementwise nodes by output, each with the activations that it reads.
_Producers = Mapping[str, tuple[Node, list[str]]]


def fuse_tables(editor: GraphEditor) -> int:
    """Fuses functions of several nodes; returns their number. `editor.finish` removes the nodes without readers."""
    return _fuse_int8(editor) + sum(_fuse_float(editor, node) for node in editor.nodes() if node.op in ("Mul", "Div"))


def _activations_of(editor: GraphEditor, node: Node) -> list[str] | None:
    """The activations that an elementwise node reads, all with its output's shape; None for any other node."""
    known = node.op in _ELEMENTWISE and not node.domain and (node.op == "Relu6" or is_deterministic(node))
    if not (known or _converts(editor, node)) or len(node.outputs) != 1:
        return None
    shape, found = editor.shape(node.outputs[0]), []
    for name in filter(None, node.inputs):
        constant = editor.value(name)
        if constant is None:
            found.append(name)
        if (editor.shape(name) != shape) if constant is None else not _is_one_number(constant):
            return None
    return found or None


def _converts(editor: GraphEditor, node: Node) -> bool:
    """Whether a node only converts from or to float32; a conversion between integers has its own arithmetic."""
    if node.op not in _CONVERSIONS or not node.inputs:  # a node that the front end refused reads nothing
        return False
    return (editor.quantisation(node.inputs[0]) is None) != (editor.quantisation(node.outputs[0]) is None)


def _is_one_number(constant: np.ndarray) -> bool:
    return constant.size > 0 and bool((constant == constant.reshape(-1)[0]).all())


def _is_int8(quantisation: Quantisation | None) -> bool:
    return quantisation is not None and quantisation.axis is None and quantisation.dtype == np.int8


# ---- int8 ----


def _fuse_int8(editor: GraphEditor) -> int:
    """Makes tables of functions that nodes compute from one int8 tensor through float32; returns their number."""
    producers = {node.outputs[0]: (node, names) for node in editor.nodes() if (names := _activations_of(editor, node))}
    roots = _roots(editor, producers, frozenset())
    stored = frozenset(name for name in producers if roots[name] is not None and _is_stored(editor, name, roots))
    roots = _roots(editor, producers, stored)
    fused = 0
    for name in sorted(stored):
        source = _common(roots[item] for item in producers[name][1])
        cone = [] if source is None else _cone(producers, name, source, _MOST_NODES_INT8)
        has_float = any(editor.quantisation(item.outputs[0]) is None for item in cone)
        fused += has_float and source is not None and _replace(editor, cone, source)
    return fused


def fuse_single_nodes(editor: GraphEditor) -> int:
    """Makes tables of single nodes that compute a function of one int8 tensor; returns their number.

    It runs last, because passes recognise these nodes by their operators. .tflite files keep them.
    """
    fused = 0
    for node in [] if editor.graph.tflite else editor.nodes():
        names = set() if node.op == "Identity" else {*(_activations_of(editor, node) or ())}
        if len(names) == 1 and all(_is_int8(editor.quantisation(name)) for name in (*names, node.outputs[0])):
            fused += _replace(editor, [node], *names)
    return fused


def _replace(editor: GraphEditor, cone: Sequence[Node], source: str) -> bool:
    """Replaces the last node of a cone by a table; returns False if a node cannot be computed."""
    table, node = _table(editor, cone, source), cone[-1]
    if table is None:
        return False
    inputs = source, editor.add_constant(f"{node.name}/table", table)
    editor.replace(node, Node(node.name, TABLE, inputs, node.outputs, {}))
    return True


def _roots(editor: GraphEditor, producers: _Producers, stored: Collection[str]) -> dict[str, str | None]:
    """The one int8 tensor that each tensor is a function of, or None. A tensor of `stored` is its own root."""
    roots: dict[str, str | None] = {}
    for name, (_, names) in producers.items():
        for item in names:
            roots.setdefault(item, item if _is_int8(editor.quantisation(item)) else None)
        common = None if name in stored else _common(roots[item] for item in names)
        roots[name] = name if common is None and _is_int8(editor.quantisation(name)) else common
    return roots


def _common(roots: Iterable[str | None]) -> str | None:
    found = set(roots)
    return found.pop() if len(found) == 1 else None


def _is_stored(editor: GraphEditor, name: str, roots: Mapping[str, str | None]) -> bool:
    """Whether an int8 tensor stays in the graph: it is an output, or a reader is no function of the same root.

    In .tflite files all stay, because each has the bytes of TensorFlow Lite's own arithmetic.
    """
    if not _is_int8(editor.quantisation(name)):
        return False
    return editor.graph.tflite or editor.is_output(name) or any(
        roots.get(result) != roots[name] for reader in editor.consumers(name) for result in reader.outputs
    )


def _table(editor: GraphEditor, cone: Sequence[Node], source: str) -> np.ndarray | None:
    """The last node's outputs for the inputs -128 … 127 of a cone, int8; None if a node cannot be computed."""
    quantisation = editor.quantisation(source)
    assert quantisation is not None
    codes = np.arange(-128, 128).astype(np.int8)
    values = {source: dequantised(codes, quantisation)}
    for node in cone:
        computed = _computed(editor, node, values)
        if computed is None:
            return None
        quantisation = editor.quantisation(node.outputs[0])
        if quantisation is not None:
            codes = _stored(computed / quantisation.scale, quantisation, editor.graph.rounding)
            computed = dequantised(codes, quantisation)
        values[node.outputs[0]] = computed
    return codes


def _stored(steps: np.ndarray, quantisation: Quantisation, rule: Rounding) -> np.ndarray:
    """Quantises numbers in units of the scale, as the reference of the model's format does.

    onnxruntime makes the lowest integer of NaN. TensorFlow Lite and its Micro make -2^31 of every number outside int32,
    and then add the zero point, which may overflow.
    """
    limits, zero_point = np.iinfo(quantisation.dtype), quantisation.zero_point
    held = np.abs(steps) < 1 << 31 if rule is Rounding.HALF_AWAY else ~np.isnan(steps)
    whole = rounded(np.clip(steps, -_MOST_STEPS, _MOST_STEPS), rule) + zero_point
    lost = limits.max if rule is Rounding.HALF_AWAY and zero_point < 0 else limits.min
    stored: np.ndarray = np.where(held, np.clip(whole, limits.min, limits.max), lost).astype(quantisation.dtype)
    return stored


# ---- float32 ----


def _fuse_float(editor: GraphEditor, last: Node) -> bool:
    """Replaces the last node of a known function by the function's operator; returns whether it did."""
    producers: dict[str, tuple[Node, list[str]]] = {}
    waiting = [last.outputs[0]]
    while waiting and len(producers) <= _MOST_NODES:
        name = waiting.pop(0)
        node = editor.producer(name)
        names = None if node is None or editor.quantisation(name) is not None else _activations_of(editor, node)
        if node is not None and names is not None and name not in producers:
            producers[name] = node, names
            waiting += names
    if not any(node.op in _DISTINCTIVE for node, _ in producers.values()):
        return False
    for source in dict.fromkeys(item for _, names in producers.values() for item in names):
        cone = _cone(producers, last.outputs[0], source, _MOST_NODES)
        distinctive = [node for node in cone if node.op in _DISTINCTIVE]
        if len(distinctive) != 1 or len(cone) < _LEAST_NODES or editor.quantisation(source) is not None:
            continue
        values = {source: _POINTS}
        for node in cone:
            computed = _computed(editor, node, values)
            if computed is None:
                break
            values[node.outputs[0]] = computed
        result = values.get(last.outputs[0])
        operator = None if result is None else _operator_of(result)
        if operator is not None:
            editor.replace(last, Node(last.name, operator[0], (source,), last.outputs, operator[1]))
            return True
    return False


def _operator_of(result: np.ndarray) -> tuple[str, dict[str, str]] | None:
    """The operator with these values at _POINTS, and its attributes; None if no known one has them."""
    x = _POINTS.astype(np.float64)
    gelu = 0.5 * x * (1 + np.array([math.erf(item / math.sqrt(2)) for item in x]))
    by_tanh = 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
    functions: tuple[tuple[str, dict[str, str], np.ndarray], ...] = (
        ("Gelu", {}, gelu), ("Gelu", {"approximate": "tanh"}, by_tanh),
        ("HardSwish", {}, x * np.clip(x / 6 + 0.5, 0, 1)),
    )  # fmt: skip
    return next(((op, attributes) for op, attributes, values in functions
                 if np.all(np.abs(result - values) <= _TOLERANCE * np.maximum(1, np.abs(x)))), None)


# ---- both ----


def _cone(producers: _Producers, result: str, source: str, most: int) -> list[Node]:
    """The nodes that compute `result` from `source` and constants alone, in order; empty if other tensors take part, or
    if there are more than `most` nodes."""
    order: dict[str, Node] = {}
    path = [result]
    while path:
        name = path[-1]
        if name not in producers:
            return []
        node, names = producers[name]
        missing = [item for item in names if item != source and item not in order]
        if missing:
            if len(path) > most:
                return []
            path.append(missing[0])
        else:
            order[name] = node
            path.pop()
    return list(order.values()) if len(order) <= most else []


def _computed(editor: GraphEditor, node: Node, values: Mapping[str, np.ndarray]) -> np.ndarray | None:
    """A node's output for vectors of input values; None if it cannot be computed."""
    feeds = {}
    for name in filter(None, node.inputs):
        constant = editor.value(name)
        feeds[name] = values[name] if constant is None else constant.reshape(-1)[0].reshape(())
    given = {"min": 0.0, "max": 6.0} if node.op == "Relu6" else node.attributes
    low, high = (given.get(f"activation_{end}", given.get(end, np.nan)) for end in ("min", "max"))
    plain = dataclasses.replace(node, attributes={key: value for key, value in given.items() if key not in _BOUNDS})
    if node.op in _CONVERSIONS:
        return feeds[node.inputs[0]]
    if node.op == "Relu6":
        plain = dataclasses.replace(plain, op="Identity")
    try:
        with np.errstate(all="ignore"):
            (result,) = evaluate(plain, feeds, editor.opsets(), editor.graph.name)
    except ModelError:
        return None
    return result if _BOUNDS.isdisjoint(given) else np.fmin(np.fmax(result, np.float32(low)), np.float32(high))
