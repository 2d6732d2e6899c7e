"""Models with habits of exporters: layouts, constants, old operator sets, leftovers of training."""

import numpy as np
import onnx
from onnx import TensorProto, helper

from tests.families.net import Net


def pooling_variants() -> onnx.ModelProto:
    """Ceil mode, uneven pads, pads counted and not, strides above the kernel, global maximum."""
    net = Net("pooling", {"x": (1, 4, 47, 45)}, 41)
    t = net.conv_relu("x", 12)
    a = net.pool(t, "MaxPool", 3, 2, (0, 1, 1, 0), ceil=True)
    b = net.pool(t, "AveragePool", 3, 2, (0, 1, 1, 0), ceil=True, count_include_pad=0)
    c = net.pool(t, "AveragePool", 2, 2, (0, 0, 1, 1), count_include_pad=1)
    heads = [net.add("GlobalMaxPool", [a], (1, 12, 1, 1)), net.global_pool(b),
             net.add("GlobalMaxPool", [net.pool(c, "MaxPool", 2, 3)], (1, 12, 1, 1))]
    return net.model([net.linear(net.flatten(net.concat(heads)), 6)])


def leftovers() -> onnx.ModelProto:
    """Identity and Dropout everywhere, flattening by Shape arithmetic, a free batch dimension, unused nodes."""
    net = Net("leftovers", {"x": (1, 3, 24, 24)}, 45)
    t = net.add("Identity", [net.conv_relu(net.add("Identity", ["x"]), 8, 3, 2)])
    t = net.add("Dropout", [t, net.constant(0.5, np.float32), net.constant(False, bool)])
    net.add("Relu", [t])
    t = net.pool(t)
    size = net.add("Shape", [t], (4,))
    part = net.add("Slice", [size, net.constant([0]), net.constant([1]), net.constant([0])], (1,))
    sizes = net.add("Slice", [size, net.constant([1]), net.constant([9]), net.constant([0])], (3,))
    rest = net.add("ReduceProd", [sizes], (1,), axes=[0], keepdims=1)
    target = net.add("Cast", [net.add("Concat", [part, rest], (2,), axis=0)], (2,), to=TensorProto.INT64)
    t = net.add("Reshape", [t, target], (1, 288))
    model = net.model([net.add("Identity", [net.linear(net.add("Dropout", [t]), 5)])])
    model.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "batch_size"
    return model


def keras() -> onnx.ModelProto:
    """tf2onnx: NHWC outside, Transposes around convolutions, Pad for SAME with stride 2, Reshape head."""
    net = Net("keras", {"input_1": (1, 48, 48, 3)}, 46)
    t = net.transpose("input_1", 0, 3, 1, 2)
    t = net.conv(net.pad(t, [0, 0, 0, 0, 0, 0, 1, 1]), 16, 3, 2, pad=0)
    t = net.transpose(net.relu6(t), 0, 2, 3, 1)
    for channels in (24, 32):
        t = net.transpose(t, 0, 3, 1, 2)
        inside = net.shapes[t][1]
        t = net.relu6(net.conv(net.pad(t, [0, 0, 0, 0, 0, 0, 1, 1]), inside, 3, 2, pad=0, groups=inside))
        t = net.conv(t, channels, 1)
        t = net.transpose(t, 0, 2, 3, 1)
        t = net.join(t, net.weight(net.noise(channels, scale=0.2), "bias"))
        net.shapes[t] = (*net.shapes[t][:3], channels)
    batch, height, width, channels = net.shapes[t]
    t = net.relu(net.join(t, net.weight(net.noise(1, 1, 1, channels, scale=0.2), "shift"), op="Mul"))
    net.shapes[t] = (batch, height, width, channels)
    pooled = net.transpose(net.global_pool(net.transpose(t, 0, 3, 1, 2)), 0, 2, 3, 1)
    t = net.add("Squeeze", [pooled, net.constant([1, 2])], (1, channels))
    weights = net.weight(net.noise(channels, 10, scale=0.2))
    t = net.add("MatMul", [t, weights], (1, 10))
    return net.model([net.softmax(net.join(t, net.weight(net.noise(10, scale=0.1), "bias")))])


def keras_unet() -> onnx.ModelProto:
    """tf2onnx on a map: NHWC Concat along the last axis, Resize of a transposed tensor, NHWC output."""
    net = Net("keras_unet", {"input": (1, 32, 32, 2)}, 47)
    first = net.conv_relu(net.transpose("input", 0, 3, 1, 2), 8)
    deep = net.conv_relu(net.pool(first), 12)
    up = net.transpose(net.upsample(deep), 0, 2, 3, 1)
    t = net.concat([up, net.transpose(first, 0, 2, 3, 1)], 3)
    t = net.conv(net.transpose(t, 0, 3, 1, 2), 2, 1)
    return net.model([net.softmax(net.transpose(t, 0, 2, 3, 1))])


def opset_7() -> onnx.ModelProto:
    """Caffe-like: attributes for Clip, Upsample, Slice, Squeeze, Unsqueeze; initialisers among the inputs."""
    net = Net("opset7", {"data": (1, 3, 32, 32)}, 48, opset=7)
    t = net.batch_norm(net.conv("data", 12, bias=False))
    t = net.add("Clip", [t], min=0.0, max=6.0)
    t = net.add("LRN", [t], size=5, alpha=1e-3, beta=0.75, bias=1.0)
    pooled = net.pool(t)
    scaled = net.add("Upsample", [pooled], net.shapes[t], mode="nearest", scales=[1.0, 1.0, 2.0, 2.0])
    t = net.add("Sum", [scaled, t, net.add("Slice", [t], net.shapes[t], axes=[1], starts=[0], ends=[99])])
    t = net.add("Pad", [t], (1, 12, 33, 33), mode="constant", pads=[0, 0, 0, 0, 0, 0, 1, 1], value=0.25)
    t = net.pool(net.add("Dropout", [t], ratio=0.5), "AveragePool", 3, 2)
    t = net.flatten(net.global_pool(t))
    t = net.add("Squeeze", [net.add("Unsqueeze", [t], (1, 12, 1), axes=[2])], (1, 12), axes=[2])
    weights = net.weight(net.noise(12, 8, scale=0.3))
    t = net.add("Gemm", [t, weights, net.weight(net.noise(8), "bias")], (1, 8), alpha=1.0, beta=1.0)
    model = net.model([net.add("Softmax", [t], axis=1)])
    del model.graph.input[1:]
    for tensor in model.graph.initializer:
        model.graph.input.append(helper.make_tensor_value_info(tensor.name, tensor.data_type, list(tensor.dims)))
    model.ir_version = 3
    return model


def opset_9() -> onnx.ModelProto:
    """PyTorch 1.0: flattening by Shape and Constant nodes, ConstantOfShape padding, Upsample with a scales input."""
    net = Net("opset9", {"x": (1, 3, 32, 32)}, 49, opset=9)
    t = net.conv_relu("x", 8, 3, 2)
    t = net.add("Upsample", [t, net.constant([1, 1, 2, 2], np.float32)], (1, 8, 32, 32), mode="nearest")
    t = net.pool(net.conv_relu(t, 8), kernel=2)
    batch = net.add("Gather", [net.add("Shape", [t], (4,)), net.constant(0)], (), axis=0)
    parts = [net.add("Unsqueeze", [batch], (1,), axes=[0]), net.add("Unsqueeze", [net.constant(-1)], (1,), axes=[0])]
    t = net.add("Reshape", [t, net.add("Concat", parts, (2,), axis=0)], (1, 2048))
    return net.model([net.add("LogSoftmax", [net.linear(t, 5)], axis=1)])
