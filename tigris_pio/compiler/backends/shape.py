"""A convolution or fully connected layer as libraries ask for it."""

from __future__ import annotations

import dataclasses

from tigris_pio.compiler.ir.program import Program, ProgramOp
from tigris_pio.format.enums import OpKind
from tigris_pio.format.params import ConvInt8Params, FullyConnectedInt8Params

#: The plain kind of each packed one.
PLAIN_KINDS = {
    OpKind.CONV_2D: OpKind.PLAIN_CONV_2D,
    OpKind.DEPTHWISE_CONV_2D: OpKind.PLAIN_DEPTHWISE_CONV_2D,
    OpKind.FULLY_CONNECTED: OpKind.PLAIN_FULLY_CONNECTED,
}
#: Those that have a shape.
SHAPED_KINDS = frozenset((*PLAIN_KINDS, *PLAIN_KINDS.values()))
#: Libraries keep sizes in 16 bits.
LARGEST_SIZE = (1 << 15) - 1
#: Products of sizes that the runtime's adapters leave to a library (runtime/backends/plain_ops.c).
LARGEST_PRODUCT = 1 << 26


@dataclasses.dataclass(frozen=True)
class PlainShape:
    """Sizes as (rows, columns). `rows` and `output_rows`: of the tallest band. A fully connected layer is a
    convolution of one pixel, `dense`."""

    inputs: int
    outputs: int
    width: int
    output_width: int
    rows: int
    output_rows: int
    kernel: tuple[int, int] = (1, 1)
    stride: tuple[int, int] = (1, 1)
    dilation: tuple[int, int] = (1, 1)
    pad: tuple[int, int] = (0, 0)  #: above and on the left
    pad_end: tuple[int, int] = (0, 0)  #: below and on the right: what the last windows read
    banded: bool = False  #: of several bands, of which others have no padding above
    groups: int = 1
    depthwise: bool = False
    dense: bool = False

    @property
    def window(self) -> int:
        """Weights of one output channel."""
        return self.kernel[0] * self.kernel[1] * (1 if self.depthwise else self.inputs // self.groups)

    @property
    def reach(self) -> tuple[int, int]:
        """From a window's first tap to its last."""
        return (self.kernel[0] - 1) * self.dilation[0], (self.kernel[1] - 1) * self.dilation[1]

    def is_small(self) -> bool:
        """Whether every size fits 16 bits, and their products what is left of 32."""
        sizes = (self.inputs, self.outputs, self.width, self.output_width, self.rows, self.output_rows, *self.kernel,
                 *self.stride, *self.reach)
        rows, columns = (
            size + 2 * kernel + stride
            for size, kernel, stride in zip((self.rows, self.width), self.kernel, self.stride, strict=True)
        )
        products = (
            self.kernel[0] * self.kernel[1] * (self.inputs + 16) * (self.outputs + 16),
            rows * columns * (self.inputs + 16), self.output_rows * self.output_width * (self.outputs + 16),
        )  # fmt: skip
        return max(sizes) <= LARGEST_SIZE and (self.dense or max(products) < LARGEST_PRODUCT)

    def is_usual(self) -> bool:
        """Whether padding reaches only as far as windows do and no further window would fit: what the runtime's checks
        ask of plain operators."""
        inputs, outputs = (self.rows, self.width), (self.output_rows, self.output_width)
        for size, output, stride, reach, pad in zip(inputs, outputs, self.stride, self.reach, self.pad, strict=True):
            last = (output - 1) * stride
            if not (0 <= pad <= reach and last < size + pad <= last + stride + reach):
                return False
        return True


def refused_by_libraries(shape: PlainShape, library: str) -> str | None:
    """Why a shape is given to neither library."""
    if shape.groups != 1 and not shape.depthwise:
        return f"{library} is not asked for convolutions of {shape.groups} groups"
    if not shape.is_usual():
        return f"{library} is not asked for padding beyond the kernel's reach"
    return None if shape.is_small() else f"{library} keeps sizes in 16 bits"


def shape_of(
    program: Program, op: ProgramOp, rows: int | None = None, output_rows: int | None = None, banded: bool = False
) -> PlainShape:
    """The shape of an int8 operator of SHAPED_KINDS; rows None: the whole tensor's."""
    source, result, params = program.tensors[op.operands[0].tensor], program.tensors[op.output], op.params
    if isinstance(params, FullyConnectedInt8Params):
        return PlainShape(params.in_features, params.out_features, 1, 1, 1, 1, dense=True)
    assert isinstance(params, ConvInt8Params)
    above = -op.operands[0].rows.first
    below, right = (
        max(0, (outputs - 1) * stride + (kernel - 1) * dilation + 1 - pad - size)
        for outputs, stride, kernel, dilation, pad, size in (
            (result.height, params.stride_height, params.kernel_height, params.dilation_height, above, source.height),
            (result.width, params.stride_width, params.kernel_width, params.dilation_width, params.pad_left,
             source.width),
        )
    )  # fmt: skip
    return PlainShape(
        source.channels, result.channels, source.width, result.width,
        source.height if rows is None else min(rows, source.height),
        result.height if output_rows is None else min(output_rows, result.height),
        (params.kernel_height, params.kernel_width), (params.stride_height, params.stride_width),
        (params.dilation_height, params.dilation_width), (above, params.pad_left), (below, right),
        banded, params.groups, op.kind in (OpKind.DEPTHWISE_CONV_2D, OpKind.PLAIN_DEPTHWISE_CONV_2D),
    )  # fmt: skip
