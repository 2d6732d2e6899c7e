"""A function for each window: rows that it keeps, loads or stores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from tigris_pio.compiler.codegen.calls import (
    Affine,
    Line,
    affine_numbers,
    in_turn,
    lines_of_arguments,
    row_address,
    unused,
)
from tigris_pio.compiler.codegen.model import Model
from tigris_pio.compiler.codegen.schedule import Move, Moving, Place, Step
from tigris_pio.format.enums import Home
from tigris_pio.text import c_comment

#: Why rows move, where from, and how many bytes; 0: any.
Route: TypeAlias = tuple[Moving, Place, int]

_SAYS = {
    Moving.KEEP: "Rows of {} that are read again move to the start of their window.",
    Moving.BACK: "Rows of {} that were kept elsewhere come back to their window.",
    Moving.LOAD: "Rows of {} come from where it lies.",
    Moving.STORE: "Rows of {} go to where it lies.",
}
_PARKED = "Rows of {} that are read again leave their window to others."


class Mover:
    """How rows move, from all moves of one kind in a stage. sized: there are others that differ in size only."""

    def __init__(self, model: Model, stage: int, steps: Sequence[Step], sized: bool) -> None:
        move = steps[0].action
        assert isinstance(move, Move)
        self.model, self.stage, self.move, self.steps = model, stage, move, steps
        window = Place(move.source.tensor, True)
        size = f"{move.bytes}_bytes_of_" if sized else ""
        self.name = f"{model.name}_{move.why.name.lower()}_{size}{model.member(stage, window)}"
        lines = list(zip(*(self._lines(step) for step in steps), strict=True))
        self.numbers = affine_numbers(("to", "from", "bytes"), lines, (0, 1, 2))
        self.arguments = list(dict.fromkeys(n.argument for n in self.numbers if n.argument is not None))

    @staticmethod
    def _lines(step: Step) -> list[Line]:
        move = step.action
        assert isinstance(move, Move)
        return [(move.target_at, step.growth[1]), (move.source_at, step.growth[0]), (move.bytes, 0)]

    @property
    def _places(self) -> tuple[Place, Place]:
        return self.move.target, self.move.source

    @property
    def _takes_slow(self) -> bool:
        return any(not place.window and self.model.home(place.tensor) is Home.SLOW for place in self._places)

    @property
    def _takes_image(self) -> bool:
        stage, program = self.model.plan.stages[self.stage], self.model.plan.program
        together = program.ops[stage.first_op].images == 1
        return not together and any(not p.window and program.tensors[p.tensor].batch > 1 for p in self._places)

    def text(self) -> str:
        """The function."""
        name = self.model.name
        parameters = [f"union {name}_fast *fast", *([f"union {name}_slow *slow"] if self._takes_slow else [])]
        parameters += [*(["uint32_t image"] if self._takes_image else []), *(f"uint32_t {n}" for n in self.arguments)]
        to, source = (self._address(place, self.numbers[at]) for at, place in enumerate(self._places))
        size = self.numbers[2].text()
        body = f"    tigris_move({to},\n            {source}, {size});\n"
        if self.model.plan.program.tensors[self.move.source.tensor].bytes == 0:
            body = ""
        says = _SAYS[self.move.why]
        says = _PARKED if self.move.target.parked else says
        says = says.format(c_comment(self.move.source.tensor))
        head = f"/* {says} */\nstatic TIGRIS_APART void {self.name}({', '.join(parameters)})\n"
        return f"{head}{{\n{unused(body)}{body}}}\n"

    def _address(self, place: Place, at: Affine) -> str:
        tensor = self.model.plan.program.tensors[place.tensor]
        image = "image" if self._takes_image and not place.window and tensor.batch > 1 else None
        return row_address(self.model, self.stage, place, at, image)

    def call_text(self, step: Step, by: int) -> str:
        """A call in C. by: how much the loop's variable grows per turn."""
        arguments = ["fast", *(["slow"] if self._takes_slow else []), *(["image"] if self._takes_image else [])]
        lines = lines_of_arguments(self.numbers, self.arguments, self._lines(step))
        arguments += [in_turn(line, by).text() for line in lines]
        return f"{self.name}({', '.join(arguments)})"
