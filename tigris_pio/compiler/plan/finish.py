"""From an arrangement to the execution plan: offsets from the arena's start, stage records, warnings."""

from __future__ import annotations

import dataclasses

from tigris_pio.compiler.ir.plan import AllocationReport, Budget, ExecutionPlan, Location, Region, Stage, View
from tigris_pio.compiler.plan.band.parking import parked_name
from tigris_pio.compiler.plan.band.spatial import Draft, scratch_name, window_name
from tigris_pio.compiler.plan.index import ProgramIndex
from tigris_pio.compiler.plan.memory.exact import can_search
from tigris_pio.compiler.plan.placement import Arrangement, home_request
from tigris_pio.compiler.plan.segment import Segment
from tigris_pio.compiler.plan.settings import WeightOptions
from tigris_pio.compiler.plan.weight_blocks import offsets_of_blocks, shared_stages
from tigris_pio.compiler.weights.block import WORTH_COMPRESSING, block_bytes, compression_saves
from tigris_pio.format.enums import Home, WeightMode
from tigris_pio.sizes import format_size
from tigris_pio.spelling import option

#: Why the weights of some stages are not brought to fast memory.
SHARED = "are those of other stages too, and would be stored twice"
UNSEARCHED = (
    "planned without the search for the lowest placement, which the runtime for this machine has: outputs may take "
    "longer than they must; `tigris run` says how to install it"
)


def finish(
    index: ProgramIndex, budget: Budget, alignment: int, weights: WeightOptions, arrangement: Arrangement
) -> ExecutionPlan:
    """The plan of an arrangement: offsets from the arena's start instead of the end of the run-time state."""
    blocks = offsets_of_blocks(arrangement)
    stages = tuple(
        _stage(index, draft, arrangement, blocks.get(draft.segment.first), weights) for draft in arrangement.drafts
    )
    base, fast = arrangement.state_bytes, arrangement.fast
    homes = {
        name: Location(home, base + arrangement.fast.offsets[home_request(name)])
        if home is Home.FAST
        else Location(home, arrangement.slow.offsets[home_request(name)])
        for name, home in arrangement.homes.items()
    }
    scratch = {
        step: base + fast.offsets[scratch_name(step)] for step, op in enumerate(index.ops) if op.scratch_bytes
    }
    fetched = (stage for stage in stages if stage.weight_mode is not WeightMode.IN_PLACE)
    return ExecutionPlan(
        program=index.program,
        budget=budget,
        alignment=alignment,
        stages=stages,
        homes=homes,
        scratch=scratch,
        state_bytes=base,
        fast_bytes=arrangement.fast_bytes,
        fast_reserved=max((block_bytes(index.ops[s.first_op : s.end_op]) for s in fetched), default=0),
        slow_bytes=arrangement.slow.peak,
        unscheduled_peak=index.timeline.peak,
        allocation=AllocationReport(
            fast.strategy, arrangement.fast_bytes, base + fast.lower_bound, fast.peaks, fast.proved_optimal
        ),
        regions=tuple(
            Region(part.name, base + arrangement.fast.offsets[part.name], part.bytes, part.life.birth, part.life.death)
            for request in arrangement.requests
            for part in request.contents
        ),
        warnings=_warnings(index, weights, arrangement, stages),
        processor=index.processor,
    )


def _stage(
    index: ProgramIndex, draft: Draft, arrangement: Arrangement, block: int | None, weights: WeightOptions
) -> Stage:
    segment, base = draft.segment, arrangement.state_bytes
    views = tuple(_placed(view, segment, arrangement) if view.window else view for view in draft.views)
    parts = (part for request in arrangement.requests for part in request.contents)
    packed = weights.mode is WeightMode.LZ4 and block_bytes(index.ops[segment.first : segment.end]) > 0
    live = (part for part in parts if part.life.birth < segment.end and part.life.death >= segment.first)
    return Stage(
        first_op=segment.first,
        end_op=segment.end,
        bands=draft.bands,
        band_rows=draft.band_rows,
        strategy=draft.strategy,
        views=views,
        fast_peak=max((base + arrangement.fast.offsets[part.name] + part.bytes for part in live), default=base),
        slow_read=draft.slow_read,
        slow_written=draft.slow_written,
        recomputed_macs=draft.recomputed_macs,
        weight_mode=WeightMode.IN_PLACE if block is None else weights.mode,
        block_offset=block or 0,
        compression_saves=compression_saves(index.ops[segment.first : segment.end]) if packed else None,
    )


def _placed(view: View, segment: Segment, arrangement: Arrangement) -> View:
    """A window with its offset, and that of where it is parked unless this is its start."""
    base, offsets = arrangement.state_bytes, arrangement.fast.offsets
    offset = base + offsets[window_name(segment, view.tensor)]
    parked = None if view.parked is None else base + offsets[parked_name(segment, view.tensor)]
    return dataclasses.replace(view, offset=offset, parked=None if parked == offset else parked)


def _warnings(
    index: ProgramIndex, weights: WeightOptions, arrangement: Arrangement, stages: tuple[Stage, ...]
) -> tuple[str, ...]:
    apart: dict[str, list[tuple[str, int]]] = {}
    shared = shared_stages({stage.first_op: index.ops[stage.first_op : stage.end_op] for stage in stages})
    slow: dict[str, list[str]] = {}
    for stage in stages:
        ops = index.ops[stage.first_op : stage.end_op]
        size = block_bytes(ops)
        if stage.weight_mode is not weights.mode and size:
            why = SHARED if stage.first_op in shared else _why_in_place(stage)
            apart.setdefault(why, []).append((ops[0].name, size))
        names = [v.tensor for v in stage.views if not v.window and arrangement.homes.get(v.tensor) is Home.SLOW]
        if names:
            slow[ops[0].name] = names
    notes = [
        f"{_stages([name for name, _ in found])}: {format_size(sum(size for _, size in found))} of weights {why}; "
        "read in place"
        for why, found in apart.items()
    ]
    packable = [stage for stage in stages if stage.compression_saves is not None]
    if not (len(stages) == 1 or can_search()):
        notes.append(UNSEARCHED)
    if packable and not any(stage.weight_mode is WeightMode.LZ4 for stage in packable):
        notes.insert(0, f"{option('compress', 'lz4')} saves nothing: no stage's weights are stored compressed")
    if slow:
        tensors = list(dict.fromkeys(name for names in slow.values() for name in names))
        what = ", ".join(tensors) if len(tensors) <= 3 else f"{len(tensors)} tensors"
        notes.append(f"{_stages(list(slow))}: work in slow memory, on {what}; a larger {option('mem')} avoids it")
    return tuple(notes)


def _stages(names: list[str]) -> str:
    """Stages, by their first operators, in few words however many they are."""
    return f"stage at {names[0]}" if len(names) == 1 else f"{len(names)} stages, the first at {names[0]}"


def _why_in_place(stage: Stage) -> str:
    saves = stage.compression_saves
    if saves is None or saves >= WORTH_COMPRESSING:
        return "do not fit fast memory"
    share = f"get {100 * saves:.1f} % smaller by lz4" if saves > 0 else "do not get smaller by lz4"
    return f"{share}, which is less than {100 * WORTH_COMPRESSING:.0f} %"
