"""Models as training gives them the next time: the same network with other numbers."""

from pathlib import Path

import numpy as np
import onnx
from onnx import numpy_helper

DIGITS = Path(__file__).parents[1] / "examples" / "digits" / "model" / "digits.onnx"


def digits(target: Path, weights: int = 0, input_scale: float = 1.0, layers: str = "conv_2") -> Path:
    """Writes the digits network to `target`: int8 weights of layers raised, the scale of its input multiplied.

    `layers`: how the names of those layers begin.
    """
    model = onnx.load(DIGITS)
    for tensor in model.graph.initializer:
        values = numpy_helper.to_array(tensor)
        if tensor.name.startswith(layers) and tensor.name.endswith(".weight_quantized"):
            values = np.clip(values.astype(np.int32) + weights, -128, 127).astype(np.int8)
        elif tensor.name == "image_scale":
            values = values * np.float32(input_scale)
        else:
            continue
        tensor.CopyFrom(numpy_helper.from_array(values, tensor.name))
    onnx.save(model, target)
    return target
