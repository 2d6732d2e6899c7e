"""Faults of the compiler itself are internal errors, which name the step and the node, never the model's."""

import json
import os
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest

from tests.compiler.models import make, node
from tests.harness.command import tigris
from tigris_pio import InternalError, ModelError, TigrisError, UnsupportedError, compile_model
from tigris_pio.compiler.load import load_model
from tigris_pio.platformio.compiler import Compiler, CompilerError
from tigris_pio.platformio.compiler import run as run_by_hook

PACKAGE = "tigris_pio.compiler."
#: A function that raises, and the place that the message names.
FAULTS = {
    PACKAGE + "normalise.rules._bounds": "clip_to_relu6 at clip_a",
    PACKAGE + "lower.program.contract_of": "lower at clip_a",
    PACKAGE + "lower.fold_tables._lookup_of_product": "fold_tables at clip_a",
    PACKAGE + "lower.streams._inserted": "add_streams at fetch x",
    PACKAGE + "choose.find_plan": "plan",
    PACKAGE + "pipeline.write_plan": "emit",
    PACKAGE + "pipeline.build_report": "report",
}


def network() -> onnx.ModelProto:
    return make([node("Clip", "x low high", "a"), node("Softmax", "a", "y")], {"x": (1, 4, 6, 6)}, ["y"],
                {"low": np.float32(0), "high": np.float32(6)})  # fmt: skip


def fail(*_: object, **__: object) -> None:
    raise KeyError("lost")


@pytest.mark.parametrize("function", FAULTS)
def test_python(function: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(function, fail)
    with pytest.raises(InternalError) as error:
        compile_model(network(), stream="x")
    assert str(error.value).startswith(f"internal error in {FAULTS[function]} (KeyError: 'lost'): ")
    assert isinstance(error.value.__cause__, KeyError) and not isinstance(error.value, TigrisError)


@pytest.mark.parametrize("function", FAULTS)
def test_the_command_line(function: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(function, fail)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    onnx.save(network(), tmp_path / "m.onnx")
    words = ("compile", tmp_path / "m.onnx", "-m", "64K", "--stream", "x", "-o", tmp_path / "m.tgrs", "--json")
    done = tigris(*words, status=4)
    document = json.loads(done.stdout)
    assert document["kind"] == "InternalError" and f"internal error in {FAULTS[function]} (" in document["error"]
    saved = Path(document["error"].rpartition(" please report it with the traceback in ")[2])
    assert saved.parent == tmp_path and not (tmp_path / "m.tgrs").exists()
    assert "in fail\n" in saved.read_text("utf-8") and "tigris compile" in saved.read_text("utf-8")


def test_a_command_without_a_compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The message then names the command; without a temporary folder it says how to get the traceback."""
    monkeypatch.setattr(PACKAGE + "load.describe.describe_model", fail)
    monkeypatch.setattr("tempfile.NamedTemporaryFile", lambda *_, **__: (_ for _ in ()).throw(OSError()))
    onnx.save(network(), tmp_path / "m.onnx")
    done = " ".join(tigris("inspect", tmp_path / "m.onnx", status=4).stderr.split())
    assert "internal error in tigris inspect (KeyError: 'lost')" in done
    assert done.endswith("please report it with the traceback that TIGRIS_DEBUG=1 shows")


#: Runs when a Python starts.
FAULTY = """
import tigris_pio.compiler.lower.fold_tables
tigris_pio.compiler.lower.fold_tables._lookup_of_product = None
"""


def test_the_hook(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """PlatformIO shows the message of the command line."""
    (tmp_path / "sitecustomize.py").write_text(FAULTY, "utf-8")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), *sys.path]))
    onnx.save(network(), tmp_path / "m.onnx")
    words = [str(tmp_path / "m.onnx"), "-m", "64K", "-o", str(tmp_path / "m.tgrs")]
    with pytest.raises(CompilerError, match=r"internal error in fold_tables at clip_a .*please report it with the "
                                            r"traceback in \S+"):
        run_by_hook(Compiler((sys.executable, "-m", "tigris_pio"), ""), words, tmp_path)


def test_a_file_that_breaks_its_rules_is_to_blame(monkeypatch: pytest.MonkeyPatch) -> None:
    """A contradiction that no check foresees is an error about the file; with TIGRIS_DEBUG the exception passes."""
    monkeypatch.delenv("TIGRIS_DEBUG", raising=False)
    monkeypatch.setattr(PACKAGE + "load.model.load_onnx", fail)
    with pytest.raises(ModelError, match=r"cannot be read \(KeyError: 'lost'\): it is damaged"):
        load_model(network())
    monkeypatch.setenv("TIGRIS_DEBUG", "1")
    with pytest.raises(KeyError):
        load_model(network())


def test_refused_nodes_come_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """The operands of a node behind a refused one may be inconsistent, so that its exception is no fault."""
    nodes = [node("RandomUniformLike", "x", "a"), node("Relu", "a", "y")]
    monkeypatch.setattr(PACKAGE + "lower.program.element_types.check_arithmetic", fail)
    with pytest.raises(UnsupportedError, match="RandomUniformLike"):
        compile_model(make(nodes, {"x": (1, 4)}, ["y"]))
