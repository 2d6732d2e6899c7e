"""Stages 3 to 6 put together: from a program and a budget to an execution plan.

Each attempt cuts the program and lays it out. What fits in theory may miss by fragmentation; then
the next attempt aims lower, until one fits the budget.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from tigris_pio.compiler.ir.plan import AllocationReport, Budget, ExecutionPlan, Place, Region, Stage
from tigris_pio.compiler.ir.program import Program
from tigris_pio.compiler.plan.band.spatial import Draft, scratch_name, window_name
from tigris_pio.compiler.plan.cut.temporal import MAC_COST, cut_resident, cut_spilling, stage_cost
from tigris_pio.compiler.plan.index import ProgramIndex
from tigris_pio.compiler.plan.placement import Layout, home_name, lay_out
from tigris_pio.compiler.plan.segment import Segment
from tigris_pio.compiler.plan.weight_blocks import WeightOptions, add_blocks, offsets_of_blocks, split_for_blocks
from tigris_pio.compiler.weights.block import WORTH_COMPRESSING, block_bytes, compression_saves
from tigris_pio.errors import BudgetError
from tigris_pio.format.enums import Home, WeightMode
from tigris_pio.sizes import format_size, parse_size, size_option
from tigris_pio.spelling import memory, option

#: Shares of the budget that successive attempts aim for.
AIMS = (1.0, 0.98, 0.95, 0.92, 0.88, 0.83, 0.77, 0.7, 0.6, 0.5)
#: Operators a stage run whole may have, so that the run-time state stays near 1 KB; and once even that does not fit.
OPS_PER_STAGE, OPS_PER_SMALL_STAGE = 64, 16
#: Larger programs skip aims that leave no room for the run-time state.
EXHAUSTIVE = 300
#: A slow memory no plan exceeds, for finding out how much one would take.
AMPLE_SLOW = 1 << 40


def plan_program(program: Program, budget: Budget, alignment: int, weights: WeightOptions) -> ExecutionPlan:
    """The best plan found within `budget`; BudgetError, with the smallest that works, when there is none."""
    plan = find_plan(program, budget, alignment, weights)
    if plan is None:
        raise BudgetError(_refusal(ProgramIndex.of(program), budget, alignment, weights))
    return plan


def find_plan(
    program: Program, budget: Budget, alignment: int, weights: WeightOptions, index: ProgramIndex | None = None
) -> ExecutionPlan | None:
    """The best plan found within `budget`, or None. `index`: of `program`, kept from plan to plan it saves time."""
    index = index or ProgramIndex.of(program)
    layout = find_layout(index, budget, alignment, weights)
    return None if layout is None else finish(index, budget, alignment, weights, layout)


def find_layout(index: ProgramIndex, budget: Budget, alignment: int, weights: WeightOptions) -> Layout | None:
    """A layout within `budget`, without slow memory if possible; None when none was found.

    Outputs that may grow over inputs allow other cuts, with more or fewer calls: the cheaper layout is returned.
    """
    found = _find(index, budget, alignment, weights, Home.FAST, overlay=True)
    if found is None or any(draft.bands > 1 for draft in found.drafts):
        apart = _find(index, budget, alignment, weights, Home.FAST, overlay=False)
        found = min((layout for layout in (apart, found) if layout is not None), key=_cost, default=None)
    if found is None and budget.slow:
        return _find(index, budget, alignment, weights, Home.SLOW, overlay=False)
    return found


def _cost(layout: Layout) -> float:
    """What the stages of a layout without traffic cost, in the units of `cut_resident`."""
    return sum(
        stage_cost(draft.bands, draft.segment.end - draft.segment.first) + MAC_COST * draft.recomputed_macs
        for draft in layout.drafts
    )


def _find(
    index: ProgramIndex, budget: Budget, alignment: int, weights: WeightOptions, home: Home, overlay: bool
) -> Layout | None:
    limit = budget.fast if budget.fast is not None else _ample_fast(index)
    for layout, segments, room in _attempts(index, home, limit, alignment, overlay):
        if layout.fast_bytes > limit or layout.slow.peak > budget.slow:
            continue
        if weights.mode is WeightMode.IN_PLACE:
            return layout
        if home is Home.FAST:
            pieces = split_for_blocks(index, segments, limit - layout.state_bytes)
            finer = _smallest_state(index, pieces, home, room, limit, alignment, overlay)
            if finer.fast_bytes <= limit:
                return add_blocks(index, finer, weights, limit, alignment)
        return add_blocks(index, layout, weights, limit, alignment)
    return None


def _ample_fast(index: ProgramIndex) -> int:
    """Fast memory that never limits a plan: everything whole, and all weights beside it."""
    return 4 * int(index.live.max(initial=0)) + block_bytes(index.ops) + 64 * len(index.ops) + (1 << 16)


def _attempts(
    index: ProgramIndex, home: Home, limit: int, alignment: int, overlay: bool
) -> Iterator[tuple[Layout, list[Segment], int]]:
    """Layouts, each with what was cut and the bytes it was cut for; kept rows before recomputed ones."""
    tried: set[tuple[Segment, ...]] = set()
    rooms = [int(limit * aim) for aim in AIMS]
    while rooms:
        room, state = rooms.pop(0), 0
        for recompute in (False, True):
            if home is Home.FAST:
                segments = cut_resident(index.body, room, recompute, overlay)
            else:
                segments = cut_spilling(index.body, room, recompute)
            if segments is None:
                continue
            segments += [Segment(step, step + 1, direct=True) for step in range(len(index.body.ops), len(index.ops))]
            banded = any(segment.banded for segment in segments)
            if banded or tuple(segments) not in tried:
                tried.add(tuple(segments))
                layout = _smallest_state(index, segments, home, room, limit, alignment, overlay)
                state = max(state, layout.state_bytes)
                yield layout, segments, room
            if not banded:
                break
        known = limit - state  # the run-time state needs room too, which is known only now
        if room > known > 0:
            large = len(index.ops) > EXHAUSTIVE
            rooms = sorted({known, *(r for r in rooms if r < known or not large)}, reverse=True)


def _smallest_state(
    index: ProgramIndex, segments: list[Segment], home: Home, room: int, limit: int, alignment: int, overlay: bool
) -> Layout:
    """The layout of `segments`; of shorter ones when it is beyond `limit` and their run-time state is smaller."""
    longer, shorter = _shorter(segments, OPS_PER_STAGE), _shorter(segments, OPS_PER_SMALL_STAGE)
    layout = lay_out(index, longer, home, room, alignment, overlay)
    if layout.fast_bytes > limit and longer != shorter:
        layout = lay_out(index, shorter, home, room, alignment, overlay)
    return layout


def _shorter(segments: list[Segment], most: int) -> list[Segment]:
    """Segments run whole, in pieces of at most `most` operators."""
    pieces: list[Segment] = []
    for segment in segments:
        if segment.banded or segment.direct:
            pieces.append(segment)
        else:
            starts = range(segment.first, segment.end, most)
            pieces += [Segment(first, min(first + most, segment.end)) for first in starts]
    return pieces


def _refusal(index: ProgramIndex, budget: Budget, alignment: int, weights: WeightOptions) -> str:
    """Why nothing fits, and the smallest budgets that work."""
    assert budget.fast is not None
    given = format_size(budget.fast) + (f" fast + {format_size(budget.slow)} slow" if budget.slow else " fast")
    search = _Search(index, alignment, weights)
    alone = search.smallest_fast(slow=0)
    text = f"{index.program.name} does not fit {given} memory"
    # Nobody means a budget of less than a kilobyte: the unit was forgotten.
    forgotten = budget.fast < 1 << 10 and alone <= budget.fast << 10
    if forgotten:
        text += f" ({budget.fast} is bytes: did you mean {memory(f'{budget.fast}K')}?)"
    text += f"; the smallest fast memory that works is {alone} bytes"
    text += f" ({memory(search.fast_option(alone, 0))})"
    if forgotten:
        return text
    with_slow = search.layout(budget.fast, AMPLE_SLOW)
    if with_slow is not None:
        return f"{text}, or add slow memory: {memory(size_option(budget.fast), size_option(with_slow.slow.peak))}"
    least = search.smallest_fast(AMPLE_SLOW)
    found = search.layout(least, AMPLE_SLOW)
    if least < alone and found is not None:
        fast = search.fast_option(least, AMPLE_SLOW)
        text += f", with slow memory {least} bytes ({memory(fast, size_option(found.slow.peak))})"
    return text


@dataclasses.dataclass(frozen=True)
class _Search:
    """Looks for the smallest fast memory. Planning is a heuristic, so each answer is one that was tried."""

    index: ProgramIndex
    alignment: int
    weights: WeightOptions

    def layout(self, fast: int, slow: int) -> Layout | None:
        return find_layout(self.index, Budget(fast, slow), self.alignment, self.weights)

    def smallest_fast(self, slow: int) -> int:
        """By bisection, to within 1 %."""
        high = _ample_fast(self.index)
        found = self.layout(high, slow)
        assert found is not None, "ample memory always fits"
        if self.layout(found.fast_bytes, slow) is not None:
            high = found.fast_bytes
        low = 0
        while high - low > max(self.alignment, high // 100):
            middle = (low + high) // 2
            if self.layout(middle, slow) is None:
                low = middle
            else:
                high = middle
        return high

    def fast_option(self, smallest: int, slow: int) -> str:
        """A round value that works, as an option's text."""
        option = size_option(smallest)
        while self.layout(parse_size(option), slow) is None:
            option = size_option(parse_size(option) + (1 << 10))
        return option


def finish(
    index: ProgramIndex, budget: Budget, alignment: int, weights: WeightOptions, layout: Layout
) -> ExecutionPlan:
    """The plan of a layout: offsets from the arena's start instead of the end of the run-time state."""
    blocks = offsets_of_blocks(layout)
    stages = tuple(_stage(index, draft, layout, blocks.get(draft.segment.first), weights) for draft in layout.drafts)
    base = layout.state_bytes
    homes = {
        name: Place(home, base + layout.fast.offsets[home_name(name)])
        if home is Home.FAST
        else Place(home, layout.slow.offsets[home_name(name)])
        for name, home in layout.homes.items()
    }
    scratch = {
        step: base + layout.fast.offsets[scratch_name(step)] for step, op in enumerate(index.ops) if op.scratch_bytes
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
        fast_bytes=layout.fast_bytes,
        fast_reserved=max((block_bytes(index.ops[s.first_op : s.end_op]) for s in fetched), default=0),
        slow_bytes=layout.slow.peak,
        unscheduled_peak=index.timeline.peak,
        allocation=AllocationReport(
            layout.fast.strategy, layout.fast_bytes, base + layout.fast.lower_bound, layout.fast.peaks
        ),
        regions=tuple(
            Region(part.name, base + layout.fast.offsets[part.name], part.bytes, part.life.birth, part.life.death)
            for request in layout.requests
            for part in request.contents
        ),
        warnings=_warnings(index, weights, layout, stages),
    )


def _stage(
    index: ProgramIndex, draft: Draft, layout: Layout, block: int | None, weights: WeightOptions
) -> Stage:
    segment, base = draft.segment, layout.state_bytes
    views = tuple(
        dataclasses.replace(view, offset=base + layout.fast.offsets[window_name(segment, view.tensor)])
        if view.window
        else view
        for view in draft.views
    )
    parts = (part for request in layout.requests for part in request.contents)
    packed = weights.mode is WeightMode.LZ4 and block_bytes(index.ops[segment.first : segment.end]) > 0
    live = (part for part in parts if part.life.birth < segment.end and part.life.death >= segment.first)
    return Stage(
        first_op=segment.first,
        end_op=segment.end,
        bands=draft.bands,
        band_rows=draft.band_rows,
        strategy=draft.strategy,
        views=views,
        fast_peak=max((base + layout.fast.offsets[part.name] + part.bytes for part in live), default=base),
        slow_read=draft.slow_read,
        slow_written=draft.slow_written,
        recomputed_macs=draft.recomputed_macs,
        weight_mode=WeightMode.IN_PLACE if block is None else weights.mode,
        block_offset=block or 0,
        compression_saves=compression_saves(index.ops[segment.first : segment.end]) if packed else None,
    )


def _warnings(
    index: ProgramIndex, weights: WeightOptions, layout: Layout, stages: tuple[Stage, ...]
) -> tuple[str, ...]:
    apart: dict[str, list[tuple[str, int]]] = {}
    slow: dict[str, list[str]] = {}
    for stage in stages:
        ops = index.ops[stage.first_op : stage.end_op]
        size = block_bytes(ops)
        if stage.weight_mode is not weights.mode and size:
            apart.setdefault(_why_in_place(stage), []).append((ops[0].name, size))
        names = [v.tensor for v in stage.views if not v.window and layout.homes.get(v.tensor) is Home.SLOW]
        if names:
            slow[ops[0].name] = names
    notes = [
        f"{_stages([name for name, _ in found])}: {format_size(sum(size for _, size in found))} of weights {why}; "
        "read in place"
        for why, found in apart.items()
    ]
    packable = [stage for stage in stages if stage.compression_saves is not None]
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
