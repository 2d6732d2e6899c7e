"""Which segments of operators that take one image at a time fit the fast arena when they run whole, image by image.

What is made and used up in such a segment is in memory for one image only.
"""

from __future__ import annotations

from collections.abc import Iterator

from tigris_pio.compiler.plan.index import ProgramIndex


def image_fits(index: ProgramIndex, first: int, room: int, reach: int) -> Iterator[tuple[int, int]]:
    """The ends of the segments from `first` of at most `reach` operators that fit beside all that crosses both cuts,
    and what they need with it. Nothing for operators without images."""
    images = index.ops[first].images
    crossing = int(index.crossing[first])
    outputs: dict[str, int] = {}
    live: list[int] = []
    for step in range(first, min(first + reach, len(index.ops)) if images > 1 else first):
        op = index.ops[step]
        if op.images != images:
            return
        live.append(op.scratch_bytes)
        outputs[op.output] = index.tensor(op.output).bytes
        for name in (*(operand.tensor for operand in op.operands), op.output):
            if name in outputs and not index.outlives(name, step + 1):
                size = outputs.pop(name) // images
                for at in range(index.lives[name].birth - first, step - first + 1):
                    live[at] += size
        if crossing + max(live) > room:
            return
        need = crossing + sum(outputs.values()) + max(live)
        if need <= room:
            yield step + 1, need
