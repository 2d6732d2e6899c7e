"""The adapters of kernel libraries: the host's bytes at every budget, and no byte outside the arenas."""

from __future__ import annotations

import random
import struct
import subprocess
from pathlib import Path

import numpy as np
import pytest

from tests.runtime.backends.libraries import CASES, VARIABLES, case_name, sources
from tests.runtime.build import C99, INCLUDE, SANITIZERS, compile_program
from tests.runtime.fuzz.geometries import Axis, conv
from tests.runtime.kernel_harness import Way, plan_for
from tests.runtime.loader import TIGRIS_ERR_FAST_TOO_SMALL
from tigris_pio import compile_model
from tigris_pio.compiler.emit.model_header import fast_bytes
from tigris_pio.compiler.pipeline import Compiled
from tigris_pio.format.enums import OpKind
from tigris_pio.format.records import Header
from tigris_pio.host import Session

SOURCE = Path(__file__).parent / "run_backend.c"
NETWORKS = ("ad", "kws", "micro_speech", "person_detect", "resnet")
BUDGETS = (("128K", 0), ("24K", "1M"))


@pytest.fixture(scope="module", params=CASES, ids=case_name)
def backend(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path, bool]:
    """A backend's name, the program that runs plans with it, and whether its library is a stand-in."""
    name, real = request.param
    given = sources(name, real)
    flags = [*given.flags, *SANITIZERS, *(["-w", "-fno-sanitize=undefined"] if real else [])]
    program = tmp_path_factory.mktemp("backend") / "run"
    return name, compile_program(program, [SOURCE, *given.files], *flags), not real


def run(program: Path, compiled: Compiled, x: np.ndarray, spare: int = 0) -> tuple[int, int, bytes]:
    """Status, bytes missing and output, in an arena of as much as the header says and `spare` more."""
    fast = fast_bytes(compiled.plan) + spare
    words = struct.pack("<IIII", len(compiled.data), fast, compiled.plan.slow_bytes, x.nbytes)
    result = subprocess.run([str(program)], input=words + compiled.data + x.tobytes(), capture_output=True, check=False)
    assert result.returncode == 0, result.stderr.decode(errors="replace")[-3000:]
    status, missing, size = struct.unpack_from("<iII", result.stdout)
    assert len(result.stdout) == 12 + size
    return status, missing, result.stdout[12:]


@pytest.mark.parametrize("network", NETWORKS)
def test_networks_give_the_recorded_bytes(backend: tuple[str, Path, bool], network: str, models_dir: Path) -> None:
    name, program, stands_in = backend
    vectors = np.load(models_dir / f"{network}_vectors.npz")
    x, expected = vectors["input_q"][0], vectors["output_tflm_q"][0]
    ran = 0
    for fast, slow in BUDGETS:
        compiled = compile_model(models_dir / f"{network}_int8.onnx", fast=fast, slow=slow, backend=name)
        status, missing, output = run(program, compiled, x)
        if status == TIGRIS_ERR_FAST_TOO_SMALL and stands_in:  # which takes its scratch as it likes
            status, _, output = run(program, compiled, x, spare=missing)
        assert status == 0
        assert output == expected.tobytes()
        ran += compiled.report["backend"]["ops"]
        with Session(compiled) as session:  # the portable kernels for plain operators
            (source,), (result,) = session.inputs, session.outputs
            y = session.run_raw({source.name: x.reshape(source.stored_shape)})[result.name]
            assert y.tobytes() == expected.tobytes()
    # Without a chip, what one chip's kernels cannot sum (the layer of micro_speech, on the ESP32-P4) is not asked for.
    assert ran >= (1 if (name, network) == ("esp-nn", "micro_speech") else 3)


def test_too_little_for_the_scratch_is_said(backend: tuple[str, Path, bool], models_dir: Path) -> None:
    name, program, stands_in = backend
    compiled = compile_model(models_dir / "kws_int8.onnx", fast="128K", backend=name)
    x = np.load(models_dir / "kws_vectors.npz")["input_q"][0]
    without = -compiled.report["memory"]["backend_scratch"]
    status, missing, _ = run(program, compiled, x, spare=without)
    if missing == 0:  # a library may take less than the compiler grants: on this machine, none
        assert status == 0 and not stands_in
        return
    assert status == TIGRIS_ERR_FAST_TOO_SMALL
    assert 0 < missing <= -without
    assert run(program, compiled, x, spare=without + missing)[0] == 0


#: Of 8 rows, 10 columns, 4 channels and a 3x3 kernel: bytes that the stand-ins ask for, whatever the band.
LARGEST = {
    ("cmsis-nn", OpKind.PLAIN_CONV_2D): 4 * 9 * 4,  # one row
    ("cmsis-nn", OpKind.PLAIN_DEPTHWISE_CONV_2D): 3 * 9 * 4,
    ("esp-nn", OpKind.PLAIN_CONV_2D): 10 * 12 * 4 + 16,  # padding on all sides
    ("esp-nn", OpKind.PLAIN_DEPTHWISE_CONV_2D): 10 * 12 * 4 + 16,
}


@pytest.mark.parametrize("kind", [OpKind.PLAIN_CONV_2D, OpKind.PLAIN_DEPTHWISE_CONV_2D], ids=lambda kind: kind.name)
def test_scratch_is_that_of_the_band_that_wants_most(backend: tuple[str, Path, bool], kind: OpKind) -> None:
    name, program, stands_in = backend
    if not stands_in:
        pytest.skip("the real libraries have formulas of their own")
    plan = plan_for(conv(kind, Axis(8, 3, 1, 1, 1), Axis(10, 3, 1, 1, 1), 4, 4, random.Random(1)), Way(8))
    header = Header.unpack(plan)
    words = struct.pack("<IIII", len(plan), header.fast_bytes, header.slow_bytes, 0)
    result = subprocess.run([str(program)], input=words + plan, capture_output=True, check=True)
    status, missing, _ = struct.unpack_from("<iII", result.stdout)
    assert (status, missing) == (TIGRIS_ERR_FAST_TOO_SMALL, -(-LARGEST[name, kind] // 16) * 16)


@pytest.mark.parametrize("name", VARIABLES)
def test_adapters_compile_without_warnings(name: str, tmp_path: Path) -> None:
    given = sources(name, real=False)
    for compiler in ("gcc", "clang"):
        for path in given.files[:-1]:
            for flags in (given.flags, ()):
                command = [compiler, *C99, *flags, f"-I{INCLUDE}", "-c", str(path), "-o", str(tmp_path / "object.o")]
                result = subprocess.run(command, capture_output=True, text=True, check=False)
                assert result.returncode == 0, result.stderr
