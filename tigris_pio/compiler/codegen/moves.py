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

_COMMENTS = {
    MoveReason.KEEP: "Moves kept rows of {} to the start of their window.",
    MoveReason.BACK: "Moves parked rows of {} back to their window.",
    MoveReason.LOAD: "Copies rows of {} from its home to the window.",
    MoveReason.STORE: "Copies rows of {} from the window to its home.",
}
_PARK = "Parks kept rows of {}, so that other tensors can use the window."


class Mover(Function):
    """The function of all moves with one route in a stage. is_sized: other routes differ only in size."""

    names = ("to", "from", "bytes")

    def __init__(self, model: Model, stage: int, steps: Sequence[Step], is_sized: bool) -> None:
        move = steps[0].action
        assert isinstance(move, Move)
        size = f"{move.bytes}_bytes_of_" if is_sized else ""
        window = model.member(stage, Place(move.source.tensor, True))
        super().__init__(model, stage, steps, f"{move.reason.name.lower()}_{size}{window}")
        self.move = move

    def values(self, step: Step) -> list[Progression]:
        """First rows and bytes of a move."""
        move = step.action
        assert isinstance(move, Move)
        return [(move.target_at, step.growth[1]), (move.source_at, step.growth[0]), (move.bytes, 0)]

    def body(self) -> str:
        """The move; a tensor without elements has none."""
        if self.model.plan.program.tensors[self.move.source.tensor].bytes == 0:
            return ""
        to, source = self.address(self.move.target, self.numbers[0]), self.address(self.move.source, self.numbers[1])
        return f"    tigris_move({to},\n                {source}, {self.numbers[2].text()});\n"

    def text(self) -> str:
        """The C text of the function."""
        comment = _PARK if self.move.target.parked else _COMMENTS[self.move.reason]
        return self.function(f"/* {comment.format(c_comment(self.move.source.tensor))} */\n")
