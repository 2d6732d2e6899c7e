"""Runs the plan and the reference on the same inputs and measures how far each layer's outputs lie apart."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from tigris_pio.compiler.ir.program import Program, ProgramTensor, StoredValue
from tigris_pio.compiler.pipeline import Compiled
from tigris_pio.format.enums import DType
from tigris_pio.host import Session
from tigris_pio.host.io import IoDescriptor
from tigris_pio.verify.own_inputs import OwnDifference, OwnInputs
from tigris_pio.verify.reference import Reference
from tigris_pio.verify.traces import Masked, in_front, in_model_order, integer_limits, numbers, real, traced

#: A layer departs when, fed with the plan's own values, it misses by more than this. int8 in steps of its scale: one
#: for roundings, two for asymmetric weights, which are rounded to symmetric ones. float32 as a share of the largest.
OWN_STEPS, OWN_RELATIVE = 3.0, 1e-3
#: Of int16: what TensorFlow Lite's tables miss an exponential by, a sixteenth of a step of int8.
OWN_STEPS_INT16 = 16.0
#: An output departs below this cosine similarity where int8 tensors lie before it, each of which may round otherwise,
#: or beyond this relative difference (float32 throughout).
INT8_COSINE, FLOAT_RELATIVE = 0.9, 1e-3
_LARGEST = float(np.finfo(np.float32).max)


@dataclasses.dataclass
class Layer:
    """How one operator's output compares over all samples.

    `cosine`, `max_difference` (real units) and `steps` (units of the output's scale, int8 only) are of the plan and the
    reference running side by side, each on its own values. `own_steps` (int8) and `own_relative` are what the layer
    itself adds: the reference computes it from the plan's values. None where the model has no such tensor.
    """

    name: str
    kind: str
    tensor: str
    strategy: str
    cosine: float = 1.0
    max_difference: float = 0.0
    steps: float | None = None
    own_steps: float | None = None
    own_relative: float | None = None
    departs: bool = False


@dataclasses.dataclass(frozen=True)
class Comparison:
    """The whole comparison."""

    samples: int
    layers: tuple[Layer, ...]
    outputs: tuple[Layer, ...]
    bands_identical: bool  #: the plan's bytes equal those of the same model run whole

    @property
    def departures(self) -> tuple[Layer, ...]:
        """All layers that depart from the reference, in execution order, and then the model's outputs."""
        return tuple(layer for layer in (*self.layers, *self.outputs) if layer.departs)

    @property
    def first_departure(self) -> Layer | None:
        """The first layer, in execution order, that departs from the reference."""
        return next((layer for layer in self.layers if layer.departs), None)

    @property
    def passed(self) -> bool:
        """Whether no layer and no output departs, and bands change nothing."""
        return self.bands_identical and not self.departures


def random_inputs(session: Session, seed: int) -> dict[str, np.ndarray]:
    """One sample. By turns of the seed: any stored value, or standard normal numbers for float inputs without a scale;
    numbers in the middle of two steps; pixels of 8 bits as 0 … 1 and as -1 … 1; and the ends of the range."""
    rng = np.random.default_rng(seed)
    return {io.name: _values(io, seed % 5, rng).astype(io.dtype) for io in session.inputs}


def _values(io: IoDescriptor, turn: int, rng: np.random.Generator) -> np.ndarray:
    kind = np.dtype(io.dtype).kind
    if kind != "f":
        low, high = (0, 1) if kind == "b" else (int(np.iinfo(io.dtype).min), int(np.iinfo(io.dtype).max))
        low, high = max(low, -(1 << 15)), min(high, 1 << 15)
        return rng.choice([low, high], io.shape) if turn == 4 else rng.integers(low, high + 1, io.shape)
    pixels = rng.integers(0, 256, io.shape)
    found: np.ndarray = pixels / 255 if turn == 2 else pixels / 127.5 - 1
    if turn not in (2, 3) and not io.scale:
        found = rng.standard_normal(io.shape)
    elif turn not in (2, 3):
        ends = np.iinfo(io.stored_dtype)
        levels = rng.choice([ends.min, ends.max], io.shape) if turn == 4 else rng.integers(ends.min, ends.max, io.shape)
        found = (levels - io.zero_point + 0.5 * (turn == 1)) * np.float64(io.scale)
    return found


def compare(
    compiled: Compiled, whole: Compiled, reference: Reference, samples: list[dict[str, np.ndarray]]
) -> Comparison:
    """Compares `compiled` with the reference, and byte for byte with `whole`, the same model without a budget.

    Of a model with states the samples are the steps of one sequence. The reference begins each of them with the plan's
    states, so that differences do not add up along the sequence either; what a state becomes is compared.
    """
    program = compiled.plan.program
    strategies = {
        step: stage.strategy.name.lower()
        for stage in compiled.plan.stages
        for step in range(stage.first_op, stage.end_op)
    }
    layers = [Layer(op.name, op.kind.name.lower(), op.output, strategies[i]) for i, op in enumerate(program.ops)]
    by_name = {layer.name: layer for layer in layers}
    outputs = [Layer(io.name, "output", io.tensor, "") for io in program.outputs]
    states = [Layer(io.name, "state", io.tensor, "") for io in program.states]
    named = {value.tensor: (name, value) for name, value in reversed(list(program.values.items()))}
    own_inputs = OwnInputs(reference.model, program)
    rounded = _rounded(program)
    identical = True
    with Session(compiled.data) as banded, Session(whole.data) as reference_run:
        for sample in samples:
            stored = {io.name: io.to_stored(io.check_model_array(sample[io.name])) for io in banded.inputs}
            held, before = banded.state(), banded.save_state()
            raw, trace = traced(banded, stored)
            expected = reference_run.run_raw(stored)
            identical &= all(raw[name].tobytes() == expected[name].tobytes() for name in raw)  # NaN included
            tensors = reference.run({**sample, **held})
            for layer in layers:
                if layer.tensor in named:
                    name, value = named[layer.tensor]
                    tensor = program.tensors[layer.tensor]
                    expected_value = reference.value(tensors, name) if tensor.scale else tensors.get(name)
                    _measure_layer(layer, tensor, trace[layer.name], value, expected_value)
            banded.load_state(before)
            for own in own_inputs.run(banded, sample):
                _add_own(by_name[own.op], own, program.tensors[by_name[own.op].tensor])
            results = {io.name: (io.name, io.to_model(raw[io.name])) for io in banded.outputs}
            results |= {name: (reference.states[name], value) for name, value in banded.state().items()}
            for layer in (*outputs, *states):
                name, result = results[layer.name]
                if name in tensors:
                    tensor = program.tensors[layer.tensor]
                    wanted = numbers(tensors[name], tensor)
                    measure(layer, numbers(in_front(result, wanted), tensor), wanted, tensor.scale)
                    layer.departs |= _departs(layer, tensor, wanted, layer.tensor in rounded)
    return Comparison(len(samples), tuple(layers), (*outputs, *states), identical)


def _measure_layer(layer: Layer, tensor: ProgramTensor, stored: Masked, value: StoredValue,
                   expected: np.ndarray | None) -> None:
    if expected is None or expected.shape != value.shape:
        return
    array = in_model_order(stored, value)
    made = ~np.ma.getmaskarray(array)
    wanted = numbers(expected[made], tensor)
    ends = integer_limits(tensor)
    if ends is not None:  # where an activation that follows saturates, so may this layer
        wanted = np.clip(wanted, *(real(np.array(end), tensor) for end in ends))
    measure(layer, real(array.data[made], tensor), wanted, 0.0 if ends is None else tensor.scale)


def _add_own(layer: Layer, own: OwnDifference, tensor: ProgramTensor) -> None:
    if integer_limits(tensor) is not None:
        layer.own_steps = max(layer.own_steps or 0.0, own.steps)
    else:
        layer.own_relative = max(layer.own_relative or 0.0, own.relative)
    most = OWN_STEPS_INT16 if tensor.dtype is DType.INT16 else OWN_STEPS
    layer.departs |= not (own.steps <= most and own.relative <= OWN_RELATIVE)


def measure(layer: Layer, actual: np.ndarray, expected: np.ndarray, scale: float) -> None:
    """Adds to what a layer misses: real numbers, with the steps of `scale` where it has one."""
    number = ~np.isnan(expected)  # elsewhere any result will do
    a, e = (_bounded(values[number].astype(np.float64)) for values in (actual, expected))
    difference = float(np.max(np.abs(a - e), initial=0.0))
    norm = float(np.linalg.norm(a) * np.linalg.norm(e))
    cosine = float(np.array_equal(a, e) or difference <= 2 * scale)
    if norm:
        cosine = float(a @ e) / norm if norm < np.inf else 0.0
    layer.cosine = min(layer.cosine, cosine)
    layer.max_difference = max(layer.max_difference, difference)
    if scale:
        layer.steps = max(layer.steps or 0.0, difference / scale)


def _bounded(values: np.ndarray) -> np.ndarray:
    """Infinite numbers as the largest of float32, which some references have in their place; none is infinite."""
    found: np.ndarray = np.clip(np.nan_to_num(values, nan=np.inf), -_LARGEST, _LARGEST)
    return found


def _rounded(program: Program) -> set[str]:
    """The tensors that are int8, or computed from such ones."""
    found = {name for name, tensor in program.tensors.items() if tensor.scale}
    for op in program.ops:
        if any(operand.tensor in found for operand in op.operands):
            found.add(op.output)
    return found


def _departs(output: Layer, tensor: ProgramTensor, expected: np.ndarray, rounded: bool) -> bool:
    near = 2 * tensor.scale or FLOAT_RELATIVE * max(1.0, float(np.max(np.abs(expected), initial=0.0)))
    return not output.max_difference <= near and not (rounded and output.cosine >= INT8_COSINE)


def layer_rows(layers: tuple[Layer, ...]) -> Iterator[dict[str, Any]]:
    """Layers as JSON."""
    for layer in layers:
        yield dataclasses.asdict(layer)


def read_samples(path: Path, session: Session, count: int | None) -> list[dict[str, np.ndarray]]:
    """Samples from an .npz whose arrays carry the inputs' names, one sample along each first axis."""
    with np.load(path, allow_pickle=False) as file:
        arrays = {io.name: file[io.name] for io in session.inputs}
        shapes = {io.name: io.shape for io in session.inputs}
    most = min(len(array) for array in arrays.values())
    rows = range(min(most, count or most))
    return [{name: array[i].reshape(shapes[name]) for name, array in arrays.items()} for i in rows]
