"""Test vectors in files: inputs and expected outputs, for board and host.

A vector file is an `.npz` with an array for each input of the model, or an `.npy` for the only one, as for
`tigris hil --data`: one sample, or several along a first axis. Further arrays of an `.npz`:

    labels       the class of each sample, for the accuracy
    NAME         the expected value of output NAME, in the model's shape and type (not as stored)
    tolerance    largest |difference| / max(1, |value|) of float32 outputs; default 0

The board's outputs are compared with the host's, and the host's with the file's. So a failure says whether the board
differs from the host, or the plan from the expected outputs.
"""

import dataclasses
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from tigris_pio.errors import UsageError
from tigris_pio.hil.check import CheckReport, HostPlan, check
from tigris_pio.hil.client import Board
from tigris_pio.hil.compare import Mismatch, compare
from tigris_pio.hil.report import location_lines, mismatch_lines, verdict
from tigris_pio.hil.samples import LABEL_KEYS, SampleSet, assemble, load_arrays, random_samples
from tigris_pio.host.io import Array, IoDescriptor
from tigris_pio.text import counted

SUFFIXES = (".npz", ".npy")
#: Samples of noise for a model without vectors.
RANDOM_SAMPLES = 8
_TOLERANCE = "tolerance"
_SHOWN = 10


@dataclasses.dataclass(frozen=True)
class Vectors:
    """Samples, and the expected outputs of each, by name, as the model gives them."""

    source: str
    samples: SampleSet
    expected: tuple[Mapping[str, Array], ...]
    tolerance: float = 0.0


@dataclasses.dataclass(frozen=True)
class Unexpected:
    """An output of the host that differs from the vectors; `board` of the mismatch is the expected value."""

    source: str
    sample: int
    mismatch: Mismatch

    def sentence(self) -> str:
        """The whole difference in one sentence."""
        found = self.mismatch
        return (
            f"sample {self.sample}: output {found.output} on the host: {found.extent}, first at index {found.first}: "
            f"expected {found.board:g}, computed {found.host:g}; "
            f"largest difference {found.largest_difference:g}"
        )


@dataclasses.dataclass(frozen=True)
class VectorResult:
    """The result of a check of vectors."""

    report: CheckReport
    unexpected: tuple[Unexpected, ...]

    @property
    def passed(self) -> bool:
        """True if the board's outputs are the host's, and these are the expected ones."""
        return self.report.equal and not self.unexpected

    def lines(self) -> Iterator[str]:
        """The verdict, then the differences."""
        wrong = {item.sample for item in self.unexpected}
        yield verdict(self.report) + (f", {len(wrong)} not as {self.unexpected[0].source} expects" if wrong else "")
        yield from mismatch_lines(self.report.samples)
        yield from location_lines(self.report)
        yield from (item.sentence() for item in self.unexpected[:_SHOWN])
        if len(self.unexpected) > _SHOWN:
            yield f"… and {counted(len(self.unexpected) - _SHOWN, 'more output')} not as expected"


def check_vectors(board: Board, plan: HostPlan, vectors: Vectors, tolerance: float | None = None) -> VectorResult:
    """Runs the vectors on board and host. `tolerance` replaces the vectors' own. Errors as in `check`."""
    allowed = vectors.tolerance if tolerance is None else tolerance
    unexpected = tuple(_unexpected(plan, vectors, allowed))
    samples = vectors.samples
    report = check(board, plan, samples.inputs, samples.labels, None, allowed, samples.starts)
    return VectorResult(report, unexpected)


def _unexpected(plan: HostPlan, vectors: Vectors, tolerance: float) -> Iterator[Unexpected]:
    """Runs the vectors on the host and yields the outputs that differ from the expected ones."""
    if not any(vectors.expected):
        return
    outputs = {io.name: io for io in plan.session.outputs}
    for index, (inputs, expected) in enumerate(zip(vectors.samples.inputs, vectors.expected, strict=True)):
        if index in vectors.samples.starts:
            plan.session.reset()
        stored = plan.session.run_raw(inputs)
        for name, wanted in expected.items():
            found = compare(name, wanted, outputs[name].to_model(stored[name]), tolerance)
            if found is not None:
                yield Unexpected(vectors.source, index, found)


# ---- reading -----------------------------------------------------------------------------------------------------


def random_vectors(plan: HostPlan) -> Vectors:
    """Noise over the whole range of each input; always the same."""
    return Vectors("random inputs", random_samples(plan.session.inputs, RANDOM_SAMPLES), ({},) * RANDOM_SAMPLES)


def read_vectors(path: Path, plan: HostPlan) -> Vectors:
    """Reads the vectors in a file; UsageError names the array that does not fit the model."""
    return vectors_of(load_arrays(str(path)), path.name, plan)


def vectors_of(arrays: Mapping[str, Any], source: str, plan: HostPlan) -> Vectors:
    """Makes vectors of arrays by name, as in an .npz; an array with the empty name is the only input, as in an .npy."""
    session = plan.session
    inputs = session.inputs
    outputs = tuple(io for io in session.outputs if io.name not in _names(inputs))
    found = {name: np.asarray(array) for name, array in arrays.items()}
    known = {*_names(inputs), *_names(outputs)}
    tolerance = found.pop(_TOLERANCE, None) if _TOLERANCE not in known else None
    label = next((key for key in LABEL_KEYS if key in found and key not in known), None)
    labels = None if label is None else found.pop(label)
    expected = {io.name: found.pop(io.name) for io in outputs if io.name in found}
    given = {name: (f"{source}: {name}", array) for name, array in _inputs(found, inputs, outputs, source).items()}
    if labels is not None:
        given[""] = (f"{source}: {label}", labels)
    samples = assemble(inputs, given, None, stateful=bool(session.states))
    count = len(samples.inputs)
    wanted = {io.name: _expected(io, source, expected[io.name], count) for io in outputs if io.name in expected}
    each = tuple({name: batch[index] for name, batch in wanted.items()} for index in range(count))
    return Vectors(source, samples, each, _tolerance(tolerance, source))


def _names(descriptors: tuple[IoDescriptor, ...]) -> tuple[str, ...]:
    return tuple(io.name for io in descriptors)


def _inputs(
    found: dict[str, Array], inputs: tuple[IoDescriptor, ...], outputs: tuple[IoDescriptor, ...], source: str
) -> dict[str, Array]:
    """The arrays of the inputs by name: the only array, whatever its name, is the only input's."""
    names = _names(inputs)
    if len(names) == len(found) == 1:
        return {names[0]: next(iter(found.values()))}
    unknown = [name for name in found if name not in names]
    if unknown:
        shown = ", ".join(name or "one without a name" for name in unknown)
        raise UsageError(
            f"{source}: holds an array {shown}, which is neither an input ({', '.join(names)}) nor an output "
            f"({', '.join(_names(outputs))}) of the model, nor {LABEL_KEYS[0]} or {_TOLERANCE}"
        )
    missing = [name for name in names if name not in found]
    if missing:
        raise UsageError(f"{source}: has no array for input {', '.join(missing)}")
    return found


def _expected(io: IoDescriptor, source: str, array: Array, count: int) -> list[Array]:
    """The expected values of an output, sample by sample."""
    tail = io.shape[1:]
    fits = array.size == count * math.prod(io.shape) and array.shape[max(0, array.ndim - len(tail)) :] == tail
    if not fits or not np.can_cast(array.dtype, io.dtype, "same_kind"):
        are = "is" if count == 1 else "are"
        raise UsageError(
            f"{source}: {io.name} has shape {list(array.shape)} of {array.dtype}; "
            f"{counted(count, 'sample')} of output {io.name} {are} {[count, *io.shape]} of {io.dtype}"
        )
    return [np.ascontiguousarray(part).astype(io.dtype) for part in array.reshape(count, *io.shape)]


def _tolerance(array: Array | None, source: str) -> float:
    if array is None:
        return 0.0
    if array.size != 1 or array.dtype.kind not in "fiu" or not 0 <= float(array.reshape(())) < float("inf"):
        raise UsageError(f"{source}: tolerance must be one number, 0 or more")
    return float(array.reshape(()))


# ---- files -------------------------------------------------------------------------------------------------------


def vector_files(folder: Path, models: tuple[str, ...]) -> dict[str, tuple[Path, ...]]:
    """The vector files below `folder`, by model; UsageError names a file that belongs to no model.

    If there are several models, a file belongs to the model whose name one of its folders has, or with which its own
    name begins: `kws/noise.npz`, `kws.npz`, `kws_noise.npz`. Folders of other test suites (`test_…`) are left out.
    """
    files = sorted(path for path in folder.rglob("*") if path.suffix in SUFFIXES and not _in_suite(path, folder))
    found: dict[str, list[Path]] = {model: [] for model in models}
    for path in files:
        owner = models[0] if len(models) == 1 else _owner(path, folder, models)
        if owner is None:
            raise UsageError(
                f"{path}: which of the models {', '.join(models)} is it for? Call it {models[0]}_{path.name}, "
                f"or move it into a folder {models[0]}"
            )
        found[owner].append(path)
    return {model: tuple(paths) for model, paths in found.items()}


def _in_suite(path: Path, folder: Path) -> bool:
    return any(part.startswith("test_") for part in path.relative_to(folder).parts[:-1])


def _owner(path: Path, folder: Path, models: tuple[str, ...]) -> str | None:
    """The model with the longest name that fits: `kws_small_1.npz` belongs to kws_small, not to kws."""
    for model in sorted(models, key=len, reverse=True):
        rest = path.stem.removeprefix(model)
        if model in path.relative_to(folder).parts[:-1] or (rest != path.stem and not rest[:1].isalnum()):
            return model
    return None
