"""Records, generated header and SPEC.md say the same."""

from __future__ import annotations

import dataclasses
import subprocess

import pytest

from tigris_pio.format import c_header, spec
from tigris_pio.format.params import parameter_records
from tigris_pio.format.record import Record, u8, u32
from tigris_pio.format.records import CRC_COVERS_FROM, STRUCTURE, Header, OperandRecord

ALL = (*STRUCTURE, *parameter_records())


@pytest.mark.parametrize("path", c_header.FILES, ids=lambda path: path.name)
def test_the_committed_files_are_the_generated_ones(path):
    assert path.read_text() == c_header.FILES[path]()


def test_the_tables_of_the_specification_are_the_generated_ones():
    text = spec.SPEC_PATH.read_text()
    assert spec.fill(text) == text


def test_a_c_compiler_lays_every_field_out_where_python_does(tmp_path):
    checks = [
        f"    if (offsetof({record.C_NAME}, {field.name}) != {field.offset}U) return 1;"
        for record in ALL
        for field in record.layout()
    ]
    source = tmp_path / "layout.c"
    includes = "#include <stddef.h>\n#include <tigris_params.h>\n"
    source.write_text(includes + "int main(void) {\n" + "\n".join(checks) + "\n    return 0;\n}\n")
    program = tmp_path / "layout"
    include = c_header.HEADER_PATH.parent
    subprocess.run(["gcc", "-std=c99", "-Werror", f"-I{include}", source, "-o", program], check=True)
    subprocess.run([program], check=True)


def test_misaligned_fields_are_refused():
    @dataclasses.dataclass(frozen=True)
    class Bad(Record):
        C_NAME = "bad"
        a: int = u8("one byte")
        b: int = u32("not on four")

    with pytest.raises(TypeError, match="not 4-byte aligned"):
        Bad.layout()


@pytest.mark.parametrize("record", ALL, ids=lambda r: r.C_NAME)
def test_pack_and_unpack_are_inverse(record):
    values = {}
    for place, field in enumerate(record.layout()):
        one = float(place) if field.c_type == "float" else place % 100
        if field.c_type == "char":
            values[field.name] = b"x" * (field.count - 1) + b"\0"
        else:
            values[field.name] = one if field.count == 1 else (one,) * field.count
    made = record(**values)
    assert len(made.pack()) == record.size()
    assert record.unpack(b"??" + made.pack(), 2) == made


def test_a_value_out_of_range_names_the_record():
    with pytest.raises(ValueError, match="OperandRecord"):
        OperandRecord(70000, 1, 1, 0, 0, 0).pack()


def test_the_checksum_starts_after_its_own_field():
    crc = next(field for field in Header.layout() if field.name == "crc32")
    assert crc.offset + 4 == CRC_COVERS_FROM
