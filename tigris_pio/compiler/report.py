"""The report of a compilation: the JSON document of `analyze` and `compile`, from which cli/tables.py and report/ make
tables and pages."""

from __future__ import annotations

import dataclasses
from typing import Any

from tigris_pio.compiler.cost.model import PROCESSORS, machines
from tigris_pio.compiler.ir.plan import Budget, ExecutionPlan, Stage
from tigris_pio.compiler.ir.program import ProgramIo
from tigris_pio.compiler.plan.prediction import predict_stage
from tigris_pio.compiler.plan.two_cores import cores_report
from tigris_pio.compiler.slide import SlidingProgram
from tigris_pio.compiler.weights.block import block_bytes, distinct_bytes
from tigris_pio.format.enums import DType, OpKind
from tigris_pio.format.params import RowsParams
from tigris_pio.format.records import Header
from tigris_pio.text import visible

#: The JSON document of `analyze` and `compile`.
Report = dict[str, Any]

#: The name of a network's type, the first whose type an operator has. Operators on int32 belong to int8 networks.
_DTYPES = (("int8", DType.INT8), ("int16", DType.INT16), ("int8", DType.INT32))


def build_report(plan: ExecutionPlan, data: bytes, budget: Budget, refusal: str | None = None) -> Report:
    """The report of `plan`, whose file is `data`, for the requested `budget`; `refusal`: why the model does not fit."""
    program, stored = plan.program, Header.unpack(data).weights_bytes
    scratch = 0 if plan.backend is None else plan.backend.scratch_bytes
    found = {op.dtype for op in program.ops if not isinstance(op.params, RowsParams)}
    inputs = [_io(plan, io, (OpKind.FETCH, place)) for place, io in enumerate(program.inputs)]
    outputs = [_io(plan, io, (OpKind.TAKE, place)) for place, io in enumerate(program.outputs)]
    io_fast = sum(io["bytes"] for io in (*inputs, *outputs) if io["home"] == "fast")
    stages = [_stage(plan, stage) for stage in plan.stages]
    document: Report = {
        "model": program.name,
        "dtype": next((name for name, kind in _DTYPES if kind in found), "float32"),
        "ops": len(program.ops),
        "fits": refusal is None,
        "budget": {"fast": budget.fast, "slow": budget.slow, "flash": budget.flash},
        "memory": {
            "unscheduled_peak": plan.unscheduled_peak,
            "lower_bound": plan.allocation.lower_bound,
            "fast_peak": plan.fast_bytes,
            "slow_peak": plan.slow_bytes,
            "state": plan.state_bytes,
            "io_in_fast": io_fast,
            "states": sum(program.tensors[io.tensor].bytes for io in program.states),
            "fast_reserved": plan.fast_reserved,
            "backend_scratch": scratch,
            "total_ram": plan.fast_bytes + scratch + plan.slow_bytes,
        },
        "traffic": {
            "slow_read": sum(stage.slow_read for stage in plan.stages),
            "slow_written": sum(stage.slow_written for stage in plan.stages),
        },
        "compute": {
            "macs": sum(op.macs for op in program.ops) - program.repeated_macs,
            "recomputed_macs": sum(stage.recomputed_macs for stage in plan.stages) + max(0, program.repeated_macs),
        },
        "flash": {
            "plan": len(data),
            "weights": distinct_bytes(program),
            "stored": stored,
            "records": len(data) - stored,
        },
        "predicted_instructions": {
            processor: sum(stage["predicted_instructions"][processor] for stage in stages)
            for processor in predicted_on(plan)
        },
        "predicted_cycles": {
            processor: sum(stage["predicted_cycles"][processor] for stage in stages)
            for processor in (stages[0]["predicted_cycles"] if stages else ())
        },
        "planned_for": plan.processor,
        "cores": cores_report(plan),
        "stages": stages,
        "allocation": {
            "strategy": plan.allocation.strategy,
            "peaks": dict(plan.allocation.peaks),
            "lower_bound": plan.allocation.lower_bound,
            "proved_optimal": plan.allocation.proved_optimal,
        },
        "backend": _backend(plan),
        "inputs": inputs,
        "outputs": outputs,
        "states": [_io(plan, io) for io in program.states],
        "warnings": [visible(text) for text in (*program.warnings, *plan.warnings)],
    }
    if refusal is not None:
        document["reason"] = refusal
    return document


def predicted_on(plan: ExecutionPlan) -> tuple[str, ...]:
    """The processors for which instructions are predicted; with a library those on which its kernels were counted."""
    return PROCESSORS if plan.backend is None else machines(plan.backend.name) or PROCESSORS


def hop_report(slid: SlidingProgram, plan: ExecutionPlan, whole: ExecutionPlan | None) -> dict[str, Any]:
    """Compares runs with a hop with runs on whole windows; `whole`: the plan for whole windows, if one fits."""
    return {
        "rows": slid.hop,
        "window": slid.input_rows,
        "axis": slid.axis,
        "exact_from": slid.exact_from,
        "macs": sum(op.macs for op in slid.program.ops),
        "whole_macs": sum(op.macs for op in slid.whole.ops),
        "fast": plan.fast_bytes,
        "whole_fast": None if whole is None else whole.fast_bytes,
        "states": sum(slid.program.tensors[io.tensor].bytes for io in slid.program.states),
        "all_rows": [{"op": item.op, "reason": item.reason} for item in slid.non_sliding],
        "edges": [dataclasses.asdict(edges) for edges in slid.edges],
    }


def _backend(plan: ExecutionPlan) -> dict[str, Any]:
    """The kernel library of the plan; `portable`: the operators that it leaves to portable kernels, and why."""
    use = plan.backend
    if use is None:
        return {"name": "portable", "ops": len(plan.program.ops), "portable": []}
    return {
        "name": use.name,
        "chip": use.chip,
        "ops": len(plan.program.ops) - len(use.portable),
        "portable": [{"op": name, "reason": reason} for name, reason in use.portable.items()],
    }


def _stage(plan: ExecutionPlan, stage: Stage) -> dict[str, Any]:
    ops = plan.program.ops[stage.first_op : stage.end_op]
    predicted = predict_stage(plan, stage, predicted_on(plan))
    return {
        "strategy": stage.strategy.name.lower(),
        "ops": [op.name for op in ops],
        "bands": stage.bands,
        "band_rows": stage.band_rows,
        "fast_peak": stage.fast_peak,
        "slow_read": stage.slow_read,
        "slow_written": stage.slow_written,
        "macs": sum(op.macs for op in ops),
        "recomputed_macs": stage.recomputed_macs,
        "predicted_instructions": predicted.instructions,
        "predicted_cycles": predicted.cycles,
        "weights": stage.weight_mode.name.lower(),
        "weights_bytes": block_bytes(ops),
        "compression_saves": stage.compression_saves,
    }


def _io(plan: ExecutionPlan, io: ProgramIo, port: tuple[OpKind, int] | None = None) -> dict[str, Any]:
    """An input, output or state. `port`: its key in `Program.movers`; a streamed tensor has no home."""
    tensor = plan.program.tensors[io.tensor]
    return {
        "name": io.name,
        "shape": list(io.shape),
        "dtype": io.dtype.name.lower(),
        "stored_dtype": tensor.dtype.name.lower(),
        "bytes": tensor.bytes,
        "scale": tensor.scale,
        "zero_point": tensor.zero_point,
        "home": "stream" if port in plan.program.movers else plan.homes[io.tensor].home.name.lower(),
        **({"labels": list(io.labels)} if io.labels else {}),
    }
