"""Python's messages, the C header and the C server agree."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.hil.conftest import RUNTIME, compile_c
from tigris_pio.hil import c_header, protocol
from tigris_pio.platformio.layout import Placed, models_header


def test_header_is_the_one_that_python_generates() -> None:
    assert c_header.HEADER_PATH.read_text(encoding="utf-8") == c_header.render()


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
    """That of docs/protocol.md, with a model's constants as the compiler writes them."""
    text = (RUNTIME.parent / "docs" / "protocol.md").read_text(encoding="utf-8")
    (program,) = (block.split("```", 1)[0] for block in text.split("```c\n")[1:])
    (tmp_path / "main.c").write_text(program, encoding="utf-8")
    constants = {"FAST_BYTES": "64u", "SLOW_BYTES": "0u", "OPS": "3u", "INTERFACE_CRC32": "1u", "KERNELS": "0"}
    lines = [f"#define TIGRIS_MODEL_KWS_{name} {value}" for name, value in constants.items()]
    (tmp_path / "tigris_model_kws.h").write_text("\n".join(lines) + "\n", encoding="utf-8")
    placed = {"model": [Placed("kws", 0, bytes(32))]}
    (tmp_path / "tigris_models.h").write_text(models_header(placed), encoding="utf-8")
    board = RUNTIME.parent / "tigris_pio" / "platformio" / "emulated" / "support" / "include"
    options = ("-c", "-I", str(board), "-I", str(tmp_path), '-DBOARD_NAME="a board"')
    compile_c(tmp_path / "main.o", [tmp_path / "main.c"], *options)
