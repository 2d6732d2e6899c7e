"""Layers with a forward and a backward pass in numpy; arrays are [N, C, H, W] as in ONNX.

`forward` keeps what `backward` needs. `backward` takes the loss gradient of the output, stores those of
the layer's parameters in `gradients` and returns that of the input.
"""

from __future__ import annotations

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view


class Layer:
    """A layer without parameters; others fill `parameters` (name to array)."""

    def __init__(self) -> None:
        self.parameters: dict[str, np.ndarray] = {}
        self.gradients: dict[str, np.ndarray] = {}

    def forward(self, x: np.ndarray) -> np.ndarray:
        raise NotImplementedError

    def backward(self, gradient: np.ndarray) -> np.ndarray:
        raise NotImplementedError


def _patches(x: np.ndarray, kernel: int, stride: int, pad: int) -> np.ndarray:
    """Views of all kernel positions: [N, C, H_out, W_out, kernel, kernel]."""
    padded = np.pad(x, ((0, 0), (0, 0), (pad, pad), (pad, pad)))
    return sliding_window_view(padded, (kernel, kernel), axis=(2, 3))[:, :, ::stride, ::stride]


def _scatter(patches: np.ndarray, shape: tuple[int, ...], stride: int, pad: int) -> np.ndarray:
    """Adds [N, C, H_out, W_out, kernel, kernel] back to where `_patches` took it from."""
    count, channels, height, width = shape
    rows, columns, kernel = patches.shape[2], patches.shape[3], patches.shape[4]
    padded = np.zeros((count, channels, height + 2 * pad, width + 2 * pad), patches.dtype)
    for y in range(kernel):
        for x in range(kernel):
            padded[:, :, y : y + stride * rows : stride, x : x + stride * columns : stride] += patches[..., y, x]
    return padded[:, :, pad : pad + height, pad : pad + width]


class Conv(Layer):
    """Convolution by im2col and one matrix product; weight [out, in, kernel, kernel]."""

    def __init__(self, inputs: int, outputs: int, kernel: int, stride: int, generator: np.random.Generator) -> None:
        super().__init__()
        self.kernel, self.stride, self.pad = kernel, stride, kernel // 2
        deviation = np.sqrt(2 / (inputs * kernel * kernel))
        weight = generator.normal(0, deviation, (outputs, inputs, kernel, kernel))
        self.parameters = {"weight": weight.astype(np.float32), "bias": np.zeros(outputs, np.float32)}

    def forward(self, x: np.ndarray) -> np.ndarray:
        patches = _patches(x, self.kernel, self.stride, self.pad).transpose(0, 2, 3, 1, 4, 5)
        self.input_shape, self.patch_shape = x.shape, patches.shape
        self.columns = patches.reshape(np.prod(patches.shape[:3]), -1)
        weight = self.parameters["weight"]
        out = self.columns @ weight.reshape(len(weight), -1).T + self.parameters["bias"]
        return out.reshape(*patches.shape[:3], len(weight)).transpose(0, 3, 1, 2)

    def backward(self, gradient: np.ndarray) -> np.ndarray:
        weight = self.parameters["weight"]
        rows = gradient.transpose(0, 2, 3, 1).reshape(-1, len(weight))
        self.gradients = {"weight": (rows.T @ self.columns).reshape(weight.shape), "bias": rows.sum(axis=0)}
        patches = (rows @ weight.reshape(len(weight), -1)).reshape(self.patch_shape).transpose(0, 3, 1, 2, 4, 5)
        return _scatter(patches, self.input_shape, self.stride, self.pad)


class DepthwiseConv(Layer):
    """A kernel per channel; weight [channels, 1, kernel, kernel]."""

    def __init__(self, channels: int, kernel: int, stride: int, generator: np.random.Generator) -> None:
        super().__init__()
        self.kernel, self.stride, self.pad = kernel, stride, kernel // 2
        weight = generator.normal(0, np.sqrt(2 / (kernel * kernel)), (channels, 1, kernel, kernel))
        self.parameters = {"weight": weight.astype(np.float32), "bias": np.zeros(channels, np.float32)}

    def forward(self, x: np.ndarray) -> np.ndarray:
        self.input_shape = x.shape
        self.patches = _patches(x, self.kernel, self.stride, self.pad)
        weight = self.parameters["weight"][:, 0, np.newaxis, np.newaxis]
        return (self.patches * weight).sum(axis=(4, 5)) + self.parameters["bias"][:, np.newaxis, np.newaxis]

    def backward(self, gradient: np.ndarray) -> np.ndarray:
        weight = self.parameters["weight"]
        spread = gradient[..., np.newaxis, np.newaxis]
        self.gradients = {
            "weight": (self.patches * spread).sum(axis=(0, 2, 3))[:, np.newaxis],
            "bias": gradient.sum(axis=(0, 2, 3)),
        }
        return _scatter(spread * weight[:, 0, np.newaxis, np.newaxis], self.input_shape, self.stride, self.pad)


class Relu(Layer):
    def forward(self, x: np.ndarray) -> np.ndarray:
        self.active = x > 0
        return x * self.active

    def backward(self, gradient: np.ndarray) -> np.ndarray:
        return gradient * self.active


class MaxPool(Layer):
    """Largest of each 2x2 block; on a tie every largest element shares the gradient."""

    def forward(self, x: np.ndarray) -> np.ndarray:
        count, channels, height, width = x.shape
        self.blocks = x.reshape(count, channels, height // 2, 2, width // 2, 2)
        self.largest = self.blocks.max(axis=(3, 5), keepdims=True)
        return self.largest[:, :, :, 0, :, 0]

    def backward(self, gradient: np.ndarray) -> np.ndarray:
        chosen = (self.blocks == self.largest).astype(gradient.dtype)
        chosen /= chosen.sum(axis=(3, 5), keepdims=True)
        spread = chosen * gradient[:, :, :, np.newaxis, :, np.newaxis]
        return spread.reshape(*gradient.shape[:2], gradient.shape[2] * 2, gradient.shape[3] * 2)


class GlobalAveragePool(Layer):
    def forward(self, x: np.ndarray) -> np.ndarray:
        self.input_shape = x.shape
        return x.mean(axis=(2, 3), keepdims=True)

    def backward(self, gradient: np.ndarray) -> np.ndarray:
        share = gradient / (self.input_shape[2] * self.input_shape[3])
        return np.broadcast_to(share, self.input_shape)


class Flatten(Layer):
    def forward(self, x: np.ndarray) -> np.ndarray:
        self.input_shape = x.shape
        return x.reshape(len(x), -1)

    def backward(self, gradient: np.ndarray) -> np.ndarray:
        return gradient.reshape(self.input_shape)


class Gemm(Layer):
    """Fully connected; weight [out, in]."""

    def __init__(self, inputs: int, outputs: int, generator: np.random.Generator) -> None:
        super().__init__()
        weight = generator.normal(0, np.sqrt(1 / inputs), (outputs, inputs))
        self.parameters = {"weight": weight.astype(np.float32), "bias": np.zeros(outputs, np.float32)}

    def forward(self, x: np.ndarray) -> np.ndarray:
        self.input = x
        return x @ self.parameters["weight"].T + self.parameters["bias"]

    def backward(self, gradient: np.ndarray) -> np.ndarray:
        self.gradients = {"weight": gradient.T @ self.input, "bias": gradient.sum(axis=0)}
        return gradient @ self.parameters["weight"]
