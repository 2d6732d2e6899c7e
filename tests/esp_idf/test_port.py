"""The ESP-IDF port against its documented interface, on this machine."""

from __future__ import annotations

import subprocess
import zlib
from collections import Counter
from pathlib import Path

import pytest

from tests import retrained
from tests.harness.command import tigris
from tests.runtime.build import PLAIN, compile_each, core_objects
from tigris_pio import compile_model
from tigris_pio.format.records import CRC_COVERS_FROM, Header

ROOT = Path(__file__).resolve().parents[2]
HERE = ROOT / "tests" / "esp_idf"
FLASH = -47
OK, TOO_SMALL, NO_PARTITION, ABSENT, OTHER, INTERFACE, MAPPING, DAMAGED = 0, -41, -40, -42, -43, -44, -45, -46
FAST_TOO_SMALL, SLOW_TOO_SMALL, NOT_A_PLAN, VERSION = -2, -3, -10, -11
SLOW_BYTES = next(field.offset for field in Header.layout() if field.name == "slow_bytes")
OLD, NEW = 1, 2
FLAGS = "-std=c99 -D_ISOC11_SOURCE -Wall -Wextra -Wconversion -pedantic -Werror -DESP_PLATFORM -DTIGRIS_TENSOR_ALIGN=4"
INTERNAL, PSRAM, BYTES = 1 << 11, 1 << 10, 1 << 2


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The folder with the plan and the program: the port, the runtime and the generated headers."""
    folder = tmp_path_factory.mktemp("port")
    plan = folder / "digits.tgrs"
    model = [ROOT / "examples/digits/model/digits.onnx", "-m", "64K", "--name", "digits"]
    tigris("compile", *model, "--quiet", "-o", plan, "--header", folder / "tigris_model_digits.h")
    table = folder / "partitions.csv"
    table.write_text("factory, app, factory, 0x10000, 1M\nmodel, data, 0x40, , 1M\n", "utf-8")
    tigris("layout", "--model", "digits", plan, "model", "auto", "--table", table, "-o", folder)
    sources = [*(ROOT / "runtime" / "port").glob("*.c"), *(HERE / "stubs").glob("*.c")]
    includes = [ROOT / "runtime" / "include", HERE / "stubs", folder]
    common = ["gcc", *FLAGS.split(), *[f"-I{path}" for path in includes]]
    objects = [*core_objects(*PLAIN), *compile_each(common, sources, folder)]
    exact = f"-DEXACT_CRC32={Header.unpack(plan.read_bytes()).crc32}U"
    parts = [str(HERE / "port.c"), *map(str, objects)]
    subprocess.run([*common, exact, *parts, "-lm", "-o", str(folder / "port")], check=True)
    return folder


def printed(built: Path, act: str, *arguments: object) -> list[list[str]]:
    """The words of the lines that the program prints, by line."""
    done = subprocess.run([built / "port", act, *map(str, arguments)], capture_output=True, text=True, check=True)
    return [line.split() for line in done.stdout.splitlines()]


def written(at: int, data: bytes):
    """The change that writes `data` over a plan; a negative `at` counts from the end."""
    return lambda plan: plan[: at % len(plan)] + data + plan[at % len(plan) + len(data) :]


def sealed(plan: bytes) -> bytes:
    """With the checksum that the bytes have."""
    covered = plan[CRC_COVERS_FROM:]
    return plan[: CRC_COVERS_FROM - 4] + zlib.crc32(covered).to_bytes(4, "little") + covered


@pytest.mark.parametrize(
    ("change", "size", "pages", "built_with", "status"),
    [
        (bytes, 1 << 20, 1, "the plan", OK),
        (bytes, 1 << 20, 1, "exact", OK),
        (bytes, 1 << 20, 1, "unchecked", OK),
        (bytes, 1 << 20, 0, "the plan", MAPPING),
        (bytes, 4096, 1, "the plan", TOO_SMALL),
        (bytes, 100, 1, "the plan", TOO_SMALL),
        (bytes, 4096, 1, "another offset", TOO_SMALL),
        (bytes, 1 << 20, 1, "another name", OTHER),
        (bytes, 1 << 20, 1, "less fast memory", FAST_TOO_SMALL),
        (lambda plan: sealed(written(SLOW_BYTES, b"\x40")(plan)), 1 << 20, 1, "the plan", SLOW_TOO_SMALL),
        (lambda plan: b"\xff" * len(plan), 1 << 20, 1, "the plan", ABSENT),
        (lambda plan: b"\xff" * len(plan), 4096, 1, "the plan", ABSENT),
        (written(0, b"\xff" * 4096), 1 << 20, 1, "the plan", DAMAGED),
        (lambda plan: b"image" * 1000, 1 << 20, 1, "the plan", NOT_A_PLAN),
        (written(0, b"T?"), 1 << 20, 1, "the plan", DAMAGED),
        (written(4, b"\x63"), 1 << 20, 1, "the plan", VERSION),
        (written(12, b"\0\0\0\0"), 1 << 20, 1, "the plan", DAMAGED),
        (written(12, b"\1\0\x10\0"), 1 << 20, 64, "the plan", DAMAGED),
        (written(16, b"abcd"), 1 << 20, 1, "the plan", DAMAGED),
        (written(1000, b"abcd"), 1 << 20, 1, "the plan", DAMAGED),
        # Only firmware that was built for one training alone minds another checksum, once the bytes are right.
        (written(16, b"abcd"), 1 << 20, 1, "exact", DAMAGED),
        (lambda plan: sealed(written(-1, b"!")(plan)), 1 << 20, 1, "the plan", OK),
        (lambda plan: sealed(written(-1, b"!")(plan)), 1 << 20, 1, "exact", OTHER),
        (written(16, b"abcd"), 1 << 20, 1, "unchecked", OK),
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
    (line,) = printed(built, "open", flash, size, pages, built_with)
    status, elsewhere, mapped = map(int, line)
    assert elsewhere == NO_PARTITION
    return status, mapped if status == OK else None


@pytest.fixture(scope="module")
def damage(built, tmp_path_factory):
    """Damages the plan with, as the old one, one of the same size with other weights."""
    folder = tmp_path_factory.mktemp("old")
    old = compile_model(retrained.digits(folder / "digits.onnx", weights=3, layers=""), fast="64K").data
    (folder / "old.tgrs").write_bytes(old)
    assert len(old) == (built / "digits.tgrs").stat().st_size

    def run(kind: str) -> list[tuple[int, int, int]]:
        rows = printed(built, "damage", built / "digits.tgrs", folder / "old.tgrs", kind)
        return [(int(which), int(status), int(like)) for which, status, like in rows]

    return run


def test_a_flipped_bit_is_damage(damage):
    """All bits of the header and every 97th behind it. Of another version a plan says so itself, in 16 bits; the flag
    that its weights are read in place is only a claim where they are."""
    version, is_xip = range(8 * 4, 8 * 6), 8 * 8
    outcomes = damage("flips")
    assert len(outcomes) > 3000
    for bit, status, like in outcomes:
        allowed = {(VERSION, 0)} if bit in version else {(DAMAGED, 0)}
        assert (status, like) in allowed | ({(OK, NEW)} if bit == is_xip else set()), bit


def test_a_mixture_of_plans_is_damage(damage):
    outcomes = Counter((status, like) for _, status, like in damage("mixtures"))
    assert outcomes == {(OK, OLD): 1, (OK, NEW): 1, (DAMAGED, 0): outcomes.total() - 2}
    assert outcomes.total() > 10


def test_an_upload_cut_short_leaves_one_of_the_plans_or_damage(damage):
    outcomes = [(status, like) for _, status, like in damage("cuts")]
    assert outcomes[-1] == (OK, NEW)
    assert set(outcomes) == {(DAMAGED, 0), (OK, NEW)}
    assert len(outcomes) > 300


def test_firmware_takes_plans_of_its_inputs_and_outputs_only(built, tmp_path):
    for change, status in (({"weights": 3}, OK), ({"input_scale": 2.0}, INTERFACE)):
        plan = compile_model(retrained.digits(tmp_path / "digits.onnx", **change), fast="64K").data
        assert opened(built, tmp_path, plan)[0] == status


@pytest.mark.parametrize("cipher", [0, 0x5A])
def test_an_update_and_what_it_gives_back(built, tmp_path, cipher):
    """In plain and in encrypted flash, whose erased bytes read as anything."""
    old, new = (compile_model(retrained.digits(tmp_path / "d.onnx", weights=n), fast="64K", name="digits").data
                for n in (0, 3))  # fmt: skip
    (tmp_path / "flash.bin").write_bytes(b"\xff" * 0x2000 + old)
    (tmp_path / "new.tgrs").write_bytes(new)
    (line,) = printed(built, "update", tmp_path / "flash.bin", tmp_path / "new.tgrs", cipher)
    opened, refused, written, reopened, confirmed, too_large, is_new, held, pages = map(int, line)
    assert (opened, refused, written, reopened, confirmed, is_new) == (OK, FLASH, OK, OK, OK, 1)
    assert too_large == TOO_SMALL
    assert (held, pages) == (0, 0)


def test_arenas_time_and_pauses(built):
    seen = {name: int(value) for name, value in printed(built, "run", built / "model.bin")}
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
