"""A kernel library of platformio.ini runs the model on the board, with the host's outputs."""

import os
import re
import shutil
from pathlib import Path

import numpy as np
import pytest

from tests.runtime.backends.libraries import STAND_IN, VARIABLES, checkout
from tigris_pio import compile_model
from tigris_pio.host import Session
from tigris_pio.platformio.backend import RELEASE

from .project import ROOT

MODEL = ROOT / "examples" / "digits" / "model" / "digits.onnx"
MAIN = """
#include <stdio.h>
#include <board.h>
#include <tigris_models.h>
TIGRIS_MODEL_DIGITS_ARENAS(arenas);
static tigris_plan plan;
static tigris_session session;
int main(void)
{
    tigris_status status = tigris_model_open(&TIGRIS_MODEL_DIGITS, &plan);
    if (status == TIGRIS_OK)
        status = tigris_session_init(&session, &plan, &arenas, NULL);
    for (uint32_t i = 0; status == TIGRIS_OK && i < tigris_input_bytes(&session, 0); i++)
        ((int8_t *)tigris_input(&session, 0))[i] = (int8_t)(i * 37u % 251u - 125u);
    status = status == TIGRIS_OK ? tigris_run(&session) : status;
    printf("%s:", tigris_status_text(status));
    for (uint32_t i = 0; status == TIGRIS_OK && i < tigris_output_bytes(&session, 0); i++)
        printf(" %d", ((const int8_t *)tigris_output(&session, 0))[i]);
    printf(".\\n");
    for (;;)
        board_wait_uart();
}
"""
COMMON = f"""lib_deps = tigris-pio=symlink://{ROOT}
custom_tigris_models = {MODEL}
custom_tigris_mem = 64K
build_flags = -DNDEBUG
"""
LIBRARIES = {"emu_rv32": "esp-nn", "emu_cortex_m55": "cmsis-nn"}


#: Places of the stand-in's files in folders like the library's.
FOLDERS = {"esp-nn": ("include", "esp_nn.c", "src/stand_in_ansi.c"),
           "cmsis-nn": ("Include", "cmsis_nn.c", "Source/ConvolutionFunctions/stand_in_s8.c")}  # fmt: skip


def put_library(name: str, folder: Path) -> None:
    """Copies the real library if it is there, else the stand-in."""
    real, (headers, source, target) = checkout(name), FOLDERS[name]
    if real is not None:
        os.symlink(real, folder / name)
        return
    shutil.copytree(STAND_IN, folder / name / headers, ignore=shutil.ignore_patterns("*.c"))
    (folder / name / target).parent.mkdir(parents=True)
    shutil.copy(STAND_IN / source, folder / name / target)
    (folder / name / "idf_component.yml").write_text(f'version: "{RELEASE}"\n', "utf-8")


@pytest.mark.thorough
@pytest.mark.parametrize(("board", "name"), [
    pytest.param(*pair, marks=pytest.mark.vendor(VARIABLES[pair[1]], optional=True)) for pair in LIBRARIES.items()
])  # fmt: skip
def test_the_library_runs_on_the_board_with_the_host_s_outputs(board, name, new_project) -> None:
    # The stand-in needs scratch on every chip, the library itself on some.
    chip = "board_build.mcu = esp32s3\n" if name == "esp-nn" and checkout(name) is None else ""
    section = f"[env:{board}]\nboard = {board}\ncustom_tigris_backend = {name}\ncustom_tigris_backend_path = {name}\n"
    project = new_project({"src/main.c": MAIN}, COMMON + section + chip)
    put_library(name, project.folder)
    assert "tigris_backend" in project.run("-e", board, "-t", "upload", "-v")
    with Session(compile_model(MODEL, fast="64K")) as session:
        (source,) = session.inputs
        x = (np.arange(np.prod(source.stored_shape)) * 37 % 251 - 125).astype(np.int8)
        (expected,) = session.run_raw({source.name: x.reshape(source.stored_shape)}).values()
    answer = project.serial(board, b".\r\n").decode()
    assert f"ok: {' '.join(str(value) for value in expected.ravel())}." in re.sub(r"\s+", " ", answer)
    symbol = {"esp-nn": "esp_nn_conv_s8", "cmsis-nn": "arm_convolve_wrapper_s8"}[name]
    assert symbol.encode() in (project.build(board) / "firmware.elf").read_bytes()
