"""Costs of microWakeWord's networks as ESPHome builds them: python -m bench.wake_words FOLDER [--machines …]

Runs the plain C of each .tflite file of a folder behind the front end, on two seconds of a synthesised word, on
emulated machines that count instructions. Its manifest, a .json file of the same name, has the bytes that ESPHome's
`micro_wake_word` reserves. Exit status 1 if an answer differs from TensorFlow Lite Micro's.

memory: the arena; a row: front end, once for each row of features; a run: the network, the most of all; stack: of both
"""

import json
from pathlib import Path

import numpy as np

from bench.command import Row, command, parser_of, print_table
from bench.emulator import MACHINES, Machine, emulate, link, numbers, samples, work_folder
from tests.examples.front_end import SOURCES, features
from tests.examples.wake_word import sounds
from tests.tflite.tflm import Tflm
from tigris_pio import compile_model

#: Bytes of variables that `micro_wake_word` reserves beside each arena.
VARIABLES = 1024
COLUMNS = [("network", "name"), "version", ("ESPHome reserves", "reserved"), "memory", ("rows a run", "rows"),
           ("a row", "row"), ("a run", "run"), "stack", "right"]  # fmt: skip


def answers(model: bytes, rows: np.ndarray, shape: tuple[int, ...]) -> bytes:
    """The network's answers by TensorFlow Lite Micro, uint8 as the int8 that plain C stores."""
    interpreter, count = Tflm(model), shape[1]
    steps = (rows[first : first + count].reshape(shape) for first in range(0, len(rows) - count + 1, count))
    return bytes(int(interpreter.run([step])[0].item()) ^ 0x80 for step in steps)


def measured(machine: Machine, path: Path, audio: np.ndarray, folder: Path) -> Row:
    """The row of a network."""
    manifest = json.loads(path.with_suffix(".json").read_text("utf-8"))
    compiled = compile_model(path, fast="64K")
    generated = compiled.codegen(folder, "model")
    sources = [folder / "model.c", *sorted(SOURCES.glob("*.c"))]
    program = link(machine, folder / "word.elf", "wake_word.c", f"-I{folder}", f"-I{SOURCES}", *sources)
    (source,) = compiled.report["inputs"]
    _, rows = features(audio)
    content = samples(audio.tobytes(), answers(path.read_bytes(), rows, tuple(source["shape"])))
    result = numbers(emulate(machine, program, content=content, folder=folder))
    # Manifests of version 1 have no size; ESPHome gives their networks one.
    reserved = manifest["micro"].get("tensor_arena_size", 45672) + VARIABLES
    return {"name": path.stem, "version": manifest["version"], "reserved": reserved, "memory": generated.fast_bytes,
            "rows": source["shape"][1], "row": result["row"], "run": result["run"], "stack": result["stack"],
            "right": result["right"] == 1}  # fmt: skip


@command
def main() -> int:
    """The command."""
    parser = parser_of(__doc__, machines="rv32imc")
    parser.add_argument("folder", type=Path, help="of .tflite files, each with its manifest")
    options = parser.parse_args()
    audio = sounds().stream(2, 1000)[0].astype("<i2")
    found: list[Row] = []
    for name in options.machines:
        with work_folder() as folder:
            paths = sorted(options.folder.rglob("*.tflite"))
            rows = [measured(MACHINES[name], path, audio, folder) for path in paths]
        print_table(f"{name}: wake words", rows, COLUMNS)
        found += rows
    return 0 if found and all(row["right"] for row in found) else 1
