"""The component in a project of the real ESP-IDF: run on its `linux` target, configured for chips.

IDF_PATH names a checkout (its submodules are needed for chips only) and IDF_PYTHON_ENV_PATH a Python environment with
esp-idf-kconfig, idf-component-manager, pyparsing and setuptools; for chips esptool as well, and the compilers on the
path. See docs/esp-idf.md, "Testing without hardware".
"""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tigris_pio import Session

from .project import HERE, ROOT, Project, copy_compiler, link_component

pytestmark = pytest.mark.vendor("IDF_PATH")

TABLE_OFFSET, MODEL_OFFSET, FLASH_BYTES = 0x8000, 0x110000, 0x200000
XTENSA = {chip: (f"xtensa-{chip}-elf-gcc", "xtensa-esp-elf-gcc") for chip in ("esp32", "esp32s2", "esp32s3")}
RISCV = ("esp32c2", "esp32c3", "esp32c5", "esp32c6", "esp32c61", "esp32h2", "esp32p4")
COMPILERS = {**XTENSA, **dict.fromkeys(RISCV, ("riscv32-esp-elf-gcc",))}
# Chips of the mock ROM bootloader.
MOCKED = ("esp32", "esp32s3", "esp32c3", "esp32c6")


def new_project(folder: Path, chip: str) -> Project:
    """A project in folder/tigris-pio/examples/app, without files yet, beside the component."""
    app = link_component(folder) / "examples" / "app"
    given = os.environ.get("IDF_PYTHON_ENV_PATH")
    python = str(Path(given) / "bin" / "python") if given else sys.executable
    environment = {
        "IDF_PYTHON_ENV_PATH": given or sys.prefix,
        "IDF_SKIP_CHECK_SUBMODULES": "1",
        "IDF_COMPONENT_CHECK_NEW_VERSION": "0",
        "TIGRIS_PYTHON": str(copy_compiler(folder)),
    }
    variables = {"IDF_TARGET": chip, "PYTHON_DEPS_CHECKED": "1", "PYTHON": python}
    if shutil.which("ccache"):
        variables["CCACHE_ENABLE"] = "1"
    return Project(app, variables, environment)


def kws_project(folder: Path, models_dir: Path, chip: str) -> Project:
    project = new_project(folder, chip)
    shutil.copytree(HERE / "app", project.folder)
    (project.folder / "models").mkdir()
    shutil.copyfile(models_dir / "kws_int8.onnx", project.folder / "models" / "kws.onnx")
    return project


def example_project(folder: Path, chip: str) -> Project:
    project = new_project(folder, chip)
    shutil.copytree(ROOT / "examples" / "digits-esp32s3-espidf", project.folder)
    (project.folder.parent / "digits").symlink_to(ROOT / "examples" / "digits")
    # Components that the example does not require need submodules. PlatformIO's builder needs all components.
    project.edit("CMakeLists.txt", "project(digits)", "idf_build_set_property(MINIMAL_BUILD ON)\nproject(digits)")
    return project


@pytest.fixture(scope="module")
def linux(tmp_path_factory, models_dir):
    """The application, built for this computer."""
    project = kws_project(tmp_path_factory.mktemp("idf"), models_dir, "linux")
    project.configure()
    project.build()
    return project


def flash(project: Project) -> bytes:
    """The flash after `idf.py flash`."""
    image = bytearray(b"\xff" * FLASH_BYTES)
    for offset, name in ((TABLE_OFFSET, "partition_table/partition-table.bin"), (MODEL_OFFSET, "tigris/model.bin")):
        content = (project.build_folder / name).read_bytes()
        image[offset : offset + len(content)] = content
    return bytes(image)


def run(project: Project, stored_input: bytes) -> str:
    """The application's output."""
    folder = project.folder
    (folder / "input.bin").write_bytes(stored_input)
    (folder / "flash.bin").write_bytes(flash(project))
    files = {"INPUT_FILE": str(folder / "input.bin"), "FLASH_FILE": str(folder / "flash.bin")}
    program = project.build_folder / "tigris_on_linux.elf"
    done = subprocess.run([program], env={**os.environ, **files}, capture_output=True, text=True, timeout=60,
                          check=False)  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def output_bytes(printed: str) -> bytes:
    match = re.search(r"^output((?: [0-9a-f]{2})+)$", printed, re.MULTILINE)
    assert match, printed
    return bytes.fromhex(match[1])


def test_outputs_are_the_hosts_and_the_references(linux, models_dir):
    recorded = np.load(models_dir / "kws_vectors.npz")
    with Session(linux.build_folder / "tigris" / "kws.tgrs") as session:
        (name,) = [io.name for io in session.inputs]
        shape = session.inputs[0].stored_shape
        for sample, reference in zip(recorded["input_q"][:4], recorded["output_tflm_q"][:4], strict=True):
            (expected,) = session.run_raw({name: sample.reshape(shape)}).values()
            printed = run(linux, sample.tobytes())
            assert output_bytes(printed) == expected.tobytes() == reference.tobytes()


@pytest.mark.vendor("TIGRIS_ESP_NN")
def test_esp_nn_runs_the_model_as_a_component(tmp_path, models_dir):
    """The kernels of a checkout of ESP-NN, with the host's outputs."""
    project = kws_project(tmp_path, models_dir, "linux")
    (project.folder / "components").mkdir()
    shutil.copytree(os.environ["TIGRIS_ESP_NN"], project.folder / "components" / "esp-nn")
    project.edit("main/CMakeLists.txt", "SRCS main.c", "SRCS main.c REQUIRES tigris-pio esp-nn")
    project.edit("main/CMakeLists.txt", "MEM 64K", "MEM 64K BACKEND esp-nn")
    project.configure()
    project.build()
    recorded = np.load(models_dir / "kws_vectors.npz")
    for sample, reference in zip(recorded["input_q"][:2], recorded["output_tflm_q"][:2], strict=True):
        assert output_bytes(run(project, sample.tobytes())) == reference.tobytes()
    program = project.build_folder / "tigris_on_linux.elf"
    assert b"esp_nn_depthwise_conv_s8" in program.read_bytes()


@pytest.mark.parametrize("chip", COMPILERS)
def test_the_example_is_flashed_to_a_chip(tmp_path, chip):
    project = example_project(tmp_path, chip)
    if not any(shutil.which(name) for name in COMPILERS[chip]):
        pytest.skip(f"no {COMPILERS[chip][-1]} on the path: the test for {chip} needs Espressif's compiler")
    project.configure()
    project.build()
    assert (project.build_folder / "digits.bin").is_file()
    arguments = json.loads((project.build_folder / "flasher_args.json").read_text("utf-8"))
    assert arguments["flash_files"][hex(MODEL_OFFSET)] == "tigris/model.bin"
    assert arguments["model"] == {"offset": hex(MODEL_OFFSET), "file": "tigris/model.bin", "encrypted": "false"}
    alone = (project.build_folder / "model-flash_args").read_text("utf-8").split()
    assert alone[-2:] == [hex(MODEL_OFFSET), "tigris/model.bin"]
    assert (project.build_folder / "tigris" / "model.bin").read_bytes().startswith(b"TGRS")
    if chip in MOCKED:
        assert_flashed_alone(project, chip)


def assert_flashed_alone(project: Project, chip: str) -> None:
    """`model-flash` writes only the plan, by the real esptool to a ROM bootloader."""
    from tests.platformio.mock_chip import mock_chip

    expected = (project.build_folder / "tigris" / "model.bin").read_bytes()
    with mock_chip(chip) as device:
        # The mock reads flash back by the ROM only, which no longer runs after esptool has loaded its stub.
        extra = {"ESPPORT": device.port, "SERIAL_TOOL_EXTRA_PRE_CMD_ARGS": "--no-stub"}
        project.environment = {**project.environment, **extra}
        project.build("model-flash")
        assert device.read(MODEL_OFFSET, len(expected)) == expected
        assert device.read(0x10000, 64) == b"\xff" * 64
