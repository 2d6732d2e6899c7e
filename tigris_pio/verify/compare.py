"""Runs the plan and the reference on the same inputs and measures how far each layer's outputs lie apart."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from tigris_pio.compiler.ir.program import ProgramOp, ProgramTensor
from tigris_pio.compiler.pipeline import Compiled
from tigris_pio.format.enums import DType
from tigris_pio.host import Session
from tigris_pio.verify.reference import Reference

#: A layer departs below this cosine similarity (int8), or beyond this relative difference (float32).
INT8_COSINE, FLOAT_RELATIVE = 0.9, 1e-3


@dataclasses.dataclass
class Layer:
    """How one operator's output compares over all samples. Differences in real units; `steps` in units of
    the output's scale (int8 only)."""

    name: str
    kind: str
    tensor: str
    strategy: str
    cosine: float = 1.0
    max_difference: float = 0.0
    steps: float | None = None
    departs: bool = False


@dataclasses.dataclass(frozen=True)
class Comparison:
    """The whole comparison."""

    samples: int
    layers: tuple[Layer, ...]
    outputs: tuple[Layer, ...]
    bands_identical: bool  #: the plan's bytes equal those of the same model run whole

    @property
    def first_departure(self) -> Layer | None:
        """The first layer, in execution order, that departs from the reference."""
        return next((layer for layer in self.layers if layer.departs), None)

    @property
    def passed(self) -> bool:
        """Whether outputs agree and bands change nothing."""
        return self.bands_identical and not any(layer.departs for layer in self.outputs)


def random_inputs(session: Session, seed: int) -> dict[str, np.ndarray]:
    """One sample: any stored value is equally likely for quantised inputs, standard normal for float ones."""
    rng = np.random.default_rng(seed)
    sample = {}
    for io in session.inputs:
        if io.scale and np.issubdtype(np.dtype(io.dtype), np.floating):
            levels = rng.integers(-128, 128, io.shape)
            sample[io.name] = ((levels - io.zero_point) * io.scale).astype(io.dtype)
        elif np.issubdtype(np.dtype(io.dtype), np.floating):
            sample[io.name] = rng.standard_normal(io.shape).astype(io.dtype)
        else:
            low, high = (0, 2) if np.dtype(io.dtype) == np.bool_ else (-128, 128)
            if np.dtype(io.dtype).kind == "u":
                low, high = 0, 256
            sample[io.name] = rng.integers(low, high, io.shape).astype(io.dtype)
    return sample


def compare(
    compiled: Compiled, whole: Compiled, reference: Reference, samples: list[dict[str, np.ndarray]]
) -> Comparison:
    """Compares `compiled` with the reference, and byte for byte with `whole`, the same model without a budget."""
    program = compiled.plan.program
    strategies = {
        step: stage.strategy.name.lower()
        for stage in compiled.plan.stages
        for step in range(stage.first_op, stage.end_op)
    }
    layers = [Layer(op.name, op.kind.name.lower(), op.output, strategies[i]) for i, op in enumerate(program.ops)]
    outputs = [Layer(io.name, "output", io.tensor, "") for io in program.outputs]
    identical = True
    with Session(compiled.data) as banded, Session(whole.data) as reference_run:
        for sample in samples:
            stored = {io.name: io.to_stored(io.check_model_array(sample[io.name])) for io in banded.inputs}
            raw, trace = banded.run_raw_traced(stored)
            expected = reference_run.run_raw(stored)
            identical &= all(np.array_equal(raw[name], expected[name]) for name in raw)
            tensors = reference.run(sample)
            for layer, op in zip(layers, program.ops, strict=True):
                _measure_op(layer, op, program.tensors[op.output], trace[op.name], reference, tensors)
            for layer, io in zip(outputs, banded.outputs, strict=True):
                if io.name in tensors:
                    scale = program.tensors[layer.tensor].scale
                    _measure(layer, io.to_model(raw[io.name]), tensors[io.name], scale)
    return Comparison(len(samples), tuple(layers), tuple(outputs), identical)


def _measure_op(
    layer: Layer,
    op: ProgramOp,
    tensor: ProgramTensor,
    stored: np.ndarray,
    reference: Reference,
    tensors: Mapping[str, np.ndarray],
) -> None:
    expected = reference.value(tensors, op.output)
    if expected is None or expected.size != stored.size:
        return
    values = stored.astype(np.float64)
    scale = tensor.scale if tensor.dtype is DType.INT8 else 0.0
    if scale:
        values = (values - tensor.zero_point) * scale
    _measure(layer, _as_model(values, tensor, expected.shape), expected, scale)


def _as_model(values: np.ndarray, tensor: ProgramTensor, shape: tuple[int, ...]) -> np.ndarray:
    """Stored [N,H,W,C] values in the model's own shape: channels second for images and signals."""
    n, h, w, c = tensor.batch, tensor.height, tensor.width, tensor.channels
    image: np.ndarray = values.reshape(n, h, w, c)
    if shape == (n, c, h, w):
        return np.transpose(image, (0, 3, 1, 2))
    if shape == (n, c, h) and w == 1:
        return np.transpose(image.reshape(n, h, c), (0, 2, 1))
    return values.reshape(shape)


def _measure(layer: Layer, actual: np.ndarray, expected: np.ndarray, scale: float) -> None:
    a, e = actual.astype(np.float64).ravel(), expected.astype(np.float64).ravel()
    difference = float(np.max(np.abs(a - e), initial=0.0))
    norm = float(np.linalg.norm(a) * np.linalg.norm(e))
    cosine = float(a @ e) / norm if norm else float(np.array_equal(a, e) or difference <= 2 * scale)
    layer.cosine = min(layer.cosine, cosine)
    layer.max_difference = max(layer.max_difference, difference)
    if scale:
        layer.steps = max(layer.steps or 0.0, difference / scale)
        layer.departs |= cosine < INT8_COSINE and difference > 2 * scale
    else:
        layer.departs |= not difference <= FLOAT_RELATIVE * max(1.0, float(np.max(np.abs(e), initial=0.0)))


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
