"""Frames are found among any other bytes, no damaged frame is accepted, and all descriptions of messages agree."""

import subprocess
import zlib
from pathlib import Path

from cobs import cobs
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.harness.tiers import examples
from tests.hil.conftest import RUNTIME, compile_c
from tigris_pio.compiler.emit.model_header import arenas_macro
from tigris_pio.hil import c_header, protocol
from tigris_pio.hil.frames import LOG_BYTES, NOISE_BYTES, Frame, FrameReader, encode
from tigris_pio.hil.protocol import PAYLOAD_BYTES, FrameHeader
from tigris_pio.platformio.layout import Placed, models_header

frames = st.builds(
    Frame, st.integers(0, 255), st.integers(0, 255), st.integers(0, 65535), st.binary(max_size=3 * PAYLOAD_BYTES)
)
text = st.binary(max_size=60).map(lambda data: data.replace(b"\0", b"?"))


def test_bytes_of_a_known_frame() -> None:
    header = b"\x04\x07\x34\x12\x02\x00\x00\x00"
    checksum = zlib.crc32(header + b"\x00\xaa").to_bytes(4, "little")
    assert 0 not in checksum
    coded = b"\x06\x04\x07\x34\x12\x02\x01\x01\x01\x06\xaa" + checksum
    assert encode(Frame(4, 7, 0x1234, b"\x00\xaa")) == b"\0" + coded + b"\0"


@settings(max_examples=examples(30, 100))
@given(st.lists(st.tuples(text, frames), max_size=6), text, st.data())
def test_frames_are_found_between_noise_in_any_pieces(
    parts: list[tuple[bytes, Frame]], tail: bytes, data: st.DataObject
) -> None:
    stream = b"".join(noise + encode(frame) for noise, frame in parts) + tail
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=8)))
    reader, found = FrameReader(), []
    for first, end in zip([0, *cuts], [*cuts, len(stream)], strict=True):
        found += reader.feed(stream[first:end])
    assert found == [frame for _, frame in parts]
    assert reader.unread() == b"".join(noise for noise, _ in parts) + tail


@settings(max_examples=examples(30, 100))
@given(frames, st.data())
def test_a_changed_byte_and_lost_bytes_lose_this_frame_only(frame: Frame, data: st.DataObject) -> None:
    wire, after = encode(frame), Frame(1, 2, 3, b"next")
    first = data.draw(st.integers(1, len(wire) - 2))
    changed = bytearray(wire)
    changed[first] ^= data.draw(st.integers(1, 255))
    end = data.draw(st.integers(first + 1, len(wire) - 1))
    for damaged in (bytes(changed), wire[:first] + wire[end:]):
        assert FrameReader().feed(damaged + encode(after)) == [after]


def test_a_length_that_contradicts_the_payload_is_no_frame() -> None:
    for length, frames in ((5, []), (4, [Frame(1, 2, 3, b"four")])):
        body = FrameHeader(1, 2, 3, length).pack() + b"four"
        coded = cobs.encode(body + zlib.crc32(body).to_bytes(4, "little"))
        assert FrameReader().feed(b"\0" + coded + b"\0") == frames


def test_endless_noise_takes_no_endless_memory() -> None:
    reader = FrameReader()
    for _ in range(200):
        reader.feed(b"x" * 10_000)
    assert len(reader.unread()) <= NOISE_BYTES
    assert reader.feed(encode(Frame(1, 2, 3))) == [Frame(1, 2, 3)]
    assert reader.noise_bytes == 2_000_000


def test_the_log_has_what_was_printed_last() -> None:
    reader = FrameReader()
    for line in range(20_000):
        reader.feed(f"line {line}\r\n".encode() + encode(Frame(1, 2, 3)))
    assert "".join(f"line {line}\n" for line in range(20_000)).endswith(reader.log())
    assert 0.9 * LOG_BYTES < len(reader.log()) <= LOG_BYTES
    reader.feed(b"and no end")
    assert reader.log().endswith("line 19999\nand no end")


# Python's messages, the C header and the C server are consistent.


def test_header_is_the_one_that_python_generates() -> None:
    assert c_header.HEADER_PATH.read_text(encoding="utf-8") == c_header.render(), "make generated"


def test_every_message_fits_the_smallest_payload() -> None:
    messages = [record for record in protocol.RECORDS if record is not protocol.FrameHeader]
    assert {record.__name__ for record in messages if record.size() > protocol.PAYLOAD_BYTES} == set()


def test_c_compiler_lays_records_out_as_python_does(tmp_path: Path) -> None:
    lines = [f'printf("%zu\\n", sizeof({record.C_NAME}));' for record in protocol.RECORDS]
    lines += [
        f'printf("%zu\\n", offsetof({record.C_NAME}, {field.name}));'
        for record in protocol.RECORDS
        for field in record.layout()
    ]
    source = tmp_path / "sizes.c"
    includes = '#include <stddef.h>\n#include <stdio.h>\n#include "tigris_protocol.h"\n'
    source.write_text(includes + "int main(void)\n{\n" + "\n".join(lines) + "\nreturn 0;\n}\n")
    program = compile_c(tmp_path / "sizes", [source])
    printed = subprocess.run([program], capture_output=True, text=True, check=True).stdout.split()
    expected = [record.size() for record in protocol.RECORDS]
    expected += [field.offset for record in protocol.RECORDS for field in record.layout()]
    assert [int(word) for word in printed] == expected


def test_document_lists_every_message() -> None:
    text = (RUNTIME.parent / "docs" / "protocol.md").read_text(encoding="utf-8")
    assert f"This is version {protocol.VERSION}." in text
    assert f"largest payload is {protocol.PAYLOAD_BYTES} bytes" in text
    for request in protocol.Request:
        assert f"| {request.value} | {request.name} |" in text
    errors = text[text.index("ERROR refuses") :].split("\n## ")[0]
    for refusal in protocol.Refusal:
        assert f"| {refusal.value} |" in errors
    assert f"{protocol.Answer.BUSY.value} BUSY; {protocol.Answer.ERROR.value} ERROR" in text


def test_the_documented_firmware_compiles(tmp_path: Path) -> None:
    """The firmware of docs/protocol.md, with a model's constants as the compiler writes them."""
    text = (RUNTIME.parent / "docs" / "protocol.md").read_text(encoding="utf-8")
    (program,) = (block.split("```", 1)[0] for block in text.split("```c\n")[1:])
    (tmp_path / "main.c").write_text(program, encoding="utf-8")
    constants = {"FAST_BYTES": "64u", "SLOW_BYTES": "0u", "OPS": "3u", "INTERFACE_CRC32": "1u", "KERNELS": "0"}
    lines = [f"#define TIGRIS_MODEL_KWS_{name} {value}\n" for name, value in constants.items()]
    (tmp_path / "tigris_model_kws.h").write_text("".join(lines) + arenas_macro("TIGRIS_MODEL_KWS", 0), "utf-8")
    placed = {"model": [Placed("kws", 0, bytes(32))]}
    (tmp_path / "tigris_models.h").write_text(models_header(placed), encoding="utf-8")
    board = RUNTIME.parent / "tigris_pio" / "platformio" / "emulated" / "support" / "include"
    options = ("-c", "-I", str(board), "-I", str(tmp_path), '-DBOARD_NAME="a board"')
    compile_c(tmp_path / "main.o", [tmp_path / "main.c"], *options)
