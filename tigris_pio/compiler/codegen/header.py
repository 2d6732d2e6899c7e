"""The header: sizes, types and functions, and what the C call forgets as one constant struct."""

from __future__ import annotations

from tigris_pio.compiler.codegen.constants import float_literal
from tigris_pio.compiler.codegen.memory import c_type
from tigris_pio.compiler.codegen.model import Model, Port
from tigris_pio.format.enums import Home, Rounding
from tigris_pio.text import c_comment, c_string


def sides(model: Model) -> tuple[tuple[str, tuple[Port, ...]], tuple[str, tuple[Port, ...]]]:
    """Inputs and outputs with what they are called."""
    return (("input", model.inputs), ("output", model.outputs))


def port_macro(model: Model, side: str, port: Port) -> str:
    """What the macros of an input or output begin with: KWS_INPUT, or KWS_INPUT_NAME of several."""
    ports = dict(sides(model))[side]
    return f"{model.prefix}_{side.upper()}" + (f"_{port.member.upper()}" if len(ports) > 1 else "")


def port_type(model: Model, port: Port) -> str:
    """The C type of its elements."""
    return c_type(model.plan.program.tensors[port.io.tensor].dtype)


def elements(model: Model, side: str, port: Port) -> str:
    """How many elements, as a macro: bytes where an element is one."""
    one = model.plan.program.tensors[port.io.tensor].dtype.bytes == 1
    return port_macro(model, side, port) + ("_BYTES" if one else "_ELEMENTS")


def parameters(model: Model) -> list[str]:
    """Parameters of the function that runs the model."""
    found = []
    if model.alone:
        for side, (port,) in sides(model):
            found += _alone(model, side, port)
    else:
        found = [f"const struct {model.name}_{side}s *{side}s" for side, ports in sides(model) if ports]
    return found + memory_parameters(model)


def memory_parameters(model: Model) -> list[str]:
    """Parameters for the arenas, and for weights that are flashed alone."""
    found = ["void *fast"] + (["void *slow"] if model.has_slow else [])
    return found + (["const void *weights"] if model.partition else [])


def rows_type(model: Model, side: str, port: Port) -> str:
    """The type of the function that gives or takes rows."""
    return f"{model.name}_{side}_rows" if model.alone else f"{model.name}_{port.member}_rows"


def _alone(model: Model, side: str, port: Port) -> list[str]:
    if port.step is not None:
        return [f"{rows_type(model, side, port)} {side}", f"void *{side}_context"]
    constant = "const " if side == "input" else ""
    return [f"{constant}{port_type(model, port)} {side}[{elements(model, side, port)}]"]


def header_text(model: Model, weights_bytes: int) -> str:
    """`NAME.h`. weights_bytes: of the file of weights, where there is one."""
    guard = f"{model.prefix}_H"
    parts = [
        _title(model),
        f"#ifndef {guard}\n#define {guard}\n\n#include <stddef.h>\n#include <stdint.h>\n",
        "#ifdef __cplusplus\nextern \"C\" {\n#endif\n",
        _aligned(model),
        _sizes(model, weights_bytes),
        _statuses(model),
        *(_rows_types(model)),
        *([] if model.alone else [_structs(model)]),
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
        f" * Made of a file with the SHA-256 {program.source_sha256.hex()}",
        *(f" * {c_comment(note)}" for note in model.notes),
    ]
    return "\n".join(lines) + " */"


def _aligned(model: Model) -> str:
    align, name = model.plan.alignment, f"{model.prefix}_ALIGNED"
    return f"""\
/* For arenas, before the type. */
#if !defined({name})
#if defined(__GNUC__)
#define {name} __attribute__((aligned({align})))
#elif defined(_MSC_VER)
#define {name} __declspec(align({align}))
#elif defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L
#define {name} _Alignas({align})
#else
#error "say by {name} how this compiler aligns a variable to {align} bytes"
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
        lines += ["", f"/* Bytes of {model.name}_weights.bin, which lies on a multiple of 16. */"]
        lines += [f"#define {prefix}_WEIGHTS_BYTES {weights_bytes}U"]
    for side, ports in sides(model):
        for port in ports:
            lines += ["", *_port_sizes(model, side, port)]
    return "\n".join(lines) + "\n"


def _port_sizes(model: Model, side: str, port: Port) -> list[str]:
    tensor, macro = model.plan.program.tensors[port.io.tensor], port_macro(model, side, port)
    stored = c_type(tensor.dtype) + "".join(f"[{extent}]" for extent in port.io.stored_shape)
    real = " real = (q - ZERO_POINT) * SCALE." if tensor.scale else ""
    if real and side == "input":
        halves = "away from zero" if model.plan.program.rounding is Rounding.HALF_AWAY else "to even"
        real += f" q = round(real / SCALE) + ZERO_POINT, halves {halves}."
    lines = [
        f"/* {side.capitalize()} {c_comment(port.io.name)}: {stored}.{real} */",
        f"#define {macro}_BYTES {tensor.bytes}U",
        f"#define {macro}_ELEMENTS {tensor.bytes // tensor.dtype.bytes}U",
    ]  # fmt: skip
    if tensor.scale:
        lines.append(f"#define {macro}_SCALE {float_literal(tensor.scale)}")
        lines.append(f"#define {macro}_ZERO_POINT ({tensor.zero_point})")
    if port.step is not None:
        return [*lines, f"#define {macro}_ROWS {tensor.height}U", f"#define {macro}_ROW_BYTES {tensor.row_bytes}U"]
    home = model.home(port.io.tensor)
    region = "slow" if home is Home.SLOW else "fast"
    offset = model.plan.homes[port.io.tensor].offset
    offset = offset if home is Home.SLOW else model.offset(offset)
    direction = "is read without a copy" if side == "input" else "is left without a copy"
    return [
        *lines,
        f"/* Where in {region} memory it {direction}. */",
        f"#define {macro}_IN({region}) (({c_type(tensor.dtype)} *)(void *)((uint8_t *)({region}) + {offset}U))",
    ]


def _statuses(model: Model) -> str:
    name, prefix = model.name, model.prefix
    return f"""\
/* What functions return: 0, or why nothing was computed. */
enum {name}_status {{
    {prefix}_OK = 0,
    {prefix}_ERROR_ARGUMENT = -1,  /* a null pointer */
    {prefix}_ERROR_ALIGNMENT = -4, /* an arena does not start on a multiple of {prefix}_ALIGNMENT */
    {prefix}_ERROR_CANCELLED = -5, /* {prefix}_CANCEL asked to stop */
    {prefix}_ERROR_ROWS = -7,      /* a function that gives or takes rows asked to stop */
    {prefix}_ERROR_WEIGHTS = -31   /* compressed weights are damaged */
}};
"""


def _rows_types(model: Model) -> list[str]:
    texts = []
    for side, ports in sides(model):
        for port in ports:
            if port.step is not None:
                element, name = port_type(model, port), rows_type(model, side, port)
                what = f"{element} *to" if side == "input" else f"const {element} *from"
                verb = "Writes" if side == "input" else "Takes"
                texts.append(
                    f"/* {verb} rows [first, first + rows) of {c_comment(port.io.name)}. They come in order, each once "
                    "in a run.\n * Not 0: the run stops. */\n"
                    f"typedef int (*{name})(void *context, uint32_t first, uint32_t rows, {what});\n"
                )
    return texts


def _structs(model: Model) -> str:
    texts = []
    for side, ports in sides(model):
        lines = []
        for port in ports:
            if port.step is not None:
                lines += [f"    {rows_type(model, side, port)} {port.member};", f"    void *{port.member}_context;"]
                continue
            constant = "const " if side == "input" else ""
            macro = elements(model, side, port)
            says = f"/* {macro} elements: {c_comment(port.io.name)} */"
            lines.append(f"    {constant}{port_type(model, port)} *{port.member}; {says}")
        if lines:
            texts.append(f"struct {model.name}_{side}s {{\n" + "\n".join(lines) + "\n};\n")
    return "\n".join(texts)


def _functions(model: Model) -> str:
    name = model.name
    text = f"/* Runs the model once. Arenas are the caller's; nothing else is written. */\n{prototype(model)};\n"
    if model.plan.program.states:
        arguments = ", ".join(["void *fast"] + (["void *slow"] if model.has_slow else []))
        states = ", ".join(c_comment(io.name) for io in model.plan.program.states)
        text += f"\n/* What lives from run to run begins anew: {states}. Before the first run, too. */\n"
        text += f"int {name}_reset({arguments});\n"
    return text


def prototype(model: Model) -> str:
    """The function that runs the model, without semicolon."""
    head = f"int {model.name}_run("
    line = f"{head}{', '.join(parameters(model))})"
    return line if len(line) <= 120 else head + (",\n" + " " * len(head)).join(parameters(model)) + ")"


def _description(model: Model) -> str:
    name = model.name
    return f"""\
/* What there is to know of the model, for programs that show or check it. */
struct {name}_port {{
    const char *name;
    const char *type;
    uint32_t rank;
    uint32_t shape[8]; /* as it is stored */
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
    const struct {name}_port *inputs;
    const struct {name}_port *outputs;
}};

extern const struct {name}_model {name}_model;
"""


def description_text(model: Model) -> str:
    """The struct's definition."""
    program, name = model.plan.program, model.name
    texts = []
    for side, ports in sides(model):
        lines = []
        for port in ports:
            tensor = program.tensors[port.io.tensor]
            extents = ", ".join(map(str, port.io.stored_shape)) or "0"
            lines.append(
                f'    {{{c_string(port.io.name)}, "{tensor.dtype.name.lower()}", {len(port.io.stored_shape)}U, '
                f"{{{extents}}},\n     {float_literal(tensor.scale)}, {tensor.zero_point}}},"
            )
        if lines:
            texts.append(f"static const struct {name}_port {name}_{side}_ports[] = {{\n" + "\n".join(lines) + "\n};\n")
    digest = ", ".join(str(byte) for byte in program.source_sha256)
    places = [f"{name}_{side}_ports" if ports else "NULL" for side, ports in sides(model)]
    texts.append(
        f"const struct {name}_model {name}_model = {{\n    {c_string(program.name)},\n    {{{digest}}},\n"
        f"    {model.prefix}_FAST_BYTES, {model.prefix}_SLOW_BYTES, {model.prefix}_ALIGNMENT,\n"
        f"    {len(model.inputs)}U, {len(model.outputs)}U, {', '.join(places)},\n}};\n"
    )
    return "\n".join(texts)
