"""Which stages bring their weights to the fast arena, and where to.

By default weights are read in place. `copy` brings a stage's block to the fast arena before it runs, `lz4` decompresses
it there. If a block does not fit beside the activations, its stage keeps reading in place, and the plan says so. The
same holds for a stage that shares weights with a stage of another block, because flash would hold them twice.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Hashable, Mapping, Sequence

from tigris_pio.compiler.ir.program import ProgramOp
from tigris_pio.compiler.plan.index import ProgramIndex
from tigris_pio.compiler.plan.lifetimes import Lifetime
from tigris_pio.compiler.plan.memory.allocate import allocate
from tigris_pio.compiler.plan.memory.request import Request, lower_bound
from tigris_pio.compiler.plan.placement import Arrangement
from tigris_pio.compiler.plan.segment import Segment
from tigris_pio.compiler.weights.block import WORTH_COMPRESSING, block_arrays, block_bytes, compression_saves

#: A stage's weights are brought to fast memory if other stages read no more than this share of them: flash may hold
#: these twice.
MAY_BE_TWICE = 0.05


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
        first, live = segment.first, 0
        block: dict[Hashable, int] = {}
        for step in range(segment.first, segment.end):
            own = {key: array.padded_bytes for key, array in block_arrays(index.ops[step : step + 1]).items()}
            peak = max(live, int(index.live[step]))
            if step > first and not own.keys() <= block.keys() and peak + sum((block | own).values()) > room:
                pieces.append(Segment(first, step))
                first, block, peak = step, {}, int(index.live[step])
            block, live = block | own, peak
        pieces.append(Segment(first, segment.end))
    return pieces


def shared_stages(blocks: Mapping[int, Sequence[ProgramOp]]) -> frozenset[int]:
    """The stages that share weights with stages of unequal blocks. `blocks` has the operators of each, by its first."""
    arrays = {first: block_arrays(ops) for first, ops in blocks.items()}
    readers: dict[Hashable, set[Hashable]] = {}
    for found in arrays.values():
        for key in found:
            readers.setdefault(key, set()).add(tuple(found))
    shared = {first: sum(array.padded_bytes for key, array in found.items() if len(readers[key]) > 1)
              for first, found in arrays.items()}  # fmt: skip
    return frozenset(first for first, size in shared.items() if size > MAY_BE_TWICE * block_bytes(blocks[first]))


def add_blocks(
    index: ProgramIndex, arrangement: Arrangement, limit: int, alignment: int, packed: bool
) -> Arrangement:
    """`arrangement` with the weight blocks of as many stages as fit within `limit` bytes, smallest first; `packed`:
    they are compressed.

    A block that compression makes hardly smaller is better read in place. Equal blocks are compressed all or none.
    """
    segments = [draft.segment for draft in arrangement.drafts]
    blocks = {segment.first: index.ops[segment.first : segment.end] for segment in segments}
    shared = shared_stages(blocks)
    equal: dict[Hashable, list[Request]] = {}
    for segment in segments:
        ops = blocks[segment.first]
        if block_bytes(ops) and segment.first not in shared:
            life = Lifetime(segment.first, segment.end - 1)
            key = tuple(block_arrays(ops)) if packed else segment.first
            equal.setdefault(key, []).append(Request(block_name(segment), block_bytes(ops), life))
    free = limit - arrangement.state_bytes
    accepted = sorted(
        (requests for requests in equal.values()
         if (not packed or compression_saves(blocks[requests[0].life.birth]) >= WORTH_COMPRESSING)
         and all(lower_bound([*arrangement.requests, one], alignment) <= free for one in requests)),
        key=lambda requests: requests[0].bytes,
    )  # fmt: skip
    while accepted:
        requests = (*arrangement.requests, *itertools.chain.from_iterable(accepted))
        fast = allocate(requests, alignment)
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
