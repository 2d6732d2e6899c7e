"""Writes C functions that move rows: rows that a window keeps, loads or stores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from tigris_pio.compiler.codegen.calls import Function, Progression
from tigris_pio.compiler.codegen.model import Model
from tigris_pio.compiler.codegen.schedule import Move, MoveReason, Place, Step
from tigris_pio.text import c_comment

#: Reason, source and bytes of a move; 0 bytes: any.
Route: TypeAlias = tuple[MoveReason, Place, int]


class Mover(Function):
    """The function of all moves with one route in a stage. is_sized: other routes differ only in size."""

    names = ("to", "from", "count")

    def __init__(self, model: Model, stage: int, steps: Sequence[Step], is_sized: bool) -> None:
        move = steps[0].action
        assert isinstance(move, Move)
        window = model.member(stage, Place(move.source.tensor, True))
        tensor = model.plan.program.tensors[move.source.tensor]
        #: A factor in C, and its value: the bytes of a row; folded tensors have no rows in memory, so they have none.
        row = f" * (uint32_t)sizeof(fast->{window}.data[0]{'[0]' * (tensor.batch > 1)})"
        self.unit = ("", 1) if tensor.folded else (row, tensor.row_bytes or 1)
        self.move = move
        size = f"{move.bytes // self.unit[1]}_of_" if is_sized else ""
        super().__init__(model, stage, steps, f"{move.reason.name.lower()}_{size}{window}")

    def values(self, step: Step) -> list[Progression]:
        """First rows and size of a move."""
        move = step.action
        assert isinstance(move, Move)
        return [(move.target_at, step.growth[1]), (move.source_at, step.growth[0]), (move.bytes // self.unit[1], 0)]

    def body(self) -> str:
        """The move; a tensor without elements has none."""
        if self.model.plan.program.tensors[self.move.source.tensor].bytes == 0:
            return ""
        to, source = self.address(self.move.target, self.numbers[0]), self.address(self.move.source, self.numbers[1])
        return f"    tigris_move({to},\n                {source}, {self.numbers[2].text()}{self.unit[0]});\n"

    def text(self) -> str:
        """The C text of the function."""
        return self.function(f"/* {self.move.reason.value.format(c_comment(self.move.source.tensor))} */\n")
