"""Projects without library: each is built and answers `tigris hil`. Stand-ins replace the Arduino core and Zephyr."""

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import onnx
import pytest

from tests.compiler.models import make, node
from tests.docs.pages import ROOT, blocks
from tests.harness.command import tigris
from tests.networks.folders import OWN

STAND_INS = Path(__file__).parent / "stand_ins"
C99 = ("-std=c99", "-Wall", "-Wextra", "-Wconversion", "-Werror", "-pedantic")


@pytest.fixture
def stateful(tmp_path: Path) -> Path:
    """Two inputs, two outputs and a state."""
    path = tmp_path / "stateful.onnx"
    shapes = {"x": (1, 4), "before": (1, 4), "scale": (1, 4)}
    graph = [node("Add", "x before", "sum"), node("Mul", "sum scale", "product"), node("Neg", "sum", "minus")]
    onnx.save(make(graph, shapes, ["sum", "product", "minus"]), path)
    return path


def built(folder: Path, framework: str) -> Path:
    """The program of a project."""
    program = folder / "program"
    if framework == "cmake":
        subprocess.run(["cmake", "-S", folder, "-B", folder / "build"], check=True, stdout=subprocess.PIPE)
        subprocess.run(["cmake", "--build", folder / "build"], check=True, stdout=subprocess.PIPE)
        return next((folder / "build").glob("*_firmware"))
    source = folder if framework == "arduino-ide" else folder / "src"
    objects = []
    for path in sorted(source.glob("*.c")):
        objects.append(path.with_suffix(".o"))
        rules = ("-std=gnu99", "-I", STAND_INS) if path.name == "main.c" else C99
        subprocess.run(["gcc", *rules, "-O1", "-c", path, "-o", objects[-1]], check=True)
    if framework == "arduino-ide":
        objects.append(source / "sketch.o")
        (sketch,) = source.glob("*.ino")
        assert sketch.stem == folder.name
        subprocess.run(["g++", "-x", "c++", "-I", STAND_INS, "-include", "Arduino.h", "-c", sketch, "-o", objects[-1]],
                       check=True)  # fmt: skip
    subprocess.run(["g++", *objects, "-o", program, "-lm"], check=True)
    return program


@contextmanager
def running(program: Path, framework: str) -> Iterator[str]:
    """The port of a program: one that it opens and names, or its standard input and output."""
    board, line = os.openpty()
    stdin, stdout = (board, board) if framework != "cmake" else (None, subprocess.PIPE)
    with subprocess.Popen([program], stdin=stdin, stdout=stdout, text=True) as process:
        try:
            yield os.ttyname(line) if process.stdout is None else process.stdout.readline().strip()
        finally:
            process.kill()
            os.close(board)
            os.close(line)


@pytest.mark.parametrize(
    ("framework", "model", "options"),
    [
        ("arduino-ide", "kws", ["-m", "8K"]),
        ("zephyr", "resnet", ["-m", "8K+1M"]),
        ("cmake", "stateful", ["--state", "sum=before"]),
    ],
)
def test_outputs_are_the_hosts(
    tmp_path: Path, stateful: Path, framework: str, model: str, options: list[str]
) -> None:
    path = stateful if model == "stateful" else OWN / f"{model}_int8.onnx"
    folder = tmp_path / "my_project"
    tigris("new", folder, "--framework", framework, "--model", path, "--name", model, *options)
    with running(built(folder, framework), framework) as port:
        told = json.loads(tigris("hil", folder / f"{model}.tgrs", "--port", port, "--json").stdout)
    assert told["equal"] is True and told["model"]["name"] == model


def test_a_wrong_weight_is_found(tmp_path: Path) -> None:
    """Plain C cannot be traced: the output that differs is told, and why no operator is."""
    folder = tmp_path / "p"
    tigris("new", folder, "--framework", "cmake", "--model", OWN / "ad_int8.onnx", "--name", "ad")
    source = folder / "src" / "ad.c"
    text = source.read_text("utf-8")
    at = text.index("_bias = {") + len("_bias = {")
    source.write_text(text[:at] + " 100000 +" + text[at:], "utf-8")
    with running(built(folder, "cmake"), "cmake") as port:
        ended = tigris("hil", folder / "ad.tgrs", "--port", port, status=None)
    assert ended.returncode == 1 and "plain C" in ended.stdout + ended.stderr


def test_the_sketch_of_the_page(tmp_path: Path) -> None:
    tigris("new", tmp_path / "kws", "--framework", "arduino-ide", "--model", OWN / "kws_int8.onnx", "--name", "kws")
    (text,) = [block.text for block in blocks(ROOT / "docs" / "arduino.md", "cpp")]
    subprocess.run(["g++", "-x", "c++", "-Wall", "-Werror", "-I", tmp_path / "kws", "-fsyntax-only", "-"], input=text,
                   text=True, check=True)  # fmt: skip


@pytest.mark.parametrize("compiler", ["arm-none-eabi-gcc", "riscv64-unknown-elf-gcc"])
def test_cross_compilers_take_it(tmp_path: Path, compiler: str) -> None:
    folder = tmp_path / "p"
    tigris("new", folder, "--framework", "cmake", "--model", OWN / "ad_int8.onnx", "--name", "ad")
    chip = ["-mcpu=cortex-m4", "-mthumb"] if compiler.startswith("arm") else ["-march=rv32imc", "-mabi=ilp32"]
    own = [] if compiler.startswith("arm") else ["--specs=picolibc.specs"]
    for path in (folder / "src" / name for name in ("main.c", "board.c", "harness.c")):
        subprocess.run([compiler, *chip, *own, *C99, "-c", path, "-o", path.with_suffix(".o")], check=True)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--framework", "zephyr", "--board", "esp32dev"], "leave it out with --framework zephyr"),
        (["--framework", "cmake", "--name", "board"], "a file of the project has this name"),
        ([], "arduino-ide, zephyr, cmake for a project without PlatformIO"),
    ],
)
def test_refusals(tmp_path: Path, options: list[str], words: str) -> None:
    ended = tigris("new", tmp_path / "p", "--model", OWN / "ad_int8.onnx", *options, status=None)
    assert ended.returncode == 2 and words in ended.stderr and not (tmp_path / "p").exists()


def test_a_sketch_needs_a_name_of_its_rules(tmp_path: Path) -> None:
    ended = tigris("new", tmp_path / "my sketch", "--framework", "arduino-ide", "--model", OWN / "ad_int8.onnx",
                   status=2)  # fmt: skip
    assert "no name of a sketch" in ended.stderr


def test_the_runtime_is_a_zephyr_module() -> None:
    """Its CMakeLists, run by CMake with Zephyr's functions, has the sources that another build has."""
    module = ROOT / "zephyr"
    script = (
        "foreach(name zephyr_library_named zephyr_library_compile_options zephyr_include_directories)\n"
        "  cmake_language(EVAL CODE \"function(${name})\\nendfunction()\")\nendforeach()\n"
        "function(zephyr_library_sources)\n  message(\"${ARGN}\")\nendfunction()\n"
        f"set(CONFIG_TIGRIS y)\ninclude({module}/CMakeLists.txt)\n"
    )
    ran = subprocess.run(["cmake", "-P", "/dev/stdin"], input=script, text=True, check=True, capture_output=True)
    found = [Path(path) for path in ran.stderr.strip().split(";")]
    assert {"plan.c", "conv_2d_int8.c", "linked.c"} <= {path.name for path in found}
    assert all(path.exists() for path in found)
