"""What ESP-NN 1.2.3 takes for a layer on the ESP32-S3, for bench.calibrate_libraries.

Its assembly is run under the interpreter, for the layer's own sizes with any values. Of the C around it, which no
compiler here makes for that chip, the instructions are estimated by reading: copies of rows and sums of weights that
each call begins with, windows that are gathered, results that are scaled (src/convolution/esp_nn_conv_esp32s3.c,
esp_nn_depthwise_conv_s8_esp32s3.c and src/fully_connected/esp_nn_fully_connected_esp32s3.c).
"""

import dataclasses
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from bench.assembly.memory import Memory
from bench.assembly.program import Program
from bench.assembly.source import read
from bench.calibration_cases import conv, dense, depthwise
from bench.layers import build_layer
from bench.riscv.machine import COPY, COPY_BYTE
from bench.xtensa.machine import Machine
from tigris_pio import compile_model
from tigris_pio.compiler.backends.shape import PlainShape, shape_of
from tigris_pio.compiler.cost.kernel import Kernel as Counted
from tigris_pio.compiler.cost.kernel import kernel_of
from tigris_pio.sizes import round_up

MACHINE = "esp32s3"
#: Estimated: instructions of a byte summed, a product and a scaled result in C.
_SUM_BYTE, _PRODUCT, _SCALED = 4, 6, 35
#: Weights of more bytes are summed in C, of fewer in assembly.
_SUMMED_IN_C = 16384


@dataclasses.dataclass
class Kernel:
    """A run of one function: its arguments in order, scratch and operands of any content."""

    function: str
    memory: Memory = dataclasses.field(default_factory=Memory)
    arguments: list[int] = dataclasses.field(default_factory=list)

    def operand(self, size: int) -> None:
        place = f"operand {len(self.arguments)}"
        self.arguments.append(self.memory.add(place, bytes(size + 64), writable=True, align=16))

    def scales(self, outputs: int) -> None:
        """Shifts and multipliers, limits."""
        self.arguments.append(self.memory.add("shifts", (-9).to_bytes(4, "little", signed=True) * outputs, align=16))
        self.arguments.append(self.memory.add("multipliers", (3 << 29).to_bytes(4, "little") * outputs, align=16))
        self.arguments.extend((-128, 127))

    def numbers(self, *values: int) -> None:
        self.arguments.extend(values)

    def count(self, program: Program) -> int:
        machine = Machine(program, self.memory)
        machine.call(self.function, self.arguments)
        return machine.executed


@dataclasses.dataclass(frozen=True)
class Library:
    """Instructions of its calls."""

    program: Program

    def call(self, shape: PlainShape) -> float:
        """Of a layer or one band of it."""
        if shape.dense:
            return self._dense(shape)
        if shape.depthwise:
            return self._depthwise(shape)
        return self._conv(shape)

    def _conv(self, shape: PlainShape) -> float:
        if shape.kernel == (1, 1) and shape.stride == (1, 1):
            return self._pointwise(shape)
        row = shape.kernel[1] * shape.inputs
        if row < 16 <= shape.patch_size:
            return self._few(shape)
        kernel = Kernel("esp_nn_conv_s8_filter_aligned_input_padded_esp32s3")
        rows, width, copied = _padded(shape)
        weights = shape.patch_size * shape.outputs
        kernel.operand(rows * width * shape.inputs)
        kernel.numbers(width, rows, shape.inputs, 0 if weights > _SUMMED_IN_C else 3, shape.stride[1], shape.stride[0])
        kernel.operand(round_up(row, 16) * shape.kernel[0] * shape.outputs)
        kernel.numbers(shape.kernel[1], shape.kernel[0])
        kernel.operand(4 * shape.outputs)
        kernel.operand(shape.output_rows * shape.output_width * shape.outputs)
        kernel.numbers(shape.output_width, shape.output_rows, shape.outputs, 5)
        kernel.scales(shape.outputs)
        kernel.operand(4 * shape.outputs)
        taken = kernel.count(self.program) + copied
        if row % 16:
            taken += shape.outputs * shape.kernel[0] * (2 * COPY + COPY_BYTE * round_up(row, 16))
        return taken + (_SUM_BYTE * weights if weights > _SUMMED_IN_C else 0)

    def _pointwise(self, shape: PlainShape) -> float:
        pixels = shape.rows * shape.width
        if shape.inputs % 8:
            eights, rest = divmod(shape.inputs, 8)
            return pixels / 8 * (_PRODUCT * 8 * shape.inputs
                                 + shape.outputs * (30 * eights + 8 * (_PRODUCT * rest + _SCALED)))  # fmt: skip
        kernel = Kernel("esp_nn_conv_s8_mult8_1x1_esp32s3")
        kernel.operand(pixels * shape.inputs)
        kernel.numbers(shape.width, shape.rows, shape.inputs, 3)
        kernel.operand(shape.inputs * shape.outputs)
        kernel.operand(4 * shape.outputs)
        kernel.operand(pixels * shape.outputs)
        kernel.numbers(shape.width, shape.rows, shape.outputs, 5)
        kernel.scales(shape.outputs)
        kernel.operand(16 * shape.inputs + 64)
        return kernel.count(self.program)

    def _few(self, shape: PlainShape) -> float:
        pixels = shape.output_rows * shape.output_width
        each = self._dot("esp_nn_dot_s8_aligned_esp32s3", round_up(shape.patch_size, 16)) + _SCALED
        gathered = shape.kernel[0] * (COPY + COPY_BYTE * shape.kernel[1] * shape.inputs)
        return pixels * (gathered + shape.outputs * each) + shape.outputs * (2 * COPY + _SUM_BYTE * shape.patch_size)

    def _dot(self, function: str, size: int) -> int:
        kernel = Kernel(function)
        kernel.operand(size)
        kernel.operand(size)
        kernel.numbers(size // 16 if "unaligned" in function else size)
        return kernel.count(self.program)

    def _depthwise(self, shape: PlainShape) -> float:
        channels = shape.outputs
        if shape.inputs != channels:
            return _PRODUCT * shape.output_rows * shape.output_width * channels * shape.patch_size
        if shape.kernel == (3, 3) and channels >= 12 and channels % 8 == 0:
            return self._depthwise_bytes(shape, round_up(channels, 16))
        wide = round_up(channels, 8)
        kernel = Kernel("esp_nn_depthwise_conv_s16_mult1_esp32s3")
        kernel.operand(2 * shape.rows * shape.width * wide)
        kernel.numbers(shape.width, shape.rows, wide, shape.pad[1], shape.pad[0], shape.stride[1], shape.stride[0])
        kernel.operand(2 * shape.patch_size * wide)
        kernel.numbers(shape.kernel[1], shape.kernel[0])
        self._rest(kernel, shape, wide)
        elements = shape.rows * shape.width * channels
        return kernel.count(self.program) + elements * (1 if wide == channels else 4)

    def _depthwise_bytes(self, shape: PlainShape, channels: int) -> float:
        rows, width, copied = _padded(dataclasses.replace(shape, inputs=channels))
        kernel = Kernel("esp_nn_depthwise_conv_s8_mult1_3x3_padded_esp32s3")
        kernel.operand(rows * width * channels)
        kernel.numbers(width, rows, channels, 3, shape.stride[1], shape.stride[0])
        kernel.operand(9 * channels)
        self._rest(kernel, shape, channels)
        taken = kernel.count(self.program) + copied + COPY + COPY_BYTE * 9 * channels
        if channels == shape.outputs:
            return taken
        pixels = shape.rows * shape.width + shape.output_rows * shape.output_width
        return taken + pixels * (COPY + COPY_BYTE * shape.outputs)  # pixel by pixel, in and out again

    def _rest(self, kernel: Kernel, shape: PlainShape, channels: int) -> None:
        kernel.operand(4 * channels)
        kernel.operand(shape.output_rows * shape.output_width * channels)
        kernel.numbers(shape.output_width, shape.output_rows, 5)
        kernel.scales(channels)

    def _dense(self, shape: PlainShape) -> float:
        vectors, rest = divmod(shape.inputs, 16)
        dot = self._dot("esp_nn_dot_s8_unaligned_esp32s3", 16 * vectors) if vectors else 0
        return shape.outputs * (dot + _PRODUCT * rest + _SCALED)


def _padded(shape: PlainShape) -> tuple[int, int, float]:
    """Rows and columns with padding, and what copying the input there takes."""
    rows, width = shape.rows + 2 * shape.pad[0], shape.width + 2 * shape.pad[1]
    if shape.pad == (0, 0):
        rows = max(rows, shape.output_rows * shape.stride[0] + shape.kernel[0] - 1)
        width = max(width, shape.output_width * shape.stride[1] + shape.kernel[1] - 1)
    if (rows, width) == (shape.rows, shape.width):
        return rows, width, 0.0
    return rows, width, rows * (2 * COPY + COPY_BYTE * width * shape.inputs)


@lru_cache
def _program(checkout: Path) -> Program:
    return read(sorted((checkout / "src").rglob("*_esp32s3.S")))


#: Small, for the interpreter is slow: what grows with each size is told apart.
LAYERS = (
    *(conv(inputs, *size, outputs, 1) for inputs, size, outputs in (
        (8, (8, 8), 16), (16, (6, 4), 32), (32, (4, 4), 32), (32, (8, 2), 64), (64, (4, 4), 16), (64, (5, 5), 64),
        (128, (4, 2), 32), (24, (7, 3), 48), (256, (4, 2), 64))),
    *(conv(inputs, *size, outputs, 3, stride) for inputs, size, outputs, stride in (
        (16, (6, 6), 16, 1), (16, (4, 9), 32, 1), (32, (4, 4), 16, 1), (32, (5, 5), 32, 2), (64, (3, 4), 32, 1),
        (64, (4, 4), 64, 2), (24, (4, 6), 16, 1), (8, (6, 6), 8, 1))),
    conv(16, 7, 7, 32, 1, 2), conv(32, 6, 6, 64, 1, 2), conv(32, 5, 5, 16, 5),
    conv(3, 16, 16, 16, 3), conv(3, 12, 12, 32, 3, 2), conv(1, 16, 10, 16, 4), conv(1, 24, 20, 8, 5, 2),
    conv(3, 16, 16, 8, 3, 2),
    *(depthwise(channels, *size, 3, stride) for channels, size, stride in (
        (16, (8, 8), 1), (32, (6, 6), 1), (64, (5, 5), 1), (16, (12, 4), 1), (128, (3, 3), 1), (32, (9, 9), 2),
        (64, (6, 6), 2), (48, (4, 10), 1), (24, (6, 6), 1), (8, (8, 8), 1))),
    depthwise(16, 6, 6, 5), depthwise(32, 5, 5, 5), depthwise(8, 9, 9, 5, 2), depthwise(12, 6, 6, 5),
    depthwise(16, 8, 4, 4),
    *(dense(*sizes) for sizes in ((64, 12), (256, 10), (640, 32), (100, 10), (33, 7), (128, 128))),
)  # fmt: skip


def counted(checkout: Path) -> Iterator[tuple[str, Counted, dict[int, int], float]]:
    """The name of each layer, its kernel, and its calls with their instructions: whole and in a band."""
    library = Library(_program(checkout))
    for layer in LAYERS:
        program = compile_model(build_layer(layer), backend="esp-nn", chip=MACHINE).plan.program
        for op in program.ops:
            if not op.backend:
                continue
            source = program.tensors[op.operands[0].tensor]
            for rows in {program.tensors[op.output].height, 1}:
                shape = shape_of(program, op, min(op.operands[0].rows.rows_read(rows), source.height), rows)
                yield layer.name, kernel_of(op, program.tensors), {rows: 1}, library.call(shape)
