"""The commands as their users call them: exit status, one JSON document, no half-written files, no tracebacks."""

import json
import re
import subprocess
from pathlib import Path

import click
import numpy as np
import pytest
from onnx import save

from tests.compiler.models import make, node
from tests.harness.command import tigris
from tests.networks.folders import OWN
from tests.runtime.build import C99
from tigris_pio import Session, compile_model
from tigris_pio.cli.hil import hil
from tigris_pio.cli.hil.group import COMMANDS
from tigris_pio.cli.layout import layout
from tigris_pio.cli.main import cli
from tigris_pio.errors import UsageError
from tigris_pio.format.records import Header


@pytest.fixture(scope="module")
def kws(models_dir: Path) -> Path:
    return models_dir / "kws_int8.onnx"


def test_analyze_json_has_every_key_and_nothing_else_is_printed(kws):
    done = tigris("analyze", kws, "-m", "8K+1M", "-f", "4M", "--json")
    report = json.loads(done.stdout)
    assert [report[key] for key in ("model", "dtype", "ops", "fits")] == ["kws_int8", "int8", 13, True]
    assert report["budget"] == {"fast": 8192, "slow": 1 << 20, "flash": 4 << 20}
    assert set(report["memory"]) >= {"unscheduled_peak", "lower_bound", "fast_peak", "slow_peak"}
    assert set(report["traffic"]) >= {"slow_read", "slow_written"}
    assert report["compute"]["macs"] == 2_656_768 and report["compute"]["recomputed_macs"] == 0
    assert set(report["flash"]) >= {"plan", "weights"}
    assert isinstance(report["warnings"], list)
    for stage in report["stages"]:
        assert stage["strategy"] in ("normal", "tiled", "chain", "rolling")
        assert set(stage) >= {"ops", "bands", "band_rows", "fast_peak"}
    assert sum(len(stage["ops"]) for stage in report["stages"]) == 13
    assert done.stderr == ""


def test_compile_run_and_inspect(kws, models_dir, tmp_path):
    plan, header, output = tmp_path / "kws.tgrs", tmp_path / "kws.h", tmp_path / "y.npy"
    files = ("-o", plan, "--header", header)
    done = tigris("compile", kws, "-m", "16K", "--xip", "--name", "words", *files, "--json")
    report = json.loads(done.stdout)
    assert report["flash"]["plan"] == plan.stat().st_size
    assert "TIGRIS_MODEL_WORDS_FAST_BYTES" in header.read_text()
    data = np.load(models_dir / "kws_vectors.npz")
    np.save(tmp_path / "x.npy", data["input_f32"][0][np.newaxis])
    files = ("--input", tmp_path / "x.npy", "--output", output)
    document = json.loads(tigris("run", plan, *files, "--json").stdout)
    expected = (data["output_tflm_q"][0].astype(np.float32) + 128) / 256
    np.testing.assert_array_equal(np.load(output).ravel(), expected)
    assert document["memory"]["fast_peak"] <= 16384
    smaller = tmp_path / "smaller.npy"
    tigris("run", plan, "-m", "8K+1M", "--input", tmp_path / "x.npy", "--output", smaller)
    assert smaller.read_bytes() == output.read_bytes()
    refused = tigris("run", plan, "-m", "8K", "--input", tmp_path / "x.npy", status=1)
    assert re.search(r"at least \d+ bytes of fast memory are missing", refused.stderr.replace("\n", " "))
    inspected = json.loads(tigris("inspect", plan, "--json").stdout)
    assert inspected["model"] == "words" and inspected["xip"] is True and len(inspected["operators"]) == 13
    assert json.loads(tigris("inspect", kws, "--json").stdout)["opset"] == 17
    assert tigris("inspect", plan).stdout and tigris("run", plan, "--input", tmp_path / "x.npy").stdout


def test_verify_takes_the_plan_of_a_kernel_library(kws):
    words = ("verify", kws, "-m", "64K", "--backend", "esp-nn", "--chip", "esp32s3", "--samples", "1", "--json")
    assert json.loads(tigris(*words).stdout)["passed"]
    assert "esp32s3" in tigris("verify", kws, "--backend", "esp-nn", "--chip", "esp32s9", status=2).stderr


def test_a_plan_is_never_left_half_written(kws, models_dir, tmp_path):
    model = models_dir / "micro_speech_int8.onnx"
    done = tigris("compile", model, "-m", "2K", "-o", tmp_path / "kws.tgrs", status=1)
    assert "smallest fast memory that works" in done.stderr
    files = ("-o", tmp_path / "kws.tgrs", "--header", tmp_path / "k.h")
    done = tigris("compile", kws, "-m", "64K", "-f", "8K", *files, status=1)
    assert "-f 31K" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_missing_and_wrong_files_are_named(tmp_path, kws):
    text = tmp_path / "text.onnx"
    text.write_text("not a model")
    cut = tmp_path / "cut.onnx"
    cut.write_bytes(kws.read_bytes()[:20000])
    for path in (text, cut):
        done = tigris("analyze", path, "-m", "64K", status=1)
        assert path.name in done.stderr


def test_damaged_plans_are_refused_with_the_reason(kws, tmp_path):
    plan = tmp_path / "kws.tgrs"
    tigris("compile", kws, "-m", "16K", "-o", plan)
    good = plan.read_bytes()
    damage = {
        "no .tgrs plan": b"nonsense" * 40,
        "truncated": good[: len(good) // 2],
        "checksum": good[:-1] + bytes([good[-1] ^ 1]),
        "another format version": good[:4] + b"\x63\x00" + good[6:],
    }
    for word, data in damage.items():
        plan.write_bytes(data)
        assert word in tigris("inspect", plan, status=1).stderr
    plan.write_bytes(good[: Header.size()])
    np.save(tmp_path / "x.npy", np.zeros((1, 1, 49, 10), np.float32))
    assert "plan" in tigris("run", plan, "--input", tmp_path / "x.npy", status=1).stderr
    plan.write_bytes(good)
    assert "input" in tigris("run", plan, "--input", f"other={tmp_path / 'x.npy'}", status=2).stderr


# `tigris codegen` as its users call it.

KWS, MICRO_SPEECH = OWN / "kws_int8.onnx", OWN / "micro_speech_int8.onnx"


def test_the_contract(tmp_path: Path) -> None:
    """Two files, names and a signature that others rely on."""
    tigris("codegen", KWS, "-m", "64K", "-o", tmp_path / "src", "--name", "kws")
    assert sorted(path.name for path in (tmp_path / "src").iterdir()) == ["kws.c", "kws.h"]
    main = """
#include "kws.h"
int kws_run(const int8_t input[KWS_INPUT_BYTES], int8_t output[KWS_OUTPUT_BYTES], void *fast);
static KWS_ALIGNED uint8_t fast[KWS_FAST_BYTES + KWS_SLOW_BYTES];
int main(void) { static int8_t input[KWS_INPUT_BYTES], output[KWS_OUTPUT_BYTES]; return kws_run(input, output, fast); }
"""
    (tmp_path / "src" / "main.c").write_text(main)
    command = ["gcc", *C99, "main.c", "kws.c", "-o", "main"]
    subprocess.run(command, cwd=tmp_path / "src", check=True)
    assert subprocess.run([tmp_path / "src" / "main"], check=False).returncode == 0


def test_slow_memory_is_an_argument(tmp_path: Path) -> None:
    done = tigris("codegen", MICRO_SPEECH, "-m", "1K", "-o", tmp_path / "src", status=1)
    assert "smallest fast memory that works is" in done.stderr and not (tmp_path / "src").exists()
    tigris("codegen", MICRO_SPEECH, "-m", "1K+64K", "-o", tmp_path, "--name", "words")
    header = (tmp_path / "words.h").read_text("utf-8")
    assert "int8_t output[WORDS_OUTPUT_BYTES], void *fast, void *slow);" in header
    assert "#define WORDS_SLOW_BYTES 0U" not in header


def test_json_is_the_report_and_what_was_written(tmp_path: Path) -> None:
    done = tigris("codegen", KWS, "-m", "6K", "-o", tmp_path, "--name", "int", "--layout", "split", "--weights",
                  "partition", "--json")  # fmt: skip
    document = json.loads(done.stdout)
    assert document["c"]["name"] == "model_int"
    assert document["c"]["fast_bytes"] == document["memory"]["fast_peak"] - document["memory"]["state"]
    assert {Path(path).name for path in document["c"]["files"]} == {path.name for path in tmp_path.iterdir()}
    assert "model_int_weights.bin" in {path.name for path in tmp_path.iterdir()}
    assert any("'int' is model_int in C" in warning for warning in document["warnings"])


@pytest.mark.parametrize("arguments,said", [
    (("--weights", "flash"), "'flash' is not one of"),
    (("--name", "a b"), "cannot be part of a C name"),
    (("-o", "FILE"), "the folder cannot be created"),
])  # fmt: skip
def test_wrong_usage(tmp_path: Path, arguments: tuple[str, str], said: str) -> None:
    (tmp_path / "file").touch()
    words = [str(tmp_path / "file") if word == "FILE" else word for word in arguments]
    done = tigris("codegen", MICRO_SPEECH, "-m", "64K", "-o", tmp_path / "src", *words, status=2)
    assert said in " ".join(done.stderr.split())


# `--hop` from the command line: its figures, and a plan that runs step by step.

SWW = OWN / "sww_int8.onnx"


def test_analyze_shows_a_run_beside_one_on_a_whole_window(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    done = tigris("analyze", SWW, "-m", "16K", "--hop", "1", "--no-sweep", "--report", page)
    lines = " ".join(done.stdout.split())
    assert "hop 1 of 30 rows, axis 2 of the input: 46,040 MACs a run, " in lines
    assert "whole windows 826,368 MACs a run, " in lines
    text = page.read_text("utf-8")
    assert "1 of 30 rows" in text and "a whole window needs 826,368 multiply-accumulates" in text


@pytest.mark.parametrize("memory, fits", [("16K", True), ("4K", False)])
def test_json_says_it_whether_the_plan_fits_or_not(memory: str, fits: bool) -> None:
    done = tigris("analyze", SWW, "-m", memory, "--hop", "1", "--json", status=0 if fits else 1)
    document = json.loads(done.stdout)
    assert document["fits"] == fits
    assert document["hop"].items() >= {"rows": 1, "window": 30, "axis": 2, "macs": 46040, "whole_macs": 826368}.items()
    assert document["hop"]["fast"] == document["memory"]["fast_peak"]
    assert document["compute"]["macs"] == 46040


def test_a_plan_is_run_row_by_row(tmp_path: Path) -> None:
    """40 frames, one a step: from the 30th on each output is that of the last 30 frames, and so it is before, of zeros
    and those that came."""
    tigris("compile", SWW, "-m", "16K", "--hop", "1", "--name", "sww", "-o", tmp_path / "sww.tgrs", "--header",
           tmp_path / "sww.h")  # fmt: skip
    header = [line.split()[1:] for line in (tmp_path / "sww.h").read_text("utf-8").splitlines()]
    assert ["TIGRIS_MODEL_SWW_INPUT0_BYTES", "40u"] in header
    frames = np.random.default_rng(3).standard_normal((40, 40, 1, 1)).astype(np.float32)
    np.save(tmp_path / "x.npy", frames)
    tigris("run", tmp_path / "sww.tgrs", "--input", tmp_path / "x.npy", "--output", tmp_path / "y.npy")
    found = np.load(tmp_path / "y.npy")
    padded = np.concatenate([np.zeros((30, 40, 1, 1), np.float32), frames])
    with Session(compile_model(SWW)) as whole:
        for step in range(40):
            window = padded[step + 1 : step + 31].transpose(2, 1, 0, 3)
            (expected,) = whole.run({"input": window}).values()
            assert np.array_equal(found[step], expected), step


# `tigris run` over several samples: states are kept from step to step, and reset before each sequence.


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    """y: the sum of all x so far."""
    nodes = [node("Add", "x sum", "new"), node("Identity", "new", "y")]
    save(make(nodes, {"x": (1, 2), "sum": (1, 2)}, ["y", "new"]), tmp_path / "sum.onnx")
    tigris("compile", tmp_path / "sum.onnx", "-m", "4K", "--state", "new=sum", "-o", tmp_path / "sum.tgrs")
    return tmp_path / "sum.tgrs"


@pytest.mark.parametrize("shape, lead", [
    ((1, 2), ()), ((5, 2), (5,)), ((5, 1, 2), (5,)), ((3, 4, 2), (3, 4)), ((3, 4, 1, 2), (3, 4)),
    ((1, 1, 1, 2), (1, 1)),
])
def test_axes_before_the_inputs_own(shape: tuple[int, ...], lead: tuple[int, ...], plan: Path, tmp_path: Path) -> None:
    x = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    np.save(tmp_path / "x.npy", x)
    done = tigris("run", plan, "--input", tmp_path / "x.npy", "--output", tmp_path / "y.npy", "--json")
    y = np.load(tmp_path / "y.npy")
    steps = x.reshape(*lead, 2) if lead else x.reshape(1, 2)
    assert np.array_equal(y.reshape(steps.shape), np.cumsum(steps, axis=-2))
    assert y.shape == (*lead, 1, 2) and json.loads(done.stdout)["samples"] == max(1, int(np.prod(lead)))
    np.save(tmp_path / "x.npy", np.zeros((*shape[:-1], 3), np.float32))
    done = tigris("run", plan, "--input", tmp_path / "x.npy", status=2)
    assert f"input 'x' has shape {[*shape[:-1], 3]}, the model takes [1, 2]" in done.stderr


@pytest.mark.parametrize("name", ["x", "features"])
def test_arrays_of_an_npz(name: str, plan: Path, tmp_path: Path) -> None:
    """As `hil` and `quantize` take them: labels are no input, an only array of another name is the only input."""
    np.savez(tmp_path / "x.npz", **{name: np.ones((3, 2), np.float32), "labels": np.arange(3)})
    done = tigris("run", plan, "--input", tmp_path / "x.npz", "--json")
    assert json.loads(done.stdout)["samples"] == 3
    assert ("array features is used for input x" in done.stderr) == (name != "x")
    np.savez(tmp_path / "x.npz", **{f"{name}_1": np.ones(2), "other": np.ones(2)})
    done = tigris("run", plan, "--input", tmp_path / "x.npz", status=2)
    assert f"holds {name}_1, other, but the model's inputs are x" in done.stderr


# Names that `tigris layout` puts into C: parts of identifiers, and no two the same.


def lay_out(*names: str) -> None:
    words = [word for name in names for word in ("--model", name, "missing.tgrs", "model", "auto")]
    layout.main([*words, "--table", "t", "-o", "o"], standalone_mode=False)


@pytest.mark.parametrize(("names", "message"), [
    (("kws", "kws"), "two models are named kws; rename"), (("kws", "ad", "KWS"), "named kws and KWS, which give"),
    (("a_1", "A_1"), "named a_1 and A_1"),
])  # fmt: skip
def test_names_differ_as_constants(names, message):
    with pytest.raises(UsageError, match=message):
        lay_out(*names)


@pytest.mark.parametrize(("words", "message"), [
    (["--slots", "other"], "--slots other: no --model has this name; there are kws"),
    (["--slot-size", "kws", "64K"], "--slot-size kws: the model has only one slot; add --slots kws"),
    (["--slots", "kws", "--exact", "kws"], "--slots kws: an update is refused with --exact kws; leave out one"),
])  # fmt: skip
def test_slots_that_make_no_sense_are_refused(tmp_path, words, message):
    (tmp_path / "kws.tgrs").write_bytes(b"TGRS" + bytes(400))
    with pytest.raises(UsageError, match=message):
        layout.main(["--model", "kws", str(tmp_path / "kws.tgrs"), "model", "auto", *words, "--table", "t", "-o", "o"],
                    standalone_mode=False)  # fmt: skip


# `tigris hil` is a group with the default command `check`.


def command_called(name: str, group: click.Group = hil) -> click.Command:
    command = group.get_command(click.Context(group), name)
    assert command is not None
    return command


def read_words(name: str, words: list[str]) -> None:
    """Reads a command's words without running it. click keeps the help option of a command's first context, so this
    has the same settings as every other."""
    command_called(name).make_context(name, words, parent=click.Context(cli, **cli.context_settings))


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_examples_with_options_that_there_are(name: str) -> None:
    command = command_called(name)
    assert command.name == name
    lines = [line.strip().partition("   ")[0].partition(" >")[0] for line in (command.help or "").splitlines()]
    examples = [line.split()[3:] for line in lines if line.startswith(f"tigris hil {name}")]
    assert examples
    for words in examples:
        read_words(name, words)


def test_help_lists_the_commands_and_the_options_of_the_one_that_needs_no_name() -> None:
    text = tigris("hil", "--help").stdout
    assert [name for name in COMMANDS if f"\n  {name} " not in text] == []
    assert "--samples N" in text
    assert tigris("hil", "-h").stdout == text
    for name in COMMANDS:
        assert tigris("hil", name, "-h").stdout == tigris("hil", name, "--help").stdout != text


def test_check_needs_not_be_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for words in ([], ["none.tgrs", "--port", "loop://"], ["--port", "loop://"], ["--samples", "0"], ["--what"]):
        unnamed, named = tigris("hil", *words, status=2), tigris("hil", "check", *words, status=2)
        assert unnamed.stderr == named.stderr != ""


def test_a_misspelled_command_is_answered_with_the_nearest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert "No such command 'chek'. Did you mean check?" in tigris("hil", "chek", status=2).stderr
    assert "chek.tgrs: no such file" in tigris("hil", "chek.tgrs", "--port", "loop://", status=2).stderr
    Path("check").write_bytes(b"no plan")
    assert "no port" in tigris("hil", "check", status=2).stderr
    assert "check: " in tigris("hil", "./check", "--port", "loop://", status=1).stderr
    Path("chek").write_bytes(b"no plan")
    assert "Did you mean" not in tigris("hil", "chek", "--port", "loop://", status=1).stderr
