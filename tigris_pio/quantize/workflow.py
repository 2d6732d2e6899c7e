"""Runs the whole quantisation: samples, calibration, search, int8 model, and comparison. The command calls it."""

import dataclasses
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import onnx

from tigris_pio.compiler.options import CompileOptions
from tigris_pio.compiler.pipeline import Compiled, analyze
from tigris_pio.errors import ToolError, UsageError
from tigris_pio.format.enums import DType
from tigris_pio.host import Session
from tigris_pio.host.io import Array
from tigris_pio.quantize.build import build, quantised_kinds
from tigris_pio.quantize.calibrate import Steps, find_ranges
from tigris_pio.quantize.compare import (
    Layer,
    Output,
    accuracy,
    compare_layers,
    compare_outputs,
    run_all,
    runner,
)
from tigris_pio.quantize.images import Normalisation, read_images
from tigris_pio.quantize.masks import bound_masks, may_mask
from tigris_pio.quantize.narrow import LEAST_COSINE, narrow_layers
from tigris_pio.quantize.pins import pins_of
from tigris_pio.quantize.prepare import LayerNodes, Prepared, prepare, read_float
from tigris_pio.quantize.samples import FEW, Sample, Samples, read_samples, split
from tigris_pio.quantize.search import Found, search
from tigris_pio.text import counted


@dataclasses.dataclass(frozen=True)
class QuantizeOptions:
    """The user's options. labels: name of an array of `data`. like: path of an int8 model whose scales inputs and
    outputs get. ranges: NAME=MIN:MAX. tolerance: largest error of the outputs; None: no search."""

    data: str | None = None
    images: str | None = None
    normalisation: Normalisation = dataclasses.field(default_factory=Normalisation)
    labels: str | None = None
    held_out: int | None = None
    method: str = "minmax"
    percentile: float | None = None
    keep_float: tuple[str, ...] = ()
    int16: tuple[str, ...] = ()
    like: str | None = None
    ranges: tuple[str, ...] = ()
    tolerance: float | None = None
    trials: int = 40
    weights: str = "int8"  #: int8, int4, or auto: int4 in layers whose own error it leaves small


@dataclasses.dataclass(frozen=True)
class Quantised:
    """An int8 model with its errors and costs. Accuracies are None without labels."""

    model: onnx.ModelProto
    samples: Samples
    kept: tuple[LayerNodes, ...]
    fine: tuple[LayerNodes, ...]  #: in int16
    narrow: tuple[LayerNodes, ...]  #: with weights of 4 bits
    layers: tuple[Layer, ...]
    outputs: tuple[Output, ...]
    float_accuracy: float | None
    int8_accuracy: float | None
    before: Compiled
    after: Compiled
    on_runtime: bool  #: outputs are the plan's; else, without the host runtime, onnxruntime's
    found: Found | None
    warnings: tuple[str, ...]

    @property
    def float_ops(self) -> list[str]:
        """Operators of the plan that compute in float32."""
        return list(dict.fromkeys(op.name for op in self.after.plan.program.ops if op.dtype is DType.FLOAT32))

    @property
    def error(self) -> float:
        """The largest error of the outputs."""
        return max((output.error for output in self.outputs), default=0.0)


def quantise(path: str, options: QuantizeOptions, compiling: CompileOptions, steps: Steps) -> Quantised:
    """Quantises the float model at `path`. Raises a TigrisError that says what to change."""
    source = read_float(path, compiling.fixed)
    steps("reading the model", 0, 0)
    before = analyze(path, compiling)
    prepared = prepare(source, compiling.dims, path)
    kept, fine = (tuple(dict.fromkeys(prepared.find(name, option) for name in names))
                  for option, names in (("--keep-float", options.keep_float), ("--int16", options.int16)))
    for layer in set(kept) & set(fine):
        raise UsageError(f"--int16 {layer.name}: --keep-float names this layer, too; choose one of both options")
    pins = pins_of(prepared.model, options.like, options.ranges)
    samples = _samples(prepared, options)
    expected = run_all(runner(prepared.model), samples.held_out, "running the float model", steps)
    ranges = _ranges(prepared, samples, options, steps)
    narrow = _narrow(prepared, ranges, options, samples.held_out, steps)
    found = None
    if options.tolerance is not None:
        trial = _Trial(prepared, ranges, narrow, samples.held_out, expected)
        found, kept, fine = _search(trial, kept, fine, options, steps)
    kept, fine = (tuple(layer for layer in prepared.layers if layer in chosen) for chosen in (kept, fine))
    narrow = tuple(layer for layer in narrow if layer not in (*kept, *fine))
    int8 = build(prepared, ranges, kept, fine, pins, narrow)
    layers = compare_layers(prepared, int8, kept, samples.held_out, steps)
    steps("compiling", 0, 0)
    int8.graph.name = before.report["model"]
    after = analyze(int8, dataclasses.replace(compiling, dims={}, fixed={}))
    actual, why = _run_int8(after, int8, samples.held_out, steps)
    return Quantised(
        int8, samples, kept, fine, narrow, tuple(layers), tuple(compare_outputs(actual, expected)),
        accuracy(expected, samples.labels), accuracy(actual, samples.labels), before, after, not why, found,
        (*before.report["warnings"], *_warnings(samples, after), *why),
    )  # fmt: skip


def _narrow(prepared: Prepared, ranges: Any, options: QuantizeOptions, held_out: Sequence[Sample],
            steps: Steps) -> tuple[LayerNodes, ...]:
    """The layers with weights of 4 bits. For `auto`, errors are those of the model with all of them."""
    if options.weights == "int8":
        return ()
    candidates = narrow_layers(prepared)
    if options.weights == "int4":
        return candidates
    rows = compare_layers(prepared, build(prepared, ranges, narrow=candidates), (), held_out, steps)
    exact = {row.name for row in rows if row.own_cosine >= LEAST_COSINE}
    return tuple(layer for layer in candidates if layer.name in exact)


def _ranges(prepared: Prepared, samples: Samples, options: QuantizeOptions, steps: Steps) -> Any:
    """Ranges by the chosen method; masks are bounded first, by the lowest and the highest score."""
    if may_mask(prepared.model):
        ranges = find_ranges(prepared, samples.calibration, "minmax", None, steps)
        if not bound_masks(prepared.model, ranges) and options.method == "minmax":
            return ranges
    ranges = find_ranges(prepared, samples.calibration, options.method, options.percentile, steps)
    bound_masks(prepared.model, ranges)
    return ranges


def _samples(prepared: Prepared, options: QuantizeOptions) -> Samples:
    if options.data is not None:
        samples, labels = read_samples(prepared.inputs, options.data, options.labels)
    elif options.images is not None:
        samples, labels = read_images(prepared.inputs, options.images, options.normalisation)
    else:
        raise UsageError("no calibration data: give --data SAMPLES.npz or --images FOLDER")
    return split(samples, labels, options.held_out)


def _warnings(samples: Samples, after: Compiled) -> list[str]:
    count = len(samples.calibration)
    few = [] if count >= FEW else [f"ranges are taken from {counted(count, 'sample')}; give a few hundred, as various "
                                   "as on the board"]  # fmt: skip
    return few + list(after.report["warnings"])


def _run_int8(after: Compiled, int8: onnx.ModelProto, held_out: Sequence[Sample],
              steps: Steps) -> tuple[list[Mapping[str, Array]], list[str]]:
    """The plan's outputs, which equal the board's; or onnxruntime's and the reason, if no plan can run here."""
    what = "running the int8 model"
    try:
        with Session(after.data) as session:
            return run_all(session.run, held_out, what, steps), []
    except ToolError as error:
        return run_all(runner(int8), held_out, what, steps), [f"onnxruntime runs the int8 model, not the plan: {error}"]


@dataclasses.dataclass(frozen=True)
class _Trial:
    """The data with which a choice of layers is tried."""

    prepared: Prepared
    ranges: Any
    narrow: Sequence[LayerNodes]
    held_out: Sequence[Sample]
    expected: Sequence[Mapping[str, Array]]

    def error(self, kept: Collection[LayerNodes], fine: Collection[LayerNodes]) -> float:
        """The largest error of the outputs in onnxruntime, which differs from the plan by single steps at most."""
        run = runner(build(self.prepared, self.ranges, kept, fine, narrow=self.narrow))
        outputs = compare_outputs([run(sample) for sample in self.held_out], self.expected)
        return max((output.error for output in outputs), default=0.0)


_Layers = tuple[LayerNodes, ...]


def _search(trial: _Trial, kept: _Layers, fine: _Layers, options: QuantizeOptions,
            steps: Steps) -> tuple[Found, _Layers, _Layers]:
    """Additional layers in int16 if int16 for all of them meets the tolerance, else in float."""
    prepared, tolerance = trial.prepared, options.tolerance
    assert tolerance is not None
    kinds = quantised_kinds(prepared.model)
    start = build(prepared, trial.ranges, kept, fine, narrow=trial.narrow)
    losses = {row.name: row.own_cosine for row in compare_layers(prepared, start, kept, trial.held_out, steps)}
    candidates = [layer for layer in prepared.layers
                  if layer.kind in kinds and layer.name in losses and layer not in (*kept, *fine)]
    candidates.sort(key=lambda layer: losses[layer.name])
    int16, tried = False, 0
    if options.trials > 1 and trial.error(kept, fine) > tolerance:
        int16, tried = trial.error(kept, (*fine, *candidates)) <= tolerance, 1

    def measure(chosen: Collection[LayerNodes]) -> float:
        return trial.error(kept, (*fine, *chosen)) if int16 else trial.error((*kept, *chosen), fine)

    found = search(candidates, measure, tolerance, options.trials - tried, steps)
    found = dataclasses.replace(found, trials=found.trials + tried)
    return (found, kept, (*fine, *found.kept)) if int16 else (found, (*kept, *found.kept), fine)


def encode(result: Quantised) -> bytes:
    """Serialises the int8 model."""
    return bytes(result.model.SerializeToString())


