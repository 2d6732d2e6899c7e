"""Integers of quantised tensors, wherever QuantizeLinear and DequantizeLinear stand: byte for byte what the model says.

Converters from TensorFlow Lite leave graph inputs and outputs in int8 or uint8 and put operators that only move data
before the first DequantizeLinear and behind the last QuantizeLinear.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import onnx
import pytest
from onnx import TensorProto
from onnx.reference import ReferenceEvaluator

from tests.compiler.models import make, node, normal, ort
from tests.harness.tiers import sampled
from tigris_pio import Session, compile_model
from tigris_pio.compiler.pipeline import Compiled
from tigris_pio.errors import UnsupportedError

RANDOM = np.random.default_rng(41)
SHAPE = (1, 4, 6, 4)
SCALE = np.float32(0.05)
TYPES = {"int8": TensorProto.INT8, "uint8": TensorProto.UINT8, "float": TensorProto.FLOAT}
#: Not the middle of the range, so that integers taken for real numbers show.
ZERO = {"int8": np.int8(-17), "uint8": np.uint8(40)}


@dataclasses.dataclass(frozen=True)
class Move:
    """An operator on a tensor of SHAPE: its further inputs, those of the tensor's own type written `=`."""

    op: str
    more: Sequence[np.ndarray | str] = ()
    attributes: Mapping[str, object] = dataclasses.field(default_factory=dict)
    outputs: int = 1

    def nodes(self, source: str, kind: str, weights: dict[str, np.ndarray]) -> tuple[list[onnx.NodeProto], str]:
        """Nodes from `source`, which holds integers of this kind; and the name of the last result."""
        names = []
        for index, item in enumerate(self.more):
            name = f"{source}_{self.op}_{index}"
            if isinstance(item, str):
                names.append(source if item == "same" else "-" if item == "-" else name)
                if item.startswith("="):
                    weights[name] = np.full(eval(item[1:]) if len(item) > 1 else (), 9, kind)
            else:
                weights[name] = item
                names.append(name)
        first = names.pop(0) + " " if self.op == "Where" else ""
        results = [f"{source}_{self.op}_out{index}" for index in range(self.outputs)]
        made = [node(self.op, f"{first}{source} {' '.join(names)}", " ".join(results), **self.attributes)]
        if self.outputs > 1:
            made.append(node("Concat", " ".join(results[::-1]), f"{source}_again", axis=1))
            results = [f"{source}_again"]
        return made, results[0]


def ints(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


MOVES = {
    "Reshape": Move("Reshape", [ints(1, 6, 16)]),
    "Flatten": Move("Flatten"),
    "Transpose": Move("Transpose", attributes={"perm": [0, 2, 3, 1]}),
    "Transpose_all": Move("Transpose", attributes={"perm": [2, 3, 1, 0]}),
    "Squeeze": Move("Squeeze", [ints(0)]),
    "Unsqueeze": Move("Unsqueeze", [ints(2)]),
    "Identity": Move("Identity"),
    "Slice": Move("Slice", [ints(1, 5), ints(4, 0), ints(1, 2), ints(1, -2)]),
    "Gather": Move("Gather", [ints(3, 0, 0, 5)], {"axis": 2}),
    "GatherElements": Move("GatherElements", [RANDOM.integers(0, 4, SHAPE)], {"axis": 1}),
    "GatherND": Move("GatherND", [np.array([[[0, 3], [0, 1]]])]),
    "Split": Move("Split", attributes={"axis": 1}, outputs=2),
    "Expand": Move("Expand", [ints(2, 4, 6, 4)]),
    "Tile": Move("Tile", [ints(1, 1, 2, 3)]),
    "DepthToSpace": Move("DepthToSpace", attributes={"blocksize": 2}),
    "SpaceToDepth": Move("SpaceToDepth", attributes={"blocksize": 2}),
    "Pad": Move("Pad", [ints(0, 0, 1, 2, 0, 0, 0, 1), "="]),
    "Pad_zero": Move("Pad", [ints(0, 0, 1, 2, 0, 1, 0, 1)]),
    **{f"Pad_{mode}": Move("Pad", [ints(0, 0, 1, 2, 0, 0, 0, 1)], {"mode": mode}) for mode in ("edge", "reflect")},
    "MaxPool": Move("MaxPool", attributes={"kernel_shape": [3, 2], "strides": [2, 1], "pads": [1, 0, 1, 1]}),
    "Concat": Move("Concat", ["same"], {"axis": 2}),
    "Concat_constant": Move("Concat", ["=(1, 4, 2, 4)"], {"axis": 2}),
    "ReduceMax": Move("ReduceMax", attributes={"axes": [1]}),
    "ReduceMin": Move("ReduceMin", attributes={"axes": [2, 3], "keepdims": 0}),
    "Max": Move("Max", ["=(4, 1, 1)"]),
    "Min": Move("Min", ["="]),
    "Where": Move("Where", [RANDOM.integers(0, 2, SHAPE).astype(bool), "="]),
    "Cast": Move("Cast"),
    "Clip": Move("Clip", ["=", "-"]),
    "Resize": Move("Resize", ["-", np.array([1, 1, 2, 1.5], np.float32)],
                   {"mode": "nearest", "coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}),
    "ReverseSequence": Move("ReverseSequence", [ints(3)], {"time_axis": 1, "batch_axis": 0}),
    "ScatterND": Move("ScatterND", [np.array([[0, 2], [0, 0]]), "=(2, 6, 4)"]),
    "ScatterElements": Move("ScatterElements", [np.array([[[[2, 0]]]]), "=(1, 1, 1, 2)"], {"axis": 1}),
    "CenterCropPad": Move("CenterCropPad", [ints(3, 8)], {"axes": [1, 2]}),
    "Trilu": Move("Trilu", attributes={"upper": 0}),
}
RANK_TWO = ("Flatten", "Squeeze", "Reshape", "ReduceMin")
FLATTEN = Move("Flatten", attributes={"axis": 2})


class Chains:
    """A model of independent chains, each with an input and an output of its own."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.weights: dict[str, np.ndarray] = {"s": SCALE} | {f"z_{kind}": zero for kind, zero in ZERO.items()}
        self.types: dict[str, int] = {}
        self.outputs: list[str] = []

    def add(self, name: str, given: str, result: str, before: Sequence[Move], middle: Sequence[Move],
            after: Sequence[Move]) -> None:
        """Input of type `given`, `before`, Neg, `middle`, Neg, `after`, output of type `result`; Neg in real numbers.

        The moves are made on integers, those before of `given` (int8 where it is float), all others of `result`.
        """
        self.types |= {f"x_{name}": TYPES[given]}
        kind = "int8" if given == "float" else given
        last = self._quantise(f"x_{name}", kind) if given == "float" else f"x_{name}"
        last = self._move(last, kind, before)
        kind, old = "int8" if result == "float" else result, kind
        last = self._move(self._negate(last, old, kind), kind, middle)
        last = self._move(self._negate(last, kind, kind), kind, after)
        if result == "float":
            self.nodes.append(node("DequantizeLinear", f"{last} s z_{kind}", f"{last}_d"))
            last = f"{last}_d"
        self.nodes.append(node("Identity", last, f"y_{name}"))
        self.types |= {f"y_{name}": TYPES[result]}
        self.outputs.append(f"y_{name}")

    def _quantise(self, name: str, kind: str) -> str:
        self.nodes.append(node("QuantizeLinear", f"{name} s z_{kind}", f"{name}_q"))
        return f"{name}_q"

    def _negate(self, name: str, kind: str, new: str) -> str:
        self.nodes.append(node("DequantizeLinear", f"{name} s z_{kind}", f"{name}_d"))
        self.nodes.append(node("Neg", f"{name}_d", f"{name}_n"))
        return self._quantise(f"{name}_n", new)

    def _move(self, name: str, kind: str, moves: Sequence[Move]) -> str:
        for move in moves:
            if move.op == "Cast":
                move = dataclasses.replace(move, attributes={"to": TYPES[kind]})  # noqa: PLW2901
            made, name = move.nodes(name, kind, self.weights)
            self.nodes += made
        return name

    def model(self, shape: Sequence[int] = SHAPE) -> onnx.ModelProto:
        inputs = {name: shape for name in self.types if name.startswith("x_")}
        return make(self.nodes, inputs, self.outputs, self.weights, opset=18 if "CenterCropPad" in self._ops() else 17,
                    types=self.types)

    def _ops(self) -> set[str]:
        return {item.op_type for item in self.nodes}


def random_inputs(model: onnx.ModelProto) -> dict[str, np.ndarray]:
    found = {}
    for value in model.graph.input:
        shape = [dim.dim_value for dim in value.type.tensor_type.shape.dim]
        kind = value.type.tensor_type.elem_type
        low, high = (0, 256) if kind == TensorProto.UINT8 else (-128, 128)
        array = RANDOM.integers(low, high, shape)
        found[value.name] = (array.astype(onnx.helper.tensor_dtype_to_np_dtype(kind)) if kind != TensorProto.FLOAT
                             else (array * SCALE).astype(np.float32))
    return found


def expected(model: onnx.ModelProto, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """onnxruntime's outputs; ONNX's own evaluator's where onnxruntime lacks an operator for a type."""
    try:
        return ort(model, inputs)
    except Exception as error:
        if "NOT_IMPLEMENTED" not in str(error) and "Type Error" not in str(error):
            raise
    names = [item.name for item in model.graph.output]
    newer = onnx.ModelProto.FromString(model.SerializeToString())
    newer.opset_import[0].version = 19  # it knows DequantizeLinear since then
    return dict(zip(names, ReferenceEvaluator(newer).run(None, dict(inputs)), strict=True))


def check(model: onnx.ModelProto, scarce: bool = True) -> Compiled:
    """Without a limit and, where `scarce`, with too little fast memory to hold everything."""
    inputs = random_inputs(model)
    wanted = expected(model, inputs)
    ample = compile_model(model)
    plans = [ample]
    if scarce:
        plans.append(compile_model(model, fast=ample.report["memory"]["fast_peak"] * 3 // 4, slow="1M"))
    for compiled in plans:
        with Session(compiled.data) as session:
            got = session.run(inputs)
        for name, value in wanted.items():
            assert got[name].dtype == value.dtype and got[name].shape == value.shape, name
            np.testing.assert_array_equal(got[name], value, err_msg=name)
    return ample


@pytest.mark.parametrize("name", sampled(MOVES, 9))
def test_every_type_at_every_position(name: str) -> None:
    move = MOVES[name]
    places: dict[str, tuple[list[Move], list[Move], list[Move]]] = {
        "before": ([move], [], []), "middle": ([], [move], []), "after": ([], [], [move]),
        "two": ([move, FLATTEN], [], []),
        "last": ([], [], [move, FLATTEN if name not in RANK_TWO else MOVES["Identity"]]),
    }
    types = {
        "before": itertools.product(("int8", "uint8"), TYPES), "after": itertools.product(TYPES, ("int8", "uint8")),
        "middle": (("int8", "int8"), ("uint8", "float"), ("float", "uint8")),
        "two": (("int8", "uint8"), ("uint8", "int8")), "last": (("int8", "uint8"), ("uint8", "int8")),
    }
    chains = Chains()
    for place, moves in places.items():
        for given, result in types[place]:
            chains.add(f"{place}_{given}_{result}", given, result, *moves)
    check(chains.model(), scarce=False)


@pytest.mark.parametrize("kind", ["int8", "uint8"])
@pytest.mark.parametrize("name", sampled(MOVES, 9))
def test_every_operator_with_little_memory(name: str, kind: str) -> None:
    """One chain at a time, through slow memory; and integers that nothing dequantises, which stay what they are."""
    chains = Chains()
    chains.add("one", kind, kind, [MOVES[name]], [], [FLATTEN] if name.startswith("Pad") else [])
    check(chains.model())
    weights: dict[str, np.ndarray] = {}
    move = MOVES[name]
    if name == "Cast":
        move = dataclasses.replace(move, attributes={"to": TYPES[kind]})
    nodes, last = move.nodes("x", kind, weights)
    nodes.append(node("Identity", last, "y"))
    opset = 18 if name == "CenterCropPad" else 17
    check(make(nodes, {"x": SHAPE}, ["y"], weights, opset, {"x": TYPES[kind], "y": TYPES[kind]}), scarce=False)


Made = Callable[[str], tuple[list[onnx.NodeProto], dict[str, str]]]


def two_readers(kind: str) -> tuple[list[onnx.NodeProto], dict[str, str]]:
    """One input under two scales."""
    return [node("Transpose", "x", "t", perm=[0, 2, 3, 1]), node("DequantizeLinear", f"t s z_{kind}", "a"),
            node("DequantizeLinear", f"t s2 z2_{kind}", "b"), node("Neg", "a", "na"), node("Neg", "b", "nb"),
            node("QuantizeLinear", f"na s z_{kind}", "y0"),
            node("QuantizeLinear", f"nb s2 z2_{kind}", "y1")], {"y0": kind, "y1": kind}


def two_readers_in_float(kind: str) -> tuple[list[onnx.NodeProto], dict[str, str]]:
    return [node("DequantizeLinear", f"x s z_{kind}", "y0"), node("DequantizeLinear", f"x s2 z2_{kind}", "d"),
            node("Abs", "d", "y1")], {"y0": "float", "y1": "float"}


def read_otherwise_than_written(kind: str) -> tuple[list[onnx.NodeProto], dict[str, str]]:
    """Quantised with one scale, moved, dequantised with another."""
    return [node("DequantizeLinear", f"x s z_{kind}", "d"), node("Neg", "d", "n"),
            node("QuantizeLinear", f"n s z_{kind}", "q"), node("MaxPool", "q", "p", kernel_shape=[2, 2]),
            node("DequantizeLinear", f"p s2 z2_{kind}", "e"), node("Neg", "e", "m"),
            node("QuantizeLinear", f"m s2 z2_{kind}", "y0")], {"y0": kind}


def two_writers(kind: str) -> tuple[list[onnx.NodeProto], dict[str, str]]:
    """Integers of two scales side by side, which no scale describes but that of the one who reads them."""
    return [node("DequantizeLinear", f"x s z_{kind}", "d"), node("Neg", "d", "n"), node("Abs", "d", "o"),
            node("QuantizeLinear", f"n s z_{kind}", "q"), node("QuantizeLinear", f"o s2 z2_{kind}", "r"),
            node("Concat", "q r x", "c", axis=1), node("DequantizeLinear", f"c s z_{kind}", "e"), node("Neg", "e", "m"),
            node("QuantizeLinear", f"m s z_{kind}", "y0"), node("Identity", "c", "y1")], {"y0": kind, "y1": kind}


def dequantised_by_hand(kind: str) -> tuple[list[onnx.NodeProto], dict[str, str]]:
    """The integers as numbers beside the real numbers they stand for."""
    return [node("Flatten", "x", "f"), node("Cast", "f", "i", to=TensorProto.FLOAT), node("Sub", "i seven", "y0"),
            node("DequantizeLinear", f"f s z_{kind}", "d"), node("Neg", "d", "y1")], {"y0": "float", "y1": "float"}


def quantised_by_hand(kind: str) -> tuple[list[onnx.NodeProto], dict[str, str]]:
    """Integers that come from an operator, not from QuantizeLinear."""
    return [node("Cast", "x", "i", to=TensorProto.FLOAT), node("Relu", "i", "r"),
            node("Cast", "r", "o", to=TensorProto.BOOL), node("Cast", "o", "n", to=TYPES[kind]),
            node("Transpose", "n", "t", perm=[0, 3, 1, 2]), node("DequantizeLinear", f"t s z_{kind}", "d"),
            node("Neg", "d", "m"), node("QuantizeLinear", f"m s z_{kind}", "y0")], {"y0": kind}


def rounded_and_read(kind: str) -> tuple[list[onnx.NodeProto], dict[str, str]]:
    """What QuantizeLinear writes is a number to one reader and an output."""
    return [node("DequantizeLinear", f"x s z_{kind}", "d"), node("Neg", "d", "n"),
            node("QuantizeLinear", f"n s z_{kind}", "y0"), node("Cast", "y0", "i", to=TensorProto.FLOAT),
            node("Neg", "i", "y1")], {"y0": kind, "y1": "float"}


def compared(kind: str) -> tuple[list[onnx.NodeProto], dict[str, str]]:
    return [node("Equal", f"x z_{kind}", "e"), node("Cast", "e", "y0", to=TensorProto.FLOAT),
            node("DequantizeLinear", f"x s z_{kind}", "y1")], {"y0": "float", "y1": "float"}


def input_is_output(kind: str) -> tuple[list[onnx.NodeProto], dict[str, str]]:
    return [node("Identity", "x", "y0"), node("Flatten", "x", "y1"),
            node("DequantizeLinear", f"y1 s z_{kind}", "y2")], {"y0": kind, "y1": kind, "y2": "float"}


def output_amid_the_path(kind: str) -> tuple[list[onnx.NodeProto], dict[str, str]]:
    return [node("Transpose", "x", "y0", perm=[0, 3, 2, 1]), node("Reshape", "y0 flat", "y1"),
            node("DequantizeLinear", f"y1 s z_{kind}", "d"), node("Neg", "d", "y2")], {
        "y0": kind, "y1": kind, "y2": "float"}


CASES: dict[str, Made] = {function.__name__: function for function in (
    two_readers, two_readers_in_float, read_otherwise_than_written, two_writers, dequantised_by_hand,
    quantised_by_hand, rounded_and_read, compared, input_is_output, output_amid_the_path)}


@pytest.mark.parametrize("kind", ["int8", "uint8"])
@pytest.mark.parametrize("case", sampled(CASES, 5))
def test_integers_meant_otherwise(case: str, kind: str) -> None:
    nodes, outputs = CASES[case](kind)
    weights = {"s": SCALE, "s2": np.float32(0.0371), "flat": ints(4, 24), "seven": np.float32(7),
               **{f"z_{name}": zero for name, zero in ZERO.items()}, "z2_int8": np.int8(33), "z2_uint8": np.uint8(200)}
    used = {name for item in nodes for name in item.input}
    types = {"x": TYPES[kind], **{name: TYPES[item] for name, item in outputs.items()}}
    check(make(nodes, {"x": SHAPE}, list(outputs), {name: weights[name] for name in used & set(weights)}, types=types))


@pytest.mark.parametrize("kind", ["int8", "uint8"])
def test_a_zero_point_left_out(kind: str) -> None:
    """Zero in the integers' own type."""
    nodes = [node("Flatten", "x", "f"), node("DequantizeLinear", "f s", "d"), node("Abs", "d", "a"),
             node("QuantizeLinear", "a s z", "q"), node("Identity", "q", "y0")]
    nodes += [node("QuantizeLinear", "a s", "y1")]
    weights = {"s": SCALE, "z": np.zeros((), kind)}
    types = {"x": TYPES[kind], "y0": TYPES[kind], "y1": TensorProto.UINT8}
    check(make(nodes, {"x": SHAPE}, ["y0", "y1"], weights, types=types))


@pytest.mark.parametrize("op", ["Add", "Mul", "Resize"])
def test_arithmetic_on_integers_is_refused_by_name(op: str) -> None:
    """Real numbers would be computed from them in silence."""
    more = {"Add": "f", "Mul": "f"}.get(op, "- scales")
    attributes = {"mode": "linear"} if op == "Resize" else {}
    nodes = [node("Transpose", "x", "f", perm=[0, 1, 3, 2]), node("DequantizeLinear", "f s z", "y0"),
             node(op, f"f {more}", "y1", "culprit", **attributes)]
    weights = {"s": SCALE, "z": np.int8(3)} | ({"scales": np.array([1, 1, 2, 2], np.float32)} if op == "Resize" else {})
    with pytest.raises(UnsupportedError, match=r"culprit .*: it computes with int8"):
        compile_model(make(nodes, {"x": SHAPE}, ["y0", "y1"], weights, types={"x": TYPES["int8"], "y1": TYPES["int8"]}))


def test_moves_stay_in_eight_bits() -> None:
    """A path from a graph input to its DequantizeLinear costs neither casts nor floats."""
    moves = [MOVES[name] for name in ("Pad", "Transpose", "Slice", "MaxPool", "Tile")]
    chains = Chains()
    chains.add("one", "uint8", "uint8", moves[:2], [], moves[1:2])
    program = compile_model(chains.model()).plan.program
    assert {tensor.dtype.name for tensor in program.tensors.values()} == {"INT8"}
    graph = normal(chains.model())
    assert all(tensor.quantisation is not None for name, tensor in graph.tensors.items() if name not in graph.weights)
