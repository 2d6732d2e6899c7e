"""Runs an execution plan on row tags instead of data: the tag of each arena byte names the row and tensor in it.

It transcribes SPEC.md's execution rules, independently of the compiler's band geometry. A
plan that passes has correct windows, offsets and lifetimes.
"""

from collections import defaultdict
from collections.abc import Iterator

import numpy as np

from tigris_pio.compiler.ir.plan import ExecutionPlan, Stage
from tigris_pio.compiler.ir.program import Program
from tigris_pio.format.enums import Home, OpKind


class Simulator:
    """Both arenas, with an integer for each byte that encodes (tensor, row, byte of the row)."""

    def __init__(self, plan: ExecutionPlan) -> None:
        self.plan, self.program = plan, plan.program
        self.fast = np.full(plan.fast_bytes, -1, np.int64)
        self.slow = np.full(plan.slow_bytes, -1, np.int64)
        self.tags: dict[str, np.ndarray] = {}
        start = 0
        for name, tensor in self.program.tensors.items():
            self.tags[name] = np.arange(start, start + tensor.batch * tensor.height * tensor.row_bytes)
            start += len(self.tags[name])
        for op in self.program.ops:
            for alias in op.aliases:  # a copy has its source's tags
                source, copy = self.tags[op.operands[alias.operand].tensor], self.tags[op.output]
                taken = source[max(0, -alias.offset) :]
                copy[max(0, alias.offset) :][: len(taken)] = taken[: len(copy) - max(0, alias.offset)]
        self.image = 0  # images of a batch that runs image by image
        self.made: dict[str, int] = {}
        self.moved: dict[str, int] = defaultdict(int)  # rows that were streamed
        self.read = self.written = 0

    def rows(self, name: str, first: int, end: int) -> np.ndarray:
        """The tags of rows [first, end); for a folded tensor, those of the last row, which sums the others."""
        tensor = self.program.tensors[name]
        first = end - 1 if tensor.folded and end > first else first
        before = self.image * tensor.height if tensor.batch > 1 else 0
        first, end = first + before, end + before
        return self.tags[name][first * tensor.row_bytes : end * tensor.row_bytes]

    def span(self, name: str, first: int, end: int) -> slice:
        """The bytes of rows [first, end), relative to row 0."""
        tensor = self.program.tensors[name]
        start = 0 if tensor.folded else first * tensor.row_bytes
        return slice(start, start + tensor.bytes_of(end - first))

    def home(self, name: str) -> tuple[np.ndarray, int]:
        location = self.plan.homes[name]
        assert location.home in (Home.FAST, Home.SLOW)
        tensor = self.program.tensors[name]
        before = self.image * tensor.bytes_of(tensor.height) if tensor.batch > 1 else 0
        return (self.fast if location.home is Home.FAST else self.slow), location.offset + before

    def images(self, name: str) -> Iterator[tuple[np.ndarray, int, np.ndarray]]:
        """Arena, offset and tags of each image of a tensor in its home."""
        for image in range(self.program.tensors[name].batch):
            self.image = image
            yield *self.home(name), self.rows(name, 0, self.program.tensors[name].height)
        self.image = 0

    def run(self) -> None:
        for position, io in enumerate(self.program.inputs):
            if (OpKind.FETCH, position) in self.program.movers:
                continue
            for arena, offset, tags in self.images(io.tensor):
                arena[offset : offset + len(tags)] = tags
        for stage in self.plan.stages:
            for image in range(self.program.ops[stage.first_op].images):
                self.image = image
                _StageRun(self, stage).run()
            self.image = 0
        for name, tensor in self.program.tensors.items():
            assert not tensor.streamed or self.moved[name] == tensor.height, f"{name}: some rows are not moved"
        for position, io in enumerate(self.program.outputs):
            if (OpKind.TAKE, position) in self.program.movers:
                continue
            for arena, offset, tags in self.images(io.tensor):
                assert (arena[offset : offset + len(tags)] == tags).all(), f"output {io.name} is not whole at the end"


class _StageRun:
    def __init__(self, sim: Simulator, stage: Stage) -> None:
        self.sim, self.stage = sim, stage
        self.program: Program = sim.program
        self.views = {view.tensor: view for view in stage.views}
        self.ops = self.program.ops[stage.first_op : stage.end_op]
        assert len({op.images for op in self.ops}) == 1, "operators of a stage have the same images"
        self.made_here = {op.output for op in self.ops}
        self.last = {name: step for step, op in enumerate(self.ops) for name in self.operands(op)}
        self.held = {}
        for view in stage.views:
            inside = view.window or view.tensor in self.made_here
            self.held[view.tensor] = [0, 0 if inside else self.height(view.tensor)]

    def height(self, name: str) -> int:
        return self.program.tensors[name].height

    def where(self, name: str, first: int, end: int) -> np.ndarray:
        """The arena cells of rows [first, end) in this stage's view."""
        view = self.views[name]
        if view.window:
            base = self.held[name][0]
            assert base <= first and end - base <= view.capacity_rows, f"{name}: rows {first}..{end} leave the window"
            arena, offset, span = self.sim.fast, view.offset, self.sim.span(name, first - base, end - base)
        else:
            arena, offset = self.sim.home(name)
            span = self.sim.span(name, first, end)
        cells = arena[offset:][span]
        assert len(cells) == span.stop - span.start, f"{name}: outside the arena"
        return cells

    def run(self) -> None:
        for band in range(self.stage.bands):
            need = self.needs(band)
            following = self.following(band, need)
            for name, view in self.views.items():
                if view.window:
                    self.slide(name, view.keep, need[name][0])
            for step, op in enumerate(self.ops):
                self.step(self.stage.first_op + step, op, need)
                for name in self.operands(op):
                    keeps = self.views[name].keep and following[name] < self.held[name][1]
                    if self.last[name] == step and keeps:
                        self.slide(name, True, following[name])
                        self.park(name, leaving=True)
        for view in self.stage.views:
            if view.tensor in self.made_here and view.tensor in self.sim.plan.homes:
                assert self.held[view.tensor][1] == self.height(view.tensor), f"{view.tensor} is not complete"

    def operands(self, op: object) -> set[str]:
        """The activations that an operator reads; a sequential one also reads its own output."""
        own = (op.output,) if self.program.tensors[op.output].sequential else ()
        return {*(o.tensor for o in op.operands if self.program.tensors[o.tensor].constant is None), *own}

    def following(self, band: int, need: dict[str, list[int]]) -> dict[str, int]:
        """The first row of each view that a later band reads."""
        found = {name: self.paced(view, band + 1) if view.pace else self.height(name)
                 for name, view in self.views.items()}  # fmt: skip
        for op in reversed(self.ops):
            name, view = op.output, self.views[op.output]
            made = max(*self.next_rows(name, need))
            row = found[name] if view.window and not view.keep else max(made, found[name] if view.window else 0)
            if row < self.height(name):
                if self.program.tensors[name].sequential and row:
                    found[name] = min(found[name], row - 1)
                for operand in op.operands:
                    if operand.tensor in found:
                        found[operand.tensor] = min(found[operand.tensor], self.first_row(operand, row))
        return found

    def first_row(self, operand: object, row: int) -> int:
        """The first row of an operand that output row `row` reads."""
        m = operand.rows
        return min(max((row * m.numerator + m.first) // m.denominator, 0), self.height(operand.tensor))

    def end_row(self, operand: object, end: int) -> int:
        """The row behind the last row of an operand that output row `end - 1` reads."""
        m = operand.rows
        return min(max(((end - 1) * m.numerator + m.last) // m.denominator + 1, 0), self.height(operand.tensor))

    def paced(self, view: object, bands: int) -> int:
        """The rows of a paced view after `bands` bands."""
        n, d, o = view.pace.numerator, view.pace.denominator, view.pace.offset
        return min(max((bands * n + o) // d, 0), self.height(view.tensor)) if bands else 0

    def needs(self, band: int) -> dict[str, list[int]]:
        need = {name: [self.paced(view, band), self.paced(view, band + 1)] if view.pace else [self.height(name), 0]
                for name, view in self.views.items()}  # fmt: skip
        for op in reversed(self.ops):
            start, end = self.next_rows(op.output, need)
            if self.program.tensors[op.output].sequential and 0 < start < self.height(op.output):
                need[op.output][0] = min(need[op.output][0], start - 1)
            for operand in op.operands:
                if operand.tensor not in need or self.program.tensors[operand.tensor].constant is not None:
                    continue
                n, first = need[operand.tensor], self.first_row(operand, start)
                if end > start:
                    n[0], n[1] = min(n[0], first), max(n[1], self.end_row(operand, end))
                elif start < self.height(op.output):
                    n[0] = min(n[0], first)
        return need

    def next_rows(self, name: str, need: dict[str, list[int]]) -> tuple[int, int]:
        view = self.views[name]
        first, end = need[name]
        if not view.window:
            return self.held[name][1], end
        return max(self.held[name][1], first) if view.keep else first, end

    def slide(self, name: str, keep: bool, first: int) -> None:
        held = self.held[name]
        if keep and first < held[1]:
            assert first >= held[0], f"{name}: row {first} is needed again but gone"
            kept = self.where(name, first, held[1]).copy()
            held[0] = first
            self.where(name, first, held[1])[:] = kept
        else:
            self.held[name] = [first, max(held[1], first) if keep else first]

    def park(self, name: str, leaving: bool) -> None:
        """Moves a window's rows to their parking offset, or back; the old bytes become invalid."""
        parked, held = self.views[name].parked, self.held[name]
        if parked is None or held[0] == held[1]:
            return
        window = self.where(name, *held)
        away = self.sim.fast[parked : parked + len(window)]
        assert len(away) == len(window), f"{name}: outside the arena where it is parked"
        source, target = (window, away) if leaving else (away, window)
        rows = source.copy()
        source[:] = -3
        target[:] = rows

    def step(self, index: int, op: object, need: dict[str, list[int]]) -> None:
        if op.output in self.views:
            self.park(op.output, leaving=False)
        start, end = self.held[op.output][1], need[op.output][1]
        if end <= start:
            return
        scratch = self.sim.plan.scratch.get(index)
        if scratch is not None:
            self.sim.fast[scratch : scratch + op.scratch_bytes] = -2
        for operand in op.operands:
            self.fetch(operand, need, start, end)
        cells = self.where(op.output, start, end)
        if self.program.tensors[op.output].folded and start:
            assert (cells == self.sim.rows(op.output, 0, start)).all(), f"{op.output}: the rows so far are gone"
        if self.program.tensors[op.output].sequential and start:
            assert self.held[op.output][0] < start, f"{op.output}: the row before {start} is gone"
            before = self.where(op.output, start - 1, start)
            assert (before == self.sim.rows(op.output, start - 1, start)).all(), f"{op.output}: stale row {start - 1}"
        if self.program.tensors[op.output].streamed:
            assert self.sim.moved[op.output] == start, f"{op.output}: rows from {start} on come again or too early"
            self.sim.moved[op.output] = end
        cells[:] = self.sim.rows(op.output, start, end)
        for position, operand in enumerate(op.operands):
            # In place: the rows from `start` on have the address of `cells`.
            over = position in op.in_place and self.where(operand.tensor, start, end).ctypes.data == cells.ctypes.data
            if not over:
                self.fetch(operand, need, start, end)  # the output must not have overwritten an input
        if scratch is not None:
            assert (self.sim.fast[scratch : scratch + op.scratch_bytes] == -2).all()
        self.held[op.output][1] = end
        if self.views[op.output].store:
            arena, offset = self.sim.home(op.output)
            arena[offset:][self.sim.span(op.output, start, end)] = cells
            self.sim.written += len(cells)

    def fetch(self, operand: object, need: dict[str, list[int]], start: int, end: int) -> None:
        name = operand.tensor
        if self.program.tensors[name].constant is not None:
            return
        held = self.held[name]
        if self.views[name].load and held[1] < need[name][1]:
            arena, offset = self.sim.home(name)
            rows = arena[offset:][self.sim.span(name, held[1], need[name][1])]
            self.where(name, held[1], need[name][1])[:] = rows
            self.sim.read += len(rows)
            held[1] = need[name][1]
        first, last = self.first_row(operand, start), self.end_row(operand, end)
        if last > first:
            assert held[0] <= first and last <= held[1], f"tensor {name}: rows {first}..{last} of {held}"
            assert (self.where(name, first, last) == self.sim.rows(name, first, last)).all(), f"{name}: stale rows"
