"""ESP-NN's assembly for the ESP32-S3 under the interpreter: one case for each function, of random shapes and values,
with what TensorFlow Lite's arithmetic gives for it."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from bench.assembly import esp_nn_call
from bench.assembly.arithmetic import (
    Ints,
    Window,
    average_pool,
    convolution,
    depthwise,
    high_multiply,
    max_pool,
    requantise,
    rounding_shift,
)
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


@lru_cache
def files() -> dict[str, str]:
    """The file of each function."""
    found = {}
    code = program()
    for name, index in code.labels.items():
        if name.startswith("esp_nn_") and "@" not in name:
            found[name] = code.code[index].where.split(":")[0]
    return found


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
    call.macs = size[0] * size[1] * inputs * outputs
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
    call.macs = window.output[0] * window.output[1] * w.size
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


def conv_1x1_s16(choose: Random) -> Call:
    """Four pixels at a time: what is left of them is not written at all."""
    inputs, outputs = 4 * int(choose.integers(1, 9)), 4 * int(choose.integers(1, 6))
    size = (int(choose.integers(1, 5)), 4 * int(choose.integers(1, 4)))
    window = Window((1, 1), (1, 1), size)
    x, w = choose.integers(-255, 256, (*size, inputs)), random_bytes(choose, outputs, 1, 1, inputs)
    bias, scales = choose.integers(-9999, 9999, outputs), random_scales(choose, outputs, inputs)
    call = Call("esp_nn_conv_s16_mult4_1x1_esp32s3", f"{size} {inputs}->{outputs}")
    call.data(x.astype("<i2"), align=16)
    call.numbers(size[1], size[0], inputs)
    call.data(w.astype("<i2"), align=16)
    call.words(bias)
    call.output(scales.of(convolution(x, w, bias, window)))
    call.numbers(size[1], size[0], outputs, scales.zero_point)
    call.scales(scales)
    call.scratch(2 * 8 * inputs * 2 + 64)
    return call


def conv_s16(choose: Random) -> Call:
    inputs, outputs = 8 * int(choose.integers(1, 5)), int(choose.integers(1, 7))
    kernel = (int(choose.integers(1, 4)), int(choose.integers(1, 4)))
    window, size = random_window(choose, kernel, bool(choose.integers(2)))
    x, w = choose.integers(-255, 256, (*size, inputs)), random_bytes(choose, outputs, *kernel, inputs)
    bias, scales = choose.integers(-9999, 9999, outputs), random_scales(choose, outputs, kernel[0] * kernel[1] * inputs)
    call = Call("esp_nn_conv_s16_mult8_esp32s3", f"{size} {inputs}->{outputs} k{kernel} s{window.stride[0]}")
    call.data(x.astype("<i2"), align=16)
    call.numbers(size[1], size[0], inputs, window.pad[1], window.pad[0], window.stride[1], window.stride[0])
    call.data(w.astype("<i2"), align=16)
    call.numbers(kernel[1], kernel[0])
    call.words(bias)
    call.output(scales.of(convolution(x, w, bias, window)))
    call.numbers(window.output[1], window.output[0], outputs, scales.zero_point)
    call.scales(scales)
    return call


def depthwise_s8(choose: Random) -> Call:
    channels = 16 * int(choose.integers(1, 4))
    window, size = random_window(choose, (3, 3))
    x, w = random_bytes(choose, *size, channels), random_bytes(choose, 3, 3, channels, 1)
    bias, offset = choose.integers(-9999, 9999, channels), int(choose.integers(-127, 129))
    scales = random_scales(choose, channels, 9)
    call = Call("esp_nn_depthwise_conv_s8_mult1_3x3_padded_esp32s3", f"{size} {channels} s{window.stride[0]}")
    call.macs = window.output[0] * window.output[1] * w.size
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
        call.macs = window.output[0] * window.output[1] * w.size
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


def dot(name: str, offset: bool, by_vectors: bool, multiple: int = 1) -> Callable[[Random], Call]:
    """`multiple` of vectors: esp_nn_fc_s8_mac16 takes the last vector of an odd count from behind where it lies."""

    def make(choose: Random) -> Call:
        count = multiple * int(choose.integers(1, 12))
        x, w = random_bytes(choose, 16 * count), random_bytes(choose, 16 * count)
        call = Call(name, f"{16 * count}")
        call.macs = 16 * count
        call.data(x.astype(np.int8), align=16)
        call.data(w.astype(np.int8), align=16, offset=int(choose.integers(16)) if offset else 0)
        call.numbers(count if by_vectors else 16 * count)
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
        call.macs = w.size
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


def add(choose: Random) -> Call:
    size = int(choose.integers(1, 120))
    x, y = random_bytes(choose, size), random_bytes(choose, size)
    offsets = [int(v) for v in choose.integers(-128, 129, 2)]
    by = [int(v) for v in choose.integers(1 << 30, (1 << 31) - 1, 3)]
    rights = [int(v) for v in choose.integers(0, 4, 2)]
    out_right = 19 + int(choose.integers(0, 3))
    zero_point = int(choose.integers(-128, 128))
    scaled = [rounding_shift(high_multiply((v + o) << 20, m), r)
              for v, o, m, r in zip((x, y), offsets, by, rights, strict=False)]  # fmt: skip
    total = rounding_shift(high_multiply(scaled[0] + scaled[1], by[2]), out_right) + zero_point
    call = Call("esp_nn_add_elementwise_s8_esp32s3", f"{size}")
    aligned = 0 if choose.integers(2) else int(choose.integers(16))
    call.data(x.astype(np.int8), align=16, offset=aligned)
    call.data(y.astype(np.int8), align=16, offset=aligned if choose.integers(2) else int(choose.integers(16)))
    call.numbers(*offsets, by[0], by[1], -rights[0], -rights[1], 20)
    call.output(np.clip(total, -100, 120).astype(np.int8), align=16, offset=aligned)
    call.numbers(zero_point, by[2], -out_right, -100, 120, size)
    return call


def mul(choose: Random) -> Call:
    """Aligned, and by eights: what is left of them is rounded otherwise where the result is negative, and all of it
    with
    another constant where inputs are not aligned or less than eight."""
    size = 8 * int(choose.integers(1, 16))
    x, y = random_bytes(choose, size), random_bytes(choose, size)
    offsets, multiplier = [int(v) for v in choose.integers(-128, 129, 2)], int(choose.integers(1 << 30, (1 << 31) - 1))
    right, zero_point = int(choose.integers(5, 10)), int(choose.integers(-128, 128))
    wanted = requantise((x + offsets[0]) * (y + offsets[1]), multiplier, -right) + zero_point
    call = Call("esp_nn_mul_elementwise_s8_esp32s3", f"{size}")
    call.data(x.astype(np.int8), align=16)
    call.data(y.astype(np.int8), align=16)
    call.numbers(*offsets)
    call.output(np.clip(wanted, -90, 110).astype(np.int8), align=16)
    call.numbers(zero_point, multiplier, -right, -90, 110, size)
    return call


def mul_broadcast(choose: Random) -> Call:
    pixels, channels = int(choose.integers(1, 9)), int(choose.integers(1, 60))
    x, y = random_bytes(choose, pixels, channels), random_bytes(choose, channels)
    offsets, multiplier = [int(v) for v in choose.integers(-128, 129, 2)], int(choose.integers(1 << 30, (1 << 31) - 1))
    right, zero_point = int(choose.integers(5, 10)), int(choose.integers(-128, 128))
    wanted = requantise((x + offsets[0]) * (y + offsets[1]), multiplier, -right) + zero_point
    call = Call("esp_nn_mul_broadcast_channel_s8_esp32s3", f"{pixels}x{channels}")
    call.data(x.astype(np.int8), align=16)
    call.data(y.astype(np.int8), align=16)
    call.numbers(*offsets)
    call.output(np.clip(wanted, -90, 110).astype(np.int8), align=16)
    call.numbers(zero_point, multiplier, -right, -90, 110, pixels, channels)
    return call


def relu6(choose: Random) -> Call:
    size = int(choose.integers(1, 100))
    x = random_bytes(choose, size)
    call = Call("esp_nn_relu6_s8_esp32s3", f"{size}")
    call.output(np.clip(x, 0, 6).astype(np.int8), align=16)
    address = call.arguments[0]
    call.memory.bytes[address : address + size] = x.astype(np.int8).tobytes()
    call.numbers(size)
    return call


def pool(name: str, function: Callable[[Ints, Window], Ints], square: bool = False) -> Callable[[Random], Call]:
    """`square`: the average's rows of output are taken as long as the output is high. Four channels more than a
    multiple
    of eight are not held above the activation's lower limit by the maximum."""

    def make(choose: Random) -> Call:
        channels = 4 * int(choose.integers(1, 14))
        kernel = (int(choose.integers(1, 4)), int(choose.integers(1, 4)))
        kernel = (kernel[0], kernel[0]) if square else kernel
        window, size = random_window(choose, kernel, bool(choose.integers(2)))
        while square and (window.output[0] != window.output[1] or size[0] != size[1]):
            window, size = random_window(choose, kernel, bool(choose.integers(2)))
        x = random_bytes(choose, *size, channels)
        low = -100 if square or channels % 8 == 0 else -128
        call = Call(name, f"{size} {channels} k{kernel} s{window.stride[0]} p{window.pad}")
        call.data(x.astype(np.int8), align=16)
        call.numbers(size[1], size[0])
        call.output(np.clip(function(x, window), low, 100).astype(np.int8), align=16)
        call.numbers(window.output[1], window.output[0], window.stride[1], window.stride[0], kernel[1], kernel[0])
        call.numbers(window.pad[1], window.pad[0], low, 100, channels)
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
    conv_1x1_s8, conv_padded, conv_1x1_s16, conv_s16, depthwise_s8,
    depthwise_s16("mult1_3x3", 8, True, True, 1), depthwise_s16("mult1_3x3_no_pad", 8, True, False, 1),
    depthwise_s16("mult1", 8, False, True, 1), depthwise_s16("mult4", 1, False, True, 4),
    depthwise_s16("mult8_3x3", 1, True, True, 8), depthwise_s16("mult8", 1, False, True, 8),
    dot("esp_nn_fc_s8_mac16_esp32s3", True, True, 2), dot("esp_nn_dot_s8_aligned_esp32s3", False, False),
    dot("esp_nn_dot_s8_unaligned_esp32s3", True, True),
    fully_connected("esp_nn_fc_s16_esp32s3", False), fully_connected("esp_nn_fc_per_ch_s16_esp32s3", True),
    add, mul, mul_broadcast, relu6, pool("esp_nn_avg_pool_s8_esp32s3_asm", average_pool, square=True),
    pool("esp_nn_max_pool_s8_esp32s3", max_pool), widen(True), widen(False),
)  # fmt: skip
