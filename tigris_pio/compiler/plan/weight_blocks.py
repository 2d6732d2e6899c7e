"""Which stages bring their weights to the fast arena, and where to.

Weights are read in place unless asked otherwise. `copy` brings a stage's block to the fast arena
before it runs, `lz4` decompresses it there; a stage whose block does not fit beside its
activations keeps reading in place, and the plan says so.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

from tigris_pio.compiler.plan.aim import Aim
from tigris_pio.compiler.plan.index import ProgramIndex
from tigris_pio.compiler.plan.lifetimes import Lifetime
from tigris_pio.compiler.plan.memory.allocate import allocate
from tigris_pio.compiler.plan.memory.request import Request, lower_bound
from tigris_pio.compiler.plan.placement import Arrangement
from tigris_pio.compiler.plan.segment import Segment
from tigris_pio.compiler.weights.block import WORTH_COMPRESSING, block_bytes, compression_saves
from tigris_pio.format.enums import WeightMode


def block_name(segment: Segment) -> str:
    """The arena request of a stage's weight block."""
    return f"weights {segment.first}"


def split_for_blocks(index: ProgramIndex, segments: Sequence[Segment], room: int) -> list[Segment]:
    """Segments run whole, cut where their block would not fit `room` beside the live activations.

    Only for the resident regime, where such cuts cost nothing.
    """
    pieces: list[Segment] = []
    for segment in segments:
        if segment.banded or segment.direct:
            pieces.append(segment)
            continue
        first, block, live = segment.first, 0, 0
        for step in range(segment.first, segment.end):
            more = block_bytes(index.ops[step : step + 1])
            peak = max(live, int(index.live[step]))
            if step > first and more and peak + block + more > room:
                pieces.append(Segment(first, step))
                first, block, peak = step, 0, int(index.live[step])
            block, live = block + more, peak
        pieces.append(Segment(first, segment.end))
    return pieces


def add_blocks(index: ProgramIndex, arrangement: Arrangement, aim: Aim) -> Arrangement:
    """`arrangement` with the weight blocks of as many stages as fit within `aim.limit` bytes, smallest first.

    A block that compression makes hardly smaller is better read in place.
    """
    packed = aim.weights.mode is WeightMode.LZ4
    wanted = []
    for segment in (draft.segment for draft in arrangement.drafts):
        ops = index.ops[segment.first : segment.end]
        if block_bytes(ops) and (not packed or compression_saves(ops) >= WORTH_COMPRESSING):
            life = Lifetime(segment.first, segment.end - 1)
            wanted.append(Request(block_name(segment), block_bytes(ops), life))
    wanted.sort(key=lambda request: request.bytes)
    free = aim.limit - arrangement.state_bytes
    accepted = [r for r in wanted if lower_bound([*arrangement.requests, r], aim.alignment) <= free]
    while accepted:
        requests = (*arrangement.requests, *accepted)
        fast = allocate(requests, aim.alignment)
        if fast.peak <= free:
            return dataclasses.replace(arrangement, requests=requests, fast=fast)
        accepted.pop()
    return arrangement


def offsets_of_blocks(arrangement: Arrangement) -> Mapping[int, int]:
    """Fast offsets of the blocks that `add_blocks` placed, by the stage's first operator."""
    return {
        draft.segment.first: arrangement.state_bytes + arrangement.fast.offsets[block_name(draft.segment)]
        for draft in arrangement.drafts
        if block_name(draft.segment) in arrangement.fast.offsets
    }
