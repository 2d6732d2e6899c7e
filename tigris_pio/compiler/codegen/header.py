"""Writes the header `NAME.h`: sizes, types, functions, and a constant struct that describes the model."""

from __future__ import annotations

from tigris_pio.compiler.codegen.constants import float_literal
from tigris_pio.compiler.codegen.memory import c_type
from tigris_pio.compiler.codegen.model import Io, Model
from tigris_pio.format.enums import Home, Rounding
from tigris_pio.text import c_comment, c_string


def sides(model: Model) -> tuple[tuple[str, tuple[Io, ...]], tuple[str, tuple[Io, ...]]]:
    """Inputs and outputs, each with the word for its side."""
    return (("input", model.inputs), ("output", model.outputs))


def io_macro(model: Model, side: str, io: Io) -> str:
    """Prefix of an input's or output's macros: KWS_INPUT, or KWS_INPUT_NAME if there are several."""
    ios = dict(sides(model))[side]
    return f"{model.prefix}_{side.upper()}" + (f"_{io.member.upper()}" if len(ios) > 1 else "")


def io_type(model: Model, io: Io) -> str:
    """The C type of its elements."""
    return c_type(model.plan.program.tensors[io.record.tensor].dtype)


def elements(model: Model, side: str, io: Io) -> str:
    """The macro with the number of elements; the one of bytes if an element is one byte."""
    one = model.plan.program.tensors[io.record.tensor].dtype.bytes == 1
    return io_macro(model, side, io) + ("_BYTES" if one else "_ELEMENTS")


def parameters(model: Model) -> list[str]:
    """Parameters of NAME_run."""
    found = []
    if model.has_single_io:
        for side, (io,) in sides(model):
            found += _single_io(model, side, io)
    else:
        found = [f"const struct {model.name}_{side}s *{side}s" for side, ios in sides(model) if ios]
    return found + memory_parameters(model)


def memory_parameters(model: Model) -> list[str]:
    """Parameters for the arenas, and for weights in a partition."""
    found = ["void *fast"] + (["void *slow"] if model.has_slow else [])
    return found + (["const void *weights"] if model.partition else [])


def rows_type(model: Model, side: str, io: Io) -> str:
    """Name of the type of the firmware's function that moves rows."""
    return f"{model.name}_{side}_rows" if model.has_single_io else f"{model.name}_{io.member}_rows"


def _single_io(model: Model, side: str, io: Io) -> list[str]:
    if io.step is not None:
        return [f"{rows_type(model, side, io)} {side}", f"void *{side}_context"]
    constant = "const " if side == "input" else ""
    return [f"{constant}{io_type(model, io)} {side}[{elements(model, side, io)}]"]


def header_text(model: Model, weights_bytes: int) -> str:
    """The text of `NAME.h`. weights_bytes: size of NAME_weights.bin, 0 without it."""
    guard = f"{model.prefix}_H"
    parts = [
        _title(model),
        f"#ifndef {guard}\n#define {guard}\n\n#include <stddef.h>\n#include <stdint.h>\n",
        "#ifdef __cplusplus\nextern \"C\" {\n#endif\n",
        _aligned(model),
        _sizes(model, weights_bytes),
        _statuses(model),
        *(_rows_types(model)),
        *([] if model.has_single_io else [_structs(model)]),
        _functions(model),
        _description(model),
        "#ifdef __cplusplus\n}\n#endif\n",
        "#endif\n",
    ]
    return "\n".join(parts)


def _title(model: Model) -> str:
    program = model.plan.program
    lines = [
        f"/* The model '{c_comment(program.name)}' as plain C, written by tigris codegen. Do not edit.",
        " *",
        f" * SHA-256 of the model's file: {program.source_sha256.hex()}",
        *(f" * {c_comment(note)}" for note in model.notes),
    ]
    return "\n".join(lines) + " */"


def _aligned(model: Model) -> str:
    align, name = model.plan.alignment, f"{model.prefix}_ALIGNED"
    return f"""\
/* Aligns an arena; write it before the type. */
#if !defined({name})
#if defined(__GNUC__)
#define {name} __attribute__((aligned({align})))
#elif defined(_MSC_VER)
#define {name} __declspec(align({align}))
#elif defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L
#define {name} _Alignas({align})
#else
#error "define {name} so that this compiler aligns a variable to {align} bytes"
#endif
#endif
"""


def _sizes(model: Model, weights_bytes: int) -> str:
    plan, prefix = model.plan, model.prefix
    lines = [
        "/* Bytes of the arenas, and their alignment. */",
        f"#define {prefix}_FAST_BYTES {max(model.fast_bytes, 1)}U",
        f"#define {prefix}_SLOW_BYTES {plan.slow_bytes}U",
        f"#define {prefix}_ALIGNMENT {plan.alignment}U",
        f"#define {prefix}_OPERATORS {len(plan.program.ops)}U",
    ]
    if model.partition:
        lines += ["", f"/* Bytes of {model.name}_weights.bin; its address must be a multiple of 16. */"]
        lines += [f"#define {prefix}_WEIGHTS_BYTES {weights_bytes}U"]
    for side, ios in sides(model):
        for io in ios:
            lines += ["", *_io_sizes(model, side, io)]
    return "\n".join(lines) + "\n"


def _io_sizes(model: Model, side: str, io: Io) -> list[str]:
    tensor, macro = model.plan.program.tensors[io.record.tensor], io_macro(model, side, io)
    stored = c_type(tensor.dtype) + "".join(f"[{extent}]" for extent in io.record.stored_shape)
    real = " real = (q - ZERO_POINT) * SCALE." if tensor.scale else ""
    if real and side == "input":
        halves = "away from zero" if model.plan.program.rounding is Rounding.HALF_AWAY else "to even"
        real += f" q = round(real / SCALE) + ZERO_POINT, halves {halves}."
    lines = [
        f"/* {side.capitalize()} {c_comment(io.record.name)}: {stored}.{real} */",
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
    note = "write it here" if side == "input" else "read it here"
    return [
        *lines,
        f"/* Its address in {region} memory; {note} to save the copy. */",
        f"#define {macro}_IN({region}) (({c_type(tensor.dtype)} *)(void *)((uint8_t *)({region}) + {offset}U))",
    ]


def _statuses(model: Model) -> str:
    name, prefix = model.name, model.prefix
    return f"""\
/* Return values of the functions. After an error, outputs are undefined. */
enum {name}_status {{
    {prefix}_OK = 0,
    {prefix}_ERROR_ARGUMENT = -1,  /* a null pointer */
    {prefix}_ERROR_ALIGNMENT = -4, /* an arena does not start on a multiple of {prefix}_ALIGNMENT */
    {prefix}_ERROR_CANCELLED = -5, /* {prefix}_CANCEL returned nonzero */
    {prefix}_ERROR_ROWS = -7,      /* the firmware's function for rows returned nonzero */
    {prefix}_ERROR_WEIGHTS = -31   /* compressed weights are damaged */
}};
"""


def _rows_types(model: Model) -> list[str]:
    texts = []
    for side, ios in sides(model):
        for io in ios:
            if io.step is not None:
                element, name = io_type(model, io), rows_type(model, side, io)
                what = f"{element} *to" if side == "input" else f"const {element} *from"
                verb = "Writes" if side == "input" else "Reads"
                texts.append(
                    f"/* {verb} rows [first, first + rows) of {c_comment(io.record.name)}. A run moves each row once.\n"
                    " * Rows come in order. If it returns nonzero, the run stops. */\n"
                    f"typedef int (*{name})(void *context, uint32_t first, uint32_t rows, {what});\n"
                )
    return texts


def _structs(model: Model) -> str:
    texts = []
    for side, ios in sides(model):
        lines = []
        for io in ios:
            if io.step is not None:
                lines += [f"    {rows_type(model, side, io)} {io.member};", f"    void *{io.member}_context;"]
                continue
            constant = "const " if side == "input" else ""
            macro = elements(model, side, io)
            says = f"/* {macro} elements: {c_comment(io.record.name)} */"
            lines.append(f"    {constant}{io_type(model, io)} *{io.member}; {says}")
        if lines:
            texts.append(f"struct {model.name}_{side}s {{\n" + "\n".join(lines) + "\n};\n")
    return "\n".join(texts)


def _functions(model: Model) -> str:
    name = model.name
    text = f"/* Runs the model once. Writes only the outputs and the caller's arenas. */\n{prototype(model)};\n"
    if model.plan.program.states:
        arguments = ", ".join(["void *fast"] + (["void *slow"] if model.has_slow else []))
        states = ", ".join(c_comment(io.name) for io in model.plan.program.states)
        text += f"\n/* Sets the states to their initial values: {states}. Call it before the first run. */\n"
        text += f"int {name}_reset({arguments});\n"
    return text


def prototype(model: Model) -> str:
    """The prototype of NAME_run, without semicolon."""
    head = f"int {model.name}_run("
    line = f"{head}{', '.join(parameters(model))})"
    return line if len(line) <= 120 else head + (",\n" + " " * len(head)).join(parameters(model)) + ")"


def _description(model: Model) -> str:
    name = model.name
    return f"""\
/* Description of the model, for programs that show or check it. */
struct {name}_io {{
    const char *name;
    const char *type;
    uint32_t rank;
    uint32_t shape[8]; /* as stored */
    float scale;       /* 0: not quantised */
    int32_t zero_point;
}};

struct {name}_model {{
    const char *name;
    uint8_t source_sha256[32];
    uint32_t fast_bytes;
    uint32_t slow_bytes;
    uint32_t alignment;
    uint32_t input_count;
    uint32_t output_count;
    const struct {name}_io *inputs;
    const struct {name}_io *outputs;
}};

extern const struct {name}_model {name}_model;
"""


def description_text(model: Model) -> str:
    """The definition of NAME_model."""
    program, name = model.plan.program, model.name
    texts = []
    for side, ios in sides(model):
        lines = []
        for io in ios:
            tensor = program.tensors[io.record.tensor]
            extents = ", ".join(map(str, io.record.stored_shape)) or "0"
            lines.append(
                f'    {{{c_string(io.record.name)}, "{tensor.dtype.name.lower()}", {len(io.record.stored_shape)}U, '
                f"{{{extents}}},\n     {float_literal(tensor.scale)}, {tensor.zero_point}}},"
            )
        if lines:
            texts.append(f"static const struct {name}_io {name}_{side}_ios[] = {{\n" + "\n".join(lines) + "\n};\n")
    digest = ", ".join(str(byte) for byte in program.source_sha256)
    places = [f"{name}_{side}_ios" if ios else "NULL" for side, ios in sides(model)]
    texts.append(
        f"const struct {name}_model {name}_model = {{\n    {c_string(program.name)},\n    {{{digest}}},\n"
        f"    {model.prefix}_FAST_BYTES, {model.prefix}_SLOW_BYTES, {model.prefix}_ALIGNMENT,\n"
        f"    {len(model.inputs)}U, {len(model.outputs)}U, {', '.join(places)},\n}};\n"
    )
    return "\n".join(texts)
