"""Trains a network on synthesised samples and converts it to an int8 .tflite file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow import keras
from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

from networks.making.topologies import Network

SEED = 20
_CALIBRATION = 150
#: Share of each label spread over all classes: outputs that are all 0 or 1 would hide a wrong step.
_DOUBT = 0.2
_HELD_OUT = 400


def drawn(network: Network, count: int, seed: int, shape: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Samples in the shape that the network takes."""
    inputs, labels = network.samples(count, np.random.default_rng(seed))
    return inputs.reshape(count, *shape), labels


def trained(network: Network) -> Any:
    """The network with weights from training, the same each time on the same machine."""
    keras.backend.clear_session()  # layers are named as in a process of their own
    keras.utils.set_random_seed(SEED)
    tf.config.experimental.enable_op_determinism()
    model = network.build()
    inputs, labels = drawn(network, network.training, SEED, model.input_shape[1:])
    if network.autoencoder:
        inputs = targets = inputs[labels == 0]
    else:
        targets = np.eye(len(network.labels), dtype=np.float32)[labels]
    steps = -(-len(inputs) // 32) * network.epochs
    model.compile(
        keras.optimizers.Adam(keras.optimizers.schedules.CosineDecay(2e-3, steps)),
        "mse" if network.autoencoder else keras.losses.CategoricalCrossentropy(label_smoothing=_DOUBT),
    )
    model.fit(inputs, targets, batch_size=32, epochs=network.epochs, verbose=0)
    return model


def converted(network: Network, model: Any) -> bytes:
    """As LiteRT's converter makes it: int8 with int8 inputs and outputs, ranges from samples."""
    shape = model.input_shape[1:]
    inputs, _ = drawn(network, _CALIBRATION, SEED + 1, shape)

    def representative() -> Iterator[list[np.ndarray]]:
        for values in inputs:
            yield [values[np.newaxis]]

    function = tf.function(lambda x: model(x, training=False))
    concrete = function.get_concrete_function(tf.TensorSpec([1, *shape], tf.float32))
    frozen = convert_variables_to_constants_v2(concrete)
    converter = tf.lite.TFLiteConverter.from_concrete_functions([frozen])
    converter.optimizations = [tf.lite.Optimize.DEFAULT]
    converter.representative_dataset = representative
    converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS_INT8]
    converter.inference_input_type = converter.inference_output_type = tf.int8
    # One scale for all weights of a fully connected layer, as in the published networks.
    converter._experimental_disable_per_channel_quantization_for_dense_layers = True
    file: bytes = converter.convert()
    return file


def held_out(network: Network, shape: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Samples that neither training nor the converter saw."""
    return drawn(network, _HELD_OUT, SEED + 2, shape)
