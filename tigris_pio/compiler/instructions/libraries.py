"""What kernels of libraries do, for their instructions: as their sources go about it, in a few words for any of them.

CMSIS-NN (arm_convolve_wrapper_s8 and its like) and ESP-NN (esp_nn_conv_s8 and its like) gather the window of a pixel
or two, tap by tap (`tap`, `window`), or copy the input once (`input`), and multiply it by the weights of each output
channel (`product`, with vectors in sixteens: `vector`); each result is scaled (`output`). A call begins with sums or
copies of the weights (`weight`), which is what makes low bands dear.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from tigris_pio.compiler.backends.shape import SHAPED_KINDS
from tigris_pio.compiler.instructions import pie
from tigris_pio.compiler.instructions.call import Call, Work
from tigris_pio.compiler.instructions.counted_libraries import LIBRARY_COEFFICIENTS
from tigris_pio.format.enums import OpKind

#: Bytes of a vector of MVE, and of the ESP32-S3 and -P4.
_VECTOR = 16
#: Pixels that ESP-NN's convolution of 1x1 takes at a time on the ESP32-S3; what is left of them goes one by one.
_PIXELS = 8
_DEPTHWISE = OpKind.PLAIN_DEPTHWISE_CONV_2D
_DENSE = OpKind.PLAIN_FULLY_CONNECTED


def library_name_of(call: Call) -> str:
    """The kernel that a library chooses for an operator, by its kind and its window."""
    if call.op.backend == "pie":
        return pie.name_of(call)
    if call.op.kind is _DENSE:
        return "FULLY_CONNECTED"
    params: Any = call.op.params
    kernel = (params.kernel_height, params.kernel_width)
    if call.op.kind is _DEPTHWISE:
        return "DEPTHWISE_CONV_2D 3x3" if kernel == (3, 3) else "DEPTHWISE_CONV_2D"
    if kernel == (1, 1):
        return "CONV_2D 1x1" if (params.stride_height, params.stride_width) == (1, 1) else "CONV_2D"
    return "CONV_2D few" if params.kernel_width * call.inputs[0].channels < _VECTOR else "CONV_2D"


def library_work_of(call: Call) -> Work:
    """What a call of a library's kernel does."""
    if call.op.backend == "pie":
        return pie.work_of(call)
    params: Any = call.op.params
    if call.op.kind is _DENSE:
        inputs, outputs = params.in_features, params.out_features
        pixels = call.elements // outputs
        return _work(inputs * outputs, pixels * inputs, pixels, 0, 0, outputs, inputs, math.ceil(inputs / _VECTOR))
    taps = params.kernel_height * params.kernel_width
    if call.op.kind is _DEPTHWISE:
        outputs = call.output.channels
        vectors = taps * math.ceil(outputs / _VECTOR) / outputs  # channels lie side by side
        return _work(taps * outputs, call.read, call.pixels, taps, taps * outputs, outputs, taps, vectors)
    inputs, outputs = call.inputs[0].channels // params.groups, call.output.channels
    row, window = params.kernel_width * inputs, taps * inputs
    vectors = math.ceil(window / _VECTOR) if row < _VECTOR else params.kernel_height * math.ceil(row / _VECTOR)
    work = _work(window * outputs, call.read, call.pixels, taps, window, outputs, window, vectors)
    left = call.pixels % _PIXELS * outputs
    return {**work, "left output": left, "left product": left * window} if taps == 1 else work


def _work(
    weights: int, read: int, pixels: int, taps: int, window: int, outputs: int, products: int, vectors: float
) -> Work:
    return {
        "call": 1,
        "weight": weights,
        "input": read,
        "pixel": pixels,
        "tap": pixels * taps,
        "window": pixels * window,
        "output": pixels * outputs,
        "product": pixels * outputs * products,
        "vector": pixels * outputs * vectors,
    }


def library_instructions(call: Call, machine: str) -> float | None:
    """Instructions of a call of the kernel of `call.op.backend`; None: the machine has none that were counted."""
    known = LIBRARY_COEFFICIENTS.get(call.op.backend or "", {}).get(machine)
    if known is None or call.op.kind not in SHAPED_KINDS:
        return None
    name = library_name_of(call)
    values = known.get(name) or known[name.split()[0]]
    return sum(values.get(part, 0.0) * amount for part, amount in library_work_of(call).items())


def machines(library: str) -> tuple[str, ...]:
    """Those on which the library was counted."""
    return tuple(LIBRARY_COEFFICIENTS.get(library, {}))


def machine_for(library: str, chip: str) -> str:
    """The one that stands for a chip of `--chip`; "": one for which the library was made."""
    return _MACHINES.get(library, {}).get(chip, _OTHERS.get(library, ""))


_MACHINES: Mapping[str, Mapping[str, str]] = {
    "cmsis-nn": {
        **dict.fromkeys(("", "cortex-m4", "cortex-m33", "cortex-m35p"), "cortex-m4"),
        "cortex-m7": "cortex-m7",
        **dict.fromkeys(("cortex-m52", "cortex-m55", "cortex-m85"), "cortex-m55"),
    },
    "esp-nn": {**dict.fromkeys(("", "esp32s3"), "esp32s3"), "esp32p4": "esp32p4"},
    "pie": dict.fromkeys(("", "esp32s3"), "esp32s3"),
}
#: Chips without vectors or DSP instructions: the libraries' C, compiled for RV32IMC.
_OTHERS = {"cmsis-nn": "rv32imc", "esp-nn": "rv32imc"}
