"""The ESP-IDF port against its documented interface, on this machine."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests import retrained
from tigris_pio import compile_model
from tigris_pio.format.records import Header

ROOT = Path(__file__).resolve().parents[2]
HERE = ROOT / "tests" / "esp_idf"
OK, TOO_SMALL, NO_PARTITION, ABSENT, OTHER, INTERFACE, MAPPING = 0, -41, -40, -42, -43, -44, -45
FAST_TOO_SMALL, NOT_A_PLAN, VERSION, SECTION = -2, -10, -11, -20
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
    exact = f"-DEXACT_CRC32={Header.unpack(plan.read_bytes()).crc32}U"
    for program in ("port_open", "port_run"):
        parts = [str(HERE / f"{program}.c"), *map(str, objects.glob("*.o"))]
        subprocess.run([*common, exact, *parts, "-lm", "-o", str(folder / program)], check=True)
    return folder


def written(at: int, data: bytes):
    return lambda plan: plan[:at] + data + plan[at + len(data) :]


@pytest.mark.parametrize(
    ("change", "size", "pages", "built_with", "status"),
    [
        (bytes, 1 << 20, 1, "the plan", OK),
        (bytes, 1 << 20, 1, "exact", OK),
        (bytes, 1 << 20, 0, "the plan", MAPPING),
        (bytes, 4096, 1, "the plan", TOO_SMALL),
        (bytes, 100, 1, "the plan", TOO_SMALL),
        (bytes, 4096, 1, "another offset", TOO_SMALL),
        (bytes, 1 << 20, 1, "another name", OTHER),
        (bytes, 1 << 20, 1, "less fast memory", FAST_TOO_SMALL),
        (lambda plan: b"\xff" * len(plan), 1 << 20, 1, "the plan", ABSENT),
        (written(0, b"T?"), 1 << 20, 1, "the plan", NOT_A_PLAN),
        (written(4, b"\x63"), 1 << 20, 1, "the plan", VERSION),
        (written(12, b"\0\0\0\0"), 1 << 20, 1, "the plan", SECTION),
        (written(12, b"\1\0\x10\0"), 1 << 20, 64, "the plan", TOO_SMALL),
        # Only firmware that was built for one training alone minds another checksum.
        (written(16, b"abcd"), 1 << 20, 1, "the plan", OK),
        (written(16, b"abcd"), 1 << 20, 1, "exact", OTHER),
    ],
)
def test_each_outcome_has_its_status(built, tmp_path, change, size, pages, built_with, status):
    plan = (built / "digits.tgrs").read_bytes()
    mapped = len(plan) if status == OK else None
    assert opened(built, tmp_path, change(plan), size, pages, built_with) == (status, mapped)


def opened(built, tmp_path, plan, size=1 << 20, pages=1, built_with="the plan"):
    """The status, and if the plan was opened how many bytes were mapped for it."""
    flash = tmp_path / "flash.bin"
    flash.write_bytes(plan)
    command = [built / "port_open", flash, str(size), str(pages), built_with]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    status, elsewhere, mapped = map(int, done.stdout.split())
    assert elsewhere == NO_PARTITION
    return status, mapped if status == OK else None


def test_firmware_takes_plans_of_its_inputs_and_outputs_only(built, tmp_path):
    for change, status in (({"weights": 3}, OK), ({"input_scale": 2.0}, INTERFACE)):
        plan = compile_model(retrained.digits(tmp_path / "digits.onnx", **change), fast="64K").data
        assert opened(built, tmp_path, plan)[0] == status


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
