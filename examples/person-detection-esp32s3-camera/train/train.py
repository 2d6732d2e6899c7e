"""Trains the person detector on drawn pictures and writes it as int8: `python train.py [--out DIR]`.

Needs numpy and tensorflow; some minutes on one core. One seed: the same file each time on the same machine.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import tensorflow as tf
from camera import SIDE, grey, lines
from scenes import scenes
from tensorflow import keras
from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

HERE = Path(__file__).resolve().parents[1]
SEED, EPOCHS, LEARNED, TESTED = 7, 16, 9000, 1000
WIDTHS = ((16, 1), (24, 2), (32, 2), (48, 2), (64, 2))  #: channels and stride of each separable convolution


def drawn(count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Inputs as the network sees them, float32 [count, SIDE, SIDE, 1], 0 to 1, and whether there is a person."""
    pictures, persons = scenes(count, seed)
    seen = np.array([grey(lines(picture)) for picture in pictures])
    return seen[..., None].astype(np.float32) / 255, persons.astype(np.int64)


def network() -> keras.Model:
    """Like MobileNet, smaller."""
    layers = keras.layers
    made = [keras.Input((SIDE, SIDE, 1)), layers.Conv2D(8, 3, 2, "same", use_bias=False)]
    for channels, stride in WIDTHS:
        made += [layers.BatchNormalization(), layers.ReLU(), layers.DepthwiseConv2D(3, stride, "same", use_bias=False)]
        made += [layers.BatchNormalization(), layers.ReLU(), layers.Conv2D(channels, 1, use_bias=False)]
    made += [layers.BatchNormalization(), layers.ReLU(), layers.GlobalAveragePooling2D()]
    return keras.Sequential([*made, layers.Dense(2), layers.Softmax()])


def train(seen: np.ndarray, persons: np.ndarray) -> keras.Model:
    keras.utils.set_random_seed(SEED)
    tf.config.experimental.enable_op_determinism()
    model, steps = network(), -(-len(seen) // 32) * EPOCHS
    model.compile(keras.optimizers.Adam(keras.optimizers.schedules.CosineDecay(3e-3, steps)),
                  keras.losses.CategoricalCrossentropy(label_smoothing=0.05))
    flipped = np.arange(len(seen)) % 2 == 1
    seen[flipped] = seen[flipped, :, ::-1]
    model.fit(seen, np.eye(2, dtype=np.float32)[persons], batch_size=32, epochs=EPOCHS, verbose=2)
    return model


def converted(model: keras.Model, seen: np.ndarray) -> bytes:
    """int8 with int8 input and output."""

    def calibration() -> Iterator[list[np.ndarray]]:
        for picture in seen[:200]:
            yield [picture[np.newaxis]]

    function = tf.function(lambda x: model(x, training=False))
    concrete = function.get_concrete_function(tf.TensorSpec([1, SIDE, SIDE, 1], tf.float32, name="picture"))
    converter = tf.lite.TFLiteConverter.from_concrete_functions([convert_variables_to_constants_v2(concrete)])
    converter.optimizations = [tf.lite.Optimize.DEFAULT]
    converter.representative_dataset = calibration
    converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS_INT8]
    converter.inference_input_type = converter.inference_output_type = tf.int8
    file: bytes = converter.convert()
    return file


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, default=HERE / "model", help="folder of person.tflite")
    out = parser.parse_args().out
    seen, persons = drawn(LEARNED, SEED)
    model = train(seen, persons)
    tested, right = drawn(TESTED, SEED + 1)
    best = model.predict(tested, verbose=0).argmax(axis=1)
    file = converted(model, seen)
    out.mkdir(parents=True, exist_ok=True)
    (out / "person.tflite").write_bytes(file)
    print(f"{len(file)} bytes; of {TESTED} pictures that it has not seen, {np.mean(best == right):.1%} right")


if __name__ == "__main__":
    main()
