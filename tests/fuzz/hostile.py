"""Model files that nobody meant: valid models with one to three things changed in their protobuf, and TensorFlow Lite
files likewise (hostile_tflite.py, the odd seeds). Whatever comes out is
either refused with a message, or a plan that the runtime opens.

    python -m tests.fuzz.hostile SECONDS [SEED]    in a child of little memory, forever new ones
"""

import functools
import os
import random
import resource
import struct
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import onnx
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import DecodeError, EncodeError, Message
from onnx import TensorProto, helper, numpy_helper

from tests.compiler.models import Quantiser, make, node
from tests.fuzz import hostile_tflite
from tests.fuzz.graphs import LAYERS, graph
from tests.fuzz.hostile_tflite import FLOATS, SMALL
from tests.peak import peak
from tigris_pio import Session, compile_model
from tigris_pio.errors import TigrisError

MEMORY = 3 << 30  #: of the child's address space; the compiler's own takes about 1 GB of it
EXTREMES = (*hostile_tflite.EXTREMES, 1 << 40, (1 << 63) - 1, -(1 << 63))
TYPES = (
    TensorProto.FLOAT, TensorProto.INT8, TensorProto.UINT8, TensorProto.INT64, TensorProto.INT32, TensorProto.BOOL,
    TensorProto.FLOAT16, TensorProto.DOUBLE, TensorProto.STRING, TensorProto.COMPLEX64, TensorProto.INT4, 0, 99,
)  # fmt: skip
NAMES = ("", "x", "y", "h", "w", "\x1b[31m", "\n", "é" * 700, "a" * 5000, "\0", "axis", "strides", "own")
TEXTS = (b"", b"SAME_UPPER", b"VALID", b"reflect", b"nothing", b"\xff\xfe", b"cubic", b"ij,jk->", b"...")


def _quantised() -> onnx.ModelProto:
    q = Quantiser()
    x = q.pair("x", 0.1, 3)
    weights = q.constant("w", np.arange(36, dtype=np.int8).reshape(4, 1, 3, 3), np.full(4, 0.1))
    bias = q.constant("b", np.arange(4, dtype=np.int32), np.full(4, 0.01))
    q.add(node("Conv", f"{x} {weights} {bias}", "c", kernel_shape=[3, 3], strides=[2, 1], pads=[1, 1, 1, 1]),
          node("Relu", "c", "r"))
    pooled = q.pair("r", 0.1, 3)
    q.add(node("AveragePool", pooled, "p", kernel_shape=[2, 2], strides=[2, 2], pads=[0, 0, 1, 1], ceil_mode=1))
    q.add(node("Identity", q.pair("p", 0.1, 3), "y"))
    return make(q.nodes, {"x": (1, 1, 8, 8)}, ["y"], q.weights)


def _layers(seed: int) -> onnx.ModelProto:
    """Random ones, with all their attributes."""
    return graph(seed, [(kind, 0, seed) for kind in random.Random(seed).sample(range(len(LAYERS)), 12)])


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
    *(_quantised,) * 3, *(_shapes,) * 2, *(_function,) * 2, *(functools.partial(_layers, seed) for seed in range(8)),
)


# ---- changes -----------------------------------------------------------------------------------------------------


def _messages(message: Message) -> Iterator[Message]:
    """The message and all within it."""
    yield message
    for field, value in message.ListFields():
        if field.type == FieldDescriptor.TYPE_MESSAGE:
            for part in value if field.is_repeated else [value]:
                yield from _messages(part)


def _change(model: onnx.ModelProto, draw: random.Random) -> None:
    """One field of one message; every kind of message as often, but those that make up a network more often."""
    messages = list(_messages(model))
    kinds = sorted({message.DESCRIPTOR.name for message in messages})
    kind = draw.choice(kinds + 4 * [kind for kind in kinds if kind in ("AttributeProto", "NodeProto", "TensorProto")])
    message = draw.choice([item for item in messages if item.DESCRIPTOR.name == kind])
    present = [field for field, _ in message.ListFields()]
    field = draw.choice(present if present and draw.random() < 0.95 else message.DESCRIPTOR.fields)
    value, choice = getattr(message, field.name), draw.random()
    composite = field.type == FieldDescriptor.TYPE_MESSAGE
    if choice < 0.05 or (composite and not field.is_repeated):
        message.ClearField(field.name)
    elif not field.is_repeated:
        setattr(message, field.name, _other(field, value, messages, draw))
    elif value and choice < 0.3:
        del value[draw.randrange(len(value))]
    elif composite:
        for _ in range(draw.choice((1, 1, 1, 100))):
            value.add().CopyFrom(draw.choice(value) if value else field.message_type._concrete_class())
    elif value and choice < 0.8:
        place = draw.randrange(len(value))
        value[place] = _other(field, value[place], messages, draw)
    else:
        value.append(_other(field, value[0] if value else None, messages, draw))


def _other(field: FieldDescriptor, value: object, messages: Sequence[Message], draw: random.Random) -> object:
    """Another value of a field that has no fields itself."""
    steps = [item for item in messages if isinstance(item, onnx.NodeProto)]
    choices: Sequence[object] = EXTREMES if draw.random() < 0.5 else SMALL
    if field.cpp_type == FieldDescriptor.CPPTYPE_ENUM:
        choices = [item.number for item in field.enum_type.values]
    elif field.cpp_type in (FieldDescriptor.CPPTYPE_FLOAT, FieldDescriptor.CPPTYPE_DOUBLE):
        choices = FLOATS
    elif field.name in ("data_type", "elem_type"):
        choices = TYPES
    elif field.name == "op_type":
        choices = OPERATORS
    elif field.type == FieldDescriptor.TYPE_STRING:
        used = [name for step in steps for name in (*step.input, *step.output)]
        choices = used if used and draw.random() < 0.6 else NAMES
    elif isinstance(value, bytes):
        place, number = draw.randrange(len(value) + 1), draw.choice((*FLOATS, *EXTREMES))
        packed = struct.pack("<f" if isinstance(number, float) else "<q", number)
        over = value[:place] + packed + value[place + len(packed) :]
        choices = (over, over, value[:place]) if field.name == "raw_data" else TEXTS
    return draw.choice(choices)


OPERATORS = (
    "Relu", "Add", "Conv", "Gemm", "MatMul", "Reshape", "Transpose", "Concat", "Softmax", "Resize", "Pad", "Slice",
    "Split", "Gather", "Where", "ReduceMax", "Loop", "If", "LSTM", "NonZero", "Mod", "Pow", "Clip", "Upsample",
    "Col2Im", "GridSample", "ScatterND", "GatherND", "OneHot", "Trilu", "QLinearConv", "DynamicQuantizeLinear",
    "Twice", "", "Dropout", "LpPool", "LRN", "Einsum", "GroupNormalization", "InstanceNormalization", "DepthToSpace",
    "CumSum", "TopK", "Tile", "Expand", "Cast", "ArgMax", "Gelu", "LayerNormalization",
)  # fmt: skip


def hostile(seed: int) -> onnx.ModelProto | None:
    """The model of that number; None where protobuf itself refuses it."""
    draw = random.Random(seed)
    model = draw.choice(MODELS)()
    try:
        for _ in range(draw.choice((1, 1, 1, 2, 3))):
            _change(model, draw)
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
    counts, wrong, end, seed = Counter[str](), list[str](), time.process_time() + seconds, first
    while time.process_time() < end and len(wrong) < 20:
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
