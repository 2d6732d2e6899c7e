"""The ESP-IDF port's second core, with threads instead of FreeRTOS's tasks."""

import subprocess
from pathlib import Path

import numpy as np
import pytest

from tests.runtime.build import INCLUDE, ROOT, compile_program
from tigris_pio import compile_model

HERE = ROOT / "tests" / "esp_idf"
SOURCES = [HERE / "port_cores.c", ROOT / "runtime/port/esp_idf_cores.c", *(HERE / "stubs").glob("*.c")]
#: Flags for ThreadSanitizer, as for other programs of two cores.
FLAGS = ("-O1", "-g1", "-fsanitize=thread", "-pthread")
DEFINES = ("-D_ISOC11_SOURCE", "-D_POSIX_C_SOURCE=200809L", "-DESP_PLATFORM", "-DTIGRIS_CORES=2")


@pytest.mark.thorough
@pytest.mark.parametrize("processors", [2, 1])
def test_the_other_core(processors: int, tmp_path: Path, models_dir: Path) -> None:
    """One program for each chip: its sessions give the recorded bytes with the task, without it and after it."""
    program = compile_program(tmp_path / "port_cores", SOURCES, *FLAGS, *DEFINES, f"-I{HERE / 'stubs'}", f"-I{INCLUDE}",
                              f"-DportNUM_PROCESSORS={processors}")  # fmt: skip
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
