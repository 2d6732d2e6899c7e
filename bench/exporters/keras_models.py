"""By Keras 3 and TensorFlow's converter."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras
import numpy as np
import tensorflow as tf
from ai_edge_litert.interpreter import Interpreter
from keras import layers
from recorded import Arrays, Maker, as_taken, write_all


def _model(shape: tuple[int, ...], *parts: Callable[[Any], Any]) -> keras.Model:
    x = given = keras.Input(shape, batch_size=1)
    for part in parts:
        x = part(x)
    return keras.Model(given, x)


def _attention(x: Any) -> Any:
    y = layers.MultiHeadAttention(2, 8)(x, x, use_causal_mask=True)
    return layers.LayerNormalization()(layers.Add()([x, y]))


MODELS: dict[str, Callable[[], keras.Model]] = {
    "cnn": lambda: _model((32, 32, 3), layers.Conv2D(8, 3, 2), layers.BatchNormalization(), layers.ReLU(6.0),
                          layers.DepthwiseConv2D(3), layers.Activation("hard_swish"), layers.GlobalAveragePooling2D(),
                          layers.Dense(10, "softmax")),
    "dense_rank_3": lambda: _model((8, 16), layers.Dense(32, "relu"), layers.Dense(8)),
    "time_distributed": lambda: _model((8, 16), layers.TimeDistributed(layers.Dense(8, "tanh")), layers.Flatten()),
    "transformer": lambda: _model((8, 16), _attention, layers.Dense(32, "gelu"), layers.Dense(16)),
    "lstm": lambda: _model((8, 6), layers.LSTM(12), layers.Dense(3)),
    "lstm_two": lambda: _model((8, 6), layers.LSTM(12, return_sequences=True), layers.LSTM(8), layers.Dense(3)),
    "lstm_unrolled": lambda: _model((8, 6), layers.LSTM(12, unroll=True), layers.Dense(3)),
    "gru": lambda: _model((8, 6), layers.GRU(12), layers.Dense(3)),
    "gru_two_ways": lambda: _model((8, 6), layers.Bidirectional(layers.GRU(6)), layers.Dense(3)),
    "norms": lambda: _model((8, 8, 8), layers.Conv2D(8, 3), layers.GroupNormalization(4), layers.Activation("elu"),
                            layers.UnitNormalization(), layers.Flatten(), layers.Dense(4)),
    "upsampling": lambda: _model((8, 8, 4), layers.UpSampling2D(2, interpolation="bilinear"), layers.Conv2D(4, 3),
                                 layers.Conv2DTranspose(2, 3, 2)),
}  # fmt: skip
#: Operators that no layer writes, as functions of one array.
FUNCTIONS: dict[str, tuple[tuple[int, ...], Callable[[Any], Any]]] = {
    "top_k": ((1, 20), lambda x: tf.math.top_k(x, 3).values),
    "one_hot": ((1, 6), lambda x: tf.one_hot(tf.argmax(x, -1), 6) * x),
    "scatter_nd": ((4,), lambda x: tf.scatter_nd([[4], [3], [1], [7]], x, [8])),
    "reverse_sequence": ((1, 6, 3), lambda x: tf.reverse_sequence(x, [4], seq_axis=1)),
    "lrn": ((1, 4, 4, 8), tf.nn.local_response_normalization),
    "spectrum": ((1, 256), lambda x: tf.abs(tf.signal.stft(x, 64, 32))),
}
REPRESENTATIVE, FLOAT = 16, tf.lite.OpsSet.TFLITE_BUILTINS
INT8, INT16 = (tf.lite.OpsSet.TFLITE_BUILTINS_INT8,
               tf.lite.OpsSet.EXPERIMENTAL_TFLITE_BUILTINS_ACTIVATIONS_INT16_WEIGHTS_INT8)  # fmt: skip


def _samples(shape: tuple[int, ...]) -> list[np.ndarray]:
    random = np.random.default_rng(0)
    return [random.normal(size=shape).astype(np.float32) for _ in range(REPRESENTATIVE)]


def _convert(converter: Any, way: str, shape: tuple[int, ...]) -> bytes:
    if way != "float":
        converter.optimizations = [tf.lite.Optimize.DEFAULT]
    if way not in ("float", "dynamic"):
        converter.representative_dataset = lambda: ([sample] for sample in _samples(shape))
        converter.target_spec.supported_ops = [INT16, FLOAT] if way == "16x8" else [INT8, FLOAT]
    if way == "int8":
        converter.inference_input_type = converter.inference_output_type = tf.int8
    content: bytes = converter.convert()
    return content


def _inputs(path: Path, shape: tuple[int, ...]) -> Arrays:
    (name,) = Interpreter(str(path)).get_signature_runner().get_input_details()
    return as_taken(path, {name: _samples(shape)[0]})


def _layers(name: str, way: str) -> Maker:
    def make(folder: Path) -> Iterator[tuple[Path, Arrays]]:
        keras.utils.set_random_seed(len(name))
        model = MODELS[name]()
        shape = (1, *model.input_shape[1:])
        path = folder / f"{name}_{way}.tflite"
        if way == "export":
            model.export(str(path), format="litert", verbose=False)
        else:
            path.write_bytes(_convert(tf.lite.TFLiteConverter.from_keras_model(model), way, shape))
        yield path, _inputs(path, shape)

    return make


def _function(name: str) -> Maker:
    def make(folder: Path) -> Iterator[tuple[Path, Arrays]]:
        shape, function = FUNCTIONS[name]
        module = tf.Module()
        module.run = tf.function(function, [tf.TensorSpec(shape, tf.float32, "x")])
        converter = tf.lite.TFLiteConverter.from_concrete_functions([module.run.get_concrete_function()], module)
        path = folder / f"{name}.tflite"
        path.write_bytes(_convert(converter, "float", shape))
        yield path, _inputs(path, shape)

    return make


if __name__ == "__main__":
    ways = ("export", "float", "int8", "int8_float_ends", "16x8", "dynamic")
    write_all({**{f"{name}_{way}": _layers(name, way) for name in MODELS for way in ways},
               **{name: _function(name) for name in FUNCTIONS}})
