"""Networks that the planner is measured on: published topologies at sizes that no board's SRAM holds layer by layer.

Sources: MobileNetV2 (M. Sandler et al., 2018), MobileNetV3 (A. Howard et al., 2019), ShuffleNet (X. Zhang et al.,
2018), Inception (C. Szegedy et al., 2015), DenseNet (G. Huang et al., 2017), U-Net (O. Ronneberger et al., 2015),
dilated convolutions (F. Yu and V. Koltun, 2016), a detector of two scales after YOLOv3 (J. Redmon and A. Farhadi,
2018).
"""

from collections.abc import Callable, Mapping

import onnx

from bench.quantised_net import QuantisedNet

#: MobileNetV2's blocks: expansion, channels at width 1, repeats, stride of the first.
INVERTED = ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1))


def _rounded(channels: float) -> int:
    """A multiple of 8 that is not more than 10 % below."""
    result = max(8, int(channels + 4) // 8 * 8)
    return result + 8 if result < 0.9 * channels else result


def _inverted_residual(net: QuantisedNet, x: str, expansion: int, channels: int, stride: int, kernel: int = 3) -> str:
    inputs = net.shapes[x][1]
    y = x if expansion == 1 else net.conv(x, expansion * inputs, 1)
    y = net.conv(net.depthwise(y, stride, kernel), channels, 1, relu=False)
    return net.add(x, y) if stride == 1 and channels == inputs else y


def mobilenet_v2(size: int, width: float = 0.35) -> onnx.ModelProto:
    """MobileNetV2 for square images."""
    net = QuantisedNet(f"mobilenet_v2_{size}", 3, (size, size))
    x = net.conv(net.image, _rounded(32 * width), stride=2)
    for expansion, channels, repeats, stride in INVERTED:
        for place in range(repeats):
            x = _inverted_residual(net, x, expansion, _rounded(channels * width), 1 if place else stride)
    return net.model(net.classified(net.conv(x, 1280 if width < 1 else round(1280 * width), 1), 1000))


def mobilenet_v3_small() -> onnx.ModelProto:
    """Like MobileNetV3-small, with squeeze and excite, for 128x128."""
    net = QuantisedNet("mobilenet_v3_small", 3, (128, 128))
    x = net.conv(net.image, 16, stride=2)
    blocks = ((16, 16, 2, 3), (72, 24, 2, 3), (88, 24, 1, 3), (96, 40, 2, 5), (240, 40, 1, 5), (120, 48, 1, 5))
    for expanded, channels, stride, kernel in blocks:
        inputs = net.shapes[x][1]
        y = net.depthwise(net.conv(x, expanded, 1), stride, kernel)
        factors = net.conv(net.conv(net.mean(y), max(8, expanded // 4), 1), expanded, 1)
        y = net.conv(net.scale(y, factors), channels, 1, relu=False)
        x = net.add(x, y) if stride == 1 and channels == inputs else y
    return net.model(net.classified(net.conv(x, 288, 1), 100))


def shufflenet() -> onnx.ModelProto:
    """ShuffleNet's units for 96x96."""
    net = QuantisedNet("shufflenet", 3, (96, 96))
    x = net.pool(net.conv(net.image, 24, stride=2), kernel=3, stride=2, pad=1)
    for channels, repeats in ((96, 3), (192, 3)):
        for place in range(repeats):
            stride, inputs = (1 if place else 2), net.shapes[x][1]
            y = net.shuffled(net.conv(x, channels // 4, 1, groups=3 if place else 1), 3)
            made = channels if place else channels - inputs
            y = net.conv(net.depthwise(y, stride, relu=False), made, 1, groups=3, relu=False)
            x = net.add(x, y, relu=True) if place else net.concat(net.pool(x, "AveragePool", 3, 2, 1), y)
    return net.model(net.classified(x, 100))


def inception() -> onnx.ModelProto:
    """Inception's modules of four branches for 96x96."""
    net = QuantisedNet("inception", 3, (96, 96))
    x = net.pool(net.conv(net.image, 16, stride=2), kernel=3, stride=2, pad=1)
    x = net.pool(net.conv(net.conv(x, 16, 1), 48), kernel=3, stride=2, pad=1)
    for a, b, c, d in ((16, (24, 32), (4, 8), 8), (32, (32, 48), (8, 24), 16)):
        x = net.concat(
            net.conv(x, a, 1), net.conv(net.conv(x, b[0], 1), b[1]), net.conv(net.conv(x, c[0], 1), c[1], 5),
            net.conv(net.pool(x, kernel=3, stride=1, pad=1), d, 1),
        )  # fmt: skip
    return net.model(net.classified(x, 100))


def densenet() -> onnx.ModelProto:
    """Dense blocks of six layers, growth 8, for 64x64."""
    net = QuantisedNet("densenet", 3, (64, 64))
    x = net.conv(net.image, 16)
    for block in range(3):
        for _ in range(6):
            x = net.concat(x, net.conv(net.conv(net.relu(x), 32, 1), 8))
        if block < 2:
            x = net.pool(net.conv(x, net.shapes[x][1] // 2, 1), "AveragePool")
    return net.model(net.classified(x, 10))


def unet() -> onnx.ModelProto:
    """A U-Net of four levels for 256x256."""
    net = QuantisedNet("unet", 3, (256, 256))
    x, skips = net.image, []
    for channels in (16, 24, 32):
        x = net.conv(net.conv(x, channels), channels)
        skips.append(x)
        x = net.pool(x)
    x = net.conv(net.conv(x, 48), 48)
    for channels in (32, 24, 16):
        x = net.concat(net.upsample(x), skips.pop())
        x = net.conv(net.conv(x, channels), channels)
    return net.model(net.conv(x, 1, 1, relu=False))


def dilated() -> onnx.ModelProto:
    """Segmentation by dilated convolutions for 96x96, with a skip."""
    net = QuantisedNet("dilated_segmentation", 3, (96, 96))
    x = first = net.conv(net.image, 24, stride=2)
    for dilation in (1, 2, 4, 8):
        x = net.conv(x, 24, dilation=dilation)
    x = net.conv(net.concat(x, first), 24, 1)
    return net.model(net.upsample(net.conv(x, 4, 1, relu=False)))


def detector() -> onnx.ModelProto:
    """A detector of two scales for 160x160."""
    net = QuantisedNet("detector", 3, (160, 160))
    x = net.conv(net.image, 12, stride=2)
    x = net.depthwise(x, 2)
    x = net.conv(x, 24, 1)
    for channels in (24, 48):
        x = net.conv(net.depthwise(x), channels, 1)
    wide = x = net.conv(net.depthwise(x, 2), 64, 1)
    x = net.conv(net.depthwise(x, 2), 96, 1)
    for _ in range(2):
        x = net.add(x, net.conv(net.depthwise(x), 96, 1, relu=False))
    deep = net.conv(x, 18, 1, relu=False)
    y = net.concat(net.upsample(net.conv(x, 32, 1)), wide)
    return net.model(deep, net.conv(net.depthwise(net.conv(y, 48, 1)), 18, 1, relu=False))


ZOO: Mapping[str, Callable[[], onnx.ModelProto]] = {
    "mobilenet_v2_160": lambda: mobilenet_v2(160),
    "mobilenet_v2_224": lambda: mobilenet_v2(224),
    "mobilenet_v2_1.0_224": lambda: mobilenet_v2(224, 1.0),
    "mobilenet_v3_small": mobilenet_v3_small,
    "shufflenet": shufflenet,
    "inception": inception,
    "densenet": densenet,
    "unet": unet,
    "dilated": dilated,
    "detector": detector,
}
