"""Writes a C function for each stage: its bands, written out or as loops, each a list of calls."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

from tigris_pio.compiler.codegen.calls import Operator, in_iteration
from tigris_pio.compiler.codegen.constants import signature
from tigris_pio.compiler.codegen.header import io_parameter, operator_macro
from tigris_pio.compiler.codegen.model import Model
from tigris_pio.compiler.codegen.moves import Mover, Route
from tigris_pio.compiler.codegen.schedule import Action, Call, Loop, MoveReason, Step
from tigris_pio.format.enums import OpKind, WeightMode

Called: TypeAlias = Mapping[int | Route, Operator | Mover]


def functions(model: Model, stage: int) -> Called:
    """The functions that a stage calls: moves by route, and operators by step."""
    steps: dict[int | Route, list[Step]] = {}
    for step in (step for loop in model.loops[stage] for step in loop.steps):
        steps.setdefault(_key(step.action), []).append(step)
    called: dict[int | Route, Operator | Mover] = {}
    routes = {key: found for key, found in steps.items() if not isinstance(key, int)}
    sizes = Counter(route[:2] for route in routes)
    called |= {route: Mover(model, stage, found, sizes[route[:2]] > 1) for route, found in routes.items()}
    for op in sorted(key for key in steps if isinstance(key, int)):
        called[op] = Operator(model, stage, op, steps[op])
    return called


def _key(action: Action) -> int | Route:
    """Moves between the arenas have a function per size, so that the other numbers fit in registers."""
    if isinstance(action, Call):
        return action.op
    return (action.reason, action.source, 0 if action.reason in (MoveReason.KEEP, MoveReason.PARK) else action.bytes)


def _stream_parameters(model: Model, stage: int) -> list[tuple[str, str]]:
    """Parameters for the firmware's functions for rows, each with its argument in the function that runs the model."""
    record = model.plan.stages[stage]
    moved = range(record.first_op, record.end_op)
    ios = [io for io in (*model.inputs, *model.outputs) if io.step in moved]
    if not model.has_single_io:
        names = dict.fromkeys(f"{io.side}s" for io in ios)
        return [(f"const struct {model.name}_{name} *{name}", name) for name in names]
    return [pair for io in ios for pair in zip(
        io_parameter(model, io, io.side, ""), (io.side, f"{io.side}_context"), strict=True)]  # fmt: skip


def stage_text(model: Model, stage: int, called: Called) -> tuple[str, str]:
    """The C text of a stage's function, and of its call."""
    record = model.plan.stages[stage]
    images = model.plan.program.ops[record.first_op].images
    body = [line for loop in model.loops[stage] for line in _loop(model, stage, loop, called, record.bands)]
    if images > 1:
        body = [f"for (uint32_t image = 0U; image < {images}U; image++) {{", *(f"    {line}" for line in body), "}"]
    lines = [*_fetched_weights(model, stage), *body, f"return {model.prefix}_OK;"]
    text = "".join(f"    {line}\n" if line else "\n" for line in lines)
    shared = model.named_in(text, "fast", "slow", "weights")
    parameters = [*((model.parameter(name), name) for name in shared), *_stream_parameters(model, stage)]
    bands = f"{record.bands} bands" if record.bands > 1 else "one band"
    comment = f"/* Stage {stage}: operators {record.first_op} to {record.end_op - 1}, {bands}. */\n"
    name = f"{model.name}_stage_{stage}"
    head = signature(f"static int {name}", [parameter for parameter, _ in parameters])
    return f"{comment}{head}\n{{\n{text}}}\n", f"{name}({', '.join(argument for _, argument in parameters)})"


def _fetched_weights(model: Model, stage: int) -> Iterator[str]:
    if model.is_in_place(stage) or stage not in model.section[1]:
        return
    block, stored = model.section[1][stage], model.weights_at(stage)
    target = f"fast->weights_of_stage_{stage}.data"
    if model.plan.stages[stage].weight_mode is WeightMode.COPY:
        yield f"memcpy({target}, {stored}, {block.raw_bytes}U);"
        return
    yield f"if (tigris_lz4_decompress({stored}, {block.stored_bytes}U, {target}, {block.raw_bytes}U) == 0) {{"
    yield from (f"    return {model.prefix}_ERROR_WEIGHTS;", "}")


def _loop(model: Model, stage: int, loop: Loop, called: Called, bands: int) -> Iterator[str]:
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


def _step(model: Model, stage: int, step: Step, called: Called, by: int) -> Iterator[str]:
    """The lines of an action. by: step of the loop's variable."""
    function = called[_key(step.action)]
    if isinstance(function, Operator):
        hook = "REPORT" if function.op.kind is OpKind.COMMIT else "BEFORE"
        yield f"{model.prefix}_{hook}({operator_macro(model, function.step)});"
        if function.op.kind in (OpKind.FETCH, OpKind.TAKE):
            yield from _rows(model, function, step, by)
            return
    yield function.call_text(step, by) + ";"


def _rows(model: Model, op: Operator, step: Step, by: int) -> Iterator[str]:
    """The call of the firmware's function that moves rows."""
    assert isinstance(step.action, Call)
    fetches = op.op.kind is OpKind.FETCH
    io = next(io for io in (*model.inputs, *model.outputs) if io.step == op.step)
    band = 0 if fetches else 1
    rows = step.action.bands[band]
    at, first = (in_iteration(line, by) for line in op.values(step)[2 * band : 2 * band + 2])
    function = io.side if model.has_single_io else f"{io.side}s->{io.member}"
    target = f"({'void' if fetches else 'const void'} *)({op.address(rows.place, at)})"
    yield f"if ({function}({function}_context, {first.text()}, {rows.rows}U, {target}) != 0) {{"
    yield from (f"    return {model.prefix}_ERROR_ROWS;", "}")


