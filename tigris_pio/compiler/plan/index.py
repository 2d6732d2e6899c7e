"""Facts of a program that the planner needs again and again, computed once."""

from __future__ import annotations

import bisect
import dataclasses
from collections import defaultdict
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from tigris_pio.compiler.cost.model import DEFAULT, CostModel
from tigris_pio.compiler.ir.program import Program, ProgramOp, ProgramTensor
from tigris_pio.compiler.plan.lifetimes import Lifetime, lifetimes
from tigris_pio.compiler.plan.memory.sharing import Block, links_of, share
from tigris_pio.compiler.plan.timeline import Timeline, layer_by_layer, sweep

T = TypeVar("T")


#: Programs of at most so many operators are searched more widely: each in several orders, with estimates corrected by
#: drafts, and with homes for each of up to three tensors that a segment leaves. It trades time for cost.
SMALL = 40


@dataclasses.dataclass(frozen=True)
class ProgramIndex:
    """A program with its lifetimes, its timeline and its uses."""

    program: Program
    lives: Mapping[str, Lifetime]
    timeline: Timeline
    processor: str = DEFAULT  #: whose instructions costs count

    @staticmethod
    def of(program: Program, processor: str = DEFAULT) -> ProgramIndex:
        """The index of `program`, with its lifetimes and live bytes."""
        lives = lifetimes(program)
        return ProgramIndex(program, lives, layer_by_layer(program, lives), processor)

    @cached_property
    def model(self) -> CostModel:
        """The cost model of the processor."""
        return CostModel.of(self.processor)

    @cached_property
    def body(self) -> ProgramIndex:
        """Without the COMMITs, which run one by one after all else: what they read lives to the end."""
        end = self.program.body_count
        if end == len(self.ops):
            return self
        program = dataclasses.replace(self.program, ops=self.ops[:end], states=())
        lives = {name: Lifetime(life.birth, min(life.death, end)) for name, life in self.lives.items()}
        return ProgramIndex(program, lives, self.timeline, self.processor)

    @property
    def is_small(self) -> bool:
        """Whether it is searched more widely."""
        return len(self.ops) <= SMALL

    @property
    def ops(self) -> tuple[ProgramOp, ...]:
        """The program's operators."""
        return self.program.ops

    def tensor(self, name: str) -> ProgramTensor:
        """A tensor by name."""
        return self.program.tensors[name]

    @cached_property
    def live(self) -> np.ndarray:
        """Bytes live while each operator runs, everything whole and in place; scratch included."""
        scratch = np.array([op.scratch_bytes for op in self.ops], dtype=np.int64)
        live: np.ndarray = self.timeline.live[1 : len(self.ops) + 1] + scratch - self.shared
        return live

    @cached_property
    def shared(self) -> np.ndarray:
        """Bytes that two live tensors have in common while each operator runs, everything whole."""
        blocks = {name: Block(self.tensor(name).bytes, life) for name, life in self.lives.items()}
        names = {name: name for name in blocks}
        sizes = {name: block.bytes for name, block in blocks.items()}
        links = (link for op in self.ops for link in links_of(op, names, sizes))
        shared = share(blocks, links, 1)
        apart = sweep(((part.life, part.bytes) for request in shared for part in request.parts), len(self.ops))
        together = sweep(((part.life, part.bytes) for request in shared for part in request.taken), len(self.ops))
        shares: np.ndarray = (apart.live - together.live)[1 : len(self.ops) + 1]
        return shares

    @cached_property
    def crossing(self) -> np.ndarray:
        """Bytes that live across each cut c = 0 … len(ops), a cut being before operator c."""
        events = np.zeros(len(self.ops) + 2, dtype=np.int64)
        for name, life in self.lives.items():
            events[life.birth + 1] += self.tensor(name).bytes
            events[life.death + 1] -= self.tensor(name).bytes
        return np.cumsum(events)[: len(self.ops) + 1]

    @cached_property
    def uses(self) -> Mapping[str, tuple[int, ...]]:
        """The steps that read each activation, ascending."""
        uses: dict[str, list[int]] = {name: [] for name in self.lives}
        for step, op in enumerate(self.ops):
            for name in dict.fromkeys(operand.tensor for operand in op.operands):
                if name in uses:
                    uses[name].append(step)
        return {name: tuple(steps) for name, steps in uses.items()}

    @cached_property
    def reads(self) -> tuple[tuple[tuple[str, int], ...], ...]:
        """The activations each operator reads, once each, with their bytes."""
        return tuple(
            tuple(
                (name, self.tensor(name).bytes)
                for name in dict.fromkeys(operand.tensor for operand in op.operands)
                if self.tensor(name).constant is None
            )
            for op in self.ops
        )

    def uses_within(self, name: str, first: int, end: int) -> tuple[int, ...]:
        """The steps first <= step < end that read an activation, ascending."""
        steps = self.uses[name]
        if not steps or (steps[0] >= first and steps[-1] < end):
            return steps
        return steps[bisect.bisect_left(steps, first) : bisect.bisect_left(steps, end)]

    @cached_property
    def bandable(self) -> tuple[bool, ...]:
        """Whether each operator may run in bands: of the only image, or of one image after another."""
        return tuple(
            op.images > 1
            or (self.tensor(op.output).batch == 1 and all(self.tensor(item.tensor).batch == 1 for item in op.operands))
            for op in self.ops
        )

    def once(self, make: Callable[..., T], *key: Any) -> T:
        """make(index, *key), made once for this program and kept."""
        known: dict[tuple[Any, ...], T] = self._made[make]
        if key not in known:
            known[key] = make(self, *key)
        return known[key]

    @cached_property
    def _made(self) -> defaultdict[Callable[..., Any], dict[tuple[Any, ...], Any]]:
        return defaultdict(dict)

    def outlives(self, name: str, end: int) -> bool:
        """Whether an activation is needed at or after step `end`."""
        return self.lives[name].death >= end

    def inputs(self, first: int, end: int) -> tuple[str, ...]:
        """The tensors that operators [first, end) read and that were made before them, constants included, in order of
        use."""
        return self.once(ProgramIndex._inputs, first, end)

    def _inputs(self, first: int, end: int) -> tuple[str, ...]:
        made = {op.output for op in self.ops[first:end]}
        read = (operand.tensor for op in self.ops[first:end] for operand in op.operands)
        return tuple(name for name in dict.fromkeys(read) if name not in made)

    def outputs(self, first: int, end: int) -> tuple[str, ...]:
        """The tensors that operators [first, end) make and that are needed after them."""
        return self.once(ProgramIndex._outputs, first, end)

    def _outputs(self, first: int, end: int) -> tuple[str, ...]:
        return tuple(op.output for op in self.ops[first:end] if self.outlives(op.output, end))
