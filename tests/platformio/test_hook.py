"""The hook inside real `pio run`s, with a compiler whose plans are known byte by byte."""

from __future__ import annotations

import json
import shutil
import zlib

import numpy as np
import onnx
import pytest

from tests.compiler.models import make as make_model
from tests.compiler.models import node
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
MODEL = '{"plan": "abc"}'


@pytest.fixture
def make(new_project, fake_compiler):
    """A project with one model; `options` are added to its environment."""

    def make(*options, envs=("emu_rv32",), **files):
        sections = [
            "\n".join(
                [
                    f"[env:{name}]",
                    f"board = {'emu_rv32' if name.startswith('other') else name}",
                    f"build_flags = '-I{ROOT}/runtime/include' -DFAKE_HEAD={FAKE_HEAD}",
                    f"custom_tigris_python = {fake_compiler.python}",
                    *options,
                ]
            )
            for name in envs
        ]
        sources = {"src/main.c": MAIN, "models/alpha.onnx": MODEL, **files}
        return new_project(sources, "\n\n".join(sections) + "\n")

    return make


ONE = ("custom_tigris_models = models/alpha.onnx", "custom_tigris_mem = 64K")


def table_in_flash(project, environment="emu_rv32"):
    """Label -> (offset, size), as a bootloader reads them."""
    table = project.flash(environment)[partitions.TABLE_OFFSET :][: partitions.TABLE_BYTES]
    entries = [table[i : i + 32] for i in range(0, len(table), 32)]
    return {
        entry[12:28].rstrip(b"\0").decode(): (
            int.from_bytes(entry[4:8], "little"),
            int.from_bytes(entry[8:12], "little"),
        )
        for entry in entries
        if entry[:2] == b"\xaa\x50"
    }


def plan_at(project, offset, environment="emu_rv32"):
    """What the model said, of the plan in flash, and what is behind it."""
    return project.flash(environment)[offset + FAKE_HEAD :]


def test_one_upload_brings_everything_to_the_board(make):
    project = make(*ONE)
    text = project.run("-t", "upload")
    assert "Compiling model alpha for 64K (models/alpha.onnx)" in text
    assert "Model: [" in text
    assert "alpha: fast 64, slow 0 bytes" in text
    offset, size = table_in_flash(project)["model"]
    assert (offset, offset + size) == (0x110000, 4 << 20)
    assert plan_at(project, offset).startswith(b"abc\xff")
    assert b"[alpha abc]" in project.serial("emu_rv32", b"]")


def test_nothing_is_done_twice(make, fake_compiler):
    project = make(*ONE)
    project.run()
    again = project.run()
    for word in ("Compiling", "Linking", "Generating"):
        assert word not in again
    assert "Model: [" in again
    assert len(fake_compiler.runs()) == 1


def built_files(project):
    """Objects and firmware.elf, with the times they were written."""
    files = [*project.build("emu_rv32").rglob("*.o"), project.build("emu_rv32") / "firmware.elf"]
    assert len(files) > 2
    return {path: path.stat().st_mtime_ns for path in files}


def test_a_model_trained_anew_is_compiled_and_flashed_below_the_same_firmware(make, fake_compiler):
    project = make(*ONE)
    project.run()
    before = built_files(project)
    (project.folder / "models" / "alpha.onnx").write_text('{"plan": "new"}', "utf-8")
    text = project.run("-t", "upload")
    assert "Compiling model alpha" in text
    assert built_files(project) == before
    assert b"[alpha new]" in project.serial("emu_rv32", b"]")
    assert len(fake_compiler.runs()) == 2


@pytest.mark.parametrize("change", ['"fast": 128', '"interface": 7'])
def test_a_model_with_other_constants_is_linked(make, fake_compiler, change):
    project = make(*ONE)
    project.run()
    before = built_files(project)
    (project.folder / "models" / "alpha.onnx").write_text('{"plan": "abc", ' + change + "}", "utf-8")
    text = project.run()
    assert "Linking" in text
    changed = {path.name for path, time in built_files(project).items() if time != before[path]}
    assert changed == {"main.o", "firmware.elf"}


def test_firmware_for_one_training_alone_is_linked_for_each(make):
    project = make(*ONE, "custom_tigris_match = exact", "custom_tigris_check = no")
    project.run()
    assert f"0x{zlib.crc32(b'abc'):08x}u, /* this plan only */" in header_of(project)
    assert "1, /* the checksum is not compared */" in header_of(project)
    (project.folder / "models" / "alpha.onnx").write_text('{"plan": "new"}', "utf-8")
    assert "Linking" in project.run()
    assert f"0x{zlib.crc32(b'new'):08x}u, /* this plan only */" in header_of(project)


def header_of(project, environment="emu_rv32"):
    return (project.build(environment) / "tigris" / "tigris_models.h").read_text("utf-8")


def test_an_equal_plan_of_another_model_file_does_not_relink(make, fake_compiler):
    project = make(*ONE)
    project.run()
    (project.folder / "models" / "alpha.onnx").write_text('{ "plan": "abc" }', "utf-8")
    text = project.run()
    assert "Compiling model alpha" in text
    assert "Linking" not in text
    assert len(fake_compiler.runs()) == 2


def test_plans_outlive_the_build_folder_and_serve_all_environments(make, fake_compiler):
    project = make(*ONE, envs=("emu_rv32", "other"))
    assert "was compiled before" in project.run()
    project.run("-t", "clean")
    assert not project.build("emu_rv32").exists()
    assert "was compiled before" in project.run()
    assert len(fake_compiler.runs()) == 1


def test_options_reach_the_compiler(make, fake_compiler):
    make(*ONE, "custom_tigris_flash = 1M", "custom_tigris_compress = lz4").run()
    assert fake_compiler.runs() == ["alpha -m 64K -f 1M xip=False compress=lz4"]


def test_two_models_share_the_partition(make):
    project = make(
        "custom_tigris_models =", "  alpha = models/alpha.onnx", "  models/beta.onnx", "custom_tigris_mem = 64K",
        "custom_tigris_flash = 128K", "custom_tigris_partition = nn",
        **{"models/beta.onnx": '{"plan": "0123456789abcdef", "repeat": 300}'},
    )  # fmt: skip
    text = project.run("-t", "upload")
    assert text.count("Model: [") == 2
    offset, size = table_in_flash(project)["nn"]
    assert size == 256 << 10
    chip = plan_at(project, offset)
    assert chip[:0x10004] == b"abc".ljust(0x10000 - FAKE_HEAD, b"\xff") + chip[0x10000 - FAKE_HEAD : 0x10000] + b"0123"
    assert "TIGRIS_MODEL_BETA = {" in header_of(project)
    assert "0x10000u" in header_of(project)


def test_each_model_has_its_own_partition(make):
    project = make(
        "custom_tigris_models =", "  alpha = models/alpha.onnx", "  models/beta.onnx", "custom_tigris_mem = 64K",
        "custom_tigris_partition =", "  alpha = first", "  beta = second",
        **{"models/beta.onnx": '{"plan": "BETA"}'},
    )  # fmt: skip
    text = project.run("-t", "upload")
    assert text.count("Model: [") == 2
    table = table_in_flash(project)
    assert (table["first"], table["second"]) == ((0x110000, 0x170000), (0x280000, 0x180000))
    assert (plan_at(project, 0x110000)[:4], plan_at(project, 0x280000)[:5]) == (b"abc\xff", b"BETA\xff")
    assert b"[alpha abc]" in project.serial("emu_rv32", b"]")
    assert '"second"' in header_of(project)
    (project.folder / "models" / "beta.onnx").write_text('{"plan": "NEWER"}', "utf-8")
    project.run("-t", "uploadmodel")
    assert (plan_at(project, 0x110000)[:4], plan_at(project, 0x280000)[:6]) == (b"abc\xff", b"NEWER\xff")


def test_the_projects_own_table_is_the_base(make):
    table = "nvs,data,nvs,0x9000,0x6000\nmain,app,factory,0x20000,0x80000\nlast,data,fat,0x200000,0x1000\n"
    project = make(*ONE, "board_build.partitions = own.csv", **{"own.csv": table})
    project.run("-t", "upload")
    assert table_in_flash(project) == {
        "nvs": (0x9000, 0x6000),
        "main": (0x20000, 0x80000),
        "last": (0x200000, 0x1000),
        "model": (0x210000, 0x1F0000),
    }
    assert b"[alpha abc]" in project.serial("emu_rv32", b"]")


def test_a_program_may_begin_at_app_main_as_under_esp_idf(make):
    returns = MAIN.replace("int main(void)", "void app_main(void)").replace("board_wait_uart();", "return;")
    project = make(*ONE, **{"src/main.c": returns})
    project.run("-t", "upload")
    assert b"[alpha abc]" in project.serial("emu_rv32", b"]")


def test_a_program_without_an_entry_is_said_to_have_none(make):
    project = make(*ONE, **{"src/main.c": MAIN.replace("int main(void)", "int mian(void)")})
    result = project.pio("run")
    assert result.status and "undefined reference to `app_main'" in result.text, result.text


def test_a_model_partition_of_the_projects_table_is_used_as_it_is(make):
    table = "factory,app,factory,0x10000,0x80000\nmodel,data,0x40,0x300000,0x2000\ntail,data,fat,0x310000,0x1000\n"
    project = make(*ONE, "board_build.partitions = own.csv", **{"own.csv": table})
    project.run("-t", "upload")
    assert table_in_flash(project)["model"] == (0x300000, 0x2000)
    assert b"[alpha abc]" in project.serial("emu_rv32", b"]")


def test_integration_data_names_the_image(make):
    project = make(*ONE)
    result = project.pio("project", "metadata", "-e", "emu_rv32", "--json-output")
    assert result.status == 0, result.text
    images = json.loads(result.text[result.text.index("{") :])["emu_rv32"]["extra"]["flash_images"]
    assert {"offset": "0x110000", "path": str(project.build("emu_rv32") / "tigris" / "alpha.tgrs")} in images


def test_the_compilation_database_has_the_generated_header(make):
    project = make(*ONE)
    project.run("-t", "compiledb")
    commands = json.loads((project.folder / "compile_commands.json").read_text("utf-8"))
    assert any("main.c" in entry["file"] and "/tigris" in entry["command"] for entry in commands)


@pytest.mark.parametrize("words", [("project", "metadata", "-e", "emu_rv32"), ("run", "-t", "compiledb")])
def test_an_editor_finds_the_generated_header_before_the_first_build(make, words):
    project = make(*ONE)
    assert project.pio(*words).status == 0
    header = project.build("emu_rv32") / "tigris" / "tigris_models.h"
    assert "TIGRIS_MODEL_ALPHA" in header.read_text("utf-8")


def test_an_editor_gets_its_answer_for_a_model_that_does_not_compile(make):
    project = make(*ONE)
    (project.folder / "models" / "alpha.onnx").write_text('{"refuse": "no such operator"}', "utf-8")
    result = project.pio("project", "metadata", "-e", "emu_rv32", "--json-output")
    assert result.status == 0 and "flash_images" in result.text, result.text
    said = project.run("-t", "compiledb")
    assert "Warning: tigris_models.h is not there before the first build: " in said and "no such operator" in said


def test_cleaning_works_with_a_broken_option(make):
    project = make(*ONE)
    project.run()
    (project.folder / "models" / "alpha.onnx").unlink()
    project.run("-t", "clean")
    assert not project.build("emu_rv32").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("custom_tigris_models = models/no.onnx",), "custom_tigris_models = models/no.onnx: the file"),
        (
            (*ONE, "custom_tigris_memory = 1K"),
            "custom_tigris_memory = 1K: no such option; did you mean custom_tigris_mem?",
        ),
        ((ONE[0], "custom_tigris_mem = lots"), "custom_tigris_mem = lots: `lots` is no size"),
        ((*ONE, "custom_tigris_flash = 8M"), "custom_tigris_partition = model: no room for the model. It needs 8 MB"),
        ((*ONE, "board_build.partitions = no.csv"), "board_build.partitions: the partition table"),
        ((*ONE, "board_upload.flash_size = huge"), "board_upload.flash_size = HUGE: give the chip's size"),
    ],
)
def test_wrong_options_stop_the_build(make, fake_compiler, options, message):
    project = make(*options)
    assert f"Error: {message}" in project.refused()
    assert fake_compiler.runs() == []


def test_a_model_that_the_compiler_refuses_stops_the_build(make):
    refused = {"models/alpha.onnx": '{"refuse": "op Foo (node n1) is not supported"}'}
    project = make(ONE[0], "custom_tigris_mem = 8M", **refused)
    text = project.refused("-t", "upload")
    assert "Warning: custom_tigris_mem = 8M: 8388608 bytes of SRAM are more than the board's 409600" in text
    assert "op Foo (node n1) is not supported" in text
    assert not (project.build("emu_rv32") / "firmware.elf").exists()
    assert not project.state("emu_rv32").exists()


def test_a_plan_larger_than_its_partition_stops_the_build(make):
    table = "factory,app,factory,0x10000,0x80000\nmodel,data,0x40,0x300000,0x1000\n"
    model = '{"plan": "0123456789abcdef", "repeat": 257}'
    project = make(*ONE, "board_build.partitions = own.csv", **{"own.csv": table, "models/alpha.onnx": model})
    text = project.refused("-t", "upload")
    assert "the plans take 4132 bytes (alpha 4132), the partition at 0x300000 has 4096" in text
    assert not (project.build("emu_rv32") / "firmware.elf").exists()


def test_a_missing_compiler_is_one_error(make, fake_compiler):
    fake_compiler.python.write_text('#!/bin/sh\nunset PYTHONPATH\nexec python3 -S -E "$@"\n', "utf-8")
    text = make(*ONE).refused()
    assert f"Error: custom_tigris_python = {fake_compiler.python}: has no package tigris-pio" in text
    assert f'-m pip install "{ROOT}"' in text


def test_each_missing_tool_of_the_toolchain_is_named(make, tmp_path):
    tools, prefix = ("gcc", "gcc-ar", "gcc-ranlib", "objcopy", "size"), "riscv64-unknown-elf-"
    folder = tmp_path / "tools"
    folder.mkdir()
    project = make(*ONE)
    for tool in tools:
        if tool in ("gcc", "objcopy", "size"):
            text = project.refused(PATH=str(folder))
            assert f"Error: {prefix}{tool} is not installed; board emu_rv32 needs it" in text
            assert "sudo apt install binutils-riscv64-unknown-elf gcc-riscv64-unknown-elf" in text
        (folder / f"{prefix}{tool}").symlink_to(shutil.which(prefix + tool))


# ---- the model alone ---------------------------------------------------------------------------------------------


def test_the_model_alone_is_uploaded(make):
    project = make(*ONE)
    project.run("-t", "upload")
    before = project.flash("emu_rv32")
    (project.folder / "models" / "alpha.onnx").write_text('{"plan": "new"}', "utf-8")
    text = project.run("-t", "uploadmodel")
    assert "Linking" not in text
    offset, _ = table_in_flash(project)["model"]
    after = project.flash("emu_rv32")
    assert after[offset + FAKE_HEAD :].startswith(b"new\xff")
    assert (after[:offset], after[offset + 0x1000 :]) == (before[:offset], before[offset + 0x1000 :])
    assert "Error: -t uploadmodel: leave -t nobuild out" in project.refused("-t", "nobuild", "-t", "uploadmodel")
    assert b"[alpha new]" in project.serial("emu_rv32", b"]")


def test_the_model_alone_is_refused_by_another_table(make):
    project = make(*ONE)
    text = project.refused("-t", "uploadmodel")
    assert "Error: -t uploadmodel: the board has no partition table at 0x8000; upload everything first" in text
    project.run("-t", "upload")
    before = project.flash("emu_rv32")
    ini = project.folder / "platformio.ini"
    ini.write_text(ini.read_text("utf-8") + "custom_tigris_flash = 256K\n", "utf-8")
    text = project.refused("-t", "uploadmodel")
    assert "model: 0x110000 to 0x400000 (type 0x01/0x40) on the board, 0x110000 to 0x150000 (type 0x01/0x40)" in text
    assert project.flash("emu_rv32") == before


def test_each_environment_has_its_own_options(make, fake_compiler):
    project = make("custom_tigris_models = models/alpha.onnx", envs=("emu_rv32", "other"))
    ini = project.folder / "platformio.ini"
    text = ini.read_text("utf-8").replace("[env:emu_rv32]", "[env:emu_rv32]\ncustom_tigris_mem = 64K")
    ini.write_text(text + "custom_tigris_mem = 32K+1M\ncustom_tigris_partition = nn\n", "utf-8")
    project.run()
    assert [run.split(" -f")[0] for run in fake_compiler.runs()] == ["alpha -m 64K", "alpha -m 32K+1M"]
    assert '"nn"' in header_of(project, "other")


# ---- nothing stale, nothing damaged ------------------------------------------------------------------------------


def test_weights_in_a_file_of_any_name_are_compiled_anew(make, fake_compiler):
    """The .onnx stays as it is; what another training wrote is in its data file."""
    project = make("custom_tigris_models = alpha.onnx", ONE[1])
    onnx.save(
        make_model([node("MatMul", "x w", "y")], {"x": (1, 64)}, ["y"], {"w": np.ones((64, 64), np.float32)}),
        project.folder / "alpha.onnx", save_as_external_data=True, location="weights.bin", size_threshold=0,
    )  # fmt: skip
    project.run()
    assert "Compiling" not in project.run()
    weights = project.folder / "weights.bin"
    weights.write_bytes(bytes(64) + weights.read_bytes()[64:])
    assert "Compiling model alpha" in project.run()
    assert len(fake_compiler.runs()) == 2
    weights.unlink()
    assert "Compiling model alpha" in project.run()
    assert len(fake_compiler.runs()) == 3


def test_what_is_damaged_in_cache_or_build_folder_is_made_again(make, fake_compiler):
    project = make(
        "custom_tigris_models =", "  alpha = models/alpha.onnx", "  models/beta.onnx", "custom_tigris_mem = 64K",
        **{"models/beta.onnx": '{"plan": "beta"}'},
    )  # fmt: skip
    project.run("-t", "upload")
    (offset, _), folder = table_in_flash(project)["model"], project.build("emu_rv32") / "tigris"
    good = project.flash("emu_rv32")[offset : offset + 0x20000]
    for entry in (project.folder / ".pio" / "tigris" / "plans").iterdir():
        (entry / "plan.tgrs").write_bytes(b"")
    for name in ("alpha.tgrs", "beta.json", "model.bin", "tigris_models.h"):
        (folder / name).write_bytes(b"")
    text = project.run("-t", "upload")
    for name in ("alpha", "beta"):
        assert f"{name}.tgrs in the build folder is damaged: it is made again" in text
        assert f"The plan of model {name} in " in text
    assert project.flash("emu_rv32")[offset : offset + 0x20000] == good
    assert len(fake_compiler.runs()) == 4
    (folder / "model.bin").write_bytes(b"\0" + (folder / "model.bin").read_bytes()[1:])
    text = project.run("-t", "uploadmodel")
    assert "Compiling" not in text
    assert project.flash("emu_rv32")[offset : offset + 0x20000] == good
