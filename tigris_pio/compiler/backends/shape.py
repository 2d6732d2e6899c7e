"""The shape of a convolution or fully connected layer as kernel libraries take it."""

from __future__ import annotations

import dataclasses

from tigris_pio.compiler.ir.program import Program, ProgramOp
from tigris_pio.format.kinds import PLAIN_KINDS, TRAITS
from tigris_pio.format.params import ConvInt8Params, FullyConnectedInt8Params
from tigris_pio.format.work import DEPTHWISE

#: Kinds with a PlainShape.
SHAPED_KINDS = frozenset((*PLAIN_KINDS, *PLAIN_KINDS.values()))
#: Libraries store sizes in 16 bits.
LARGEST_SIZE = (1 << 15) - 1
#: The limit of products of sizes that the runtime's adapters pass to a library (runtime/backends/plain_ops.c).
LARGEST_PRODUCT = 1 << 26


@dataclasses.dataclass(frozen=True)
class PlainShape:
    """Sizes of an operator; pairs are (rows, columns).

    inputs, outputs: channels
    rows, output_rows: of the tallest band
    banded: whether there are several bands, so that all but the first lack the padding above
    dense: a fully connected layer, as a convolution of one pixel
    """

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
    pad_end: tuple[int, int] = (0, 0)  #: below and on the right, as far as kernels reach
    banded: bool = False
    groups: int = 1
    depthwise: bool = False
    dense: bool = False

    @property
    def patch_size(self) -> int:
        """Weights of one output channel."""
        return self.kernel[0] * self.kernel[1] * (1 if self.depthwise else self.inputs // self.groups)

    @property
    def extent(self) -> tuple[int, int]:
        """Rows and columns from the kernel's first tap to its last."""
        return (self.kernel[0] - 1) * self.dilation[0], (self.kernel[1] - 1) * self.dilation[1]

    def has_small_sizes(self) -> bool:
        """Whether every size fits 16 bits, and products of sizes, with their margins, LARGEST_PRODUCT."""
        sizes = (self.inputs, self.outputs, self.width, self.output_width, self.rows, self.output_rows, *self.kernel,
                 *self.stride, *self.extent)
        rows, columns = (
            size + 2 * kernel + stride
            for size, kernel, stride in zip((self.rows, self.width), self.kernel, self.stride, strict=True)
        )
        products = (
            self.kernel[0] * self.kernel[1] * (self.inputs + 16) * (self.outputs + 16),
            rows * columns * (self.inputs + 16), self.output_rows * self.output_width * (self.outputs + 16),
        )  # fmt: skip
        return max(sizes) <= LARGEST_SIZE and (self.dense or max(products) < LARGEST_PRODUCT)

    def has_tight_padding(self) -> bool:
        """Whether padding is at most the kernel's extent, and no further output would fit, as plain operators need."""
        inputs, outputs = (self.rows, self.width), (self.output_rows, self.output_width)
        for size, output, stride, reach, pad in zip(inputs, outputs, self.stride, self.extent, self.pad, strict=True):
            last = (output - 1) * stride
            if not (0 <= pad <= reach and last < size + pad <= last + stride + reach):
                return False
        return True


def refused_by_libraries(shape: PlainShape, library: str) -> str | None:
    """Why no library can run a shape, or None."""
    if shape.groups != 1 and not shape.depthwise:
        return f"{library} is not used for convolutions of {shape.groups} groups"
    if not shape.has_tight_padding():
        return f"{library} is not used for padding beyond the kernel's extent"
    return None if shape.has_small_sizes() else f"{library} stores sizes in 16 bits"


def shape_of(
    program: Program, op: ProgramOp, rows: int | None = None, output_rows: int | None = None, banded: bool = False
) -> PlainShape:
    """The shape of an int8 operator of SHAPED_KINDS. rows, output_rows: of a band; None for the whole tensor"""
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
        banded, params.groups, TRAITS[op.kind].work is DEPTHWISE,
    )  # fmt: skip
