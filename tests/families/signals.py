"""Signals, audio and tabular networks."""

import onnx

from tests.families.net import Net


def sensor_cnn() -> onnx.ModelProto:
    """1-D convolutions over accelerometer windows, MaxPool, global average, Gemm."""
    net = Net("sensor", {"x": (1, 6, 512)}, 31)
    t = net.relu(net.batch_norm(net.conv("x", 16, 9, 2, bias=False)))
    t = net.pool(t)
    for channels in (24, 32):
        t = net.pool(net.conv_relu(net.conv_relu(t, channels, 5), channels, 3))
    return net.model([net.softmax(net.linear(net.flatten(net.global_pool(t)), 6), 1)])


def temporal_cnn() -> onnx.ModelProto:
    """TCN: causal padding, dilations 1, 2, 4, gated Tanh times Sigmoid, residuals, an output per step."""
    net = Net("tcn", {"x": (1, 8, 384)}, 32)
    t = net.conv("x", 16, 1)
    for dilation in (1, 2, 4):
        padded = net.pad(t, [0, 0, 2 * dilation, 0, 0, 0])
        left = net.add("Tanh", [net.conv(padded, 16, 3, pad=0, dilation=dilation)])
        right = net.add("Sigmoid", [net.conv(padded, 16, 3, pad=0, dilation=dilation)])
        t = net.join(t, net.conv(net.join(left, right, op="Mul"), 16, 1))
    last = net.slice(t, 2, -1, 1 << 31)
    return net.model([net.conv(t, 4, 1), net.add("Squeeze", [last, net.constant([2])], (1, 16))], ["steps", "last"])


def dscnn() -> onnx.ModelProto:
    """Keyword spotting on a spectrogram: rectangular kernels, separable blocks, Reshape by Shape."""
    net = Net("dscnn", {"x": (1, 1, 49, 10)}, 33)
    t = net.relu(net.batch_norm(net.conv("x", 32, (10, 4), 2, pad=[4, 1, 5, 1], bias=False)))
    for _ in range(3):
        t = net.relu(net.batch_norm(net.conv(t, 32, 3, groups=32, bias=False)))
        t = net.relu(net.batch_norm(net.conv(t, 32, 1, bias=False)))
    t = net.reshape_by_shape(net.global_pool(t), -1)
    return net.model([net.softmax(net.linear(t, 12), 1)])


def streaming_spotter() -> onnx.ModelProto:
    """Keyword spotting on a second of log-mel frames, made to be streamed: no padding, dilated separable blocks."""
    net = Net("streaming", {"x": (1, 40, 98)}, 38)
    t = net.relu(net.batch_norm(net.conv("x", 64, 5, pad=0, bias=False)))
    for dilation in (1, 2, 4):
        t = net.relu(net.batch_norm(net.conv(t, 64, 9, pad=0, dilation=dilation, groups=64, bias=False)))
        t = net.relu(net.batch_norm(net.conv(t, 64, 1, bias=False)))
    return net.model([net.softmax(net.linear(net.flatten(net.global_pool(t)), 12), 1)])


def audio_embedding() -> onnx.ModelProto:
    """Log-mel frames: Unsqueeze, Elu and Tanh convolutions, statistics pooling over time, L2-free embedding."""
    net = Net("audio", {"frames": (1, 64, 32)}, 34)
    t = net.add("Unsqueeze", ["frames", net.constant([1])], (1, 1, 64, 32))
    t = net.add("Elu", [net.conv(t, 12, 3, 2)], alpha=1.0)
    t = net.add("Tanh", [net.conv(t, 16, 3, 2)])
    t = net.add("LeakyRelu", [net.conv(t, 24)], alpha=0.1)
    frames = net.reduce("ReduceMean", t, (3,), keep=False)
    mean = net.reduce("ReduceMean", frames, (2,), keep=False)
    top = net.reduce("ReduceMax", frames, (2,), keep=False)
    return net.model([net.linear(net.concat([mean, top]), 16)])
