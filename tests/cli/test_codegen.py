"""`tigris codegen` as its users call it."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.harness.command import tigris
from tests.networks.folders import OWN
from tests.runtime.build import C99

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
    (("-o", "FILE"), "cannot be made a folder"),
])  # fmt: skip
def test_wrong_usage(tmp_path: Path, arguments: tuple[str, str], said: str) -> None:
    (tmp_path / "file").touch()
    words = [str(tmp_path / "file") if word == "FILE" else word for word in arguments]
    done = tigris("codegen", MICRO_SPEECH, "-m", "64K", "-o", tmp_path / "src", *words, status=2)
    assert said in " ".join(done.stderr.split())
