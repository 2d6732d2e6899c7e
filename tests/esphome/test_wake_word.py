"""`tigris_wake_word` in ESPHome itself: its options, the projects that it generates, and a program for this machine."""

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.docs.pages import blocks
from tests.examples.front_end import EXAMPLE, features
from tests.examples.wake_word import sounds
from tests.networks.folders import OWN
from tests.platformio.project import ROOT

from .expected import example, heard
from .project import build, configure, esphome, generate

pytestmark = [pytest.mark.vendor("TIGRIS_ESPHOME"), pytest.mark.thorough, pytest.mark.timeout(600)]

MICROPHONE = """
i2s_audio: {i2s_lrclk_pin: 5, i2s_bclk_pin: 4}
microphone:
  - {platform: i2s_audio, adc_type: external, i2s_din_pin: 3}
"""
RECORDING = """
microphone:
  - {platform: recording, id: player, path: sound.raw}
"""
#: Samples that the recording plays at a time.
CHUNK = 617


def manifest(folder: Path, name: str = "wake", model: Path = EXAMPLE / "model" / "wake.onnx", **changes: Any) -> None:
    """NAME.json for a model."""
    micro = {"probability_cutoff": 0.7, "feature_step_size": 10, "sliding_window_size": 5, "tensor_arena_size": 45672,
             "minimum_esphome_version": "2024.7.0", **changes}  # fmt: skip
    text = {"type": "micro", "wake_word": name.title(), "author": "nobody", "model": model.name, "version": 2,
            "trained_languages": ["en"], "micro": micro}  # fmt: skip
    (folder / f"{name}.json").write_text(json.dumps(text), "utf-8")
    shutil.copy(model, folder)


def esp32(variant: str) -> str:
    return f"esp32: {{variant: {variant}, framework: {{type: esp-idf}}}}"


@pytest.mark.parametrize("variant", ["esp32", "esp32s3", "esp32c3", "esp32c6"])
def test_a_chip_needs_neither_psram_nor_an_interpreter(variant: str, tmp_path: Path) -> None:
    manifest(tmp_path)
    configure(tmp_path, esp32(variant), MICROPHONE + """
tigris_wake_word:
  models:
    - {model: wake.json, id: first, state: next_past=past}
  on_wake_word_detected:
    - logger.log: {format: "heard %s", args: [wake_word.c_str()]}
    - tigris_wake_word.disable_model: first
    - if:
        condition: [tigris_wake_word.is_running, tigris_wake_word.model_is_enabled: first]
        then: [tigris_wake_word.stop, tigris_wake_word.start, tigris_wake_word.enable_model: first]
""")
    sources = generate(tmp_path)
    names = {path.name for path in (sources / "tigris").iterdir()}
    assert {"network_first.c", "network_first.h", "speech_features.c", "tigris_c_fully_connected_int8.c"} <= names
    main = (sources / "main.cpp").read_text("utf-8")
    assert 'Model(network_first, "Wake", 178, network_first_window, 5)' in main
    assert "PSRAM" not in main and "tflite" not in (sources / "idf_component.yml").read_text("utf-8")


def test_files_are_written_again_only_if_they_change(tmp_path: Path) -> None:
    manifest(tmp_path)
    text = MICROPHONE + "tigris_wake_word:\n  models: [{model: wake.json, id: NAME, state: next_past=past}]\n"
    configure(tmp_path, esp32("esp32c3"), text.replace("NAME", "first"))
    folder = generate(tmp_path) / "tigris"
    times = {path.name: path.stat().st_mtime_ns for path in folder.iterdir()}
    generate(tmp_path)
    assert {path.name: path.stat().st_mtime_ns for path in folder.iterdir()} == times
    configure(tmp_path, esp32("esp32c3"), text.replace("NAME", "second"))
    generate(tmp_path)
    now = {path.name for path in folder.iterdir()}
    assert now == {name.replace("first", "second") for name in times}


def test_configurations_of_the_page_are_valid(tmp_path: Path) -> None:
    """With files in place of public names, on a chip with a microphone, and with sensors to read."""
    for name in ("wake", "vad"):
        manifest(tmp_path, name)
    shutil.copy(EXAMPLE.parent / "gesture-1d" / "model" / "gesture.tflite", tmp_path)
    shutil.copy(tmp_path / "gesture.tflite", tmp_path / "digits.tflite")
    first, wake, gesture, meter = (block.text for block in blocks(ROOT / "docs" / "esphome.md", "yaml"))
    sensors = "".join(f"  - {{platform: template, id: {a}_{b}}}\n" for a in ("accel", "gyro") for b in "xyz")
    own = [MICROPHONE + first[first.index("tigris_wake_word:") :], wake[wake.index("i2s_audio:") :],
           gesture.replace("sensor:\n", f"sensor:\n{sensors}"), meter[meter.index("sensor:") :]]  # fmt: skip
    for text in own:
        local = re.sub("okay_nabu|hey_jarvis", "wake.json", text).replace("vad:\n", "vad: {model: vad.json}\n")
        configure(tmp_path, esp32("esp32c3"), local)
        assert "Configuration is valid!" in esphome(tmp_path, "config")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("models: []", "length of value must be at least 1"),
        ("models: [{model: wake.json, probability_cutoff: 120%}]", "value must be at most 1"),
        ("models: [{model: wake.json, sliding_window_size: 0}]", "value must be at least 1"),
        ("models: [{model: wake.json, memory: 64KB}]", "64KB: give bytes, or a number with K or M, such as 20K"),
        ("models: [{model: wake.json, tensor_arena_size: 1}]", "[tensor_arena_size] is an invalid option"),
        ("models: [wake.json, slow.json]",
         "all models need the same feature_step_size above 0, but theirs are 10 and 20"),
        ("models: [wake.json]\n  vad: {model: slow.json}",
         "all models need the same feature_step_size above 0, but theirs are 10 and 20"),
    ],
)  # fmt: skip
def test_options_are_checked(options: str, message: str, tmp_path: Path) -> None:
    manifest(tmp_path)
    manifest(tmp_path, "slow", feature_step_size=20)
    configure(tmp_path, esp32("esp32c3"), f"{MICROPHONE}tigris_wake_word:\n  {options}\n")
    assert message in " ".join(esphome(tmp_path, "config", status=2).split())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("wake.json", "needs one input of int8, uint8, int16, float32, but the model has features of int8, past of"),
        ("kws.json", "takes rows of 40 int8 and has one int8 as output, but this one takes [1, 1, 49, 10] of int8"),
        ("wake.json, state: next_past=past, memory: 2K", "fast memory that works is 2592 bytes (memory: 3K)"),
    ],
)
def test_a_model_is_refused_with_the_remedy(options: str, message: str, tmp_path: Path) -> None:
    manifest(tmp_path)
    manifest(tmp_path, "kws", OWN / "kws_int8.onnx")
    configure(tmp_path, esp32("esp32c3"), f"{MICROPHONE}tigris_wake_word:\n  models: [{{model: {options}}}]\n")
    said = esphome(tmp_path, "compile", "--only-generate", status=1)
    assert message in " ".join(said.split()) and "Traceback" not in said


def test_a_program_hears_what_it_should(tmp_path: Path) -> None:
    """Detections stop the component, which starts a new stream at once; the second word is enabled by the first
    detection. Each is at the chunk that ESPHome's rule says."""
    manifest(tmp_path)
    manifest(tmp_path, "second", probability_cutoff=0.9, sliding_window_size=2)
    manifest(tmp_path, "vad", probability_cutoff=0.8, sliding_window_size=4)
    audio, _ = sounds().stream(40, 1000)
    audio.astype("<i2").tofile(tmp_path / "sound.raw")
    boot = ("  on_boot: [lambda: App.set_loop_interval(0);, tigris_wake_word.disable_model: second, "
            "tigris_wake_word.start]")  # fmt: skip
    configure(tmp_path, f"{boot}\nhost:", RECORDING + """
interval:
  - interval: 1ms
    then:
      - if: {condition: {not: tigris_wake_word.is_running}, then: tigris_wake_word.start}
tigris_wake_word:
  vad: {model: vad.json, state: next_past=past}
  models:
    - {model: wake.json, state: next_past=past}
    - {model: second.json, id: second, state: next_past=past}
  on_wake_word_detected:
    - lambda: printf("%s at %u\\n", wake_word.c_str(), id(player).position());
    - tigris_wake_word.enable_model: second
""")
    done = subprocess.run([build(generate(tmp_path))], cwd=tmp_path, capture_output=True, text=True, check=True)
    said = re.findall(r"(?m)^(\w+) at (\d+)$", done.stdout)
    assert [(name, int(position)) for name, position in said] == expected(audio)
    assert {name for name, _ in said} == {"Wake", "Second"} and "was heard, but no voice" in done.stdout


def expected(audio: np.ndarray) -> list[tuple[str, int]]:
    """Names, and samples that were played until then."""
    found: list[tuple[str, int]] = []
    start = 0
    while True:
        _, rows = features(audio[start:])
        words = [example(0.7, 5), *([example(0.9, 2)] if found else [])]
        ends = [(-(-(start + 480 + 160 * row) // CHUNK), word) for row, word in heard(rows, words, example(0.8, 4))]
        if not ends:
            return found
        chunks, word = min(ends)
        start = min(chunks * CHUNK, len(audio))
        found.append((("Wake", "Second")[word], start))
