"""Each float operator, lowered and executed in numpy, equals onnxruntime."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import onnx
import pytest

from tests.compiler.lower.program_interpreter import run
from tests.compiler.models import make, node, ort, program
from tigris_pio.compiler.ir.program import Program
from tigris_pio.errors import ModelError, UnsupportedError
from tigris_pio.format.enums import OpKind

RANDOM = np.random.default_rng(7)


def noise(*shape: int) -> np.ndarray:
    return RANDOM.standard_normal(shape).astype(np.float32)


def check(model: onnx.ModelProto, inputs: Mapping[str, np.ndarray]) -> Program:
    lowered = program(model)
    expected = ort(model, inputs)
    got = run(lowered, inputs)
    assert list(got) == list(expected)
    for name, value in expected.items():
        assert got[name].shape == value.shape
        np.testing.assert_allclose(got[name], value, rtol=1e-5, atol=1e-5)
    return lowered


def kinds(lowered: Program) -> list[OpKind]:
    return [op.kind for op in lowered.ops]


CONVS = [
    ((1, 3, 9, 8), (4, 3, 3, 3), {}),
    ((1, 3, 9, 8), (4, 3, 3, 3), {"pads": [1, 0, 2, 1], "strides": [2, 1]}),
    ((1, 3, 11, 10), (4, 3, 3, 2), {"dilations": [2, 3], "pads": [2, 1, 1, 2]}),
    ((1, 3, 9, 8), (4, 3, 3, 3), {"auto_pad": "SAME_UPPER", "strides": [2, 2]}),
    ((1, 3, 9, 8), (4, 3, 4, 2), {"auto_pad": "SAME_LOWER", "strides": [2, 3]}),
    ((1, 3, 9, 8), (4, 3, 3, 3), {"auto_pad": "VALID"}),
    ((1, 6, 7, 7), (4, 3, 3, 3), {"group": 2}),
    ((1, 6, 7, 7), (6, 1, 3, 3), {"group": 6, "pads": [1, 1, 1, 1]}),
    ((1, 3, 7, 7), (12, 1, 3, 3), {"group": 3, "strides": [2, 2]}),
    ((3, 2, 6, 5), (4, 2, 3, 3), {"pads": [1, 1, 1, 1]}),
    ((1, 5, 20), (7, 5, 4), {"strides": [2], "pads": [1, 2]}),
    ((1, 5, 20), (5, 1, 3), {"group": 5, "dilations": [2]}),
    ((2, 5, 20), (7, 5, 1), {}),
]


@pytest.mark.parametrize(("shape", "weights", "attributes"), CONVS)
@pytest.mark.parametrize("bias", [False, True])
def test_conv(shape: tuple[int, ...], weights: tuple[int, ...], attributes: dict[str, object], bias: bool) -> None:
    constants = {"w": noise(*weights)} | ({"b": noise(weights[0])} if bias else {})
    model = make([node("Conv", "x w b" if bias else "x w", "y", **attributes)], {"x": shape}, ["y"], constants)
    lowered = check(model, {"x": noise(*shape)})
    depthwise = attributes.get("group", 1) == shape[1]
    assert kinds(lowered) == [OpKind.DEPTHWISE_CONV_2D if depthwise else OpKind.CONV_2D]
    assert lowered.ops[0].images == shape[0]
    expected = np.prod(ort(model, {"x": noise(*shape)})["y"].shape) * np.prod(weights[1:])
    assert lowered.ops[0].macs == expected


@pytest.mark.parametrize("op", ["MaxPool", "AveragePool"])
@pytest.mark.parametrize("attributes", [
    {"kernel_shape": [3, 3]},
    {"kernel_shape": [3, 2], "strides": [2, 2], "pads": [1, 0, 0, 1]},
    {"kernel_shape": [3, 3], "strides": [2, 2], "ceil_mode": 1},
    {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1], "ceil_mode": 1},
    {"kernel_shape": [2, 2], "strides": [2, 2], "auto_pad": "SAME_UPPER"},
    {"kernel_shape": [3, 3], "strides": [2, 2], "auto_pad": "SAME_LOWER"},
])
def test_pool(op: str, attributes: dict[str, object]) -> None:
    model = make([node(op, "x", "y", **attributes)], {"x": (1, 3, 8, 9)}, ["y"])
    check(model, {"x": noise(1, 3, 8, 9)})


def test_max_pool_with_dilations() -> None:
    model = make([node("MaxPool", "x", "y", kernel_shape=[3, 2], dilations=[2, 3])], {"x": (1, 2, 9, 9)}, ["y"])
    check(model, {"x": noise(1, 2, 9, 9)})


@pytest.mark.parametrize("pads", [[1, 1, 1, 1], [0, 1, 1, 0]])
def test_average_pool_counts_padding(pads: list[int]) -> None:
    model = make([node("AveragePool", "x", "y", kernel_shape=[3, 3], pads=pads, count_include_pad=1)],
                 {"x": (1, 2, 6, 6)}, ["y"])
    check(model, {"x": noise(1, 2, 6, 6)})


@pytest.mark.parametrize("opset", [17, 19])
def test_average_pool_counts_padding_but_not_what_ceil_mode_adds(opset: int) -> None:
    extra = {"dilations": [1, 1]} if opset == 19 else {}
    model = make([node("AveragePool", "x", "y", kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 0], ceil_mode=1,
                       count_include_pad=1, **extra)], {"x": (2, 2, 8, 6)}, ["y"], opset=opset)
    image = np.random.default_rng(1).random((2, 2, 8, 6)).astype(np.float32)
    result = run(program(model), {"x": image})["y"]
    padded = np.pad(image, ((0, 0), (0, 0), (1, 1), (1, 0)))
    expected = np.zeros_like(result)
    for row in range(result.shape[2]):
        for column in range(result.shape[3]):
            window = padded[:, :, 2 * row : 2 * row + 3, 2 * column : 2 * column + 3]
            expected[:, :, row, column] = window.mean(axis=(2, 3))
    assert result.shape == (2, 2, 5, 3)
    np.testing.assert_allclose(result, expected, rtol=1e-5)


def test_pool_window_in_the_padding_only_is_refused() -> None:
    model = make([node("MaxPool", "x", "y", "far", kernel_shape=[2, 2], pads=[2, 0, 0, 0])], {"x": (1, 2, 5, 5)}, ["y"])
    with pytest.raises((ModelError, UnsupportedError), match="far"):
        program(model)


@pytest.mark.parametrize("pads", [[1, 1, 1, 1], [2, 0, 0, 2], [0, 3, 3, 0]])
def test_conv_windows_in_the_padding_give_the_bias(pads: list[int]) -> None:
    model = make([node("Conv", "x w b", "y", pads=pads)], {"x": (1, 2, 4, 4)}, ["y"],
                 {"w": noise(3, 2, 1, 2), "b": noise(3)})
    check(model, {"x": noise(1, 2, 4, 4)})


@pytest.mark.parametrize("op", ["GlobalAveragePool", "GlobalMaxPool"])
@pytest.mark.parametrize("shape", [(1, 4, 5, 6), (2, 4, 7)])
def test_global_pool(op: str, shape: tuple[int, ...]) -> None:
    check(make([node(op, "x", "y")], {"x": shape}, ["y"]), {"x": noise(*shape)})


@pytest.mark.parametrize("op", ["MaxPool", "AveragePool"])
def test_pool_in_one_dimension(op: str) -> None:
    model = make([node(op, "x", "y", kernel_shape=[4], strides=[3], pads=[1, 2])], {"x": (1, 3, 16)}, ["y"])
    check(model, {"x": noise(1, 3, 16)})


@pytest.mark.parametrize("keepdims", [0, 1])
@pytest.mark.parametrize("opset", [13, 18])
def test_reduce_mean_over_space(keepdims: int, opset: int) -> None:
    if opset == 13:
        model = make([node("ReduceMean", "x", "y", axes=[2, 3], keepdims=keepdims)], {"x": (1, 4, 5, 6)}, ["y"],
                     opset=13)
    else:
        model = make([node("ReduceMean", "x axes", "y", keepdims=keepdims)], {"x": (1, 4, 5, 6)}, ["y"],
                     {"axes": np.array([-1, 2])}, opset=18)
    assert kinds(check(model, {"x": noise(1, 4, 5, 6)})) == [OpKind.SUM_MAP, OpKind.MEAN_OF_SUMS]


GEMMS = [
    {}, {"transB": 1}, {"transA": 1}, {"alpha": 0.5, "beta": 2.0, "transB": 1}, {"transA": 1, "transB": 1},
]


@pytest.mark.parametrize("attributes", GEMMS)
@pytest.mark.parametrize("rows", [1, 3])
@pytest.mark.parametrize("bias", [None, (5,), (1, 5), ()])
def test_gemm(attributes: dict[str, object], rows: int, bias: tuple[int, ...] | None) -> None:
    shape = (4, rows) if attributes.get("transA") else (rows, 4)
    constants = {"w": noise(5, 4) if attributes.get("transB") else noise(4, 5)}
    if bias is not None:
        constants["c"] = noise(*bias)
    model = make([node("Gemm", "x w" if bias is None else "x w c", "y", **attributes)], {"x": shape}, ["y"], constants)
    check(model, {"x": noise(*shape)})


@pytest.mark.parametrize(("shape", "matrix"), [((1, 6), (6, 4)), ((2, 3, 6), (6, 4)), ((6,), (6, 4)), ((3, 6), (6,)),
                                               ((2, 5, 3, 6), (1, 1, 6, 2))])
def test_matmul(shape: tuple[int, ...], matrix: tuple[int, ...]) -> None:
    model = make([node("MatMul", "x w", "y")], {"x": shape}, ["y"], {"w": noise(*matrix)})
    assert kinds(check(model, {"x": noise(*shape)})) == [OpKind.FULLY_CONNECTED]


BROADCASTS = [
    ((1, 3, 4, 5), (1, 3, 4, 5)), ((1, 3, 4, 5), (1, 3, 1, 1)), ((1, 3, 4, 5), (3, 1, 1)), ((1, 3, 4, 5), ()),
    ((1, 3, 4, 5), (1,)), ((1, 3, 4, 5), (5,)), ((1, 3, 4, 5), (4, 1)), ((1, 3, 1, 1), (1, 3, 4, 5)),
    ((1, 1, 4, 5), (1, 3, 4, 5)), ((1, 3, 1, 5), (1, 1, 4, 5)), ((1, 1, 1, 5), (1, 3, 4, 1)), ((2, 6), (6,)),
    ((2, 6), (2, 1)), ((4, 5, 6), (5, 1)), ((2, 3, 4, 5), (2, 3, 4, 5)), ((2, 3, 4, 5), (1, 3, 1, 1)),
    ((2, 3, 4, 5), (2, 1, 1, 1)), ((3, 1), (4,)), ((6,), (6,)), ((1, 3, 4, 5), (3, 4, 5)),
]


@pytest.mark.parametrize(("first", "second"), BROADCASTS)
@pytest.mark.parametrize("op", ["Add", "Sub", "Mul"])
@pytest.mark.parametrize("constant", [None, 0, 1])
def test_binary(first: tuple[int, ...], second: tuple[int, ...], op: str, constant: int | None) -> None:
    shapes = {"a": first, "b": second}
    fixed = {} if constant is None else {"ab"[constant]: noise(*shapes["ab"[constant]])}
    free = {name: shape for name, shape in shapes.items() if name not in fixed}
    model = make([node(op, "a b", "y")], free, ["y"], fixed)
    lowered = check(model, {name: noise(*shape) for name, shape in free.items()})
    assert not {OpKind.COPY} & set(kinds(lowered))


@pytest.mark.parametrize("count", [1, 2, 4])
def test_sum(count: int) -> None:
    names = [f"x{index}" for index in range(count)]
    shapes = {name: (1, 3, 4, 5) if index % 2 == 0 else (1, 3, 1, 1) for index, name in enumerate(names)}
    lowered = check(make([node("Sum", " ".join(names), "y")], shapes, ["y"]),
                    {name: noise(*shape) for name, shape in shapes.items()})
    assert kinds(lowered) == [OpKind.ADD] * (count - 1) or count == 1


def test_broadcast_along_five_groups_of_axes() -> None:
    shapes = {"x": (2, 3, 2, 2, 3)}
    small = noise(3, 1, 2, 1)
    check(make([node("Mul", "x c", "y")], shapes, ["y"], {"c": small}), {"x": noise(*shapes["x"])})
    both = shapes | {"c": small.shape}
    lowered = check(make([node("Mul", "x c", "y")], both, ["y"]), {name: noise(*shape) for name, shape in both.items()})
    assert kinds(lowered) == [OpKind.TRANSPOSE, OpKind.MUL]


@pytest.mark.parametrize("divisor", [(), (3, 1, 1)])
def test_div_by_constant(divisor: tuple[int, ...]) -> None:
    model = make([node("Div", "x c", "y")], {"x": (1, 3, 4, 5)}, ["y"], {"c": noise(*divisor) + np.float32(3)})
    check(model, {"x": noise(1, 3, 4, 5)})


@pytest.mark.parametrize("activation", [
    node("Relu", "x", "y"), node("LeakyRelu", "x", "y", alpha=0.2), node("Sigmoid", "x", "y"), node("Tanh", "x", "y"),
    node("HardSwish", "x", "y"), node("HardSigmoid", "x", "y", alpha=0.3, beta=0.4), node("Exp", "x", "y"),
    node("Clip", "x lo hi", "y"), node("Clip", "x lo", "y"), node("Clip", "x - hi", "y"), node("Identity", "x", "y"),
    node("Dropout", "x", "y"), node("Softmax", "x", "y", axis=1), node("Softmax", "x", "y", axis=2),
    node("Softmax", "x", "y"), node("Transpose", "x", "y", perm=[0, 2, 3, 1]), node("Transpose", "x", "y"),
    node("Flatten", "x", "y"), node("Flatten", "x", "y", axis=2),
], ids=lambda item: f"{item.op_type}-{len(item.attribute)}-{len(item.input)}")
@pytest.mark.parametrize("shape", [(1, 3, 4, 5), (2, 3, 4, 5)])
def test_unary(activation: onnx.NodeProto, shape: tuple[int, ...]) -> None:
    bounds = {"lo": np.array(-0.5, np.float32), "hi": np.array(0.7, np.float32)}
    used = {name: value for name, value in bounds.items() if name in activation.input}
    check(make([activation], {"x": shape}, ["y"], used), {"x": noise(*shape)})


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -2])
@pytest.mark.parametrize("opset", [11, 13])
def test_softmax_axes_of_old_and_new_opsets(axis: int, opset: int) -> None:
    model = make([node("Softmax", "x", "y", axis=axis)], {"x": (2, 3, 4)}, ["y"], opset=opset)
    check(model, {"x": noise(2, 3, 4)})


@pytest.mark.parametrize("axis", [0, 1, 2, 3, -1])
@pytest.mark.parametrize("count", [2, 3, 9, 20])
def test_concat(axis: int, count: int) -> None:
    shapes = []
    for index in range(count):
        shape = [1, 3, 4, 5]
        shape[axis] = 1 + index % 3
        shapes.append(tuple(shape))
    names = [f"x{index}" for index in range(count)]
    model = make([node("Concat", " ".join(names), "y", axis=axis)], dict(zip(names, shapes, strict=True)), ["y"])
    lowered = check(model, {name: noise(*shape) for name, shape in zip(names, shapes, strict=True)})
    assert all(len(op.operands) <= 8 for op in lowered.ops)


@pytest.mark.parametrize("shape", [(6,), (2, 6), (2, 3, 4), (1, 2, 3, 2, 2)])
def test_concat_of_other_ranks_and_with_a_constant(shape: tuple[int, ...]) -> None:
    for axis in range(len(shape)):
        model = make([node("Concat", "x c x", "y", axis=axis)], {"x": shape}, ["y"], {"c": noise(*shape)})
        check(model, {"x": noise(*shape)})


@pytest.mark.parametrize("shape", [(1, 3, 5, 4), (2, 3, 6), (4, 3)])
def test_batch_normalisation_alone(shape: tuple[int, ...]) -> None:
    constants = {"g": noise(3), "b": noise(3), "m": noise(3), "v": np.abs(noise(3)) + np.float32(0.1)}
    model = make([node("BatchNormalization", "x g b m v", "y", epsilon=1e-3)], {"x": shape}, ["y"], constants)
    check(model, {"x": noise(*shape)})


def test_flatten_permutes_the_matrix_instead_of_the_data() -> None:
    model = make(
        [node("Conv", "x w", "c", pads=[1, 1, 1, 1]), node("Flatten", "c", "f"), node("Gemm", "f m", "y")],
        {"x": (1, 2, 5, 4)}, ["y"], {"w": noise(3, 2, 3, 3), "m": noise(60, 7)},
    )
    assert kinds(check(model, {"x": noise(1, 2, 5, 4)})) == [OpKind.CONV_2D, OpKind.FULLY_CONNECTED]


def test_flatten_of_a_batch() -> None:
    model = make(
        [node("Conv", "x w", "c"), node("Flatten", "c", "f"), node("Gemm", "f m", "y")],
        {"x": (3, 2, 5, 4)}, ["y"], {"w": noise(3, 2, 2, 2), "m": noise(36, 7)},
    )
    assert kinds(check(model, {"x": noise(3, 2, 5, 4)})) == [OpKind.CONV_2D, OpKind.FULLY_CONNECTED]


def test_gemm_to_image_needs_one_transposition() -> None:
    model = make(
        [node("Gemm", "x m", "g"), node("Reshape", "g s", "r"), node("Conv", "r w", "y")],
        {"x": (1, 6)}, ["y"], {"m": noise(6, 48), "s": np.array([1, 3, 4, 4]), "w": noise(2, 3, 3, 3)},
    )
    assert kinds(check(model, {"x": noise(1, 6)})) == [OpKind.FULLY_CONNECTED, OpKind.TRANSPOSE, OpKind.CONV_2D]


def test_channels_last_export_costs_no_transposition() -> None:
    """As tf2onnx exports: NHWC in and out, Transpose around the convolutions."""
    model = make(
        [node("Transpose", "x", "t", perm=[0, 3, 1, 2]), node("Conv", "t w", "c"), node("Relu", "c", "r"),
         node("Conv", "r v", "d"), node("Transpose", "d", "y", perm=[0, 2, 3, 1])],
        {"x": (1, 6, 5, 3)}, ["y"], {"w": noise(4, 3, 2, 2), "v": noise(2, 4, 1, 1)},
    )
    assert kinds(check(model, {"x": noise(1, 6, 5, 3)})) == [OpKind.CONV_2D, OpKind.CONV_2D]


def test_channel_shuffle_is_one_transposition() -> None:
    model = make(
        [node("Conv", "x w", "c"), node("Reshape", "c s5", "r"), node("Transpose", "r", "t", perm=[0, 2, 1, 3, 4]),
         node("Reshape", "t s4", "u"), node("Conv", "u v", "y", group=2)],
        {"x": (1, 2, 4, 3)}, ["y"],
        {"w": noise(6, 2, 1, 1), "v": noise(4, 3, 1, 1), "s5": np.array([1, 2, 3, 4, 3]),
         "s4": np.array([1, 6, 4, 3])},
    )
    assert kinds(check(model, {"x": noise(1, 2, 4, 3)})) == [OpKind.CONV_2D, OpKind.TRANSPOSE, OpKind.CONV_2D]


def test_two_row_structures_of_one_tensor_cost_a_copy() -> None:
    model = make(
        [node("Conv", "x w", "c"), node("Reshape", "c s", "r"), node("Conv", "r v", "y"), node("Relu", "c", "z")],
        {"x": (1, 1, 6, 8)}, ["y", "z"],
        {"w": noise(1, 1, 1, 1), "s": np.array([1, 1, 8, 6]), "v": noise(2, 1, 3, 3)},
    )
    assert sorted(kinds(check(model, {"x": noise(1, 1, 6, 8)}))) == sorted(
        [OpKind.CONV_2D, OpKind.COPY, OpKind.CONV_2D, OpKind.UNARY])


def test_squeeze_excite() -> None:
    model = make(
        [node("Conv", "x w", "c"), node("GlobalAveragePool", "c", "p"), node("Conv", "p d", "e"),
         node("Relu", "e", "r"), node("Conv", "r u", "f"), node("HardSigmoid", "f", "h"), node("Mul", "h c", "y")],
        {"x": (1, 3, 5, 5)}, ["y"], {"w": noise(8, 3, 3, 3), "d": noise(2, 8, 1, 1), "u": noise(8, 2, 1, 1)},
    )
    lowered = check(model, {"x": noise(1, 3, 5, 5)})
    assert kinds(lowered)[-1] == OpKind.MUL
    assert [operand.rows.numerator for operand in lowered.ops[-1].operands] == [0, 1]


def test_input_passed_straight_to_an_output_is_copied() -> None:
    model = make([node("Relu", "x", "y"), node("Identity", "x", "z")], {"x": (1, 3, 4, 4)}, ["y", "z"])
    lowered = check(model, {"x": noise(1, 3, 4, 4)})
    assert len({io.tensor for io in (*lowered.inputs, *lowered.outputs)}) == 3


def test_constant_output() -> None:
    model = make([node("Relu", "x", "y"), node("Add", "c c", "z")], {"x": (1, 3)}, ["y", "z"], {"c": noise(2, 2)})
    check(model, {"x": noise(1, 3)})


@pytest.mark.parametrize("opset", [7, 9, 11, 13, 18, 21])
def test_opsets(opset: int) -> None:
    """Attributes that became inputs over the years: Clip, Squeeze, Unsqueeze, Dropout."""
    bounds = {"min": -0.5, "max": 0.5} if opset < 11 else {}
    axes = {"axes": [0]} if opset < 13 else {}
    weights = {"s": np.array([1, 12])}
    if not bounds:
        weights |= {"lo": np.array(-0.5, np.float32), "hi": np.array(0.5, np.float32)}
    if not axes:
        weights["ax"] = np.array([0])
    nodes = [
        node("Clip", "x" if bounds else "x lo hi", "a", **bounds), node("Reshape", "a s", "b"),
        node("Unsqueeze", "b" if axes else "b ax", "c", **axes), node("Dropout", "c", "d"),
        node("Squeeze", "d" if axes else "d ax", "e", **axes), node("Softmax", "e", "y", axis=1),
    ]
    check(make(nodes, {"x": (1, 3, 2, 2)}, ["y"], weights, opset=opset), {"x": noise(1, 3, 2, 2)})
