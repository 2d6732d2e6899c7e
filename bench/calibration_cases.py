"""What the cost model is calibrated by: networks, single layers, single operators, at budgets from ample to least."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx

from bench.emulator import NETWORKS, samples
from bench.float_twin import float_twin
from bench.layers import LAYERS, Layer, build_layer
from bench.operator_models import CASES
from tigris_pio import Session, compile_model
from tigris_pio.compiler.pipeline import Compiled
from tigris_pio.errors import BudgetError

SLOW = "1M"
BUDGETS = ("256K", "64K", "32K", "16K", "8K", "4K")
#: Float networks that take a few seconds without a floating-point unit.
SMALL_FLOATS = ("ad", "kws", "micro_speech", "sww")


def _conv(channels: int, height: int, width: int, outputs: int, kernel: int, stride: int = 1, groups: int = 1) -> Layer:
    name = f"conv {kernel}x{kernel} s{stride} g{groups} {height}x{width}x{channels}-{outputs}"
    return Layer(name, (1, channels, height, width), (outputs, channels // groups, kernel, kernel), stride, groups)


def _depthwise(channels: int, height: int, width: int, kernel: int, stride: int = 1) -> Layer:
    return _conv(channels, height, width, channels, kernel, stride, channels)


def _dense(inputs: int, outputs: int) -> Layer:
    return Layer(f"dense {inputs}-{outputs}", (1, inputs), (inputs, outputs))


SHAPES = (
    *LAYERS,
    _conv(8, 16, 16, 8, 1), _conv(24, 12, 12, 48, 1), _conv(64, 25, 5, 64, 1), _conv(3, 16, 16, 32, 1),
    _conv(33, 9, 9, 17, 1), _conv(96, 12, 12, 24, 1), _conv(16, 12, 12, 32, 1, 2), _conv(3, 24, 24, 8, 3),
    _conv(16, 16, 16, 16, 3, 2), _conv(32, 9, 7, 20, 3), _conv(8, 16, 16, 8, 5), _conv(1, 30, 10, 16, 5, 2),
    _conv(16, 12, 12, 32, 3, 1, 4), _conv(64, 6, 6, 64, 3), _conv(12, 16, 3, 12, 3), _conv(160, 4, 4, 40, 1),
    _depthwise(8, 24, 24, 3), _depthwise(64, 25, 5, 3), _depthwise(17, 9, 9, 3), _depthwise(16, 24, 24, 3, 2),
    _depthwise(48, 6, 6, 3, 2), _depthwise(16, 12, 12, 5), _depthwise(128, 3, 3, 3), _depthwise(32, 30, 3, 3),
    _depthwise(10, 14, 14, 5, 2),
    _dense(64, 12), _dense(100, 10), _dense(256, 64), _dense(33, 7),
)  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Subject:
    """A model at the budgets that it is measured at; `inputs`: what it is run on, by default noise."""

    name: str
    dtype: str
    model: onnx.ModelProto
    budgets: tuple[str, ...]
    inputs: np.ndarray | None = None


def subjects(folder: Path = NETWORKS) -> Iterator[Subject]:
    """All of them."""
    for path in sorted(folder.glob("*_int8.onnx")):
        name = path.name.removesuffix("_int8.onnx")
        vectors = np.load(folder / f"{name}_vectors.npz")
        yield Subject(name, "int8", onnx.load(path), BUDGETS, vectors["input_f32"][0])
        if name in SMALL_FLOATS:
            yield Subject(name, "float32", float_twin(path), BUDGETS[:5:2], vectors["input_f32"][0])
    for layer in SHAPES:
        model = build_layer(layer)
        yield Subject(layer.name, "int8", model, ("256K",))
        yield Subject(layer.name, "float32", float_twin(model), ("1M",))
    for case in CASES:
        model = case.model()
        yield Subject(case.name, "int8", model, ("256K",))
        yield Subject(case.name, "float32", float_twin(model), ("1M",))


def plans(subject: Subject) -> Iterator[tuple[str, Compiled]]:
    """The plans of its budgets, and that of the smallest one without slow memory; each different plan once."""
    seen = set()
    for budget in (*subject.budgets, ""):
        try:
            compiled = _compiled(subject.model, budget)
        except BudgetError:
            continue
        if compiled.data not in seen:
            seen.add(compiled.data)
            yield budget or "least", compiled


def _compiled(model: onnx.ModelProto, budget: str) -> Compiled:
    if budget:
        try:
            return compile_model(model, fast=budget)
        except BudgetError:
            return compile_model(model, fast=budget, slow=SLOW)
    try:
        return compile_model(model, fast=64)
    except BudgetError as error:
        named = re.search(r"smallest fast memory that works is (\d+)", str(error))
        assert named is not None, error
        return compile_model(model, fast=int(named[1]))


def content_of(subject: Subject, compiled: Compiled) -> bytes:
    """What the harness runs the plan on, with the host's output."""
    with Session(compiled) as session:
        (source,), result = session.inputs, session.outputs[0]
        if subject.inputs is None:
            stored = np.random.default_rng(1).integers(-128, 128, source.stored_shape)
            x = stored.astype(np.int8) if source.stored_dtype == np.int8 else stored.astype(np.float32) / 32
        else:
            x = source.to_stored(subject.inputs.reshape(source.shape))
        y = session.run_raw({source.name: x})[result.name]
    return samples(x.tobytes(), y.tobytes())
