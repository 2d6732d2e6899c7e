"""Reads the shapes that a model's inputs declare."""

from __future__ import annotations

import onnx

from tigris_pio.compiler.load.dimensions import Declared
from tigris_pio.errors import ModelError


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
