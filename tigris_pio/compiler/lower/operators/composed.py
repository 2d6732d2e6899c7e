"""Operators composed of a few others: Det, AffineGrid, Col2Im, integer products, Binarizer, optimizers and more."""

from __future__ import annotations

import dataclasses
import math

import numpy as np

from tigris_pio.compiler.ir.graph import Node
from tigris_pio.compiler.lower.builder import Builder
from tigris_pio.compiler.lower.operators.compose import Composer
from tigris_pio.compiler.lower.operators.select import integer_input
from tigris_pio.compiler.lower.refusal import Refusal
from tigris_pio.compiler.lower.registry import operator

_LARGEST_MATRIX = 4


@operator("Det", summary="matrices of up to 4 x 4; computed in float32")
def lower_det(builder: Builder, node: Node) -> None:
    """Laplace's expansion along the first row."""
    composer = Composer(builder, node)
    *batch, size, _ = builder.shape(node.inputs[0])
    if size > _LARGEST_MATRIX:
        raise Refusal(f"matrices of {size} x {size}; up to {_LARGEST_MATRIX} x {_LARGEST_MATRIX} are supported")
    flat = composer.add("Reshape", [node.inputs[0]], (*batch, size * size))
    elements = [[_element(composer, flat, (*batch, 1), row * size + column) for column in range(size)]
                for row in range(size)]
    whole = _minor(composer, elements, 0, tuple(range(size)), (*batch, 1))
    composer.finish("Reshape", [whole])


def _element(composer: Composer, flat: str, shape: tuple[int, ...], at: int) -> str:
    name = composer.builder.fresh(f"{flat}/at")
    composer.builder.define_constant(name, np.array([at], np.int64))
    return composer.add("Gather", [flat, name], shape, {"axis": len(shape) - 1})


def _minor(composer: Composer, elements: list[list[str]], row: int, columns: tuple[int, ...],
           shape: tuple[int, ...]) -> str:
    """The determinant of the rows from `row` on, restricted to `columns`."""
    if len(columns) == 1:
        return elements[row][columns[0]]
    total = ""
    for place, column in enumerate(columns):
        rest = tuple(other for other in columns if other != column)
        term = composer.add("Mul", [elements[row][column], _minor(composer, elements, row + 1, rest, shape)], shape)
        total = composer.add("Sub" if place % 2 else "Add", [total, term], shape) if total else term
    return total


@operator("AffineGrid", summary="constant size")
def lower_affine_grid(builder: Builder, node: Node) -> None:
    """A constant grid of coordinates in [-1, 1], times each matrix."""
    composer = Composer(builder, node)
    found = integer_input(builder, node, 1, "size")
    if found is None:
        raise Refusal("it has no size")
    size = [int(extent) for extent in found[2:]]
    corners = bool(node.attributes.get("align_corners", 0))
    lines = [np.linspace(-1, 1, extent) if corners and extent > 1 else
             (np.zeros(1) if corners else (2 * np.arange(extent) + 1) / extent - 1) for extent in size]
    grid = np.meshgrid(*lines, indexing="ij")[::-1]
    points = np.stack([*(line.reshape(-1) for line in grid), np.ones(int(np.prod(size)))], axis=-1)
    batch, rows, columns = builder.shape(node.inputs[0])
    turned = composer.add("Transpose", [node.inputs[0]], (batch, columns, rows), {"perm": (0, 2, 1)})
    product = composer.add("MatMul", [composer.constant(points), turned], (batch, len(points), rows))
    composer.finish("Reshape", [product])


def lower_training_batch_normalization(builder: Builder, node: Node) -> None:
    """Normalises with the statistics of the batch, and updates the running statistics."""
    composer = Composer(builder, node)
    name, scale, bias, *running = node.inputs[:5]
    shape, channels = builder.shape(name), builder.shape(scale)
    axes = {"axes": (0, *range(2, len(shape))), "keepdims": 0}
    mean = composer.add("ReduceMean", [name], channels, axes)
    column = (channels[0], *(1,) * (len(shape) - 2))
    centred = composer.add("Sub", [name, composer.add("Reshape", [mean], column)], shape)
    squares = composer.add("Mul", [centred, centred], shape)
    variance = composer.add("ReduceMean", [squares], channels, axes)
    spread = composer.add("Add", [variance, composer.constant(node.attributes.get("epsilon", 1e-5))], channels)
    deviation = composer.add("Sqrt", [spread], channels)
    factor = composer.add("Reshape", [composer.add("Div", [scale, deviation], channels)], column)
    scaled = composer.add("Mul", [centred, factor], shape)
    composer.finish("Add", [scaled, composer.add("Reshape", [bias], column)])
    momentum = float(node.attributes.get("momentum", 0.9))
    for old, new, output in zip(running, (mean, variance), node.outputs[1:], strict=False):
        if output and builder.is_read(output):
            kept = composer.add("Mul", [old, composer.constant(momentum)], channels)
            taken = composer.add("Mul", [new, composer.constant(1 - momentum)], channels)
            composer.add_as("Add", [kept, taken], output)


@operator("Binarizer", domain="ai.onnx.ml", summary="float32")
def lower_binarizer(builder: Builder, node: Node) -> None:
    """1 above the threshold, 0 elsewhere."""
    composer = Composer(builder, node)
    composer.finish("Greater", [node.inputs[0], composer.constant(node.attributes.get("threshold", 0.0))])


@operator("ArrayFeatureExtractor", domain="ai.onnx.ml", summary="elements of the last axis")
def lower_array_feature_extractor(builder: Builder, node: Node) -> None:
    """Gather along the last axis."""
    composer = Composer(builder, node)
    name, index = node.inputs
    shape, count = builder.shape(name), int(np.prod(builder.shape(index)))
    wanted = (*shape[:-1], count)
    gathered = composer.add("Gather", [name, index], wanted, {"axis": len(shape) - 1})
    composer.finish("Reshape", [gathered])


@dataclasses.dataclass(frozen=True)
class _Step:
    """One step of an optimizer: the names of its learning rate and update count, and a helper for arithmetic."""

    composer: Composer
    rate: str
    count: str

    def apply(self, op: str, *inputs: str | float) -> str:
        """Emits one operation. Numbers become constants; returns the result's name."""
        names = [item if isinstance(item, str) else self.composer.constant(item) for item in inputs]
        shapes = [self.composer.builder.shape(name) for name in names]
        return self.composer.add(op, names, np.broadcast_shapes(*shapes))


@operator("Momentum", "Adagrad", "Adam", domain="ai.onnx.preview.training",
          summary="one step of the optimizer; float32")
def lower_optimizer(builder: Builder, node: Node) -> None:
    """Inputs are all values, all gradients, then all states; outputs are all new values, then all new states."""
    states = 2 if node.op == "Adam" else 1
    count = (len(node.inputs) - 2) // (2 + states)
    step = _Step(Composer(builder, node), *node.inputs[:2])
    formula = {"Momentum": _momentum, "Adagrad": _adagrad, "Adam": _adam}[node.op]
    for place in range(count):
        value, gradient, *old = (node.inputs[2 + place + group * count] for group in range(2 + states))
        norm = float(node.attributes.get("norm_coefficient", 0.0))
        regularised = step.apply("Add", step.apply("Mul", value, norm), gradient)
        results = formula(step, node, value, regularised, old)
        for group, result in enumerate(results):
            output = node.outputs[place + group * count]
            if output:
                step.composer.add_as("Identity", [result], output)


def _momentum(step: _Step, node: Node, value: str, gradient: str, old: list[str]) -> list[str]:
    alpha, beta = (float(node.attributes[name]) for name in ("alpha", "beta"))
    # The gradient of update 0 has the factor 1.
    later = step.apply("Greater", step.count, 0.0)
    factor = step.apply("Add", step.apply("Mul", later, beta - 1.0), 1.0)
    velocity = step.apply("Add", step.apply("Mul", old[0], alpha), step.apply("Mul", gradient, factor))
    moved = velocity
    if node.attributes.get("mode", "standard") == "nesterov":
        moved = step.apply("Add", gradient, step.apply("Mul", velocity, alpha))
    return [step.apply("Sub", value, step.apply("Mul", moved, step.rate)), velocity]


def _adagrad(step: _Step, node: Node, value: str, gradient: str, old: list[str]) -> list[str]:
    decay = step.apply("Add", step.apply("Mul", step.count, float(node.attributes.get("decay_factor", 0.0))), 1.0)
    rate = step.apply("Div", step.rate, decay)
    squares = step.apply("Add", old[0], step.apply("Mul", gradient, gradient))
    adapted = step.apply("Add", step.apply("Sqrt", squares), float(node.attributes.get("epsilon", 1e-6)))
    return [step.apply("Sub", value, step.apply("Div", step.apply("Mul", gradient, rate), adapted)), squares]


def _adam(step: _Step, node: Node, value: str, gradient: str, old: list[str]) -> list[str]:
    alpha, beta = (float(node.attributes.get(name, usual)) for name, usual in (("alpha", 0.9), ("beta", 0.999)))
    first = step.apply("Add", step.apply("Mul", old[0], alpha), step.apply("Mul", gradient, 1 - alpha))
    squares = step.apply("Mul", gradient, gradient)
    second = step.apply("Add", step.apply("Mul", old[1], beta), step.apply("Mul", squares, 1 - beta))
    left = [step.apply("Sub", 1.0, step.apply("Pow", base, step.count)) for base in (alpha, beta)]
    corrected = step.apply("Div", step.apply("Mul", step.rate, step.apply("Sqrt", left[1])), left[0])
    later = step.apply("Greater", step.count, 0.0)  # update 0 uses the learning rate as it is
    rate = step.apply("Where", later, corrected, step.rate)
    deviation = step.apply("Add", step.apply("Sqrt", second), float(node.attributes.get("epsilon", 1e-6)))
    new = step.apply("Sub", value, step.apply("Div", step.apply("Mul", first, rate), deviation))
    post = 1.0 - float(node.attributes.get("norm_coefficient_post", 0.0))
    return [step.apply("Mul", new, post), first, second]


@operator("Col2Im", summary="1-D and 2-D, any pads, strides and dilations; constant shapes")
def lower_col2im(builder: Builder, node: Node) -> None:
    """From [N, C * prod(block), L]. Elements of the same place are added."""
    name, output = node.inputs[0], node.outputs[0]
    image, block = integer_input(builder, node, 1, "image shape"), integer_input(builder, node, 2, "block shape")
    if image is None or block is None or image.size != block.size:
        raise Refusal("its image and block shapes do not fit together")
    rank, taps = block.size, int(block.prod())
    strides = tuple(node.attributes.get("strides", (1,) * rank))
    dilations = tuple(node.attributes.get("dilations", (1,) * rank))
    pads = tuple(node.attributes.get("pads", (0,) * 2 * rank))
    grid = tuple(
        (int(size) + pads[axis] + pads[axis + rank] - dilations[axis] * (int(width) - 1) - 1) // strides[axis] + 1
        for axis, (size, width) in enumerate(zip(image, block, strict=True))
    )
    batch, columns, length = builder.shape(name)
    if columns % taps or math.prod(grid) != length:
        raise Refusal(f"{columns} x {length} elements do not make blocks of {block.tolist()} on a grid of {list(grid)}")
    composer = Composer(builder, node)
    weights = np.tile(np.eye(taps), (columns // taps, 1)).reshape(columns, 1, *block.tolist())
    laid_out = composer.add("Reshape", [name], (batch, columns, *grid))
    attributes = {"group": columns // taps, "strides": strides, "dilations": dilations, "pads": pads}
    assert builder.shape(output)[1] == columns // taps
    composer.finish("ConvTranspose", [laid_out, composer.constant(weights)], attributes)


@operator("ConvInteger", "MatMulInteger", summary="computed in float32: exact within 2^24")
def lower_integer_product(builder: Builder, node: Node) -> None:
    """Conv or MatMul behind two Subs; constants are subtracted by the compiler."""
    composer = Composer(builder, node)
    first, second = (_centred(composer, index) for index in (0, 1))
    plain = node.op.removesuffix("Integer")
    composer.finish(plain, [first, second], dict(node.attributes))


def _centred(composer: Composer, index: int) -> str:
    """An operand minus its zero point, of which MatMulInteger may have one for each row of A or column of B."""
    builder, node = composer.builder, composer.node
    name = node.inputs[index]
    zero_point = node.inputs[index + 2] if index + 2 < len(node.inputs) else ""
    shape = builder.shape(name)
    if not zero_point:
        return composer.constant(builder.float_constant(name)) if builder.is_constant(name) else name
    own = builder.shape(zero_point)
    wanted = own
    if len(own) == 1 and own[0] > 1 and (node.op == "ConvInteger" or index == 0):
        behind = len(shape) - 1 if node.op == "ConvInteger" else 1
        wanted = (own[0], *(1,) * behind)
    if builder.is_constant(zero_point):
        taken = composer.constant(builder.float_constant(zero_point).reshape(wanted))
        if builder.is_constant(name):
            return composer.constant(builder.float_constant(name) - builder.float_constant(taken))
    else:
        taken = zero_point if wanted == own else composer.add("Reshape", [zero_point], wanted)
    return composer.add("Sub", [name, taken], shape)
