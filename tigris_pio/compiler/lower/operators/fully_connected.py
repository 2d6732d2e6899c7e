"""Gemm and MatMul with a constant matrix; mat_mul.py lowers all others."""

from __future__ import annotations

import dataclasses
import math

import numpy as np

from tigris_pio.compiler.ir.graph import Node
from tigris_pio.compiler.ir.program import RowMap
from tigris_pio.compiler.lower.builder import Builder
from tigris_pio.compiler.lower.element_order import default_dims, refined, row_major
from tigris_pio.compiler.lower.operators import fused
from tigris_pio.compiler.lower.operators.aliases import transposed_alias
from tigris_pio.compiler.lower.operators.compose import Composer
from tigris_pio.compiler.lower.operators.int16.types import Int16Types, layer_constants, layer_types
from tigris_pio.compiler.lower.operators.mat_mul import emit_product
from tigris_pio.compiler.lower.operators.vectors import settle_contiguous_vectors
from tigris_pio.compiler.lower.operators.weights import (
    Int8Weights,
    emit_scaled_sums,
    float_bias,
    has_float_sums,
    has_int8_weights,
    int8_weights,
    int32_bias,
    requantisation,
    scaled_sums,
    warn_float,
)
from tigris_pio.compiler.lower.refusal import Refusal
from tigris_pio.compiler.lower.registry import operator
from tigris_pio.compiler.lower.storage import FLOAT, Cell, Numeric, Value
from tigris_pio.format.enums import DType, OpKind
from tigris_pio.format.params import (
    AsymmetricFullyConnectedInt8Params,
    FullyConnectedFloatParams,
    FullyConnectedInt8Params,
    FullyConnectedInt16Params,
)
from tigris_pio.format.record import Record


@dataclasses.dataclass(frozen=True)
class _Product:
    """out[r][o] = alpha * sum_i in[r][i] * matrix[o][i] + beta * bias[o]."""

    source: str
    matrix: str
    transpose_matrix: bool  # whether the constant is [in, out]
    bias: str
    alpha: float
    beta: float
    rows: int
    inputs: int
    outputs: int


@operator("Gemm", summary="int8 with constant B and C; anything in float32")
def lower_gemm(builder: Builder, node: Node) -> None:
    """FULLY_CONNECTED with a constant matrix, or MatMul, Mul and Add."""
    source, matrix, bias = (*node.inputs, "")[:3]
    _check_gemm(builder, node)
    if not _is_fully_connected(builder, node):
        _compose_gemm(builder, node)
        return
    transpose_b = bool(node.attributes.get("transB", 0))
    if node.attributes.get("transA", 0):
        source = _transposed(builder, source)
    shape = builder.shape(matrix)
    result = builder.shape(node.outputs[0])
    inputs, outputs = (shape[1], shape[0]) if transpose_b else shape
    product = _Product(source, matrix, not transpose_b, bias, float(node.attributes.get("alpha", 1.0)),
                       float(node.attributes.get("beta", 1.0)), result[0], inputs, outputs)
    _emit(builder, node, product)


@operator("MatMul", summary="int8 with a constant second matrix; anything in float32")
def lower_matmul(builder: Builder, node: Node) -> None:
    """FULLY_CONNECTED with a constant second matrix, or MAT_MUL. The pass activation_fuse may have added a bias."""
    source, matrix, bias = (*node.inputs, "")[:3]
    shape = builder.shape(matrix)
    if not builder.is_constant(matrix) or builder.is_constant(source) or math.prod(shape[:-2]) != 1:
        emit_product(builder, node, source, matrix)
        return
    inputs, outputs = (shape[-2], shape[-1]) if len(shape) > 1 else (shape[0], 1)
    rows = math.prod(builder.shape(source)) // inputs
    _emit(builder, node, _Product(source, matrix, True, bias, 1.0, 1.0, rows, inputs, outputs))


def _check_gemm(builder: Builder, node: Node) -> None:
    """Refuses shapes that ONNX forbids, but that shape inference does not check."""
    shapes = [builder.shape(name) for name in node.inputs[:2]]
    for letter, shape in zip("AB", shapes, strict=True):
        if len(shape) != 2:
            raise Refusal(f"its input {letter} has shape {list(shape)} instead of two axes; reshape it, or use MatMul")
    turned = [bool(node.attributes.get(name, 0)) for name in ("transA", "transB")]
    first, second = (shape[::-1] if turn else shape for shape, turn in zip(shapes, turned, strict=True))
    (rows, inner), (depth, columns) = first, second
    if inner != depth:
        raise Refusal(f"a matrix of {rows} x {inner} times one of {depth} x {columns}")
    bias = (*node.inputs, "")[2]
    shape = builder.shape(bias) if bias else ()
    wanted = zip(shape[::-1], (columns, rows), strict=False)
    if len(shape) > 2 or any(size not in (1, most) for size, most in wanted):
        raise Refusal(f"its input C of shape {list(shape)} is no bias for a result of {rows} x {columns}")


def _is_fully_connected(builder: Builder, node: Node) -> bool:
    """Whether a Gemm has a constant matrix, and a constant bias that is the same for all rows."""
    source, matrix, bias = (*node.inputs, "")[:3]
    if not builder.is_constant(matrix) or builder.is_constant(source):
        return False
    if has_int8_weights(builder, matrix) and float(node.attributes.get("alpha", 1.0)) <= 0:
        return False  # its sums would have a scale that is not positive
    if not bias:
        return True
    one_row = builder.shape(node.outputs[0])[0] == 1 or builder.shape(bias)[:-1] in ((), (1,))
    return builder.is_constant(bias) and one_row


def _compose_gemm(builder: Builder, node: Node) -> None:
    """MatMul, Mul by alpha, Add of beta * C."""
    composer = Composer(builder, node)
    first, second, bias = (*node.inputs, "")[:3]
    shape = builder.shape(node.outputs[0])
    alpha, beta = float(node.attributes.get("alpha", 1.0)), float(node.attributes.get("beta", 1.0))
    first = _matrix_of(composer, first, bool(node.attributes.get("transA", 0)))
    second = _matrix_of(composer, second, bool(node.attributes.get("transB", 0)))
    if alpha != 1.0:
        first = composer.add("Mul", [first, composer.constant(alpha)], builder.shape(first))
    if not bias or beta == 0.0:
        composer.finish("MatMul", [first, second])
        return
    result = composer.add("MatMul", [first, second], shape)
    if beta != 1.0:
        bias = composer.add("Mul", [bias, composer.constant(beta)], builder.shape(bias))
    composer.finish("Add", [result, bias])


def _matrix_of(composer: Composer, name: str, transpose: bool) -> str:
    shape = composer.builder.shape(name)
    return composer.add("Transpose", [name], shape[::-1], {"perm": (1, 0)}) if transpose else name


def _transposed(builder: Builder, name: str) -> str:
    """The name of the transposed matrix, an alias of the same memory."""
    shape = builder.shape(name)
    alias = builder.declare(f"{name}/transA", shape[::-1], name)
    transposed_alias(builder, name, alias, (1, 0))
    return alias


def _emit(builder: Builder, node: Node, product: _Product) -> None:
    """Emits FULLY_CONNECTED. If the input vector is stored in another order, the matrix columns are permuted."""
    found = layer_types(builder, node, product.source, product.matrix)
    if found is not None:
        _emit_int16(builder, node, product, found)
        return
    if _emit_sums(builder, node, product):
        return
    int8 = builder.is_int8(product.source, node.outputs[0]) and has_int8_weights(builder, product.matrix)
    result = builder.numeric(node.outputs[0]) if int8 else FLOAT
    source = builder.numeric(product.source) if int8 else FLOAT
    value, features = _vectors(builder, product, source)
    call, product = _call(builder, value, product)
    params: Record
    kind = OpKind.FULLY_CONNECTED
    if int8:
        kind, params, blobs = _int8(builder, node, product, features, source, result)
    else:
        warn_float(builder, node, product.matrix)
        params, blobs = _float(builder, node, product, features)
    builder.emit(
        kind, DType.INT8 if int8 else DType.FLOAT32, [(value.storage, call.rows)], node.outputs[0],
        row_major(builder.shape(node.outputs[0])), result, call.cell, params, blobs=blobs, per_image=call.per_image,
    )


@dataclasses.dataclass(frozen=True)
class _Call:
    """A kernel call: row by row if each input row holds whole vectors, for all vectors otherwise."""

    rows: RowMap | None  #: None to read all rows
    cell: Cell
    per_image: bool


def _call(builder: Builder, value: Value, product: _Product) -> tuple[_Call, _Product]:
    """The call, and the product: of one image if the call is per image, of all vectors otherwise."""
    dims = settle_contiguous_vectors(builder, value.storage, product.inputs) if product.rows > 1 else None
    if dims is None:
        cell = Cell(default_dims((product.rows, product.outputs)), fixed=True)
        return _Call(None, cell, False), product
    batch, height, width, channels = dims
    cell = Cell((batch, height, width * channels // product.inputs, product.outputs), fixed_rows=True)
    one_image = dataclasses.replace(product, rows=product.rows // batch)
    return _Call(RowMap.same(), cell, True), one_image


def _emit_int16(builder: Builder, node: Node, product: _Product, found: Int16Types) -> None:
    """Emits the layer between int16 tensors, or int16 and int8 ones."""
    value, features = _vectors(builder, product, found.inputs[0])
    call, product = _call(builder, value, product)
    weights = int8_weights(builder, product.matrix, _weight_axis(builder, product), node, found.output, symmetric=True)
    matrix = _matrix(weights.values, product, features).reshape(product.outputs, product.inputs)
    products = np.broadcast_to(found.inputs[0].scale * weights.scales * product.alpha, (product.outputs,))
    constants = layer_constants(builder, node, matrix, products, product.bias, found, product.beta)
    params = FullyConnectedInt16Params(
        product.rows, product.inputs, product.outputs, constants.bits, **fused.int8_fields(node, found.output),
        weights=0, bias=0, multiplier=0, shift=0,
    )
    builder.emit(
        OpKind.FULLY_CONNECTED, DType.INT16, [(value.storage, call.rows)], node.outputs[0],
        row_major(builder.shape(node.outputs[0])), found.output, call.cell, params, blobs=constants.blobs(matrix),
        per_image=call.per_image,
    )


def _emit_sums(builder: Builder, node: Node, product: _Product) -> bool:
    """Emits a layer of int8 products with a float32 output; False if input, weights or output do not allow it."""
    axis = _weight_axis(builder, product)
    source, output = product.source, node.outputs[0]
    if builder.tensors[output].quantisation is not None or not has_float_sums(builder, source, product.matrix, axis):
        return False
    numeric = builder.numeric(source)
    value, features = _vectors(builder, product, numeric)
    matrix = _matrix(builder.graph.weights[product.matrix], product, features).reshape(product.outputs, product.inputs)
    scales = builder.tensors[product.matrix].quantisation.scale.reshape(-1)  # type: ignore[union-attr]  # has_float_sums
    made = scaled_sums(builder, numeric, matrix, scales * np.float64(product.alpha), product.bias, product.beta)
    if made is None:
        return False
    call, product = _call(builder, value, product)
    emit_scaled_sums(builder, node, [(value.storage, call.rows)], row_major(builder.shape(output)), call.cell,
                     (product.rows, product.inputs, product.outputs), made, call.per_image)
    return True


def _weight_axis(builder: Builder, product: _Product) -> int:
    """The axis of the constant that holds the outputs."""
    rank = len(builder.shape(product.matrix))
    return (rank - 1 if rank > 1 else -1) if product.transpose_matrix else 0


@dataclasses.dataclass(frozen=True)
class _Features:
    """The element order of an input vector: the model's order, cut into axes of `sizes`, which `order` permutes."""

    sizes: tuple[int, ...]
    order: tuple[int, ...]

    def permute_columns(self, matrix: np.ndarray) -> np.ndarray:
        """A view of [outputs][inputs] as [outputs][axes as stored]."""
        view: np.ndarray = matrix.reshape(len(matrix), *self.sizes).transpose(0, *(1 + axis for axis in self.order))
        return view


def _vectors(builder: Builder, product: _Product, numeric: Numeric) -> tuple[Value, _Features]:
    """The input as contiguous vectors, and the order of their elements."""
    value = builder.value(product.source, numeric)
    fine = refined(value.layout, (product.rows, product.inputs))
    if fine is not None:
        layout, (rows, features) = fine
        if layout.order[: len(rows)] == rows:
            sizes = tuple(layout.factors[axis] for axis in features)
            return value, _Features(sizes, tuple(features.index(axis) for axis in layout.order[len(rows) :]))
    ordered = builder.value_in_order(product.source, row_major(builder.shape(product.source)), numeric)
    return ordered, _Features((product.inputs,), (0,))


def _matrix(values: np.ndarray, product: _Product, features: _Features) -> np.ndarray:
    """A view of the constant as [outputs][inputs], with the inputs in stored order."""
    matrix = values.reshape(product.inputs, product.outputs).T if product.transpose_matrix else values
    return features.permute_columns(matrix)


def _float(builder: Builder, node: Node, product: _Product,
           features: _Features) -> tuple[FullyConnectedFloatParams, dict[str, np.ndarray]]:
    matrix = _matrix(builder.float_constant(product.matrix), product, features)
    if product.alpha != 1.0:
        matrix = matrix * np.float32(product.alpha)
    bias = float_bias(builder, product.bias, product.outputs, product.beta)
    params = FullyConnectedFloatParams(product.rows, product.inputs, product.outputs, **fused.float_fields(node),
                                       weights=0, bias=0)
    return params, {"weights": matrix, "bias": bias}


def _int8(builder: Builder, node: Node, product: _Product, features: _Features, source: Numeric,
          result: Numeric) -> tuple[OpKind, FullyConnectedInt8Params, dict[str, np.ndarray]]:
    if product.alpha <= 0:
        raise Refusal(f"alpha {product.alpha:g} with int8 weights")
    weights: Int8Weights = int8_weights(builder, product.matrix, _weight_axis(builder, product), node, result)
    matrix = _matrix(weights.values, product, features).reshape(product.outputs, product.inputs)
    products = source.scale * weights.scales * product.alpha
    bias = int32_bias(builder, product.bias, product.outputs, products, product.beta)
    integers = dataclasses.replace(weights, values=matrix).centred_values()
    constants = requantisation(builder, bias, integers, products, source, result)
    params = FullyConnectedInt8Params(
        product.rows, product.inputs, product.outputs, int(products.size > 1), result.zero_point,
        **fused.int8_fields(node, result), weights=0, bias=0, multiplier=0, shift=0,
    )
    if weights.zeros is None:
        return OpKind.FULLY_CONNECTED, params, constants.blobs(matrix)
    own = AsymmetricFullyConnectedInt8Params(**dataclasses.asdict(params), weight_zero_points=0)
    return OpKind.ASYMMETRIC_FULLY_CONNECTED, own, {**constants.blobs(matrix), "weight_zero_points": weights.zeros}
