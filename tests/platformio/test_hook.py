"""The hook in real `pio run`s, with a compiler whose plans are known byte by byte."""

import json
import shutil
import zlib

import pytest

from tests.harness.tiers import sampled
from tigris_pio.platformio import partitions

from .project import FAKE_HEAD, ROOT

MAIN = """
#include <stdio.h>
#include <board.h>
#include <tigris_models.h>
int main(void)
{
    const tigris_model *volatile model = &TIGRIS_MODEL_ALPHA; /* every constant of it is in the program */
    uint32_t offset = 0, bytes = 0;
    board_find_partition(model->partition, &offset, &bytes);
    printf("[%s %.3s]\\n", model->name, (const char *)board_flash() + offset + model->offset + FAKE_HEAD);
    for (;;)
        board_wait_uart();
}
"""
#: It returns, like programs under ESP-IDF.
APP_MAIN = MAIN.replace("int main(void)", "void app_main(void)").replace("board_wait_uart();", "return;")
ONE = ("custom_tigris_models = models/alpha.onnx", "custom_tigris_mem = 64K")
TWO = ("custom_tigris_models =\n  alpha = models/alpha.onnx\n  models/beta.onnx", "custom_tigris_mem = 64K")


@pytest.fixture
def make(new_project, fake_compiler):
    """A project with one model; adds `options` to each of its environments."""

    def make(*options, envs=("emu_rv32",), **files):
        common = (f"build_flags = '-I{ROOT}/runtime/include' -DFAKE_HEAD={FAKE_HEAD}",
                  f"custom_tigris_python = {fake_compiler.python}", *options)  # fmt: skip
        sections = ["\n".join([f"[env:{name}]\nboard = {board}", *common]) for name, board in
                    ((name, "emu_rv32" if name == "other" else name) for name in envs)]  # fmt: skip
        sources = {"src/main.c": MAIN, "models/alpha.onnx": '{"plan": "abc"}', **files}
        return new_project(sources, "\n\n".join(sections) + "\n", shares_objects=False)

    return make


def save_model(project, text, name="alpha"):
    (project.folder / "models" / f"{name}.onnx").write_text(text, "utf-8")


def table_in_flash(project):
    """Label -> (offset, size), as a bootloader reads them."""
    table = project.flash("emu_rv32")[partitions.TABLE_OFFSET :][: partitions.TABLE_BYTES]
    return {row.label: (row.offset, row.size) for row in partitions.parse_binary(table)}


def plan_at(project, offset):
    """The model's content in the plan in flash, and the bytes after it."""
    return project.flash("emu_rv32")[offset + FAKE_HEAD :]


def header_of(project, environment="emu_rv32"):
    return (project.build(environment) / "tigris" / "tigris_models.h").read_text("utf-8")


def built_files(project):
    """Objects and firmware.elf, with the times they were written."""
    files = [*project.build("emu_rv32").rglob("*.o"), project.build("emu_rv32") / "firmware.elf"]
    assert len(files) > 2
    return {path: path.stat().st_mtime_ns for path in files}


def test_one_upload_flashes_everything_and_no_step_runs_twice(make, fake_compiler):
    """A plan of another training is flashed under the same firmware. The firmware is compiled with the model's
    constants."""
    project = make(*ONE)
    text = project.run("-t", "upload")
    for words in ("Compiling model alpha for 64K (models/alpha.onnx)", "Model: [", "alpha: fast 64, slow 0 bytes"):
        assert words in text
    offset, size = table_in_flash(project)["model"]
    assert (offset, offset + size) == (0x110000, 4 << 20)
    assert plan_at(project, offset).startswith(b"abc\xff")
    assert b"[alpha abc]" in project.serial("emu_rv32", b"]")

    text = project.run()
    assert "Model: [" in text and not [word for word in ("Compiling", "Linking", "Generating") if word in text]
    assert len(fake_compiler.runs()) == 1

    for model, links in (('{"plan": "new"}', False), ('{"plan": "new", "fast": 128, "interface": 7}', True)):
        before = built_files(project)
        save_model(project, model)
        text = project.run("-t", "upload")
        assert "Compiling model alpha" in text and ("Linking" in text) == links
        changed = {path.name for path, time in built_files(project).items() if time != before[path]}
        assert ("firmware.elf" in changed) == links and changed <= {"main.o", "firmware.elf"}, model
    assert b"[alpha new]" in project.serial("emu_rv32", b"]")
    assert len(fake_compiler.runs()) == 3


def test_plans_outlive_the_build_folder_and_environments_have_their_own_options(make, fake_compiler):
    project = make(*ONE, envs=("emu_rv32", "other"))
    assert "was compiled before" in project.run()
    shutil.rmtree(project.folder / ".pio" / "build")
    for line in ("flash = 1M", "compress = lz4", "partition = nn", "match = exact", "check = no"):
        project.add_option(f"custom_tigris_{line}")
    assert "was compiled before" in project.run()
    assert fake_compiler.runs() == ["alpha -m 64K -f None xip=False compress=none",
                                    "alpha -m 64K -f 1M xip=False compress=lz4"]  # fmt: skip
    ours = ('"nn"', f"0x{zlib.crc32(b'abc'):08x}u, /* this plan only */", "1, /* the checksum is not compared */")
    assert [[part in header_of(project, name) for part in ours] for name in ("emu_rv32", "other")] == [
        [False] * 3, [True] * 3,
    ]  # fmt: skip
    (project.folder / "models" / "alpha.onnx").unlink()
    project.run("-t", "clean")
    assert not project.build("emu_rv32").exists()


def test_each_model_has_its_own_partition_and_is_uploaded_alone(make):
    project = make(*TWO, "custom_tigris_partition =\n  alpha = first\n  beta = second",
                   **{"models/beta.onnx": '{"plan": "BETA"}'})  # fmt: skip
    assert project.run("-t", "upload").count("Model: [") == 2
    table = table_in_flash(project)
    assert (table["first"], table["second"]) == ((0x110000, 0x170000), (0x280000, 0x180000))
    assert (plan_at(project, 0x110000)[:4], plan_at(project, 0x280000)[:5]) == (b"abc\xff", b"BETA\xff")
    assert '"second"' in header_of(project)
    before = project.flash("emu_rv32")
    save_model(project, '{"plan": "NEWER"}', "beta")
    assert "Linking" not in project.run("-t", "uploadmodel")
    after = project.flash("emu_rv32")
    assert plan_at(project, 0x280000)[:6] == b"NEWER\xff"
    assert (after[:0x280000], after[0x281000:]) == (before[:0x280000], before[0x281000:])
    assert b"[alpha abc]" in project.serial("emu_rv32", b"]")
    save_model(project, '{"plan": "OTHER", "scale": 0.25, "interface": 7}', "beta")
    text = project.refused("-t", "uploadmodel")
    assert "  beta, input x: scale 1 -> 0.25\nNothing was written. Build and flash everything: pio run" in text
    assert project.flash("emu_rv32") == after
    save_model(project, '{"plan": "LARGER", "fast": 65}', "beta")
    assert "  beta: fast memory 64 -> 65 bytes\nNothing" in project.refused("-t", "uploadmodel")
    save_model(project, '{"plan": "NEWER"}', "beta")
    project.run("-t", "uploadmodel")
    assert "Error: -t uploadmodel: leave -t nobuild out" in project.refused("-t", "nobuild", "-t", "uploadmodel")
    project.add_option("custom_tigris_flash = 256K")
    text = project.refused("-t", "uploadmodel")
    assert "second: 0x280000 to 0x400000 (type 0x01/0x40) on the board, 0x150000 to 0x190000 (type 0x01/0x40)" in text
    assert project.flash("emu_rv32") == after


def test_the_projects_own_table_is_the_base(make):
    """Firmware starts at app_main here, as under ESP-IDF."""
    table = "nvs,data,nvs,0x9000,0x6000\nmain,app,factory,0x20000,0x80000\nlast,data,fat,0x200000,0x1000\n"
    project = make(*ONE, "board_build.partitions = own.csv", **{"own.csv": table, "src/main.c": APP_MAIN})
    project.run("-t", "upload")
    assert table_in_flash(project) == {"nvs": (0x9000, 0x6000), "main": (0x20000, 0x80000), "last": (0x200000, 0x1000),
                                       "model": (0x210000, 0x1F0000)}  # fmt: skip
    assert b"[alpha abc]" in project.serial("emu_rv32", b"]")


def test_an_editor_gets_its_answer_before_the_first_build(make):
    """With the header; and for a model that does not compile."""
    project = make(*ONE)
    header = project.build("emu_rv32") / "tigris" / "tigris_models.h"
    assert (0x110000, header.with_name("alpha.tgrs")) in project.images("emu_rv32")
    assert "TIGRIS_MODEL_ALPHA" in header.read_text("utf-8")
    header.unlink()
    save_model(project, '{"refuse": "no such operator"}')
    said = project.run("-t", "compiledb")
    assert "Warning: tigris_models.h is not there before the first build: " in said and "no such operator" in said
    commands = json.loads((project.folder / "compile_commands.json").read_text("utf-8"))
    assert any("main.c" in entry["file"] and "/tigris" in entry["command"] for entry in commands)


SMALL_TABLE = "factory,app,factory,0x10000,0x80000\nmodel,data,0x40,0x300000,0x1000\n"
#: Options, the model, and the message; wrong options are refused before the compiler runs.
WRONG = [
    ("typo", (*ONE, "custom_tigris_memory = 1K"), "{}",
     "Error: custom_tigris_memory = 1K: no such option; did you mean custom_tigris_mem?"),
    ("hot", (*ONE, "custom_tigris_hot = yes"), "{}", "Error: custom_tigris_hot = yes: is for ESP32s"),
    ("refused", (ONE[0], "custom_tigris_mem = 8M"), '{"refuse": "op Foo (node n1) is not supported"}',
     "op Foo (node n1) is not supported"),
    ("table", (*ONE, "board_build.partitions = no.csv"), "{}", "Error: board_build.partitions: the partition table"),
    ("chip", (*ONE, "board_upload.flash_size = huge"), "{}", "Error: board_upload.flash_size = HUGE: give the chip's"),
    ("larger", (*ONE, "board_build.partitions = own.csv"), '{"plan": "0123456789abcdef", "repeat": 257}',
     "the plans take 4132 bytes (alpha 4132), the partition at 0x300000 has 4096"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "options", "model", "message"), sampled(WRONG, fast=("typo", "hot", "refused")))
def test_errors_stop_the_build(make, fake_compiler, name, options, model, message):
    project = make(*options, **{"own.csv": SMALL_TABLE, "models/alpha.onnx": model})
    text = project.refused("-t", "upload")
    assert message in text
    assert ("Warning: custom_tigris_mem = 8M: 8388608 bytes of SRAM are more than the board's 409600" in text) == (
        name == "refused")  # fmt: skip
    assert not (project.build("emu_rv32") / "firmware.elf").exists() and not project.board_folder("emu_rv32").exists()
    assert len(fake_compiler.runs()) == (name in ("refused", "larger"))


@pytest.mark.thorough
def test_a_missing_toolchain_is_named(make, tmp_path):
    text = make(*ONE).refused(PATH=str(tmp_path))
    assert "Error: riscv64-unknown-elf-gcc is not installed; board emu_rv32 needs it" in text
    assert "sudo apt install binutils-riscv64-unknown-elf gcc-riscv64-unknown-elf" in text


def test_damaged_files_of_cache_and_build_folder_are_written_again(make, fake_compiler):
    project = make(*TWO, **{"models/beta.onnx": '{"plan": "beta"}'})
    project.run("-t", "upload")
    (offset, _), folder = table_in_flash(project)["model"], project.build("emu_rv32") / "tigris"
    good = project.flash("emu_rv32")
    for entry in (project.folder / ".pio" / "tigris" / "plans").iterdir():
        (entry / "plan.tgrs").write_bytes(b"")
    for name in ("alpha.tgrs", "beta.json", "model.bin", "tigris_models.h"):
        (folder / name).write_bytes(b"")
    text = project.run("-t", "uploadmodel")
    for name in ("alpha", "beta"):
        assert f"{name}.tgrs in the build folder is damaged, so it is written again" in text
        assert f"The plan of model {name} in " in text
    assert project.flash("emu_rv32")[offset:] == good[offset:]
    assert len(fake_compiler.runs()) == 4
