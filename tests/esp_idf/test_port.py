"""The ESP-IDF port against ESP-IDF's documented interface, on this computer."""

import subprocess
import zlib
from pathlib import Path

import numpy as np
import pytest

from tests import retrained
from tests.harness.command import tigris
from tests.runtime.build import INCLUDE, PLAIN, ROOT, compile_each, compile_program, core_objects
from tigris_pio import compile_model
from tigris_pio.format.enums import HeaderFlag
from tigris_pio.format.records import CRC_COVERS_FROM, Header

HERE = ROOT / "tests" / "esp_idf"
FLASH = -47
OK, TOO_SMALL, NO_PARTITION, ABSENT, OTHER, INTERFACE, MAPPING, DAMAGED = 0, -41, -40, -42, -43, -44, -45, -46
FAST_TOO_SMALL, SLOW_TOO_SMALL, NOT_A_PLAN, VERSION, SIGNATURE = -2, -3, -10, -11, -52
SLOW_BYTES = next(field.offset for field in Header.layout() if field.name == "slow_bytes")
FLAGS = "-std=c99 -D_ISOC11_SOURCE -Wall -Wextra -Wconversion -pedantic -Werror -DESP_PLATFORM -DTIGRIS_TENSOR_ALIGN=4"
INTERNAL, PSRAM, BYTES = 1 << 11, 1 << 10, 1 << 2


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The folder with the plan and the program: the port, the runtime and the generated headers."""
    return build(tmp_path_factory.mktemp("port"))


@pytest.fixture(scope="module")
def signed(tmp_path_factory):
    """The port's program with a public key, and key.pem, whose plans it opens by this computer's mbedTLS."""
    folder = tmp_path_factory.mktemp("signed")
    tigris("keygen", "-o", folder / "key.pem")
    return build(folder, ["--sign", folder / "key.pem"], ["-DTIGRIS_SIGNED"], ["-lmbedcrypto"])


def build(folder, options=(), defines=(), libraries=()):
    plan = folder / "digits.tgrs"
    model = [ROOT / "examples/digits/model/digits.onnx", "-m", "64K", "--name", "digits", *options]
    tigris("compile", *model, "--quiet", "-o", plan, "--header", folder / "tigris_model_digits.h")
    table = folder / "partitions.csv"
    table.write_text("factory, app, factory, 0x10000, 1M\nmodel, data, 0x40, , 1M\n", "utf-8")
    tigris("layout", "--model", "digits", plan, "model", "auto", "--table", table, "-o", folder)
    sources = [*(ROOT / "runtime" / "port").glob("*.c"), *(HERE / "stubs").glob("*.c")]
    includes = [ROOT / "runtime" / "include", HERE / "stubs", folder]
    common = ["gcc", *FLAGS.split(), *defines, *[f"-I{path}" for path in includes]]
    objects = [*core_objects(*PLAIN), *compile_each(common, sources, folder)]
    exact = f"-DEXACT_CRC32={Header.unpack(plan.read_bytes()).crc32}U"
    parts = [str(HERE / "port.c"), *map(str, objects)]
    subprocess.run([*common, exact, *parts, "-lm", *libraries, "-o", str(folder / "port")], check=True)
    return folder


def printed(built: Path, act: str, *arguments: object) -> list[list[str]]:
    """The words of the program's lines, by line."""
    done = subprocess.run([built / "port", act, *map(str, arguments)], capture_output=True, text=True, check=True)
    return [line.split() for line in done.stdout.splitlines()]


def written(at: int, data: bytes):
    """A change that writes `data` over a plan; a negative `at` counts from the end."""
    return lambda plan: plan[: at % len(plan)] + data + plan[at % len(plan) + len(data) :]


def sealed(plan: bytes) -> bytes:
    """The plan with the right checksum of its bytes."""
    covered = plan[CRC_COVERS_FROM:]
    return plan[: CRC_COVERS_FROM - 4] + zlib.crc32(covered).to_bytes(4, "little") + covered


def erased(plan: bytes) -> bytes:
    return b"\xff" * len(plan)


MB = 1 << 20


@pytest.mark.parametrize(("change", "size", "pages", "built_with", "status"), [
    (bytes, MB, 1, "the plan", OK), (bytes, MB, 1, "exact", OK),
    (written(8, bytes([HeaderFlag.HALF_AWAY])), MB, 1, "the plan", OK), (written(9, b"\1"), MB, 1, "the plan", DAMAGED),
    (bytes, MB, 0, "the plan", MAPPING),
    (bytes, 4096, 1, "the plan", TOO_SMALL), (bytes, 100, 1, "the plan", TOO_SMALL),
    (bytes, 4096, 1, "another offset", TOO_SMALL),
    (bytes, MB, 1, "another name", OTHER), (bytes, MB, 1, "less fast memory", FAST_TOO_SMALL),
    (lambda plan: sealed(written(SLOW_BYTES, b"\x40")(plan)), MB, 1, "the plan", SLOW_TOO_SMALL),
    (erased, MB, 1, "the plan", ABSENT), (erased, 4096, 1, "the plan", ABSENT),
    (written(0, b"\xff" * 4096), MB, 1, "the plan", DAMAGED),
    (lambda plan: b"image" * 1000, MB, 1, "the plan", NOT_A_PLAN),
    (written(4, b"\x63"), MB, 1, "the plan", VERSION),
    # Magic, size, a larger size, checksum, a weight.
    *((written(at, data), MB, 64, "the plan", DAMAGED) for at, data in
      [(0, b"T?"), (12, bytes(4)), (12, b"\1\0\x10\0"), (16, b"abcd"), (1000, b"abcd")]),
    # Only firmware for exactly one plan refuses another checksum if the bytes are right.
    (written(16, b"abcd"), MB, 1, "exact", DAMAGED), (written(16, b"abcd"), MB, 1, "unchecked", OK),
    (lambda plan: sealed(written(-1, b"!")(plan)), MB, 1, "the plan", OK),
    (lambda plan: sealed(written(-1, b"!")(plan)), MB, 1, "exact", OTHER),
])  # fmt: skip
def test_each_outcome_has_its_status(built, tmp_path, change, size, pages, built_with, status):
    plan = (built / "digits.tgrs").read_bytes()
    mapped = len(plan) if status == OK else None
    assert opened(built, tmp_path, change(plan), size, pages, built_with) == (status, mapped)


def opened(built, tmp_path, plan, size=1 << 20, pages=1, built_with="the plan"):
    """The status, and the bytes that were mapped for the plan if it was opened."""
    flash = tmp_path / "flash.bin"
    flash.write_bytes(plan)
    (line,) = printed(built, "open", flash, size, pages, built_with)
    status, elsewhere, mapped = map(int, line)
    assert elsewhere == NO_PARTITION
    return status, mapped if status == OK else None


def test_firmware_accepts_only_plans_with_its_inputs_and_outputs(built, tmp_path):
    """Or with any scales, if it reads them from the plan."""
    for change, status in (({"weights": 3}, OK), ({"input_scale": 2.0}, INTERFACE)):
        plan = compile_model(retrained.digits(tmp_path / "digits.onnx", **change), fast="64K").data
        assert opened(built, tmp_path, plan)[0] == status
        assert opened(built, tmp_path, plan, built_with="any scale")[0] == OK
    typed = sealed(written(Header.unpack(plan).io + 6, b"\1")(plan))  # the input's own type: int8, no longer float32
    assert opened(built, tmp_path, typed, built_with="any scale")[0] == INTERFACE


@pytest.mark.parametrize(("change", "status"), [
    (bytes, OK), (lambda plan: plan[:-72], SIGNATURE), (lambda plan: plan[:-1], SIGNATURE),
    (written(1000, b"abcd"), DAMAGED), (written(-1, b"!"), SIGNATURE),
    (lambda plan: sealed(written(1000, b"abcd")(plan[:-72])) + plan[-72:], SIGNATURE),
])  # fmt: skip
def test_firmware_with_a_key_opens_signed_plans_only(signed, tmp_path, change, status):
    plan = (signed / "digits.tgrs").read_bytes()
    for built_with in ("the plan", "unchecked"):
        wanted = SIGNATURE if status == DAMAGED and built_with == "unchecked" else status
        found, mapped = opened(signed, tmp_path, change(plan), built_with=built_with)
        assert (found, mapped) == (wanted, len(plan) if status == OK else None)


def test_firmware_without_a_key_opens_signed_plans(built, signed, tmp_path):
    plan = (signed / "digits.tgrs").read_bytes()
    assert opened(built, tmp_path, plan) == (OK, len(plan) - 72)


@pytest.mark.parametrize("cipher", [0, 0x5A])
def test_an_update_releases_its_mappings(built, tmp_path, cipher):
    """In plain and in encrypted flash, whose erased bytes read as random ones."""
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
    assert (seen["misaligned"], seen["absent_psram"], seen["no_bytes"], seen["step_us"]) == (0, 1, 1, 4000)
    # Each reading of the clock takes 4 ms, so a pause of 100 ms is due at about every 25th call.
    assert seen["calls"] / 30 <= seen["pauses"] <= seen["calls"] / 20
    assert seen["calls_of_run"] >= 1 and seen["resets"] == seen["pauses"] == seen["paused_at_once"] - 1
    assert seen["resets_unsubscribed"] == seen["resets"]


# The ESP-IDF port's second core, with threads instead of FreeRTOS's tasks.

SOURCES = [HERE / "port_cores.c", ROOT / "runtime/port/esp_idf_cores.c", *(HERE / "stubs").glob("*.c")]
#: Flags for ThreadSanitizer, as for other programs of two cores.
CORE_FLAGS = ("-O1", "-g1", "-fsanitize=thread", "-pthread")
DEFINES = ("-D_ISOC11_SOURCE", "-D_POSIX_C_SOURCE=200809L", "-DESP_PLATFORM", "-DTIGRIS_CORES=2")


@pytest.mark.thorough
@pytest.mark.parametrize("processors", [2, 1])
def test_the_other_core(processors: int, tmp_path: Path, models_dir: Path) -> None:
    """One program for each chip: its sessions give the recorded bytes with the task, without it and after it."""
    program = compile_program(tmp_path / "port_cores", SOURCES, *CORE_FLAGS, *DEFINES, f"-I{HERE / 'stubs'}",
                              f"-I{INCLUDE}", f"-DportNUM_PROCESSORS={processors}")  # fmt: skip
    data = np.load(models_dir / "kws_vectors.npz")
    compiled = compile_model(models_dir / "kws_int8.onnx", fast="64K", cores=2)
    contents = {"plan": compiled.data, "input": data["input_q"][0], "output": data["output_tflm_q"][0]}
    files = [tmp_path / name for name in contents if (tmp_path / name).write_bytes(bytes(contents[name]))]
    done = subprocess.run([program, *files], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    lines = [(name, int(value)) for name, value in (line.split() for line in done.stdout.splitlines())]
    is_dual = int(processors == 2)
    marks = len(compiled.report["cores"]["split"])
    for caller in (0, 1):  # the caller's core
        assert lines[6 * caller : 6 * caller + 6] == [
            ("started", is_dual), ("right", 1), ("right_again", 1), ("alone", 1), ("shared", 3 * marks),
            ("core", 1 - caller if is_dual else 0),
        ]  # fmt: skip
    assert lines[12:] == [
        ("stack", 3072 * is_dual), ("priority", 7 * is_dual), ("no_task", 0), ("no_semaphore", 0), ("without", 1),
        ("tasks", 2 * is_dual),
    ]  # fmt: skip
