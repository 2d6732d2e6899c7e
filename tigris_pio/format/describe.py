"""Describes a plan for `tigris inspect`."""

from typing import Any

from tigris_pio.format.enums import DType, HeaderFlag, Home, OpKind, Strategy, WeightMode
from tigris_pio.format.reader import PlanFile
from tigris_pio.format.records import IoRecord


def describe_plan(plan: PlanFile) -> dict[str, Any]:
    """The plan's header, inputs, outputs, stages and operators as plain values."""
    header = plan.header
    return {
        "file": "plan",
        "model": plan.name,
        "format_version": header.version,
        "source_sha256": bytes(header.source_sha256).hex(),
        "crc32": f"{header.crc32:08x}",
        "bytes": header.total_bytes,
        "weights_bytes": header.weights_bytes,
        "xip": bool(header.flags & HeaderFlag.XIP),
        "alignment": header.alignment,
        "memory": {
            "fast": header.fast_bytes,
            "slow": header.slow_bytes,
            "state": header.state_bytes,
            "fast_reserved": header.fast_reserved,
            "states": sum(plan.io_bytes(io) for io in plan.states),
        },
        "macs": header.macs[0] | header.macs[1] << 32,
        "inputs": [_io(plan, io) for io in plan.inputs],
        "outputs": [_io(plan, io) for io in plan.outputs],
        "states": [_io(plan, io) for io in plan.states],
        "stages": [
            {
                "strategy": Strategy(stage.strategy).name.lower(),
                "operators": stage.op_count,
                "first": plan.text(plan.ops[stage.first_op].name),
                "bands": stage.band_count,
                "weights": WeightMode(stage.weight_mode).name.lower(),
                "weight_bytes": stage.block_raw_bytes,
                "stored_bytes": stage.block_stored_bytes,
            }
            for stage in plan.stages
        ],
        "operators": [
            {
                "name": plan.text(op.name),
                "kind": OpKind(op.kind).name.lower(),
                "dtype": DType(op.dtype).name.lower(),
                "inputs": op.operand_count,
                "params": op.params_bytes,
            }
            for op in plan.ops
        ],
    }


def _io(plan: PlanFile, io: IoRecord) -> dict[str, Any]:
    tensor = plan.tensors[io.tensor]
    return {
        "name": plan.text(io.name),
        "shape": list(io.shape[: io.rank]),
        "dtype": DType(io.model_dtype).name.lower(),
        "stored_shape": list(io.stored_shape[: io.stored_rank]),
        "stored_dtype": DType(tensor.dtype).name.lower(),
        "scale": tensor.scale,
        "zero_point": tensor.zero_point,
        "home": "stream" if io.mover else Home(tensor.home).name.lower(),
    }
