"""The ESP-IDF port against its documented interface, on this machine."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
HERE = ROOT / "tests" / "esp_idf"
OK, TOO_SMALL, NO_PARTITION, ABSENT, OTHER = 0, -41, -40, -42, -43
FLAGS = "-std=c99 -D_ISOC11_SOURCE -Wall -Wextra -Wconversion -pedantic -Werror -DESP_PLATFORM -DTIGRIS_TENSOR_ALIGN=4"
INTERNAL, PSRAM, BYTES = 1 << 11, 1 << 10, 1 << 2


def tigris(*arguments: object) -> None:
    command = [sys.executable, "-m", "tigris_pio", *map(str, arguments)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The folder with the plan and both programs: the port, the runtime and the generated headers."""
    folder = tmp_path_factory.mktemp("port")
    plan = folder / "digits.tgrs"
    model = ["examples/digits/model/digits.onnx", "-m", "64K", "--name", "digits"]
    tigris("compile", *model, "--quiet", "-o", plan, "--header", folder / "tigris_model_digits.h")
    table = folder / "partitions.csv"
    table.write_text("factory, app, factory, 0x10000, 1M\nmodel, data, 0x40, , 1M\n", "utf-8")
    tigris("layout", "--model", "digits", plan, "model", "auto", "--table", table, "-o", folder)
    sources = [*(ROOT / "runtime" / "src").rglob("*.c"), *(ROOT / "runtime" / "port").glob("*.c")]
    includes = [ROOT / "runtime" / "include", HERE / "stubs", folder]
    common = ["gcc", *FLAGS.split(), *[f"-I{path}" for path in includes]]
    objects = folder / "objects"
    objects.mkdir()
    subprocess.run([*common, "-c", *map(str, [*sources, HERE / "stubs" / "chip.c"])], cwd=objects, check=True)
    for program in ("port_open", "port_run"):
        parts = [str(HERE / f"{program}.c"), *map(str, objects.glob("*.o"))]
        subprocess.run([*common, *parts, "-lm", "-o", str(folder / program)], check=True)
    return folder


@pytest.mark.parametrize(
    ("change", "size", "window", "status"),
    [
        (lambda plan: plan, 1 << 20, "free", OK),
        (lambda plan: plan, 4096, "free", TOO_SMALL),
        (lambda plan: plan, 1 << 20, "full", NO_PARTITION),
        (lambda plan: b"\xff" * len(plan), 1 << 20, "free", ABSENT),
        (lambda plan: plan[:16] + bytes([plan[16] ^ 1]) + plan[17:], 1 << 20, "free", OTHER),
    ],
)
def test_each_outcome_has_its_status(built, tmp_path, change, size, window, status):
    flash = tmp_path / "flash.bin"
    flash.write_bytes(change((built / "digits.tgrs").read_bytes()))
    done = subprocess.run([built / "port_open", flash, str(size), window], capture_output=True, text=True, check=True)
    assert done.stdout.split() == [str(status), str(NO_PARTITION)]


def test_arenas_time_and_pauses(built):
    done = subprocess.run([built / "port_run", built / "model.bin"], capture_output=True, text=True, check=True)
    seen = {name: int(value) for name, value in (line.split() for line in done.stdout.splitlines())}
    assert seen["status"] == OK
    assert (seen["fast_caps"], seen["slow_caps"]) == (INTERNAL | BYTES, PSRAM | BYTES)
    assert seen["misaligned"] == 0
    assert seen["absent_psram"] == seen["no_bytes"] == 1
    assert seen["step_us"] == 4000
    # Each look at the clock takes 4 ms, so a pause of 100 ms is due at every 25th call or so.
    assert seen["calls"] / 30 <= seen["pauses"] <= seen["calls"] / 20
    assert seen["calls_of_run"] >= 1
    assert seen["resets"] == seen["pauses"]
    assert seen["paused_at_once"] == seen["pauses"] + 1
    assert seen["resets_unsubscribed"] == seen["resets"]
