"""`pio test` of a project that `tigris new` wrote: vectors on an emulated board, in PlatformIO's reports."""

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from tests.harness.command import tigris
from tigris_pio import Session

from .project import ROOT, Project

RUNNER = ROOT / "tigris_pio" / "platformio" / "test_runner.py"


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory, core_dir: Path) -> Iterator[Project]:
    """Built and uploaded by `pio test` itself, without vectors."""
    folder = tmp_path_factory.mktemp("pio test") / "mein test"
    tigris("new", folder, "--board", "emu_rv32", "--model", ROOT / "networks" / "ad_int8.tflite", "--name", "ad")
    project = Project(folder, core_dir)
    done = project.pio("test")
    assert done.status == 0, done.text
    assert "ad: 8 random inputs: 8/8 outputs equal to the host" in done.text, done.text
    yield project
    project.switch_off()


@pytest.fixture
def vectors(project: Project) -> Iterator[Path]:
    """The project's test folder, empty but for the runner again afterwards."""
    yield project.folder / "test"
    for path in (project.folder / "test").iterdir():
        if path.name != "test_custom_runner.py":
            shutil.rmtree(path) if path.is_dir() else path.unlink()


def write(project: Project, path: Path, wrong: int = 0) -> None:
    """Three samples with the host's outputs, of which so many are then changed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with Session(project.build("emu_rv32") / "tigris" / "ad.tgrs") as session:
        (x,), (y,) = session.inputs, session.outputs
        inputs = np.random.default_rng(1).integers(-128, 128, (3, *x.shape[1:]), np.int8)
        outputs = np.concatenate([session.run({x.name: sample[None]})[y.name] for sample in inputs])
    outputs[:wrong, 7] ^= 1
    np.savez(path, **{x.name: inputs, y.name: outputs})


def test(project: Project, *words: str, status: int = 0) -> tuple[str, list[dict[str, Any]]]:
    """Returns its output, and from the JSON report the suites that were run."""
    report = project.folder / "report.json"
    done = project.pio("test", "--without-building", "--json-output-path", str(report), *words)
    assert done.status == status and "Traceback" not in done.text, done.text
    return done.text, [suite for suite in json.loads(report.read_text("utf-8"))["test_suites"] if suite["test_cases"]]


test.__test__ = False  # type: ignore[attr-defined]


def test_every_vector_file_is_a_test_case(project: Project, vectors: Path, tmp_path: Path) -> None:
    write(project, vectors / "right.npz")
    write(project, vectors / "noise" / "wrong.npz", wrong=2)
    np.save(vectors / "short.npy", np.zeros((1, 639), np.int8))
    text, (suite,) = test(project, "--junit-output-path", str(tmp_path / "report.xml"), status=1)
    assert suite["env_name"] == "emu_rv32" and suite["status"] == "ERRORED"
    cases = {case["name"]: case for case in suite["test_cases"]}
    assert {name: case["status"] for name, case in cases.items()} == {
        "ad: right.npz": "PASSED", "ad: noise/wrong.npz": "FAILED", "ad: short.npy": "ERRORED",
    }  # fmt: skip
    assert cases["ad: right.npz"]["duration"] > 0
    assert "3/3 outputs equal to the host, 2 not as wrong.npz expects" in text
    assert "sample 1: output Identity on the host: 1 of 640 elements differ" in cases["ad: noise/wrong.npz"]["message"]
    assert "input x takes [1, 640]" in cases["ad: short.npy"]["exception"]
    root = ElementTree.parse(tmp_path / "report.xml").getroot()
    assert [len(root.findall(f".//{kind}")) for kind in ("testcase", "failure", "error")] == [3, 1, 1]


@pytest.mark.thorough
def test_folders_of_the_test_folder_are_suites_of_one_firmware(project: Project, vectors: Path) -> None:
    """And the port is the one that is named, by option before platformio.ini: each a port where there is nothing."""
    write(project, vectors / "test_one" / "a.npz")
    write(project, vectors / "test_two" / "b.npz", wrong=1)
    text, suites = test(project, status=1)
    statuses = {suite["test_name"]: suite["status"] for suite in suites}
    assert statuses == {"test_one": "PASSED", "test_two": "FAILED"}, text
    assert text.count("Building & Uploading...") == 1
    ini = project.folder / "platformio.ini"
    before = ini.read_text("utf-8")
    project.add_option("test_port = socket://127.0.0.1:1")
    for words, port in (((), "127.0.0.1:1"), (("--test-port", "socket://[::1]:2"), "[::1]:2")):
        text, suites = test(project, "--without-uploading", *words, status=1)
        assert {suite["status"] for suite in suites} == {"ERRORED"} and f"socket://{port}: cannot be opened" in text
    ini.write_text(before, "utf-8")


def test_platformio_needs_no_package(tmp_path: Path) -> None:
    """Its Python loads the runner by its path, and nothing of what the compiler needs with it."""
    code = (
        f"import runpy, sys; runner = runpy.run_path({str(RUNNER)!r})['CustomTestRunner']; "
        "print([n for n in sys.modules if n.split('.')[0] in ('tigris_pio', 'numpy', 'onnx', 'cobs')], runner.NAME)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stdout == "[] tigris\n", done.stderr
