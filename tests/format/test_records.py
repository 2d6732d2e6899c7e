"""Records, generated header and SPEC.md say the same; the reader of plans takes any bytes."""

import struct
import subprocess
import zlib
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.harness.tiers import counted
from tigris_pio import compile_model
from tigris_pio.errors import PlanError
from tigris_pio.format import c_header, spec
from tigris_pio.format.describe import describe_plan
from tigris_pio.format.kinds import parameter_records
from tigris_pio.format.params.shared import Clamp
from tigris_pio.format.reader import PlanFile, read_plan
from tigris_pio.format.record import Params, embed, u8, u32
from tigris_pio.format.records import CRC_COVERS_FROM, MAGIC, STRUCTURE, Header, OperandRecord

ALL = (*STRUCTURE, *parameter_records())


@pytest.mark.parametrize("path", c_header.FILES, ids=lambda path: path.name)
def test_the_committed_files_are_the_generated_ones(path):
    assert path.read_text() == c_header.FILES[path](), "make generated"


def test_the_tables_of_the_specification_are_the_generated_ones():
    text = spec.SPEC_PATH.read_text()
    assert spec.fill(text) == text, "make generated"


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
    class Bad(Params):
        a: int = u8("one byte")
        b: int = u32("not on four")

    with pytest.raises(TypeError, match="not 4-byte aligned"):
        Bad.layout()


def test_a_comment_for_a_field_that_an_embedded_record_lacks_is_refused():
    with pytest.raises(TypeError, match=r"Clamp has no field 'minimum'"):
        embed(Clamp, minimum="lowest output value")


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


# Whatever bytes are given for a plan, the reader gives its records or a PlanError, and so does its description.

DIGITS = Path(__file__).resolve().parents[2] / "examples" / "digits" / "model" / "digits.onnx"
PLAN = compile_model(DIGITS, fast="4K", slow="64K").data
TABLES = Header.unpack(PLAN).strings + Header.unpack(PLAN).strings_bytes
#: Words that checks of offsets and counts are likely to get wrong.
EDGES = [0, 1, 0x7F, 0xFF, 0xFFFF, 0x10000, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF]
WORDS = st.sampled_from(EDGES) | st.integers(0, 2**32 - 1)


def sealed(data: bytes) -> bytes:
    """With the size and checksum that the bytes have."""
    data = data[:12] + struct.pack("<I", len(data)) + data[16:]
    return data[: CRC_COVERS_FROM - 4] + struct.pack("<I", zlib.crc32(data[CRC_COVERS_FROM:])) + data[CRC_COVERS_FROM:]


def everything(plan: PlanFile) -> None:
    """All that users of the reader ask of it."""
    describe_plan(plan)
    for op in plan.ops:
        plan.params(op)


def test_the_plan_itself_is_read() -> None:
    assert sealed(PLAN) == PLAN
    everything(read_plan(PLAN))


@settings(max_examples=300)
@given(st.binary(max_size=600), st.booleans(), st.booleans())
def test_any_bytes_are_a_plan_or_refused(data: bytes, magic: bool, seal: bool) -> None:
    data = MAGIC + data if magic else data
    data = sealed(data) if seal and len(data) >= Header.size() else data
    with pytest.raises(PlanError):
        read_plan(data)


@settings(max_examples=100)
@given(st.integers(0, len(PLAN) - 1))
def test_a_plan_cut_short_is_refused(size: int) -> None:
    """With a header that admits it, when its tables are cut; weights the reader does not look at."""
    with pytest.raises(PlanError):
        read_plan(PLAN[:size])
    if Header.size() <= size < TABLES:
        with pytest.raises(PlanError):
            everything(read_plan(sealed(PLAN[:size])))


@counted(read=20, refused=50)
@settings(max_examples=400)
@given(changes=st.lists(st.tuples(st.integers(0, TABLES // 4 - 1), WORDS), min_size=1, max_size=3))
def test_changed_words_are_read_or_refused(seen: Counter[str], changes: list[tuple[int, int]]) -> None:
    """Damages the header, the tables or the names, and sets the checksum right."""
    data = bytearray(PLAN)
    for word, value in changes:
        struct.pack_into("<I", data, 4 * word, value)
    try:
        everything(read_plan(sealed(bytes(data))))
        seen["read"] += 1
    except PlanError:
        seen["refused"] += 1
