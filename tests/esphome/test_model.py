"""The sliding window of integrations/esphome, compiled without ESPHome, hears what its rule says."""

import subprocess
from pathlib import Path

import numpy as np
import pytest

from tests.examples.front_end import features
from tests.examples.wake_word import compiled, sounds
from tests.platformio.project import ROOT

from .expected import example, heard

COMPONENTS = ROOT / "integrations" / "esphome" / "components"
#: Reads rows of 40 numbers. Arguments: cutoff, window, the row that disables the model, the row that enables it.
MAIN = """
#include "esphome/components/tigris_wake_word/model.h"
#include "wake.h"

#include <cstdio>
#include <cstdlib>

using namespace esphome;

static WAKE_ALIGNED uint8_t arena[WAKE_FAST_BYTES];
static const tigris::Network network{
    {WAKE_INPUT_IN(arena), WAKE_INPUT_ELEMENTS, 1, WAKE_INPUT_SCALE, WAKE_INPUT_ZERO_POINT, true,
     tigris::store<int8_t>, tigris::load<int8_t>},
    {WAKE_OUTPUT_IN(arena), WAKE_OUTPUT_ELEMENTS, 1, WAKE_OUTPUT_SCALE, WAKE_OUTPUT_ZERO_POINT, true,
     tigris::store<int8_t>, tigris::load<int8_t>},
    [] { return wake_run(WAKE_INPUT_IN(arena), WAKE_OUTPUT_IN(arena), arena); }, [] { return wake_reset(arena); }};

int main(int, char **arguments) {
  static uint8_t window[256];
  const int size = std::atoi(arguments[2]), off = std::atoi(arguments[3]), on = std::atoi(arguments[4]);
  tigris_wake_word::Model model(network, "word", std::atoi(arguments[1]), window, size);
  int8_t row[40];
  for (int index = 0; std::fread(row, 1, sizeof row, stdin) == sizeof row; index++) {
    if (index == off)
      model.disable();
    if (index == on)
      model.enable();
    if (model.add_row(row)) {
      model.forget();
      std::printf("%d\\n", index);
    }
  }
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("model")
    compiled().codegen(folder, "wake")
    (folder / "main.cpp").write_text(MAIN, "utf-8")
    (folder / "esphome").mkdir()
    (folder / "esphome" / "components").symlink_to(COMPONENTS)
    flags = ["-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    warnings = ["-std=gnu++20", "-Wall", "-Wextra", "-Werror"]
    subprocess.run(["gcc", *flags, "-c", "wake.c"], cwd=folder, check=True)
    subprocess.run(["g++", *flags, *warnings, "-I.", "main.cpp", "wake.o", "-o", "model"], cwd=folder, check=True)
    return folder / "model"


@pytest.mark.parametrize(("cutoff", "window"), [(0.7, 5), (0.3, 1), (0.95, 9)])
def test_a_word_is_heard_once(program: Path, cutoff: float, window: int) -> None:
    audio, ends = sounds().stream(20, 1000)
    _, rows = features(audio)
    expected = [row for row, _ in heard(rows, [example(cutoff, window)])]
    assert run(program, rows, cutoff, window) == expected
    assert len(ends) == 8 and (cutoff != 0.7 or len(expected) == 6)  # two words follow another within a second


def test_a_disabled_model_begins_a_new_stream(program: Path) -> None:
    """Disabled in the middle of an input and within the first word."""
    audio, _ = sounds().stream(20, 1000)
    _, rows = features(audio)
    before = [row for row, _ in heard(rows[:803], [example(0.7, 5)])]
    after = [row + 1000 for row, _ in heard(rows[1000:], [example(0.7, 5)])]
    assert run(program, rows, 0.7, 5, 803, 1000) == before + after and after


def run(program: Path, rows: np.ndarray, cutoff: float, window: int, off: int = -1, on: int = -1) -> list[int]:
    arguments = [str(value) for value in (int(cutoff * 255), window, off, on)]
    done = subprocess.run([program, *arguments], input=rows.tobytes(), capture_output=True, check=True)
    return [int(line) for line in done.stdout.split()]
