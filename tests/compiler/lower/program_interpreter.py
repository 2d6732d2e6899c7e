"""Executes a lowered program in numpy, from the format's definitions alone.

Written independently of the C kernels so that the two check each other. int8 arithmetic is
TensorFlow Lite's reference arithmetic (double rounding; gemmlowp's fixed-point Softmax), float
operators accumulate in double.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tests.runtime import references
from tigris_pio.compiler.ir.program import Program, ProgramIo, ProgramOp, ProgramTensor
from tigris_pio.format.enums import DType, OpKind, UnaryFunction
from tigris_pio.format.record import Record
from tigris_pio.format.records import MAX_RANK

NUMPY = {DType.INT8: np.int8, DType.FLOAT32: np.float32, DType.UINT8: np.uint8, DType.INT32: np.int32}


def run(program: Program, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Model inputs as the ONNX model takes them -> model outputs as it gives them."""
    values = run_tensors(program, inputs)
    return {io.name: from_stored(io, program.tensors[io.tensor], values[io.tensor]) for io in program.outputs}


def run_tensors(program: Program, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Every stored tensor [batch, height, width, channels] by name."""
    values: dict[str, np.ndarray] = {}
    for name, tensor in program.tensors.items():
        if tensor.constant is not None:
            assert tensor.constant.dtype == NUMPY[tensor.dtype], name
            assert tensor.constant.shape == dims(tensor), name
            values[name] = tensor.constant
    for io in program.inputs:
        values[io.tensor] = to_stored(io, program.tensors[io.tensor], inputs[io.name])
    for op in program.ops:
        op.params.pack()
        out = program.tensors[op.output]
        assert op.output not in values, f"{op.output} is defined twice"
        result = execute(op, [values[item.tensor] for item in op.operands], out)
        assert result.dtype == NUMPY[out.dtype], (op.name, result.dtype, out.dtype)
        values[op.output] = result.reshape(dims(out))
        check_rows(op, program)
    return values


def dims(tensor: ProgramTensor) -> tuple[int, int, int, int]:
    return tensor.batch, tensor.height, tensor.width, tensor.channels


def to_stored(io: ProgramIo, tensor: ProgramTensor, array: np.ndarray) -> np.ndarray:
    permuted = tuple(io.stored_shape[axis] for axis in io.permutation)
    stored = array.reshape(permuted).transpose(np.argsort(io.permutation)).reshape(dims(tensor))
    if tensor.dtype == DType.INT8 and io.dtype == DType.FLOAT32:
        return np.clip(np.rint(stored / np.float32(tensor.scale)) + tensor.zero_point, -128, 127).astype(np.int8)
    if tensor.dtype == DType.INT8 and io.dtype == DType.UINT8:
        return (stored.astype(np.int16) - 128).astype(np.int8)
    return np.ascontiguousarray(stored)


def from_stored(io: ProgramIo, tensor: ProgramTensor, stored: np.ndarray) -> np.ndarray:
    array = stored.reshape(io.stored_shape).transpose(io.permutation).reshape(io.shape)
    if tensor.dtype == DType.INT8 and io.dtype == DType.FLOAT32:
        return ((array.astype(np.int32) - tensor.zero_point) * np.float32(tensor.scale)).astype(np.float32)
    if tensor.dtype == DType.INT8 and io.dtype == DType.UINT8:
        return (array.astype(np.int16) + 128).astype(np.uint8)
    return array


def check_rows(op: ProgramOp, program: Program) -> None:
    """Row maps of windows agree with the parameters, and every band asks for rows in order."""
    height = program.tensors[op.output].height
    for operand in op.operands:
        rows = operand.rows
        assert rows.denominator >= 1 and rows.last >= rows.first
        source = program.tensors[operand.tensor]
        if op.kind in (OpKind.CONV_2D, OpKind.DEPTHWISE_CONV_2D, OpKind.AVERAGE_POOL, OpKind.MAX_POOL):
            p = op.params
            assert rows.numerator == p.stride_height
            assert rows.last - rows.first == (p.kernel_height - 1) * p.dilation_height
            assert rows.first <= 0
        elif op.kind == OpKind.TRANSPOSE and rows.numerator:
            assert rows.first == 0 and rows.last == rows.numerator - 1
        elif op.kind == OpKind.FULLY_CONNECTED and rows.numerator:
            assert (rows.numerator, rows.first, rows.last) == (1, 0, 0) and source.height == height
            vectors = op.params.rows // height
            assert vectors * height == op.params.rows
            assert vectors * op.params.in_features == source.width * source.channels
        elif op.kind in (OpKind.FULLY_CONNECTED, OpKind.TRANSPOSE, OpKind.COPY):
            assert (rows.numerator, rows.first, rows.last) == (0, 0, source.height - 1)
            assert op.images == 1
        elif op.kind == OpKind.MEAN_OF_SUMS:  # one row, of all rows
            assert (rows.numerator, rows.first, rows.last) == (source.height, 0, source.height - 1) and height == 1
        elif op.kind not in (OpKind.CONCAT, OpKind.SELECT, OpKind.RESAMPLE, OpKind.TRANSPOSE_CONV) and rows.numerator:
            assert source.height == height
    if op.images != 1:
        assert op.images == program.tensors[op.output].batch


def execute(op: ProgramOp, inputs: list[np.ndarray], out: ProgramTensor) -> np.ndarray:  # noqa: PLR0911, PLR0912
    int8 = op.dtype == DType.INT8
    if op.kind in (OpKind.CONV_2D, OpKind.DEPTHWISE_CONV_2D):
        return convolution(op, inputs[0], out, int8)
    if op.kind == OpKind.FULLY_CONNECTED:
        return fully_connected(op, inputs[0], int8)
    if op.kind in (OpKind.AVERAGE_POOL, OpKind.MAX_POOL):
        return pooling(op, inputs[0], out, int8)
    if op.kind in (OpKind.SUM_PRODUCTS, OpKind.SCALE_SUMS):
        return products(op, inputs[0], out, int8)
    if op.kind in (OpKind.SUM_MAP, OpKind.MEAN_OF_SUMS):
        return map_mean(op, inputs[0], out, int8)
    if op.kind in (OpKind.ADD, OpKind.SUB, OpKind.MUL):
        return binary(op, inputs, out, int8)
    if op.kind == OpKind.SOFTMAX:
        vectors = inputs[0].reshape(-1, op.params.length)
        assert inputs[0].shape[3] == op.params.length
        return references.softmax_int8(vectors, op.blobs["exponentials"]) if int8 else softmax_float(vectors)
    if op.kind == OpKind.LOOKUP:
        return op.blobs["table"][inputs[0].astype(np.int16) + 128]
    if op.kind == OpKind.UNARY:
        return unary(op, inputs[0])
    if op.kind == OpKind.COPY:
        assert op.params.bytes == inputs[0].nbytes
        return inputs[0].copy()
    if op.kind == OpKind.TRANSPOSE:
        if op.images > 1:
            return np.stack([transpose(op, image, out.height) for image in inputs[0]])
        return transpose(op, inputs[0], out.height)
    if op.kind == OpKind.CONCAT:
        return np.concatenate(inputs, axis=op.params.axis + 1)
    if op.kind in (OpKind.SELECT, OpKind.RESAMPLE, OpKind.TRANSPOSE_CONV):
        return resampled(op, inputs[0], out, int8)
    return quantisation(op, inputs[0])


def resampled(op: ProgramOp, source: np.ndarray, out: ProgramTensor, int8: bool) -> np.ndarray:
    if op.kind == OpKind.SELECT:
        return selection(op, source, out)
    return resampling(op, source, int8) if op.kind == OpKind.RESAMPLE else transposed_convolution(op, source, out, int8)


SELECTED = ("row_table", "column_table", "channel_table")


def selection(op: ProgramOp, source: np.ndarray, out: ProgramTensor) -> np.ndarray:
    p = op.params
    fill = np.array([p.fill], np.uint32).view(source.dtype)[0]
    result = source
    for axis, (field, count) in enumerate(zip(SELECTED, dims(out)[1:], strict=True)):
        indices = op.blobs.get(field)
        if indices is None:
            assert getattr(p, field) == 0xFFFFFFFF
            indices = (np.arange(count) * p.numerator[axis] + p.first[axis]) // p.denominator[axis]
        assert len(indices) == count
        inside = (indices >= 0) & (indices < result.shape[axis + 1])
        if axis == 0:
            check_needs(op, source.shape[1], np.where(inside, indices, 1), np.where(inside, indices, 0))
        taken = np.take(result, np.where(inside, indices, 0), axis + 1)
        result = np.where(inside.reshape([-1 if axis + 1 == k else 1 for k in range(4)]), taken, fill)
    return result


def check_needs(op: ProgramOp, height: int, low: np.ndarray, high: np.ndarray) -> None:
    """Each output row's input rows [low, high] lie in what the row map asks for."""
    rows = op.operands[0].rows
    index = np.arange(len(low))
    first = (index * rows.numerator + rows.first) // rows.denominator
    last = (index * rows.numerator + rows.last) // rows.denominator
    reads = low <= high
    assert np.all((first <= low) | ~reads) and np.all((last >= high) | ~reads)


def resampling(op: ProgramOp, source: np.ndarray, int8: bool) -> np.ndarray:
    p = op.params
    starts, weights = op.blobs["row_start"], op.blobs["row_weight"].astype(np.float64)
    counts = np.where(weights != 0, starts[:, np.newaxis] + np.arange(p.row_taps), -1)
    check_needs(op, source.shape[1], np.where(counts < 0, 1 << 30, counts).min(axis=1), counts.max(axis=1))
    result = np.zeros((source.shape[0], len(starts), *source.shape[2:]))
    for tap in range(p.row_taps):
        result += weights[:, tap].reshape(1, -1, 1, 1) * source[:, starts + tap]
    starts, weights = op.blobs["column_start"], op.blobs["column_weight"].astype(np.float64)
    total = np.zeros((*result.shape[:2], len(starts), source.shape[3]))
    for tap in range(p.column_taps):
        total += weights[:, tap].reshape(1, 1, -1, 1) * result[:, :, starts + tap]
    if not int8:
        return total.astype(np.float32)
    return np.clip(np.trunc((total + np.where(total > 0, 1 << 19, -(1 << 19))) / (1 << 20)), -128, 127).astype(np.int8)


def transposed_convolution(op: ProgramOp, source: np.ndarray, out: ProgramTensor, int8: bool) -> np.ndarray:
    """Every input element scatters into a map that is cropped afterwards."""
    p = op.params
    weights = op.blobs["weights"].astype(np.float64)
    real = source.astype(np.float64) - (p.input_zero_point if int8 else 0)
    batch, height, width, channels = source.shape
    reach = [(size - 1) * stride + (kernel - 1) * dilation + 1 for size, stride, kernel, dilation in (
        (height, p.stride_height, p.kernel_height, p.dilation_height),
        (width, p.stride_width, p.kernel_width, p.dilation_width))]
    extent = [max(reach[0], out.height + p.pad_top), max(reach[1], out.width + p.pad_left)]
    total = np.zeros((batch, *extent, out.channels))
    each_in, each_out = channels // p.groups, out.channels // p.groups
    for group in range(p.groups):
        part = real[..., group * each_in : (group + 1) * each_in]
        outs = slice(group * each_out, (group + 1) * each_out)
        for i in range(p.kernel_height):
            for j in range(p.kernel_width):
                y, x = i * p.dilation_height, j * p.dilation_width
                total[:, y : y + (height - 1) * p.stride_height + 1 : p.stride_height,
                      x : x + (width - 1) * p.stride_width + 1 : p.stride_width, outs] += part @ weights[outs, i, j].T
    rows = np.arange(out.height) + p.pad_top
    low = np.maximum(-(-(rows - (p.kernel_height - 1) * p.dilation_height) // p.stride_height), 0)
    check_needs(op, height, low, np.minimum(rows // p.stride_height, height - 1))
    cropped = total[:, p.pad_top : p.pad_top + out.height, p.pad_left : p.pad_left + out.width]
    return finish(op, cropped + op.blobs["bias"], int8, np.arange(out.channels))


def windows(op: ProgramOp, source: np.ndarray, out: ProgramTensor, fill: float) -> np.ndarray:
    """[batch, out height, out width, kernel height, kernel width, channels]; `fill` outside the tensor."""
    p = op.params
    top, left = -op.operands[0].rows.first, p.pad_left
    need_h = (out.height - 1) * p.stride_height + (p.kernel_height - 1) * p.dilation_height + 1
    need_w = (out.width - 1) * p.stride_width + (p.kernel_width - 1) * p.dilation_width + 1
    pads = (top, max(0, need_h - top - source.shape[1]), left, max(0, need_w - left - source.shape[2]))
    return references.windows(
        references.pad_rows_and_columns(source, pads, fill), (p.kernel_height, p.kernel_width),
        (p.stride_height, p.stride_width), (p.dilation_height, p.dilation_width), (out.height, out.width))


def convolution(op: ProgramOp, source: np.ndarray, out: ProgramTensor, int8: bool) -> np.ndarray:
    """Sums are exact in double: |sum| < 2^53."""
    p = op.params
    taps = windows(op, source.astype(np.float64), out, p.input_zero_point if int8 else 0.0)
    weights = op.blobs["weights"].astype(np.float64)
    if op.kind == OpKind.DEPTHWISE_CONV_2D:
        assert weights.shape == (p.kernel_height, p.kernel_width, out.channels) and p.groups == 1
        total = (np.repeat(taps, out.channels // source.shape[3], axis=5) * weights).sum(axis=(3, 4))
    else:
        each_in, each_out = source.shape[3] // p.groups, out.channels // p.groups
        assert weights.shape == (out.channels, p.kernel_height, p.kernel_width, each_in)
        total = np.concatenate([
            np.tensordot(taps[..., group * each_in : (group + 1) * each_in],
                         weights[group * each_out : (group + 1) * each_out], ((3, 4, 5), (1, 2, 3)))
            for group in range(p.groups)], axis=3)
    return finish(op, total + op.blobs["bias"], int8, np.arange(out.channels))


def fully_connected(op: ProgramOp, source: np.ndarray, int8: bool) -> np.ndarray:
    p = op.params
    assert source.size == op.images * p.rows * p.in_features
    vectors = source.reshape(-1, p.in_features).astype(np.float64)
    weights = op.blobs["weights"].reshape(p.out_features, p.in_features).astype(np.float64)
    total = vectors @ weights.T + op.blobs["bias"]
    channels = np.arange(p.out_features) * (p.requantise_step if int8 else 0)
    return finish(op, total, int8, channels)


def products(op: ProgramOp, source: np.ndarray, out: ProgramTensor, int8: bool) -> np.ndarray:
    p = op.params
    if op.kind == OpKind.SUM_PRODUCTS:
        assert out.folded and p.in_features == source[0, 0].size and p.out_features == out.channels
        weights = op.blobs["weights"].astype(np.float64)
        rows = np.einsum("roi,ri->ro", weights, source.reshape(source.shape[1], -1).astype(np.float64))
        return (np.cumsum(rows, axis=0) + op.blobs["bias"]).astype(np.int32 if int8 else np.float32)
    last = source[:, -1].reshape(-1)
    return finish(op, last, int8, np.arange(last.size) * (p.requantise_step if int8 else 0))


def finish(op: ProgramOp, total: np.ndarray, int8: bool, channels: np.ndarray) -> np.ndarray:
    p = op.params
    if not int8:
        return np.clip(total.astype(np.float32), np.float32(p.activation_min), np.float32(p.activation_max))
    scaled = references.requantise(total, op.blobs["multiplier"][channels], op.blobs["shift"][channels])
    return np.clip(scaled + p.output_zero_point, p.activation_min, p.activation_max).astype(np.int8)


def pooling(op: ProgramOp, source: np.ndarray, out: ProgramTensor, int8: bool) -> np.ndarray:
    p = op.params
    valid = windows(op, np.ones_like(source, np.int64), out, 0)
    if op.kind == OpKind.MAX_POOL:
        assert valid.any(axis=(3, 4)).all()
        result = windows(op, source.astype(np.float64), out, -128 if int8 else -np.inf).max(axis=(3, 4))
        return np.clip(result, p.activation_min, p.activation_max).astype(source.dtype)
    fill = p.input_zero_point if int8 and p.include_pad else 0
    total = windows(op, source.astype(np.float64), out, fill).sum(axis=(3, 4))
    taps = np.full_like(total, p.kernel_height * p.kernel_width, int) if p.include_pad else valid.sum(axis=(3, 4))
    if not int8:
        return np.clip(total / taps, p.activation_min, p.activation_max).astype(np.float32)
    factors = (op.blobs["multiplier"][taps - 1], op.blobs["shift"][taps - 1]) if p.rescale == 1 else None
    return int8_mean(p, total.astype(np.int64), taps, factors)


def map_mean(op: ProgramOp, source: np.ndarray, out: ProgramTensor, int8: bool) -> np.ndarray:
    p = op.params
    if op.kind == OpKind.SUM_MAP:
        assert out.folded and p.taps == source.shape[1] * source.shape[2]
        kind = np.int32 if int8 else np.float32
        return np.cumsum(source.sum(axis=2, keepdims=True, dtype=kind), axis=1, dtype=kind)
    sums = source[:, -1:]
    if not int8:
        return np.clip(sums / p.taps, p.activation_min, p.activation_max).astype(np.float32)
    factors = (np.array([p.multiplier]), np.array([p.shift])) if p.rescale == 1 else None
    return int8_mean(p, sums.astype(np.int64), np.array([p.taps]), factors)


def int8_mean(p: Record, sums: np.ndarray, taps: np.ndarray,
              factors: tuple[np.ndarray, np.ndarray] | None) -> np.ndarray:
    """`factors`: multiplier and shift when input and output scales differ."""
    if factors is not None:
        mean = references.requantise(sums - taps * p.input_zero_point, *factors) + p.output_zero_point
    else:
        mean = np.where(sums > 0, (2 * sums + taps) // (2 * taps), -((-2 * sums + taps) // (2 * taps)))
    return np.clip(mean, p.activation_min, p.activation_max).astype(np.int8)


def binary(op: ProgramOp, inputs: list[np.ndarray], out: ProgramTensor, int8: bool) -> np.ndarray:
    p = op.params
    operands = []
    for index, array in enumerate(inputs):
        images = []
        for image in range(out.batch):
            flat = (array[image] if array.shape[0] == out.batch else array[0]).reshape(-1)
            steps = [field[index] for field in (p.row_step, p.column_step, p.channel_step)]
            where = sum(np.arange(size).reshape(shape) * step for size, shape, step in zip(
                (out.height, out.width, out.channels), ((-1, 1, 1), (1, -1, 1), (1, 1, -1)), steps, strict=True))
            images.append(np.broadcast_to(flat[where], (out.height, out.width, out.channels)))
        operands.append(np.stack(images))
    function = {OpKind.ADD: np.add, OpKind.SUB: np.subtract, OpKind.MUL: np.multiply}[op.kind]
    if not int8:
        return np.clip(function(*operands), np.float32(p.activation_min), np.float32(p.activation_max))
    centred = [array.astype(np.int64) - p.zero_point[index] for index, array in enumerate(operands)]
    if op.kind != OpKind.MUL:
        centred = [references.requantise(array << p.left_shift, p.multiplier[index], p.shift[index])
                   for index, array in enumerate(centred)]
    result = references.requantise(function(*centred), p.output_multiplier, p.output_shift) + p.output_zero_point
    return np.clip(result, p.activation_min, p.activation_max).astype(np.int8)


def softmax_float(vectors: np.ndarray) -> np.ndarray:
    powers = np.exp(vectors.astype(np.float64) - vectors.max(axis=1, keepdims=True))
    return (powers / powers.sum(axis=1, keepdims=True)).astype(np.float32)


def unary(op: ProgramOp, x: np.ndarray) -> np.ndarray:
    alpha, beta = op.params.alpha, op.params.beta
    real = x.astype(np.float64)
    functions = {
        UnaryFunction.CLAMP: lambda: np.clip(real, alpha, beta),
        UnaryFunction.SIGMOID: lambda: 1 / (1 + np.exp(-real)),
        UnaryFunction.TANH: lambda: np.tanh(real),
        UnaryFunction.LEAKY_RELU: lambda: np.where(real < 0, alpha * real, real),
        UnaryFunction.HARD_SIGMOID: lambda: np.clip(alpha * real + beta, 0, 1),
        UnaryFunction.HARD_SWISH: lambda: real * np.clip(real / 6 + 0.5, 0, 1),
        UnaryFunction.EXP: lambda: np.exp(real),
        UnaryFunction.SQRT: lambda: np.sqrt(real),
    }
    return functions[UnaryFunction(op.params.function)]().astype(np.float32)


def transpose(op: ProgramOp, source: np.ndarray, height: int) -> np.ndarray:
    p = op.params
    assert p.element_bytes == source.itemsize and p.rank <= MAX_RANK
    repeats = any(step == 0 and size > 1 for size, step in zip(p.output_shape, p.input_step, strict=True))
    index = sum(np.arange(size).reshape([-1 if axis == k else 1 for k in range(MAX_RANK)]) * step
                for axis, (size, step) in enumerate(zip(p.output_shape, p.input_step, strict=True)))
    assert repeats or np.array_equal(np.sort(index.reshape(-1)), np.arange(source.size))
    return source.reshape(-1)[index]


def quantisation(op: ProgramOp, source: np.ndarray) -> np.ndarray:
    p = op.params
    if op.kind == OpKind.QUANTIZE:
        return np.clip(np.rint(source / np.float32(p.scale)) + p.zero_point, -128, 127).astype(np.int8)
    assert op.kind == OpKind.DEQUANTIZE
    return ((source.astype(np.int32) - p.zero_point) * np.float32(p.scale)).astype(np.float32)
