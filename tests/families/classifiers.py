"""Image classifiers: the published block structures with fewer blocks and narrower layers, as PyTorch exports them."""

from __future__ import annotations

import numpy as np
import onnx

from tests.families.net import Net


def mobilenet_v1() -> onnx.ModelProto:
    """Depthwise separable blocks; BatchNormalization still separate, Relu."""
    net = Net("mobilenet_v1", {"x": (1, 3, 64, 64)}, 1)
    t = net.relu(net.batch_norm(net.conv("x", 16, 3, 2, bias=False)))
    for channels, stride in ((24, 1), (32, 2), (32, 1), (64, 2), (64, 1)):
        t = net.relu(net.batch_norm(net.conv(t, net.shapes[t][1], 3, stride, groups=net.shapes[t][1], bias=False)))
        t = net.relu(net.batch_norm(net.conv(t, channels, 1, bias=False)))
    return net.model([net.softmax(net.linear(net.flatten(net.global_pool(t)), 10))])


def mobilenet_v2() -> onnx.ModelProto:
    """Inverted residuals with linear bottlenecks, ReLU6 as Clip; the head is ReduceMean and Gemm behind Dropout."""
    net = Net("mobilenet_v2", {"x": (1, 3, 64, 64)}, 2)
    t = net.relu6(net.conv("x", 16, 3, 2))
    for expand, channels, stride in ((1, 8, 1), (6, 12, 2), (6, 12, 1), (6, 16, 2), (6, 16, 1)):
        start, inside = t, net.shapes[t][1] * expand
        if expand != 1:
            t = net.relu6(net.conv(t, inside, 1))
        t = net.conv(net.relu6(net.conv(t, inside, 3, stride, groups=inside)), channels, 1)
        t = net.join(start, t) if net.shapes[start] == net.shapes[t] else t
    t = net.reduce("ReduceMean", net.relu6(net.conv(t, 48, 1)), (2, 3), keep=False)
    return net.model([net.linear(net.add("Identity", [t]), 10)])


def _squeeze_excite(net: Net, x: str, reduced: int, hard: bool) -> str:
    gate = net.conv(net.relu(net.conv(net.global_pool(x), reduced, 1)), net.shapes[x][1], 1)
    gate = net.add("HardSigmoid", [gate], alpha=1 / 6) if hard else net.add("Sigmoid", [gate])
    return net.join(gate, x, op="Mul")


def mobilenet_v3(hard_swish_op: bool = True) -> onnx.ModelProto:
    """Squeeze-excite, HardSwish as an operator or as Add, Clip, Mul, Div."""
    net = Net("mobilenet_v3" + ("" if hard_swish_op else "_decomposed"), {"x": (1, 3, 64, 64)}, 3)
    t = net.hard_swish(net.conv("x", 16, 3, 2), hard_swish_op)
    blocks = (
        (3, 16, 16, 2, True, False),
        (3, 40, 24, 2, False, False),
        (5, 48, 24, 1, True, True),
        (5, 64, 32, 2, True, True),
    )
    for kernel, inside, channels, stride, excite, hard in blocks:
        start = t

        def act(x: str, hard: bool = hard) -> str:
            return net.hard_swish(x, hard_swish_op) if hard else net.relu(x)

        t = act(net.conv(t, inside, 1))
        t = act(net.conv(t, inside, kernel, stride, groups=inside))
        t = _squeeze_excite(net, t, 8, hard=True) if excite else t
        t = net.conv(t, channels, 1)
        t = net.join(start, t) if net.shapes[start] == net.shapes[t] else t
    t = net.flatten(net.global_pool(net.hard_swish(net.conv(t, 64, 1), hard_swish_op)))
    return net.model([net.linear(net.hard_swish(net.linear(t, 48), hard_swish_op), 10)])


def efficientnet() -> onnx.ModelProto:
    """MBConv with SiLU and a Sigmoid gate over ReduceMean."""
    net = Net("efficientnet", {"x": (1, 3, 56, 56)}, 4)
    t = net.silu(net.conv("x", 16, 3, 2))
    for kernel, channels, stride in ((3, 16, 1), (5, 24, 2), (5, 24, 1)):
        start, inside = t, net.shapes[t][1] * 3
        t = net.silu(net.conv(net.silu(net.conv(t, inside, 1)), inside, kernel, stride, groups=inside))
        gate = net.silu(net.conv(net.reduce("ReduceMean", t, (2, 3)), 6, 1))
        t = net.join(t, net.add("Sigmoid", [net.conv(gate, inside, 1)]), op="Mul")
        t = net.conv(t, channels, 1)
        t = net.join(t, start) if net.shapes[start] == net.shapes[t] else t
    return net.model([net.linear(net.flatten(net.global_pool(net.silu(net.conv(t, 40, 1)))), 10)])


def resnet() -> onnx.ModelProto:
    """7x7 stem, overlapping MaxPool, basic and bottleneck blocks with projections."""
    net = Net("resnet", {"x": (1, 3, 64, 64)}, 5)
    t = net.pool(net.conv_relu("x", 16, 7, 2), kernel=3, stride=2, pads=(1, 1, 1, 1))
    for channels, stride in ((16, 1), (16, 1), (32, 2), (32, 1)):
        short = t if net.shapes[t][1] == channels and stride == 1 else net.conv(t, channels, 1, stride)
        t = net.relu(net.join(net.conv(net.conv_relu(t, channels, 3, stride), channels), short))
    for channels, stride in ((48, 2), (48, 1)):
        short = t if net.shapes[t][1] == channels else net.conv(t, channels, 1, stride)
        t = net.relu(net.join(net.conv(net.conv_relu(net.conv_relu(t, 16, 1), 16, 3, stride), channels, 1), short))
    return net.model([net.linear(net.flatten(net.global_pool(t)), 10)])


def densenet() -> onnx.ModelProto:
    """Pre-activation BatchNormalization, Concats that grow, AveragePool transitions."""
    net = Net("densenet", {"x": (1, 3, 56, 56)}, 6)
    t = net.pool(net.relu(net.batch_norm(net.conv("x", 16, 7, 2, bias=False))), kernel=3, stride=2, pads=(1, 1, 1, 1))
    for block in range(2):
        features = [t]
        for _ in range(4):
            inside = net.relu(net.batch_norm(net.concat(features) if len(features) > 1 else t))
            inside = net.relu(net.batch_norm(net.conv(inside, 16, 1, bias=False)))
            features.append(net.conv(inside, 8, 3, bias=False))
        t = net.concat(features)
        if block == 0:
            t = net.conv(net.relu(net.batch_norm(t)), 24, 1, bias=False)
            t = net.pool(t, "AveragePool")
    t = net.flatten(net.global_pool(net.relu(net.batch_norm(t))))
    return net.model([net.linear(t, 10)])


def inception() -> onnx.ModelProto:
    """Parallel 1x1, 3x3, 5x5, factorised 1x7 and 7x1, and pooled branches."""
    net = Net("inception", {"x": (1, 3, 48, 48)}, 7)
    t = net.conv_relu(net.conv_relu("x", 12, 3, 2, pad=0), 16, 3)
    t = net.concat(
        [
            net.conv_relu(t, 8, 1),
            net.conv_relu(net.conv_relu(t, 8, 1), 12, 5),
            net.conv_relu(net.conv_relu(net.conv_relu(t, 8, 1), 12, 3), 12, 3),
            net.conv_relu(net.pool(t, "AveragePool", 3, 1, (1, 1, 1, 1), count_include_pad=1), 8, 1),
        ]
    )
    t = net.concat(
        [net.conv_relu(t, 16, 3, 2, pad=0), net.conv_relu(t, 8, 7, 2, pad=2), net.pool(t, kernel=3, stride=2)]
    )
    wide = net.conv_relu(net.conv_relu(net.conv_relu(t, 8, 1), 8, (1, 7)), 12, (7, 1))
    t = net.concat(
        [net.conv_relu(t, 12, 1), wide, net.conv_relu(net.pool(t, "AveragePool", 3, 1, (1, 1, 1, 1)), 12, 1)]
    )
    return net.model([net.linear(net.flatten(net.add("Dropout", [net.global_pool(t)])), 10)])


def _shuffle(net: Net, x: str, groups: int) -> str:
    batch, channels, height, width = net.shapes[x]
    split = net.reshape(x, batch, groups, channels // groups, height, width)
    return net.reshape(net.transpose(split, 0, 2, 1, 3, 4), batch, channels, height, width)


def shufflenet() -> onnx.ModelProto:
    """Grouped Conv, channel shuffle by 5-D Reshape and Transpose, and V2's channel Split."""
    net = Net("shufflenet", {"x": (1, 3, 56, 56)}, 8)
    t = net.pool(net.conv_relu("x", 12, 3, 2), kernel=3, stride=2, pads=(1, 1, 1, 1))
    branch = _shuffle(net, net.conv_relu(t, 24, 1, groups=3), 3)
    branch = net.conv(net.conv(branch, 24, 3, 2, groups=24), 12, 1, groups=3)
    t = net.relu(net.concat([branch, net.pool(t, "AveragePool", 3, 2, (1, 1, 1, 1))]))
    for _ in range(2):
        batch, channels, *size = net.shapes[t]
        half = net.constant([channels // 2] * 2)
        left, right = net.add("Split", [t, half], (batch, channels // 2, *size), outputs=2, axis=1)
        right = net.conv_relu(right, channels // 2, 1)
        right = net.conv_relu(net.conv(right, channels // 2, 3, groups=channels // 2), channels // 2, 1)
        t = _shuffle(net, net.concat([left, right]), 2)
    return net.model([net.linear(net.reduce("ReduceMean", net.conv_relu(t, 48, 1), (2, 3), keep=False), 10)])


def squeezenet() -> onnx.ModelProto:
    """Fire modules, MaxPool in ceil mode, a convolution as the classifier."""
    net = Net("squeezenet", {"x": (1, 3, 63, 63)}, 9)
    t = net.pool(net.conv_relu("x", 16, 3, 2, pad=0), kernel=3, stride=2, ceil=True)
    for squeeze, expand, pooled in ((8, 16, False), (8, 16, True), (12, 24, False)):
        s = net.conv_relu(t, squeeze, 1)
        t = net.concat([net.conv_relu(s, expand, 1), net.conv_relu(s, expand, 3)])
        t = net.pool(t, kernel=3, stride=2, ceil=True) if pooled else t
    t = net.global_pool(net.conv_relu(net.add("Dropout", [t]), 10, 1))
    return net.model([net.softmax(net.reshape_by_shape(t, -1), 1)])


def convnext() -> onnx.ModelProto:
    """7x7 depthwise, LayerNormalization between Transposes, GELU by Erf, layer scale."""
    net = Net("convnext", {"x": (1, 3, 48, 48)}, 10)
    t = net.conv("x", 16, 4, 4, pad=0)
    for _ in range(2):
        inner = net.transpose(net.conv(t, 16, 7, groups=16), 0, 2, 3, 1)
        inner = net.linear(net.gelu(net.linear(net.layer_norm(inner), 48)), 16)
        inner = net.join(net.weight(net.noise(16, scale=0.3), "layer_scale"), inner, op="Mul")
        net.shapes[inner] = (1, 12, 12, 16)
        t = net.join(net.transpose(inner, 0, 3, 1, 2), t)
    t = net.layer_norm(net.flatten(net.global_pool(t)))
    return net.model([net.linear(t, 10)])


def vision_transformer() -> onnx.ModelProto:
    """Patches, class token, position embedding, one multi-head attention block, GELU."""
    net = Net("vit", {"x": (1, 3, 32, 32)}, 11)
    size, heads = 32, 4
    patches = net.reshape(net.conv("x", size, 8, 8, pad=0), 1, size, 16)
    tokens = net.concat([net.weight(net.noise(1, 1, size), "cls_token"), net.transpose(patches, 0, 2, 1)], 1)
    t = net.join(tokens, net.weight(net.noise(1, 17, size, scale=0.2), "pos_embed"))
    normed = net.layer_norm(t)
    query, key, value = (
        net.transpose(net.reshape(net.linear(normed, size), 1, 17, heads, size // heads), 0, 2, 1, 3) for _ in range(3)
    )
    scores = net.add("MatMul", [query, net.transpose(key, 0, 1, 3, 2)], (1, heads, 17, 17))
    scores = net.softmax(net.add("Div", [scores, net.constant((size // heads) ** 0.5, np.float32)]))
    mixed = net.transpose(net.add("MatMul", [scores, value], (1, heads, 17, size // heads)), 0, 2, 1, 3)
    t = net.join(t, net.linear(net.reshape(mixed, 1, 17, size), size))
    t = net.join(t, net.linear(net.gelu(net.linear(net.layer_norm(t), 2 * size)), size))
    token = net.add("Gather", [net.layer_norm(t), net.constant(0)], (1, size), axis=1)
    return net.model([net.linear(token, 10)])
