"""GNU's assembler, told of the ESP32-S3 by Espressif's description, makes of the sources the instructions that the
interpreter reads in them. Encodings exist for all of them, loops are short enough, constants fit."""

import os
from pathlib import Path

import pytest

from bench.assembly.source import read
from bench.xtensa import assembler
from bench.xtensa.kernels import SOURCES

VARIABLE, ESP_NN = "TIGRIS_XTENSA_CONFIG", "TIGRIS_ESP_NN"
pytestmark = pytest.mark.vendor(VARIABLE)


def both(source: Path, folder: Path) -> tuple[list[assembler.Plain], list[assembler.Plain]]:
    """As the assembler has them, and as the interpreter."""
    plugin = Path(os.environ[VARIABLE])
    target = assembler.assembled(source, plugin, folder, ("TIGRIS_PIE",))
    return assembler.taken_apart(target, plugin), assembler.read(read([source], ("TIGRIS_PIE",)))


@pytest.mark.parametrize("name", sorted(path.name for path in SOURCES.glob("*.S")))
def test_own_kernels(name: str, tmp_path: Path) -> None:
    found, expected = both(SOURCES / name, tmp_path)
    assert found == expected
    assert len(found) > 30


@pytest.mark.vendor(ESP_NN)
def test_vector_instructions_of_esp_nn(tmp_path: Path) -> None:
    """The assembler takes its far branches apart, so only the vectors' instructions are the same."""
    sources = sorted((Path(os.environ[ESP_NN]) / "src").rglob("*_esp32s3.S"))
    vectors = 0
    for source in sources:
        found, expected = ([one for one in code if one[0].startswith("ee.")] for code in both(source, tmp_path))
        assert found == expected, source.name
        vectors += len(found)
    assert len(sources) >= 24 and vectors > 900
