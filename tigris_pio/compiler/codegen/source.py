"""Writes `NAME.c`: kernels, memory, weights, operators, stages, and the functions that firmware calls."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tigris_pio.compiler.codegen.call_layout import TYPES, WEIGHTS_IN_CALLS
from tigris_pio.compiler.codegen.calls import START, row_address, tensor_records
from tigris_pio.compiler.codegen.header import description_text, io_macro, prototype, sides
from tigris_pio.compiler.codegen.kernels import bundle
from tigris_pio.compiler.codegen.memory import unions
from tigris_pio.compiler.codegen.model import WITHOUT_KERNEL, Io, Model, called_ops, helpers
from tigris_pio.compiler.codegen.schedule import Place
from tigris_pio.compiler.codegen.split import TYPES_FILE, declarations
from tigris_pio.compiler.codegen.stages import functions, stage_parameters, stage_text
from tigris_pio.compiler.codegen.weights import weights_text
from tigris_pio.format.enums import Home, OpKind
from tigris_pio.format.params import CommitParams
from tigris_pio.text import c_comment

_NOT_FINITE = re.compile(r"\b(?:INFINITY|NAN)\b")


def source_text(model: Model, offsets: dict[int, int]) -> str:
    """The text of `NAME.c`. offsets: of each stage's weights in NAME_weights.bin."""
    parts = [
        *_kernels(model),
        _banner("Memory, weights and tensors"),
        unions(model),
        "".join(f"#define {model.prefix}_WEIGHTS_OF_STAGE_{place} {at}U\n" for place, at in offsets.items()),
        weights_text(model),
        tensor_records(model, _tensors(model)) if _tensors(model) else "",
        _hooks(model),
        *_stages(model),
        _banner("Functions for firmware"),
        _run(model),
        *([_reset(model)] if model.plan.program.states else []),
        description_text(model),
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
        ops = [model.plan.program.ops[step] for step in called_ops(model.loops)]
        types = bundle([], types=sorted({op.params.C_NAME for op in ops}),
                       helpers=helpers(model.plan, model.loops))  # fmt: skip
        return [f'#include "{TYPES_FILE}"\n', _banner("Kernels"), declarations(model), types.text]
    return [_banner("Kernels"), (WEIGHTS_IN_CALLS if model.weights_in_calls else "") + TYPES, model.kernels.text]


def _banner(text: str) -> str:
    return f"/* ---- {text} {'-' * (108 - len(text))} */\n"


def _tensors(model: Model) -> list[str]:
    """Tensors of kernel calls."""
    program, called = model.plan.program, called_ops(model.loops)
    ops = [op for step, op in enumerate(program.ops) if step in called and op.kind not in WITHOUT_KERNEL]
    return [name for op in ops for name in (op.output, *(operand.tensor for operand in op.operands))]


def _hooks(model: Model) -> str:
    prefix = model.prefix
    return f"""\
/* -D{prefix}_PROFILE=f: calls void f(uint32_t operation) with each operator's number before it runs, and with
 * {prefix}_OPERATORS at the end. */
#if defined({prefix}_PROFILE)
void {prefix}_PROFILE(uint32_t operation);
#define {prefix}_REPORT(operation) {prefix}_PROFILE(operation)
#else
#define {prefix}_REPORT(operation) (void)0
#endif

/* -D{prefix}_CANCEL=f: calls int f(void) before each operator; if it returns nonzero, the run stops. f may also feed a
 * watchdog. */
#if defined({prefix}_CANCEL)
int {prefix}_CANCEL(void);
#define {prefix}_BEFORE(operation) \\
    do {{ \\
        if ({prefix}_CANCEL() != 0) {{ \\
            return {prefix}_ERROR_CANCELLED; \\
        }} \\
        {prefix}_REPORT(operation); \\
    }} while (0)
#else
#define {prefix}_BEFORE(operation) {prefix}_REPORT(operation)
#endif
"""


def _stages(model: Model) -> Iterator[str]:
    for stage in range(len(model.plan.stages)):
        called = functions(model, stage)
        yield _banner(f"Stage {stage}")
        yield from called.texts()
        yield stage_text(model, stage, called)


def _run(model: Model) -> str:
    name, prefix = model.name, model.prefix
    lines = list(_checks(model))
    for io in model.inputs:
        lines += _copied(model, "input", io)
    lines.append(f"int status = {prefix}_OK;")
    for stage in range(len(model.plan.stages)):
        arguments = ", ".join(value for _, value in stage_parameters(model, stage))
        if stage == 0:
            lines[-1] = f"int status = {name}_stage_0({arguments});"
        else:
            lines += [f"if (status == {prefix}_OK) {{", f"    status = {name}_stage_{stage}({arguments});", "}"]
    lines += _finished(model)
    lines.append("return status;")
    return f"{prototype(model)}\n{{\n" + "\n".join(f"    {line}" for line in lines) + "\n}\n"


def _finished(model: Model) -> Iterator[str]:
    inner = [line for io in model.outputs for line in _copied(model, "output", io)]
    inner.append(f"{model.prefix}_REPORT({model.prefix}_OPERATORS);")
    yield f"if (status == {model.prefix}_OK) {{"
    yield from (f"    {line}" for line in inner)
    yield "}"


def _checks(model: Model) -> Iterator[str]:
    pointers = []
    for side, ios in sides(model):
        for io in ios:
            pointers.append(side if model.has_single_io else f"{side}s->{io.member}")
    if not model.has_single_io:
        pointers = [f"{side}s" for side, ios in sides(model) if ios] + pointers
    pointers += ["fast"] + (["slow"] if model.has_slow else []) + (["weights"] if model.partition else [])
    yield f"if ({' || '.join(f'{pointer} == NULL' for pointer in pointers)}) {{"
    yield f"    return {model.prefix}_ERROR_ARGUMENT;"
    yield "}"
    yield from _alignment(model)


def _alignment(model: Model) -> Iterator[str]:
    addresses = "((uintptr_t)fast | (uintptr_t)slow)" if model.has_slow else "(uintptr_t)fast"
    yield f"if ({addresses} % {model.prefix}_ALIGNMENT != 0U) {{"
    yield f"    return {model.prefix}_ERROR_ALIGNMENT;"
    yield "}"


def _at_home(model: Model, side: str, io: Io) -> str:
    region = "slow" if model.home(io.record.tensor) is Home.SLOW else "fast"
    return f"{io_macro(model, side, io)}_IN({region})"


def _copied(model: Model, side: str, io: Io) -> Iterator[str]:
    """Copies an input to its place, or an output from there, if the caller's pointer differs; streams need no copy."""
    if io.step is None:
        given = side if model.has_single_io else f"{side}s->{io.member}"
        home = _at_home(model, side, io)
        target, source = (home, given) if side == "input" else (given, home)
        yield f"if ({given} != {home}) {{"
        yield f"    memmove({target}, {source}, {io_macro(model, side, io)}_BYTES);"
        yield "}"


def _reset(model: Model) -> str:
    arguments = ", ".join(["void *fast"] + (["void *slow"] if model.has_slow else []))
    null = " || ".join(f"{name} == NULL" for name in ["fast"] + (["slow"] if model.has_slow else []))
    lines = [f"if ({null}) {{", f"    return {model.prefix}_ERROR_ARGUMENT;", "}", *_alignment(model)]
    lines += [f"union {model.name}_fast *const memory = fast;", "(void)memory;"]
    lines += [f"union {model.name}_slow *const slow_memory = slow;", "(void)slow_memory;"] if model.has_slow else []
    for step, op in enumerate(model.plan.program.ops):
        if op.kind is OpKind.COMMIT:
            lines += _first_value(model, step)
    lines.append(f"return {model.prefix}_OK;")
    return f"int {model.name}_reset({arguments})\n{{\n" + "\n".join(f"    {line}" for line in lines) + "\n}\n"


def _first_value(model: Model, step: int) -> Iterator[str]:
    op = model.plan.program.ops[step]
    tensors = model.plan.program.tensors
    assert isinstance(op.params, CommitParams)
    stage = next(place for place, found in enumerate(model.plan.stages) if found.first_op <= step < found.end_op)
    state = row_address(model, stage, Place(op.output, False), START)
    state = state.replace("fast->", "memory->").replace("slow->", "slow_memory->")
    size = tensors[op.output].bytes
    if len(op.operands) < 2:
        yield f"memset({state}, {op.params.fill}, {size}U);"
        return
    name = op.operands[1].tensor
    first = tensors[name].bytes
    yield f"for (uint32_t at = 0U; at < {size}U; at += {first}U) {{"
    yield f"    memcpy({state} + at, {model.constants[name]}, {first}U);"
    yield "}"
