"""Small plans from the compiler itself, for the fuzzer to damage: every operator of ONNX that compiles, random
graphs of all layers in float32 and int8, layers as wide as the kernels' blocks, and streamed inputs and outputs; whole,
in bands with and without slow memory, with weights in place, copied and compressed."""

from __future__ import annotations

import itertools
import logging
from collections.abc import Callable, Iterator, Mapping

import numpy as np
import onnx

from tests.compiler.models import Quantiser, make, node
from tests.compiler.test_states import Recurrent
from tests.families.net import Net
from tests.families.quantised import SCHEMES, quantise
from tests.fuzz.graphs import INPUTS, LAYERS, graph
from tests.node_tests.cases import direct_float_cases
from tests.node_tests.runner import ways, with_constants
from tests.runtime.test_map_mean import conv_and_mean
from tests.runtime.test_map_products import conv_and_layer
from tests.tflite.cases_int16 import CASES, mixed_network
from tests.tflite.test_lstm import Lstm
from tigris_pio.compiler import arguments
from tigris_pio.compiler.ir.plan import Budget
from tigris_pio.compiler.options import CompileOptions
from tigris_pio.compiler.pipeline import back, front
from tigris_pio.errors import TigrisError

#: ONNX's, or the bytes of a .tflite.
Model = onnx.ModelProto | bytes
#: Of a plan in bytes, and of its arenas: what the fuzzer can run some thousand times a second.
LARGEST_PLAN, LARGEST_ARENA = 8192, 1 << 16
WEIGHTS: tuple[dict[str, object], ...] = ({}, {"compress": "lz4"}, {"copy_weights": True})
ALIGNMENT = 4


def compiled_seeds() -> Iterator[tuple[str, bytes]]:
    """Names and plans."""
    logging.disable(logging.WARNING)
    made_by = (_operators, _graphs, _layers, _map_means, _map_products, _found_at_run_time, _lstms, _int16)
    for model_name, model in itertools.chain.from_iterable(maker() for maker in made_by):
        for name, plan in _plans(model):
            yield f"{model_name}-{name}", plan
    for seed, quantised in itertools.product(range(6), (False, True)):
        made = Recurrent(seed, quantised)
        for name, plan in _plans(made.model, made.ties()):
            yield f"states-{seed}-{quantised}-{name}", plan
    for model_name, model in _streamed_models():
        for name, plan in _plans(model, streams=("x", "y")):
            yield f"{model_name}-{name}", plan


def _plans(make: Callable[[], Model],
           states: Mapping[str, str] | None = None, streams: tuple[str, ...] = ()) -> Iterator[tuple[str, bytes]]:
    """The model at ample memory, and at less with and without slow memory; nothing when it does not compile."""
    try:
        options = CompileOptions(alignment=ALIGNMENT, states=arguments.states(states), streams=streams)
        start = front(make(), options)
        whole = back(start, CompileOptions(alignment=ALIGNMENT))
    except TigrisError:
        return
    if len(whole.data) > LARGEST_PLAN or whole.plan.fast_bytes > LARGEST_ARENA:
        return
    yield "whole", whole.data
    for (share, slow), weights in zip(((60, 0), (75, 0), (35, LARGEST_ARENA)), WEIGHTS, strict=True):
        budget = Budget(max(1, whole.plan.fast_bytes * share // 100), slow)
        try:
            options = CompileOptions(budget, alignment=ALIGNMENT, **weights)  # type: ignore[arg-type]
            yield f"{share}-percent-{'-'.join(weights) or 'in-place'}", back(start, options).data
        except TigrisError:
            continue


def _operators() -> Iterator[tuple[str, Callable[[], Model]]]:
    """ONNX's own node tests, the first three of each operator, the parameters bound."""
    for operator, cases in itertools.groupby(direct_float_cases(), key=lambda case: case.operator):
        for case, place in zip(cases, range(3), strict=False):
            for bound in list(ways(case))[:2]:
                arrays = dict(zip((v.name for v in case.model.graph.input), case.recordings[0].inputs, strict=True))
                constants = {name: array for name in bound if (array := arrays[name]) is not None}
                yield f"{operator}-{place}", lambda model=case.model, values=constants: with_constants(model, values)


def _graphs() -> Iterator[tuple[str, Callable[[], Model]]]:
    """Two layers of every kind and a convolution behind, on inputs of different forms."""
    for kind in range(len(LAYERS)):
        for scheme in (None, 0, 3):
            shape, seed = (kind + (scheme or 0)) % len(INPUTS), 100 * kind + (scheme or 0)
            steps = [(kind, 0, seed), (kind, 0, seed + 1), (0, 0, seed + 2)]

            def make(shape: int = shape, steps: list[tuple[int, int, int]] = steps,
                     scheme: int | None = scheme) -> onnx.ModelProto:
                model = graph(shape, steps)
                return model if scheme is None else quantise(model, SCHEMES[scheme])

            yield f"graph-{kind}-{scheme}", make


def _layers() -> Iterator[tuple[str, Callable[[], Model]]]:
    """Networks of wide layers: blocks of four, eight and more channels, and what is left over."""
    for scheme, channels in itertools.product((None, 0, 1, 3), (3, 4, 8, 17)):

        def make(scheme: int | None = scheme, channels: int = channels) -> onnx.ModelProto:
            net = Net("wide", {"x": (1, 3, 12, 9)})
            x = net.relu6(net.conv("x", channels, 3, 2))
            x = net.relu(net.conv(x, channels, 3, groups=channels))
            skip = x = net.conv(x, 2 * channels, 1)
            x = net.relu(net.add("Add", [net.conv(x, 2 * channels, 3), skip]))
            x = net.conv(x, 2 * channels, (1, 3), 2, groups=2 * channels)
            x = net.add("GlobalAveragePool", [x], (1, 2 * channels, 1, 1))
            model = net.model([net.softmax(net.linear(net.flatten(x), 5), 1)])
            return model if scheme is None else quantise(model, SCHEMES[scheme])

        yield f"wide-{channels}-{scheme}", make


def _map_means() -> Iterator[tuple[str, Callable[[], Model]]]:
    """Means of whole maps in two operators, with and without another scale."""
    for index, scales in enumerate((None, (0.05, 0.05), (0.05, 0.013))):
        yield f"mean-{index}", lambda scales=scales: conv_and_mean(scales)[0]  # type: ignore[misc]


def _map_products() -> Iterator[tuple[str, Callable[[], Model]]]:
    """Fully connected layers that take a map row by row, because it does not fit."""
    for dtype in ("float", "int8"):
        yield f"products-{dtype}", lambda dtype=dtype: conv_and_layer(  # type: ignore[misc]
            dtype == "int8", 3, (1, 1, 16, 6))[0]


def _streamed_models() -> Iterator[tuple[str, Callable[[], Model]]]:
    """A convolution whose rows come and go during a run: its input and output are streamed."""
    weights = {"w": (np.arange(54).reshape(2, 3, 3, 3) % 7 - 3).astype(np.float32) / 8}
    nodes = [node("Conv", "x w", "c", pads=[1] * 4, kernel_shape=[3, 3]), node("Relu", "c", "y")]
    for scheme in (None, 0):

        def make_model(scheme: int | None = scheme) -> onnx.ModelProto:
            model = make(nodes, {"x": (1, 3, 8, 5)}, ["y"], weights)
            return model if scheme is None else quantise(model, SCHEMES[scheme])

        yield f"streamed-{scheme}", make_model


def _found_at_run_time() -> Iterator[tuple[str, Callable[[], Model]]]:
    """Updates at positions that an input names, in both types; and layers with a memory of int8 weights."""
    sizes = {"x": (3, 5), "i": (3, 4), "u": (3, 4)}
    kinds = {"i": onnx.TensorProto.INT32}
    yield "scatter-float", lambda: make([node("ScatterElements", "x i u", "y", axis=1)], sizes, ["y"], opset=18,
                                        types=kinds)
    q = Quantiser()
    moved = f"{q.pair('x', 0.05, 3)} i {q.pair('u', 0.05, 3)}"
    q.add(node("ScatterElements", moved, "s", axis=1), node("Identity", q.pair("s", 0.05, 3), "y"))
    yield "scatter-int8", lambda: make(q.nodes, sizes, ["y"], q.weights, opset=18, types=kinds)
    for op, gates in (("LSTM", 4), ("GRU", 3), ("RNN", 1)):
        weights: dict[str, np.ndarray] = {}
        for name, width in (("w", 3), ("r", 4)):
            values = np.arange(gates * 4 * width) * 37 % 251 - 125
            weights[f"{name}q"] = values.reshape(1, gates * 4, width).astype(np.int8)
            weights[f"{name}s"], weights[f"{name}z"] = np.array(0.01, np.float32), np.array(0, np.int8)
        nodes = [node("DequantizeLinear", f"{name}q {name}s {name}z", name) for name in "wr"]
        nodes.append(node(op, "x w r", "y", hidden_size=4))
        yield f"int8-{op}", lambda nodes=nodes, weights=weights: make(  # type: ignore[misc]
            nodes, {"x": (5, 1, 3)}, ["y"], weights)


def _lstms() -> Iterator[tuple[str, Callable[[], bytes]]]:
    """TensorFlow Lite's of int8."""
    for index, form in enumerate((Lstm(), Lstm(steps=3, batch=2, time_first=True), Lstm(units=9, steps=1))):
        yield f"lstm-{index}", form.file


def _int16() -> Iterator[tuple[str, Callable[[], Model]]]:
    """The first files of each operator with int16 activations, and a network of int8 and int16."""
    for operator, cases in CASES.items():
        for place, case in enumerate(itertools.islice(cases(), 3)):
            yield f"int16-{operator}-{place}", case.file
    yield "int16-mixed", mixed_network
