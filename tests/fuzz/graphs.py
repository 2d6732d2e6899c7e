"""Small random graphs. A graph is a list of steps; each adds one layer to one of the tensors made so far.

A step is (kind, source, seed): which layer, which tensor, and the seed of its parameters, so that leaving a step out
changes little of the others, which makes counterexamples small.
"""

import math
import random
from collections.abc import Callable

import numpy as np
import onnx

from tests.families.net import Net

Step = tuple[int, int, int]
Layer = Callable[[Net, random.Random, str, list[str]], "str | None"]

INPUTS = ((1, 3, 12, 10), (1, 4, 9, 9), (1, 8, 24), (2, 3, 8, 8), (1, 20), (1, 6, 1, 7), (1, 2, 16, 5))


def graph(shape: int, steps: list[Step]) -> onnx.ModelProto:
    """The model of `steps`; what nothing reads is an output.

    Shape inference of operator sets before 22 counts pooling windows that start in the padding behind the tensor,
    while onnxruntime's kernels rightly leave them out; it refuses what reads the result by the wrong shape.
    """
    net, live = _build(shape, steps, 17)
    if net.shortened_pools & _read(net):
        net, live = _build(shape, steps, 22)
    read = _read(net)
    outputs = [name for name in live[1:] if name not in read] or [net.add("Identity", [live[-1]])]
    return net.model(outputs)


def _build(shape: int, steps: list[Step], opset: int) -> tuple[Net, list[str]]:
    net = Net("fuzz", {"x": INPUTS[shape % len(INPUTS)]}, 7, opset)
    live = ["x"]
    for kind, source, seed in steps:
        rng = random.Random(seed)
        net.random = np.random.default_rng(seed)
        made = LAYERS[kind % len(LAYERS)](net, rng, live[-1 - source % min(3, len(live))], live)
        if made is not None and len(net.shapes[made]) > 1 and math.prod(net.shapes[made]) <= 1 << 15:
            live.append(made)
    return net, live


def _read(net: Net) -> set[str]:
    return {name for proto in net.nodes for name in proto.input}


def _spatial(net: Net, x: str) -> bool:
    return len(net.shapes[x]) in (3, 4)


def _conv(net: Net, rng: random.Random, x: str, live: list[str]) -> str | None:
    if not _spatial(net, x):
        return None
    _, channels, *size = net.shapes[x]
    kernel = tuple(rng.choice([1, 2, 3, 5]) for _ in size)
    dilation, stride = rng.choice([(1, 1), (1, 2), (2, 1), (1, 3)])
    reach = [(k - 1) * dilation for k in kernel]
    pads = [rng.randint(0, r) for r in reach] + [rng.randint(0, r) for r in reach]
    if any(n + pads[i] + pads[i + len(size)] <= reach[i] for i, n in enumerate(size)):
        return None
    groups = rng.choice([g for g in (1, 1, 1, 2, channels) if channels % g == 0])
    return net.conv(x, groups * rng.choice([1, 2, 3]) if groups > 1 else rng.choice([1, 4, 7]), kernel, stride, pads,
                    dilation, groups, rng.random() < 0.7)


def _pool(net: Net, rng: random.Random, x: str, live: list[str]) -> str | None:
    if not _spatial(net, x):
        return None
    axes = len(net.shapes[x]) - 2
    kernel, stride = rng.choice([2, 3]), rng.choice([1, 2, 3])
    pads = [rng.randrange(kernel) for _ in range(2 * axes)] if rng.random() < 0.5 else [0] * 2 * axes
    if any(n + pads[i] + pads[i + axes] < kernel for i, n in enumerate(net.shapes[x][2:])):
        return None
    op = rng.choice(["MaxPool", "AveragePool"])
    more = {"count_include_pad": rng.randrange(2)} if op == "AveragePool" else {}
    return net.pool(x, op, kernel, stride, pads, rng.random() < 0.3, **more)


def _global(net: Net, rng: random.Random, x: str, live: list[str]) -> str | None:
    if not _spatial(net, x):
        return None
    shape = (*net.shapes[x][:2], *(1 for _ in net.shapes[x][2:]))
    return net.add(rng.choice(["GlobalAveragePool", "GlobalMaxPool"]), [x], shape)


def _activation(net: Net, rng: random.Random, x: str, live: list[str]) -> str | None:
    choice = rng.randrange(14)
    plain = ("Relu", "Sigmoid", "Tanh", "HardSwish", "Softplus", "Abs", "Neg", "Identity")
    alphas = {9: ("LeakyRelu", [0.0, 0.1, 0.3]), 10: ("HardSigmoid", [1 / 6]), 11: ("Elu", [0.5, 1.0])}
    if choice < len(plain):
        return net.add(plain[choice], [x])
    if choice in alphas:
        return net.add(alphas[choice][0], [x], alpha=rng.choice(alphas[choice][1]))
    return {8: net.relu6, 12: net.silu, 13: net.gelu}[choice](x)


def _constant_operand(net: Net, rng: random.Random, x: str, live: list[str]) -> str | None:
    """A binary operator with a constant that is broadcast some way."""
    shape = [n if rng.random() < 0.5 else 1 for n in net.shapes[x]][rng.randrange(len(net.shapes[x])) :]
    operand = net.weight(net.noise(*shape))
    op = rng.choice(["Add", "Sub", "Mul", "Max", "Min"])
    pair = [x, operand] if rng.random() < 0.7 else [operand, x]
    return net.add(op, pair, net.shapes[x])


def _pair(net: Net, rng: random.Random, x: str, live: list[str]) -> str | None:
    """A binary operator with another activation whose shape can be broadcast."""
    fitting = []
    for other in live:
        try:
            fitting.append((other, np.broadcast_shapes(net.shapes[x], net.shapes[other])))
        except ValueError:
            continue
    other, shape = rng.choice(fitting)
    return net.add(rng.choice(["Add", "Add", "Sub", "Mul", "Max"]), [x, other], tuple(shape))


def _concat(net: Net, rng: random.Random, x: str, live: list[str]) -> str | None:
    axis = rng.randrange(1, len(net.shapes[x]))

    def rest(name: str) -> tuple[int, ...]:
        return tuple(n for i, n in enumerate(net.shapes[name]) if i != axis)

    twins = [name for name in live if len(net.shapes[name]) == len(net.shapes[x]) and rest(name) == rest(x)]
    return net.concat([x, *rng.sample(twins, min(len(twins), rng.choice([1, 2])))], axis)


def _slice(net: Net, rng: random.Random, x: str, live: list[str]) -> str | None:
    axis = rng.randrange(1, len(net.shapes[x]))
    size = net.shapes[x][axis]
    start = rng.randrange(size)
    end = rng.choice([size, rng.randint(start + 1, size), 1 << 40])
    return net.slice(x, axis, start, end, rng.choice([1, 1, 2, 3]))


def _pad(net: Net, rng: random.Random, x: str, live: list[str]) -> str | None:
    rank = len(net.shapes[x])
    pads = [0] * 2 * rank
    for axis in range(1, rank):
        if rng.random() < 0.5:
            pads[axis], pads[axis + rank] = rng.randrange(3), rng.randrange(3)
    mode = rng.choice(["constant", "constant", "edge", "reflect"])
    if mode == "reflect" and any(max(pads[i], pads[i + rank]) >= n for i, n in enumerate(net.shapes[x])):
        return None
    return net.pad(x, pads, rng.choice([0.0, 0.5, -1.0]), mode)


def _resize(net: Net, rng: random.Random, x: str, live: list[str]) -> str | None:
    return net.upsample(x, 2, rng.choice(["nearest", "linear"])) if _spatial(net, x) else None


def _transposed(net: Net, rng: random.Random, x: str, live: list[str]) -> str | None:
    if not _spatial(net, x):
        return None
    stride = rng.choice([1, 2, 3])
    kernel = rng.choice([1, 2, 3, 4])
    pad, extra = rng.randrange(min(2, kernel)), rng.randrange(stride)
    if any((n - 1) * stride - 2 * pad + kernel + extra < 1 for n in net.shapes[x][2:]):
        return None
    return net.conv_transpose(x, rng.choice([1, 3, 4]), kernel, stride, pad, extra)


def _reduce(net: Net, rng: random.Random, x: str, live: list[str]) -> str | None:
    rank = len(net.shapes[x])
    axes = sorted(rng.sample(range(1, rank), rng.randint(1, rank - 1)))
    op = rng.choice(["ReduceMean", "ReduceMax", "ReduceMin", "ReduceSum", "ReduceL2"])
    return net.reduce(op, x, axes, rng.random() < 0.6)


def _shape(net: Net, rng: random.Random, x: str, live: list[str]) -> str | None:
    shape = net.shapes[x]
    choice = rng.randrange(5)
    if choice == 0:
        return net.flatten(x)
    if choice == 1:
        perm = [0, *rng.sample(range(1, len(shape)), len(shape) - 1)]
        return net.transpose(x, *perm)
    if choice == 2 and len(shape) > 2:
        return net.reshape(x, shape[0], math.prod(shape[1:-1]), shape[-1])
    if choice == 3 and len(shape) == 4:
        return net.reshape(x, shape[0], shape[2], shape[1], shape[3])
    if choice == 4 and len(shape) < 4:
        axis = rng.randrange(1, len(shape) + 1)
        return net.add("Unsqueeze", [x, net.constant([axis])], (*shape[:axis], 1, *shape[axis:]))
    return None


def _linear(net: Net, rng: random.Random, x: str, live: list[str]) -> str | None:
    return net.linear(x, rng.choice([1, 5, 8]))


def _normalise(net: Net, rng: random.Random, x: str, live: list[str]) -> str | None:
    choice = rng.randrange(3)
    if choice == 0 and _spatial(net, x):
        return net.batch_norm(x)
    return net.softmax(x, rng.randrange(1, len(net.shapes[x]))) if choice == 1 else net.layer_norm(x)


def _attention(net: Net, rng: random.Random, x: str, live: list[str]) -> str | None:
    """A product of two activations."""
    if len(net.shapes[x]) < 3:
        return None
    *outer, rows, _ = net.shapes[x]
    swapped = [*range(len(outer)), len(outer) + 1, len(outer)]
    return net.add("MatMul", [x, net.transpose(x, *swapped)], (*outer, rows, rows))


def _gather(net: Net, rng: random.Random, x: str, live: list[str]) -> str | None:
    axis = rng.randrange(1, len(net.shapes[x]))
    size = net.shapes[x][axis]
    picks = [rng.randrange(-size, size) for _ in range(rng.choice([1, 2, 5]))]
    shape = (*net.shapes[x][:axis], len(picks), *net.shapes[x][axis + 1 :])
    return net.add("Gather", [x, net.constant(picks)], shape, axis=axis)


def _split(net: Net, rng: random.Random, x: str, live: list[str]) -> str | None:
    axes = [i for i, n in enumerate(net.shapes[x]) if i and n > 1]
    if not axes:
        return None
    axis = rng.choice(axes)
    first = rng.randint(1, net.shapes[x][axis] - 1)
    sizes = (first, net.shapes[x][axis] - first)
    parts = net.add("Split", [x, net.constant(sizes)], outputs=2, axis=axis)
    for part, size in zip(parts, sizes, strict=True):
        net.shapes[part] = (*net.shapes[x][:axis], size, *net.shapes[x][axis + 1 :])
    live.append(parts[1])
    return str(parts[0])


#: Examples name layers by their place: append only.
def _recurrent(net: Net, rng: random.Random, x: str, live: list[str]) -> str | None:
    """Along the last axis of [batch, channels, length], and back to that form."""
    if len(net.shapes[x]) != 3:
        return None
    batch, inputs, steps = net.shapes[x]
    op, gates = rng.choice([("LSTM", 4), ("GRU", 3), ("RNN", 1)])
    direction, units = rng.choice(["forward", "forward", "reverse"]), rng.choice([1, 3, 5])
    by_time = net.add("Transpose", [x], (steps, batch, inputs), perm=(2, 0, 1))
    weights = [net.weight(net.noise(1, gates * units, size, scale=0.4)) for size in (inputs, units)]
    states = net.add(op, [by_time, *weights], (steps, 1, batch, units), hidden_size=units, direction=direction)
    flat = net.reshape(states, steps, batch, units)
    return net.add("Transpose", [flat], (batch, units, steps), perm=(1, 2, 0))


def _best(net: Net, rng: random.Random, x: str, live: list[str]) -> str | None:
    """Slices in the order of positions that are found in the data."""
    axis = rng.randrange(1, len(net.shapes[x]))
    shape = net.shapes[x]
    places = net.add("ArgMax", [x], (*shape[:axis], *shape[axis + 1 :]), axis=axis, keepdims=0)
    flat = net.reshape(places, math.prod(shape) // shape[axis])
    if math.prod(shape) // shape[axis] > 40:
        return None
    return net.add("Gather", [x, flat], (*shape[:axis], math.prod(shape) // shape[axis], *shape[axis + 1 :]), axis=axis)


LAYERS: tuple[Layer, ...] = (
    *(_conv,) * 4, *(_pool,) * 2, *(_activation,) * 3, *(_pair,) * 2, _constant_operand, _concat, _global, _slice, _pad,
    _resize, _transposed, _reduce, _shape, _shape, _linear, _normalise, _attention, _gather, _split, _recurrent, _best,
)  # fmt: skip
