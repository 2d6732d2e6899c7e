"""The processor: registers with windows, and zero-overhead loops."""

from collections.abc import Mapping, Sequence

from bench.assembly.engine import UNSET, Engine, Function
from bench.assembly.memory import Memory
from bench.assembly.program import Instruction, Program, Step
from bench.xtensa import base, pie

STACK_BYTES = 4096


class Machine(Engine):
    """The arguments of `externals` are in a10 and up, and the result in a10."""

    def __init__(self, program: Program, memory: Memory | None = None,
                 externals: Mapping[str, Function] | None = None) -> None:  # fmt: skip
        super().__init__(program, memory, STACK_BYTES, externals)
        self.state = base.State(self.memory)
        self._ends = {program.labels.get(one.operands[1]) for one in program.code
                      if one.name.startswith("loop") and len(one.operands) == 2}  # fmt: skip

    def call(self, name: str, arguments: Sequence[int], most: int = 50_000_000) -> int:
        """The function's result, unsigned; `executed` and `histogram` are those of this call."""
        state = self.state
        state.a[:] = [UNSET] * 16
        state.frames.clear()
        state.loop_count = 0
        state.a[1] = self._place(arguments, 2, 6)
        self._run_function(name, most)
        self.executed = sum(self._counts)
        return state.a[2]

    def _build(self, one: Instruction, at: int) -> Step | None:
        build = base.BUILDERS.get(one.name) or pie.BUILDERS.get(one.name)
        if build is None:
            return None
        step = build(self.state, base.Operands(self, one, at))
        return self._ended(step, at + 1) if at + 1 in self._ends else step

    def _ended(self, step: Step, end: int) -> Step:
        """The last instruction of a loop."""
        state = self.state

        def last() -> int | None:
            target = step()
            if target is None and state.loop_count and state.loop_end == end:
                state.loop_count -= 1
                return state.loop_begin
            return target

        return last
