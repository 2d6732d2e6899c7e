"""Fixed scales of inputs and outputs (--like, --range), which firmware relies on; they replace calibrated ones."""

import re
from collections.abc import Mapping, Sequence

import numpy as np
import onnx
from onnx import numpy_helper

from tigris_pio.compiler.load.onnx.protobuf import read
from tigris_pio.errors import ModelFileError, UsageError
from tigris_pio.text import suggest_names, visible_name

#: Tensor to its scale (float32) and zero point (int8).
Pins = Mapping[str, Mapping[str, np.ndarray]]


def pins_of(model: onnx.ModelProto, like: str | None, ranges: Sequence[str]) -> Pins:
    """Scales of `ranges` (NAME=MIN:MAX), and of the int8 model at `like` for the other inputs and outputs.

    Raises UsageError for names that are no input or output of the model.
    """
    names = [item.name for item in (*model.graph.input, *model.graph.output)]
    found: dict[str, Mapping[str, np.ndarray]] = {}
    if like is not None:
        try:
            said = _scales(read(like).model)
        except ModelFileError as error:
            raise UsageError(f"--like {error}") from error
        found = {name: said[name] for name in names if name in said}
        if not found:
            raise UsageError(f"--like {like}: none of its int8 inputs and outputs has a name of this model: "
                             f"{', '.join(map(visible_name, names))}")  # fmt: skip
    for text in ranges:
        name, low, high = _range(text)
        if name not in names:
            raise UsageError(f"--range {text}: the model has no input or output {visible_name(name)}; "
                             f"{suggest_names(name, names)}")  # fmt: skip
        found[name] = _pin(low, high)
    return found


def _range(text: str) -> tuple[str, float, float]:
    match = re.fullmatch(r"(.+)=([^:=]+):([^:=]+)", text)
    try:
        name, low, high = (match[1], float(match[2]), float(match[3])) if match else ("", 0.0, 0.0)
    except ValueError:
        name, low, high = "", 0.0, 0.0
    if not name or not np.isfinite(high - low) or min(low, 0.0) == max(high, 0.0):
        raise UsageError(f"--range {text}: is not NAME=MIN:MAX, like accel=-6.5:6.5")
    return name, min(low, 0.0), max(high, 0.0)


def _pin(low: float, high: float) -> Mapping[str, np.ndarray]:
    """Scale and zero point of int8 by onnxruntime's rule; the range includes 0."""
    scale = np.float32((high - low) / 255)
    zero_point = np.clip(np.rint(-128 - low / np.float64(scale)), -128, 127)
    return {"scale": np.array(scale), "zero_point": np.array(zero_point, np.int8)}


def _scales(model: onnx.ModelProto) -> dict[str, Mapping[str, np.ndarray]]:
    """Scales of graph inputs and outputs, from their QuantizeLinear and DequantizeLinear nodes."""
    constants = {item.name: numpy_helper.to_array(item) for item in model.graph.initializer}
    found: dict[str, Mapping[str, np.ndarray]] = {}
    for node in model.graph.node:
        name = {"QuantizeLinear": node.input[0], "DequantizeLinear": node.output[0]}.get(node.op_type)
        scale, zero = (constants.get((*node.input, "", "")[place]) for place in (1, 2))
        if name is not None and scale is not None and zero is not None and scale.size == 1 and zero.dtype == np.int8:
            found.setdefault(name, {"scale": scale.reshape(()), "zero_point": zero.reshape(())})
    return found
