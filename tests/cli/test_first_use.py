"""Mistakes of a first user: each message says how to do it right, and no file is written."""

import io
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import click
import numpy as np
import onnx
import pytest
from click.testing import CliRunner, Result

from tests.cli.test_commands import command_called
from tests.cli.test_commands import read_words as read_hil_words
from tests.compiler.models import make, node
from tests.harness.command import tigris
from tests.networks.folders import OWN
from tigris_pio import Session, compile_model
from tigris_pio.cli import console
from tigris_pio.cli.hil.group import COMMANDS as HIL
from tigris_pio.cli.main import COMMANDS, cli
from tigris_pio.errors import FileError, PlanError, UsageError
from tigris_pio.files import write_atomically


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    """`tigris`, however it ends."""
    return tigris(*arguments, status=None)


def network() -> onnx.ModelProto:
    weights = {"w": np.ones((8, 4, 3, 3), np.float32)}
    return make([node("Conv", "x w", "y", name="conv")], {"x": (1, 4, 16, 16)}, ["y"], weights)


@pytest.fixture
def model(tmp_path: Path) -> Path:
    onnx.save(network(), tmp_path / "net.onnx")
    return tmp_path / "net.onnx"


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


MISSING = [
    ("analyze", "none.onnx", "-m", "64K"),
    ("compile", "none.onnx", "-m", "64K", "-o", "out.tgrs"),
    ("verify", "none.onnx", "-m", "64K"),
    ("quantize", "none.onnx", "--data", "x.npz", "-o", "out.onnx"),
    ("inspect", "none.onnx"),
    ("inspect", "none.tgrs"),
    ("run", "none.tgrs", "--input", "x.npy"),
    ("hil", "none.tgrs", "--port", "socket://127.0.0.1:1"),
    ("layout", "--model", "a", "none.tgrs", "model", "auto", "--table", "none.csv", "-o", "."),
]


@pytest.mark.parametrize("command", MISSING, ids=lambda command: " ".join(command[:2]))
def test_a_file_that_is_missing_is_wrong_usage_everywhere(
    command: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    said = run(*command)
    assert said.returncode == 2
    assert "none." in said.stderr and len(said.stderr.splitlines()) == 1
    assert files(tmp_path) == []


def test_a_folder_is_no_model_and_no_plan(tmp_path: Path) -> None:
    for command in (("analyze", tmp_path), ("inspect", tmp_path), ("run", tmp_path, "--input", "x.npy")):
        said = run(*command)
        assert (said.returncode, "is a folder" in said.stderr) == (2, True)


@pytest.mark.parametrize("option", ["-o", "--header", "--report"])
@pytest.mark.parametrize(
    ("target", "words"),
    [(".", "is a folder"), ("none/out", "choose one that exists"), ("net.onnx/out", "is no folder"),
     ("net.onnx", "reads or writes that file already")],
)  # fmt: skip
def test_outputs_that_cannot_be_are_told_before_the_work(
    model: Path, option: str, target: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(model.parent)
    before = model.read_bytes()
    command = {
        "-o": ("compile", "net.onnx", "-m", "64K", "-o", target),
        "--header": ("compile", "net.onnx", "-m", "64K", "-o", "out.tgrs", "--header", target),
        "--report": ("analyze", "net.onnx", "--report", target),
    }[option]
    said = run(*command)
    assert (said.returncode, words in said.stderr) == (2, True), said.stderr
    assert said.stdout == ""
    assert files(model.parent) == ["net.onnx"] and model.read_bytes() == before


FOLDER = "; choose a folder that can be written"


@pytest.mark.parametrize(("function", "error", "told", "words"), [
    ("os.replace", OSError(28, "No space left on device"), FileError, "No space left on device" + FOLDER),
    ("tempfile.mkstemp", OSError(30, "Read-only file system"), FileError, "Read-only file system" + FOLDER),
    ("os.replace", KeyboardInterrupt(), KeyboardInterrupt, "^$"),
])  # fmt: skip
def test_a_file_is_written_whole_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, function: str, error: BaseException, told: type[BaseException],
    words: str,
) -> None:  # fmt: skip
    def fail(*_: object, **__: object) -> None:
        raise error

    (tmp_path / "a").write_bytes(b"old")
    monkeypatch.setattr(function, fail)
    with pytest.raises(told, match=words):
        write_atomically(tmp_path / "a", b"new")
    assert files(tmp_path) == ["a"] and (tmp_path / "a").read_bytes() == b"old"


def test_a_model_is_compiled_before_it_runs(model: Path) -> None:
    for command in (("run", model, "--input", "x.npy"), ("hil", model, "--port", "socket://127.0.0.1:1")):
        said = run(*command)
        assert said.returncode == 1
        assert f"is a model; compile it first: tigris compile {model} -m 64K -o net.tgrs" in said.stderr
    with pytest.raises(PlanError, match="compile it first"):
        Session(model)
    plan = model.with_suffix(".tgrs")
    compile_model(model).save(plan)
    said = run("compile", plan, "-m", "64K", "-o", "other.tgrs")
    assert (said.returncode, "is a plan" in said.stderr) == (2, True)


NAMES = ["kws-v2", "3kws", "", "naïve", "x" * 48, "a\n#define b"]


@pytest.mark.parametrize("name", NAMES)
def test_one_rule_for_names(model: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The hook's and CMake's are in their own tests."""
    monkeypatch.chdir(model.parent)
    said = run("compile", model, "-m", "64K", "--name", name, "-o", "out.tgrs", "--header", "out.h")
    assert (said.returncode, "--name: " in said.stderr) == (2, True)
    with pytest.raises(UsageError, match="name: "):
        compile_model(model, name=name)
    layout = run("layout", "--model", name, "out.tgrs", "model", "auto", "--table", "t.csv", "-o", ".")
    assert (layout.returncode, "--model: " in layout.stderr) == (2, True)
    assert files(model.parent) == ["net.onnx"]
    assert compile_model(model, name="_Kws_2").report["model"] == "_Kws_2"


def test_what_does_not_fit_is_said_before_the_table(model: Path) -> None:
    said = run("analyze", model, "-m", "2K", "-f", "1K")
    assert said.returncode == 1
    assert said.stderr.startswith("error: ") and "smallest fast memory that works" in said.stderr
    assert said.stdout.startswith("with unlimited memory:\n")
    assert " of 2 KB" not in said.stdout and " of 1 KB" not in said.stdout
    assert "with no limit" not in run("analyze", model, "-m", "64K").stdout
    missing = run("compile", model, "-o", "out.tgrs")
    assert missing.returncode == 2
    assert "Missing option '-m' / '--mem'. Give the memory for activations, like -m 64K" in missing.stderr


def test_slow_memory_is_recommended_beside_the_fast_memory_that_was_given(model: Path) -> None:
    found = re.search(r"works is (\d+) bytes", run("analyze", model, "-m", "2K").stderr)
    assert found is not None
    given = int(found[1]) - 1
    said = run("analyze", model, "-m", given)
    together = re.search(r"or add slow memory: -m (\S+)", said.stderr)
    assert together is not None and together[1].startswith(f"{given}+"), said.stderr
    assert run("analyze", model, "-m", together[1]).returncode == 0


def test_an_input_that_numpy_cannot_read_is_named_in_plain_words(model: Path) -> None:
    plan = model.with_suffix(".tgrs")
    compile_model(model).save(plan)
    for name, words in ((model, "is no .npy or .npz file"), (model.with_name("none.npy"), "No such file or dir")):
        said = run("run", plan, "--input", name)
        assert (said.returncode, words in said.stderr, "pickle" in said.stderr) == (2, True, False), said.stderr


def test_one_of_a_kind_is_in_the_singular(model: Path) -> None:
    plan, page = model.with_suffix(".tgrs"), model.with_suffix(".html")
    said = [run("compile", model, "-m", "9K", "-o", plan).stdout, run("inspect", model).stdout]
    said += [run("inspect", plan).stdout, run("verify", model, "--samples", "1").stdout]
    said += [run("analyze", model, "-m", "9K", "--report", page, "--no-sweep").stdout]
    said += [re.sub(r"<[^>]*>", " ", re.sub(r"(?s)<(style|script).*?</\1>", "", page.read_text("utf-8")))]
    assert all("1 operator" in text or "1 stage" in text or "1 sample" in text or "1 node" in text for text in said)
    assert re.findall(r"(?<![\w.,])1 [a-z-]+s\b(?: \w+)?", "\n".join(said)) == []


@pytest.mark.parametrize(
    ("command", "words"),
    [(("analyse", "net.onnx"), "Did you mean analyze?"), (("frobnicate",), "No such command"),
     (("compile", "net.onnx", "-m", "64K", "-o", "a", "--quite"), "--quiet"),
     (("analyze", "net.onnx", "--fast", "64K"), "Did you mean '--mem'?"),
     (("inspect", "net.tgrs", "--fast", "64K"), "No such option '--fast'.\n")],
)  # fmt: skip
def test_misspellings_are_answered_with_the_nearest(command: tuple[str, ...], words: str) -> None:
    said = run(*command)
    assert (said.returncode, words in said.stderr, said.stdout) == (2, True, "")


def test_wrong_usage_is_a_document_too() -> None:
    for command in (("compile", "--json"), ("bogus", "--json"), ("inspect", "x", "--json", "-z")):
        said = run(*command)
        assert (said.returncode, set(json.loads(said.stdout))) == (2, {"error", "kind"})


# ---- Ctrl-C -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("error", [KeyboardInterrupt, click.Abort])
def test_an_interrupted_command_says_so(
    model: Path, error: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object) -> None:
        raise error

    monkeypatch.setattr("tigris_pio.cli.compile.back", interrupt)
    said = run("compile", model, "-m", "64K", "-o", model.with_name("out.tgrs"), "--json")
    assert (said.returncode, said.stderr.strip(), said.stdout) == (130, "interrupted", "")
    assert files(model.parent) == ["net.onnx"]


def test_a_real_signal(tmp_path: Path) -> None:
    """While the process waits for its model."""
    pipe = tmp_path / "slow.onnx"
    os.mkfifo(pipe)
    command = [sys.executable, "-m", "tigris_pio", "compile", str(pipe), "-m", "64K", "-o", str(tmp_path / "out.tgrs")]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    with process, open(pipe, "wb"):  # returns when the other side reads
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err.strip()) == (130, "", "interrupted")
    assert files(tmp_path) == ["slow.onnx"]


# ---- help and colours ---------------------------------------------------------------------------------------------


def commands() -> list[str]:
    """Every line of any help text that begins with `tigris`."""
    texts = [cli.help or "", *(command_called(name, cli).help or "" for name in COMMANDS)]
    lines = [line.strip() for text in texts for line in text.splitlines()]
    return [line.partition("  ")[0] for line in lines if line.startswith("tigris ")]


def test_every_command_has_an_example() -> None:
    assert {line.split()[1] for line in commands()} == set(COMMANDS)
    for name in COMMANDS:
        assert f"tigris {name} " in (command_called(name, cli).help or "")
        assert command_called(name, cli).name == name


def test_a_command_imports_what_it_uses_only() -> None:
    """Seconds that every build, every completion and every --version would pay."""
    for words, unwanted in ((["--version"], {"numpy", "onnx", "rich"}), (["layout", "--help"], {"numpy", "onnx"})):
        script = ("import sys; from tigris_pio.cli.main import cli; cli.main(sys.argv[1:], standalone_mode=False); "
                  "print(*sys.modules)")  # fmt: skip
        done = subprocess.run([sys.executable, "-c", script, *words], capture_output=True, text=True, check=True)
        assert not unwanted & set(done.stdout.split()), words


@pytest.fixture(scope="module")
def example_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files that examples name."""
    folder = tmp_path_factory.mktemp("examples")
    for name in ("float", "model", "kws", "detector"):
        onnx.save(network(), folder / f"{name}.onnx")
        compile_model(network(), fast="64K", name=name).save(folder / f"{name}.tgrs")
    shutil.copy(OWN / "kws_int8.tflite", folder / "kws.tflite")
    for name in ("x", "features"):
        np.save(folder / f"{name}.npy", np.zeros((1, 4, 16, 16), np.float32))
    noise = np.random.default_rng(0).normal(size=(8, 4, 16, 16))
    for name in ("x", "samples"):
        np.savez(folder / f"{name}.npz", x=noise)
    (folder / "build").mkdir()
    for name in ("partition-table.bin", "partitions.csv"):
        (folder / name).write_text("model, data, 0x40, 0x110000, 1M\n", "utf-8")
    return folder


@pytest.mark.parametrize("line", commands())
def test_examples_work(line: str, example_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(example_folder)
    words = shlex.split(line)[1:]
    if words[0] == "hil":  # needs a board; its options at least are those that there are
        name, rest = (words[1], words[2:]) if words[1:] and words[1] in HIL else ("check", words[1:])
        read_hil_words(name, rest)
        return
    done: Result = CliRunner().invoke(cli, words)
    assert done.exit_code == 0, (done.output, done.exception)


@pytest.mark.parametrize(("variables", "coloured"), [({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)])
def test_colours_are_for_terminals_whose_user_wants_them(
    variables: dict[str, str], coloured: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR", "COLORTERM", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)
    for name, value in {"TERM": "xterm-256color", **variables}.items():
        monkeypatch.setenv(name, value)

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr(sys, "stdout", Terminal())
    console._console(stderr=False).print("[bold red]error:[/] no")
    assert ("\x1b[" in sys.stdout.getvalue()) == coloured  # type: ignore[attr-defined]
