"""ESP-NN's functions for the ESP32-P4 under the interpreter: one case for each way through them, of random shapes and
values, with what TensorFlow Lite's arithmetic gives for it. Convolutions get the scratch that the library asks for."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bench.assembly import esp_nn_call
from bench.assembly.arithmetic import (
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
from bench.assembly.esp_nn_call import Random, random_bytes, random_scales, random_window
from bench.assembly.memory import Memory
from bench.riscv.esp_nn import program
from bench.riscv.machine import Machine

Size = tuple[int, int]


@dataclass
class Call(esp_nn_call.Call):
    """One run of the library in a checkout. `before`: functions that are called first, with their arguments."""

    checkout: Path = Path()
    before: list[tuple[str, list[int]]] = field(default_factory=list)
    own: Machine | None = None

    def machine(self) -> Machine:
        if self.own is None:
            self.own = Machine(program(self.checkout), self.memory)
        for name, arguments in self.before:
            self.own.call(name, arguments)
        return self.own

    def record(self, *words: int) -> int:
        """The address of a structure of 32-bit words."""
        return self.memory.add("record", struct.pack(f"<{len(words)}i", *map(int, words)), align=4)


Case = Callable[[Random, Path], Call]


@dataclass(frozen=True)
class Layer:
    """A convolution in the library's words. `offset`: added to inputs; `align`: of its operands."""

    window: Window
    size: Size
    inputs: int
    outputs: int
    offset: int
    align: int = 1


def _dims(call: Call, size: Size, channels: int, extra: int = 1) -> int:
    return call.record(size[1], size[0], channels, extra)


def _params(call: Call, layer: Layer, scales: Output, *more: int) -> int:
    window = layer.window
    return call.record(layer.offset, scales.zero_point, *more, window.stride[1], window.stride[0], window.pad[1],
                       window.pad[0], 1, 1, scales.low, scales.high)  # fmt: skip


def _at(choose: Random, layer: Layer) -> dict[str, int]:
    """Where operands lie: anywhere that the layer allows."""
    return {"align": 16, "offset": layer.align * int(choose.integers(16 // layer.align))}


def _conv(choose: Random, checkout: Path, name: str, layer: Layer, most: bool = False) -> Call:
    """esp_nn_conv_s8; weights [outputs, rows, columns, inputs]. `most`: sums as far from 0 as there are."""
    window, kernel = layer.window, layer.window.kernel
    x = random_bytes(choose, *layer.size, layer.inputs)
    w = random_bytes(choose, layer.outputs, *kernel, layer.inputs)
    if most:
        x, w = np.full_like(x, -128), np.where(w[:, :1, :1, :1] < 0, -128, 127) * np.ones_like(w)
    bias = choose.integers(-9999, 9999, layer.outputs)
    scales = random_scales(choose, layer.outputs, kernel[0] * kernel[1] * layer.inputs)
    call = Call("esp_nn_conv_s8_esp32p4",
                f"{name} {layer.size} {layer.inputs}->{layer.outputs} k{kernel} s{window.stride[0]} p{window.pad}",
                checkout=checkout)  # fmt: skip
    call.macs = window.output[0] * window.output[1] * w.size
    call.numbers(_dims(call, layer.size, layer.inputs))
    call.data(x.astype(np.int8), **_at(choose, layer))
    call.numbers(_dims(call, kernel, layer.inputs, 0))
    call.data(w.astype(np.int8), **_at(choose, layer))
    call.words(bias)
    call.numbers(_dims(call, window.output, layer.outputs))
    call.output(scales.of(convolution(x + layer.offset, w, bias, window)), **_at(choose, layer))
    call.numbers(_params(call, layer, scales))
    _scales(call, scales)
    inputs, _, kernels, _, _, outputs, _, params = call.arguments[:8]
    size = call.machine().call("esp_nn_get_conv_scratch_size_esp32p4", (inputs, kernels, outputs, params))
    scratch = call.memory.add("scratch", size, writable=True, align=16)
    call.before.append(("esp_nn_set_conv_scratch_buf_esp32p4", [scratch]))
    return call


def _scales(call: Call, scales: Output) -> None:
    shifts = call.memory.add("shifts", scales.shift.astype("<i4").tobytes(), align=4)
    multipliers = call.memory.add("multipliers", scales.multiplier.astype("<i4").tobytes(), align=4)
    call.numbers(call.record(shifts, multipliers))


def _offset(choose: Random) -> int:
    return int(choose.integers(-127, 129))


def pointwise(choose: Random, checkout: Path) -> Call:
    size = (int(choose.integers(1, 5)), int(choose.integers(1, 6)))
    layer = Layer(Window((1, 1), (1, 1), size), size, int(choose.integers(16, 90)), int(choose.integers(1, 20)),
                  _offset(choose))  # fmt: skip
    return _conv(choose, checkout, "1x1", layer)


def pointwise_of_few(choose: Random, checkout: Path) -> Call:
    """Less than 16 channels: 16 pixels at a time."""
    size = (int(choose.integers(1, 7)), int(choose.integers(1, 9)))
    layer = Layer(Window((1, 1), (1, 1), size), size, int(choose.integers(1, 16)), int(choose.integers(1, 12)),
                  _offset(choose))  # fmt: skip
    return _conv(choose, checkout, "1x1 of few", layer)


def unpadded(choose: Random, checkout: Path) -> Call:
    kernel = (int(choose.integers(1, 4)), int(choose.integers(1, 4)))
    window, size = random_window(choose, kernel)
    if kernel == (1, 1):
        window = Window(kernel, (2, 2), window.output)
        size = (2 * window.output[0] - 1, 2 * window.output[1] - 1)
    channels = -(-16 // kernel[1]) + int(choose.integers(40))
    layer = Layer(window, size, channels, int(choose.integers(1, 9)), _offset(choose))
    return _conv(choose, checkout, "unpadded", layer)


def padded_behind(choose: Random, checkout: Path) -> Call:
    """A row and a column at the end alone, as TensorFlow Lite's SAME has them with strides of 2: 3x3."""
    output = (int(choose.integers(1, 5)), int(choose.integers(1, 5)))
    window = Window((3, 3), (2, 2), output)
    layer = Layer(window, (2 * output[0], 2 * output[1]), int(choose.integers(6, 40)), int(choose.integers(1, 9)),
                  _offset(choose))  # fmt: skip
    return _conv(choose, checkout, "padded behind", layer)


def padded_behind_others(choose: Random, checkout: Path) -> Call:
    """The same with kernels of two rows and of five."""
    output, kernel = (int(choose.integers(1, 5)), int(choose.integers(1, 5))), int(choose.choice((2, 5)))
    behind = 1 if kernel == 2 else 2
    size = ((output[0] - 1) * 2 + kernel - behind, (output[1] - 1) * 2 + kernel - behind)
    layer = Layer(Window((kernel, kernel), (2, 2), output), size, 16, int(choose.integers(1, 9)), _offset(choose))
    return _conv(choose, checkout, "padded behind", layer)


def gathered(choose: Random, checkout: Path) -> Call:
    """Windows of at least 16 values, padded or of few channels."""
    kernel = (int(choose.integers(2, 6)), int(choose.integers(2, 6)))
    padded = bool(choose.integers(2))
    window, size = random_window(choose, kernel, padded)
    least = -(-16 // (kernel[0] * kernel[1]))
    most = least + 20 if any(window.pad) else (15 // kernel[1] or 1)
    layer = Layer(window, size, int(choose.integers(least, max(least, most) + 1)), int(choose.integers(1, 9)),
                  _offset(choose))  # fmt: skip
    if not any(window.pad) and kernel[1] * layer.inputs >= 16:
        return gathered(choose, checkout)
    return _conv(choose, checkout, "gathered", layer)


def small_window(choose: Random, checkout: Path) -> Call:
    """Padded, of less than 16 values: in tiles."""
    window, size = random_window(choose, (3, 3), True)
    layer = Layer(window, size, 1, int(choose.integers(1, 9)), _offset(choose))
    return _conv(choose, checkout, "of less than 16", layer)


def small_window_unpadded(choose: Random, checkout: Path) -> Call:
    window, size = random_window(choose, (int(choose.integers(1, 4)), 3))
    layer = Layer(window, size, 1, int(choose.integers(1, 9)), _offset(choose))
    return _conv(choose, checkout, "unpadded, of less than 16", layer)


def heavy(choose: Random, checkout: Path) -> Call:
    """Sums that pass 24 bits."""
    window, size = random_window(choose, (3, 3))
    return _conv(choose, checkout, "heavy", Layer(window, size, 64, 4, 0), most=True)


def _depthwise(choose: Random, checkout: Path, name: str, layer: Layer) -> Call:
    """esp_nn_depthwise_conv_s8; weights [rows, columns, outputs]."""
    window, kernel = layer.window, layer.window.kernel
    multiplier = layer.outputs // layer.inputs
    x, w = random_bytes(choose, *layer.size, layer.inputs), random_bytes(choose, *kernel, layer.inputs, multiplier)
    bias = choose.integers(-9999, 9999, layer.outputs)
    scales = random_scales(choose, layer.outputs, kernel[0] * kernel[1])
    call = Call("esp_nn_depthwise_conv_s8_esp32p4",
                f"{name} {layer.size} {layer.inputs}x{multiplier} k{kernel} s{window.stride[0]} p{window.pad}",
                checkout=checkout)  # fmt: skip
    call.macs = window.output[0] * window.output[1] * w.size
    call.numbers(_dims(call, layer.size, layer.inputs))
    call.data(x.astype(np.int8), **_at(choose, layer))
    call.numbers(_dims(call, kernel, layer.outputs, 0))
    call.data(w.astype(np.int8), **_at(choose, layer))
    call.words(bias)
    call.numbers(_dims(call, window.output, layer.outputs))
    call.output(scales.of(depthwise(x + layer.offset, w, bias, window)), **_at(choose, layer))
    call.numbers(_params(call, layer, scales, multiplier))
    _scales(call, scales)
    return call


def depthwise_by_lanes(least: int, most: int, name: str) -> Case:
    def make(choose: Random, checkout: Path) -> Call:
        kernel = (int(choose.integers(1, 6)), int(choose.integers(1, 6)))
        window, size = random_window(choose, kernel, bool(choose.integers(2)))
        channels = int(choose.integers(least, most))
        return _depthwise(choose, checkout, name, Layer(window, size, channels, channels, _offset(choose)))

    return make


def depthwise_of_more(choose: Random, checkout: Path) -> Call:
    """Several outputs a channel: in C."""
    window, size = random_window(choose, (3, 3), bool(choose.integers(2)))
    channels, multiplier = int(choose.integers(1, 9)), int(choose.integers(2, 5))
    layer = Layer(window, size, channels, channels * multiplier, _offset(choose))
    return _depthwise(choose, checkout, "of more", layer)


def fully_connected(per_channel: bool, with_offset: bool) -> Case:
    name = "esp_nn_fully_connected_per_ch_s8_esp32p4" if per_channel else "esp_nn_fully_connected_s8_esp32p4"

    def make(choose: Random, checkout: Path) -> Call:
        inputs, outputs = int(choose.integers(1, 200)), int(choose.integers(1, 14))
        x, w = random_bytes(choose, inputs), random_bytes(choose, outputs, inputs)
        bias, offset = choose.integers(-9999, 9999, outputs), _offset(choose) if with_offset else 0
        scales = random_scales(choose, outputs if per_channel else 1, inputs)
        call = Call(name, f"{'with offset' if with_offset else 'without'} {inputs}->{outputs}", checkout=checkout)
        call.macs = w.size
        call.data(x.astype(np.int8), align=16, offset=int(choose.integers(16)))
        call.numbers(offset, inputs)
        call.data(w.astype(np.int8), align=16, offset=int(choose.integers(16)))
        call.numbers(0)
        call.words(bias)
        call.output(scales.of(w @ (x + offset) + bias), align=16, offset=int(choose.integers(16)))
        call.numbers(outputs, scales.zero_point)
        if per_channel:
            call.scales(scales)
        else:
            call.numbers(scales.shift[0], scales.multiplier[0], scales.low, scales.high)
        return call

    return make


def pool(name: str, function: Callable[[Ints, Window], Ints], align: int) -> Case:
    """`align`: stores of whole vectors are rounded down, so the maximum's output must not need it."""

    def make(choose: Random, checkout: Path) -> Call:
        channels = align * int(choose.integers(1, 60 // align + 1))
        kernel = (int(choose.integers(1, 4)), int(choose.integers(1, 4)))
        window, size = random_window(choose, kernel, bool(choose.integers(2)))
        x = random_bytes(choose, *size, channels)
        call = Call(name, f"{size} {channels} k{kernel} s{window.stride[0]} p{window.pad}", checkout=checkout)
        call.data(x.astype(np.int8), align=16)
        call.numbers(size[1], size[0])
        call.output(np.clip(function(x, window), -100, 100).astype(np.int8), align=16)
        call.numbers(window.output[1], window.output[0], window.stride[1], window.stride[0], kernel[1], kernel[0])
        call.numbers(window.pad[1], window.pad[0], -100, 100, channels)
        return call

    return make


def relu6(choose: Random, checkout: Path) -> Call:
    size = int(choose.integers(1, 100))
    x = random_bytes(choose, size)
    call = Call("esp_nn_relu6_s8_esp32p4", f"{size}", checkout=checkout)
    call.output(np.clip(x, 0, 6).astype(np.int8), align=16)
    address = call.arguments[0]
    call.memory.bytes[address : address + size] = x.astype(np.int8).tobytes()
    call.numbers(size)
    return call


def mean(choose: Random, checkout: Path) -> Call:
    size, channels = (int(choose.integers(1, 6)), int(choose.integers(1, 6))), int(choose.integers(1, 50))
    x, zero_points = random_bytes(choose, *size, channels), [int(v) for v in choose.integers(-128, 128, 2)]
    multiplier, right = int(choose.integers(1 << 30, (1 << 31) - 1)), int(choose.integers(0, 6))
    sums = x.sum(axis=(0, 1)) - size[0] * size[1] * zero_points[0]
    call = Call("esp_nn_mean_nhwc_s8_esp32p4", f"{size} {channels}", checkout=checkout)
    call.data(x.astype(np.int8), align=16, offset=int(choose.integers(16)))
    expected = np.clip(requantise(sums, multiplier, -right) + zero_points[1], -128, 127)
    call.output(expected.astype(np.int8), offset=int(choose.integers(4)))
    call.numbers(size[0], size[1], channels, *zero_points, multiplier, -right)
    return call


def add(choose: Random, checkout: Path) -> Call:
    size = int(choose.integers(1, 120))
    x, y = random_bytes(choose, size), random_bytes(choose, size)
    offsets = [int(v) for v in choose.integers(-128, 129, 2)]
    by = [int(v) for v in choose.integers(1 << 30, (1 << 31) - 1, 3)]
    right, zero_point = [int(v) for v in choose.integers(1, 8, 3)], int(choose.integers(-128, 128))
    right[2] += 15
    scaled = [rounding_shift(high_multiply((v + offset) << 20, m), r)
              for v, offset, m, r in zip((x, y), offsets, by, right, strict=False)]  # fmt: skip
    wanted = rounding_shift(high_multiply(scaled[0] + scaled[1], by[2]), right[2]) + zero_point
    call = Call("esp_nn_add_elementwise_s8_esp32p4", f"{size}", checkout=checkout)
    call.data(x.astype(np.int8))
    call.data(y.astype(np.int8))
    call.numbers(*offsets, by[0], by[1], -right[0], -right[1], 20)
    call.output(np.clip(wanted, -90, 110).astype(np.int8))
    call.numbers(zero_point, by[2], -right[2], -90, 110, size)
    return call


def product(choose: Random, checkout: Path) -> Call:
    size = int(choose.integers(1, 120))
    x, y = random_bytes(choose, size), random_bytes(choose, size)
    offsets, multiplier = [int(v) for v in choose.integers(-128, 129, 2)], int(choose.integers(1 << 30, (1 << 31) - 1))
    right, zero_point = int(choose.integers(5, 10)), int(choose.integers(-128, 128))
    wanted = requantise((x + offsets[0]) * (y + offsets[1]), multiplier, -right) + zero_point
    call = Call("esp_nn_mul_elementwise_s8_esp32p4", f"{size}", checkout=checkout)
    call.data(x.astype(np.int8))
    call.data(y.astype(np.int8))
    call.numbers(*offsets)
    call.output(np.clip(wanted, -90, 110).astype(np.int8))
    call.numbers(zero_point, multiplier, -right, -90, 110, size)
    return call


def two_scaled(choose: Random, checkout: Path) -> Call:
    x = choose.integers(-(1 << 20), 1 << 20, 2)
    multipliers, shifts = choose.integers(1 << 30, (1 << 31) - 1, 2), choose.integers(-14, 4, 2)
    call = Call("esp_nn_requant_2x_esp32p4", f"{shifts}", checkout=checkout)
    call.numbers(*x, *multipliers, *shifts)
    call.output(requantise(x, multipliers, shifts).astype("<i4"), align=4)
    return call


def _by_plain_c(checkout: Path, name: str, x: Ints, before: Sequence[int], behind: Sequence[int]) -> NDArray[np.int8]:
    """What the library's own plain C gives: input, numbers, output, numbers; either may be none."""
    memory = Memory()
    source, result = memory.add("input", x.astype(np.int8).tobytes()), memory.add("output", x.size, writable=True)
    ends = (result, *behind) if not before else (*before, result)
    Machine(program(checkout), memory).call(name, (source, *ends))
    return np.frombuffer(memory.content(result, x.size), np.int8)


def softmax(choose: Random, checkout: Path) -> Call:
    """Beside the library's plain C."""
    rows, width = int(choose.integers(1, 4)), int(choose.integers(1, 60))
    x = random_bytes(choose, rows, width)
    numbers = (rows, width, int(choose.integers(1 << 30, (1 << 31) - 1)), int(choose.integers(20, 25)),
               -int(choose.integers(20, 248)))  # fmt: skip
    call = Call("esp_nn_softmax_s8_esp32p4", f"{rows}x{width}", checkout=checkout)
    call.data(x.astype(np.int8), align=16, offset=int(choose.integers(16)))
    call.numbers(*numbers)
    call.output(_by_plain_c(checkout, "esp_nn_softmax_s8_ansi", x, numbers, ()))
    scratch = call.memory.add("scratch", 4 * width, writable=True)
    call.before.append(("esp_nn_set_softmax_scratch_buf_esp32p4", [scratch]))
    return call


def hard_swish(choose: Random, checkout: Path) -> Call:
    """Of negative products the chip's own takes the next lower number, the plain C that nearer to 0."""
    size = int(choose.integers(1, 100))
    x = random_bytes(choose, size)
    numbers = (size, int(choose.integers(-128, 128)), *(int(v) for v in choose.integers(1 << 14, 1 << 15, 2)),
               int(choose.integers(-3, 4)), -int(choose.integers(0, 8)), int(choose.integers(-128, 128)))  # fmt: skip
    call = Call("esp_nn_hard_swish_s8_esp32p4", f"{size}", checkout=checkout)
    call.data(x.astype(np.int8))
    call.output(_by_plain_c(checkout, "esp_nn_hard_swish_s8_ansi", x, (), numbers))
    call.numbers(*numbers)
    return call


@dataclass(frozen=True)
class Row:
    """What came of some runs of a case. `most`: bytes read behind operands; `outside`: runs that wrote there."""

    function: str
    way: str
    shapes: int
    outputs: int
    wrong: int
    outside: int
    most: int
    each: float


def run(name: str, make: Case, checkout: Path, seeds: Sequence[int]) -> Row:
    """A row of the table; `name`: of the way through the function."""
    calls = [make(np.random.default_rng(seed), checkout) for seed in seeds]
    results: NDArray[np.int64] = np.array([call.run() for call in calls])
    macs = sum(call.macs for call in calls)
    return Row(calls[0].function, name, len(calls), int(results[:, 1].sum()), int((results[:, 0] > 0).sum()),
               sum(bool(call.writes_outside()) for call in calls), max(call.furthest_read() for call in calls),
               sum(call.executed for call in calls) / macs if macs else 0.0)  # fmt: skip


CASES: dict[str, Case] = {
    "1x1": pointwise, "1x1, fewer than 16 channels": pointwise_of_few, "unpadded": unpadded,
    "3x3, stride 2, padded behind": padded_behind, "windows gathered": gathered,
    "unpadded, windows of less than 16": small_window_unpadded,
    "depthwise, 16 to 64 channels": depthwise_by_lanes(16, 65, "by lanes"),
    "depthwise, 8 to 15 channels": depthwise_by_lanes(8, 16, "by lanes"),
    "depthwise, fewer channels": depthwise_by_lanes(1, 8, "few"), "depthwise, multiplied": depthwise_of_more,
    "dense, zero point in the bias": fully_connected(False, False), "dense, offset": fully_connected(False, True),
    "dense by channel, zero point in the bias": fully_connected(True, False),
    "dense by channel, offset": fully_connected(True, True),
    "average": pool("esp_nn_avg_pool_s8_esp32p4", average_pool, 1),
    "maximum": pool("esp_nn_max_pool_s8_esp32p4", max_pool, 16),
    "mean": mean, "relu6": relu6, "add": add, "multiply": product,
    "softmax, beside its plain C": softmax, "two sums scaled": two_scaled,
}  # fmt: skip
#: What the library does not do as TensorFlow Lite does, or not in the memory that it asked for: none of it is asked of
#: it, by the compiler or by runtime/backends/esp_nn.c.
FAULTS: dict[str, Case] = {
    "padded, windows of less than 16": small_window,
    "2x2 and 5x5, stride 2, padded behind": padded_behind_others,
    "sums of more than 24 bits": heavy,
    "depthwise, more than 256 channels": depthwise_by_lanes(257, 300, "many"),
    "maximum, channels not of 16": pool("esp_nn_max_pool_s8_esp32p4", max_pool, 1),
    "hard swish, beside its plain C": hard_swish,
}
