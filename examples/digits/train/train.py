"""Trains the example's network and writes `model/digits.onnx` and `model/digits_test.npz`.

    python examples/digits/train/train.py [--out DIR]

The same machine gives the same files each time: one seed, one thread. Another processor may round the
sums of a matrix product differently, and then ends with other weights and nearly the same accuracy.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from data import Split, load_splits
from export import quantise, to_onnx
from network import EPOCHS, accuracy, build_network, fit
from threadpoolctl import threadpool_limits

SEED = 1
OUT = Path(__file__).resolve().parents[1] / "model"


def onnx_accuracy(model: Path, split: Split) -> float:
    """Share of digits that onnxruntime recognises with a model."""
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    best = [session.run(None, {"image": image[np.newaxis]})[0].argmax() for image in split.images]
    return float((np.array(best) == split.labels).mean())


def train_network(train: Split, test: Split) -> list:  # type: ignore[type-arg]
    """A fitted network; prints the loss every tenth epoch."""
    generator = np.random.default_rng(SEED)
    network = build_network(generator)
    started = time.monotonic()

    def report(epoch: int, loss: float) -> None:
        if (epoch + 1) % 10 == 0:
            seconds = time.monotonic() - started
            print(f"epoch {epoch + 1:2}/{EPOCHS}  loss {loss:.4f}  {seconds:.0f} s", flush=True)

    fit(network, train, generator, report)
    print(f"float32, numpy:      train {accuracy(network, train):.2%}  test {accuracy(network, test):.2%}")
    return network


def main() -> None:
    parser = argparse.ArgumentParser(description="Trains the digits network and quantises it.")
    parser.add_argument("--out", type=Path, default=OUT, help="folder for digits.onnx and digits_test.npz")
    out: Path = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)
    train, test = load_splits(SEED)
    with threadpool_limits(1), tempfile.TemporaryDirectory() as scratch:
        network = train_network(train, test)
        float_model = Path(scratch) / "digits_float.onnx"
        onnx.save(to_onnx(network), float_model)
        quantise(float_model, out / "digits.onnx", train)
        print(f"float32, onnxruntime: test {onnx_accuracy(float_model, test):.2%}")
    print(f"int8, onnxruntime:    test {onnx_accuracy(out / 'digits.onnx', test):.2%} of {len(test.labels)} digits")
    np.savez_compressed(out / "digits_test.npz", images=test.images, labels=test.labels)


if __name__ == "__main__":
    main()
