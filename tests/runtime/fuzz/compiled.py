"""Small plans from the compiler itself, for the fuzzer to damage: every operator of ONNX that compiles, random
graphs of all layers in float32 and int8, and streamed inputs and outputs; whole, in bands with and without slow memory,
with weights in place, copied and compressed. What else fuzzing has reached, the kept corpus reaches."""

import itertools
import logging
from collections.abc import Callable, Iterator, Mapping

import numpy as np
import onnx

from tests.compiler.models import make, node
from tests.compiler.test_states import Recurrent
from tests.families.quantised import SCHEMES, quantise
from tests.fuzz.graphs import INPUTS, LAYERS, graph
from tests.node_tests.cases import direct_float_cases
from tests.node_tests.runner import ways, with_constants
from tests.runtime.test_map_sums import conv_and_layer, conv_and_mean
from tests.tflite.cases_int16 import CASES, mixed_network
from tests.tflite.test_memory import Lstm
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
    made_by = (_operators, _graphs, _maps, _lstms, _int16)
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


def _plans(make: Callable[[], Model], states: Mapping[str, str] | None = None,
           streams: tuple[str, ...] = ()) -> Iterator[tuple[str, bytes]]:
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


def _maps() -> Iterator[tuple[str, Callable[[], Model]]]:
    """Means of whole maps in two operators, with and without another scale; fully connected layers that take a map row
    by row, because it does not fit."""
    for int8 in (False, True):
        yield f"products-{int8}", lambda int8=int8: conv_and_layer(int8, 3, (1, 1, 16, 6))[0]  # type: ignore[misc]
    for index, scales in enumerate((None, (0.05, 0.05), (0.05, 0.013))):
        yield f"mean-{index}", lambda scales=scales: conv_and_mean(scales)[0]  # type: ignore[misc]


def _streamed_models() -> Iterator[tuple[str, Callable[[], Model]]]:
    """A convolution whose rows come and go during a run: its input and output are streamed."""
    weights = {"w": (np.arange(54).reshape(2, 3, 3, 3) % 7 - 3).astype(np.float32) / 8}
    nodes = [node("Conv", "x w", "c", pads=[1] * 4, kernel_shape=[3, 3]), node("Relu", "c", "y")]
    for scheme in (None, 0):

        def make_model(scheme: int | None = scheme) -> onnx.ModelProto:
            model = make(nodes, {"x": (1, 3, 8, 5)}, ["y"], weights)
            return model if scheme is None else quantise(model, SCHEMES[scheme])

        yield f"streamed-{scheme}", make_model


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
