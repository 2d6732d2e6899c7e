"""docs/updates.md: its firmware is built as one file and runs on a simulated chip, and its sender talks to it."""

import re
import subprocess
import zlib
from pathlib import Path

from tests.runtime.build import C99, INCLUDE, PLAIN, ROOT, RUNTIME, compile_each, core_objects
from tests.update.plans import HERE, PORT, plan, write_model
from tigris_pio.format.records import CRC_COVERS_FROM

PAGE = (ROOT / "docs" / "updates.md").read_text("utf-8")
OK, NOT_A_PLAN, DAMAGED, ABSENT = 0, -10, -46, -42


def blocks(language: str) -> str:
    return "\n".join(re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL))


def test_its_firmware_updates_by_each_method(tmp_path: Path) -> None:
    write_model(tmp_path, "kws")
    plans = [plan(generation, name="kws")[0] for generation in range(3)]
    (tmp_path / "damaged.tgrs").write_bytes(plans[1][:-1] + b"?")
    (tmp_path / "not_found.html").write_text("<html>" + 300 * "-")
    (tmp_path / "page.h").write_text(blocks("c"), "utf-8")
    command = ["gcc", *C99, *PLAIN, "-DTIGRIS_TENSOR_ALIGN=4", f'-DPAGE="{tmp_path / "page.h"}"']
    command += [f"-I{path}" for path in (INCLUDE, RUNTIME / "port", HERE, HERE / "stand_in", tmp_path)]
    sources = [HERE / "page.c", HERE / "nor.c", *(RUNTIME / "port" / f"{name}.c" for name in PORT)]
    objects = [*compile_each(command, sources, tmp_path), *core_objects(*PLAIN)]
    subprocess.run(["gcc", *map(str, objects), "-lm", "-o", str(tmp_path / "page")], check=True)
    steps = [
        ("http", "1.tgrs", OK, 1), ("http", "missing.tgrs", NOT_A_PLAN, 1), ("http", "damaged.tgrs", DAMAGED, 1),
        ("http", "not_found.html", NOT_A_PLAN, 1), ("file", "2.tgrs", OK, 2), ("file", "missing.tgrs", ABSENT, 2),
        ("line", "damaged.tgrs", DAMAGED, 2), ("line", "0.tgrs", OK, 0), ("file", "1.tgrs", OK, 1),
    ]  # fmt: skip
    words = [word for way, file, *_ in steps for word in (way, str(tmp_path / file))]
    done = subprocess.run([tmp_path / "page", tmp_path / "0.tgrs", *words], capture_output=True, text=True, check=True)
    seen = [tuple(map(int, line.split())) for line in done.stdout.splitlines()]
    sums = [zlib.crc32(data[CRC_COVERS_FROM:]) for data in plans]
    assert seen == [(status, OK, sums[generation]) for _, _, status, generation in steps]


def test_its_sender_waits_for_each_answer() -> None:
    space: dict[str, object] = {}
    exec(blocks("python"), space)

    class Line:
        def __init__(self, answers: bytes) -> None:
            self.answers, self.sent = answers, b""

        def write(self, data: bytes) -> None:
            self.sent += data

        def read(self, count: int) -> bytes:
            answer, self.answers = self.answers[:count], self.answers[count:]
            return answer

    send, data = space["send"], bytes(600)
    assert callable(send)
    talks = ((b"+++=", 600, True), (b"+++-", 600, False), (b"+-", 512, False), (b"", 256, False))
    for answers, sent, is_taken in talks:
        line = Line(answers)
        assert send(line, data) is is_taken
        assert len(line.sent) == sent


def test_its_figures(tmp_path: Path) -> None:
    text = " ".join(PAGE.split())
    (source := tmp_path / "size.c").write_text(
        '#include "tigris_update.h"\nTIGRIS_STATIC_ASSERT(sizeof(tigris_update) == 288U, update);\n'
        "TIGRIS_STATIC_ASSERT(TIGRIS_SLOT_RECORDS_BYTES == 8U * 1024U, records);\n"
    )
    assert "takes 288 bytes" in text
    assert "reads 8 KB of records" in text
    command = ["riscv64-unknown-elf-gcc", "-march=rv32imc", "-mabi=ilp32", "--specs=picolibc.specs", f"-I{INCLUDE}"]
    subprocess.run([*command, "-fsyntax-only", str(source)], check=True)


def test_its_statuses_are_the_header_s() -> None:
    header = (INCLUDE / "tigris.h").read_text("utf-8")
    named = re.findall(r"\| (-\d+) `(TIGRIS_\w+)` \|", PAGE)
    assert len(named) == 7
    assert all(re.search(rf"\b{name} = {number}\b", header) for number, name in named)
