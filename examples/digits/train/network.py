"""The network and how it is fitted: Adam on the cross entropy of a softmax."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from data import Split, shifted
from layers import Conv, DepthwiseConv, Flatten, Gemm, GlobalAveragePool, Layer, MaxPool, Relu

EPOCHS = 60
BATCH = 32
PEAK_RATE = 4e-3
WEIGHT_DECAY = 1e-4
SMOOTHING = 0.02  # share of the label spread over all classes: fewer overconfident outputs


def build_network(generator: np.random.Generator) -> list[Layer]:
    """8x8x1 → 8x8x16 → depthwise, pointwise 8x8x32 → 4x4x32 → 2x2x48 → 48 → 10; 15,226 parameters."""
    return [
        Conv(1, 16, 3, 1, generator),
        Relu(),
        DepthwiseConv(16, 3, 1, generator),
        Relu(),
        Conv(16, 32, 1, 1, generator),
        Relu(),
        MaxPool(),
        Conv(32, 48, 3, 2, generator),
        Relu(),
        GlobalAveragePool(),
        Flatten(),
        Gemm(48, 10, generator),
    ]


def logits(network: list[Layer], images: np.ndarray) -> np.ndarray:
    """Outputs before the softmax, [N, 10]."""
    for layer in network:
        images = layer.forward(images)
    return images


def accuracy(network: list[Layer], split: Split) -> float:
    """Share of digits recognised."""
    return float((logits(network, split.images).argmax(axis=1) == split.labels).mean())


class Adam:
    """Kingma and Ba, 2015 (arXiv:1412.6980), with decoupled weight decay (Loshchilov and Hutter, arXiv:1711.05101)."""

    def __init__(self, network: list[Layer]) -> None:
        self.network = network
        self.step_count = 0
        self.first = [{k: np.zeros_like(v) for k, v in layer.parameters.items()} for layer in network]
        self.second = [{k: np.zeros_like(v) for k, v in layer.parameters.items()} for layer in network]

    def step(self, rate: float) -> None:
        self.step_count += 1
        scale = rate * np.sqrt(1 - 0.999**self.step_count) / (1 - 0.9**self.step_count)
        for layer, first, second in zip(self.network, self.first, self.second, strict=True):
            for name, gradient in layer.gradients.items():
                value = layer.parameters[name]
                first[name] += 0.1 * (gradient - first[name])
                second[name] += 0.001 * (gradient * gradient - second[name])
                value -= scale * first[name] / (np.sqrt(second[name]) + 1e-8)
                value *= 1 - rate * WEIGHT_DECAY if name == "weight" else 1


def _train_batch(network: list[Layer], images: np.ndarray, labels: np.ndarray) -> float:
    """Fills every layer's gradients; returns the mean loss."""
    scores = logits(network, images)
    scores = np.exp(scores - scores.max(axis=1, keepdims=True))
    scores /= scores.sum(axis=1, keepdims=True)
    target = np.full_like(scores, SMOOTHING / 10)
    target[np.arange(len(labels)), labels] += 1 - SMOOTHING
    gradient = ((scores - target) / len(labels)).astype(np.float32)
    for layer in reversed(network):
        gradient = layer.backward(gradient)
    return float(-(target * np.log(scores + 1e-12)).sum(axis=1).mean())


def fit(
    network: list[Layer], train: Split, generator: np.random.Generator, report: Callable[[int, float], None]
) -> None:
    """Trains in place with a one-cycle cosine rate; `report(epoch, loss)` after each epoch."""
    optimiser = Adam(network)
    steps = EPOCHS * (len(train.labels) // BATCH)
    for epoch in range(EPOCHS):
        images = shifted(train.images, generator) if epoch < EPOCHS - 5 else train.images
        order = generator.permutation(len(images))
        losses = []
        for start in range(0, len(order) - BATCH + 1, BATCH):
            chosen = order[start : start + BATCH]
            losses.append(_train_batch(network, images[chosen], train.labels[chosen]))
            progress = optimiser.step_count / steps
            warm_up = min(1.0, progress / 0.1)
            optimiser.step(PEAK_RATE * warm_up * 0.5 * (1 + np.cos(np.pi * progress)))
        report(epoch, float(np.mean(losses)))
