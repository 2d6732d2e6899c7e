"""Runs a plan and onnxruntime on the same inputs and measures each layer's difference."""

import dataclasses
from pathlib import Path

import numpy as np

from tigris_pio.compiler.ir.program import Program, ProgramTensor, StoredValue
from tigris_pio.compiler.pipeline import Compiled
from tigris_pio.format.enums import DType
from tigris_pio.host import Session
from tigris_pio.host.io import IoDescriptor
from tigris_pio.verify.own_inputs import OwnDifference, OwnInputs
from tigris_pio.verify.reference import Reference
from tigris_pio.verify.traces import Masked, crop, in_model_order, integer_limits, numbers, real, traced

#: Largest own error of a layer (see Layer). int8, in steps of its scale: one for rounding, and two for asymmetric
#: weights, which are rounded to symmetric ones. float32: a share of the largest value.
OWN_STEPS, OWN_RELATIVE = 3.0, 1e-3
#: The same limit for int16: the error of TensorFlow Lite's table of the exponential, a sixteenth of an int8 step.
OWN_STEPS_INT16 = 16.0
#: Lowest cosine similarity of an output behind int8 tensors, whose roundings add up, and largest relative difference of
#: an output without int8 tensors before it.
INT8_COSINE, FLOAT_RELATIVE = 0.9, 1e-3
_LARGEST = float(np.finfo(np.float32).max)


@dataclasses.dataclass
class Layer:
    """One operator's output over all samples, compared with the reference.

    `cosine` (lowest), `max_difference` (real units) and `steps` (units of the output's scale; int8 only) compare the
    plan with the reference while each continues from its own values. `own_steps` (int8, int16) and `own_relative` are
    the layer's own error: the reference computes the layer from the plan's values. They are None if the model has no
    such tensor. `differs`: a limit is exceeded.
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
    differs: bool = False


@dataclasses.dataclass(frozen=True)
class Comparison:
    """A model's layers in execution order, and its outputs and states, compared with the reference."""

    samples: int
    layers: tuple[Layer, ...]
    outputs: tuple[Layer, ...]
    bands_identical: bool  #: the plan's output bytes equal those of the plan without a budget

    @property
    def different(self) -> tuple[Layer, ...]:
        """All layers that differ from the reference, in execution order, then such outputs and states."""
        return tuple(layer for layer in (*self.layers, *self.outputs) if layer.differs)

    @property
    def first_different(self) -> Layer | None:
        """The first layer, in execution order, that differs from the reference."""
        return next((layer for layer in self.layers if layer.differs), None)

    @property
    def passed(self) -> bool:
        """Whether no layer or output differs, and bands change no byte."""
        return self.bands_identical and not self.different


def random_inputs(session: Session, seed: int) -> dict[str, np.ndarray]:
    """One sample, as the model takes it. `seed` modulo 5 chooses the distribution.

    0: all stored values, or standard normal numbers for float inputs without a scale. 1: numbers between two steps.
    2 and 3: 8-bit pixels, scaled to 0 … 1 and -1 … 1. 4: both ends of the range.
    """
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

    The samples of a model with states are the steps of one sequence. The reference gets the plan's states before each
    step, so that differences do not add up over steps; the new states are compared like outputs.
    """
    program = compiled.plan.program
    layers, outputs = layers_and_outputs(compiled)
    by_name = {layer.name: layer for layer in layers}
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
                    measure(layer, numbers(crop(result, wanted), tensor), wanted, tensor.scale)
                    layer.differs |= _differs(layer, tensor, wanted, layer.tensor in rounded)
    return Comparison(len(samples), tuple(layers), (*outputs, *states), identical)


def layers_and_outputs(compiled: Compiled) -> tuple[list[Layer], list[Layer]]:
    """The layers of a plan in execution order, and its outputs, without figures."""
    program = compiled.plan.program
    strategies = {step: stage.strategy.name.lower() for stage in compiled.plan.stages
                  for step in range(stage.first_op, stage.end_op)}
    layers = [Layer(op.name, op.kind.name.lower(), op.output, strategies[i]) for i, op in enumerate(program.ops)]
    return layers, [Layer(io.name, "output", io.tensor, "") for io in program.outputs]


def _measure_layer(layer: Layer, tensor: ProgramTensor, stored: Masked, value: StoredValue,
                   expected: np.ndarray | None) -> None:
    if expected is None or expected.shape != value.shape:
        return
    array = in_model_order(stored, value)
    made = ~np.ma.getmaskarray(array)
    wanted = numbers(expected[made], tensor)
    ends = integer_limits(tensor)
    if ends is not None:  # an activation that follows may saturate in this layer already
        wanted = np.clip(wanted, *(real(np.array(end), tensor) for end in ends))
    measure(layer, real(array.data[made], tensor), wanted, 0.0 if ends is None else tensor.scale)


def _add_own(layer: Layer, own: OwnDifference, tensor: ProgramTensor) -> None:
    if integer_limits(tensor) is not None:
        layer.own_steps = max(layer.own_steps or 0.0, own.steps)
    else:
        layer.own_relative = max(layer.own_relative or 0.0, own.relative)
    most = OWN_STEPS_INT16 if tensor.dtype is DType.INT16 else OWN_STEPS
    layer.differs |= not (own.steps <= most and own.relative <= OWN_RELATIVE)


def measure(layer: Layer, actual: np.ndarray, expected: np.ndarray, scale: float) -> None:
    """Adds a sample to a layer's figures. The arrays hold real numbers; scale: of one step, 0 for float32."""
    number = ~np.isnan(expected)  # where the reference has no number, any result is right
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
    """Clips infinite numbers to float32's largest, which some references return instead."""
    found: np.ndarray = np.clip(np.nan_to_num(values, nan=np.inf), -_LARGEST, _LARGEST)
    return found


def _rounded(program: Program) -> set[str]:
    """Names of the tensors that are quantised, or computed from quantised ones."""
    found = {name for name, tensor in program.tensors.items() if tensor.scale}
    for op in program.ops:
        if any(operand.tensor in found for operand in op.operands):
            found.add(op.output)
    return found


def _differs(output: Layer, tensor: ProgramTensor, expected: np.ndarray, rounded: bool) -> bool:
    near = 2 * tensor.scale or FLOAT_RELATIVE * max(1.0, float(np.max(np.abs(expected), initial=0.0)))
    return not output.max_difference <= near and not (rounded and output.cosine >= INT8_COSINE)


def read_samples(path: Path, session: Session, count: int | None) -> list[dict[str, np.ndarray]]:
    """Samples from an .npz with one array per input name; the first axis counts samples. At most `count`."""
    with np.load(path, allow_pickle=False) as file:
        arrays = {io.name: file[io.name] for io in session.inputs}
        shapes = {io.name: io.shape for io in session.inputs}
    most = min(len(array) for array in arrays.values())
    rows = range(min(most, count or most))
    return [{name: array[i].reshape(shapes[name]) for name, array in arrays.items()} for i in rows]
