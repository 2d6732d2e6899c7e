"""The stored types of tensors that are neither float32 nor quantised.

Kernels exist for float32 and for quantised tensors only. Booleans and integers that operators compute are stored as
float32, which holds every integer up to 2^24 exactly. Only model inputs and outputs keep their own type; a CAST follows
or precedes them. Operators that move, compare or choose integers are therefore exact, and integer arithmetic is
refused. Inputs of 32 and 64 bits usually hold positions, counts and codes, so they get a warning instead of a refusal.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from tigris_pio.compiler.ir.graph import Node, Tensor
from tigris_pio.compiler.lower.refusal import Refusal
from tigris_pio.compiler.lower.storage import FLOAT, Numeric
from tigris_pio.format.enums import DType

#: Types that a graph tensor may have.
STORED_TYPES = {
    "float32": DType.FLOAT32, "bool": DType.BOOL, "int8": DType.INT8, "uint8": DType.UINT8, "int16": DType.INT16,
    "int32": DType.INT32, "int64": DType.INT64,
}
#: How uint32 is stored. Only the operators of the audio front end compute with it.
UINT32 = Numeric(DType.INT32)
_OF_UINT32 = frozenset(("SPECTRUM", "NOISE", "LOUDER", "GAIN", "LOG_LEVEL", "Identity", "Reshape"))
#: Names of types whose values float32 holds exactly.
_EXACT_IN_FLOAT32 = frozenset(("float32", "bool", "int8", "uint8", "int16"))
_COMPARISONS = frozenset(("Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual"))
#: Operators whose integer results are elements of their inputs, are positions, or are computed in float32.
_EXACT_OPERATORS = _COMPARISONS | frozenset((
    "ConvInteger", "DequantizeLinear", "DynamicQuantizeLinear", "MatMulInteger", "MaxUnpool", "NonMaxSuppression",
    "OneHot", "TensorScatter", "TopK",
    "ArgMax", "ArgMin", "Cast", "CenterCropPad", "Clip", "Compress", "Concat", "DepthToSpace", "Dropout", "Expand",
    "Flatten", "Gather", "GatherElements", "GatherND", "Identity", "IsInf", "IsNaN", "Max", "MaxPool", "Min", "Pad",
    "QuantizeLinear", "ReduceMax", "ReduceMin", "Relu", "Reshape", "ReverseSequence", "Scatter", "ScatterElements",
    "ScatterND", "Sign", "Slice", "SpaceToDepth", "Split", "Squeeze", "TigrisRecode", "Tile", "Transpose", "Trilu",
    "UNIDIRECTIONAL_SEQUENCE_LSTM", "Unsqueeze", "Where",
))


def activation_numeric(tensor: Tensor) -> Numeric:
    """The stored type of an unquantised tensor between operators. Refuses types without kernels."""
    if tensor.dtype == np.uint32:
        return UINT32
    if tensor.dtype.name not in STORED_TYPES:
        raise Refusal(f"tensor {tensor.name} has type {tensor.dtype}; use float32, an integer type or bool")
    return FLOAT


def io_numeric(tensor: Tensor, dtype: np.dtype) -> Numeric:
    """The stored type of a model input or output of type `dtype`. Refuses types without kernels."""
    if dtype == np.uint32:
        return UINT32
    if dtype.name not in STORED_TYPES:
        raise Refusal(f"tensor {tensor.name} has type {dtype}; use float32, an integer type or bool")
    return FLOAT if dtype == np.float32 else Numeric(STORED_TYPES[dtype.name])


def input_warning(tensor: Tensor) -> str | None:
    """A warning for a model input whose type has values that float32 rounds; None for any other."""
    if tensor.dtype.name not in STORED_TYPES or tensor.dtype.name in _EXACT_IN_FLOAT32:
        return None
    return f"input {tensor.name} is {tensor.dtype}: values beyond {1 << 24} are rounded, because they become float32"


def exact_float(name: str, values: np.ndarray) -> np.ndarray:
    """An integer or boolean constant as float32. Refuses values that float32 rounds."""
    if values.dtype.kind not in "biuf":
        raise Refusal(f"constant {name} has type {values.dtype}; use float32, an integer type or bool")
    result: np.ndarray = values.astype(np.float32)
    if not np.array_equal(result.astype(np.float64), values.astype(np.float64)):
        raise Refusal(f"constant {name} holds integers that float32 rounds")
    return result


def check_arithmetic(node: Node, tensors: Iterable[Tensor]) -> None:
    """Refuses a node that computes with integers. `tensors`: the activations that it reads and writes."""
    if node.op in _OF_UINT32 and node.domain:
        return
    tensors = list(tensors)
    for tensor in tensors:
        if tensor.quantisation is None and tensor.dtype == np.uint32 and node.op not in _OF_UINT32:
            raise Refusal(f"tensor {tensor.name} has type uint32; only the operators of the audio front end "
                          "compute with it")
    nearest = node.op in ("Resize", "Upsample") and node.attributes.get("mode", "nearest") == "nearest"
    if nearest or (node.op in _EXACT_OPERATORS and node.attributes.get("reduction", "none") not in ("add", "mul")):
        return
    positions = node.inputs[1:2] if node.op.startswith("Scatter") else ()
    for tensor in tensors:
        if tensor.quantisation is None and tensor.dtype.kind in "iu" and tensor.name not in positions:
            raise Refusal(f"it computes with {tensor.dtype} ({tensor.name}); cast the tensor to float32 in the model")
