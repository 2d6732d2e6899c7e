"""Inference time on this computer, beside two other runtimes: python -m bench.host_speed [--models …]

Session runs the project's networks, NAME_int8.tflite and NAME_int8.onnx, with this processor's vector instructions and
with the portable kernels alone. Beside it run onnxruntime, and TensorFlow Lite Micro's interpreter with its reference
kernels. Needs `pip install tflite-micro onnxruntime`. All are single-threaded and alternate after ten runs. The best
run counts, since other load only adds time. Outputs are compared with the recorded ones, except those of onnxruntime,
whose arithmetic differs. Exit status 1 if one differs.
"""

from __future__ import annotations

import argparse
import functools
import importlib
import os
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
import onnx

from bench.emulator import NETWORKS, BenchError
from bench.instructions import int8_networks
from tigris_pio import Session, compile_model
from tigris_pio.host import library

ARENA_BYTES = 1 << 20
TURN = 10
#: Sessions, by the kernels they use.
KERNELS = ("fastest", "portable")


def module_of(name: str, package: str) -> Any:
    """Another runtime's module."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise BenchError(f"{package} is missing ({error}); install it with `pip install {package}`") from error


def peer_class() -> Any:
    """TensorFlow Lite Micro's interpreter."""
    return module_of("tflite_micro.python.tflite_micro.runtime", "tflite-micro").Interpreter


def reference(file: Path) -> Any:
    """The network in onnxruntime, with one thread. Scales of one element become scalars: given as vectors, some of its
    fused operators refuse them and others are not fused."""
    runtime = module_of("onnxruntime", "onnxruntime")
    model = onnx.load(file)
    for tensor in model.graph.initializer:
        if list(tensor.dims) == [1]:
            tensor.ClearField("dims")
    options = runtime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return runtime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def session_with(kernels: str, plan: object) -> Session:
    """A session that computes with these kernels."""
    before = os.environ.get(library.KERNELS_VARIABLE)
    os.environ[library.KERNELS_VARIABLE] = kernels
    try:
        return Session(plan)  # type: ignore[arg-type]
    finally:
        if before is None:
            del os.environ[library.KERNELS_VARIABLE]
        else:
            os.environ[library.KERNELS_VARIABLE] = before


def invoke(peer: Any, values: np.ndarray) -> None:
    """TensorFlow Lite Micro, with the input anew: a run may overwrite it."""
    peer.set_input(values, 0)
    peer.invoke()


def seconds(run: Callable[[], object]) -> float:
    """Seconds of one call."""
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def compare(name: str, rounds: int) -> bool:
    """Prints one line; whether all outputs that are compared are the recorded one."""
    file = NETWORKS / f"{name}_int8.tflite"
    if not file.is_file():
        raise BenchError(f"{file} does not exist")
    data = np.load(NETWORKS / f"{name}_vectors.npz")
    values, expected = data["input_q"][0], data["output_tflm_q"][0].ravel()
    peer = peer_class().from_file(str(file), arena_size=ARENA_BYTES)
    shaped = values.reshape(peer.get_input_details(0)["shape"]).astype(np.int8)
    other = reference(file.with_suffix(".onnx"))
    real = {other.get_inputs()[0].name: data["input_f32"][:1].reshape(other.get_inputs()[0].shape)}
    best = [float("inf")] * (len(KERNELS) + 2)
    with ExitStack() as stack:
        plan = compile_model(file.with_suffix(".onnx"))
        sessions = [stack.enter_context(session_with(kernels, plan)) for kernels in KERNELS]
        inputs = {io.name: values.reshape(io.stored_shape) for io in sessions[0].inputs}
        runs: list[Callable[[], object]] = [functools.partial(session.run_raw, inputs) for session in sessions]
        runs += [lambda: other.run(None, real), functools.partial(invoke, peer, shaped)]
        for _ in range(-(-rounds // TURN)):
            best = [min(least, *(seconds(run) for _ in range(TURN))) for least, run in zip(best, runs, strict=True)]
        outputs = [session.run_raw(inputs)[session.outputs[0].name] for session in sessions]
    right = [np.array_equal(output.ravel(), expected) for output in (*outputs, peer.get_output(0))]
    cells = "".join(f"{value * 1e3:12.3f}" for value in best)
    words = " ".join("yes" if same else "NO" for same in right)
    print(f"{name:15}{cells}{best[0] / best[2]:9.2f}  {words}")
    return all(right)


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", default=",".join(int8_networks(NETWORKS)), help="networks, by name")
    parser.add_argument("--rounds", type=int, default=200)
    options = parser.parse_args()
    try:
        peer_class()
        titles = "".join(f"{title:>12}" for title in (*KERNELS, "onnxruntime", "TFLM"))
        print(f"{'ms':15}{titles}  1st/3rd  right")
        right = [compare(name, options.rounds) for name in options.models.split(",")]
    except BenchError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0 if all(right) else 1


if __name__ == "__main__":
    sys.exit(main())
