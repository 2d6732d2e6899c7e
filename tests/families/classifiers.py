"""Image classifiers: the published block structures with fewer blocks and narrower layers, as PyTorch exports them."""

import onnx

from tests.families.net import Net


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


def _squeeze_excite(net: Net, x: str, reduced: int) -> str:
    gate = net.conv(net.relu(net.conv(net.global_pool(x), reduced, 1)), net.shapes[x][1], 1)
    return net.join(net.add("HardSigmoid", [gate], alpha=1 / 6), x, op="Mul")


def mobilenet_v3(hard_swish_op: bool = True) -> onnx.ModelProto:
    """Squeeze-excite, HardSwish as an operator or as Add, Clip, Mul, Div."""
    net = Net("mobilenet_v3" + ("" if hard_swish_op else "_decomposed"), {"x": (1, 3, 64, 64)}, 3)
    t = net.hard_swish(net.conv("x", 16, 3, 2), hard_swish_op)
    blocks = ((3, 16, 16, 2, True, False), (3, 40, 24, 2, False, False), (5, 48, 24, 1, True, True),
              (5, 64, 32, 2, True, True))  # fmt: skip
    for kernel, inside, channels, stride, excite, hard in blocks:
        start = t

        def act(x: str, hard: bool = hard) -> str:
            return net.hard_swish(x, hard_swish_op) if hard else net.relu(x)

        t = act(net.conv(t, inside, 1))
        t = act(net.conv(t, inside, kernel, stride, groups=inside))
        t = _squeeze_excite(net, t, 8) if excite else t
        t = net.conv(t, channels, 1)
        t = net.join(start, t) if net.shapes[start] == net.shapes[t] else t
    t = net.flatten(net.global_pool(net.hard_swish(net.conv(t, 64, 1), hard_swish_op)))
    return net.model([net.linear(net.hard_swish(net.linear(t, 48), hard_swish_op), 10)])


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


def inception() -> onnx.ModelProto:
    """Parallel 1x1, 3x3, 5x5, factorised 1x7 and 7x1, and pooled branches."""
    net = Net("inception", {"x": (1, 3, 48, 48)}, 7)
    t = net.conv_relu(net.conv_relu("x", 12, 3, 2, pad=0), 16, 3)
    pooled = net.pool(t, "AveragePool", 3, 1, (1, 1, 1, 1), count_include_pad=1)
    t = net.concat([net.conv_relu(t, 8, 1), net.conv_relu(net.conv_relu(t, 8, 1), 12, 5),
                    net.conv_relu(net.conv_relu(net.conv_relu(t, 8, 1), 12, 3), 12, 3), net.conv_relu(pooled, 8, 1)])
    t = net.concat([net.conv_relu(t, 16, 3, 2, pad=0), net.conv_relu(t, 8, 7, 2, pad=2),
                    net.pool(t, kernel=3, stride=2)])
    wide = net.conv_relu(net.conv_relu(net.conv_relu(t, 8, 1), 8, (1, 7)), 12, (7, 1))
    pooled = net.pool(t, "AveragePool", 3, 1, (1, 1, 1, 1))
    t = net.concat([net.conv_relu(t, 12, 1), wide, net.conv_relu(pooled, 12, 1)])
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
