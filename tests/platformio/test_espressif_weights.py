"""Weights of a model that is C on espressif32: the hook adds their partition, esptool flashes it, firmware maps it."""

from __future__ import annotations

import shutil
import socket
import sys

import pytest

from tests.networks.folders import OWN
from tigris_pio import compile_model
from tigris_pio.platformio import partitions

from .flashed import chip_running, read_back
from .mock_chip import mock_chip
from .project import ESPRESSIF_LIKE
from .test_plain_c import BESIDE_WEIGHTS, PARTITION, expected

#: The page's program for a model that is called like a type of C.
MAIN = (
    BESIDE_WEIGHTS.replace("#include <board.h>\n", "").replace("    for (;;)\n        board_wait_uart();\n", "")
    .replace("int main(void)", "void app_main(void);\nvoid app_main(void)")
    .replace("KWS_", "MODEL_FLOAT_").replace("kws_run", "model_float_run").replace("kws.h", "model_float.h")
)  # fmt: skip
INI = f"""
[env:board]
board = esp32-c3-devkitm-1
custom_like = pioarduino
custom_tigris_python = {sys.executable}
custom_tigris_models = float = kws.onnx
custom_tigris_mem = 6K
custom_tigris_mode = c
{PARTITION}"""


def printed(port: str) -> bytes:
    """What the firmware prints, to the end of its line."""
    with socket.create_connection(("127.0.0.1", int(port.rsplit(":", 1)[1])), timeout=20) as line:
        return line.makefile("rb").readline().strip()


@pytest.mark.thorough
def test_weights_are_flashed_and_found(new_project, tmp_path):
    project = new_project({"src/main.c": MAIN}, INI, platform=ESPRESSIF_LIKE, framework="espidf")
    shutil.copyfile(OWN / "kws_int8.onnx", project.folder / "kws.onnx")
    generated = compile_model(OWN / "kws_int8.onnx", fast="6K").codegen(None, "float", weights="partition")
    weights = generated.files["model_float_weights.bin"]
    with mock_chip("esp32c3", "pty") as mock:
        said = project.run("-t", "upload", "--upload-port", mock.port)
        assert "'float' is model_float in C" in said
        assert f"Weights of model_float: {len(weights)} bytes at 0x0 of partition model" in said
        flash, firmware, offset = read_back(mock, project, "board", tmp_path)
        table = partitions.parse_binary(flash.read_bytes()[0x8000:0x8C00])
        assert [row.label for row in table] == ["nvs", "phy_init", "factory", "model"]
        assert mock.read(offset, len(weights)) == weights
        assert weights[:64] not in firmware.read_bytes()
        with chip_running(flash, firmware) as port:
            assert printed(port) == expected()

        mock.write(offset, b"another training")
        flash, firmware, _ = read_back(mock, project, "board", tmp_path)
        with chip_running(flash, firmware) as port:
            assert printed(port).startswith(b"[-1 ")

        assert "Linking" not in project.run("-t", "uploadmodel", "--upload-port", mock.port)
        assert mock.read(offset, len(weights)) == weights
