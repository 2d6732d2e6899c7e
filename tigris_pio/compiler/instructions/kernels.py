"""Which kernels do what, by the kind and the element type of an operator."""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping

from tigris_pio.compiler.instructions import convolutions, mve, others
from tigris_pio.compiler.instructions.call import Call, Work
from tigris_pio.compiler.ir.program import ProgramOp
from tigris_pio.format.enums import DType, OpKind
from tigris_pio.format.kinds import PLAIN_KINDS, kinds_with
from tigris_pio.format.params import ResampleParams, SelectParams


class InstructionSet(enum.Enum):
    """By which of a processor's instructions int8 kernels differ (runtime/src/kernels/instruction_set.h)."""

    PORTABLE = enum.auto()
    DSP = enum.auto()  #: of Armv7E-M and Armv8-M
    MVE = enum.auto()  #: vectors of Armv8.1-M, beside DSP instructions


_PACKED = {plain: packed for packed, plain in PLAIN_KINDS.items()}
#: What these do depends on whether there are DSP instructions.
_INT8: Mapping[OpKind, Callable[[Call, bool], Work]] = {
    OpKind.CONV_2D: convolutions.conv_int8,
    OpKind.ASYMMETRIC_CONV_2D: convolutions.conv_int8,
    OpKind.DEPTHWISE_CONV_2D: convolutions.depthwise_int8,
    OpKind.FULLY_CONNECTED: convolutions.fully_connected_int8,
    OpKind.ASYMMETRIC_FULLY_CONNECTED: convolutions.fully_connected_int8,
}
_ANY: Mapping[OpKind, Callable[[Call], Work]] = {
    OpKind.CONV_2D: convolutions.conv,
    OpKind.DEPTHWISE_CONV_2D: convolutions.depthwise,
    OpKind.FULLY_CONNECTED: convolutions.fully_connected,
    OpKind.MAT_MUL: convolutions.products,
    OpKind.AVERAGE_POOL: others.pool,
    OpKind.MAX_POOL: others.pool,
    OpKind.SUM_MAP: others.reduced,
    OpKind.MEAN_OF_SUMS: others.reduced,
    OpKind.REDUCE: others.reduced,
    OpKind.ARG_REDUCE: others.reduced,
    **dict.fromkeys(kinds_with(lambda traits: traits.moves), others.elements),
    **dict.fromkeys((OpKind.FETCH, OpKind.TAKE), others.called),
}


def work_of(call: Call, instructions: InstructionSet = InstructionSet.PORTABLE) -> Work:
    """What a call does, on a processor with these instructions."""
    kind = _PACKED.get(call.op.kind, call.op.kind)
    if call.op.dtype is DType.INT8 and instructions is InstructionSet.MVE and kind in mve.KERNELS:
        vectors = mve.KERNELS[kind](call)
        if vectors is not None:
            return vectors
    if call.op.dtype is DType.INT8 and kind in _INT8:
        return _INT8[kind](call, instructions is not InstructionSet.PORTABLE)
    if call.op.dtype is DType.INT8 and kind is OpKind.SUM_MAP:
        return others.sum_map(call)
    if kind in _ANY:
        return _ANY[kind](call)
    return convolutions.products(call) if call.op.macs else others.elements(call)


def name_of(op: ProgramOp, instructions: InstructionSet = InstructionSet.PORTABLE) -> str:
    """The name of what an operator runs: kernels that do the same work for the same instructions share one."""
    kind, params = _PACKED.get(op.kind, op.kind), op.params
    name = f"{kind.name} {op.dtype.name}"
    if kind in (OpKind.AVERAGE_POOL, OpKind.MAX_POOL):
        sizes = getattr(params, "kernel_height", 0), getattr(params, "kernel_width", 0)
        # With vectors any window goes alike. Averages were counted in too few shapes to say so of them.
        alike = (kind, op.dtype, instructions) == (OpKind.MAX_POOL, DType.INT8, InstructionSet.MVE)
        name += " 2x2" if sizes == (2, 2) and not alike else ""
        name += " rescaled" if getattr(params, "rescale", 0) == 1 else ""
    if isinstance(params, ResampleParams):
        name += f" {params.row_taps}x{params.column_taps}"
    if isinstance(params, SelectParams) and (params.numerator[2], params.denominator[2]) != (1, 1):
        name += " by channel"
    function = getattr(params, "function", None)
    return f"{name} {int(function)}" if isinstance(function, int) else name  # a recurrent layer has three
