"""ESP-NN's assembly for the ESP32-S3 under the interpreter: one case for each function, of random shapes and values,
with what TensorFlow Lite's arithmetic gives for it."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bench.xtensa.machine import Machine
from bench.xtensa.memory import Memory, Stray
from bench.xtensa.program import Program
from bench.xtensa.source import read
from tests.emulation.xtensa.reference import (
    Ints,
    Output,
    Window,
    average_pool,
    convolution,
    depthwise,
    high_multiply,
    max_pool,
    requantise,
    rounding_shift,
)

VARIABLE = "TIGRIS_ESP_NN"
Random = np.random.Generator


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
class Call:
    """One run: arguments in order, what came out, and where it lay outside of its operands."""

    function: str
    shape: str
    memory: Memory = field(default_factory=Memory)
    arguments: list[int] = field(default_factory=list)
    executed: int = 0
    macs: int = 0
    _output: tuple[int, NDArray[np.generic]] | None = None
    _expected: Callable[[], NDArray[np.generic]] | None = None

    def data(self, values: NDArray[np.generic], align: int = 4, offset: int = 0) -> None:
        self.arguments.append(self.memory.add(f"operand {len(self.arguments)}", values.tobytes(), align=align,
                                              offset=offset))  # fmt: skip

    def words(self, values: Ints, offset: int = 0) -> None:
        self.data(values.astype("<i4"), offset=offset)

    def numbers(self, *values: int) -> None:
        self.arguments.extend(int(value) for value in values)

    def output(self, expected: NDArray[np.generic], align: int = 1, offset: int = 0) -> None:
        address = self.memory.add("output", expected.nbytes, writable=True, align=align, offset=offset)
        self.arguments.append(address)
        self._output = (address, expected)

    def scratch(self, size: int) -> None:
        self.arguments.append(self.memory.add("scratch", size, writable=True))

    def run(self) -> tuple[int, int]:
        """How many of the outputs differ, and how many there are."""
        machine = Machine(program(), self.memory)
        result = machine.call(self.function, self.arguments)
        self.executed = machine.executed
        assert self._output is not None
        address, expected = self._output
        if address < 0:
            got: NDArray[np.generic] = np.array([result], np.uint32).view(np.int32)
        else:
            got = np.frombuffer(self.memory.content(address, expected.nbytes), expected.dtype)
        return int((got.reshape(-1) != expected.reshape(-1)).sum()), expected.size

    def result(self, expected: int) -> None:
        """What is expected is the function's own result."""
        self._output = (-1, np.array([expected], np.int32))

    def writes_outside(self) -> list[Stray]:
        return [stray for stray in self.memory.strays if stray.writes]

    def furthest_read(self) -> int:
        """Bytes from the nearest operand, of what is read ahead."""
        return max((abs(stray.distance) + (stray.distance >= 0) for stray in self.memory.strays), default=0)


def _bytes(choose: Random, *shape: int) -> Ints:
    return choose.integers(-128, 128, shape)


def _scales(choose: Random, count: int, terms: int) -> Output:
    """Multipliers and shifts that bring sums of that many products to about eight bits."""
    right = int(np.log2(terms) / 2) + 5
    low, high = sorted(choose.choice([-128, -100, -20, 20, 100, 127], 2, replace=False))
    return Output(choose.integers(1 << 30, 1 << 31, count), choose.integers(-right - 2, -right + 2, count),
                  int(choose.integers(-128, 128)), int(low), int(high))  # fmt: skip


def _window(choose: Random, kernel: tuple[int, int], padded: bool = False) -> tuple[Window, tuple[int, int]]:
    """A window and the input's rows and columns."""
    stride = (int(choose.integers(1, 3)),) * 2
    output = (int(choose.integers(1, 6)), int(choose.integers(1, 7)))
    pad = (kernel[0] // 2, kernel[1] // 2) if padded else (0, 0)
    size = tuple((o - 1) * s + k - 2 * p for o, s, k, p in zip(output, stride, kernel, pad, strict=True))
    if min(size) < 1:
        return _window(choose, kernel, padded)
    return Window(kernel, stride, output, pad), (size[0], size[1])


def _scale_words(call: Call, output: Output) -> None:
    call.words(output.shift)
    call.words(output.multiplier)
    call.numbers(output.low, output.high)


def conv_1x1_s8(choose: Random) -> Call:
    inputs, outputs = 8 * int(choose.integers(1, 9)), 4 * int(choose.integers(1, 10))
    window, size = _window(choose, (1, 1))
    window = Window((1, 1), (1, 1), size)
    x, w = _bytes(choose, *size, inputs), _bytes(choose, outputs, 1, 1, inputs)
    bias = choose.integers(-9999, 9999, outputs)
    offset, scales = int(choose.integers(-127, 129)), _scales(choose, outputs, inputs)
    call = Call("esp_nn_conv_s8_mult8_1x1_esp32s3", f"{size} {inputs}->{outputs}")
    call.macs = size[0] * size[1] * inputs * outputs
    call.data(x.astype(np.int8), align=16, offset=8 * int(choose.integers(2)))
    call.numbers(size[1], size[0], inputs, offset)
    call.data(w.astype(np.int8), align=16, offset=int(choose.integers(16)))
    call.words(bias)
    call.output(scales.of(convolution(x + offset, w, bias, window)), offset=int(choose.integers(16)))
    call.numbers(size[1], size[0], outputs, scales.zero_point)
    _scale_words(call, scales)
    call.scratch(2 * 8 * inputs + 64)
    return call


def conv_padded(choose: Random) -> Call:
    inputs, outputs = 16 * int(choose.integers(1, 4)), int(choose.integers(1, 9))
    kernel = (int(choose.integers(1, 4)), int(choose.integers(1, 4)))
    window, size = _window(choose, kernel)
    x, w = _bytes(choose, *size, inputs), _bytes(choose, outputs, *kernel, inputs)
    bias, offset = choose.integers(-9999, 9999, outputs), int(choose.integers(-127, 129))
    scales = _scales(choose, outputs, kernel[0] * kernel[1] * inputs)
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
    _scale_words(call, scales)
    call.scratch(4 * outputs + 64)
    return call


def conv_1x1_s16(choose: Random) -> Call:
    """Four pixels at a time: what is left of them is not written at all."""
    inputs, outputs = 4 * int(choose.integers(1, 9)), 4 * int(choose.integers(1, 6))
    size = (int(choose.integers(1, 5)), 4 * int(choose.integers(1, 4)))
    window = Window((1, 1), (1, 1), size)
    x, w = choose.integers(-255, 256, (*size, inputs)), _bytes(choose, outputs, 1, 1, inputs)
    bias, scales = choose.integers(-9999, 9999, outputs), _scales(choose, outputs, inputs)
    call = Call("esp_nn_conv_s16_mult4_1x1_esp32s3", f"{size} {inputs}->{outputs}")
    call.data(x.astype("<i2"), align=16)
    call.numbers(size[1], size[0], inputs)
    call.data(w.astype("<i2"), align=16)
    call.words(bias)
    call.output(scales.of(convolution(x, w, bias, window)))
    call.numbers(size[1], size[0], outputs, scales.zero_point)
    _scale_words(call, scales)
    call.scratch(2 * 8 * inputs * 2 + 64)
    return call


def conv_s16(choose: Random) -> Call:
    inputs, outputs = 8 * int(choose.integers(1, 5)), int(choose.integers(1, 7))
    kernel = (int(choose.integers(1, 4)), int(choose.integers(1, 4)))
    window, size = _window(choose, kernel, bool(choose.integers(2)))
    x, w = choose.integers(-255, 256, (*size, inputs)), _bytes(choose, outputs, *kernel, inputs)
    bias, scales = choose.integers(-9999, 9999, outputs), _scales(choose, outputs, kernel[0] * kernel[1] * inputs)
    call = Call("esp_nn_conv_s16_mult8_esp32s3", f"{size} {inputs}->{outputs} k{kernel} s{window.stride[0]}")
    call.data(x.astype("<i2"), align=16)
    call.numbers(size[1], size[0], inputs, window.pad[1], window.pad[0], window.stride[1], window.stride[0])
    call.data(w.astype("<i2"), align=16)
    call.numbers(kernel[1], kernel[0])
    call.words(bias)
    call.output(scales.of(convolution(x, w, bias, window)))
    call.numbers(window.output[1], window.output[0], outputs, scales.zero_point)
    _scale_words(call, scales)
    return call


def depthwise_s8(choose: Random) -> Call:
    channels = 16 * int(choose.integers(1, 4))
    window, size = _window(choose, (3, 3))
    x, w = _bytes(choose, *size, channels), _bytes(choose, 3, 3, channels, 1)
    bias, offset = choose.integers(-9999, 9999, channels), int(choose.integers(-127, 129))
    scales = _scales(choose, channels, 9)
    call = Call("esp_nn_depthwise_conv_s8_mult1_3x3_padded_esp32s3", f"{size} {channels} s{window.stride[0]}")
    call.macs = window.output[0] * window.output[1] * w.size
    call.data(x.astype(np.int8), align=16)
    call.numbers(size[1], size[0], channels, offset, window.stride[1], window.stride[0])
    call.data(w.astype(np.int8), align=16)
    call.words(bias, offset=4 * int(choose.integers(4)))
    call.output(scales.of(depthwise(x + offset, w, bias, window)), align=16)
    call.numbers(window.output[1], window.output[0], scales.zero_point)
    _scale_words(call, scales)
    return call


def depthwise_s16(name: str, multiples: int, fixed: bool, padded: bool, per_channel: int) -> Callable[[Random], Call]:
    """Kernels over 16 bits. `multiples`: what input channels are a multiple of; `per_channel`: the multiplier's."""

    def make(choose: Random) -> Call:
        channels = multiples * int(choose.integers(1, 4))
        multiplier = per_channel * int(choose.integers(1, 3)) if per_channel > 1 else 1
        kernel = (3, 3) if fixed else (int(choose.integers(1, 6)), int(choose.integers(1, 6)))
        window, size = _window(choose, kernel, padded and bool(choose.integers(2)))
        x, w = choose.integers(-255, 256, (*size, channels)), _bytes(choose, *kernel, channels, multiplier)
        bias, scales = choose.integers(-9999, 9999, channels * multiplier), _scales(choose, channels * multiplier, 9)
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
        _scale_words(call, scales)
        return call

    return make


def dot(name: str, offset: bool, by_vectors: bool, multiple: int = 1) -> Callable[[Random], Call]:
    """`multiple` of vectors: esp_nn_fc_s8_mac16 takes the last vector of an odd count from behind where it lies."""

    def make(choose: Random) -> Call:
        count = multiple * int(choose.integers(1, 12))
        x, w = _bytes(choose, 16 * count), _bytes(choose, 16 * count)
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
        x, w = _bytes(choose, inputs), _bytes(choose, outputs, inputs)
        bias, offset = choose.integers(-9999, 9999, outputs), int(choose.integers(-127, 129))
        scales = _scales(choose, outputs if per_channel else 1, inputs)
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
            _scale_words(call, scales)
        else:
            call.numbers(scales.shift[0], scales.multiplier[0], scales.low, scales.high)
        return call

    return make


def add(choose: Random) -> Call:
    size = int(choose.integers(1, 120))
    x, y = _bytes(choose, size), _bytes(choose, size)
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
    x, y = _bytes(choose, size), _bytes(choose, size)
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
    x, y = _bytes(choose, pixels, channels), _bytes(choose, channels)
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
    x = _bytes(choose, size)
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
        window, size = _window(choose, kernel, bool(choose.integers(2)))
        while square and (window.output[0] != window.output[1] or size[0] != size[1]):
            window, size = _window(choose, kernel, bool(choose.integers(2)))
        x = _bytes(choose, *size, channels)
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
        x, by = _bytes(choose, size), int(choose.integers(-128, 129)) if offset else 0
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
