"""Float operators and short graphs of them equal onnxruntime, by the kernels that they ought to become."""

import numpy as np
import onnx
import pytest

from tests.compiler.lower.compare import Case, case, check, ints, kinds, noise, quantised
from tests.compiler.models import make, node, program
from tigris_pio.errors import ModelError, UnsupportedError
from tigris_pio.format.enums import DType, OpKind

CONV, DEPTHWISE, FULL = OpKind.CONV_2D, OpKind.DEPTHWISE_CONV_2D, OpKind.FULLY_CONNECTED
IMAGE = (1, 3, 9, 8)

LAYERS = [
    case("Conv", IMAGE, [4, 3, 3, 3], found=[CONV]),
    case("Conv", IMAGE, [4, 3, 3, 3], [4], pads=[1, 0, 2, 1], strides=[2, 1], found=[CONV]),
    case("Conv", (1, 3, 11, 10), [4, 3, 3, 2], dilations=[2, 3], pads=[2, 1, 1, 2], found=[CONV]),
    case("Conv", IMAGE, [4, 3, 3, 3], [4], auto_pad="SAME_UPPER", strides=[2, 2], found=[CONV]),
    case("Conv", IMAGE, [4, 3, 4, 2], auto_pad="SAME_LOWER", strides=[2, 3], found=[CONV]),
    case("Conv", (1, 6, 7, 7), [4, 3, 3, 3], [4], group=2, found=[CONV]),
    case("Conv", (1, 6, 7, 7), [6, 1, 3, 3], [6], group=6, pads=[1, 1, 1, 1], found=[DEPTHWISE]),
    case("Conv", (1, 3, 7, 7), [12, 1, 3, 3], group=3, strides=[2, 2], found=[DEPTHWISE]),
    case("Conv", (3, 2, 6, 5), [4, 2, 3, 3], [4], pads=[1, 1, 1, 1], found=[CONV]),
    case("Conv", (1, 5, 20), [7, 5, 4], [7], strides=[2], pads=[1, 2], found=[CONV]),
    case("Conv", (1, 5, 20), [5, 1, 3], group=5, dilations=[2], found=[DEPTHWISE]),
    # Windows in the padding give the bias.
    *(case("Conv", (1, 2, 4, 4), [3, 2, 1, 2], [3], pads=pads, found=[CONV]) for pads in ([2, 0, 0, 2], [0, 3, 3, 0])),
    case("Gemm", (1, 4), [4, 5]), case("Gemm", (3, 4), [5, 4], [5], transB=1, alpha=0.5, beta=2.0),
    case("Gemm", (4, 3), [4, 5], [1, 5], transA=1), case("Gemm", (4, 3), [5, 4], [], transA=1, transB=1),
    *(case("MatMul", shape, matrix, found=[FULL]) for shape, matrix in (
        ((2, 3, 6), [6, 4]), ((6,), [6, 4]), ((3, 6), [6]), ((2, 5, 3, 6), [1, 1, 6, 2]))),
]
POOLS = [
    *(case(op, (1, 3, 8, 9), **attributes) for op in ("MaxPool", "AveragePool") for attributes in (
        {"kernel_shape": [3, 2], "strides": [2, 2], "pads": [1, 0, 0, 1]},
        {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1], "ceil_mode": 1},
        {"kernel_shape": [3, 3], "strides": [2, 2], "auto_pad": "SAME_LOWER"})),
    *(case(op, (1, 3, 16), kernel_shape=[4], strides=[3], pads=[1, 2]) for op in ("MaxPool", "AveragePool")),
    case("MaxPool", (1, 2, 9, 9), kernel_shape=[3, 2], dilations=[2, 3]),
    case("AveragePool", (1, 2, 6, 6), kernel_shape=[3, 3], pads=[0, 1, 1, 0], count_include_pad=1),
    *(case(op, shape) for op in ("GlobalAveragePool", "GlobalMaxPool") for shape in ((1, 4, 5, 6), (2, 4, 7))),
    case("ReduceMean", (1, 4, 5, 6), axes=[2, 3], keepdims=0, opset=13, found=[OpKind.SUM_MAP, OpKind.MEAN_OF_SUMS]),
    case("ReduceMean", (1, 4, 5, 6), ints(-1, 2), opset=18, found=[OpKind.SUM_MAP, OpKind.MEAN_OF_SUMS]),
]
#: Two shapes that are broadcast, each time in another way.
BROADCASTS = [
    ((1, 3, 4, 5), (3, 1, 1)), ((1, 3, 4, 5), ()), ((1, 3, 4, 5), (5,)), ((1, 3, 4, 5), (4, 1)),
    ((1, 3, 1, 1), (1, 3, 4, 5)), ((1, 1, 4, 5), (1, 3, 4, 5)), ((1, 3, 1, 5), (1, 1, 4, 5)),
    ((1, 1, 1, 5), (1, 3, 4, 1)), ((2, 6), (2, 1)), ((4, 5, 6), (5, 1)), ((2, 3, 4, 5), (1, 3, 1, 1)),
    ((2, 3, 4, 5), (2, 1, 1, 1)), ((3, 1), (4,)), ((6,), (6,)),
]
OPERATIONS = ("Add", "Sub", "Mul")
BINARY = [
    *(case(OPERATIONS[index % 3], first, second) for index, (first, second) in enumerate(BROADCASTS)),
    *(case(OPERATIONS[index % 3], first, list(second)) for index, (first, second) in enumerate(BROADCASTS)),
    *(case(OPERATIONS[index % 3], list(first), second) for index, (first, second) in enumerate(BROADCASTS, 1)),
    case("Sum", (1, 3, 4, 5)), case("Sum", (1, 3, 4, 5), (1, 3, 1, 1), (1, 3, 4, 5), found=[OpKind.ADD] * 2),
    case("Div", (1, 3, 4, 5), np.float32(3)), case("Div", (1, 3, 4, 5), np.full((3, 1, 1), 1.7, np.float32)),
    # Five groups of axes.
    case("Mul", (2, 3, 2, 2, 3), [3, 1, 2, 1]),
    case("Mul", (2, 3, 2, 2, 3), (3, 1, 2, 1), found=[OpKind.TRANSPOSE, OpKind.MUL]),
]
LOW, HIGH = np.float32(-0.5), np.float32(0.7)
UNARY = [
    *(case(op, (2, 3, 4, 5)) for op in ("Relu", "Sigmoid", "Tanh", "HardSwish", "Exp", "Identity", "Dropout")),
    case("LeakyRelu", (1, 3, 4, 5), alpha=0.2), case("HardSigmoid", (1, 3, 4, 5), alpha=0.3, beta=0.4),
    case("Clip", (1, 3, 4, 5), LOW, HIGH), case("Clip", (1, 3, 4, 5), LOW), case("Clip", (2, 3, 4), None, HIGH),
    *(case("Softmax", (2, 3, 4), axis=axis, opset=opset) for axis, opset in ((0, 13), (1, 13), (-1, 11), (-2, 11))),
    case("Softmax", (2, 3, 4, 5), axis=1), case("Transpose", (2, 3, 4, 5), perm=[0, 2, 3, 1]),
    case("Transpose", (1, 3, 4, 5)), case("Flatten", (2, 3, 4, 5)), case("Flatten", (2, 3, 4, 5), axis=2),
    *(case("BatchNormalization", shape, [3], [3], [3], np.float32([0.1, 1, 2]), epsilon=1e-3)
      for shape in ((1, 3, 5, 4), (2, 3, 6), (4, 3))),
]
JOINS = [
    *(case("Concat", *((1, 1 + index % 3, 4, 5) for index in range(count)), axis=1) for count in (2, 9, 40)),
    case("Concat", (1, 3, 4, 5), (2, 3, 4, 5), axis=0), case("Concat", (1, 3, 4, 5), (1, 3, 1, 5), axis=2),
    case("Concat", (1, 3, 4, 5), (1, 3, 4, 2), axis=-1),
    *(case("Concat", shape, list(shape), shape, axis=axis) for shape in ((6,), (2, 3, 4), (1, 2, 3, 2, 2))
      for axis in range(len(shape))),
]


@pytest.mark.parametrize("each", [*LAYERS, *POOLS, *BINARY, *UNARY, *JOINS], ids=lambda each: each.op)
def test_one_node(each: Case) -> None:
    each.check()


def test_work_and_images_are_counted() -> None:
    model = make([node("Conv", "x w", "y", group=2, pads=[1, 1, 1, 1])], {"x": (3, 4, 6, 5)}, ["y"],
                 {"w": noise(6, 2, 3, 3)})
    (op,) = program(model).ops
    assert op.images == 3 and op.macs == 3 * 6 * 6 * 5 * 2 * 3 * 3


@pytest.mark.parametrize("opset", [17, 19])
def test_average_pool_counts_padding_but_not_what_ceil_mode_adds(opset: int) -> None:
    extra = {"dilations": [1, 1]} if opset == 19 else {}
    image = noise(2, 2, 8, 6)
    padded = np.pad(image, ((0, 0), (0, 0), (1, 1), (1, 0)))
    means = [[padded[:, :, row : row + 3, column : column + 3].mean(axis=(2, 3)) for column in range(0, 6, 2)]
             for row in range(0, 10, 2)]
    model = make([node("AveragePool", "x", "y", kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 0], ceil_mode=1,
                       count_include_pad=1, **extra)], {"x": image.shape}, ["y"], opset=opset)
    check(model, {"x": image}, {"y": np.array(means).transpose(2, 3, 0, 1)})


def test_pool_window_in_the_padding_only_is_refused() -> None:
    model = make([node("MaxPool", "x", "y", "far", kernel_shape=[2, 2], pads=[2, 0, 0, 0])], {"x": (1, 2, 5, 5)}, ["y"])
    with pytest.raises((ModelError, UnsupportedError), match="far"):
        program(model)


#: Nodes from x to y as `op inputs output attribute=value…`, the shape of x, constants, and the plan's operators.
GRAPHS: dict[str, tuple[list[onnx.NodeProto], tuple[int, ...], dict[str, tuple[int, ...] | np.ndarray], list[OpKind]]]
GRAPHS = {
    "flatten permutes the matrix": (
        [node("Conv", "x w", "c", pads=[1, 1, 1, 1]), node("Flatten", "c", "f"), node("Gemm", "f m", "y")],
        (1, 2, 5, 4), {"w": (3, 2, 3, 3), "m": (60, 7)}, [CONV, FULL]),
    "flatten of a batch": (
        [node("Conv", "x w", "c"), node("Flatten", "c", "f"), node("Gemm", "f m", "y")],
        (3, 2, 5, 4), {"w": (3, 2, 2, 2), "m": (36, 7)}, [CONV, FULL]),
    "a vector becomes an image": (
        [node("Gemm", "x m", "g"), node("Reshape", "g s", "r"), node("Conv", "r w", "y")],
        (1, 6), {"m": (6, 48), "s": ints(1, 3, 4, 4), "w": (2, 3, 3, 3)}, [FULL, OpKind.TRANSPOSE, CONV]),
    "channels last, as tf2onnx exports": (
        [node("Transpose", "x", "t", perm=[0, 3, 1, 2]), node("Conv", "t w", "c"), node("Relu", "c", "r"),
         node("Conv", "r v", "d"), node("Transpose", "d", "y", perm=[0, 2, 3, 1])],
        (1, 6, 5, 3), {"w": (4, 3, 2, 2), "v": (2, 4, 1, 1)}, [CONV, CONV]),
    "channel shuffle": (
        [node("Conv", "x w", "c"), node("Reshape", "c s5", "r"), node("Transpose", "r", "t", perm=[0, 2, 1, 3, 4]),
         node("Reshape", "t s4", "u"), node("Conv", "u v", "y", group=2)],
        (1, 2, 4, 3), {"w": (6, 2, 1, 1), "v": (4, 3, 1, 1), "s5": ints(1, 2, 3, 4, 3), "s4": ints(1, 6, 4, 3)},
        [CONV, OpKind.TRANSPOSE, CONV]),
    "squeeze and excite": (
        [node("Conv", "x w", "c"), node("GlobalAveragePool", "c", "p"), node("Conv", "p d", "e"),
         node("Relu", "e", "r"), node("Conv", "r u", "f"), node("HardSigmoid", "f", "h"), node("Mul", "h c", "y")],
        (1, 3, 5, 5), {"w": (8, 3, 3, 3), "d": (2, 8, 1, 1), "u": (8, 2, 1, 1)},
        [CONV, OpKind.SUM_MAP, OpKind.MEAN_OF_SUMS, CONV, CONV, OpKind.UNARY, OpKind.MUL]),
    "two row structures of one tensor": (
        [node("Conv", "x w", "c"), node("Reshape", "c s", "r"), node("Conv", "r v", "y"), node("Relu", "c", "z")],
        (1, 1, 6, 8), {"w": (1, 1, 1, 1), "s": ints(1, 1, 8, 6), "v": (2, 1, 3, 3)},
        [CONV, OpKind.COPY, CONV, OpKind.UNARY]),
    "an input is an output": ([node("Relu", "x", "y"), node("Identity", "x", "z")], (1, 3, 4, 4), {},
                              [OpKind.UNARY, OpKind.COPY]),
    "an output is a constant": ([node("Relu", "x", "y"), node("Add", "c c", "z")], (1, 3), {"c": (2, 2)},
                                [OpKind.UNARY, OpKind.COPY]),
}


@pytest.mark.parametrize("name", GRAPHS)
def test_graphs_of_few_operators(name: str) -> None:
    nodes, shape, constants, found = GRAPHS[name]
    results = sorted({output for item in nodes for output in item.output} & {"y", "z"})
    weights = {key: noise(*value) if isinstance(value, tuple) else value for key, value in constants.items()}
    compiled = check(make(nodes, {"x": shape}, results, weights), {"x": noise(*shape)})
    assert sorted(kinds(compiled)) == sorted(found)


# Pooling over three axes and of powers, run by the runtime, equal onnxruntime or numpy.

PADDED, BLOCK = (2, 3, 7, 8), (2, 3, 6, 7, 8)
CASES = [
    *(case(op, BLOCK, opset=19, **attributes) for op in ("MaxPool", "AveragePool", "LpPool") for attributes in (
        {"kernel_shape": [3, 2, 1], "strides": [2, 1, 3], "pads": [1, 0, 0, 1, 1, 0]},
        {"kernel_shape": [3, 3, 3], "strides": [2, 2, 2], "ceil_mode": 1},
        {"kernel_shape": [3, 3, 3], "strides": [2, 2, 2], "auto_pad": "SAME_UPPER"},
        {"kernel_shape": [2, 2, 2], "dilations": [2, 1, 3]})),
    *(case("AveragePool", (1, 2, 5, 4, 6), kernel_shape=[3, 3, 3], pads=pads, count_include_pad=1)
      for pads in ([1] * 6, [0, 1, 0, 0, 0, 1])),
    *(case(op, shape) for op in ("GlobalMaxPool", "GlobalAveragePool", "GlobalLpPool") for shape in ((2, 3, 7), BLOCK)),
    *(case("LpPool", PADDED, kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4, p=p, opset=18) for p in (1, 3)),
    *(case("GlobalLpPool", PADDED, p=p) for p in (1, 3)),
]


@pytest.mark.parametrize("each", CASES, ids=lambda each: each.op)
def test_pools_over_three_axes_and_of_powers(each: Case) -> None:
    each.check()


def test_int8_maximum_over_three_axes_stays_int8() -> None:
    model = quantised([node("MaxPool", "x", "m", kernel_shape=[2, 3, 2])], {"x": ((1, 2, 4, 5, 6), 0.05, 3)}, (0.05, 3))
    compiled = check(model, {"x": noise(1, 2, 4, 5, 6)})
    assert {op.dtype for op in compiled.plan.program.ops} == {DType.INT8}
    assert set(kinds(compiled)) - {OpKind.COPY, OpKind.TRANSPOSE} == {OpKind.MAX_POOL}


@pytest.mark.parametrize(("outputs", "shape", "kernel", "why"), [
    ("y i", (1, 2, 4, 4), [2, 2], "indices"), ("y", (1, 2, 4, 4, 4, 4), [2, 2, 2, 2], "spatial")])
def test_four_axes_and_indices_are_refused_by_name(outputs: str, shape: tuple[int, ...], kernel: list[int],
                                                   why: str) -> None:
    model = make([node("MaxPool", "x", outputs, "deep", kernel_shape=kernel)], {"x": shape}, outputs.split(),
                 types={"i": 7})
    with pytest.raises(UnsupportedError, match=f"deep.*{why}"):
        program(model)
