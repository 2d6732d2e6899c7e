"""Networks of tokens: attention over frames and over windows of an image, and perceptrons that mix tokens."""

import numpy as np
import onnx

from tests.families.net import Net


def _perceptron(net: Net, x: str, inside: int) -> str:
    """Two layers over each token with GELU between them, back to the tokens' own size."""
    return net.linear(net.gelu(net.linear(x, inside)), net.shapes[x][-1])


def _attended(net: Net, query: str, key: str, value: str) -> str:
    """softmax(Q Kᵀ / sqrt(d)) V of [batch, heads, tokens, d]."""
    *lead, tokens, size = net.shapes[query]
    turned = net.transpose(key, *range(len(lead)), len(lead) + 1, len(lead))
    scores = net.add("MatMul", [query, turned], (*lead, tokens, tokens))
    scores = net.softmax(net.add("Mul", [scores, net.constant(size**-0.5, np.float32)]))
    return net.add("MatMul", [scores, value], (*lead, tokens, size))


def _joint_attention(net: Net, x: str, heads: int) -> str:
    """Query, key and value from one layer, taken apart on an axis of their own, as timm writes it."""
    batch, tokens, size = net.shapes[x]
    joint = net.reshape(net.linear(x, 3 * size), batch, tokens, 3, heads, size // heads)
    joint = net.transpose(joint, 2, 0, 3, 1, 4)
    shape = (batch, heads, tokens, size // heads)
    query, key, value = (net.add("Gather", [joint, net.constant(i)], shape, axis=0) for i in range(3))
    mixed = net.transpose(_attended(net, query, key, value), 0, 2, 1, 3)
    return net.linear(net.reshape(mixed, batch, tokens, size), size)


def mlp_mixer() -> onnx.ModelProto:
    """I. Tolstikhin et al., "MLP-Mixer", 2021: patches, layers across tokens between Transposes, layers across
    channels, the mean of all tokens."""
    size, tokens = 48, 64
    net = Net("mixer", {"x": (1, 3, 32, 32)}, 62)
    t = net.transpose(net.reshape(net.conv("x", size, 4, 4, pad=0), 1, size, tokens), 0, 2, 1)
    for _ in range(2):
        mixed = _perceptron(net, net.transpose(net.layer_norm(t), 0, 2, 1), 96)
        t = net.join(t, net.transpose(mixed, 0, 2, 1))
        t = net.join(t, _perceptron(net, net.layer_norm(t), 128))
    return net.model([net.linear(net.reduce("ReduceMean", net.layer_norm(t), (1,), keep=False), 10)])


def _windows(net: Net, x: str, side: int) -> str:
    """[1, H, W, C] to [windows, side², C]."""
    _, height, width, size = net.shapes[x]
    parts = net.reshape(x, 1, height // side, side, width // side, side, size)
    parts = net.transpose(parts, 0, 1, 3, 2, 4, 5)
    return net.reshape(parts, height // side * (width // side), side * side, size)


def _from_windows(net: Net, x: str, height: int, width: int, side: int) -> str:
    size = net.shapes[x][-1]
    parts = net.reshape(x, 1, height // side, width // side, side, side, size)
    return net.reshape(net.transpose(parts, 0, 1, 3, 2, 4, 5), 1, height * width, size)


def tiny_vit() -> onnx.ModelProto:
    """K. Wu et al., "TinyViT", 2022: a stem of convolutions, an inverted bottleneck, attention in windows of 7x7, a
    depthwise convolution between attention and perceptron, the mean of all tokens."""
    size, side = 48, 14
    net = Net("tinyvit", {"x": (1, 3, 56, 56)}, 63)
    t = net.conv(net.gelu(net.conv("x", 16, 3, 2)), size, 3, 2)
    inner = net.gelu(net.conv(net.gelu(net.conv(t, 96, 1)), 96, 3, groups=96))
    t = net.gelu(net.join(t, net.conv(inner, size, 1)))
    for _ in range(2):
        tokens = net.transpose(net.reshape(t, 1, size, side * side), 0, 2, 1)
        images = net.reshape(tokens, 1, side, side, size)
        mixed = _joint_attention(net, net.layer_norm(_windows(net, images, 7)), 3)
        tokens = net.join(tokens, _from_windows(net, mixed, side, side, 7))
        t = net.reshape(net.transpose(tokens, 0, 2, 1), 1, size, side, side)
        local = net.conv(t, size, 3, groups=size)
        tokens = net.transpose(net.reshape(local, 1, size, side * side), 0, 2, 1)
        tokens = net.join(tokens, _perceptron(net, net.layer_norm(tokens), 96))
        t = net.reshape(net.transpose(tokens, 0, 2, 1), 1, size, side, side)
    mean = net.reduce("ReduceMean", tokens, (1,), keep=False)
    return net.model([net.linear(net.layer_norm(mean), 10)])
