"""Section builders of the plan writer: interned names, parameters and weight blocks."""

from __future__ import annotations

import dataclasses

from tigris_pio.compiler.memory.request import round_up
from tigris_pio.compiler.plan import ExecutionPlan, Stage
from tigris_pio.compiler.weights import BLOB_ALIGNMENT, block_bytes, block_layout, compressed_block, raw_block
from tigris_pio.format.enums import WeightMode
from tigris_pio.format.record import Record


class Strings:
    """Zero-terminated UTF-8 names, each stored once."""

    def __init__(self) -> None:
        self.data = bytearray()
        self._offsets: dict[str, int] = {}

    def add(self, text: str) -> int:
        """The offset of `text` in the section."""
        if text not in self._offsets:
            self._offsets[text] = len(self.data)
            self.data += text.replace("\0", "?").encode() + b"\0"
        return self._offsets[text]


class Params:
    """Kernel parameter records; equal ones are stored once."""

    def __init__(self) -> None:
        self.data = bytearray()
        self._offsets: dict[bytes, int] = {}

    def add(self, record: Record) -> tuple[int, int]:
        """(offset, bytes) of `record` in the section."""
        packed = record.pack()
        if packed not in self._offsets:
            self._offsets[packed] = len(self.data)
            self.data += packed
        return self._offsets[packed], len(packed)


@dataclasses.dataclass(frozen=True)
class Block:
    """Where a stage's weight block lies in the weights section."""

    offset: int
    stored_bytes: int
    raw_bytes: int


class Weights:
    """Constants and weight blocks, each on a 16-byte boundary."""

    def __init__(self) -> None:
        self.data = bytearray()

    def add(self, content: bytes) -> int:
        """Appends `content`; returns its offset in the section."""
        self.data += bytes(round_up(len(self.data), BLOB_ALIGNMENT) - len(self.data))
        offset = len(self.data)
        self.data += content
        return offset

    def add_block(self, plan: ExecutionPlan, stage: Stage) -> tuple[Block, list[Record]]:
        """A stage's block, compressed if the stage says so, and its operators' params with the data fields set."""
        ops = plan.program.ops[stage.first_op : stage.end_op]
        params: list[Record] = [op.params for op in ops]
        for place, field, offset, _ in block_layout(ops):
            params[place] = dataclasses.replace(params[place], **{field: offset})  # type: ignore[type-var]
        stored = compressed_block(ops) if stage.weight_mode is WeightMode.LZ4 else raw_block(ops)
        return Block(self.add(stored), len(stored), block_bytes(ops)), params
