"""The executor's work in a stage, from the rows of its bands: calls of kernels, and rows that it moves."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from tigris_pio.compiler.ir.plan import ExecutionPlan, Stage, View
from tigris_pio.compiler.ir.program import ProgramOp, ProgramTensor
from tigris_pio.compiler.plan.band.geometry import BandRows, stage_rows
from tigris_pio.compiler.weights.block import block_bytes
from tigris_pio.format.enums import Home, WeightMode


@dataclasses.dataclass(frozen=True)
class StageCalls:
    """calls: of each operator, how many of its calls make so many rows. walked: how often the executor does what takes
    instructions beside them, by name."""

    calls: tuple[Mapping[int, int], ...]
    walked: Mapping[str, int]


def plan_stage_calls(plan: ExecutionPlan, stage: Stage) -> StageCalls:
    """The calls and moves of a stage of `plan`."""
    ops, tensors = plan.program.ops[stage.first_op : stage.end_op], plan.program.tensors
    paces = {view.tensor: view.pace for view in stage.views if view.pace is not None}
    at_home = frozenset(view.tensor for view in stage.views if not view.window)
    keep = any(view.keep for view in stage.views)
    rows = stage_rows(ops, tensors, paces, stage.bands, keep, at_home)
    copied = 0 if works_in_slow_memory(plan, stage) else stage.slow_read + stage.slow_written
    found = stage_calls(ops, tensors, stage.views, rows, copied)
    return dataclasses.replace(found, walked={**found.walked, **_weights(stage, ops)})


def _weights(stage: Stage, ops: Sequence[ProgramOp]) -> Mapping[str, int]:
    """The work of bringing a stage's weights to fast memory, once for all images."""
    if stage.weight_mode is WeightMode.IN_PLACE:
        return {}
    return {"copied block" if stage.weight_mode is WeightMode.COPY else "decompressed block": block_bytes(ops)}


def works_in_slow_memory(plan: ExecutionPlan, stage: Stage) -> bool:
    """Whether kernels of a stage of `plan` read or write tensors in slow memory where they live."""
    homes = (plan.homes.get(view.tensor) for view in stage.views if not view.window)
    return any(place is not None and place.home is Home.SLOW for place in homes)


def stage_calls(
    ops: Sequence[ProgramOp],
    tensors: Mapping[str, ProgramTensor],
    views: Sequence[View],
    rows: Mapping[str, BandRows],
    copied: int,
) -> StageCalls:
    """The calls and moves of a stage of `ops` on `views`, by the rows of its bands. It copies `copied` bytes."""
    calls = tuple(_calls(rows[op.output]) for op in ops)
    return StageCalls(calls, _walked(ops, tensors, views, rows, calls) | {"copied byte": copied})


def _calls(rows: BandRows) -> Mapping[int, int]:
    counts = Counter((rows.end - rows.made).tolist())
    return {made: count for made, count in counts.items() if made > 0}


def _walked(
    ops: Sequence[ProgramOp],
    tensors: Mapping[str, ProgramTensor],
    views: Sequence[View],
    rows: Mapping[str, BandRows],
    calls: tuple[Mapping[int, int], ...],
) -> dict[str, int]:
    bands = len(rows[ops[0].output].end)
    moves = [_moved(view, tensors[view.tensor], rows[view.tensor]) for view in views if view.window]
    copies = [rows[view.tensor] for view in views if view.load or view.store]
    image = {
        "stage": 1,
        "view": len(views),
        "operator": len(ops),
        "band": bands,
        "band view": bands * len(views),
        "band operator": bands * len(ops),
        "band operand": bands * sum(len(op.operands) for op in ops),
        "call": sum(sum(counts.values()) for counts in calls),
        "move": sum(count for count, _ in moves),
        "moved byte": sum(size for _, size in moves),
        "copy": sum(int((found.end > found.made).sum()) for found in copies),
    }
    return {name: ops[0].images * amount for name, amount in image.items()}


def _moved(view: View, tensor: ProgramTensor, rows: BandRows) -> tuple[int, int]:
    """How often the kept rows of a window move to its start, or to where they are parked and back, and their bytes."""
    if not view.keep or tensor.folded:
        return 0, 0
    kept = np.maximum(rows.end[:-1] - rows.first[1:], 0)
    if view.parked is None:
        kept[rows.first[1:] <= rows.first[:-1]] = 0
    ways = 1 if view.parked is None else 2
    return ways * int((kept > 0).sum()), ways * int(kept.sum()) * tensor.row_bytes
