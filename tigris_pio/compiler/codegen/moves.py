"""Writes C functions that move rows: rows that a window keeps, loads or stores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from tigris_pio.compiler.codegen.calls import (
    Affine,
    Progression,
    affine_numbers,
    argument_progressions,
    in_iteration,
    row_address,
    unused,
)
from tigris_pio.compiler.codegen.model import Model
from tigris_pio.compiler.codegen.schedule import Move, MoveReason, Place, Step
from tigris_pio.format.enums import Home
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


class Mover:
    """The C function of all moves with one route in a stage. is_sized: other routes differ only in size."""

    def __init__(self, model: Model, stage: int, steps: Sequence[Step], is_sized: bool) -> None:
        move = steps[0].action
        assert isinstance(move, Move)
        self.model, self.stage, self.move, self.steps = model, stage, move, steps
        window = Place(move.source.tensor, True)
        size = f"{move.bytes}_bytes_of_" if is_sized else ""
        self.name = f"{model.name}_{move.reason.name.lower()}_{size}{model.member(stage, window)}"
        values = list(zip(*(self._values(step) for step in steps), strict=True))
        self.numbers = affine_numbers(("to", "from", "bytes"), values, (0, 1, 2))
        self.arguments = list(dict.fromkeys(n.argument for n in self.numbers if n.argument is not None))

    @staticmethod
    def _values(step: Step) -> list[Progression]:
        move = step.action
        assert isinstance(move, Move)
        return [(move.target_at, step.growth[1]), (move.source_at, step.growth[0]), (move.bytes, 0)]

    @property
    def _places(self) -> tuple[Place, Place]:
        return self.move.target, self.move.source

    @property
    def _needs_slow(self) -> bool:
        return any(not place.window and self.model.home(place.tensor) is Home.SLOW for place in self._places)

    @property
    def _needs_image(self) -> bool:
        stage, program = self.model.plan.stages[self.stage], self.model.plan.program
        together = program.ops[stage.first_op].images == 1
        return not together and any(not p.window and program.tensors[p.tensor].batch > 1 for p in self._places)

    def text(self) -> str:
        """The C text of the function."""
        name = self.model.name
        parameters = [f"union {name}_fast *fast", *([f"union {name}_slow *slow"] if self._needs_slow else [])]
        parameters += [*(["uint32_t image"] if self._needs_image else []), *(f"uint32_t {n}" for n in self.arguments)]
        to, source = (self._address(place, self.numbers[at]) for at, place in enumerate(self._places))
        size = self.numbers[2].text()
        body = f"    tigris_move({to},\n            {source}, {size});\n"
        if self.model.plan.program.tensors[self.move.source.tensor].bytes == 0:
            body = ""
        comment = _PARK if self.move.target.parked else _COMMENTS[self.move.reason]
        comment = comment.format(c_comment(self.move.source.tensor))
        head = f"/* {comment} */\nstatic TIGRIS_OWN_FRAME void {self.name}({', '.join(parameters)})\n"
        return f"{head}{{\n{unused(body)}{body}}}\n"

    def _address(self, place: Place, at: Affine) -> str:
        tensor = self.model.plan.program.tensors[place.tensor]
        image = "image" if self._needs_image and not place.window and tensor.batch > 1 else None
        return row_address(self.model, self.stage, place, at, image)

    def call_text(self, step: Step, by: int) -> str:
        """The C text of a call. by: step of the loop's variable."""
        arguments = ["fast", *(["slow"] if self._needs_slow else []), *(["image"] if self._needs_image else [])]
        values = argument_progressions(self.numbers, self.arguments, self._values(step))
        arguments += [in_iteration(value, by).text() for value in values]
        return f"{self.name}({', '.join(arguments)})"
