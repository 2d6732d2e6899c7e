"""Networks whose outputs are maps: segmentation, detection, decoders, super-resolution."""

import onnx

from tests.families.net import Net


def detector() -> onnx.ModelProto:
    """YOLO-like: SiLU, C2f with Split, SPPF, top-down path, two scales of outputs."""
    net = Net("detector", {"images": (1, 3, 64, 64)}, 22)

    def block(x: str, channels: int, stride: int = 1, kernel: int = 3) -> str:
        return net.silu(net.conv(x, channels, kernel, stride))

    def c2f(x: str, channels: int) -> str:
        inner = block(x, channels, kernel=1)
        batch, _, *size = net.shapes[inner]
        parts = net.add("Split", [inner, net.constant([channels // 2] * 2)], (batch, channels // 2, *size),
                        outputs=2, axis=1)
        last = net.join(parts[1], block(block(parts[1], channels // 2), channels // 2))
        return block(net.concat([*parts, last]), channels, kernel=1)

    t = c2f(block(block("images", 8, 2), 16, 2), 16)
    high = c2f(block(t, 24, 2), 24)
    low = block(block(high, 32, 2), 16, kernel=1)
    pooled = [low]
    for _ in range(3):
        pooled.append(net.pool(pooled[-1], kernel=5, stride=1, pads=(2, 2, 2, 2)))
    low = block(net.concat(pooled), 32, kernel=1)
    high = c2f(net.concat([net.upsample(low), high]), 24)
    low = c2f(net.concat([block(high, 24, 2), low]), 32)
    outputs = []
    for feature in (high, low):
        box = net.conv(block(feature, 16), 8, 1)
        classes = net.add("Sigmoid", [net.conv(block(feature, 16), 5, 1)])
        outputs += [box, net.transpose(net.reshape(classes, 1, 5, -1), 0, 2, 1)]
    return net.model(outputs, ["box8", "cls8", "box16", "cls16"])


def dilated_segmentation() -> onnx.ModelProto:
    """DeepLab-like: atrous pyramid with an image-level branch, bilinear upsampling, ArgMax over classes."""
    net = Net("atrous", {"x": (1, 3, 48, 48)}, 23)
    t = net.conv_relu(net.conv_relu("x", 12, 3, 2), 24, 3, 2)
    t = net.conv_relu(net.conv_relu(t, 24, dilation=2), 24, dilation=4)
    pooled = net.conv_relu(net.global_pool(t), 8, 1)
    pooled = net.add("Resize", [pooled, "", "", net.constant([1, 8, 12, 12])], (1, 8, 12, 12), mode="linear",
                     coordinate_transformation_mode="half_pixel")
    branches = [net.conv_relu(t, 8, 1), *(net.conv_relu(t, 8, dilation=d) for d in (2, 3, 5)), pooled]
    t = net.conv(net.conv_relu(net.concat(branches), 16, 1), 4, 1)
    maps = net.upsample(t, 4, "linear")
    return net.model([maps, net.add("ArgMax", [maps], (1, 48, 48), axis=1, keepdims=0)], ["logits", "labels"])


def decoder() -> onnx.ModelProto:
    """DCGAN-like: Gemm, Reshape, ConvTranspose 4/2/1 with BatchNormalization, an odd one, Tanh."""
    net = Net("decoder", {"z": (1, 24)}, 24)
    t = net.reshape(net.linear("z", 16 * 6 * 6), 1, 16, 6, 6)
    t = net.relu(net.batch_norm(net.conv_transpose(t, 12, 4, 2, 1)))
    t = net.add("LeakyRelu", [net.batch_norm(net.conv_transpose(t, 8, 3, 2, 1, 1))], alpha=0.2)
    return net.model([net.add("Tanh", [net.conv_transpose(t, 3, 4, 2, 1)])])


def super_resolution() -> onnx.ModelProto:
    """PRelu, global skip, DepthToSpace in CRD order (PixelShuffle)."""
    net = Net("super_resolution", {"x": (1, 1, 40, 40)}, 25)

    def prelu(x: str) -> str:
        return net.add("PRelu", [x, net.weight(0.25 + net.noise(net.shapes[x][1], 1, 1, scale=0.05), "slope")])

    first = prelu(net.conv("x", 12, 5))
    t = prelu(net.conv(net.conv(prelu(net.conv(first, 8, 1)), 8), 12, 1))
    t = net.conv(net.join(t, first), 4)
    t = net.add("DepthToSpace", [t], (1, 1, 80, 80), blocksize=2, mode="CRD")
    return net.model([t])


def fully_convolutional() -> onnx.ModelProto:
    """Strided convolutions down, reflection padding, ConvTranspose up, cropped skips: uneven sizes everywhere."""
    net = Net("fcn", {"x": (1, 2, 45, 37)}, 26)
    t = net.conv_relu(net.pad("x", [0, 0, 2, 1, 0, 0, 1, 2], mode="reflect"), 8, 3, pad=0)
    down = net.conv_relu(net.conv_relu(t, 16, 3, 2), 16)
    up = net.conv_transpose(down, 8, 3, 2, 1)
    _, _, height, width = net.shapes[up]
    crop = net.slice(net.slice(t, 2, 0, height), 3, 0, width)
    mixed = net.relu(net.join(up, crop))
    return net.model([net.conv(net.concat([mixed, crop]), 2, 3)])
