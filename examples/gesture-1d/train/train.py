"""Trains the gesture network and writes it as int8: `python train.py [--out DIR]`.

Needs numpy and tensorflow; some minutes on one core. One seed: the same file each time on the same machine.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import tensorflow as tf
from hand import NAMES, RATE, stream
from tensorflow import keras
from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

HERE = Path(__file__).resolve().parents[1]
SEED, EPOCHS = 5, 12
WINDOW, HOP, AXES = 64, 5, 6  #: samples of a window, and from one to the next
STEP_BITS = 6  #: of the sensor's steps, which the network does not see: 1/64 g, 2 degrees a second
STREAMS, SECONDS = range(10000, 10160), 60.0  #: to learn from; the demo and the tests have others
#: Samples since a gesture's end in which it is to be told; windows near to that count for nothing.
TOLD, NEAR = 15, 12


def stored(samples: np.ndarray) -> np.ndarray:
    """int8 as the firmware makes them of the sensor's int16."""
    rounded: np.ndarray = np.clip((samples.astype(np.int32) + 32) >> STEP_BITS, -128, 127).astype(np.int8)
    return rounded


def windows(samples: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """int8 [N, WINDOW, AXES] and the samples at which they end."""
    ends = np.arange(WINDOW, len(samples) + 1, HOP)
    return np.stack([stored(samples)[end - WINDOW : end] for end in ends]), ends


def examples(seed: int, seconds: float) -> tuple[np.ndarray, np.ndarray]:
    """Windows of a stream that count, and their names' indices."""
    samples, gestures = stream(seconds, seed)
    seen, ends = windows(samples)
    names, counts = np.zeros(len(ends), np.int64), np.ones(len(ends), bool)
    for name, first, end in gestures:
        names[(ends >= end) & (ends <= end + TOLD)] = name
        counts &= (ends < first + NEAR) | (ends > end + TOLD + NEAR) | ((ends >= end) & (ends <= end + TOLD))
    return seen[counts], names[counts]


def network() -> keras.Model:
    layers = keras.layers
    return keras.Sequential([
        keras.Input((WINDOW, AXES)),
        layers.Conv1D(16, 5, strides=2, activation="relu"), layers.Conv1D(24, 5, strides=2, activation="relu"),
        layers.Conv1D(32, 3, strides=2, activation="relu"), layers.Flatten(), layers.Dropout(0.2),
        layers.Dense(24, "relu"), layers.Dense(len(NAMES), "softmax"),
    ])  # fmt: skip


def train(seen: np.ndarray, names: np.ndarray) -> keras.Model:
    keras.utils.set_random_seed(SEED)
    tf.config.experimental.enable_op_determinism()
    model, steps = network(), -(-len(seen) // 64) * EPOCHS
    model.compile(keras.optimizers.Adam(keras.optimizers.schedules.CosineDecay(2e-3, steps)),
                  keras.losses.CategoricalCrossentropy(label_smoothing=0.02))
    model.fit(seen.astype(np.float32) / 128, np.eye(len(NAMES), dtype=np.float32)[names], batch_size=64,
              epochs=EPOCHS, verbose=0)
    return model


def converted(model: keras.Model, seen: np.ndarray) -> bytes:
    """int8 with int8 input and output. The input's scale is 1/128: stored values are those of `stored`."""

    def calibration() -> Iterator[list[np.ndarray]]:
        yield [np.resize(np.float32([-1, 127 / 128]), (1, WINDOW, AXES))]
        for window in seen[:: len(seen) // 400]:
            yield [window[np.newaxis].astype(np.float32) / 128]

    function = tf.function(lambda x: model(x, training=False))
    concrete = function.get_concrete_function(tf.TensorSpec([1, WINDOW, AXES], tf.float32, name="motion"))
    converter = tf.lite.TFLiteConverter.from_concrete_functions([convert_variables_to_constants_v2(concrete)])
    converter.optimizations = [tf.lite.Optimize.DEFAULT]
    converter.representative_dataset = calibration
    converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS_INT8]
    converter.inference_input_type = converter.inference_output_type = tf.int8
    file: bytes = converter.convert()
    return file


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, default=HERE / "model", help="folder of gesture.tflite")
    out = parser.parse_args().out
    parts = [examples(seed, SECONDS) for seed in STREAMS]
    seen, names = (np.concatenate(part) for part in zip(*parts, strict=True))
    model = train(seen, names)
    tested, right = examples(99, 600.0)
    best = model.predict(tested.astype(np.float32) / 128, verbose=0).argmax(axis=1)
    file = converted(model, seen)
    out.mkdir(parents=True, exist_ok=True)
    (out / "gesture.tflite").write_bytes(file)
    print(f"{len(seen)} windows of {len(STREAMS) * SECONDS / 60:.0f} minutes at {RATE} Hz, {len(file)} bytes")
    print(f"windows that it has not seen: {np.mean(best == right):.1%} right")


if __name__ == "__main__":
    main()
