"""ESP-NN's assembly for the ESP32-S3 under the interpreter: a case for each function that convolutions and fully
connected layers call, of random shapes and values, with what TensorFlow Lite's arithmetic gives for it."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from bench.assembly import esp_nn_call
from bench.assembly.arithmetic import Window, convolution, depthwise
from bench.assembly.esp_nn_call import random_bytes, random_scales, random_window
from bench.assembly.program import Program
from bench.assembly.source import read
from bench.xtensa.machine import Machine

VARIABLE = "TIGRIS_ESP_NN"
Random = esp_nn_call.Random


@lru_cache
def program() -> Program:
    """All of the library's files for the chip, from the checkout that the variable names."""
    return read(sorted((Path(os.environ[VARIABLE]) / "src").rglob("*_esp32s3.S")))


def called_by_layers() -> set[str]:
    """The functions in assembly that the library's C for convolutions and fully connected layers calls."""
    sources = [path.read_text("utf-8") for folder in ("convolution", "fully_connected")
               for path in (Path(os.environ[VARIABLE]) / "src" / folder).glob("*_esp32s3.c")]  # fmt: skip
    return {name for text in sources for name in re.findall(r"\besp_nn_\w+_esp32s3\b", text)} & set(program().labels)


@dataclass
class Call(esp_nn_call.Call):
    """One run of the library's assembly."""

    def machine(self) -> Machine:
        return Machine(program(), self.memory)


def conv_1x1_s8(choose: Random) -> Call:
    inputs, outputs = 8 * int(choose.integers(1, 9)), 4 * int(choose.integers(1, 10))
    window, size = random_window(choose, (1, 1))
    window = Window((1, 1), (1, 1), size)
    x, w = random_bytes(choose, *size, inputs), random_bytes(choose, outputs, 1, 1, inputs)
    bias = choose.integers(-9999, 9999, outputs)
    offset, scales = int(choose.integers(-127, 129)), random_scales(choose, outputs, inputs)
    call = Call("esp_nn_conv_s8_mult8_1x1_esp32s3", f"{size} {inputs}->{outputs}")
    call.data(x.astype(np.int8), align=16, offset=8 * int(choose.integers(2)))
    call.numbers(size[1], size[0], inputs, offset)
    call.data(w.astype(np.int8), align=16, offset=int(choose.integers(16)))
    call.words(bias)
    call.output(scales.of(convolution(x + offset, w, bias, window)), offset=int(choose.integers(16)))
    call.numbers(size[1], size[0], outputs, scales.zero_point)
    call.scales(scales)
    call.scratch(2 * 8 * inputs + 64)
    return call


def conv_padded(choose: Random) -> Call:
    inputs, outputs = 16 * int(choose.integers(1, 4)), int(choose.integers(1, 9))
    kernel = (int(choose.integers(1, 4)), int(choose.integers(1, 4)))
    window, size = random_window(choose, kernel)
    x, w = random_bytes(choose, *size, inputs), random_bytes(choose, outputs, *kernel, inputs)
    bias, offset = choose.integers(-9999, 9999, outputs), int(choose.integers(-127, 129))
    scales = random_scales(choose, outputs, kernel[0] * kernel[1] * inputs)
    call = Call("esp_nn_conv_s8_filter_aligned_input_padded_esp32s3",
                f"{size} {inputs}->{outputs} k{kernel} s{window.stride[0]}")  # fmt: skip
    call.data(x.astype(np.int8), align=16, offset=int(choose.integers(16)))
    call.numbers(size[1], size[0], inputs, offset, window.stride[1], window.stride[0])
    call.data(w.astype(np.int8), align=16)
    call.numbers(kernel[1], kernel[0])
    call.words(bias)
    call.output(scales.of(convolution(x + offset, w, bias, window)), offset=int(choose.integers(16)))
    call.numbers(window.output[1], window.output[0], outputs, scales.zero_point)
    call.scales(scales)
    call.scratch(4 * outputs + 64)
    return call


def depthwise_s8(choose: Random) -> Call:
    channels = 16 * int(choose.integers(1, 4))
    window, size = random_window(choose, (3, 3))
    x, w = random_bytes(choose, *size, channels), random_bytes(choose, 3, 3, channels, 1)
    bias, offset = choose.integers(-9999, 9999, channels), int(choose.integers(-127, 129))
    scales = random_scales(choose, channels, 9)
    call = Call("esp_nn_depthwise_conv_s8_mult1_3x3_padded_esp32s3", f"{size} {channels} s{window.stride[0]}")
    call.data(x.astype(np.int8), align=16)
    call.numbers(size[1], size[0], channels, offset, window.stride[1], window.stride[0])
    call.data(w.astype(np.int8), align=16)
    call.words(bias, offset=4 * int(choose.integers(4)))
    call.output(scales.of(depthwise(x + offset, w, bias, window)), align=16)
    call.numbers(window.output[1], window.output[0], scales.zero_point)
    call.scales(scales)
    return call


def depthwise_s16(name: str, multiples: int, fixed: bool, padded: bool, per_channel: int) -> Callable[[Random], Call]:
    """Kernels over 16 bits. `multiples`: what input channels are a multiple of; `per_channel`: the multiplier's."""

    def make(choose: Random) -> Call:
        channels = multiples * int(choose.integers(1, 4))
        multiplier = per_channel * int(choose.integers(1, 3)) if per_channel > 1 else 1
        kernel = (3, 3) if fixed else (int(choose.integers(1, 6)), int(choose.integers(1, 6)))
        window, size = random_window(choose, kernel, padded and bool(choose.integers(2)))
        x, w = choose.integers(-255, 256, (*size, channels)), random_bytes(choose, *kernel, channels, multiplier)
        bias = choose.integers(-9999, 9999, channels * multiplier)
        scales = random_scales(choose, channels * multiplier, 9)
        call = Call(f"esp_nn_depthwise_conv_s16_{name}_esp32s3",
                    f"{size} {channels}x{multiplier} k{kernel} s{window.stride[0]} p{window.pad}")  # fmt: skip
        call.data(x.astype("<i2"), align=16)
        call.numbers(size[1], size[0], channels)
        if padded:
            call.numbers(window.pad[1], window.pad[0])
        call.numbers(window.stride[1], window.stride[0])
        if per_channel > 1:
            call.numbers(multiplier)
        call.data(w.astype("<i2"), align=16)
        if not fixed:
            call.numbers(kernel[1], kernel[0])
        call.words(bias)
        call.output(scales.of(depthwise(x, w, bias, window)))
        call.numbers(window.output[1], window.output[0], scales.zero_point)
        call.scales(scales)
        return call

    return make


def dot(name: str, unaligned: bool) -> Callable[[Random], Call]:
    """Of vectors, which the function for any address counts in sixteens."""

    def make(choose: Random) -> Call:
        count = int(choose.integers(1, 12))
        x, w = random_bytes(choose, 16 * count), random_bytes(choose, 16 * count)
        call = Call(name, f"{16 * count}")
        call.data(x.astype(np.int8), align=16)
        call.data(w.astype(np.int8), align=16, offset=int(choose.integers(16)) if unaligned else 0)
        call.numbers(count if unaligned else 16 * count)
        call.result(int((x * w).sum()))
        return call

    return make


def fully_connected(name: str, per_channel: bool) -> Callable[[Random], Call]:
    def make(choose: Random) -> Call:
        inputs, outputs = int(choose.integers(1, 90)), int(choose.integers(1, 14))
        x, w = random_bytes(choose, inputs), random_bytes(choose, outputs, inputs)
        bias, offset = choose.integers(-9999, 9999, outputs), int(choose.integers(-127, 129))
        scales = random_scales(choose, outputs if per_channel else 1, inputs)
        call = Call(name, f"{inputs}->{outputs}")
        call.data(x.astype(np.int8), align=8)
        call.numbers(offset, inputs)
        call.data(w.astype(np.int8), align=16, offset=int(choose.integers(16)))
        call.numbers(0)
        call.words(bias)
        call.output(scales.of(w @ (x + offset) + bias), offset=int(choose.integers(4)))
        call.numbers(outputs, scales.zero_point)
        if per_channel:
            call.scales(scales)
        else:
            call.numbers(scales.shift[0], scales.multiplier[0], scales.low, scales.high)
        return call

    return make


def widen(offset: bool) -> Callable[[Random], Call]:
    def make(choose: Random) -> Call:
        size = int(choose.integers(1, 150))
        x, by = random_bytes(choose, size), int(choose.integers(-128, 129)) if offset else 0
        call = Call("esp_nn_aligned_s8_to_s16_with_offset_esp32s3" if offset else "esp_nn_s8_to_s16_esp32s3", f"{size}")
        call.data(x.astype(np.int8), align=16, offset=0 if offset else int(choose.integers(16)))
        call.output((x + by).astype("<i2"), align=16)
        call.numbers(size)
        if offset:
            call.numbers(by)
        return call

    return make


CASES: tuple[Callable[[Random], Call], ...] = (
    conv_1x1_s8, conv_padded, depthwise_s8,
    depthwise_s16("mult1_3x3", 8, True, True, 1), depthwise_s16("mult1_3x3_no_pad", 8, True, False, 1),
    depthwise_s16("mult1", 8, False, True, 1), depthwise_s16("mult4", 1, False, True, 4),
    depthwise_s16("mult8_3x3", 1, True, True, 8), depthwise_s16("mult8", 1, False, True, 8),
    dot("esp_nn_dot_s8_aligned_esp32s3", False), dot("esp_nn_dot_s8_unaligned_esp32s3", True),
    fully_connected("esp_nn_fc_s16_esp32s3", False), fully_connected("esp_nn_fc_per_ch_s16_esp32s3", True),
    widen(True), widen(False),
)  # fmt: skip
