"""`tigris new`: three commands from a model to the host's outputs, without a change to the written files.
tests/docs/test_projects.py does it for an emulated board."""

import json
from pathlib import Path

import pytest

from tests.harness.command import tigris
from tigris_pio.platformio import partitions

from .flashed import chip_running, read_back
from .mock_chip import mock_chip
from .project import ESPRESSIF_LIKE, ROOT, Project

NETWORKS = ROOT / "networks"


@pytest.mark.thorough
@pytest.mark.parametrize("framework", ["arduino", "espidf"])
def test_on_a_chip(tmp_path: Path, core_dir: Path, monkeypatch: pytest.MonkeyPatch, framework: str) -> None:
    """From ONNX; the stand-in platform replaces espressif32."""
    folder = tmp_path / framework
    tigris("new", folder, "--board", "esp32-s3-devkitc-1", "--framework", framework,
           "--model", NETWORKS / "ad_int8.onnx", "--name", "ad",
           "--slots", "2" if framework == "arduino" else "1")  # fmt: skip
    ini = folder / "platformio.ini"
    ini.write_text(ini.read_text("utf-8").replace("platform = espressif32", f"platform = {ESPRESSIF_LIKE}"), "utf-8")
    project = Project(folder, core_dir)
    environment = "esp32_s3_devkitc_1"
    with mock_chip("esp32s3") as mock:
        project.run("-t", "upload", "--upload-port", mock.port)
        flash, firmware, offset = read_back(mock, project, environment, tmp_path)
    model = partitions.find(partitions.parse_csv((folder / "partitions.csv").read_text("utf-8"), "table"), "model")
    plan = project.build(environment) / "tigris" / "ad.tgrs"
    assert model is not None and model.offset == offset and model.size >= 2 * plan.stat().st_size
    with chip_running(flash, firmware) as port:
        monkeypatch.chdir(folder)
        told = json.loads(tigris("hil", "--port", port, "--samples", "2", "--json").stdout)
    with chip_running(flash, firmware) as port:
        tested = project.pio("test", "--without-uploading", "--without-building", "--test-port", port)
    assert tested.status == 0 and "8/8 outputs equal to the host\t[PASSED]" in tested.text, tested.text
    assert told["equal"] is True
