"""The port for firmware without a partition table: the linker knows where the plans lie."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.harness.command import tigris
from tests.runtime.build import SANITIZERS, core_objects

ROOT = Path(__file__).resolve().parents[2]
FLAGS = "-std=c99 -Wall -Wextra -Wconversion -pedantic -Werror"
PROGRAM = """
#include <stdio.h>
#include <string.h>
#include <tigris_models.h>
static TIGRIS_ALIGNED uint8_t fast[TIGRIS_MODEL_DIGITS_FAST_BYTES];
static tigris_plan plan;
static tigris_session session;
int main(void)
{
    tigris_model elsewhere = TIGRIS_MODEL_DIGITS, outside = TIGRIS_MODEL_DIGITS;
    elsewhere.partition = "elsewhere";
    outside.offset = 1U << 20;
    printf("%d %d ", (int)tigris_model_open(&elsewhere, &plan), (int)tigris_model_open(&outside, &plan));
    tigris_status status = tigris_model_open(&TIGRIS_MODEL_DIGITS, &plan);
    if (status == TIGRIS_OK)
        status = tigris_session_init(&session, &plan, fast, sizeof fast, NULL, 0, NULL);
    if (status == TIGRIS_OK)
        status = tigris_run(&session);
    tigris_model_close(&plan);
    printf("%d %d %d %d\\n", (int)status, (int)tigris_run(&session), (int)tigris_session_reset(&session),
           tigris_input(&session, 0) == NULL && tigris_output(&session, 0) == NULL);
    return 0;
}
"""


def documented(start: str) -> str:
    """The assembler lines of the port's comment, between its stars."""
    comment = (ROOT / "runtime" / "port" / "linked.c").read_text("utf-8").split("*/", 1)[0]
    lines = [line.removeprefix(" *").strip() for line in comment.splitlines()]
    return "\n".join(line for line in lines[lines.index(start) :][:6])


@pytest.fixture
def folder(tmp_path):
    """A plan, its partition's content and headers."""
    plan, table = tmp_path / "digits.tgrs", tmp_path / "table.csv"
    table.write_text("factory, app, factory, 0x10000, 1M\nmodel, data, 0x40, , 1M\n", "utf-8")
    model = [ROOT / "examples" / "digits" / "model" / "digits.onnx", "-m", "64K", "--align", "32"]
    tigris("compile", *model, "-o", plan, "--header", tmp_path / "tigris_model_digits.h")
    tigris("layout", "--model", "digits", plan, "model", "auto", "--table", table, "-o", tmp_path)
    return tmp_path


def test_a_model_is_found_where_the_linker_put_it(folder):
    (folder / "main.c").write_text(PROGRAM, "utf-8")
    (folder / "model.s").write_text(documented(".section .rodata") + "\n.section .note.GNU-stack\n", "utf-8")
    runtime = ROOT / "runtime"
    sources = [*core_objects(*SANITIZERS), *(runtime / "port").glob("*.c"), folder / "main.c", folder / "model.s"]
    command = ["gcc", *FLAGS.split(), *SANITIZERS, '-DTIGRIS_PORT_LINKED="model"']
    command += [f"-I{runtime / 'include'}", f"-I{folder}"]
    subprocess.run([*command, *sources, "-lm", "-o", folder / "program"], cwd=folder, check=True)
    done = subprocess.run([folder / "program"], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["-40", "-41", "0", *("-1", "-1", "1")]  # the last three: closed
