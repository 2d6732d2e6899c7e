"""Each emulated board boots the flashed firmware, and opens a real plan in its flash."""

import json
import shlex
import subprocess

import pytest

from tests import retrained

from .project import ROOT

BOARDS = ("emu_rv32", "emu_cortex_m4", "emu_cortex_m7", "emu_cortex_m55")
BARE = """
#include <math.h>
#include <stdio.h>
#include <board.h>
static int initialised = 7;
static int zeroed;
static uint8_t outside[100000] BOARD_EXTERNAL_RAM;
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
    printf(" %d %d %d.\\n", board_flash_program(last, words, 8), board_flash_program(last, others, 8),
           board_flash_program(last + 4096, words, 8) | board_flash_erase(last + 4) | board_flash_erase(last + 4096));
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
OPENER = """
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
# A user's source in C and in C++: <memory.h> is the C library's, and the runtime's private headers are not found.
PRIVATE = sorted(
    spelled
    for folder in (ROOT / "runtime").iterdir()
    if folder.is_dir() and folder.name != "include"
    for path in folder.rglob("*.h")
    for spelled in (path.name, str(path.relative_to(folder)), str(path.relative_to(ROOT / "runtime")))
    if spelled != "memory.h"
)
OWN = "#include <memory.h>\n#include <tigris_serve.h>\nvoid own_copy(void *to, const void *from);\n" \
      "void own_copy(void *to, const void *from) { memcpy(to, from, 4); }\n" \
      + "".join(f'#if __has_include("{name}")\n#error {name} is found\n#endif\n' for name in PRIVATE)  # fmt: skip
SECTIONS = "".join(f"[env:{name}]\nboard = {name}\n" for name in BOARDS)
MODEL = f"lib_deps = tigris-pio=symlink://{ROOT}\ncustom_tigris_models = digits.onnx\ncustom_tigris_mem = 64K\n"


@pytest.fixture(scope="module")
def bare(shared_project):
    """A program without model and runtime; it is flashed to every board."""
    ini = SECTIONS.replace("board =", "extra_scripts =\nboard =")
    project = shared_project({"src/main.c": BARE}, ini, name="bare")
    project.run("-t", "upload")
    return project


@pytest.fixture
def opener(new_project):
    """A program that opens its model."""
    project = new_project({"src/main.c": OPENER}, f"{MODEL}[env:emu_rv32]\nboard = emu_rv32\n")
    retrained.digits(project.folder / "digits.onnx")
    return project


@pytest.mark.parametrize("name", BOARDS)
def test_a_board_runs_the_flashed_program(bare, name):
    text = bare.serial(name, b"echo", after=b".\r\n", send=b"echo").decode()
    assert "application at 0x00010000" in text
    assert "data 7 0 0, exp 2718, instructions" in text
    writes = name == "emu_rv32"
    assert f"chip ffffffff {'1 1 12345678 1 0 0' if writes else '0 0 ffffffff 0 0 0'}" in text
    elapsed = int(text.split("instructions ")[1].split()[0])
    assert 1000 < elapsed < 50000
    assert "panic" in bare.serial(name, b"panic", send=b"Write to flash").decode()

    bare.restart(name)
    text = bare.serial(name, b".\r\n").decode()
    assert f"instructions {elapsed}\r\n" in text, "instruction counts must repeat"
    assert f"chip {'12345678 1 1' if writes else 'ffffffff 0 0'}" in text, "what was written stays"

    bare.restart(name, (0x10000, b"\xff" * 4096))
    assert "holds no application" in bare.serial(name, b"no application").decode()
    bare.restart(name, (0x8000, b"\xff" * 4096))
    assert "boot: flash" in bare.serial(name, b"no partition table at 0x8000").decode()


# tests/platformio/test_backends.py and test_plain_c.py run a model on the other boards.
@pytest.mark.thorough
def test_a_fitting_plan_is_replaced_under_the_same_firmware(opener):
    """After training again -t uploadmodel is enough. A damaged plan is refused, and so is a table without the model."""
    name = "emu_rv32"
    opener.run("-t", "upload")
    assert "open: ok." in opener.serial(name, b".\r\n").decode()
    placed = opener.build(name) / "tigris" / "digits.tgrs"
    first = placed.read_bytes()
    offset = opener.flash(name).index(first)
    retrained.digits(opener.folder / "digits.onnx", weights=3)
    assert "Linking" not in opener.run("-e", name, "-t", "uploadmodel")
    plan = placed.read_bytes()
    assert plan != first and opener.flash(name)[offset : offset + len(plan)] == plan
    assert "open: ok." in opener.serial(name, b".\r\n").decode()
    opener.restart(name, (offset, plan[:16] + b"\xff" * 4080))
    assert "open: the plan is damaged, upload it again" in opener.serial(name, b".\r\n").decode()
    opener.restart(name, (0x8000, opener.flash(name)[0x8000:0x8C00].replace(b"model\0", b"wrong\0")))
    assert "open: the partition table has no such partition" in opener.serial(name, b".\r\n").decode()
    assert "The board is off" in opener.run("-t", "stop_board") and not opener.is_on(name)


def test_users_sources_see_only_the_runtimes_public_headers(opener):
    opener.run("-t", "compiledb")
    units = json.loads((opener.folder / "compile_commands.json").read_text("utf-8"))
    command = shlex.split(next(unit["command"] for unit in units if unit["file"].endswith("src/main.c")))
    options = [word for word in command[1:] if word.startswith(("-I", "-D", "-m", "--specs"))]
    assert f"-I{ROOT / 'runtime' / 'include'}" in options
    (opener.folder / "src" / "own.txt").write_text(OWN, "utf-8")
    for language in ("c", "c++"):
        compiler = ["riscv64-unknown-elf-gcc", "-x", language, "-Wall", "-Wextra", "-Werror", "-fsyntax-only"]
        done = subprocess.run([*compiler, *options, "src/own.txt"], cwd=opener.folder, capture_output=True, text=True,
                              check=False)  # fmt: skip
        assert done.returncode == 0, done.stderr
