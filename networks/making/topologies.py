"""The seven networks, layer by layer as published for MLPerf Tiny and TensorFlow Lite Micro, and their training."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from tensorflow import keras

from networks.making import samples

layers = keras.layers
#: Few steps of training: the running statistics of batch normalisation have to follow soon.
_MOMENTUM = 0.9


@dataclass(frozen=True)
class Network:
    """How a network is built, trained and recorded."""

    build: Callable[[], Any]
    samples: Callable[[int, np.random.Generator], samples.Samples]
    labels: tuple[str, ...]
    training: int  #: samples
    epochs: int
    vectors: tuple[int, int, int]  #: recorded inputs: uniform, gaussian, synthesised
    autoencoder: bool = False  #: learns to give its input back, from samples with label 0
    global_pool: bool = False  #: the twin says GlobalAveragePool, not AveragePool over the whole map


def _normal(x: Any, activation: str | None = "relu") -> Any:
    x = layers.BatchNormalization(momentum=_MOMENTUM)(x)
    if activation is None:
        return x
    return layers.ReLU(6.0)(x) if activation == "relu6" else layers.ReLU()(x)


def _conv(x: Any, filters: int, kernel: Any = 1, strides: int = 1, activation: str | None = "relu") -> Any:
    x = layers.Conv2D(filters, kernel, strides=strides, padding="same", use_bias=False)(x)
    return _normal(x, activation)


def _depthwise(x: Any, kernel: Any = 3, strides: int = 1, multiplier: int = 1, activation: str = "relu") -> Any:
    x = layers.DepthwiseConv2D(kernel, strides=strides, padding="same", depth_multiplier=multiplier, use_bias=False)(x)
    return _normal(x, activation)


def _classifier(source: Any, x: Any, classes: int) -> Any:
    x = layers.Dense(classes, activation="softmax")(layers.Flatten()(x))
    return keras.Model(source, x)


def kws() -> Any:
    """DS-CNN: a convolution over 10 frames, four separable ones, pooling."""
    source = keras.Input((49, 10, 1))
    x = _conv(source, 64, (10, 4), 2)
    for _ in range(4):
        x = _conv(_depthwise(x), 64)
    return _classifier(source, layers.AveragePooling2D((25, 5))(x), 12)


def resnet() -> Any:
    """ResNet-8: three residual blocks, two of them with a convolution on their shortcut."""
    source = keras.Input((32, 32, 3))
    x = _conv(source, 16, 3)
    for filters, strides in ((16, 1), (32, 2), (64, 2)):
        y = _conv(_conv(x, filters, 3, strides), filters, 3, activation=None)
        if strides == 2:
            x = layers.Conv2D(filters, 1, strides=2, padding="same")(x)
        x = layers.ReLU()(layers.Add()([x, y]))
    return _classifier(source, layers.AveragePooling2D(8)(x), 10)


#: Channels and strides of the thirteen separable convolutions of MobileNetV1 at a width of 0.25.
_MOBILENET = ((16, 1), (32, 2), (32, 1), (64, 2), (64, 1), (128, 2), *[(128, 1)] * 5, (256, 2), (256, 1))


def vww() -> Any:
    """MobileNetV1 at a width of 0.25, in colour."""
    source = keras.Input((96, 96, 3))
    x = _conv(source, 8, 3, 2)
    for filters, strides in _MOBILENET:
        x = _conv(_depthwise(x, strides=strides), filters)
    return _classifier(source, layers.AveragePooling2D(3)(x), 2)


def person_detect() -> Any:
    """MobileNetV1 at a width of 0.25, in grey, with ReLU6; depthwise convolution first, a pointwise one last."""
    source = keras.Input((96, 96, 1))
    x = _depthwise(source, 3, 2, multiplier=8, activation="relu6")
    for filters, strides in _MOBILENET:
        x = _conv(_depthwise(x, strides=strides, activation="relu6"), filters, activation="relu6")
    x = layers.Conv2D(2, 1)(layers.AveragePooling2D(3)(x))
    return keras.Model(source, layers.Softmax()(layers.Reshape((2,))(x)))


def ad() -> Any:
    """Autoencoder of ten fully connected layers with a waist of 8."""
    source = x = keras.Input((640,))
    for units in (128, 128, 128, 128, 8, 128, 128, 128, 128):
        x = _normal(layers.Dense(units)(x))
    return keras.Model(source, layers.Dense(640)(x))


def sww() -> Any:
    """One-dimensional DS-CNN without padding: 30 frames of 40 bands become one."""
    source = x = keras.Input((30, 1, 40))
    for frames, filters in ((3, 128), (5, 128), (10, 128), (15, 32)):
        x = _conv(layers.DepthwiseConv2D((frames, 1))(x), filters)
    return _classifier(source, x, 3)


def micro_speech() -> Any:
    """tiny_conv: a convolution over 10 frames and 8 bands, and a fully connected layer."""
    source = keras.Input((1960,))
    x = layers.Reshape((49, 40, 1))(source)
    x = layers.DepthwiseConv2D((10, 8), strides=2, padding="same", depth_multiplier=8, activation="relu")(x)
    return _classifier(source, x, 4)


_WORDS = ("silence", "unknown", *(f"word {index}" for index in range(10)))
NETWORKS = {
    "ad": Network(ad, samples.machines, ("in order", "foreign tone"), 3000, 12, (6, 6, 12), autoencoder=True),
    "kws": Network(kws, partial(samples.words, classes=12, frames=49, bands=10), _WORDS, 2400, 6, (8, 8, 16)),
    "micro_speech": Network(micro_speech, partial(samples.words, classes=4, frames=49, bands=40), _WORDS[:4],
                            1200, 6, (8, 8, 16)),
    "person_detect": Network(person_detect, partial(samples.persons, channels=1), ("no person", "person"),
                             1600, 8, (1, 1, 14), global_pool=True),
    "resnet": Network(resnet, samples.shapes, ("disc", "ring", "square", "frame", "triangle", "cross", "bar", "checker",
                                               "stripes", "crescent"), 2000, 6, (4, 4, 16), global_pool=True),
    "sww": Network(sww, partial(samples.words, classes=3, frames=30, bands=40), ("silence", "unknown", "wake word"),
                   1800, 6, (8, 8, 16)),
    "vww": Network(vww, partial(samples.persons, channels=3), ("no person", "person"), 1600, 8, (1, 1, 14)),
}  # fmt: skip
