"""Models as C in a real `pio run`: what the board prints is what the host computes."""

from __future__ import annotations

import re
import shutil
import sys
import zlib

import numpy as np

from tests.networks.folders import OWN
from tigris_pio import Session, compile_model
from tigris_pio.platformio import compiler as compilers
from tigris_pio.platformio import options, plain_c
from tigris_pio.platformio.partitions import find, parse_binary

from .project import ROOT

MAIN = """
#include <stdio.h>
#include <board.h>
#include "kws.h"
static KWS_ALIGNED uint8_t fast[KWS_FAST_BYTES];
int main(void)
{
    for (unsigned i = 0; i < KWS_INPUT_BYTES; i++)
        KWS_INPUT_IN(fast)[i] = (int8_t)(uint8_t)(i * 37U);
    int status = kws_run(KWS_INPUT_IN(fast), KWS_OUTPUT_IN(fast), fast);
    printf("[%d", status);
    for (unsigned i = 0; i < KWS_OUTPUT_BYTES; i++)
        printf(" %d", KWS_OUTPUT_IN(fast)[i]);
    printf("]\\n");
    for (;;)
        board_wait_uart();
}
"""
INI = f"""
[env:emu_cortex_m4]
board = emu_cortex_m4
custom_tigris_python = {sys.executable}
custom_tigris_models = kws.onnx
custom_tigris_mem = 6K
custom_tigris_mode = c
"""


def expected() -> bytes:
    compiled = compile_model(OWN / "kws_int8.onnx", fast="6K")
    with Session(compiled) as session:
        (source,) = session.inputs
        given = (np.arange(490) * 37).astype(np.uint8).view(np.int8).reshape(source.stored_shape)
        (output,) = session.run_raw({source.name: given}).values()
    return b"[0 " + b" ".join(str(value).encode() for value in output.reshape(-1)) + b"]"


def test_a_board_runs_a_model_that_is_c(new_project):
    project = new_project({"src/main.c": MAIN}, INI)
    shutil.copyfile(OWN / "kws_int8.onnx", project.folder / "kws.onnx")
    said = project.run("-t", "upload")
    assert "Writing model kws as C for 6K" in said
    plan = compile_model(OWN / "kws_int8.onnx", fast="6K").plan
    assert f"Model kws: {plan.fast_bytes - plan.state_bytes} bytes of fast and 0 of slow memory" in said
    assert project.serial("emu_cortex_m4", b"]").strip().endswith(expected())
    assert not (project.build("emu_cortex_m4") / "tigris" / "tigris_models.h").exists()
    again = project.run()
    assert "Writing model" not in again and "Compiling" not in again


def test_a_model_that_does_not_fit_stops_the_build(new_project):
    project = new_project({"src/main.c": MAIN}, INI.replace("6K", "1K"))
    shutil.copyfile(OWN / "kws_int8.onnx", project.folder / "kws.onnx")
    assert "does not fit 1 KB fast memory; the smallest fast memory that works is" in project.refused()


def test_two_models_that_are_one_in_c_stop_the_build(new_project):
    models = "\n  max = kws.onnx\n  model_max = kws.onnx"
    project = new_project({"src/main.c": MAIN}, INI.replace("kws.onnx", models))
    shutil.copyfile(OWN / "kws_int8.onnx", project.folder / "kws.onnx")
    assert "the models max and model_max are both model_max in C; name them by lines of" in project.refused()


def test_files_of_a_name_that_the_model_had_are_taken_away(tmp_path, monkeypatch):
    """Else they would be compiled as well."""
    (tmp_path / "kws.onnx").write_bytes(b"model")
    settings = options.parse({"custom_tigris_models": "kws.onnx", "custom_tigris_mem": "6K"}, tmp_path)
    folder = tmp_path / "c"
    folder.mkdir()
    names = iter(("a", "b", "b"))

    def run(*_):
        name = next(names)
        for end in (".c", ".h"):
            (folder / f"{name}{end}").write_text("", "utf-8")
        return {"c": {"name": name, "files": [f"/elsewhere/{name}.c", f"/elsewhere/{name}.h"], "fast_bytes": 1,
                      "slow_bytes": 0}}  # fmt: skip

    monkeypatch.setattr(compilers, "run", run)
    for number in range(3):
        plain_c.provide(settings.models[0], settings, compilers.Compiler(("python",), str(number), None), folder)
    assert {path.name for path in folder.iterdir()} == {"b.c", "b.h", "made.json"}


#: The page's own function, which calls a model beside its weights.
CODEGEN = (ROOT / "docs" / "codegen.md").read_text("utf-8")
(PAGE,) = re.findall(r"```text\n(#include <tigris_port.h>.*?)```", CODEGEN, re.S)
BESIDE_WEIGHTS = f"#include <stdio.h>\n#include <board.h>\n{PAGE}" + """
int main(void)
{
    for (unsigned i = 0; i < KWS_INPUT_BYTES; i++)
        KWS_INPUT_IN(fast)[i] = (int8_t)(uint8_t)(i * 37U);
    printf("[%d", run(KWS_INPUT_IN(fast), KWS_OUTPUT_IN(fast)));
    for (unsigned i = 0; i < KWS_OUTPUT_BYTES; i++)
        printf(" %d", KWS_OUTPUT_IN(fast)[i]);
    printf("]\\n");
    for (;;)
        board_wait_uart();
}
"""
PARTITION = f"lib_deps = tigris-pio=symlink://{ROOT}\ncustom_tigris_weights = partition\n"


def test_weights_are_flashed_in_a_partition_of_their_own(new_project):
    ini = INI.replace("kws.onnx", "\n  kws.onnx\n  max = kws.onnx")
    project = new_project({"src/main.c": BESIDE_WEIGHTS}, ini + PARTITION + "custom_tigris_partition = nn\n")
    shutil.copyfile(OWN / "kws_int8.onnx", project.folder / "kws.onnx")
    said = project.run("-t", "upload")
    generated = compile_model(OWN / "kws_int8.onnx", fast="6K").codegen(
        project.folder / "by hand", "kws", weights="partition")  # fmt: skip
    weights = generated.files["kws_weights.bin"]
    assert f"Weights of kws: {len(weights)} bytes at 0x0 of partition nn" in said
    flash = project.flash("emu_cortex_m4")
    partition = find(parse_binary(flash[0x8000:0x8C00]), "nn")
    assert partition is not None and flash[partition.offset :].startswith(weights)
    constants = (project.build("emu_cortex_m4") / "tigris" / "tigris_weights.h").read_text("utf-8")
    assert f"#define KWS_WEIGHTS_CRC32 0x{zlib.crc32(weights):08x}U" in constants
    second = int(re.search(r"MODEL_MAX_WEIGHTS_OFFSET 0x(\w+)U", constants)[1], 16)
    assert second % 4096 == 0 and flash[partition.offset + second :].startswith(weights)
    assert weights[:64] not in (project.build("emu_cortex_m4") / "firmware.bin").read_bytes()
    assert project.serial("emu_cortex_m4", b"]").strip().endswith(expected())
    again = project.run()
    assert "Writing model" not in again and "Compiling" not in again

    # Weights of another training stop a firmware that compares them, and come back alone.
    image = project.build("emu_cortex_m4") / "tigris" / "nn.bin"
    flash_file = project.state("emu_cortex_m4") / "flash.bin"
    project.switch_off()
    flash_file.write_bytes(flash.replace(weights, weights[:-20] + bytes([weights[-20] ^ 1]) + weights[-19:], 1))
    assert not flash_file.read_bytes()[partition.offset :].startswith(image.read_bytes())
    project.run("-t", "uploadmodel")
    assert project.flash("emu_cortex_m4") == flash
    assert project.serial("emu_cortex_m4", b"]").strip().endswith(expected())


def test_other_weights_than_the_firmware_s_are_refused(new_project):
    project = new_project({"src/main.c": BESIDE_WEIGHTS.replace("_CRC32)", "_CRC32 ^ 1U)")}, INI + PARTITION)
    shutil.copyfile(OWN / "kws_int8.onnx", project.folder / "kws.onnx")
    project.run("-t", "upload")
    assert b"\n[-1 " in project.serial("emu_cortex_m4", b"]")
    assert re.search(r"(?m)^model, data, 0x40, 0x\w+, 0x10000$", project.run("-t", "tigris_table"))


def test_weights_that_do_not_fit_their_partition_stop_the_build(new_project):
    table = "nvs, data, nvs, 0x9000, 0x6000\napp, app, factory, 0x10000, 0x100000\nmodel, data, 0x40, , 0x4000\n"
    project = new_project(
        {"src/main.c": BESIDE_WEIGHTS, "table.csv": table}, INI + PARTITION + "board_build.partitions = table.csv\n"
    )
    shutil.copyfile(OWN / "kws_int8.onnx", project.folder / "kws.onnx")
    said = project.refused()
    assert "custom_tigris_partition = model: the weights take" in said and "has 16384" in said
