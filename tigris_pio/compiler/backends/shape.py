"""A convolution or fully connected layer as libraries ask for it."""

from __future__ import annotations

import dataclasses

from tigris_pio.compiler.ir.program import Program, ProgramOp
from tigris_pio.format.enums import DType, OpKind
from tigris_pio.format.params import ConvInt8Params, FullyConnectedInt8Params

#: The plain kind of each packed one.
PLAIN_KINDS = {
    OpKind.CONV_2D: OpKind.PLAIN_CONV_2D,
    OpKind.DEPTHWISE_CONV_2D: OpKind.PLAIN_DEPTHWISE_CONV_2D,
    OpKind.FULLY_CONNECTED: OpKind.PLAIN_FULLY_CONNECTED,
}
#: Libraries keep sizes in 16 bits.
LARGEST_SIZE = (1 << 15) - 1


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
    pad: tuple[int, int] = (0, 0)  #: above, the most there can be, and on the left
    groups: int = 1
    depthwise: bool = False
    dense: bool = False

    @property
    def window(self) -> int:
        """Weights of one output channel."""
        return self.kernel[0] * self.kernel[1] * (1 if self.depthwise else self.inputs // self.groups)

    def is_small(self) -> bool:
        """Whether every size fits 16 bits."""
        sizes = (self.inputs, self.outputs, self.width, self.output_width, self.rows, self.output_rows, *self.kernel,
                 *self.stride)
        return max(sizes) <= LARGEST_SIZE


def shape_of(program: Program, op: ProgramOp, rows: int | None = None, output_rows: int | None = None) -> PlainShape:
    """The shape of an int8 operator of PLAIN_KINDS, packed or plain; rows None: the whole tensor's."""
    source, result, params = program.tensors[op.operands[0].tensor], program.tensors[op.output], op.params
    if isinstance(params, FullyConnectedInt8Params):
        return PlainShape(params.in_features, params.out_features, 1, 1, 1, 1, dense=True)
    assert isinstance(params, ConvInt8Params)
    reach = (params.kernel_height - 1) * params.dilation_height
    return PlainShape(
        source.channels, result.channels, source.width, result.width,
        source.height if rows is None else rows, result.height if output_rows is None else output_rows,
        (params.kernel_height, params.kernel_width), (params.stride_height, params.stride_width),
        (params.dilation_height, params.dilation_width), (reach, params.pad_left), params.groups,
        op.kind in (OpKind.DEPTHWISE_CONV_2D, OpKind.PLAIN_DEPTHWISE_CONV_2D),
    )  # fmt: skip


def is_candidate(op: ProgramOp) -> bool:
    """Whether libraries have kernels for the operator's kind."""
    return op.dtype is DType.INT8 and op.kind in PLAIN_KINDS
