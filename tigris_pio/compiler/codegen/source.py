"""Writes `NAME.c`: kernels, memory, weights, operators, stages, and the functions that firmware calls."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from tigris_pio.compiler.codegen import header
from tigris_pio.compiler.codegen.calls import START, row_address, tensor_records
from tigris_pio.compiler.codegen.kernels import types
from tigris_pio.compiler.codegen.memory import unions
from tigris_pio.compiler.codegen.model import Io, Model
from tigris_pio.compiler.codegen.schedule import Place
from tigris_pio.compiler.codegen.split import TYPES_FILE, kernel_name, weights_in_calls
from tigris_pio.compiler.codegen.stages import functions, stage_text
from tigris_pio.compiler.codegen.weights import weights_text
from tigris_pio.format.enums import Home, OpKind
from tigris_pio.format.params import CommitParams
from tigris_pio.text import c_comment

_NOT_FINITE = re.compile(r"\b(?:INFINITY|NAN)\b")


def source_text(model: Model, offsets: dict[int, int]) -> str:
    """The text of `NAME.c`. offsets: of each stage's weights in NAME_weights.bin."""
    stages, calls = _stages(model)
    parts = [
        *_kernels(model),
        _banner("Memory, weights and tensors"),
        unions(model),
        "".join(f"#define {model.prefix}_WEIGHTS_OF_STAGE_{place} {at}U\n" for place, at in offsets.items()),
        weights_text(model),
        tensor_records(model),
        header.shared_part(model, "model_hooks.h"),
        *stages,
        _banner("Functions for firmware"),
        _function(header.prototype(model), _run(model, calls)),
        *([_function(header.reset_prototype(model), _reset(model))] if model.plan.program.states else []),
        header.description_text(model),
    ]
    text = "\n".join(part for part in parts if part)
    return f"{_head(model, text)}\n{text}"


def _head(model: Model, text: str) -> str:
    includes = {*model.kernels.includes, "<string.h>", "<stddef.h>"}
    includes |= {"<math.h>"} if _NOT_FINITE.search(text) else set()
    return (
        f"/* The model '{c_comment(model.plan.program.name)}', written by tigris codegen. Do not edit.\n"
        f" * {model.name}.h declares its functions. */\n"
        f'#include "{model.name}.h"\n\n' + "".join(f"#include {name}\n" for name in sorted(includes))
    )


def _kernels(model: Model) -> list[str]:
    if model.split:
        names = [kernel_name(symbol, model.weights_in_calls) for symbol in model.kernels.functions]
        declared = "".join(f"void {name}(const tigris_kernel_call *call);\n" for name in names)
        return [f'#include "{TYPES_FILE}"\n', _banner("Kernels"), declared, model.kernels.text]
    return [_banner("Kernels"), weights_in_calls(model.weights_in_calls) + types(), model.kernels.text]


def _banner(text: str) -> str:
    return f"/* ---- {text} {'-' * (108 - len(text))} */\n"


def _stages(model: Model) -> tuple[list[str], list[str]]:
    """The C texts of all stages, and of the calls of their functions."""
    texts, calls = [], []
    for stage in range(len(model.plan.stages)):
        called = functions(model, stage)
        text, call = stage_text(model, stage, called)
        texts += [_banner(f"Stage {stage}"), *(function.text() for function in called.values()), text]
        calls.append(call)
    return texts, calls


def _function(head: str, lines: Iterable[str]) -> str:
    return f"{head}\n{{\n" + "".join(f"    {line}\n" for line in lines) + "}\n"


def _run(model: Model, calls: Sequence[str]) -> Iterator[str]:
    ok = f"{model.prefix}_OK"
    yield from _checks(model, _pointers(model))
    for io in model.inputs:
        yield from _copied(model, io)
    yield f"int status = {calls[0]};"
    for call in calls[1:]:
        yield from (f"if (status == {ok}) {{", f"    status = {call};", "}")
    yield f"if (status == {ok}) {{"
    for io in model.outputs:
        yield from (f"    {line}" for line in _copied(model, io))
    yield from (f"    {model.prefix}_REPORT({model.prefix}_OPERATORS);", "}", "return status;")


def _pointers(model: Model) -> list[str]:
    """Arguments of the function that runs the model, which must not be null."""
    if model.has_single_io:
        found = ["input", "output"]
    else:
        members = [f"{side}s->{io.member}" for side, ios in model.sides.items() for io in ios]
        found = [f"{side}s" for side, ios in model.sides.items() if ios] + members
    return [*found, *model.arenas, *(["weights"] if model.partition else [])]


def _checks(model: Model, pointers: Sequence[str]) -> Iterator[str]:
    addresses = " | ".join(f"(uintptr_t){arena}" for arena in model.arenas)
    addresses = f"({addresses})" if model.has_slow else addresses
    yield f"if ({' || '.join(f'({pointer} == NULL)' for pointer in pointers)}) {{"
    yield from (f"    return {model.prefix}_ERROR_ARGUMENT;", "}")
    yield f"if (({addresses} % {model.prefix}_ALIGNMENT) != 0U) {{"
    yield from (f"    return {model.prefix}_ERROR_ALIGNMENT;", "}")


def _copied(model: Model, io: Io) -> Iterator[str]:
    """Copies an input to its place, or an output from there, if the caller's pointer differs; streams need no copy."""
    if io.step is None:
        given = io.side if model.has_single_io else f"{io.side}s->{io.member}"
        region = "slow" if model.home(io.record.tensor) is Home.SLOW else "fast"
        home = f"{header.io_macro(model, io)}_IN({region})"
        target, source = (home, given) if io.side == "input" else (given, home)
        yield f"if ({given} != {home}) {{"
        yield from (f"    memmove({target}, {source}, {header.io_macro(model, io)}_BYTES);", "}")


def _reset(model: Model) -> Iterator[str]:
    yield from _checks(model, model.arenas)
    commits = [step for step, op in enumerate(model.plan.program.ops) if op.kind is OpKind.COMMIT]
    values = [line for step in commits for line in _first_value(model, step)]
    for arena in model.named_in("".join(values), *(f"{arena}_memory" for arena in model.arenas)):
        region = arena.removesuffix("_memory")
        yield f"union {model.name}_{region} *const {arena} = {region};"
    yield from (*values, f"return {model.prefix}_OK;")


def _first_value(model: Model, step: int) -> Iterator[str]:
    op = model.plan.program.ops[step]
    tensors = model.plan.program.tensors
    assert isinstance(op.params, CommitParams)
    stage = next(place for place, found in enumerate(model.plan.stages) if found.first_op <= step < found.end_op)
    state = row_address(model, stage, Place(op.output, False), START)
    state = re.sub(r"\b(fast|slow)->", r"\1_memory->", state)
    size = tensors[op.output].bytes
    if len(op.operands) < 2:
        yield f"memset({state}, {op.params.fill}, {size}U);"
        return
    name = op.operands[1].tensor
    first = tensors[name].bytes
    yield f"for (uint32_t at = 0U; at < {size}U; at += {first}U) {{"
    yield f"    memcpy({state} + at, {model.constants[name]}, {first}U);"
    yield "}"
