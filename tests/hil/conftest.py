"""Boards for the harness's tests: the real server, compiled here with sanitisers, once for all tests."""

import subprocess
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import onnx
import pytest

from tests.compiler.models import make, node
from tests.hil.bridge import Bridge
from tests.hil.raw import Raw
from tests.runtime.build import SANITIZERS as SANITISERS
from tests.runtime.build import objects
from tigris_pio import compile_model
from tigris_pio.hil.client import Board, Timing

Connect = Callable[..., Bridge]
Serve = Callable[..., str]
Client = Callable[..., Board]
Plans = Callable[..., Path]

HERE = Path(__file__).resolve().parent
RUNTIME = HERE.parents[1] / "runtime"
SERVER = [*sorted((RUNTIME / "src").glob("serve*.c")), RUNTIME / "src" / "crc32.c"]
WARNINGS = ("-std=c99", "-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-pedantic", "-Werror")

#: Short waits: these boards answer within milliseconds.
QUICK = Timing(connect=5.0, answer=0.15, longest_answer=0.6, tries=10, run=10.0)
#: For tests that count repeats: a busy computer must not cause any.
CALM = Timing(connect=10.0, answer=2.0, longest_answer=2.0, tries=5, run=10.0)


def compile_c(out: Path, sources: list[Path], *options: str) -> Path:
    """Compiles C sources; the compiler's messages fail the test."""
    libraries = [] if "-c" in options else ["-lm"]
    command = ["gcc", *WARNINGS, *options, "-I", RUNTIME / "include", *sources, *libraries, "-o", out]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return out


@pytest.fixture(scope="session")
def standin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A board with stand-ins for the runtime and its models."""
    sources = [HERE / "board.c", HERE / "standin.c", *SERVER]
    return compile_c(tmp_path_factory.mktemp("standin") / "board", sources, "-DSTANDIN", *SANITISERS)


@pytest.fixture(scope="session")
def real_board(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A board with the whole runtime: `--model FILE.tgrs`. Kernels have their own tests."""
    core = objects("gcc")
    server = [path for path in SERVER if path.stem not in {built.stem for built in core}]
    sources = [HERE / "board.c", HERE / "faults.c", *server, *core]
    return compile_c(tmp_path_factory.mktemp("real") / "board", sources, *SANITISERS)


@pytest.fixture
def line() -> Iterator[Connect]:
    """`line(command, to_board=…, to_host=…, pty=…)`: a bridge that is closed after the test."""
    with ExitStack() as stack:

        def connect(*arguments: Any, **options: Any) -> Bridge:
            return stack.enter_context(Bridge(*arguments, **options))

        yield connect


@pytest.fixture
def serve(real_board: Path, line: Connect) -> Serve:
    """`serve(plan, *options, to_host=…)`: the URL of a board with the whole runtime."""
    return lambda plan, *options, **faults: line([real_board, *options, "--model", plan], **faults).url


@pytest.fixture
def digits(serve: Serve, digits_plan: Path) -> Serve:
    """`digits(*options, to_host=…)`: the URL of a board with the digits network."""
    return lambda *options, **faults: serve(digits_plan, *options, **faults)


def command(program: Path, *arguments: str, models: Iterable[str] = ("digits",)) -> list[str]:
    """The command of a stand-in board."""
    return [str(program), *arguments, *(word for name in models for word in ("--model", name))]


@pytest.fixture
def client(standin: Path, line: Connect) -> Iterator[Client]:
    """`client(*options, timing=QUICK, models=…, to_host=…)`: a client of a stand-in board, closed after the test."""
    with ExitStack() as stack:

        def connect(*options: str, timing: Timing = QUICK, models: Iterable[str] = ("digits",), **faults: Any) -> Board:
            url = line(command(standin, *options, models=models), **faults).url
            return stack.enter_context(Board(url, timing=timing))

        yield connect


@pytest.fixture
def host(standin: Path, line: Connect) -> Iterator[Callable[..., Raw]]:
    """`host(*options, models=…)`: sends single frames to a stand-in board; no connection is open yet."""
    with ExitStack() as stack:

        def connect(*options: str, models: Iterable[str] = ("digits",)) -> Raw:
            return stack.enter_context(Raw(line(command(standin, *options, models=models), pty=False).url))

        yield connect


@pytest.fixture
def raw(host: Callable[..., Raw]) -> Raw:
    """An open connection to a stand-in board, for single frames."""
    connected = host()
    connected.greet()
    return connected


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
    nodes = [node("Add", "left right", "total"), node("Mul", "left right", "product")]
    model = make(nodes, dict.fromkeys(("left", "right"), (1, 6, 5, 4)), ["total", "product"])
    plan = tmp_path_factory.mktemp("plans") / "two_inputs.tgrs"
    compile_model(model, fast="64K", name="two_inputs").save(plan)
    return plan


@pytest.fixture(scope="session")
def plans(tmp_path_factory: pytest.TempPathFactory) -> Plans:
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
