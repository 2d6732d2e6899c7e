"""Reads from a plan which bytes of both arenas are in use at each step, and for what.

Step i is operator i of n. At step -1 firmware has written the inputs; at step n it reads the outputs.
"""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

from tigris_pio.compiler.ir.pace import Pace
from tigris_pio.compiler.ir.program import RowMap
from tigris_pio.compiler.plan.band.geometry import BandRows, stage_rows
from tigris_pio.format.enums import DType, Home, TensorFlag, ViewFlag, WeightMode
from tigris_pio.format.reader import PlanFile
from tigris_pio.format.records import StageRecord, TensorRecord, ViewRecord

#: Kinds of blocks, which are names of colours, to their meaning in the legend.
KINDS = {
    "io": "input or output of the model",
    "home": "tensor that outlives its stage",
    "inner": "tensor within a stage",
    "rows": "line buffer: some rows of a tensor",
    "carried": "state: keeps its value between runs",
    "scratch": "scratch of a kernel",
    "weights": "weights copied to fast memory",
    "runtime": "run-time state",
}


@dataclasses.dataclass(frozen=True)
class Block:
    """Bytes [offset, offset + bytes) of an arena during the steps birth … death."""

    name: str
    kind: str
    offset: int
    bytes: int
    birth: int
    death: int
    detail: str = ""

    @property
    def end(self) -> int:
        """Offset behind the last byte."""
        return self.offset + self.bytes

    def live(self, step: int) -> bool:
        """Whether the block is in use at a step."""
        return self.birth <= step <= self.death


@dataclasses.dataclass(frozen=True)
class Arena:
    """An arena of `bytes` bytes and its blocks over `steps` operators; `name` is fast or slow."""

    name: str
    bytes: int
    steps: int
    blocks: tuple[Block, ...]

    @property
    def peak_step(self) -> int:
        """The step with the highest address; among several the one with most bytes in use, then the first."""
        return max(range(-1, self.steps + 1), key=lambda step: (self.top(step), self.taken(step), -step))

    def top(self, step: int) -> int:
        """Offset behind the highest byte in use at a step."""
        return max((block.end for block in self.live(step)), default=0)

    def taken(self, step: int) -> int:
        """Bytes in use at a step; bytes of overlapping blocks count once."""
        taken = end = 0
        for block in sorted(self.live(step), key=lambda block: block.offset):
            taken += max(0, block.end - max(end, block.offset))
            end = max(end, block.end)
        return taken

    def live(self, step: int) -> tuple[Block, ...]:
        """The blocks in use at a step."""
        return tuple(block for block in self.blocks if block.live(step))

    def overlays(self) -> Iterator[tuple[Block, Block, int, int]]:
        """Pairs of overlapping blocks, whose output grows over the input's dead rows, and the bytes [start, end)."""
        homes = [block for block in self.blocks if block.kind in ("io", "home")]
        for place, one in enumerate(homes):
            for other in homes[place + 1 :]:
                start, end = max(one.offset, other.offset), min(one.end, other.end)
                if start < end and one.birth <= other.death and other.birth <= one.death:
                    yield one, other, start, end


@dataclasses.dataclass(frozen=True)
class _Lifetime:
    birth: int
    death: int


def fast_arena(plan: PlanFile) -> Arena:
    """The fast arena: run-time state, homes, windows, scratch and copied weights."""
    blocks = [Block("run-time state", "runtime", 0, plan.header.state_bytes, -1, len(plan.ops))]
    blocks += _homes(plan, Home.FAST)
    for number, stage in enumerate(plan.stages, 1):
        blocks += _windows(plan, stage, number)
        blocks += _scratch_and_weights(plan, stage, number)
    return Arena("fast", plan.header.fast_bytes, len(plan.ops), tuple(block for block in blocks if block.bytes))


def slow_arena(plan: PlanFile) -> Arena:
    """The slow arena: homes only."""
    return Arena("slow", plan.header.slow_bytes, len(plan.ops), tuple(_homes(plan, Home.SLOW)))


def _homes(plan: PlanFile, home: Home) -> list[Block]:
    """Tensors with that home. In the fast arena a stage with bands needs them for all of its steps; in the slow arena
    every stage does."""
    ios = {io.tensor for io in plan.io}
    lifetimes, blocks = _lifetimes(plan), []
    stages = [stage for stage in plan.stages if home is Home.SLOW or stage.band_count > 1]
    stage_of = {step: stage for stage in stages for step in range(stage.first_op, stage.first_op + stage.op_count)}
    for index, tensor in enumerate(plan.tensors):
        if tensor.home != home:
            continue
        lifetime = lifetimes[index]
        first, last = stage_of.get(lifetime.birth), stage_of.get(lifetime.death)
        blocks.append(Block(
            name=plan.text(tensor.name),
            kind="carried" if tensor.flags & TensorFlag.STATE else "io" if index in ios else "home",
            offset=tensor.home_offset,
            bytes=_bytes(tensor),
            birth=first.first_op if first else lifetime.birth,
            death=last.first_op + last.op_count - 1 if last else lifetime.death,
        ))  # fmt: skip
    return blocks


def _lifetimes(plan: PlanFile) -> Mapping[int, _Lifetime]:
    """First and last step of each tensor, by index."""
    birth = {io.tensor: -1 for io in plan.inputs if not io.mover}
    death = dict(birth)
    for stage in plan.stages:
        for step, made, read in _steps(plan, stage):
            for tensor in read:
                death[tensor] = step
            birth.setdefault(made, step)
            death[made] = step
    death |= {io.tensor: len(plan.ops) for io in plan.outputs if not io.mover}
    for index, record in enumerate(plan.tensors):
        if record.flags & TensorFlag.STATE:
            birth[index], death[index] = -1, len(plan.ops)
    return {tensor: _Lifetime(birth.get(tensor, -1), end) for tensor, end in death.items()}


def _steps(plan: PlanFile, stage: StageRecord) -> Iterator[tuple[int, int, list[int]]]:
    """Yields (step, tensor written, tensors read) for each operator of a stage."""
    views = _views(plan, stage)
    for step in range(stage.first_op, stage.first_op + stage.op_count):
        op = plan.ops[step]
        operands = plan.operands[op.first_operand : op.first_operand + op.operand_count]
        yield step, views[op.output_view].tensor, [views[operand.view].tensor for operand in operands]


def _views(plan: PlanFile, stage: StageRecord) -> Sequence[ViewRecord]:
    return plan.views[stage.first_view : stage.first_view + stage.view_count]


def _windows(plan: PlanFile, stage: StageRecord, number: int) -> Iterator[Block]:
    """The windows of a stage, from the operator that fills one to its last reader.

    A window with kept rows is in use during the whole stage, unless these lie elsewhere between bands.
    """
    steps = list(_steps(plan, stage))
    rows = _band_rows(plan, stage) if any(_is_parked(view) for view in _views(plan, stage)) else {}
    for view in _views(plan, stage):
        if not view.flags & ViewFlag.WINDOW:
            continue
        tensor = plan.tensors[view.tensor]
        uses = [step for step, made, read in steps if view.tensor in (made, *read)]
        parked = _is_parked(view)
        keep = bool(view.flags & ViewFlag.KEEP) and not parked
        part = stage.band_count > 1 and view.capacity_rows < tensor.height
        whole = stage.band_count == stage.images == 1
        yield Block(
            name=plan.text(tensor.name),
            kind="rows" if part else "inner",
            offset=view.offset,
            bytes=_bytes(tensor) if whole else _bytes(tensor, view.capacity_rows),
            birth=stage.first_op if keep else uses[0],
            death=stage.first_op + stage.op_count - 1 if keep else uses[-1],
            detail=f"stage {number}" + (f", {view.capacity_rows} of {tensor.height} rows" if part else ""),
        )
        if parked:
            kept = rows[view.tensor].kept_rows
            yield Block(f"kept rows of {plan.text(tensor.name)}", "rows", view.parked, _bytes(tensor, kept),
                        stage.first_op, stage.first_op + stage.op_count - 1, f"stage {number}, between bands")


def _is_parked(view: ViewRecord) -> bool:
    """Whether the kept rows of a window lie elsewhere between bands."""
    return bool(view.flags & ViewFlag.KEEP) and view.parked != view.offset


def _band_rows(plan: PlanFile, stage: StageRecord) -> Mapping[int, BandRows]:
    """The rows that each band of a stage touches, by index of the tensor."""
    views = _views(plan, stage)
    tensors: Any = {index: SimpleNamespace(height=record.height, sequential=False,
                                           constant=None if record.home != Home.FLASH else record)
                    for index, record in enumerate(plan.tensors)}  # fmt: skip
    ops: Any = [
        SimpleNamespace(output=views[op.output_view].tensor, operands=[
            SimpleNamespace(tensor=views[one.view].tensor,
                            rows=RowMap(one.numerator, one.denominator, one.first, one.last))
            for one in plan.operands[op.first_operand : op.first_operand + op.operand_count]
        ])
        for op in plan.ops[stage.first_op : stage.first_op + stage.op_count]
    ]  # fmt: skip
    paces: Any = {view.tensor: Pace(view.pace_numerator, view.pace_denominator, view.pace_offset)
                  for view in views if view.pace_denominator}  # fmt: skip
    at_home: Any = frozenset(view.tensor for view in views if not view.flags & ViewFlag.WINDOW)
    rows: Any = stage_rows(ops, tensors, paces, stage.band_count, True, at_home)
    found: Mapping[int, BandRows] = rows
    return found


def _scratch_and_weights(plan: PlanFile, stage: StageRecord, number: int) -> Iterator[Block]:
    """Scratch of a stage's operators, and weights that are copied to the fast arena."""
    end = stage.first_op + stage.op_count
    if stage.weight_mode != WeightMode.IN_PLACE:
        yield Block(f"weights of stage {number}", "weights", stage.block_fast_offset, stage.block_raw_bytes,
                    stage.first_op, end - 1)  # fmt: skip
    for step in range(stage.first_op, end):
        op = plan.ops[step]
        if op.scratch_bytes:
            yield Block(f"scratch of {plan.text(op.name)}", "scratch", op.scratch, op.scratch_bytes, step, step)


def _bytes(tensor: TensorRecord, rows: int | None = None) -> int:
    """Bytes of a whole tensor, or of `rows` rows of one image; a folded tensor has one row."""
    row = tensor.width * tensor.channels * DType(tensor.dtype).bytes
    kept = tensor.height if rows is None else rows
    return (tensor.batch if rows is None else 1) * row * (min(kept, 1) if tensor.flags & TensorFlag.FOLDED else kept)
