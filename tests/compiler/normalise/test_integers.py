"""Integers of quantised tensors, wherever QuantizeLinear and DequantizeLinear stand: bit-exact with the model.

Converters from TensorFlow Lite leave graph inputs and outputs in int8 or uint8 and put operators that only move data
before the first DequantizeLinear and behind the last QuantizeLinear.
"""

import dataclasses
import itertools
from collections.abc import Mapping, Sequence

import numpy as np
import onnx
import pytest
from onnx import TensorProto
from onnx.reference import ReferenceEvaluator

from tests.compiler.lower.compare import check
from tests.compiler.models import make, node, nodes, normal, ort
from tests.harness.tiers import sampled
from tigris_pio import Session, compile_model
from tigris_pio.compiler.pipeline import Compiled
from tigris_pio.errors import UnsupportedError
from tigris_pio.format.enums import DType, OpKind

RANDOM = np.random.default_rng(41)
SHAPE = (1, 4, 6, 4)
SCALE = np.float32(0.05)
TYPES = {"int8": TensorProto.INT8, "uint8": TensorProto.UINT8, "float": TensorProto.FLOAT}
#: Zero points off the middle of the range, so that a test notices integers that are read as real numbers.
ZERO = {"int8": np.int8(-17), "uint8": np.uint8(40)}


@dataclasses.dataclass(frozen=True)
class Move:
    """An operator on a tensor of SHAPE; `=` marks further inputs of the tensor's own type."""

    op: str
    more: Sequence[np.ndarray | str] = ()
    attributes: Mapping[str, object] = dataclasses.field(default_factory=dict)
    outputs: int = 1

    def nodes(self, source: str, kind: str, weights: dict[str, np.ndarray]) -> tuple[list[onnx.NodeProto], str]:
        """Nodes from `source`, a tensor of this integer type, and the name of the last result."""
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
FAST = ("Reshape", "Squeeze", "Gather", "Expand", "Pad_zero", "MaxPool", "ReduceMin", "Cast", "ScatterND")
RANK_TWO = ("Flatten", "Squeeze", "Reshape", "ReduceMin")
FLATTEN = Move("Flatten", attributes={"axis": 2})


class Chains:
    """A model of independent chains, each with its own input and output."""

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
        last = self.move(last, kind, before)
        kind, old = "int8" if result == "float" else result, kind
        last = self.move(self._negate(last, old, kind), kind, middle)
        last = self.move(self._negate(last, kind, kind), kind, after)
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

    def move(self, name: str, kind: str, moves: Sequence[Move]) -> str:
        for move in moves:
            if move.op == "Cast":
                move = dataclasses.replace(move, attributes={"to": TYPES[kind]})  # noqa: PLW2901
            made, name = move.nodes(name, kind, self.weights)
            self.nodes += made
        return name

    def model(self) -> onnx.ModelProto:
        inputs = {name: SHAPE for name in self.types if name.startswith("x_")}
        opset = 18 if "CenterCropPad" in {item.op_type for item in self.nodes} else 17
        return make(self.nodes, inputs, self.outputs, self.weights, opset, self.types)


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
    """onnxruntime's outputs, or those of ONNX's evaluator if onnxruntime lacks an operator for a type."""
    try:
        return ort(model, inputs)
    except Exception as error:
        if "NOT_IMPLEMENTED" not in str(error) and "Type Error" not in str(error):
            raise
    names = [item.name for item in model.graph.output]
    newer = onnx.ModelProto.FromString(model.SerializeToString())
    newer.opset_import[0].version = 19  # the first opset of the evaluator with DequantizeLinear
    return dict(zip(names, ReferenceEvaluator(newer).run(None, dict(inputs)), strict=True))


def check_in_memory(model: onnx.ModelProto, scarce: bool = True) -> Compiled:
    """Compares without a limit and, with `scarce`, with too little fast memory for all tensors."""
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


@pytest.mark.parametrize("name", sampled(MOVES, FAST))
def test_every_type_at_every_position(name: str) -> None:
    move = MOVES[name]
    positions: dict[str, tuple[list[Move], list[Move], list[Move]]] = {
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
    for position, moves in positions.items():
        for given, result in types[position]:
            chains.add(f"{position}_{given}_{result}", given, result, *moves)
    check_in_memory(chains.model(), scarce=False)


@pytest.mark.parametrize("kind", ["int8", "uint8"])
@pytest.mark.parametrize("name", sampled(MOVES, FAST))
def test_every_operator_with_little_memory(name: str, kind: str) -> None:
    """One chain at a time, through slow memory; also plain integers that nothing dequantises."""
    chains = Chains()
    chains.add("one", kind, kind, [MOVES[name]], [], [FLATTEN] if name.startswith("Pad") else [])
    check_in_memory(chains.model())
    alone = Chains()
    last = alone.move("x_", kind, [MOVES[name]])
    alone.nodes.append(node("Identity", last, "y"))
    alone.types, alone.outputs = {"x_": TYPES[kind], "y": TYPES[kind]}, ["y"]
    check_in_memory(alone.model(), scarce=False)


#: Graphs from x, and the outputs that are float32. K: the integers' type; s and z, t and u: two scales.
CASES: dict[str, tuple[str, str, str]] = {
    "two readers": ("Transpose x m perm=[0,2,3,1]; DequantizeLinear m s z a; DequantizeLinear m t u b; Neg a c; "
                    "Neg b d; QuantizeLinear c s z y0; QuantizeLinear d t u y1", "y0 y1", ""),
    "two readers in float32": ("DequantizeLinear x s z y0; DequantizeLinear x t u d; Abs d y1", "", "y0 y1"),
    "read otherwise than written": (
        "DequantizeLinear x s z d; Neg d n; QuantizeLinear n s z q; MaxPool q p kernel_shape=[2,2]; "
        "DequantizeLinear p t u e; Neg e m; QuantizeLinear m t u y0", "y0", ""),
    # Integers of two scales in one tensor: only the reader's scale describes them.
    "two writers": (
        "DequantizeLinear x s z d; Neg d n; Abs d o; QuantizeLinear n s z q; QuantizeLinear o t u r; "
        "Concat q r x c axis=1; DequantizeLinear c s z e; Neg e m; QuantizeLinear m s z y0; Identity c y1",
        "y0 y1", ""),
    # The integers as numbers beside the real numbers they stand for.
    "dequantised by hand": ("Flatten x f; Cast f i to=1; Sub i seven y0; DequantizeLinear f s z d; Neg d y1", "",
                            "y0 y1"),
    # Integers that come from an operator, not from QuantizeLinear.
    "quantised by hand": ("Cast x i to=1; Relu i r; Cast r o to=9; Cast o n to=K; Transpose n m perm=[0,3,1,2]; "
                          "DequantizeLinear m s z d; Neg d e; QuantizeLinear e s z y0", "y0", ""),
    # QuantizeLinear's output is read as plain numbers, and is an output of the graph.
    "rounded and read": ("DequantizeLinear x s z d; Neg d n; QuantizeLinear n s z y0; Cast y0 i to=1; Neg i y1", "y0",
                         "y1"),
    "compared": ("Equal x z e; Cast e y0 to=1; DequantizeLinear x s z y1", "", "y0 y1"),
    "an input that is an output": ("Identity x y0; Flatten x y1; DequantizeLinear y1 s z y2", "y0 y1", "y2"),
    "an output amid the path": (
        "Transpose x y0 perm=[0,3,2,1]; Reshape y0 flat y1; DequantizeLinear y1 s z d; Neg d y2", "y0 y1", "y2"),
}


@pytest.mark.parametrize("kind", ["int8", "uint8"])
@pytest.mark.parametrize("case", sampled(CASES, 5))
def test_integers_with_two_meanings(case: str, kind: str) -> None:
    text, integers, floats = CASES[case]
    made = nodes(text.replace("=K", f"={TYPES[kind]}"))
    weights = {"s": SCALE, "t": np.float32(0.0371), "flat": ints(4, 24), "seven": np.float32(7), "z": ZERO[kind],
               "u": np.int8(33) if kind == "int8" else np.uint8(200)}
    used = {name for item in made for name in item.input}
    types = dict.fromkeys(["x", *integers.split()], TYPES[kind])
    constants = {name: weights[name] for name in used & set(weights)}
    check_in_memory(make(made, {"x": SHAPE}, f"{integers} {floats}".split(), constants, types=types))


@pytest.mark.parametrize("kind", ["int8", "uint8"])
def test_a_zero_point_left_out(kind: str) -> None:
    """The zero point is then zero in the integers' own type."""
    text = "Flatten x f; DequantizeLinear f s d; Abs d a; QuantizeLinear a s z q; Identity q y0; QuantizeLinear a s y1"
    weights = {"s": SCALE, "z": np.zeros((), kind)}
    types = {"x": TYPES[kind], "y0": TYPES[kind], "y1": TensorProto.UINT8}
    check_in_memory(make(nodes(text), {"x": SHAPE}, ["y0", "y1"], weights, types=types))


@pytest.mark.parametrize("computed", ["Add f f y1", "Resize f - scales y1 mode='linear'"])
def test_arithmetic_on_integers_is_refused_by_name(computed: str) -> None:
    """Otherwise they would be computed as real numbers."""
    made = nodes(f"Transpose x f perm=[0,1,3,2]; DequantizeLinear f s z y0; {computed}")
    weights = {"s": SCALE, "z": np.int8(3), "scales": np.array([1, 1, 2, 2], np.float32)}
    with pytest.raises(UnsupportedError, match=r"_y1 .*: it computes with int8"):
        compile_model(make(made, {"x": SHAPE}, ["y0", "y1"], weights, types={"x": TYPES["int8"], "y1": TYPES["int8"]}))


def test_moves_stay_in_eight_bits() -> None:
    """The chain from a graph input to its DequantizeLinear needs no Cast and no float32."""
    moves = [MOVES[name] for name in ("Pad", "Transpose", "Slice", "MaxPool", "Tile")]
    chains = Chains()
    chains.add("one", "uint8", "uint8", moves[:2], [], moves[1:2])
    program = compile_model(chains.model()).plan.program
    assert {tensor.dtype.name for tensor in program.tensors.values()} == {"INT8"}
    graph = normal(chains.model())
    assert all(tensor.quantisation is not None for name, tensor in graph.tensors.items() if name not in graph.weights)


# Casts next to QuantizeLinear and DequantizeLinear: bytes stay bytes, and wider integers saturate.

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
