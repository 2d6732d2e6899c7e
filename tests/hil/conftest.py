"""Boards for the harness's tests: real server code, compiled here with the sanitisers on."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import onnx
import pytest

from tests.hil.bridge import Bridge
from tests.runtime.build import SANITIZERS as SANITISERS
from tests.runtime.build import core_objects
from tigris_pio import compile_model
from tigris_pio.hil.client import Timing

HERE = Path(__file__).resolve().parent
RUNTIME = HERE.parents[1] / "runtime"
SERVER = [*sorted((RUNTIME / "src").glob("serve*.c")), RUNTIME / "src" / "crc32.c"]
WARNINGS = ("-std=c99", "-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-pedantic", "-Werror")

#: Short waits: these boards answer within milliseconds.
QUICK = Timing(connect=5.0, answer=0.15, longest_answer=0.6, tries=10, run=10.0)
#: For tests that count repeats: a busy machine must not cause any.
CALM = Timing(connect=10.0, answer=2.0, longest_answer=2.0, tries=5, run=10.0)


def compile_c(out: Path, sources: list[Path], *options: str, compiler: str = "gcc") -> Path:
    """A program built from C sources; its messages are the test's failure."""
    if shutil.which(compiler) is None:
        (pytest.skip if compiler == "clang" else pytest.fail)(f"{compiler} is missing: apt-get install {compiler}")
    libraries = [] if "-c" in options else ["-lm"]
    command = [compiler, *WARNINGS, *options, "-I", RUNTIME / "include", *sources, *libraries, "-o", out]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return out


@pytest.fixture(scope="session")
def standin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A board whose model stands in for the runtime's."""
    sources = [HERE / "board.c", HERE / "standin.c", *SERVER]
    return compile_c(tmp_path_factory.mktemp("standin") / "board", sources, "-DSTANDIN", *SANITISERS)


@pytest.fixture(scope="session")
def real_board(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A board with the whole runtime: `--model FILE.tgrs`."""
    core = core_objects(*SANITISERS)
    server = [path for path in SERVER if path.stem not in {built.stem for built in core}]
    sources = [HERE / "board.c", HERE / "faults.c", *server, *core]
    return compile_c(tmp_path_factory.mktemp("real") / "board", sources, *SANITISERS)


@pytest.fixture
def line() -> Iterator[Callable[..., Bridge]]:
    """`line(command, to_board=…, to_host=…, pty=…)`: a bridge that ends with the test."""
    with ExitStack() as stack:

        def connect(*arguments: Any, **options: Any) -> Bridge:
            return stack.enter_context(Bridge(*arguments, **options))

        yield connect


DIGITS = HERE.parents[1] / "examples" / "digits"


@pytest.fixture(scope="session")
def digits_plan(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The digits network for 16 KB of fast memory."""
    plan = tmp_path_factory.mktemp("plans") / "digits.tgrs"
    compile_model(DIGITS / "model" / "digits.onnx", fast="16K").save(plan)
    return plan


@pytest.fixture(scope="session")
def two_inputs_plan(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A float32 network: total = left + right, product = left * right, all [1, 6, 5, 4]."""
    names = ("left", "right", "total", "product")
    values = {name: onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [1, 6, 5, 4]) for name in names}
    nodes = [
        onnx.helper.make_node("Add", ["left", "right"], ["total"]),
        onnx.helper.make_node("Mul", ["left", "right"], ["product"]),
    ]
    ends = [values[name] for name in names]
    graph = onnx.helper.make_graph(nodes, "two_inputs", ends[:2], ends[2:])
    folder = tmp_path_factory.mktemp("plans")
    onnx.save(
        onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)]), folder / "two_inputs.onnx"
    )
    compile_model(folder / "two_inputs.onnx", fast="64K").save(folder / "two_inputs.tgrs")
    return folder / "two_inputs.tgrs"


@pytest.fixture(scope="session")
def plans(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """`plans(model, fast, **options)`: compiled once; a model is a network's name or a function."""
    folder, made = tmp_path_factory.mktemp("plans"), dict[str, Path]()

    def plan(model: str | Callable[[], onnx.ModelProto], fast: str, **options: object) -> Path:
        key = f"{model} {fast} {options}"
        if key not in made:
            source = HERE.parents[1] / "networks" / f"{model}_int8.onnx" if isinstance(model, str) else model()
            made[key] = folder / f"{len(made)}.tgrs"
            compile_model(source, fast=fast, **options).save(made[key])  # type: ignore[arg-type]
        return made[key]

    return plan
