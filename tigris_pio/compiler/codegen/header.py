"""Writes the header `NAME.h`: sizes, types, functions, and a constant struct that describes the model."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from tigris_pio.compiler.codegen.constants import array, float_literal, signature
from tigris_pio.compiler.codegen.kernels import shared_text
from tigris_pio.compiler.codegen.memory import c_type
from tigris_pio.compiler.codegen.model import Io, Model
from tigris_pio.format.enums import Home, Rounding
from tigris_pio.text import c_comment, c_string


def io_macro(model: Model, io: Io) -> str:
    """Prefix of an input's or output's macros: KWS_INPUT, or KWS_INPUT_NAME if there are several."""
    return f"{model.prefix}_{io.side.upper()}" + (f"_{io.member.upper()}" if len(model.sides[io.side]) > 1 else "")


def io_type(model: Model, io: Io) -> str:
    """The C type of its elements."""
    return c_type(model.plan.program.tensors[io.record.tensor].dtype)


def elements(model: Model, io: Io) -> str:
    """The macro with the number of elements; the one of bytes if an element is one byte."""
    one = model.plan.program.tensors[io.record.tensor].dtype.bytes == 1
    return io_macro(model, io) + ("_BYTES" if one else "_ELEMENTS")


def io_parameter(model: Model, io: Io, name: str, pointer: str) -> list[str]:
    """Declarations of an input or output as parameter or member `name`. pointer: the declarator of an array."""
    if io.step is not None:
        return [f"{rows_type(model, io)} {name}", f"void *{name}_context"]
    return [f"{'const ' if io.side == 'input' else ''}{io_type(model, io)} {pointer}"]


def prototype(model: Model) -> str:
    """The prototype of NAME_run, without semicolon."""
    if model.has_single_io:
        ios = (*model.inputs, *model.outputs)
        found = [text for io in ios
                 for text in io_parameter(model, io, io.side, f"{io.side}[{elements(model, io)}]")]  # fmt: skip
    else:
        found = [f"const struct {model.name}_{side}s *{side}s" for side, ios in model.sides.items() if ios]
    weights = ["const void *weights"] if model.partition else []
    return signature(f"int {model.name}_run", [*found, *_arenas(model), *weights])


def reset_prototype(model: Model) -> str:
    """The prototype of NAME_reset, without semicolon."""
    return signature(f"int {model.name}_reset", _arenas(model))


def _arenas(model: Model) -> list[str]:
    return [f"void *{arena}" for arena in model.arenas]


def rows_type(model: Model, io: Io) -> str:
    """Name of the type of the firmware's function that moves rows."""
    return f"{model.name}_{io.side if model.has_single_io else io.member}_rows"


def header_text(model: Model, weights_bytes: int) -> str:
    """The text of `NAME.h`. weights_bytes: size of NAME_weights.bin, 0 without it."""
    guard = f"{model.prefix}_H"
    parts = [
        _title(model),
        f"#ifndef {guard}\n#define {guard}\n\n#include <stddef.h>\n#include <stdint.h>\n",
        "#ifdef __cplusplus\nextern \"C\" {\n#endif\n",
        _sizes(model, weights_bytes),
        shared_part(model, "model_types.h"),
        *_rows_types(model),
        *([] if model.has_single_io else _structs(model)),
        _functions(model),
        "#ifdef __cplusplus\n}\n#endif\n",
        "#endif\n",
    ]
    return "\n".join(parts)


def shared_part(model: Model, file: str) -> str:
    """The text of a file of runtime/codegen, with the model's names."""
    text = shared_text(file).replace("(MODEL_ALIGNMENT)", f"({model.plan.alignment})")
    return re.sub(r"(?:\b|(?<=-D))MODEL_", f"{model.prefix}_", re.sub(r"\bmodel_", f"{model.name}_", text))


def _title(model: Model) -> str:
    program = model.plan.program
    lines = [
        f"/* The model '{c_comment(program.name)}' as plain C, written by tigris codegen. Do not edit.",
        " *",
        f" * SHA-256 of the model's file: {program.source_sha256.hex()}",
        *(f" * {c_comment(note)}" for note in model.notes),
    ]
    return "\n".join(lines) + " */"


def _sizes(model: Model, weights_bytes: int) -> str:
    plan, prefix = model.plan, model.prefix
    lines = [
        "/* Bytes of the arenas, and their alignment. */",
        f"#define {prefix}_FAST_BYTES {max(model.fast_bytes, 1)}U",
        f"#define {prefix}_SLOW_BYTES {plan.slow_bytes}U",
        f"#define {prefix}_ALIGNMENT {plan.alignment}U",
        f"#define {prefix}_OPERATORS {len(plan.program.ops)}U",
    ]
    lines += ["", f"/* Numbers of the operators, for {prefix}_PROFILE. */"]
    lines += [f"#define {operator_macro(model, step)} {step}U" for step in range(len(plan.program.ops))]
    if model.partition:
        lines += ["", f"/* Bytes of {model.name}_weights.bin; its address must be a multiple of 16. */"]
        lines += [f"#define {prefix}_WEIGHTS_BYTES {weights_bytes}U"]
    for io in (*model.inputs, *model.outputs):
        lines += ["", *_io_sizes(model, io)]
    return "\n".join(lines) + "\n"


def operator_macro(model: Model, step: int) -> str:
    """The macro of an operator's number."""
    return f"{model.prefix}_OPERATOR_{model.ops[step].upper()}"


def _io_sizes(model: Model, io: Io) -> list[str]:
    tensor, macro = model.plan.program.tensors[io.record.tensor], io_macro(model, io)
    stored = c_type(tensor.dtype) + "".join(f"[{extent}]" for extent in io.record.stored_shape)
    real = " real = (q - ZERO_POINT) * SCALE." if tensor.scale else ""
    if real and io.side == "input":
        halves = "away from zero" if model.plan.program.rounding is Rounding.HALF_AWAY else "to even"
        real += f" q = round(real / SCALE) + ZERO_POINT, halves {halves}."
    lines = [
        f"/* {io.side.capitalize()} {c_comment(io.record.name)}: {stored}.{real} */",
        f"#define {macro}_BYTES {tensor.bytes}U",
        f"#define {macro}_ELEMENTS {tensor.bytes // tensor.dtype.bytes}U",
    ]  # fmt: skip
    if tensor.scale:
        lines.append(f"#define {macro}_SCALE {float_literal(tensor.scale)}")
        lines.append(f"#define {macro}_ZERO_POINT ({tensor.zero_point})")
    if io.step is not None:
        return [*lines, f"#define {macro}_ROWS {tensor.height}U", f"#define {macro}_ROW_BYTES {tensor.row_bytes}U"]
    home = model.home(io.record.tensor)
    region = "slow" if home is Home.SLOW else "fast"
    offset = model.plan.homes[io.record.tensor].offset
    offset = offset if home is Home.SLOW else model.offset(offset)
    note = "write it here" if io.side == "input" else "read it here"
    return [
        *lines,
        f"/* Its address in {region} memory; {note} to save the copy. */",
        f"#define {macro}_IN({region}) (({c_type(tensor.dtype)} *)(void *)((uint8_t *)({region}) + {offset}U))",
    ]


def _rows_types(model: Model) -> Iterator[str]:
    for io in (*model.inputs, *model.outputs):
        if io.step is not None:
            is_input = io.side == "input"
            rows = f"{io_type(model, io)} *to" if is_input else f"const {io_type(model, io)} *from"
            yield (
                f"/* {'Writes' if is_input else 'Reads'} rows [first, first + rows) of {c_comment(io.record.name)}. "
                "A run moves each row once.\n * Rows come in order. If it returns nonzero, the run stops. */\n"
                f"typedef int (*{rows_type(model, io)})(void *context, uint32_t first, uint32_t rows, {rows});\n"
            )


def _structs(model: Model) -> Iterator[str]:
    for side, ios in model.sides.items():
        lines = []
        for io in ios:
            members = "; ".join(io_parameter(model, io, io.member, f"*{io.member}"))
            size = f"{elements(model, io)} elements: " if io.step is None else ""
            lines.append(f"    {members}; /* {size}{c_comment(io.record.name)} */\n")
        if lines:
            yield f"struct {model.name}_{side}s {{\n{''.join(lines)}}};\n"


def _functions(model: Model) -> str:
    text = f"/* Runs the model once. Writes only the outputs and the caller's arenas. */\n{prototype(model)};\n"
    if model.plan.program.states:
        states = ", ".join(c_comment(io.name) for io in model.plan.program.states)
        text += f"\n/* Sets the states to their initial values: {states}. Call it before the first run. */\n"
        text += f"{reset_prototype(model)};\n"
    return text


def description_text(model: Model) -> str:
    """The definition of NAME_model."""
    program, name, text = model.plan.program, model.name, ""
    for side, ios in model.sides.items():
        text += f"static const struct {name}_io {name}_{side}_ios[] = {{\n" if ios else ""
        for io in ios:
            tensor, shape = program.tensors[io.record.tensor], io.record.stored_shape
            text += (
                f'    {{.name = {c_string(io.record.name)}, .type = "{tensor.dtype.name.lower()}",\n'
                f"     .rank = {len(shape)}U, .shape = {{{', '.join(map(str, shape)) or '0'}}},\n"
                f"     .scale = {float_literal(tensor.scale)}, .zero_point = {tensor.zero_point}}},\n"
            )
        text += "};\n\n" if ios else ""
    digest = array(np.frombuffer(program.source_sha256, np.uint8), " " * 8)
    names = ("fast_bytes", "slow_bytes", "alignment")
    sizes = "".join(f"    .{size} = {model.prefix}_{size.upper()},\n" for size in names)
    places = "".join(f"    .{side}_count = {len(ios)}U,\n    .{side}s = {f'{name}_{side}_ios' if ios else 'NULL'},\n"
                     for side, ios in model.sides.items())  # fmt: skip
    return (f"{text}const struct {name}_model {name}_model = {{\n    .name = {c_string(program.name)},\n"
            f"    .source_sha256 = {{\n{digest}\n    }},\n{sizes}{places}}};\n")  # fmt: skip
