"""Reads the shapes that a model's inputs declare, and makes constants of the inputs that the user sets."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import onnx
from onnx import helper, numpy_helper

from tigris_pio.compiler.load.dimensions import Declared
from tigris_pio.compiler.load.fixed_values import check_name, fixed_array, given
from tigris_pio.errors import ModelError, UsageError


def fix_inputs(model: onnx.ModelProto, values: Mapping[str, object], origin: str) -> onnx.ModelProto:
    """The model with the inputs in `values` as initializers; `model` itself without any.

    Raises UsageError for a name or a value that does not fit.
    """
    if not values:
        return model
    known = {value.name: value for value in model.graph.input}
    arrays = {}
    for name, value in values.items():
        check_name(name, value, known, origin)
        arrays[name] = _array(known[name], value)
    changed = onnx.ModelProto()
    changed.CopyFrom(model)
    graph = changed.graph
    kept = [value for value in graph.input if value.name not in arrays]
    weights = [tensor for tensor in graph.initializer if tensor.name not in arrays]
    del graph.input[:]
    del graph.initializer[:]
    graph.input.extend(kept)
    graph.initializer.extend(weights)
    graph.initializer.extend(numpy_helper.from_array(array, name) for name, array in arrays.items())
    return changed


def _array(info: onnx.ValueInfoProto, value: object) -> np.ndarray:
    """The value as an array of the input's own type and shape."""
    kind = info.type.tensor_type.elem_type
    if info.type.WhichOneof("value") != "tensor_type" or kind not in _TYPES:
        raise UsageError(f"{given(info.name, value)}: only inputs of numbers and truth values can be set")
    declared = [int(dim.dim_value) if dim.WhichOneof("value") == "dim_value" and dim.dim_value > 0 else 0
                for dim in info.type.tensor_type.shape.dim]
    return fixed_array(info.name, np.dtype(helper.tensor_dtype_to_np_dtype(kind)), declared, value)


#: Element types that can be set.
_TYPES = frozenset((
    onnx.TensorProto.FLOAT, onnx.TensorProto.DOUBLE, onnx.TensorProto.FLOAT16, onnx.TensorProto.BOOL,
    onnx.TensorProto.INT8, onnx.TensorProto.UINT8, onnx.TensorProto.INT16, onnx.TensorProto.UINT16,
    onnx.TensorProto.INT32, onnx.TensorProto.UINT32, onnx.TensorProto.INT64, onnx.TensorProto.UINT64,
))  # fmt: skip


def declared_shape(value: onnx.ValueInfoProto, origin: str) -> Declared:
    """The declared shape of an input. Raises ModelError if it is no tensor, or has no shape."""
    kind = value.type.WhichOneof("value")
    if kind != "tensor_type":
        raise ModelError(f"{origin}: input {value.name} is a {kind or 'value without a type'}, not a tensor")
    if not value.type.tensor_type.HasField("shape"):
        raise ModelError(f"{origin}: input {value.name} has no shape; export the model with static input shapes")
    shape: list[int | str] = []
    for dim in value.type.tensor_type.shape.dim:
        fixed = dim.WhichOneof("value") == "dim_value" and dim.dim_value >= 0
        shape.append(int(dim.dim_value) if fixed else str(dim.dim_param))
    return tuple(shape)
