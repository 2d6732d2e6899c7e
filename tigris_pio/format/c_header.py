"""Writes `runtime/include/tigris_format.h` from the records; `python -m tigris_pio.format.c_header`."""

from __future__ import annotations

import enum
import inspect
import re
import textwrap
from pathlib import Path

from tigris_pio.format import enums, records
from tigris_pio.format.params import parameter_records
from tigris_pio.format.record import Record

HEADER_PATH = Path(__file__).resolve().parents[2] / "runtime" / "include" / "tigris_format.h"

_ENUMS: tuple[tuple[type[enum.IntEnum] | type[enum.IntFlag], str], ...] = (
    (enums.DType, "dtype"),
    (enums.Home, "home"),
    (enums.Strategy, "strategy"),
    (enums.WeightMode, "weight_mode"),
    (enums.HeaderFlag, "header_flag"),
    (enums.TensorFlag, "tensor_flag"),
    (enums.ViewFlag, "view_flag"),
    (enums.OperandFlag, "operand_flag"),
    (enums.OpKind, "op_kind"),
    (enums.RecurrentCell, "recurrent_cell"),
    (enums.RecurrentFunction, "recurrent_function"),
    (enums.UnaryFunction, "unary_function"),
    (enums.BinaryFunction, "binary_function"),
    (enums.ReduceFunction, "reduce_function"),
    (enums.VectorFunction, "vector_function"),
)


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


def enum_text(kind: type[enum.IntEnum] | type[enum.IntFlag], name: str) -> str:
    """C enum `tigris_<name>` of a Python one, with its comments."""
    prefix = "TIGRIS_" + name.upper() + "_"
    notes = enum_notes(kind)
    out = _comment(inspect.getdoc(kind) or "") + f"typedef enum tigris_{name} {{\n"
    members = [(member, int(value)) for member, value in kind.__members__.items()]
    for index, (member, value) in enumerate(members):
        if member in notes:
            out += _comment(notes[member], "    ")
        out += f"    {prefix}{member} = {value}" + ("," if index + 1 < len(members) else "") + "\n"
    return out + f"}} tigris_{name};\n\n"


def record_text(record: type[Record]) -> str:
    """C struct of a record, with its comments and a check of its size."""
    out = _comment(inspect.getdoc(record) or "") + f"typedef struct {record.C_NAME} {{\n"
    for field in record.layout():
        array = f"[{field.count}]" if field.count > 1 else ""
        out += _comment(field.doc, "    ") + f"    {field.c_type} {field.name}{array};\n"
    out += f"}} {record.C_NAME};\n"
    return out + f"TIGRIS_STATIC_ASSERT(sizeof({record.C_NAME}) == {record.size()}U, {record.C_NAME}_size);\n\n"


def render() -> str:
    """The header's text."""
    out = (
        "/* The .tgrs plan format, generated from tigris_pio/format by python -m tigris_pio.format.c_header.\n"
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
    out += "".join(enum_text(kind, name) for kind, name in _ENUMS)
    out += "".join(record_text(record) for record in records.STRUCTURE)
    out += "".join(record_text(record) for record in parameter_records())
    return out.rstrip() + "\n\n#endif\n"


if __name__ == "__main__":
    HEADER_PATH.write_text(render(), encoding="utf-8")
