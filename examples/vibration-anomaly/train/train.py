"""Trains the autoencoder on pumps in order, sets its threshold, and writes both: `python train.py [--out DIR]`.

Needs numpy and tensorflow; a minute on one core. One seed: the same files each time on the same machine.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import tensorflow as tf
from machine import FAULTS, Pump
from spectrum import BANDS, ROW, rows
from tensorflow import keras
from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

HERE = Path(__file__).resolve().parents[1]
SEED, EPOCHS = 3, 60
PUMPS, SECONDS, LOADS = 120, 16, 6  #: to learn from: under each load, so many seconds
HELD_OUT = range(5000, 5040)  #: pumps that only the threshold is set by
ALARM_ROWS = 3  #: in a row above the threshold: an alarm
#: One row in so many of a pump in order is above the threshold; three in a row are rarer.
QUANTILE = 0.999


def healthy(seeds: range, seconds: float, loads: int) -> np.ndarray:
    """Rows of pumps in order, float32 [N, BANDS], 0 to 1."""
    found = [rows(pump.run(seconds)) for pump in map(Pump, seeds) for _ in range(loads)]
    return np.concatenate(found).astype(np.float32) / 255


def train(learned: np.ndarray) -> keras.Model:
    keras.utils.set_random_seed(SEED)
    tf.config.experimental.enable_op_determinism()
    model = keras.Sequential([
        keras.Input((BANDS,)), keras.layers.Dense(32, "relu"), keras.layers.Dense(8, "relu"),
        keras.layers.Dense(32, "relu"), keras.layers.Dense(BANDS),
    ])  # fmt: skip
    steps = -(-len(learned) // 64) * EPOCHS
    model.compile(keras.optimizers.Adam(keras.optimizers.schedules.CosineDecay(2e-3, steps)), "mse")
    model.fit(learned, learned, batch_size=64, epochs=EPOCHS, verbose=0)
    return model


def converted(model: keras.Model, learned: np.ndarray) -> bytes:
    """int8 with int8 input and output. The input's scale is 1/255: a stored value is a feature less 128."""

    def calibration() -> Iterator[list[np.ndarray]]:
        yield [np.resize(np.float32([0, 1]), (1, BANDS))]
        for row in learned[:: len(learned) // 400]:
            yield [row[np.newaxis]]

    function = tf.function(lambda x: model(x, training=False))
    concrete = function.get_concrete_function(tf.TensorSpec([1, BANDS], tf.float32, name="spectrum"))
    converter = tf.lite.TFLiteConverter.from_concrete_functions([convert_variables_to_constants_v2(concrete)])
    converter.optimizations = [tf.lite.Optimize.DEFAULT]
    converter.representative_dataset = calibration
    converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS_INT8]
    converter.inference_input_type = converter.inference_output_type = tf.int8
    file: bytes = converter.convert()
    return file


def scores(file: bytes, features: np.ndarray) -> np.ndarray:
    """Mean squares of what the int8 network does not reconstruct, in sixteenths of a feature's step."""
    network = tf.lite.Interpreter(model_content=file)
    network.allocate_tensors()
    (source,), (result,) = network.get_input_details(), network.get_output_details()
    (scale, zero), found = result["quantization"], []
    for row in features.astype(np.int16):
        network.set_tensor(source["index"], (row - 128).astype(np.int8)[np.newaxis])
        network.invoke()
        made = (network.get_tensor(result["index"])[0].astype(np.float64) - zero) * scale * 255
        found.append(np.mean((16 * (made - row)) ** 2))
    return np.array(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, default=HERE, help="folder of model/ and src/")
    out = parser.parse_args().out
    learned = healthy(range(PUMPS), SECONDS, LOADS)
    file = converted(train(learned), learned)
    in_order = np.rint(healthy(HELD_OUT, 10, 3) * 255)
    threshold = int(np.ceil(np.quantile(scores(file, in_order), QUANTILE)))
    (out / "model").mkdir(parents=True, exist_ok=True)
    (out / "src").mkdir(exist_ok=True)
    (out / "model" / "vibration.tflite").write_bytes(file)
    (out / "src" / "threshold.h").write_text(
        "/* Written by train/train.py with the model: the score above which a row is suspect, and how many in a row\n"
        f" * are an alarm. */\n#define THRESHOLD {threshold}\n#define ALARM_ROWS {ALARM_ROWS}\n", "utf-8")  # fmt: skip
    print(f"{len(learned)} rows of {ROW} samples, {len(file)} bytes, threshold {threshold}")
    for fault in FAULTS:
        found = [scores(file, rows(Pump(seed).run(10, fault))) > threshold for seed in HELD_OUT]
        print(f"{fault}: {np.mean(np.concatenate(found)):.1%} of the rows above it")


if __name__ == "__main__":
    main()
