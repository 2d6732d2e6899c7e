"""ESP-NN's convolutions and fully connected layers for the ESP32-P4 under the interpreter: one case for each way
through them, of random shapes and values, with what TensorFlow Lite's arithmetic gives for it. Convolutions get the
scratch that the library asks for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bench.assembly.arithmetic import Ints, Output, Window, convolution, depthwise
from bench.assembly.memory import Memory
from bench.riscv.esp_nn import SCRATCH_BYTES, SET_SCRATCH, program
from bench.riscv.machine import Machine

Size = tuple[int, int]
Random = np.random.Generator


@dataclass
class Call:
    """One run of a function of the library in a checkout: arguments in order, the output, and accesses outside of the
    operands."""

    function: str
    checkout: Path
    macs: int
    memory: Memory = field(default_factory=Memory)
    arguments: list[int] = field(default_factory=list)
    executed: int = 0

    def __post_init__(self) -> None:
        self.machine = Machine(program(self.checkout), self.memory)

    def data(self, values: NDArray[np.generic], align: int = 4, offset: int = 0) -> None:
        name = f"operand {len(self.arguments)}"
        self.arguments.append(self.memory.add(name, values.tobytes(), align=align, offset=offset))

    def bytes(self, choose: Random, values: Ints) -> None:
        """Bytes at any address."""
        self.data(values.astype(np.int8), 16, int(choose.integers(16)))

    def words(self, values: Ints) -> None:
        self.data(values.astype("<i4"))

    def numbers(self, *values: int) -> None:
        self.arguments.extend(int(value) for value in values)

    def record(self, *words: int) -> None:
        """A structure of 32-bit words."""
        self.data(np.array(words, "<i4"))

    def output(self, choose: Random, expected: NDArray[np.int8]) -> None:
        """The next argument, at any address."""
        self.address, self.expected = self.memory.add(
            "output", expected.nbytes, writable=True, offset=int(choose.integers(16))), expected  # fmt: skip
        self.arguments.append(self.address)

    def run(self) -> int:
        """The number of outputs that differ."""
        self.machine.call(self.function, self.arguments)
        self.executed = self.machine.executed
        got = np.frombuffer(self.memory.content(self.address, self.expected.size), np.int8)
        return int((got != self.expected.reshape(-1)).sum())

    def writes_outside(self) -> bool:
        return any(stray.writes for stray in self.memory.strays)

    def furthest_read(self) -> int:
        """Bytes from the nearest operand, of what is read ahead."""
        return max((abs(stray.distance) + (stray.distance >= 0) for stray in self.memory.strays), default=0)


Case = Callable[[Random, Path], Call]


@dataclass(frozen=True)
class Layer:
    """A convolution in the library's words."""

    window: Window
    size: Size
    inputs: int
    outputs: int


def random_bytes(choose: Random, *shape: int) -> Ints:
    return choose.integers(-128, 128, shape)


def random_scales(choose: Random, count: int, terms: int) -> Output:
    """Multipliers and shifts that bring sums of that many products to about eight bits."""
    right = int(np.log2(terms) / 2) + 5
    low, high = sorted(choose.choice([-128, -100, -20, 20, 100, 127], 2, replace=False))
    return Output(choose.integers(1 << 30, 1 << 31, count), choose.integers(-right - 2, -right + 2, count),
                  int(choose.integers(-128, 128)), int(low), int(high))  # fmt: skip


def random_size(choose: Random, *limits: int) -> Size:
    """Rows and columns, each below its limit."""
    rows, columns = (int(choose.integers(1, limit)) for limit in limits)
    return rows, columns


def random_window(choose: Random, kernel: Size, padded: bool = False) -> tuple[Window, Size]:
    """A window and the input's rows and columns."""
    stride = (int(choose.integers(1, 3)),) * 2
    output = random_size(choose, 6, 7)
    pad = (kernel[0] // 2, kernel[1] // 2) if padded else (0, 0)
    size = tuple((o - 1) * s + k - 2 * p for o, s, k, p in zip(output, stride, kernel, pad, strict=True))
    if min(size) < 1:
        return random_window(choose, kernel, padded)
    return Window(kernel, stride, output, pad), (size[0], size[1])


def _layer(choose: Random, checkout: Path, layer: Layer, w: Ints, by_channel: bool, most: bool = False) -> Call:
    """A call of esp_nn_conv_s8, with weights [outputs, rows, columns, inputs], or (`by_channel`) of
    esp_nn_depthwise_conv_s8, with weights [rows, columns, inputs, multiplier]. `most`: sums as far from 0 as there
    are."""
    window, kernel, outputs = layer.window, layer.window.kernel, layer.outputs
    x, offset = random_bytes(choose, *layer.size, layer.inputs), int(choose.integers(-127, 129))
    if most:
        x, offset = np.full_like(x, -128), 0
    bias = choose.integers(-9999, 9999, outputs)
    scales = random_scales(choose, outputs, w.size // outputs)
    name = "depthwise_conv" if by_channel else "conv"
    call = Call(f"esp_nn_{name}_s8_esp32p4", checkout, window.output[0] * window.output[1] * w.size)
    call.record(*layer.size[::-1], layer.inputs, 1)
    call.bytes(choose, x)
    call.record(*kernel[::-1], outputs if by_channel else layer.inputs, 0)
    call.bytes(choose, w)
    call.words(bias)
    call.record(*window.output[::-1], outputs, 1)
    call.output(choose, scales.of((depthwise if by_channel else convolution)(x + offset, w, bias, window)))
    multiplier = (outputs // layer.inputs,) if by_channel else ()
    call.record(offset, scales.zero_point, *multiplier, *window.stride[::-1], *window.pad[::-1], 1, 1,
                scales.low, scales.high)  # fmt: skip
    shifts, multipliers = (call.memory.add("scales", part.astype("<i4").tobytes())
                           for part in (scales.shift, scales.multiplier))  # fmt: skip
    call.record(shifts, multipliers)
    if not by_channel:
        size = call.machine.call(SCRATCH_BYTES, [call.arguments[i] for i in (0, 2, 5, 7)])
        call.machine.call(SET_SCRATCH, [call.memory.add("scratch", size, writable=True)])
    return call


def conv(make: Callable[[Random], Layer], most: bool = False) -> Case:
    def call(choose: Random, checkout: Path) -> Call:
        layer = make(choose)
        w = random_bytes(choose, layer.outputs, *layer.window.kernel, layer.inputs)
        if most:
            w = np.where(w[:, :1, :1, :1] < 0, -128, 127) * np.ones_like(w)
        return _layer(choose, checkout, layer, w, False, most)

    return call


def pointwise(least: int, most: int) -> Case:
    """1x1, of so many channels."""

    def make(choose: Random) -> Layer:
        size = random_size(choose, 7, 9)
        return Layer(Window((1, 1), (1, 1), size), size, *(int(choose.integers(*ends)) for ends in
                                                           ((least, most), (1, 20))))  # fmt: skip

    return conv(make)


def unpadded(choose: Random) -> Layer:
    kernel = random_size(choose, 4, 4)
    window, size = random_window(choose, kernel)
    if kernel == (1, 1):
        window = Window(kernel, (2, 2), window.output)
        size = (2 * window.output[0] - 1, 2 * window.output[1] - 1)
    return Layer(window, size, -(-16 // kernel[1]) + int(choose.integers(40)), int(choose.integers(1, 9)))


def padded_behind(kernels: Sequence[int]) -> Case:
    """Padding at the end alone, as TensorFlow Lite's SAME has it with strides of 2."""

    def make(choose: Random) -> Layer:
        output, kernel = random_size(choose, 5, 5), int(choose.choice(kernels))
        rows, columns = (2 * (extent - 1) + kernel - (2 if kernel == 5 else 1) for extent in output)
        channels = int(choose.integers(6, 40)) if kernel == 3 else 16
        return Layer(Window((kernel, kernel), (2, 2), output), (rows, columns), channels, int(choose.integers(1, 9)))

    return conv(make)


def gathered(choose: Random) -> Layer:
    """Windows of at least 16 values, padded or of few channels."""
    kernel = int(choose.integers(2, 6)), int(choose.integers(2, 6))
    window, size = random_window(choose, kernel, bool(choose.integers(2)))
    least = -(-16 // (kernel[0] * kernel[1]))
    most = least + 20 if any(window.pad) else (15 // kernel[1] or 1)
    channels = int(choose.integers(least, max(least, most) + 1))
    if not any(window.pad) and kernel[1] * channels >= 16:
        return gathered(choose)
    return Layer(window, size, channels, int(choose.integers(1, 9)))


def windows(kernel: Size | None, padded: bool, inputs: int, outputs: int = 0) -> Callable[[Random], Layer]:
    """Layers of so many channels; kernels of 1 to 3 rows and 3 columns if none is given."""

    def make(choose: Random) -> Layer:
        window, size = random_window(choose, kernel or (int(choose.integers(1, 4)), 3), padded)
        return Layer(window, size, inputs, outputs or int(choose.integers(1, 9)))

    return make


def depthwise_conv(least: int, below: int, multiplied: bool = False) -> Case:
    """Of so many channels; `multiplied`: several outputs a channel, in C."""

    def make(choose: Random, checkout: Path) -> Call:
        kernel = (3, 3) if multiplied else random_size(choose, 6, 6)
        window, size = random_window(choose, kernel, bool(choose.integers(2)))
        channels, by = int(choose.integers(least, below)), int(choose.integers(2, 5)) if multiplied else 1
        w = random_bytes(choose, *kernel, channels, by)
        return _layer(choose, checkout, Layer(window, size, channels, channels * by), w, True)

    return make


def fully_connected(per_channel: bool, with_offset: bool) -> Case:
    def make(choose: Random, checkout: Path) -> Call:
        inputs, outputs = random_size(choose, 200, 14)
        x, w = random_bytes(choose, inputs), random_bytes(choose, outputs, inputs)
        bias, offset = choose.integers(-9999, 9999, outputs), int(choose.integers(-127, 129)) if with_offset else 0
        scales = random_scales(choose, outputs if per_channel else 1, inputs)
        call = Call(f"esp_nn_fully_connected_{'per_ch_' * per_channel}s8_esp32p4", checkout, w.size)
        call.bytes(choose, x)
        call.numbers(offset, inputs)
        call.bytes(choose, w)
        call.numbers(0)
        call.words(bias)
        call.output(choose, scales.of(w @ (x + offset) + bias))
        call.numbers(outputs, scales.zero_point)
        for part in (scales.shift, scales.multiplier):
            call.words(part) if per_channel else call.numbers(part[0])
        call.numbers(scales.low, scales.high)
        return call

    return make


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
    wrong = [call.run() for call in calls]
    return Row(calls[0].function, name, len(calls), sum(call.expected.size for call in calls), sum(map(bool, wrong)),
               sum(call.writes_outside() for call in calls), max(call.furthest_read() for call in calls),
               sum(call.executed for call in calls) / sum(call.macs for call in calls))  # fmt: skip


CASES: dict[str, Case] = {
    "1x1": pointwise(16, 90), "1x1, fewer than 16 channels": pointwise(1, 16), "unpadded": conv(unpadded),
    "3x3, stride 2, padded behind": padded_behind((3,)), "windows gathered": conv(gathered),
    "unpadded, windows of less than 16": conv(windows(None, False, 1)),
    "depthwise, 16 to 64 channels": depthwise_conv(16, 65), "depthwise, 8 to 15 channels": depthwise_conv(8, 16),
    "depthwise, fewer channels": depthwise_conv(1, 8), "depthwise, multiplied": depthwise_conv(1, 9, True),
    "dense, zero point in the bias": fully_connected(False, False), "dense, offset": fully_connected(False, True),
    "dense by channel, zero point in the bias": fully_connected(True, False),
    "dense by channel, offset": fully_connected(True, True),
}  # fmt: skip
#: What the library does not do as TensorFlow Lite does, or not in the memory that it asked for: none of it is asked of
#: it, by the compiler or by runtime/backends/esp_nn.c.
FAULTS: dict[str, Case] = {
    "padded, windows of less than 16": conv(windows((3, 3), True, 1)),
    "2x2 and 5x5, stride 2, padded behind": padded_behind((2, 5)),
    "sums of more than 24 bits": conv(windows((3, 3), False, 64, 4), most=True),
    "depthwise, more than 256 channels": depthwise_conv(257, 300),
}
