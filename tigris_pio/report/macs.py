"""Counts multiply-accumulates (MACs) of each operator from a plan's records."""

from __future__ import annotations

import math
from typing import Any

from tigris_pio.format.enums import OpKind, RecurrentCell
from tigris_pio.format.reader import PlanFile
from tigris_pio.format.records import OpRecord, TensorRecord

_CONVOLUTIONS = frozenset((OpKind.CONV_2D, OpKind.PLAIN_CONV_2D, OpKind.ASYMMETRIC_CONV_2D))
_DEPTHWISE = frozenset(
    (OpKind.DEPTHWISE_CONV_2D, OpKind.PLAIN_DEPTHWISE_CONV_2D, OpKind.ASYMMETRIC_DEPTHWISE_CONV_2D)
)
_PRODUCTS = frozenset((OpKind.FULLY_CONNECTED, OpKind.PLAIN_FULLY_CONNECTED, OpKind.ASYMMETRIC_FULLY_CONNECTED))
_GATES = {RecurrentCell.LSTM: 4, RecurrentCell.GRU: 3, RecurrentCell.RNN: 1}


def operator_macs(plan: PlanFile) -> tuple[int, ...] | None:
    """MACs of every operator, in execution order; None if their sum is not the one in the plan's header."""
    found = [0] * len(plan.ops)
    for stage in plan.stages:
        views = plan.views[stage.first_view : stage.first_view + stage.view_count]
        for index in range(stage.first_op, stage.first_op + stage.op_count):
            op = plan.ops[index]
            if not op.operand_count:
                continue
            source = plan.tensors[views[plan.operands[op.first_operand].view].tensor]
            found[index] = _macs(plan, op, source, plan.tensors[views[op.output_view].tensor])
    low, high = plan.header.macs
    return tuple(found) if sum(found) == low | high << 32 else None


def _macs(plan: PlanFile, op: OpRecord, source: TensorRecord, output: TensorRecord) -> int:
    """MACs of one operator: kernel sizes come from its parameters, numbers of elements from its tensors."""
    kind = OpKind(op.kind)
    params: dict[str, Any] = vars(plan.params(op))
    macs = 0
    if kind in _CONVOLUTIONS:
        macs = _elements(output) * _taps(params) * (source.channels // params["groups"])
    elif kind in _DEPTHWISE:
        macs = _elements(output) * _taps(params)
    elif kind is OpKind.TRANSPOSE_CONV:
        macs = _elements(source) * _taps(params) * (output.channels // params["groups"])
    elif kind in _PRODUCTS:
        macs = op.images * params["rows"] * params["in_features"] * params["out_features"]
    elif kind is OpKind.MAT_MUL:
        macs = op.images * math.prod(params["batch"]) * params["rows"] * params["depth"] * params["columns"]
    elif kind is OpKind.RECURRENT:
        products = _GATES[RecurrentCell(params["cell"])] * params["units"] * (params["inputs"] + params["units"])
        macs = params["steps"] * output.height * params["batch"] * products
    return macs


def _taps(params: dict[str, Any]) -> int:
    return int(params["kernel_height"] * params["kernel_width"])


def _elements(tensor: TensorRecord) -> int:
    return tensor.batch * tensor.height * tensor.width * tensor.channels
