"""How long inference takes here, beside TensorFlow Lite Micro's interpreter: python -m bench.host_speed [--models …]

The project's own networks, NAME_int8.tflite and NAME_int8.onnx. Needs `pip install tflite-micro`, whose kernels are
TensorFlow Lite Micro's reference ones. Both run single-threaded in turns, and the best of all runs counts: other
load only ever adds time. Outputs are compared with the recorded ones. Exit status 1 if one differs.
"""

from __future__ import annotations

import argparse
import importlib
import sys
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np

from bench.emulator import NETWORKS, BenchError
from bench.instructions import int8_networks
from tigris_pio import Session, compile_model

ARENA_BYTES = 1 << 20


def peer_class() -> type:
    """TensorFlow Lite Micro's interpreter."""
    try:
        module = importlib.import_module("tflite_micro.python.tflite_micro.runtime")
    except ImportError as error:
        raise BenchError(f"tflite-micro is missing ({error}); install it with `pip install tflite-micro`") from error
    found: type = module.Interpreter
    return found


def seconds(run: Callable[[], object]) -> float:
    """Of one call."""
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def compare(name: str, rounds: int) -> bool:
    """Prints one line; whether both outputs are the recorded one."""
    file = NETWORKS / f"{name}_int8.tflite"
    if not file.is_file():
        raise BenchError(f"{file} does not exist")
    data = np.load(NETWORKS / f"{name}_vectors.npz")
    values, expected = data["input_q"][0], data["output_tflm_q"][0].ravel()
    peer = peer_class().from_file(str(file), arena_size=ARENA_BYTES)
    shaped = values.reshape(peer.get_input_details(0)["shape"]).astype(np.int8)
    with Session(compile_model(NETWORKS / f"{name}_int8.onnx")) as session:
        source, result = session.inputs[0], session.outputs[0]
        inputs = {source.name: values.reshape(source.stored_shape)}
        ours = theirs = float("inf")
        for _ in range(rounds):
            ours = min(ours, seconds(lambda: session.run_raw(inputs)))
            peer.set_input(shaped, 0)  # a run may overwrite it
            theirs = min(theirs, seconds(peer.invoke))
        right = [np.array_equal(output.ravel(), expected)
                 for output in (session.run_raw(inputs)[result.name], peer.get_output(0))]  # fmt: skip
    print(f"{name:15}{ours * 1e3:12.3f}{theirs * 1e3:12.3f}{theirs / ours:8.2f}{right[0]!s:>9}{right[1]!s:>9}")
    return all(right)


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", default=",".join(int8_networks(NETWORKS)), help="networks, by name")
    parser.add_argument("--rounds", type=int, default=200)
    options = parser.parse_args()
    try:
        peer_class()
        print(f"{'network':15}{'tigris, ms':>12}{'TFLM, ms':>12}{'ratio':>8}{'right':>9}{'right':>9}")
        right = [compare(name, options.rounds) for name in options.models.split(",")]
    except BenchError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0 if all(right) else 1


if __name__ == "__main__":
    sys.exit(main())
