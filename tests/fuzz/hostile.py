"""Model files that nobody meant: valid models with one to three things changed in their protobuf, and TensorFlow Lite
files likewise (hostile_tflite.py, the odd seeds). Whatever comes out is
either refused with a message, or a plan that the runtime opens.

    python -m tests.fuzz.hostile SECONDS [SEED]    in a child of little memory, forever new ones
"""

from __future__ import annotations

import os
import random
import resource
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np
import onnx
from google.protobuf.message import DecodeError, EncodeError
from onnx import TensorProto, helper, numpy_helper

from tests.compiler.models import make, node
from tests.fuzz import hostile_tflite
from tests.fuzz.hostile_tflite import FLOATS, SMALL, ramp
from tests.peak import peak
from tigris_pio import Session, compile_model
from tigris_pio.errors import TigrisError

MEMORY = 3 << 30  #: of the child's address space; the compiler's own takes about 1 GB of it
EXTREMES = (*hostile_tflite.EXTREMES, 1 << 40, (1 << 63) - 1, -(1 << 63))
TYPES = (
    TensorProto.FLOAT, TensorProto.INT8, TensorProto.UINT8, TensorProto.INT64, TensorProto.INT32, TensorProto.BOOL,
    TensorProto.FLOAT16, TensorProto.DOUBLE, TensorProto.STRING, TensorProto.COMPLEX64, TensorProto.INT4, 0, 99,
)  # fmt: skip
NAMES = ("", "x", "y", "h", "w", "\x1b[31m", "\n", "é" * 700, "a" * 5000, "\0")


def _quantised() -> onnx.ModelProto:
    weights = {
        "s": np.array(0.1, np.float32), "z": np.array(3, np.int8),
        "wq": np.arange(36, dtype=np.int8).reshape(4, 1, 3, 3), "ws": np.full(4, 0.1, np.float32),
        "wz": np.zeros(4, np.int8), "b": np.arange(4, dtype=np.int32), "bs": np.full(4, 0.01, np.float32),
    }  # fmt: skip
    nodes = [
        node("QuantizeLinear", "x s z", "xq"),
        node("DequantizeLinear", "xq s z", "xd"),
        node("DequantizeLinear", "wq ws wz", "wd", axis=0),
        node("DequantizeLinear", "b bs", "bd", axis=0),
        node(
            "Conv", "xd wd bd", "c", kernel_shape=[3, 3], strides=[2, 1], pads=[1, 1, 1, 1], dilations=[1, 1], group=1
        ),
        node("Relu", "c", "r"),
        node("QuantizeLinear", "r s z", "rq"),
        node("DequantizeLinear", "rq s z", "rd"),
        node("AveragePool", "rd", "p", kernel_shape=[2, 2], strides=[2, 2], pads=[0, 0, 1, 1], ceil_mode=1),
        node("QuantizeLinear", "p s z", "pq"),
        node("DequantizeLinear", "pq s z", "y"),
    ]
    return make(nodes, {"x": (1, 1, 8, 8)}, ["y"], weights)


def _convolutions() -> onnx.ModelProto:
    nodes = [
        node("Conv", "x w", "c", kernel_shape=[3, 3], strides=[1, 2], pads=[1, 1, 1, 1], dilations=[1, 1], group=2),
        node("BatchNormalization", "c g b m v", "n", epsilon=1e-3), node("Clip", "n lo hi", "k"),
        node("MaxPool", "k", "p", kernel_shape=[2, 2], strides=[2, 2], pads=[0, 0, 0, 0], ceil_mode=0),
        node("ConvTranspose", "p t", "u", strides=[2, 2], kernel_shape=[2, 2], output_padding=[0, 0], group=1),
        node("LpPool", "u", "l", kernel_shape=[2, 2], p=2), node("GlobalAveragePool", "l", "h"),
        node("Flatten", "h", "f", axis=1), node("Gemm", "f m2 c2", "y", transB=1, alpha=0.5, beta=2.0),
    ]  # fmt: skip
    four = {name: np.full(4, 0.5, np.float32) for name in "gbmv"}
    weights = {
        "w": ramp(4, 1, 3, 3), **four, "lo": np.array(0, np.float32), "hi": np.array(6, np.float32),
        "t": ramp(4, 3, 2, 2), "m2": ramp(5, 3), "c2": ramp(5),
    }  # fmt: skip
    return make(nodes, {"x": (1, 2, 8, 8)}, ["y"], weights)


def _movement() -> onnx.ModelProto:
    nodes = [
        node("Transpose", "x", "a", perm=[0, 2, 3, 1]), node("Reshape", "a shape", "r", allowzero=0),
        node("Slice", "r i0 i1 i2 i3", "s"), node("Pad", "s pads", "p", mode="constant"),
        node("Concat", "p p", "c", axis=1), node("Split", "c parts", "d e", axis=1),
        node("Gather", "d places", "g", axis=2), node("Tile", "g times", "t"), node("Unsqueeze", "t i3", "q"),
        node("Squeeze", "q i3", "z"), node("Expand", "z ones", "v"),
        node("ReduceMean", "v", "y", axes=[1], keepdims=0), node("ArgMax", "e", "k", axis=1, keepdims=1),
        node("Cast", "k", "o", to=1),
    ]  # fmt: skip
    weights = {
        "shape": np.array([1, 4, -1, 2]), "i0": np.array([0]), "i1": np.array([3]), "i2": np.array([1]),
        "i3": np.array([1]), "pads": np.array([0, 1, 0, 0, 0, 1, 0, 0]), "parts": np.array([4, 6]),
        "places": np.array([0, 2, 1]), "times": np.array([1, 1, 2, 1]), "ones": np.array([1, 1, 1, 1]),
    }  # fmt: skip
    return make(nodes, {"x": (1, 2, 4, 4)}, ["y", "o"], weights, opset=13)


def _shapes() -> onnx.ModelProto:
    nodes = [
        node("Shape", "x", "n"), node("Gather", "n zero", "first", axis=0), node("Unsqueeze", "first i", "u"),
        node("Concat", "u rest", "target", axis=0), node("Reshape", "x target", "r"),
        node("ConstantOfShape", "size", "c", value=numpy_helper.from_array(np.array([2.0], np.float32))),
        node("Mul", "c c", "d"), node("Range", "zero lim step", "g"), node("Cast", "g", "h", to=1),
        node("Add", "d h", "k"), node("MatMul", "r k", "y"), node("Expand", "k size2", "l"),
        node("ReduceSum", "l", "o", keepdims=0),
    ]  # fmt: skip
    weights = {
        "zero": np.array(0), "i": np.array([0]), "rest": np.array([-1, 4]), "size": np.array([4]), "lim": np.array(4),
        "step": np.array(1), "size2": np.array([2, 4]),
    }  # fmt: skip
    return make(nodes, {"x": (1, 2, 4)}, ["y", "o"], weights, opset=13)


def _sequence() -> onnx.ModelProto:
    nodes = [
        node("LayerNormalization", "x g b", "n", axis=-1, epsilon=1e-5), node("MatMul", "n w", "m"),
        node("Softmax", "m", "s", axis=-1), node("Einsum", "s w", "e", equation="bij,jk->bik"),
        node("Resize", "e - scales", "r", mode="linear"), node("GroupNormalization", "r g3 g3", "q", num_groups=3),
        node("InstanceNormalization", "q g3 g3", "i", epsilon=1e-4),
        node("DepthToSpace", "img", "d", blocksize=2, mode="DCR"), node("LRN", "img", "l", size=3, alpha=1e-4),
        node("CumSum", "i axis", "y", exclusive=0), node("Gelu", "d", "o"), node("TopK", "l one", "t k", axis=1),
    ]  # fmt: skip
    weights = {
        "g": np.ones(4, np.float32), "b": np.zeros(4, np.float32), "w": ramp(4, 4),
        "scales": np.array([1, 1, 2], np.float32), "g3": np.ones(3, np.float32), "axis": np.array(1),
        "one": np.array([1]),
    }  # fmt: skip
    return make(nodes, {"x": (1, 3, 4), "img": (1, 4, 4, 4)}, ["y", "o", "l"], weights, opset=20)


def _function() -> onnx.ModelProto:
    body = [helper.make_node("Relu", ["a"], ["t"]), helper.make_node("Add", ["t", "a"], ["r"])]
    local = helper.make_function("own", "Twice", ["a"], ["r"], body, [helper.make_opsetid("", 17)])
    step = helper.make_graph(
        [helper.make_node("Add", ["s", "e"], ["n"]), helper.make_node("Identity", ["n"], ["o"])], "body",
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, [4]) for name in "se"],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, [4]) for name in "no"],
    )  # fmt: skip
    nodes = [
        helper.make_node("Twice", ["x"], ["f"], domain="own"), helper.make_node("Celu", ["f"], ["c"], alpha=2.0),
        helper.make_node("Scan", ["init", "c"], ["last", "y"], body=step, num_scan_inputs=1),
    ]  # fmt: skip
    model = make(nodes, {"x": (3, 4)}, ["y"], {"init": np.zeros(4, np.float32)})
    model.opset_import.append(helper.make_opsetid("own", 1))
    model.functions.append(local)
    return model


MODELS: tuple[Callable[[], onnx.ModelProto], ...] = (
    _quantised, _convolutions, _movement, _shapes, _sequence, _function,
)  # fmt: skip


# ---- changes -----------------------------------------------------------------------------------------------------


def _graphs(model: onnx.ModelProto) -> list[onnx.GraphProto]:
    return [model.graph, *(item.g for step in model.graph.node for item in step.attribute if item.HasField("g"))]


def _attribute(model: onnx.ModelProto, draw: random.Random) -> None:
    found = [item for graph in _graphs(model) for step in graph.node for item in step.attribute]
    found += [item for function in model.functions for step in function.node for item in step.attribute]
    item = draw.choice(found)
    choice = draw.random()
    if choice < 0.1:
        item.name = draw.choice(("axis", "strides", "to", "nothing", ""))
    elif choice < 0.2:
        item.type = draw.choice((1, 2, 3, 4, 6, 7, 8, 0))
    elif item.type == onnx.AttributeProto.INTS:
        values = list(item.ints)
        if choice < 0.4 or not values:
            values = values[:-1] if draw.random() < 0.5 else [*values, draw.choice(EXTREMES)]
        elif choice < 0.7:
            values = [draw.choice(EXTREMES)] * len(values)
        else:
            values[draw.randrange(len(values))] = draw.choice(EXTREMES if draw.random() < 0.5 else SMALL)
        item.ints[:] = values
    elif item.type == onnx.AttributeProto.INT:
        item.i = draw.choice(EXTREMES if draw.random() < 0.5 else SMALL)
    elif item.type == onnx.AttributeProto.FLOAT:
        item.f = draw.choice(FLOATS)
    elif item.type == onnx.AttributeProto.STRING:
        item.s = draw.choice(
            (b"", b"SAME_UPPER", b"VALID", b"reflect", b"nothing", b"\xff\xfe", b"cubic", b"ij,jk->", b"...")
        )
    elif item.HasField("t"):
        _tensor_of(item.t, draw)


def _drop_attribute(model: onnx.ModelProto, draw: random.Random) -> None:
    steps = [step for graph in _graphs(model) for step in graph.node if step.attribute]
    if steps:
        step = draw.choice(steps)
        del step.attribute[draw.randrange(len(step.attribute))]


def _tensor_of(tensor: TensorProto, draw: random.Random) -> None:
    choice = draw.random()
    if choice < 0.2:
        tensor.data_type = draw.choice(TYPES)
    elif choice < 0.4:
        tensor.dims[:] = [draw.choice(SMALL if draw.random() < 0.7 else EXTREMES) for _ in range(draw.randrange(6))]
    elif choice < 0.5:
        tensor.raw_data = tensor.raw_data[: draw.randrange(len(tensor.raw_data) + 1)]
    else:
        try:
            values = numpy_helper.to_array(tensor).copy()
        except (ValueError, TypeError):
            return
        if values.size == 0:
            return
        with np.errstate(all="ignore"):
            new = draw.choice(FLOATS if values.dtype.kind == "f" else EXTREMES if draw.random() < 0.5 else SMALL)
            flat = values.reshape(-1)
            place = slice(None) if draw.random() < 0.3 else draw.randrange(flat.size)
            flat[place] = np.array(new).astype(values.dtype)
        if draw.random() < 0.2:
            flat = np.resize(flat, draw.choice((0, 1, flat.size + 1)))
        tensor.CopyFrom(
            numpy_helper.from_array(flat.reshape(values.shape) if flat.size == values.size else flat, tensor.name)
        )


def _initializer(model: onnx.ModelProto, draw: random.Random) -> None:
    if model.graph.initializer:
        _tensor_of(draw.choice(model.graph.initializer), draw)


def _shape(model: onnx.ModelProto, draw: random.Random) -> None:
    value = draw.choice([*model.graph.input, *model.graph.output])
    kind = value.type.tensor_type
    if draw.random() < 0.2:
        kind.elem_type = draw.choice(TYPES)
    elif draw.random() < 0.1:
        value.type.ClearField("tensor_type")
    elif kind.shape.dim and draw.random() < 0.7:
        kind.shape.dim[draw.randrange(len(kind.shape.dim))].dim_value = draw.choice(
            EXTREMES if draw.random() < 0.5 else SMALL
        )
    else:
        for _ in range(draw.choice((1, 1, 2, 100))):
            kind.shape.dim.add().dim_value = draw.choice(SMALL)


def _wires(model: onnx.ModelProto, draw: random.Random) -> None:
    graph = draw.choice(_graphs(model))
    names = [name for step in graph.node for name in (*step.input, *step.output)] + [
        item.name for item in graph.initializer
    ]
    step = draw.choice(graph.node)
    ends = step.input if draw.random() < 0.8 or not step.output else step.output
    choice = draw.random()
    if choice < 0.6 and ends:
        ends[draw.randrange(len(ends))] = draw.choice(names if draw.random() < 0.8 else NAMES)
    elif choice < 0.8 and ends:
        del ends[draw.randrange(len(ends))]
    else:
        ends.append(draw.choice(names))


def _node(model: onnx.ModelProto, draw: random.Random) -> None:
    graph = draw.choice(_graphs(model))
    place = draw.randrange(len(graph.node))
    choice = draw.random()
    if choice < 0.3:
        graph.node[place].op_type = draw.choice(OPERATORS)
    elif choice < 0.4:
        graph.node[place].domain = draw.choice(("com.microsoft", "ai.onnx", "own", "nobody"))
    elif choice < 0.6 and len(graph.node) > 1:
        del graph.node[place]
    elif choice < 0.8:
        graph.node.append(graph.node[place])
    else:
        graph.node[place].name = draw.choice(NAMES)


def _names(model: onnx.ModelProto, draw: random.Random) -> None:
    things = [*model.graph.input, *model.graph.output, *model.graph.initializer, *model.graph.node]
    draw.choice(things).name = draw.choice(NAMES)


def _version(model: onnx.ModelProto, draw: random.Random) -> None:
    if model.opset_import:
        draw.choice(model.opset_import).version = draw.choice((*range(1, 26), *EXTREMES))


OPERATORS = (
    "Relu", "Add", "Conv", "Gemm", "MatMul", "Reshape", "Transpose", "Concat", "Softmax", "Resize", "Pad", "Slice",
    "Split", "Gather", "Where", "ReduceMax", "Loop", "If", "LSTM", "NonZero", "Mod", "Pow", "Clip", "Upsample",
    "Col2Im", "GridSample", "ScatterND", "GatherND", "OneHot", "Trilu", "QLinearConv", "DynamicQuantizeLinear",
    "Twice", "", "Dropout",
)  # fmt: skip
CHANGES = (
    _attribute, _attribute, _attribute, _initializer, _initializer, _shape, _shape, _wires, _wires, _node, _names,
    _drop_attribute, _version,
)  # fmt: skip


def hostile(seed: int) -> onnx.ModelProto | None:
    """The model of that number; None where protobuf itself refuses it."""
    draw = random.Random(seed)
    model = draw.choice(MODELS)()
    try:
        for _ in range(draw.choice((1, 1, 1, 2, 3))):
            draw.choice(CHANGES)(model, draw)
        return onnx.ModelProto.FromString(model.SerializeToString())
    except (ValueError, TypeError, OverflowError, EncodeError, DecodeError):
        return None


# ---- judgement ---------------------------------------------------------------------------------------------------


def outcome(model: onnx.ModelProto | bytes) -> str:
    """`refused` or `opened`; whatever else happens is an exception."""
    os.environ["TIGRIS_DEBUG"] = "1"  # without the compiler's own net below what nobody thought of
    try:
        compiled = compile_model(model, fast="1M", slow="64M")
    except TigrisError as error:
        assert str(error).strip() and "internal" not in str(error)
        return "refused"
    with Session(compiled):
        return "opened"


def bounded(memory: int = MEMORY) -> None:
    """This process may not take more; the compiler's libraries keep to one thread, whose stacks count too."""
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))


def search(seconds: float, first: int) -> tuple[Counter[str], list[str]]:
    """Tries models from number `first` on; counts of outcomes, and what went wrong."""
    counts, wrong, end, seed = Counter[str](), list[str](), time.monotonic() + seconds, first
    while time.monotonic() < end and len(wrong) < 20:
        model = hostile_tflite.hostile(seed) if seed % 2 else hostile(seed)
        if model is not None:
            begin = time.process_time()
            try:
                counts[outcome(model)] += 1
            except Exception:  # whatever it is, it is what this looks for
                wrong.append(f"seed {seed}:\n{traceback.format_exc()}")
            spent = time.process_time() - begin
            if spent > 10:
                wrong.append(f"seed {seed}: {spent:.0f} s of processor time")
        seed += 1
    return counts, wrong


def main(arguments: Sequence[str]) -> int:
    """See the module."""
    seconds = float(arguments[0]) if arguments else 60.0
    bounded()
    counts, wrong = search(seconds, int(arguments[1]) if len(arguments) > 1 else random.randrange(1 << 30))
    print(*wrong, sep="\n")
    most = peak() >> 20
    print(
        f"{counts.total()} hostile models: {counts['refused']} refused, {counts['opened']} compiled and opened, "
        f"{len(wrong)} wrong; {most} MB at most"
    )
    return 1 if wrong or most > 1024 else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
