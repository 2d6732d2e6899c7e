"""Writes a C function for each stage: its bands, written out or as loops, each a list of calls."""

from __future__ import annotations

import dataclasses
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from tigris_pio.compiler.codegen.calls import Operator, in_iteration
from tigris_pio.compiler.codegen.header import rows_type
from tigris_pio.compiler.codegen.model import Io, Model
from tigris_pio.compiler.codegen.moves import Mover, Route
from tigris_pio.compiler.codegen.schedule import Call, Loop, Move, MoveReason, Step, values_of
from tigris_pio.compiler.ir.program import ProgramOp
from tigris_pio.format.enums import OpKind, WeightMode


@dataclasses.dataclass(frozen=True)
class Functions:
    """The functions that a stage calls: operators by step, and moves of rows by route."""

    ops: Mapping[int, Operator]
    moves: Mapping[Route, Mover]

    def texts(self) -> Iterator[str]:
        """Yields the C text of each function."""
        yield from (mover.text() for mover in self.moves.values())
        yield from (text for op in self.ops.values() if (text := op.text()))


def functions(model: Model, stage: int) -> Functions:
    """The functions that a stage calls; operators without calls have none."""
    calls: dict[int, list[Step]] = {}
    moves: dict[Route, list[Step]] = {}
    for loop in model.loops[stage]:
        for step in loop.steps:
            if isinstance(step.action, Call):
                calls.setdefault(step.action.op, []).append(step)
            else:
                moves.setdefault(_route(step.action), []).append(step)
    sizes = Counter(route[:2] for route in moves)
    return Functions(
        {step: Operator(model, stage, step, calls[step]) for step in sorted(calls)},
        {route: Mover(model, stage, found, sizes[route[:2]] > 1) for route, found in moves.items()},
    )


def _route(move: Move) -> Route:
    """Moves between the arenas have a function per size, so that the other numbers fit in registers."""
    crosses = move.reason is not MoveReason.KEEP
    return (move.reason, move.source, move.bytes if crosses else 0)


def streams(model: Model, stage: int) -> list[tuple[str, Io]]:
    """The streamed inputs and outputs whose rows firmware moves during a stage, each with its side."""
    record = model.plan.stages[stage]
    found = [("input", io) for io in model.inputs] + [("output", io) for io in model.outputs]
    return [
        (side, io) for side, io in found
        if io.step is not None and record.first_op <= io.step < record.end_op
    ]  # fmt: skip


def stage_parameters(model: Model, stage: int) -> list[tuple[str, str]]:
    """Parameters of a stage's function, each with its argument in the function that runs the model."""
    found = [(f"union {model.name}_fast *fast", "fast")]
    if model.needs_slow(stage):
        found.append((f"union {model.name}_slow *slow", "slow"))
    if model.partition and model.has_weights(stage):
        found.append(("const uint8_t *weights", "weights"))
    sides = streams(model, stage)
    if model.has_single_io:
        for side, io in sides:
            found += [(f"{rows_type(model, side, io)} {side}", side), (f"void *{side}_context", f"{side}_context")]
        return found
    for side in dict.fromkeys(side for side, _ in sides):
        found.append((f"const struct {model.name}_{side}s *{side}s", f"{side}s"))
    return found


def _ops(model: Model, stage: int) -> Sequence[ProgramOp]:
    record = model.plan.stages[stage]
    return model.plan.program.ops[record.first_op : record.end_op]


def stage_text(model: Model, stage: int, called: Functions) -> str:
    """The C text of a stage's function."""
    record = model.plan.stages[stage]
    images = _ops(model, stage)[0].images
    lines = list(_fetched_weights(model, stage))
    body = [line for loop in model.loops[stage] for line in _loop(model, stage, loop, called, record.bands)]
    if images > 1:
        body = [f"for (uint32_t image = 0U; image < {images}U; image++) {{", *(f"    {line}" for line in body), "}"]
    bands = f"{record.bands} bands" if record.bands > 1 else "one band"
    ops = f"operators {record.first_op} to {record.end_op - 1}"
    head = (
        f"/* Stage {stage}: {ops}, {record.strategy.name.lower()}, {bands}. */\n"
        f"static int {model.name}_stage_{stage}({', '.join(text for text, _ in stage_parameters(model, stage))})\n{{\n"
    )
    text = "\n".join(f"    {line}" if line else "" for line in [*lines, *body, f"return {model.prefix}_OK;"])
    return f"{head}{text}\n}}\n"


def _fetched_weights(model: Model, stage: int) -> Iterator[str]:
    if model.is_in_place(stage) or not model.has_weights(stage):
        return
    block, stored = model.section[1][stage], model.weights_at(stage)
    target = f"fast->weights_of_stage_{stage}.data"
    if model.plan.stages[stage].weight_mode is WeightMode.COPY:
        yield f"memcpy({target}, {stored}, {block.raw_bytes}U);"
        return
    sizes = f"{block.stored_bytes}U", f"{block.raw_bytes}U"
    yield f"if (!tigris_lz4_decompress({stored}, {sizes[0]}, {target}, {sizes[1]})) {{"
    yield f"    return {model.prefix}_ERROR_WEIGHTS;"
    yield "}"


def _loop(model: Model, stage: int, loop: Loop, called: Functions, bands: int) -> Iterator[str]:
    first, end = loop.bands
    by = math.gcd(*(growth for step in loop.steps for growth in step.growth)) or 1
    inner = [line for step in loop.steps for line in _step(model, stage, step, called, by)]
    if bands > 1:
        yield f"/* Band {first}. */" if end - first == 1 else f"/* Bands {first} to {end - 1}. */"
    if loop.iterations == 1:
        yield from inner
        return
    yield f"for (uint32_t i = 0U; i < {by * loop.iterations}U; {'i++' if by == 1 else f'i += {by}U'}) {{"
    yield from (f"    {line}" for line in _marked(inner))
    yield "}"


def _marked(lines: Sequence[str]) -> Iterator[str]:
    """`lines` of a loop with TIGRIS_ITERATION before each use of its variable, if there are several."""
    several = sum(_uses_variable(line) for line in lines) > 1
    for line in lines:
        if several and _uses_variable(line):
            yield "TIGRIS_ITERATION(i);"
        yield line


def _uses_variable(line: str) -> bool:
    return re.search(r"[ (]i\b", line) is not None


def _step(model: Model, stage: int, step: Step, called: Functions, by: int) -> Iterator[str]:
    """The lines of an action. by: step of the loop's variable."""
    action = step.action
    if isinstance(action, Move):
        yield called.moves[_route(action)].call_text(step, by) + ";"
        return
    op = called.ops[action.op]
    committed = op.op.kind is OpKind.COMMIT
    yield f"{model.prefix}_{'REPORT' if committed else 'BEFORE'}({action.op}U);"
    if op.op.kind in (OpKind.FETCH, OpKind.TAKE):
        yield from _rows(model, stage, op, step, by)
    else:
        yield op.call_text(step, by) + ";"


def _rows(model: Model, stage: int, op: Operator, step: Step, by: int) -> Iterator[str]:
    """The call of the firmware's function that moves rows."""
    assert isinstance(step.action, Call)
    fetches = op.op.kind is OpKind.FETCH
    side, io = next((side, io) for side, io in streams(model, stage) if io.step == op.step)
    band = 0 if fetches else 1
    rows = step.action.bands[band]
    numbers = list(zip(values_of(step.action), step.growth, strict=True))[2 * band : 2 * band + 2]
    at, first = (in_iteration(line, by) for line in numbers)
    function = side if model.has_single_io else f"{side}s->{io.member}"
    tensor = model.plan.program.tensors[rows.place.tensor]
    cast = "" if tensor.dtype.bytes == 1 else "(void *)" if fetches else "(const void *)"
    address = op.address(rows, at)
    pointer = f"({address})" if "+" in address else address
    target = f"(int8_t *){pointer}" if tensor.dtype.name == "INT8" else f"{cast}{pointer}"
    yield f"if ({function}({function}_context, {first.text()}, {rows.rows}U, {target}) != 0) {{"
    yield f"    return {model.prefix}_ERROR_ROWS;"
    yield "}"


