"""Writes TensorFlow Lite files for tests from tensors and operators, without checks.

The schema's classes are from TensorFlow Lite Micro's package.
"""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import flatbuffers
import numpy as np
from tflite_micro.tensorflow.lite.micro.python import schema_py_generated as schema

_TYPES = {
    "float32": "FLOAT32", "float16": "FLOAT16", "int32": "INT32", "uint8": "UINT8", "int64": "INT64", "bool": "BOOL",
    "int16": "INT16", "int8": "INT8", "uint32": "UINT32", "uint64": "UINT64", "resource": "RESOURCE",
    "string": "STRING", "complex64": "COMPLEX64", "variant": "VARIANT",
}
#: Classes of options whose names differ from their operators'.
_OPTIONS = {
    "AVERAGE_POOL_2D": "Pool2D", "MAX_POOL_2D": "Pool2D", "MEAN": "Reducer", "SUM": "Reducer", "REDUCE_MAX": "Reducer",
    "REDUCE_MIN": "Reducer", "REDUCE_PROD": "Reducer", "REDUCE_ANY": "Reducer", "REDUCE_ALL": "Reducer",
    "CONV_2D": "Conv2D", "DEPTHWISE_CONV_2D": "DepthwiseConv2D", "L2_NORMALIZATION": "L2Norm",
    "MAXIMUM": "MaximumMinimum", "MINIMUM": "MaximumMinimum", "SVDF": "SVDF", "PADV2": "PadV2",
    "UNIDIRECTIONAL_SEQUENCE_LSTM": "UnidirectionalSequenceLSTM", "SELECT_V2": "SelectV2", "REVERSE_V2": "ReverseV2",
    "SPACE_TO_BATCH_ND": "SpaceToBatchND", "BATCH_TO_SPACE_ND": "BatchToSpaceND", "BATCH_MATMUL": "BatchMatMul",
    "RFFT2D": "Rfft2d", "L2_POOL_2D": "Pool2D", "SPLIT_V": "SplitV", "TOPK_V2": "TopKV2", "CUMSUM": "Cumsum",
}
#: Operators without options of their own.
_NONE = frozenset(("LOGISTIC", "TANH", "RELU", "RELU6", "RELU_N1_TO_1", "ELU", "PRELU", "SQRT", "RSQRT", "LOG", "SIN",
                   "FLOOR", "CEIL", "ROUND", "EMBEDDING_LOOKUP", "BROADCAST_ARGS", "DYNAMIC_UPDATE_SLICE",
                   "COMPLEX_ABS", "REAL", "IMAG"))


@dataclasses.dataclass(frozen=True)
class Tensor:
    """One tensor. `scale` and `zero_point` may be vectors along `axis`; `data` makes it a constant."""

    name: str
    shape: tuple[int, ...]
    dtype: str = "int8"
    scale: float | Sequence[float] | None = None
    zero_point: int | Sequence[int] = 0
    axis: int = 0
    data: np.ndarray | None = None
    variable: bool = False


@dataclasses.dataclass(frozen=True)
class Operator:
    """One operator by its name in the schema. An absent input is the empty string."""

    op: str
    inputs: Sequence[str]
    outputs: Sequence[str]
    options: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    version: int = 1
    custom: bytes | None = None  #: a custom operator's options


Part = (tuple[Sequence[Tensor], Sequence[Operator]]
        | tuple[Sequence[Tensor], Sequence[Operator], Sequence[str], Sequence[str]])


def constant(name: str, data: np.ndarray, scale: float | Sequence[float] | None = None,
             zero_point: int | Sequence[int] = 0, axis: int = 0) -> Tensor:
    """A constant tensor."""
    return Tensor(name, data.shape, data.dtype.name, scale, zero_point, axis, data)


def write(tensors: Sequence[Tensor], operators: Sequence[Operator], inputs: Sequence[str], outputs: Sequence[str],
          subgraphs: Sequence[Part] = ()) -> bytes:
    """The file's bytes. `subgraphs`: further subgraphs, with the names of their inputs and outputs."""
    model = schema.ModelT()
    model.version = 3
    model.description = "test"
    model.buffers = [schema.BufferT()]
    parts = [(tensors, operators, inputs, outputs), *((*part, (), ())[:4] for part in subgraphs)]
    codes = list(dict.fromkeys((item.op, item.version) for part in parts for item in part[1]))
    known = {item.op for part in parts for item in part[1] if item.custom is not None}
    model.operatorCodes = [_code(*code, code[0] in known) for code in codes]
    model.subgraphs = [_subgraph(*part, codes, model) for part in parts]
    return _packed(model)


def changed(data: bytes, change: Callable[[Any], None]) -> bytes:
    """The file's bytes after `change` was applied to the schema's model."""
    model = schema.ModelT.InitFromObj(schema.Model.GetRootAsModel(data, 0))
    change(model)
    return _packed(model)


def _packed(model: Any) -> bytes:
    builder = flatbuffers.Builder(1024)
    builder.Finish(model.Pack(builder), b"TFL3")
    return bytes(builder.Output())


def _subgraph(tensors: Sequence[Tensor], operators: Sequence[Operator], inputs: Sequence[str], outputs: Sequence[str],
              codes: Sequence[tuple[str, int]], model: Any) -> Any:
    graph = schema.SubGraphT()
    index = {tensor.name: position for position, tensor in enumerate(tensors)} | {"": -1}
    graph.name = "main"
    graph.inputs, graph.outputs = [index[name] for name in inputs], [index[name] for name in outputs]
    graph.tensors = [_tensor(tensor, model) for tensor in tensors]
    graph.operators = [_operator(item, codes.index((item.op, item.version)), index) for item in operators]
    return graph


def _tensor(tensor: Tensor, model: Any) -> Any:
    result = schema.TensorT()
    result.name, result.shape = tensor.name, list(tensor.shape)
    result.type = getattr(schema.TensorType, _TYPES[tensor.dtype])
    result.isVariable = tensor.variable
    result.buffer = 0
    if tensor.data is not None:
        buffer = schema.BufferT()
        buffer.data = np.frombuffer(np.ascontiguousarray(tensor.data).tobytes(), np.uint8)
        result.buffer = len(model.buffers)
        model.buffers.append(buffer)
    if tensor.scale is not None:
        quantisation = schema.QuantizationParametersT()
        scale = np.atleast_1d(np.asarray(tensor.scale, np.float32))
        quantisation.scale = scale
        quantisation.zeroPoint = np.broadcast_to(np.asarray(tensor.zero_point, np.int64), scale.shape).copy()
        quantisation.quantizedDimension = tensor.axis
        result.quantization = quantisation
    return result


def _code(op: str, version: int, custom: bool) -> Any:
    code = schema.OperatorCodeT()
    if custom:
        code.builtinCode = code.deprecatedBuiltinCode = schema.BuiltinOperator.CUSTOM
        code.customCode, code.version = op, version
        return code
    number = getattr(schema.BuiltinOperator, op)
    code.builtinCode, code.deprecatedBuiltinCode, code.version = number, min(number, 127), version
    return code


def _operator(item: Operator, code: int, index: Mapping[str, int]) -> Any:
    result = schema.OperatorT()
    result.opcodeIndex = code
    result.inputs = [index[name] for name in item.inputs]
    result.outputs = [index[name] for name in item.outputs]
    if item.custom is not None:
        result.customOptions = list(item.custom)
    elif item.op not in _NONE:
        name = _OPTIONS.get(item.op) or item.op.title().replace("_", "")
        options = getattr(schema, f"{name}OptionsT")()
        for field, value in item.options.items():
            if not hasattr(options, field):
                raise ValueError(f"{name}Options has no {field}; it has {sorted(vars(options))}")
            setattr(options, field, value)
        result.builtinOptions = options
        result.builtinOptionsType = getattr(schema.BuiltinOptions, f"{name}Options")
    return result


#: Values of fusedActivationFunction and padding.
NONE, RELU, RELU_N1_TO_1, RELU6 = 0, 1, 2, 3
SAME, VALID = 0, 1
