"""Generates the C files of the format: `python -m tigris_pio.format.c_header`.

    runtime/include/tigris_format.h     the records of a plan
    runtime/include/tigris_params.h     the kernels' parameters, which applications do not see
    runtime/include/tigris_kernels.h    an entry for each kind and type that has parameters
    runtime/src/kernels/portable.c      the table of them
    runtime/src/kinds.h                 traits of kinds that the executor needs
"""

import enum
import inspect
import re
import textwrap
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from tigris_pio.format import enums, records
from tigris_pio.format.enums import DType, OpKind
from tigris_pio.format.kinds import PARAMS, TRAITS, parameter_records
from tigris_pio.format.record import FieldLayout, Record, snake_case

_RUNTIME = Path(__file__).resolve().parents[2] / "runtime"
HEADER_PATH = _RUNTIME / "include" / "tigris_format.h"
PARAMS_PATH = HEADER_PATH.with_name("tigris_params.h")
_BY = "generated from tigris_pio/format by python -m tigris_pio.format.c_header"
_TYPE_NAMES = {DType.INT8: "int8", DType.INT16: "int16", DType.INT32: "int32", DType.FLOAT32: "float"}

#: The enumerations of the format, and those among them whose values are parameters.
ENUMS: tuple[type[enum.IntEnum | enum.IntFlag], ...] = tuple(
    item for item in vars(enums).values()
    if isinstance(item, type) and issubclass(item, enum.IntEnum | enum.IntFlag) and item.__members__
)  # fmt: skip
_PARAMETER_ENUMS = tuple(item for item in ENUMS if issubclass(item, enums.ParameterEnum))


def _comment(text: str, indent: str = "") -> str:
    lines = textwrap.wrap(re.sub(r"`", "", " ".join(text.split())), 100 - len(indent) - 3)
    if len(lines) == 1:
        return f"{indent}/* {lines[0]} */\n"
    return f"{indent}/* " + f"\n{indent} * ".join(lines) + " */\n"


def enum_notes(kind: type[enum.Enum]) -> dict[str, str]:
    """The `#:` comments of an enumeration's members."""
    notes = {}
    for line in inspect.getsource(kind).splitlines():
        match = re.match(r"\s+(\w+) = \d+\s+#: (.*)", line)
        if match:
            notes[match[1]] = match[2]
    return notes


def enum_text(kind: type[enum.Enum], prefix: str = "tigris") -> str:
    """The C enum of a Python enumeration, with its comments; `prefix` begins its name."""
    c_name = f"{prefix}_{snake_case(kind.__name__)}"
    out = _comment(inspect.getdoc(kind) or "") + f"typedef enum {c_name} {{\n"
    comments = {name: _comment(note, "    ") for name, note in enum_notes(kind).items()}
    members = [f"{comments.get(name, '')}    {c_name.upper()}_{name} = {int(member.value)}"
               for name, member in kind.__members__.items()]
    return out + ",\n".join(members) + f"\n}} {c_name};\n\n"


def _short(record: type[Record]) -> str:
    return record.C_NAME.removeprefix("tigris_")


def _described(record: type[Record]) -> tuple[str, list[FieldLayout]]:
    """A record's comment, which names the records that it embeds, and the fields that these do not describe."""
    parts = [_short(part) for part in record.EMBEDDED]
    doc = (inspect.getdoc(record) or "") + (f" Embeds {', '.join(parts)}." if parts else "")
    known = {(field.name, field.doc) for part in record.EMBEDDED for field in part.layout()}
    return doc, [field for field in record.layout() if (field.name, field.doc) not in known]


def record_text(record: type[Record], every_comment: bool = True) -> str:
    """The C struct of a record, with an assertion of its size; `every_comment`: of embedded records' fields too."""
    doc, described = (inspect.getdoc(record) or "", record.layout()) if every_comment else _described(record)
    out = _comment(doc) + f"typedef struct {record.C_NAME} {{\n"
    for field in record.layout():
        array = f"[{field.count}]" if field.count > 1 else ""
        comment = _comment(field.doc, "    ") if field in described else ""
        out += f"{comment}    {field.c_type} {field.name}{array};\n"
    out += f"}} {record.C_NAME};\n"
    return out + f"TIGRIS_STATIC_ASSERT(sizeof({record.C_NAME}) == {record.size()}U, {record.C_NAME}_size);\n\n"


def render() -> str:
    """The text of tigris_format.h."""
    out = (
        f"/* The .tgrs plan format, {_BY}.\n"
        " * Do not edit. All integers are little-endian; SPEC.md explains how the records work together. */\n"
        "#ifndef TIGRIS_FORMAT_H\n#define TIGRIS_FORMAT_H\n\n#include <stdint.h>\n\n"
        "/* C99 has no _Static_assert: a negative array size does the same. */\n"
        "#define TIGRIS_STATIC_ASSERT(condition, name) typedef char tigris_assert_##name[(condition) ? 1 : -1]\n\n"
        f"#define TIGRIS_FORMAT_VERSION {records.VERSION}U\n"
        f"#define TIGRIS_SECTION_ALIGNMENT {records.SECTION_ALIGNMENT}U\n"
        f"#define TIGRIS_CRC_COVERS_FROM {records.CRC_COVERS_FROM}U\n"
        f"#define TIGRIS_MAX_RANK {records.MAX_RANK}U\n"
        f"#define TIGRIS_VIEW_STATE_BYTES {records.VIEW_STATE_BYTES}U\n\n"
    )
    out += "".join(enum_text(kind) for kind in ENUMS if kind not in _PARAMETER_ENUMS)
    out += "".join(record_text(record) for record in records.STRUCTURE)
    return out.rstrip() + "\n\n#endif\n"


def _parts(records: Iterable[type[Record]]) -> Iterator[type[Record]]:
    """Yields what `records` embed, each behind its own parts."""
    for record in records:
        yield from (*_parts(record.EMBEDDED), *record.EMBEDDED)


def _parts_text() -> str:
    """The comment that describes the fields of embedded records."""
    lines = ["/* Records that others embed. A struct's comment names them; their fields stand in it without comments."]
    for part in dict.fromkeys(_parts(parameter_records())):
        if part not in parameter_records():
            doc, fields = _described(part)
            lines += textwrap.wrap(f"{_short(part)}: {doc}", 97, initial_indent=" * ", subsequent_indent=" *   ")
            lines += [f" *     {field.name}: {field.doc}" for field in fields]
    return "\n".join(lines) + " */\n\n"


def render_params(every_comment: bool = False) -> str:
    """The text of tigris_params.h; `every_comment`: at the fields of every struct, without the embedded records."""
    out = (
        f"/* Parameters of operators for their kernels, {_BY}.\n"
        " * Do not edit. For authors of kernels, who get it with tigris_kernel.h; applications need none of it. */\n"
        '#ifndef TIGRIS_PARAMS_H\n#define TIGRIS_PARAMS_H\n\n#include "tigris_format.h"\n\n'
    )
    out += "".join(map(enum_text, _PARAMETER_ENUMS))
    out += "" if every_comment else _parts_text()
    out += "".join(record_text(record, every_comment) for record in parameter_records())
    return out.rstrip() + "\n\n#endif\n"


def kernel_symbol(kind: OpKind, dtype: DType) -> str:
    """The C name of the portable kernel of a kind and type."""
    return f"tigris_{kind.name.lower()}_{_TYPE_NAMES[dtype]}"


def render_kernels() -> str:
    """The text of tigris_kernels.h."""
    return (
        f"/* The portable kernels, {_BY}. Do not edit.\n"
        " * One entry each, so that firmware links only those its models use:\n *\n"
        " *     static const tigris_kernel_entry *const kernels[] = {&tigris_conv_2d_int8, &tigris_softmax_int8};\n"
        ' *     static const tigris_backend backend = {"model", kernels, 2U, NULL, NULL};\n'
        " *     tigris_session_init(&session, &plan, &arenas, &backend);\n *\n"
        " * An entry's name is tigris_<operator kind>_<int8, int16 or float> in lower case. With -ffunction-sections,\n"
        " * -fdata-sections and --gc-sections nothing else of the kernels is linked. */\n"
        '#ifndef TIGRIS_KERNELS_H\n#define TIGRIS_KERNELS_H\n\n#include "tigris_kernel.h"\n\n'
        '#ifdef __cplusplus\nextern "C" {\n#endif\n\n'
        + "".join(f"extern const tigris_kernel_entry {kernel_symbol(kind, dtype)};\n" for kind, dtype in PARAMS)
        + "\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n"
    )


def render_table() -> str:
    """The text of portable.c."""
    return (
        f"/* All portable kernels as a backend, {_BY}.\n"
        ' * Do not edit. Linking this file links every kernel. */\n#include "tigris_backends.h"\n\n'
        '#include "instruction_set.h"\n\n'
        "#if TIGRIS_MVE\n#define OF_SET &tigris_mve_backend\n#else\n#define OF_SET NULL\n#endif\n\n"
        "static const tigris_kernel_entry *const kernels[] = {\n"
        + "".join(f"    &{kernel_symbol(kind, dtype)},\n" for kind, dtype in PARAMS)
        + "};\n\nconst tigris_backend tigris_portable_backend = "
        '{"portable", kernels, sizeof kernels / sizeof kernels[0], NULL, OF_SET};\n'
    )


def render_kinds() -> str:
    """The text of kinds.h."""
    prefix = "TIGRIS_OP_KIND_"
    split = [f"{prefix}{kind.name}" for kind, traits in TRAITS.items() if traits.split]
    factors = [f"[{prefix}{kind.name}]={traits.work.factors}" for kind, traits in TRAITS.items() if traits.work.factors]
    macros = {"KINDS_THAT_SPLIT": split, "FACTORS_OF_KINDS": factors}
    text = "".join(f"#define TIGRIS_{name} \\\n" + " \\\n".join(textwrap.wrap(", ".join(items), 110)) + "\n\n"
                   for name, items in macros.items())  # fmt: skip
    return (
        f"/* Traits of kinds as elements of arrays, {_BY}. Do not edit. */\n"
        f'#ifndef TIGRIS_KINDS_H\n#define TIGRIS_KINDS_H\n\n#include "tigris_format.h"\n\n{text}#endif\n'
    )


#: Path of each generated file to the function that makes its text.
FILES: dict[Path, Callable[[], str]] = {
    HEADER_PATH: render,
    PARAMS_PATH: render_params,
    HEADER_PATH.with_name("tigris_kernels.h"): render_kernels,
    _RUNTIME / "src" / "kernels" / "portable.c": render_table,
    _RUNTIME / "src" / "kinds.h": render_kinds,
}


if __name__ == "__main__":
    for path, rendered in FILES.items():
        path.write_text(rendered(), encoding="utf-8", newline="\n")
