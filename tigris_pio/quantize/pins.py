"""Scales that inputs and outputs are given instead of those that the samples lead to, so that firmware stays right."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np
import onnx
from onnx import numpy_helper

from tigris_pio.compiler.load.onnx.protobuf import read
from tigris_pio.errors import ModelFileError, UsageError
from tigris_pio.text import suggest_names, visible_name

#: Scale, float32, and zero point, int8, by tensor.
Pins = Mapping[str, Mapping[str, np.ndarray]]


def pins_of(model: onnx.ModelProto, like: str | None, ranges: Sequence[str]) -> Pins:
    """Those of `ranges`, NAME=MIN:MAX each, and of the int8 model at `like` for all others that it has a scale for.
    UsageError for what is no input or output of the model."""
    names = [item.name for item in (*model.graph.input, *model.graph.output)]
    found: dict[str, Mapping[str, np.ndarray]] = {}
    if like is not None:
        try:
            said = _scales(read(like).model)
        except ModelFileError as error:
            raise UsageError(f"--like {error}") from error
        found = {name: said[name] for name in names if name in said}
        if not found:
            raise UsageError(f"--like {like}: has no int8 input or output of a name that this model has: "
                             f"{', '.join(map(visible_name, names))}")  # fmt: skip
    for text in ranges:
        name, low, high = _range(text)
        if name not in names:
            raise UsageError(f"--range {text}: no input or output is called {visible_name(name)}; "
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
        raise UsageError(f"--range {text}: is no NAME=MIN:MAX; write accel=-6.5:6.5")
    return name, min(low, 0.0), max(high, 0.0)


def _pin(low: float, high: float) -> Mapping[str, np.ndarray]:
    """As onnxruntime has int8 of a range, in which zero lies."""
    scale = np.float32((high - low) / 255)
    zero_point = np.clip(np.rint(-128 - low / np.float64(scale)), -128, 127)
    return {"scale": np.array(scale), "zero_point": np.array(zero_point, np.int8)}


def _scales(model: onnx.ModelProto) -> dict[str, Mapping[str, np.ndarray]]:
    """By graph input and output what QuantizeLinear and DequantizeLinear there say."""
    constants = {item.name: numpy_helper.to_array(item) for item in model.graph.initializer}
    found: dict[str, Mapping[str, np.ndarray]] = {}
    for node in model.graph.node:
        name = {"QuantizeLinear": node.input[0], "DequantizeLinear": node.output[0]}.get(node.op_type)
        scale, zero = (constants.get((*node.input, "", "")[place]) for place in (1, 2))
        if name is not None and scale is not None and zero is not None and scale.size == 1 and zero.dtype == np.int8:
            found.setdefault(name, {"scale": scale.reshape(()), "zero_point": zero.reshape(())})
    return found
