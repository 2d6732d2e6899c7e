"""Writes the record tables of SPEC.md from the records; `python -m tigris_pio.format.spec`."""

import enum
import inspect
from pathlib import Path

from tigris_pio.format.c_header import ENUMS, enum_notes
from tigris_pio.format.kinds import PARAMS, parameter_records
from tigris_pio.format.record import Record
from tigris_pio.format.records import STRUCTURE

SPEC_PATH = Path(__file__).resolve().parents[2] / "SPEC.md"
BEGIN, END = "<!-- begin generated: {} -->", "<!-- end generated: {} -->"


def _record(record: type[Record]) -> str:
    rows = []
    for field in record.layout():
        array = f"[{field.count}]" if field.count > 1 else ""
        rows.append(f"| {field.offset} | {field.c_type}{array} | {field.name} | {field.doc} |")
    title = record.C_NAME.removeprefix("tigris_")
    doc = " ".join((inspect.getdoc(record) or "").split())
    head = f"### {title} ({record.size()} bytes)\n\n{doc}\n\n| offset | type | field | meaning |\n|---:|---|---|---|\n"
    return head + "\n".join(rows) + "\n"


def _enum(kind: type[enum.Enum]) -> str:
    notes = {name: note.replace("|", "\\|") for name, note in enum_notes(kind).items()}  # a bar would end the cell
    rows = [f"| {int(member.value)} | {name} | {notes.get(name, '')} |" for name, member in kind.__members__.items()]
    doc = " ".join((inspect.getdoc(kind) or "").split())
    return f"### {kind.__name__}\n\n{doc}\n\n| value | name | meaning |\n|---:|---|---|\n" + "\n".join(rows) + "\n"


def _kernels() -> str:
    rows = [f"| {kind.name} | {dtype.name} | {record.C_NAME} |" for (kind, dtype), record in PARAMS.items()]
    return "| kind | type | parameters |\n|---|---|---|\n" + "\n".join(rows) + "\n"


def tables() -> dict[str, str]:
    """Text of every generated part of SPEC.md, by name."""
    return {
        "structure": "\n".join(map(_record, STRUCTURE)),
        "enumerations": "\n".join(map(_enum, ENUMS)),
        "kernels": _kernels(),
        "parameters": "\n".join(map(_record, parameter_records())),
    }


def fill(text: str) -> str:
    """`text` with every generated part replaced."""
    for name, table in tables().items():
        begin, end = BEGIN.format(name), END.format(name)
        head, _, rest = text.partition(begin)
        _, _, tail = rest.partition(end)
        if not tail and end not in text:
            raise ValueError(f"SPEC.md lacks the markers of '{name}'")
        text = f"{head}{begin}\n\n{table}\n{end}{tail}"
    return text


if __name__ == "__main__":
    SPEC_PATH.write_text(fill(SPEC_PATH.read_text(encoding="utf-8")), encoding="utf-8")
