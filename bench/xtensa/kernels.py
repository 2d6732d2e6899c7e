"""This project's kernels for the ESP32-S3 under the interpreter."""

import struct
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bench.assembly.memory import Memory
from bench.assembly.program import Program
from bench.assembly.source import read
from bench.xtensa.machine import Machine
from tigris_pio.compiler.backends.pie_streams import Layer

SOURCES = Path(__file__).parents[2] / "runtime/src/kernels/pie"
FILL = 0x5A


@lru_cache
def program() -> Program:
    return read(sorted(SOURCES.glob("*.S")), ("TIGRIS_PIE",))


class Run:
    """A machine with a layer in its memory."""

    def __init__(self, layer: Layer, skip: int = 0) -> None:
        self.memory = Memory()
        self.layer = layer
        stream = self.memory.add("stream", layer.content)
        words = struct.pack("<5IbbHI", stream, layer.blocks, layer.left, layer.right, layer.vectors, layer.low,
                            layer.high, 0, skip)  # fmt: skip
        self.record = self.memory.add("layer", words, align=4)
        self.executed = 0

    def call(self, name: str, *arguments: int) -> None:
        """A function of the program; the count is added up."""
        machine = Machine(program(), self.memory)
        machine.call(name, arguments)
        self.executed += machine.executed
        assert not self.memory.strays, self.memory.strays
        assert not self.memory.misaligned


def dense(layer: Layer, pixels: NDArray[np.int8], outputs: int, skip: int = 0) -> tuple[NDArray[np.int8], int]:
    """Outputs [pixels, outputs] of [pixels, inputs], stored `skip` bytes apart, and the instructions they took."""
    run = Run(layer, skip)
    width = -(-pixels.shape[1] // 16) * 16
    padded = np.full((len(pixels), width), FILL, np.int8)
    padded[:, : pixels.shape[1]] = pixels
    source = run.memory.add("input", padded.tobytes())
    size = len(pixels) * (8 * layer.blocks + skip)
    result = run.memory.add("output", size, writable=True, align=16)
    run.call(layer.function, source, result, run.record, len(pixels))
    content = run.memory.content(result, size)
    return np.frombuffer(content, np.int8).reshape(len(pixels), -1)[:, :outputs], run.executed


def depthwise(layer: Layer, data: NDArray[np.int8], kernel: tuple[int, int] = (3, 3)) -> NDArray[np.int8]:
    """Outputs [rows, columns, C] of [H, W, C] without padding, a call for each row."""
    run = Run(layer)
    height, width, channels = data.shape
    source = run.memory.add("input", data.tobytes())
    steps = (*kernel, channels, (width - kernel[1]) * channels, channels)
    window = run.memory.add("window", struct.pack("<5I", *steps), align=4)
    size = (height - kernel[0] + 1, width - kernel[1] + 1)
    result = run.memory.add("output", size[0] * size[1] * channels, writable=True)
    count = size[1] // 2 if "pairs" in layer.function else size[1]
    for y in range(size[0]):
        places = source + y * width * channels, result + y * size[1] * channels
        run.call(layer.function, *places, run.record, count, window)
    content = run.memory.content(result, size[0] * size[1] * channels)
    return np.frombuffer(content, np.int8).reshape(*size, channels)


def add(a: NDArray[np.int8], b: NDArray[np.int8], words: Sequence[int]) -> tuple[NDArray[np.int8], int]:
    """The sums of whole vectors, in the memory of `a`, and the instructions they took."""
    memory = Memory(1 << 18)
    left, right = memory.add("a", a.tobytes(), writable=True, align=16), memory.add("b", b.tobytes(), align=16)
    record = memory.add("words", struct.pack("<3i", *words), align=4)
    machine = Machine(program(), memory)
    machine.call("tigris_pie_add", [left, right, left, record, a.size // 16])
    assert not memory.strays and not memory.misaligned, memory.strays
    return np.frombuffer(memory.content(left, a.size), np.int8), machine.executed


def sum_pixels(pixels: NDArray[np.int8], before: NDArray[np.int32]) -> tuple[NDArray[np.int32], int]:
    """`before` and the sums of [pixels, channels], in place, and the instructions they took."""
    memory = Memory(1 << 18)
    source, sums = memory.add("from", pixels.tobytes()), memory.add("sums", before.tobytes(), writable=True)
    machine = Machine(program(), memory)
    machine.call("tigris_pie_sum_pixels", [sums, sums, source, *pixels.shape])
    assert not memory.strays and not memory.misaligned, memory.strays
    return np.frombuffer(memory.content(sums, before.nbytes), np.int32), machine.executed


def pool(taps: NDArray[np.int8], limits: tuple[int, int],
         constants: Sequence[int] = ()) -> tuple[NDArray[np.int8], int]:  # fmt: skip
    """The maxima of [pixels, rows, columns, channels], whose windows lie one behind another, or with the constants of
    tigris_pie_pool (shift, start, multiplier, offset, unit) their averages; and the instructions they took."""
    memory, (pixels, rows, columns, channels) = Memory(1 << 18), taps.shape
    source, result = memory.add("from", taps.tobytes()), memory.add("to", pixels * channels, writable=True)
    shift, *others = constants or (0,) * 5
    window = memory.add("window", struct.pack("<5I", rows, columns, channels, 0, taps[0].size), align=4)
    record = memory.add("pool", struct.pack("<I2b4h", shift, *limits, *others), align=4)
    machine = Machine(program(), memory)
    machine.call(f"tigris_pie_{'average' if constants else 'max'}_pool",
                 [source, result, window, channels, record, pixels])  # fmt: skip
    assert not memory.strays and not memory.misaligned, memory.strays
    content = memory.content(result, pixels * channels)
    return np.frombuffer(content, np.int8).reshape(pixels, channels), machine.executed


def sum_rows(x: NDArray[np.int16], weights: NDArray[np.int8], place: int) -> tuple[NDArray[np.int32], int]:
    """The sums of products of a vector and of each row of weights, which lie `place` bytes behind a multiple of 16, and
    the instructions they took."""
    memory, (rows, count) = Memory(), weights.shape
    padded = np.pad(x, (0, -count % 8))
    source, by = memory.add("from", padded.tobytes()), memory.add("weights", weights.tobytes(), offset=place)
    result = memory.add("sums", 4 * rows, writable=True)
    machine = Machine(program(), memory)
    machine.call("tigris_pie_sum_rows", [result, source, by, count, rows, count])
    assert not memory.strays and not memory.misaligned, memory.strays
    return np.frombuffer(memory.content(result, 4 * rows), np.int32), machine.executed


def sum_eight(x: NDArray[np.int16], weights: NDArray[np.int8]) -> tuple[NDArray[np.int32], int]:
    """The sums of products of the first eight of [rows, columns, channels], and the instructions they took."""
    memory, (rows, columns, channels) = Memory(), x.shape
    source, by = memory.add("from", x.tobytes()), memory.add("weights", weights.tobytes())
    window = memory.add("window", struct.pack("<5I", rows, columns, 2 * channels, 0, 0), align=4)
    result = memory.add("sums", 32, writable=True)
    machine = Machine(program(), memory)
    machine.call("tigris_pie_sum_eight", [result, source, by, window, channels, 0])
    assert not memory.strays and not memory.misaligned, memory.strays
    return np.frombuffer(memory.content(result, 32), np.int32), machine.executed


def copy(source: NDArray[np.int8], size: int, rows: int, to_step: int, from_step: int,
         place: int) -> tuple[NDArray[np.int8], int]:  # fmt: skip
    """Copies of rows, `place` bytes behind a multiple of 16 in memory of one value, and the instructions they took."""
    memory = Memory()
    at = memory.add("from", source.tobytes(), offset=place)
    to = memory.add("to", rows * to_step, writable=True, offset=place)
    machine = Machine(program(), memory)
    machine.call("tigris_pie_copy", [to, at, size, rows, to_step, from_step])
    assert not memory.strays and not memory.misaligned, memory.strays
    return np.frombuffer(memory.content(to, rows * to_step), np.int8), machine.executed
