"""Writes graphs node by node the way torch.onnx.export does, with seeded random weights.

Activations are NCHW. Weights are scaled by their fan-in, so that activations stay near one however deep the
network is. Constants are Constant nodes, weights initialisers, names are scoped paths.
"""

import math
from collections.abc import Mapping, Sequence

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

Shape = tuple[int, ...]


class Net:
    """One network. Methods add nodes and return the name of their output; `shapes` knows its shape."""

    def __init__(self, name: str, inputs: Mapping[str, Shape], seed: int = 1, opset: int = 17) -> None:
        self.name, self.opset = name, opset
        self.inputs = dict(inputs)
        self.random = np.random.default_rng(seed)
        self.nodes: list[onnx.NodeProto] = []
        self.weights: dict[str, np.ndarray] = {}
        self.shapes: dict[str, Shape] = dict(inputs)
        #: Pools in ceil mode that leave out a window because it would start in the padding behind the tensor.
        self.shortened_pools: set[str] = set()

    # The plain parts.

    def add(self, op: str, inputs: Sequence[str], shape: Shape | None = None, outputs: int = 1, **attributes: object):
        """Appends a node; `shape` is its output's, that of its first input unless given. Several outputs: a list."""
        base = f"/{self.name}/{op}_{len(self.nodes)}"
        names = [f"{base}_output_{i}" for i in range(outputs)]
        self.nodes.append(helper.make_node(op, list(inputs), names, name=base, **attributes))
        for name in names:
            self.shapes[name] = self.shapes.get(inputs[0], ()) if shape is None and inputs else shape or ()
        return names[0] if outputs == 1 else names

    def constant(self, value: object, dtype: type = np.int64) -> str:
        """A Constant node."""
        array = np.asarray(value, dtype)
        return self.add("Constant", [], array.shape, value=numpy_helper.from_array(array))

    def weight(self, values: np.ndarray, label: str = "weight") -> str:
        """An initialiser."""
        name = f"{self.name}.{len(self.weights)}.{label}"
        self.weights[name] = np.asarray(values, np.float32 if values.dtype == np.float64 else values.dtype)
        self.shapes[name] = values.shape
        return name

    def noise(self, *shape: int, scale: float = 1.0) -> np.ndarray:
        """Normally distributed values."""
        return (self.random.standard_normal(shape) * scale).astype(np.float32)

    def model(self, outputs: Sequence[str], names: Sequence[str] | None = None) -> onnx.ModelProto:
        """The finished model; outputs are float32 unless their node says otherwise."""
        renamed = dict(zip(outputs, names or [f"y{i}" if i else "y" for i in range(len(outputs))], strict=True))
        for proto in self.nodes:
            for field in (proto.input, proto.output):
                for index, name in enumerate(field):
                    field[index] = renamed.get(name, name)
        integer = {name for proto in self.nodes if proto.op_type in ("ArgMax", "ArgMin") for name in proto.output}
        results = {name: TensorProto.INT64 if name in integer else TensorProto.FLOAT for name in renamed.values()}
        graph = helper.make_graph(
            self.nodes, self.name,
            [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in self.inputs.items()],
            [helper.make_tensor_value_info(name, kind, None) for name, kind in results.items()],
            [numpy_helper.from_array(value, name) for name, value in self.weights.items()],
        )  # fmt: skip
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)], ir_version=8)

    # Layers.

    def conv(self, x: str, channels: int, kernel: int | Shape = 3, stride: int = 1,
             pad: int | Sequence[int] | None = None, dilation: int = 1, groups: int = 1, bias: bool = True) -> str:
        """Conv over one or two axes; `pad` None: as PyTorch users write for an odd kernel."""
        batch, inputs, *size = self.shapes[x]
        kernels = (kernel,) * len(size) if isinstance(kernel, int) else kernel
        pads = [(k - 1) * dilation // 2 for k in kernels] * 2 if pad is None else pad
        pads = [pads] * (2 * len(size)) if isinstance(pads, int) else list(pads)
        fan = inputs // groups * math.prod(kernels)
        names = [self.weight(self.noise(channels, inputs // groups, *kernels, scale=math.sqrt(1.6 / fan)))]
        if bias:
            names.append(self.weight(self.noise(channels, scale=0.1), "bias"))
        out = [(n + pads[i] + pads[i + len(size)] - (k - 1) * dilation - 1) // stride + 1
               for i, (n, k) in enumerate(zip(size, kernels, strict=True))]
        return self.add("Conv", [x, *names], (batch, channels, *out), dilations=[dilation] * len(size), group=groups,
                        kernel_shape=list(kernels), pads=pads, strides=[stride] * len(size))

    def batch_norm(self, x: str) -> str:
        """A BatchNormalization that training left behind."""
        channels = self.shapes[x][1]
        values = [self.noise(channels, scale=scale) for scale in (0.1, 0.1, 0.1, 0.2)]
        values[0], values[3] = 1 + values[0], np.abs(1 + values[3])
        names = [self.weight(v, label) for v, label in zip(values, ("gamma", "beta", "mean", "var"), strict=True)]
        return self.add("BatchNormalization", [x, *names], epsilon=1e-5, momentum=0.9)

    def relu(self, x: str) -> str:
        return self.add("Relu", [x])

    def relu6(self, x: str) -> str:
        """Clip with Constant bounds, PyTorch's ReLU6."""
        return self.add("Clip", [x, self.constant(0, np.float32), self.constant(6, np.float32)])

    def silu(self, x: str) -> str:
        return self.add("Mul", [x, self.add("Sigmoid", [x])])

    def hard_swish(self, x: str, as_op: bool = True) -> str:
        """HardSwish, or as exported before the operator existed: x * clip(x + 3, 0, 6) / 6."""
        if as_op:
            return self.add("HardSwish", [x])
        lifted = self.add("Add", [x, self.constant(3, np.float32)])
        clipped = self.add("Clip", [lifted, self.constant(0, np.float32), self.constant(6, np.float32)])
        return self.add("Div", [self.add("Mul", [x, clipped]), self.constant(6, np.float32)])

    def gelu(self, x: str) -> str:
        """GELU as the exporter writes it: x / sqrt(2), Erf, + 1, * x, * 0.5."""
        scaled = self.add("Div", [x, self.constant(math.sqrt(2), np.float32)])
        lifted = self.add("Add", [self.add("Erf", [scaled]), self.constant(1, np.float32)])
        return self.add("Mul", [self.add("Mul", [x, lifted]), self.constant(0.5, np.float32)])

    def conv_relu(self, x: str, channels: int, kernel: int | Shape = 3, stride: int = 1, **more: object) -> str:
        return self.relu(self.conv(x, channels, kernel, stride, **more))

    def pool(self, x: str, op: str = "MaxPool", kernel: int = 2, stride: int | None = None,
             pads: Sequence[int] = (0, 0, 0, 0), ceil: bool = False, **attributes: object) -> str:
        step = kernel if stride is None else stride
        batch, channels, *size = self.shapes[x]
        axes = len(size)
        pads = list(pads)[: axes * 2]
        out, shortened = [], False
        for i, n in enumerate(size):
            span = n + pads[i] + pads[i + axes] - kernel
            rows = -(-span // step) + 1 if ceil else span // step + 1
            if ceil and (rows - 1) * step >= n + pads[i]:
                rows, shortened = rows - 1, True
            out.append(rows)
        if self.opset >= 10:
            attributes["ceil_mode"] = int(ceil)
        made = self.add(op, [x], (batch, channels, *out), kernel_shape=[kernel] * axes, strides=[step] * axes,
                        pads=pads, **attributes)
        if shortened:
            self.shortened_pools.add(made)
        return str(made)

    def global_pool(self, x: str) -> str:
        batch, channels, *size = self.shapes[x]
        return self.add("GlobalAveragePool", [x], (batch, channels, *(1 for _ in size)))

    def join(self, *xs: str, op: str = "Add") -> str:
        return self.add(op, list(xs))

    def concat(self, xs: Sequence[str], axis: int = 1) -> str:
        shape = list(self.shapes[xs[0]])
        shape[axis] = sum(self.shapes[x][axis] for x in xs)
        return self.add("Concat", list(xs), tuple(shape), axis=axis)

    def reshape(self, x: str, *shape: int) -> str:
        known = -math.prod(shape) if -1 in shape else 1
        full = tuple(math.prod(self.shapes[x]) // known if s == -1 else s for s in shape)
        return self.add("Reshape", [x, self.constant(shape)], full)

    def reshape_by_shape(self, x: str, *tail: int) -> str:
        """view(x.size(0), …): Shape, Gather, Unsqueeze, Concat, Reshape, as tracing leaves it."""
        batch = self.add("Gather", [self.add("Shape", [x], (4,)), self.constant(0)], (), axis=0)
        lifted = self.add("Unsqueeze", [batch, self.constant([0])], (1,))
        target = self.add("Concat", [lifted, *(self.constant([t]) for t in tail)], (1 + len(tail),), axis=0)
        full = (self.shapes[x][0], *tail)
        known = -math.prod(full) if -1 in tail else 1
        sizes = tuple(math.prod(self.shapes[x]) // known if s == -1 else s for s in full)
        return self.add("Reshape", [x, target], sizes)

    def transpose(self, x: str, *perm: int) -> str:
        return self.add("Transpose", [x], tuple(self.shapes[x][p] for p in perm), perm=list(perm))

    def flatten(self, x: str) -> str:
        return self.add("Flatten", [x], (self.shapes[x][0], math.prod(self.shapes[x][1:])), axis=1)

    def linear(self, x: str, features: int) -> str:
        """Gemm with a transposed weight; MatMul and Add on more than two axes."""
        size = self.shapes[x][-1]
        values = self.noise(features, size, scale=math.sqrt(1.3 / size))
        bias = self.noise(features, scale=0.1)
        if len(self.shapes[x]) == 2:
            names = [self.weight(values), self.weight(bias, "bias")]
            return self.add("Gemm", [x, *names], (self.shapes[x][0], features), alpha=1.0, beta=1.0, transB=1)
        shape = (*self.shapes[x][:-1], features)
        product = self.add("MatMul", [x, self.weight(np.ascontiguousarray(values.T))], shape)
        return self.add("Add", [self.weight(bias, "bias"), product], shape)

    def layer_norm(self, x: str) -> str:
        """LayerNormalization over the last axis."""
        size = self.shapes[x][-1]
        names = [self.weight(1 + self.noise(size, scale=0.1)), self.weight(self.noise(size, scale=0.1), "bias")]
        return self.add("LayerNormalization", [x, *names], axis=-1, epsilon=1e-5)

    def upsample(self, x: str, factor: int = 2, mode: str = "nearest") -> str:
        """F.interpolate(scale_factor=…): Resize with empty roi and Constant scales."""
        batch, channels, *size = self.shapes[x]
        scales = self.constant([1, 1, *(factor for _ in size)], np.float32)
        how = {"coordinate_transformation_mode": "half_pixel"}
        if mode == "nearest":
            how = {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
        return self.add("Resize", [x, "", scales], (batch, channels, *(n * factor for n in size)), mode=mode,
                        cubic_coeff_a=-0.75, **how)

    def conv_transpose(self, x: str, channels: int, kernel: int, stride: int, pad: int = 0, extra: int = 0) -> str:
        batch, inputs, *size = self.shapes[x]
        fan = inputs * max(1, kernel // stride) ** len(size)
        weights = self.noise(inputs, channels, *(kernel for _ in size), scale=math.sqrt(1.6 / fan))
        names = [self.weight(weights), self.weight(self.noise(channels, scale=0.1), "bias")]
        out = [(n - 1) * stride - 2 * pad + kernel + extra for n in size]
        more = {"output_padding": [extra] * len(size)} if extra else {}
        return self.add("ConvTranspose", [x, *names], (batch, channels, *out), kernel_shape=[kernel] * len(size),
                        strides=[stride] * len(size), pads=[pad] * (2 * len(size)), group=1,
                        dilations=[1] * len(size), **more)

    def reduce(self, op: str, x: str, axes: Sequence[int], keep: bool = True) -> str:
        """Axes as attribute, as input where the operator set wants it."""
        rank = len(self.shapes[x])
        wanted = {a % rank for a in axes}
        shape = tuple(1 if i in wanted else n for i, n in enumerate(self.shapes[x]) if keep or i not in wanted)
        newer = self.opset >= 18 or (op == "ReduceSum" and self.opset >= 13)
        if newer:
            return self.add(op, [x, self.constant(list(axes))], shape, keepdims=int(keep))
        return self.add(op, [x], shape, axes=list(axes), keepdims=int(keep))

    def slice(self, x: str, axis: int, start: int, end: int, step: int = 1) -> str:
        shape = list(self.shapes[x])
        shape[axis] = len(range(*slice(start, end, step).indices(shape[axis])))
        values = (self.constant([v]) for v in (start, end, axis, step))
        return self.add("Slice", [x, *values], tuple(shape))

    def pad(self, x: str, pads: Sequence[int], value: float = 0.0, mode: str = "constant") -> str:
        rank = len(pads) // 2
        shape = tuple(n + pads[i] + pads[i + rank] for i, n in enumerate(self.shapes[x]))
        return self.add("Pad", [x, self.constant(list(pads)), self.constant(value, np.float32)], shape, mode=mode)

    def softmax(self, x: str, axis: int = -1) -> str:
        return self.add("Softmax", [x], axis=axis)
