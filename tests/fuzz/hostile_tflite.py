"""TensorFlow Lite files that nobody meant: sound ones with fields of the schema changed, or bytes of the flatbuffer."""

from __future__ import annotations

import functools
import random
import struct
from collections.abc import Callable
from typing import Any

import flatbuffers
import numpy as np
from tflite_micro.tensorflow.lite.micro.python import schema_py_generated as schema

from tests.tflite.cases_int16 import mixed_network
from tests.tflite.writer import RELU, RELU6, SAME, VALID, Operator, Tensor, constant, write

EXTREMES = (0, 1, -1, 2, 3, 7, 127, 128, 255, 256, 65535, 65536, 1 << 24, 1 << 30, (1 << 31) - 1, -(1 << 31))
SMALL = (0, 1, -1, 2, 3, 4, 5)
FLOATS = (0.0, -1.0, 1e-38, 1e38, -1e38, float("inf"), float("-inf"), float("nan"), 0.5, 3.0)
NAMES = (b"", b"x", b"y", b"\xff\xfe", b"\x1b[31m", "é".encode() * 700, b"a" * 5000, b"\0")


def ramp(*shape: int) -> np.ndarray:
    return np.linspace(-1, 1, int(np.prod(shape)), dtype=np.float32).reshape(shape)


def _i(*shape: int) -> np.ndarray:
    return (np.arange(int(np.prod(shape))) % 11 - 5).astype(np.int8).reshape(shape)


def _ints(*values: int) -> np.ndarray:
    return np.array(values, np.int32)


def _image() -> bytes:
    """int8 and uint8: the layers of an image classifier."""
    tensors = [
        Tensor("x", (1, 8, 8, 2), "uint8", 0.1, 130), Tensor("q", (1, 8, 8, 2), "int8", 0.1, 2),
        Tensor("p", (1, 10, 10, 2), "int8", 0.1, 2), Tensor("c", (1, 4, 4, 4), "int8", 0.2, -1),
        Tensor("d", (1, 4, 4, 8), "int8", 0.2, -1), Tensor("a", (1, 2, 2, 8), "int8", 0.2, -1),
        Tensor("m", (1, 1, 1, 8), "int8", 0.2, -1), Tensor("f", (1, 3), "int8", 0.3, 4),
        Tensor("y", (1, 3), "int8", 1 / 256, -128),
        constant("pads", _ints(0, 0, 1, 1, 1, 1, 0, 0).reshape(4, 2)),
        constant("w", _i(4, 3, 3, 2), [0.1, 0.2, 0.3, 0.4]), constant("b", _ints(1, 2, 3, 4), [0.01, 0.02, 0.03, 0.04]),
        constant("k", _i(1, 3, 3, 8), [0.1] * 8, 0, 3), constant("e", _ints(*range(8)), [0.02] * 8),
        constant("g", _i(3, 8), 0.1), constant("h", _ints(1, 2, 3), 0.02),
    ]  # fmt: skip
    depthwise = {"depthMultiplier": 2, "padding": SAME, "strideW": 1, "strideH": 1, "dilationWFactor": 1,
                 "dilationHFactor": 1}  # fmt: skip
    operators = [
        Operator("QUANTIZE", ["x"], ["q"]),
        Operator("PAD", ["q", "pads"], ["p"]),
        Operator("CONV_2D", ["p", "w", "b"], ["c"], {"padding": VALID, "strideW": 2, "strideH": 2, "dilationWFactor": 1,
                                                     "dilationHFactor": 1, "fusedActivationFunction": RELU6}),
        Operator("DEPTHWISE_CONV_2D", ["c", "k", "e"], ["d"], depthwise),
        Operator("MAX_POOL_2D", ["d"], ["a"], {"padding": SAME, "strideW": 2, "strideH": 2, "filterWidth": 2,
                                               "filterHeight": 2, "fusedActivationFunction": RELU}),
        Operator("AVERAGE_POOL_2D", ["a"], ["m"], {"padding": VALID, "strideW": 2, "strideH": 2, "filterWidth": 2,
                                                   "filterHeight": 2}),
        Operator("FULLY_CONNECTED", ["m", "g", "h"], ["f"]),
        Operator("SOFTMAX", ["f"], ["y"], {"beta": 1.0}),
    ]
    return write(tensors, operators, ["x"], ["y"])


def _movement() -> bytes:
    """float32: shapes that are computed, and operators that move elements."""
    half = ramp(3, 4).astype(np.float16)
    tensors = [
        Tensor("x", (1, 4, 4, 2), "float32"), Tensor("n", (4,), "int32"), Tensor("one", (), "int32"),
        Tensor("target", (2,), "int32"), Tensor("r", (1, 32), "float32"), Tensor("u", (1, 4, 8), "float32"),
        Tensor("t", (1, 8, 4), "float32"), Tensor("s", (1, 8, 2), "float32"), Tensor("v", (1, 8, 2), "float32"),
        Tensor("c", (1, 8, 4), "float32"), Tensor("g", (1, 3, 4), "float32"), Tensor("z", (1, 6, 6, 2), "float32"),
        Tensor("mean", (1, 2), "float32"), Tensor("w", (3, 4), "float32"), Tensor("y", (1, 3, 3), "float32"),
        Tensor("k", (1,), "int64"),
        constant("half", half), constant("zero", _ints(0)), constant("first", _ints(1)), constant("step", _ints(1)),
        constant("rest", np.array(32, np.int32)), constant("order", _ints(0, 2, 1)),
        constant("axis", np.array(2, np.int32)), constant("places", _ints(0, 2, 1)), constant("size", _ints(6, 6)),
        constant("axes", _ints(1, 2)), constant("along", _ints(1)), constant("sizes", _ints(1, 4, 8)),
    ]  # fmt: skip
    operators = [
        Operator("SHAPE", ["x"], ["n"], {"outType": schema.TensorType.INT32}),
        Operator("STRIDED_SLICE", ["n", "zero", "first", "step"], ["one"], {"shrinkAxisMask": 1}),
        Operator("PACK", ["one", "rest"], ["target"], {"valuesCount": 2, "axis": 0}),
        Operator("RESHAPE", ["x", "target"], ["r"]),
        Operator("RESHAPE", ["r", "sizes"], ["u"], {"newShape": [1, 4, 8]}),
        Operator("TRANSPOSE", ["u", "order"], ["t"]),
        Operator("SPLIT", ["axis", "t"], ["s", "v"], {"numSplits": 2}),
        Operator("CONCATENATION", ["v", "s"], ["c"], {"axis": 2, "fusedActivationFunction": RELU}),
        Operator("GATHER", ["c", "places"], ["g"], {"axis": 1, "batchDims": 0}),
        Operator("DEQUANTIZE", ["half"], ["w"]),
        Operator("FULLY_CONNECTED", ["g", "w", ""], ["y"], {"keepNumDims": True}),
        Operator("RESIZE_BILINEAR", ["x", "size"], ["z"], {"halfPixelCenters": True, "alignCorners": False}),
        Operator("MEAN", ["z", "axes"], ["mean"], {"keepDims": False}),
        Operator("ARG_MAX", ["mean", "along"], ["k"], {"outputType": schema.TensorType.INT64}),
    ]
    return write(tensors, operators, ["x"], ["y", "k"])


def _state() -> bytes:
    """A variable with a first value, and a branch that is not taken."""
    tensors = [
        Tensor("x", (1, 8), "int8", 0.1, 3), Tensor("h", (1,), "resource"), Tensor("old", (1, 8), "int8", 0.2, -5),
        Tensor("new", (1, 8), "int8", 0.2, -5), Tensor("y", (1, 8), "float32"), constant("yes", np.array([True])),
    ]  # fmt: skip
    name = {"sharedName": "total", "container": ""}
    operators = [
        Operator("CALL_ONCE", [], [], {"initSubgraphIndex": 1}),
        Operator("VAR_HANDLE", [], ["h"], name),
        Operator("READ_VARIABLE", ["h"], ["old"]),
        Operator("ADD", ["x", "old"], ["new"], {"fusedActivationFunction": RELU}),
        Operator("ASSIGN_VARIABLE", ["h", "new"], []),
        Operator("IF", ["yes"], [], {"thenSubgraphIndex": 2, "elseSubgraphIndex": 3}),
        Operator("DEQUANTIZE", ["new"], ["y"]),
    ]
    first = ([Tensor("h", (1,), "resource"), constant("v", _i(1, 8), 0.2, -5)],
             [Operator("VAR_HANDLE", [], ["h"], name), Operator("ASSIGN_VARIABLE", ["h", "v"], [])])
    return write(tensors, operators, ["x"], ["y"], subgraphs=[first, ([], []), ([], [])])


MODELS = (_image, _image, _movement, _state, mixed_network)


# ---- changes -----------------------------------------------------------------------------------------------------


def _number(draw: random.Random) -> int:
    return draw.choice(EXTREMES if draw.random() < 0.5 else SMALL)


def _tensor(model: Any, draw: random.Random) -> None:
    tensor = draw.choice(draw.choice([item for item in model.subgraphs if item.tensors]).tensors)
    choice = draw.random()
    shape = [] if tensor.shape is None else [int(size) for size in tensor.shape]
    if choice < 0.35:
        if shape and draw.random() < 0.7:
            shape[draw.randrange(len(shape))] = _number(draw)
        else:
            shape = [draw.choice(SMALL) for _ in range(draw.choice((0, 1, 2, 5, 40)))]
        tensor.shape = shape
    elif choice < 0.45:
        tensor.shapeSignature = [_number(draw) for _ in shape] if draw.random() < 0.7 else [-1]
    elif choice < 0.6:
        tensor.type = draw.choice((*range(19), 99))
    elif choice < 0.7:
        tensor.buffer = draw.choice((*range(4), len(model.buffers), 1 << 20))
    elif choice < 0.8:
        tensor.name = draw.choice(NAMES)
    elif choice < 0.85:
        tensor.isVariable = not tensor.isVariable
    elif tensor.quantization is not None:
        _quantisation(tensor.quantization, draw)


def _quantisation(found: Any, draw: random.Random) -> None:
    choice = draw.random()
    if choice < 0.4:
        found.scale = np.full(draw.choice((0, 1, 2, 4, 100)), draw.choice(FLOATS), np.float32)
    elif choice < 0.7:
        found.zeroPoint = np.full(draw.choice((0, 1, 2, 4, 100)), _number(draw), np.int64)
    else:
        found.quantizedDimension = _number(draw)


def _buffer(model: Any, draw: random.Random) -> None:
    buffer = draw.choice(model.buffers)
    data = np.array([] if buffer.data is None else buffer.data, np.uint8)
    choice = draw.random()
    if choice < 0.3:
        buffer.data = data[: draw.randrange(len(data) + 1)]
    elif choice < 0.4:
        buffer.offset, buffer.size = draw.choice((2, 100, 1 << 40)), draw.choice((0, 8, 1 << 62))
    elif len(data) >= 4:
        words = data[: len(data) // 4 * 4].view(np.int32).copy()
        words[draw.randrange(len(words))] = _number(draw)
        buffer.data = words.view(np.uint8)


def _options(model: Any, draw: random.Random) -> None:
    items = [item for graph in model.subgraphs for item in graph.operators or ()]
    operator = draw.choice(items)
    choice = draw.random()
    options = operator.builtinOptions
    if choice < 0.15:
        operator.builtinOptionsType, operator.builtinOptions = 0, None
    elif choice < 0.3:
        other = draw.choice(items)
        operator.builtinOptionsType, operator.builtinOptions = other.builtinOptionsType, other.builtinOptions
    elif options is not None and vars(options):
        field = draw.choice(sorted(vars(options)))
        value = getattr(options, field)
        if isinstance(value, float):
            setattr(options, field, draw.choice(FLOATS))
        elif isinstance(value, bool):
            setattr(options, field, not value)
        elif isinstance(value, int):
            setattr(options, field, _number(draw))
        elif isinstance(value, bytes | str):
            setattr(options, field, draw.choice(NAMES))


def _wires(model: Any, draw: random.Random) -> None:
    graph = draw.choice([item for item in model.subgraphs if item.operators])
    operator = draw.choice(graph.operators)
    field = draw.choice(("inputs", "inputs", "inputs", "outputs"))
    ends = [int(number) for number in getattr(operator, field)]
    choice = draw.random()
    if choice < 0.7 and ends:
        place = draw.randrange(len(ends))
        ends[place] = draw.randrange(len(graph.tensors)) if draw.random() < 0.7 else _number(draw)
    elif choice < 0.85 and ends:
        ends.pop()
    else:
        ends.append(draw.randrange(len(graph.tensors)))
    setattr(operator, field, ends)


def _operators(model: Any, draw: random.Random) -> None:
    graph = draw.choice([item for item in model.subgraphs if item.operators])
    place = draw.randrange(len(graph.operators))
    choice = draw.random()
    if choice < 0.3:
        draw.choice(model.operatorCodes).builtinCode = draw.choice((*range(160), 500, -1))
    elif choice < 0.5:
        graph.operators[place].opcodeIndex = draw.choice((*range(len(model.operatorCodes)), 99))
    elif choice < 0.7:
        del graph.operators[place]
    elif choice < 0.9:
        graph.operators.insert(0, graph.operators[place])
    else:
        code = schema.OperatorCodeT()
        code.builtinCode, code.deprecatedBuiltinCode, code.customCode = 32, 32, draw.choice(NAMES)
        model.operatorCodes[0] = code


def _ends(model: Any, draw: random.Random) -> None:
    graph = model.subgraphs[0]
    field = draw.choice(("inputs", "outputs"))
    setattr(graph, field, [draw.choice((*range(-1, len(graph.tensors)), 1 << 20))
                           for _ in range(draw.choice((0, 1, 1, 2)))])


CHANGES: tuple[Callable[[Any, random.Random], None], ...] = (
    _tensor, _tensor, _tensor, _buffer, _options, _options, _options, _wires, _wires, _operators, _ends,
)  # fmt: skip


@functools.cache
def _sound() -> tuple[bytes, ...]:
    return tuple(make() for make in MODELS)


def _damaged(data: bytes, draw: random.Random) -> bytes:
    """Offsets, lengths and numbers of a flatbuffer overwritten, or its end cut off."""
    if draw.random() < 0.2:
        return data[: draw.randrange(len(data))]
    changed = bytearray(data)
    for _ in range(draw.choice((1, 1, 2, 8))):
        place = draw.randrange(8, len(changed) - 4) if draw.random() < 0.9 else 0
        if draw.random() < 0.6:
            struct.pack_into("<i", changed, place // 4 * 4, draw.choice((*EXTREMES, len(data), -len(data), 4, 8, 16)))
        else:
            changed[place] = draw.randrange(256)
    return bytes(changed)


def hostile(seed: int) -> bytes | None:
    """The file of that number; None where it cannot be written."""
    draw = random.Random(seed)
    data = draw.choice(_sound())
    if draw.random() < 0.3:
        return _damaged(data, draw)
    model = schema.ModelT.InitFromObj(schema.Model.GetRootAsModel(data, 0))
    try:
        for _ in range(draw.choice((1, 1, 1, 2, 3))):
            draw.choice(CHANGES)(model, draw)
        builder = flatbuffers.Builder(1024)
        builder.Finish(model.Pack(builder), b"TFL3")
        return bytes(builder.Output())
    except (TypeError, ValueError, struct.error, OverflowError, AttributeError, IndexError):
        return None
