"""The models that calibrate the cost model: networks, single layers and single operators, at budgets from ample to
smallest; and networks that are streamed, run on overlapping windows, in batches, or with weights in fast memory."""

import dataclasses
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from bench.emulator import NETWORKS
from bench.float_twin import float_twin
from bench.layers import LAYERS, Layer, build_layer
from bench.networks import SLOW, smallest
from bench.operator_models import CASES
from bench.quantised_net import QuantisedNet
from tigris_pio import compile_model
from tigris_pio.compiler.pipeline import Compiled
from tigris_pio.errors import BudgetError

BUDGETS = ("256K", "64K", "32K", "16K", "8K", "4K")
#: Float networks that take a few seconds without a floating-point unit.
SMALL_FLOATS = ("ad", "kws", "micro_speech", "sww")


def conv(channels: int, height: int, width: int, outputs: int, kernel: int, stride: int = 1, groups: int = 1) -> Layer:
    name = f"conv {kernel}x{kernel} s{stride} g{groups} {height}x{width}x{channels}-{outputs}"
    return Layer(name, (1, channels, height, width), (outputs, channels // groups, kernel, kernel), stride, groups)


def depthwise(channels: int, height: int, width: int, kernel: int, stride: int = 1) -> Layer:
    return conv(channels, height, width, channels, kernel, stride, channels)


def _with_strays(layer: Layer, strays: int) -> Layer:
    return dataclasses.replace(layer, name=f"{layer.name}, {strays} strays", strays=strays)


def dense(inputs: int, outputs: int) -> Layer:
    return Layer(f"dense {inputs}-{outputs}", (1, inputs), (inputs, outputs))


def _with_4_bits(layer: Layer) -> Layer:
    return dataclasses.replace(layer, name=f"{layer.name}, 4 bits", bits=4)


def _with_table(layer: Layer) -> Layer:
    return dataclasses.replace(layer, name=f"{layer.name}, table", table=True)


SHAPES = (
    *LAYERS,
    conv(8, 16, 16, 8, 1), conv(24, 12, 12, 48, 1), conv(64, 25, 5, 64, 1), conv(3, 16, 16, 32, 1),
    conv(33, 9, 9, 17, 1), conv(96, 12, 12, 24, 1), conv(16, 12, 12, 32, 1, 2), conv(3, 24, 24, 8, 3),
    conv(16, 16, 16, 16, 3, 2), conv(32, 9, 7, 20, 3), conv(8, 16, 16, 8, 5), conv(1, 30, 10, 16, 5, 2),
    conv(16, 12, 12, 32, 3, 1, 4), conv(64, 6, 6, 64, 3), conv(12, 16, 3, 12, 3), conv(160, 4, 4, 40, 1),
    depthwise(8, 24, 24, 3), depthwise(64, 25, 5, 3), depthwise(17, 9, 9, 3), depthwise(16, 24, 24, 3, 2),
    depthwise(48, 6, 6, 3, 2), depthwise(16, 12, 12, 5), depthwise(128, 3, 3, 3), depthwise(32, 30, 3, 3),
    depthwise(10, 14, 14, 5, 2), depthwise(64, 5, 5, 3), depthwise(16, 8, 20, 3), depthwise(32, 4, 9, 3),
    conv(64, 1, 5, 64, 1), conv(32, 3, 3, 16, 1), conv(16, 1, 3, 48, 1), conv(128, 1, 1, 64, 1),
    conv(96, 1, 3, 20, 1), conv(30, 3, 1, 12, 1), conv(4, 1, 3, 16, 3),
    depthwise(32, 24, 24, 5), depthwise(64, 6, 6, 7), depthwise(24, 12, 12, 5, 2), depthwise(16, 7, 7, 5),
    _with_strays(depthwise(8, 24, 24, 3), 5), _with_strays(depthwise(64, 25, 5, 3), 20),
    _with_strays(depthwise(16, 24, 24, 3, 2), 9), _with_strays(conv(32, 9, 7, 20, 3), 7),
    dense(64, 12), dense(100, 10), dense(256, 64), dense(33, 7),
    *map(_with_4_bits, (
        conv(64, 25, 5, 128, 1), conv(128, 6, 6, 128, 1), conv(64, 6, 6, 64, 3), conv(96, 12, 12, 96, 1),
        conv(32, 9, 7, 40, 3), conv(128, 1, 1, 96, 1), conv(64, 1, 5, 136, 1), conv(160, 4, 4, 60, 1),
        conv(24, 12, 12, 40, 3, 2), conv(16, 16, 16, 64, 3), conv(32, 16, 16, 256, 1), dense(256, 64),
        dense(128, 128), dense(102, 90), dense(640, 9), dense(64, 300))),
    *map(_with_table, (
        conv(64, 25, 5, 64, 1), conv(128, 6, 6, 128, 1), conv(64, 8, 8, 64, 3), conv(64, 12, 12, 64, 1),
        conv(32, 9, 7, 40, 3), conv(256, 3, 3, 256, 1), conv(128, 6, 6, 256, 1), conv(32, 16, 16, 64, 3, 2),
        conv(128, 1, 1, 96, 1), conv(64, 1, 5, 136, 1), conv(160, 4, 4, 60, 1), conv(24, 12, 12, 40, 3, 2),
        conv(16, 16, 16, 64, 3), conv(32, 16, 16, 256, 1), dense(256, 64), dense(128, 128), dense(102, 90),
        dense(640, 12), dense(64, 300))),
)  # fmt: skip
SHAPES_INT16 = (
    conv(64, 25, 5, 64, 1), conv(32, 8, 8, 48, 1), conv(24, 8, 8, 20, 1), conv(128, 4, 4, 64, 1),
    conv(32, 9, 7, 32, 3), conv(16, 12, 12, 24, 3, 2), conv(64, 6, 6, 16, 3), conv(8, 12, 12, 8, 5),
    conv(1, 30, 20, 8, 5), conv(3, 16, 16, 16, 3), conv(3, 24, 24, 8, 3, 2), conv(1, 16, 16, 16, 3),
    depthwise(64, 25, 5, 3), depthwise(32, 12, 12, 3, 2), depthwise(16, 16, 16, 3), depthwise(24, 9, 9, 5),
    depthwise(8, 24, 24, 3), dense(256, 64), dense(640, 32), dense(64, 12), dense(128, 128),
)  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Subject:
    """A model and its budgets. `inputs`: default noise. `way`: the variant in which it is compiled and run, or "";
    `options`: the options of compile_model for that."""

    name: str
    dtype: str
    model: onnx.ModelProto
    budgets: tuple[str, ...]
    inputs: np.ndarray | None = None
    way: str = ""
    options: Mapping[str, Any] = dataclasses.field(default_factory=dict)


#: Networks that are measured in other ways than as they are, and at which budgets.
WAYS: tuple[tuple[str, str, Mapping[str, Any], tuple[str, ...]], ...] = (
    *((name, "streamed", {"stream": "input"}, ("64K", "16K", "8K", "4K")) for name in ("kws", "resnet", "sww")),
    *((name, f"hop {hop}", {"hop": hop}, budgets)
      for name, hop, budgets in (("sww", 1, ("64K", "4K")), ("kws", 2, ("64K", "16K")), ("sww", 4, ("64K", "4K")))),
    *((name, "lz4", {"compress": "lz4"}, ("256K", "64K", "16K")) for name in ("kws", "resnet", "sww", "ad")),
    *((name, "copied", {"copy_weights": True}, ("256K", "64K", "32K")) for name in ("kws", "resnet", "sww")),
    *((name, "slow memory", {"slow": "1M"}, ("2K", "1K")) for name in ("kws", "resnet", "sww")),
)


def _batched(model: onnx.ModelProto, images: int) -> onnx.ModelProto:
    """`model`, none of whose nodes says how many images there are, with so many."""
    result = onnx.ModelProto()
    result.CopyFrom(model)
    del result.graph.value_info[:]
    for value in (*result.graph.input, *result.graph.output):
        value.type.tensor_type.shape.dim[0].dim_value = images
    return result


def _sparse(model: onnx.ModelProto) -> onnx.ModelProto:
    """`model` with three quarters of its weights zero: others do not get smaller by compression."""
    random = np.random.default_rng(5)
    result = onnx.ModelProto()
    result.CopyFrom(model)
    for tensor in result.graph.initializer:
        values = onnx.numpy_helper.to_array(tensor)
        if values.dtype == np.int8 and values.size > 256:
            kept = random.random(values.shape) < 0.25
            tensor.CopyFrom(onnx.numpy_helper.from_array(np.where(kept, values, 0).astype(np.int8), tensor.name))
    return result


def _branched() -> onnx.ModelProto:
    """Kinds of stages that the networks of the folder have not: branches, joined maps, factors by channel, maps that
    grow again."""
    net = QuantisedNet("branched", 3, (32, 32))
    x = skip = net.conv(net.image, 16, stride=2)
    x = net.conv(net.depthwise(net.conv(x, 48, 1), 2, 5), 24, 1, relu=False)
    x = net.add(x, net.conv(net.conv(net.relu(x), 24, 3, dilation=2), 24, 1, relu=False))
    x = net.scale(x, net.conv(net.conv(net.mean(x), 8, 1), 24, 1))
    x = net.concat(net.upsample(x), skip, net.pool(skip, kernel=3, stride=1, pad=1))
    return net.model(net.classified(net.conv(x, 32), 10))


def _plain() -> onnx.ModelProto:
    """A short network for images."""
    net = QuantisedNet("plain", 3, (24, 24))
    x = net.conv(net.conv(net.image, 8, stride=2), 16)
    x = net.pool(net.add(net.conv(net.depthwise(x), 16, 1), x))
    return net.model(net.classified(net.conv(x, 32), 10))


def accelerated() -> Iterator[Subject]:
    """Pools, and layers of int16: portable kernels that the ESP32-S3's vectors speed up."""
    for channels, size in ((8, (24, 20)), (16, (12, 14)), (24, (9, 9)), (64, (16, 6)), (32, (48, 48))):
        net = QuantisedNet(f"pools of {channels} channels", channels, size)
        x = net.image
        for kernel, stride, pad in ((3, 1, 1), (2, 2, 0)):
            x = net.pool(net.pool(x, "MaxPool", kernel, stride, pad), "AveragePool", kernel, stride, pad)
        yield Subject(net.name, "int8", net.model(net.mean(x)), ("256K",))
    for layer in SHAPES_INT16:
        name = f"{layer.name}, int16"
        yield Subject(name, "int16", build_layer(dataclasses.replace(layer, name=name, int16=True)), ("512K",))


def subjects(folder: Path = NETWORKS) -> Iterator[Subject]:
    """All models."""
    yield from network_subjects(folder)
    for layer in SHAPES:
        model = build_layer(layer)
        yield Subject(layer.name, "int8", model, ("256K", "16K", "6K") if layer.table else ("256K",))
        yield Subject(layer.name, "float32", float_twin(model), ("1M",))
    for case in CASES:
        model = case.model()
        yield Subject(case.name, "int8", model, ("256K",))
        yield Subject(case.name, "float32", float_twin(model), ("1M",))


def network_subjects(folder: Path = NETWORKS) -> Iterator[Subject]:
    """The networks among them."""
    for path in sorted(folder.glob("*_int8.onnx")):
        name = path.name.removesuffix("_int8.onnx")
        vectors = np.load(folder / f"{name}_vectors.npz")
        yield Subject(name, "int8", onnx.load(path), BUDGETS, vectors["input_f32"][0])
        if name in SMALL_FLOATS:
            yield Subject(name, "float32", float_twin(path), BUDGETS[:5:2], vectors["input_f32"][0])
        for way, options, budgets in ((way, options, budgets) for of, way, options, budgets in WAYS if of == name):
            model = onnx.load(path)
            yield Subject(name, "int8", _sparse(model) if way == "lz4" else model, budgets, None, way, options)
    for built in (_branched(), _plain()):
        yield Subject(built.graph.name, "int8", built, BUDGETS[1:])
        yield Subject(built.graph.name, "int8", built, ("16K", "8K", "4K"), None, "streamed", {"stream": "image"})
    for images in (2, 5):
        yield Subject("plain", "int8", _batched(_plain(), images), BUDGETS[1:], None, f"batch {images}")


def plans(subject: Subject) -> Iterator[tuple[str, Compiled]]:
    """The plans of its budgets, and that of the smallest one without slow memory; each different plan once."""
    seen = set()
    for budget in (*subject.budgets, ""):
        try:
            compiled = compiled_at(subject, budget)
        except BudgetError:
            continue
        if compiled.data not in seen:
            seen.add(compiled.data)
            yield budget or "least", compiled


def compiled_at(subject: Subject, budget: str) -> Compiled:
    """The plan at a budget, with slow memory where there is none without; "": at the smallest without."""
    model, options = subject.model, dict(subject.options)
    slow = options.pop("slow", None)
    try:
        return compile_model(model, fast=budget or smallest(model, slow=slow, **options), slow=slow, **options)
    except BudgetError:
        return compile_model(model, fast=budget, slow=SLOW, **options)
