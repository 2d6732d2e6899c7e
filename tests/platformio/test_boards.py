"""Each emulated board boots what was flashed, and opens a real plan in its flash."""

from __future__ import annotations

import dataclasses
import json
import shlex
import shutil
import struct
import subprocess
import zlib

import pytest

from tests import retrained
from tigris_pio.format.records import CRC_COVERS_FROM, Header

from .project import ROOT, board_process

BOARDS = ("emu_rv32", "emu_cortex_m4", "emu_cortex_m7", "emu_cortex_m55")
MAIN = """
#include <math.h>
#include <stdio.h>
#include <board.h>
#include <tigris_models.h>
static int initialised = 7;
static int zeroed;
static uint8_t outside[100000] BOARD_EXTERNAL_RAM;
static tigris_plan plan;
int main(void)
{
    uint32_t start = board_instructions();
    for (volatile int i = 0; i < 1000; i++) {
    }
    uint32_t elapsed = board_instructions() - start;
    volatile float x = 1.0f;
    printf("data %d %d %d, exp %d, instructions %lu\\n", initialised, zeroed, outside[99999], (int)(expf(x) * 1000),
           (unsigned long)elapsed);
    static const uint32_t words[2] = {0x12345678u, 0xFFFFFFF0u}, others[2] = {0x12345670u, 0xFFFFFFF1u};
    const uint32_t last = board_flash_bytes() - 4096u;
    const uint32_t *there = (const uint32_t *)(const void *)(board_flash() + last);
    const uint32_t before = there[0];
    const int erased = board_flash_erase(last), programmed = board_flash_program(last, words, 8);
    printf("chip %lx %d %d %lx", (unsigned long)before, erased, programmed, (unsigned long)there[0]);
    printf(" %d %d %d\\n", board_flash_program(last, words, 8), board_flash_program(last, others, 8),
           board_flash_program(last + 4096, words, 8) | board_flash_erase(last + 4) | board_flash_erase(last + 4096));
    printf("open: %s.\\n", tigris_status_text(tigris_model_open(&TIGRIS_MODEL_DIGITS, &plan)));
    for (;;) {
        uint8_t data[16];
        size_t bytes = board_uart_read(data, sizeof data);
        board_uart_write(data, bytes);
        if (bytes != 0 && data[0] == 'W')
            *(volatile uint8_t *)(uintptr_t)board_flash() = 0;
        if (bytes == 0)
            board_wait_uart();
    }
}
"""
PRINTER = """
#include <stdio.h>
#include <board.h>
#include <tigris_models.h>
static tigris_plan plan;
int main(void)
{
    printf("open: %s.\\n", tigris_status_text(tigris_model_open(&TIGRIS_MODEL_DIGITS, &plan)));
    for (;;)
        board_wait_uart();
}
"""
# A user's own source, in C and in C++: <memory.h> is the C library's, and no private header of the runtime is found.
PRIVATE = sorted(
    spelled
    for folder in (ROOT / "runtime").iterdir()
    if folder.is_dir() and folder.name != "include"
    for path in folder.rglob("*.h")
    for spelled in (path.name, str(path.relative_to(folder)), str(path.relative_to(ROOT / "runtime")))
    if spelled != "memory.h"
)
OWN = "".join(
    [
        "#include <memory.h>\n#include <tigris_serve.h>\nvoid own_copy(void *to, const void *from);\n",
        "void own_copy(void *to, const void *from) { memcpy(to, from, 4); }\n",
        *(f'#if __has_include("{name}")\n#error {name} is found\n#endif\n' for name in PRIVATE),
    ]
)
INI = "lib_deps = tigris-pio=symlink://{root}\ncustom_tigris_models = digits.onnx\ncustom_tigris_mem = 64K\n" + "".join(
    f"[env:{name}]\nboard = {name}\n" for name in BOARDS
)


@pytest.fixture(scope="module")
def project(shared_project):
    project = shared_project({"src/main.c": MAIN}, INI.format(root=ROOT))
    shutil.copy(ROOT / "examples" / "digits" / "model" / "digits.onnx", project.folder)
    return project


@pytest.fixture(params=BOARDS)
def board(request, project):
    """(project, board name), flashed and started."""
    project.run("-e", request.param, "-t", "upload")
    return project, request.param


@pytest.mark.parametrize("language", ["c", "c++"])
def test_of_the_runtime_a_users_source_sees_the_public_headers_alone(project, language):
    database = project.folder / "compile_commands.json"
    if not database.is_file():
        project.run("-e", "emu_rv32", "-t", "compiledb")
    entries = json.loads(database.read_text("utf-8"))
    command = shlex.split(next(entry["command"] for entry in entries if entry["file"].endswith("src/main.c")))
    options = [word for word in command[1:] if word.startswith(("-I", "-D", "-m", "--specs"))]
    assert f"-I{ROOT / 'runtime' / 'include'}" in options
    (project.folder / "src" / "own.txt").write_text(OWN, "utf-8")
    compiler = ["riscv64-unknown-elf-gcc", "-x", language, "-Wall", "-Wextra", "-Werror", "-fsyntax-only"]
    done = subprocess.run(
        [*compiler, *options, "src/own.txt"], cwd=project.folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def restart(project, name):
    spec = board_process.read_spec(project.build(name) / "emulator.json")
    board_process.stop(project.state(name))
    board_process.start(project.state(name), spec, 25000, fixed_port=False)


def overwrite(project, name, offset, data):
    path = project.folder / "data.bin"
    path.write_bytes(data)
    board_process.write_flash(project.state(name), len(project.flash(name)), [(offset, path)])
    restart(project, name)


def model_offset(project, name):
    result = project.pio("project", "metadata", "-e", name, "--json-output")
    images = json.loads(result.text[result.text.index("{") :])[name]["extra"]["flash_images"]
    return next(int(image["offset"], 0) for image in images if image["path"].endswith(".tgrs"))


def renamed(plan):
    """The plan with another name."""
    return sealed(plan[:CRC_COVERS_FROM] + plan[CRC_COVERS_FROM:].replace(b"digits", b"Digits", 1))


def sealed(plan):
    """The plan with the checksum that its bytes have."""
    covered = plan[CRC_COVERS_FROM:]
    return plan[: CRC_COVERS_FROM - 4] + zlib.crc32(covered).to_bytes(4, "little") + covered


def test_a_board_runs_what_is_flashed(board):
    project, name = board
    text = project.serial(name, b"echo", after=b"open: ok.", send=b"echo").decode()
    assert "application at 0x00010000" in text
    assert "data 7 0 0, exp 2718, instructions" in text
    writes = name == "emu_rv32"
    assert f"chip ffffffff {'1 1 12345678 1 0 0' if writes else '0 0 ffffffff 0 0 0'}" in text
    assert "open: ok." in text
    elapsed = int(text.split("instructions ")[1].split()[0])
    assert 1000 < elapsed < 50000

    assert "panic" in project.serial(name, b"panic", send=b"Write to flash").decode()

    restart(project, name)
    text = project.serial(name, b"open").decode()
    assert f"instructions {elapsed}\r\n" in text, "instruction counts must repeat"
    assert f"chip {'12345678 1 1' if writes else 'ffffffff 0 0'}" in text, "what was written stays"

    offset = model_offset(project, name)
    plan = project.flash(name)[offset : offset + 0x10000]
    overwrite(project, name, offset, b"\xff" * 4096)
    assert "open: the plan is damaged, upload it again" in project.serial(name, b".").decode()
    overwrite(project, name, offset, b"\xff" * len(plan))
    assert "open: no plan was written to the partition" in project.serial(name, b".").decode()
    overwrite(project, name, offset, renamed(plan[: Header.unpack(plan).total_bytes]))
    assert "open: the partition holds another plan" in project.serial(name, b".").decode()
    table = project.flash(name)[0x8000:0x8C00]
    overwrite(project, name, 0x8000, table.replace(b"model\0", b"wrong\0"))
    assert "open: the partition table has no such partition" in project.serial(name, b".").decode()
    overwrite(project, name, 0x10000, b"\xff" * 4096)
    assert "holds no application" in project.serial(name, b"no application").decode()
    overwrite(project, name, 0x8000, b"\xff" * 4096)
    assert "boot: flash" in project.serial(name, b"no partition table at 0x8000").decode()


def test_the_board_is_stopped_and_started_by_platformio(board):
    project, name = board
    first = board_process.running_process(project.state(name))
    assert first is not None
    port = json.loads((project.state(name) / "board.json").read_text("utf-8"))["port"]
    text = project.run("-e", name, "-t", "nobuild", "-t", "upload")
    assert f"its UART is socket://127.0.0.1:{port}" in text
    second = board_process.running_process(project.state(name))
    assert second not in (None, first)
    assert "The board is off" in project.run("-e", name, "-t", "stop_board")
    assert board_process.running_process(project.state(name)) is None


def test_a_plan_is_exchanged_below_firmware_that_it_fits(shared_project):
    """After training again -t uploadmodel is enough; a plan with a larger arena or another scale is refused."""
    project = shared_project({"src/main.c": PRINTER}, INI.format(root=ROOT), name="exchange")
    retrained.digits(project.folder / "digits.onnx")
    project.run("-e", "emu_rv32", "-t", "upload")
    assert "open: ok." in project.serial("emu_rv32", b".").decode()
    first = (project.build("emu_rv32") / "tigris" / "digits.tgrs").read_bytes()

    retrained.digits(project.folder / "digits.onnx", weights=3)
    assert "Linking" not in project.run("-e", "emu_rv32", "-t", "uploadmodel")
    plan = (project.build("emu_rv32") / "tigris" / "digits.tgrs").read_bytes()
    assert plan != first
    assert "open: ok." in project.serial("emu_rv32", b".").decode()

    offset = model_offset(project, "emu_rv32")
    marked = plan[:16] + b"\xff" * 4080 + plan[4096:]
    for cut_off in (marked, plan[:4096] + b"\xff" * (len(plan) - 4096), plan[:64] + b"\xff" * 4032 + plan[4096:]):
        overwrite(project, "emu_rv32", offset, cut_off)
        assert "is damaged" in (text := project.serial("emu_rv32", b".").decode())
        assert "upload it again" in text
    header = Header.unpack(plan)
    larger = dataclasses.replace(header, fast_bytes=header.fast_bytes + 16).pack() + plan[Header.size() :]
    overwrite(project, "emu_rv32", offset, sealed(larger))
    assert "open: the fast arena is smaller than the plan needs" in project.serial("emu_rv32", b".").decode()
    (tensor,) = struct.unpack_from("<H", plan, header.io + 4)
    scale = header.tensors + 36 * tensor + 28
    overwrite(project, "emu_rv32", offset, sealed(plan[:scale] + struct.pack("<f", 0.5) + plan[scale + 4 :]))
    assert "open: the plan's inputs or outputs are not those" in project.serial("emu_rv32", b".").decode()
