"""Models as C in a real `pio run`: what the board prints is what the host computes."""

from __future__ import annotations

import shutil
import sys

import numpy as np

from tests.networks.folders import OWN
from tigris_pio import Session, compile_model

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
