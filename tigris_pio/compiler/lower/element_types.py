"""How tensors that are neither float32 nor quantised are computed with.

There are kernels for float32 and for quantised tensors only. Truth values and integers that operators compute
are carried as float32, which holds every integer up to 2^24 exactly; only model inputs and outputs have
their own type, with a CAST behind or before them. So operators that move, compare or choose integers are
exact and integer arithmetic is refused. Inputs of 32 and 64 bits hold positions, counts and codes: they are taken,
and a warning says from where on they are rounded.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from tigris_pio.compiler.ir.graph import Node, Tensor
from tigris_pio.compiler.lower.refusal import Refusal
from tigris_pio.compiler.lower.storage import FLOAT, Numeric
from tigris_pio.format.enums import DType

#: Types that a graph tensor may have.
CARRIED = {
    "float32": DType.FLOAT32, "bool": DType.BOOL, "int8": DType.INT8, "uint8": DType.UINT8, "int16": DType.INT16,
    "int32": DType.INT32, "int64": DType.INT64,
}
#: Those of them of which float32 holds every value.
_SMALL = frozenset(("float32", "bool", "int8", "uint8", "int16"))
_COMPARISONS = frozenset(("Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual"))
#: Operators whose integer results are among their inputs, are positions, or come from floats.
_EXACT = _COMPARISONS | frozenset((
    "ConvInteger", "DequantizeLinear", "DynamicQuantizeLinear", "MatMulInteger", "MaxUnpool", "NonMaxSuppression",
    "OneHot", "TensorScatter", "TopK",
    "ArgMax", "ArgMin", "Cast", "CenterCropPad", "Clip", "Compress", "Concat", "DepthToSpace", "Dropout", "Expand",
    "Flatten", "Gather", "GatherElements", "GatherND", "Identity", "IsInf", "IsNaN", "Max", "MaxPool", "Min", "Pad",
    "QuantizeLinear", "ReduceMax", "ReduceMin", "Relu", "Reshape", "ReverseSequence", "Scatter", "ScatterElements",
    "ScatterND", "Sign", "Slice", "SpaceToDepth", "Split", "Squeeze", "TigrisRecode", "Tile", "Transpose", "Trilu",
    "UNIDIRECTIONAL_SEQUENCE_LSTM", "Unsqueeze", "Where",
))


def carried(tensor: Tensor) -> Numeric:
    """How an unquantised tensor is stored between operators. Refuses types without kernels."""
    if tensor.dtype.name not in CARRIED:
        raise Refusal(f"tensor {tensor.name} has type {tensor.dtype}; float32, integers and bool are computed with")
    return FLOAT


def border(tensor: Tensor, dtype: np.dtype) -> Numeric:
    """How a model input or output of this type is stored."""
    if dtype.name not in CARRIED:
        raise Refusal(f"tensor {tensor.name} has type {dtype}; float32, integers and bool are computed with")
    return FLOAT if dtype == np.float32 else Numeric(CARRIED[dtype.name])


def input_warning(tensor: Tensor) -> str | None:
    """What is to be said about a model input whose values float32 may not hold."""
    if tensor.dtype.name not in CARRIED or tensor.dtype.name in _SMALL:
        return None
    return (f"input {tensor.name} is {tensor.dtype}: numbers beyond {1 << 24} are rounded, for integers are carried as "
            "float32")


def exact_float(name: str, values: np.ndarray) -> np.ndarray:
    """An integer or truth constant as float32. Refuses values that would be rounded."""
    if values.dtype.kind not in "biuf":
        raise Refusal(f"constant {name} has type {values.dtype}; float32, integers and bool are computed with")
    result: np.ndarray = values.astype(np.float32)
    if not np.array_equal(result.astype(np.float64), values.astype(np.float64)):
        raise Refusal(f"constant {name} holds integers that float32 rounds")
    return result


def check_arithmetic(node: Node, tensors: Iterable[Tensor]) -> None:
    """Refuses integer arithmetic. `tensors`: the activations that the node reads and writes."""
    nearest = node.op in ("Resize", "Upsample") and node.attributes.get("mode", "nearest") == "nearest"
    if nearest or (node.op in _EXACT and node.attributes.get("reduction", "none") not in ("add", "mul")):
        return
    positions = node.inputs[1:2] if node.op.startswith("Scatter") else ()
    for tensor in tensors:
        if tensor.quantisation is None and tensor.dtype.kind in "iu" and tensor.name not in positions:
            raise Refusal(f"it computes with {tensor.dtype} ({tensor.name}); arithmetic is done in float32 and int8")
