"""Inputs for a check: read from files or random, converted to arrays as a plan stores them."""

from __future__ import annotations

import dataclasses
import math
import sys
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from tigris_pio.errors import UsageError
from tigris_pio.host.io import Array, IoDescriptor
from tigris_pio.text import counted, visible_name

RANDOM_SEED = 0
#: Names of an .npz's arrays that hold labels, not inputs.
LABEL_KEYS = ("labels", "label", "y")


@dataclasses.dataclass(frozen=True)
class SampleSet:
    """Samples as `check` takes them: for each run, input name to array as stored; labels of all runs, or None.

    `starts`: indices of the samples before which all states are reset.
    """

    inputs: tuple[dict[str, Array], ...]
    labels: tuple[int, ...] | None = None
    starts: tuple[int, ...] = (0,)

    def first(self, count: int) -> SampleSet:
        """The first `count` samples."""
        starts = tuple(start for start in self.starts if start < count)
        return SampleSet(self.inputs[:count], self.labels and self.labels[:count], starts)

    def repeated(self, times: int) -> SampleSet:
        """All samples `times` over; each pass resets the states."""
        count = len(self.inputs)
        starts = tuple(start + count * index for index in range(times) for start in self.starts)
        return SampleSet(self.inputs * times, self.labels and self.labels * times, starts)


def random_samples(inputs: Sequence[IoDescriptor], count: int) -> SampleSet:
    """`count` samples of noise over the whole range of each input; always the same."""
    generator = np.random.default_rng(RANDOM_SEED)
    return SampleSet(tuple({io.name: _noise(io, generator) for io in inputs} for _ in range(count)))


def _noise(io: IoDescriptor, generator: np.random.Generator) -> Array:
    kind = io.stored_dtype
    if kind.kind == "f":
        return generator.standard_normal(io.stored_shape).astype(kind)
    if kind.kind == "b":
        return generator.integers(0, 2, io.stored_shape).astype(kind)
    limits = np.iinfo(kind)
    return generator.integers(limits.min, limits.max, io.stored_shape, kind, endpoint=True)


def read_samples(
    descriptors: Sequence[IoDescriptor],
    inputs: Sequence[str],
    data: str | None,
    labels: str | None,
    stateful: bool = False,
) -> SampleSet:
    """Reads the samples of --input (`file.npy` or `name=file.npy`), --data (`file.npz`) and --labels (`file.npy`).

    An array holds one sample, of its input's shape, or several along a first axis. For a `stateful` model these are the
    steps of one sequence; one more axis before them counts sequences of equal length. UsageError names the file, the
    array and the shape that do not fit.
    """
    names = [io.name for io in descriptors]
    arrays = {**read_archive(names, data), **_from_files(names, inputs)}
    missing = [name for name in names if name not in arrays]
    if missing:
        raise UsageError(f"no data for input {', '.join(missing)}: give --input {missing[0]}=FILE.npy")
    return assemble(descriptors, arrays, labels, stateful)


def assemble(
    descriptors: Sequence[IoDescriptor], arrays: dict[str, tuple[str, Array]], labels: str | None, stateful: bool
) -> SampleSet:
    """Makes samples of (source, array) by input name; `source` is for messages. Labels have the name "" or a file."""
    names = [io.name for io in descriptors]
    steps = _steps(descriptors, arrays) if stateful else None
    if steps is not None:
        arrays = {name: (source, _joined(array)) for name, (source, array) in arrays.items()}
    batches = {io.name: [io.to_stored(part.astype(io.dtype))
                         for part in split_samples(io.name, io.shape, *arrays[io.name])] for io in descriptors}
    count = min(len(batch) for batch in batches.values())
    if any(len(batch) != count for batch in batches.values()):
        sizes = ", ".join(f"{name}: {len(batch)}" for name, batch in batches.items())
        raise UsageError(f"the inputs have different numbers of samples ({sizes}); give all the same number")
    classes = read_labels(labels, arrays.get(""), count)
    starts = (0,) if steps is None else tuple(range(0, count, steps))
    return SampleSet(tuple({name: batches[name][index] for name in names} for index in range(count)), classes, starts)


def _steps(descriptors: Sequence[IoDescriptor], arrays: dict[str, tuple[str, Array]]) -> int | None:
    """Number of steps of each sequence; None if the arrays hold one sequence, or one sample."""
    found = set()
    for io in descriptors:
        array = arrays[io.name][1]
        samples = _are_samples(io.shape, array)
        sequences = not samples and array.ndim > 1 and 0 not in array.shape and _are_samples(io.shape, _joined(array))
        found.add(array.shape[1] if sequences else None)
    if len(found) > 1:
        raise UsageError("the inputs have different forms; give all an axis of sequences before the steps, or none")
    return found.pop() if found else None


def _joined(array: Array) -> Array:
    """The steps of all sequences, one after another."""
    return array.reshape(-1, *array.shape[2:])


def load_arrays(path: str) -> dict[str, Array]:
    """Reads the arrays of an .npz by name; the array of an .npy has the empty name."""
    try:
        loaded = np.load(path, allow_pickle=False)
        return {"": loaded} if isinstance(loaded, np.ndarray) else {key: loaded[key] for key in loaded.files}
    except FileNotFoundError as error:
        raise UsageError(f"{path}: no such file") from error
    except (OSError, ValueError, EOFError, KeyError, zipfile.BadZipFile, zlib.error) as error:
        raise UsageError(f"{path}: not a NumPy .npy or .npz file of plain arrays: {error}") from error


def _from_files(names: list[str], inputs: Sequence[str]) -> dict[str, tuple[str, Array]]:
    found: dict[str, tuple[str, Array]] = {}
    for text in inputs:
        name, equals, path = text.partition("=")
        if not equals or name not in names:
            if equals and not Path(text).exists():
                raise UsageError(f"--input {text}: the model has no input {name}; its inputs are {', '.join(names)}")
            if len(names) > 1:
                raise UsageError(f"--input {text}: the model has inputs {', '.join(names)}; give NAME=FILE.npy")
            name, path = names[0], text
        arrays = load_arrays(path)
        if len(arrays) != 1:
            raise UsageError(f"{path}: holds the arrays {', '.join(arrays)}; give an .npz of several with --data")
        found[name] = (path, next(iter(arrays.values())))
    return found


def read_archive(
    names: list[str], data: str | None, label_keys: Sequence[str] = LABEL_KEYS
) -> dict[str, tuple[str, Array]]:
    """Reads an .npz and calls `match_inputs`; empty if `data` is None."""
    return {} if data is None else match_inputs(names, load_arrays(data), data, label_keys)


def match_inputs(
    names: list[str], arrays: Mapping[str, Array], data: str, label_keys: Sequence[str] = LABEL_KEYS
) -> dict[str, tuple[str, Array]]:
    """Returns (source, array) of file `data` by input name; labels have the name "".

    If a model has one input and the file one array of another name, that array is the input; a note says so.
    """
    found = {name: (f"{data}:{name}", arrays[name]) for name in names if name in arrays}
    label = next((key for key in label_keys if key in arrays and key not in names), None)
    rest = [key for key in arrays if key not in found and key != label]
    if not found and len(names) == 1 and len(rest) == 1:
        found[names[0]] = (f"{data}:{rest[0]}", arrays[rest[0]])
        if rest[0]:  # an array of an .npy has no name
            there, wanted = visible_name(rest[0]), visible_name(names[0])
            print(f"note: {data}: array {there} is used for input {wanted}", file=sys.stderr)
    if not found:
        raise UsageError(f"{data}: holds {', '.join(arrays)}, but the model's inputs are {', '.join(names)}")
    if label is not None:
        found[""] = (f"{data}:{label}", arrays[label])
    return found


def split_samples(name: str, shape: tuple[int, ...], source: str, array: Array) -> list[Array]:
    """Splits an array into samples of `shape`; UsageError if it does not fit input `name`."""
    if array.dtype.kind not in "fiub" or not _are_samples(shape, array):
        raise UsageError(
            f"{source}: shape {list(array.shape)} of {array.dtype}; input {name} takes {list(shape)}, "
            f"or [N, {', '.join(map(str, shape[1:] if shape[:1] == (1,) else shape))}] for N samples"
        )
    return [np.asarray(part).reshape(shape) for part in ([array] if array.shape == shape else list(array))]


def _are_samples(shape: tuple[int, ...], array: Array) -> bool:
    """True if an array holds one sample, or several along its first axis.

    Only the size distinguishes one sample of a batch from several samples of a batch of one.
    """
    several = array.ndim > 0 and array.size == len(array) * math.prod(shape) and array.shape[1:] in {shape, shape[1:]}
    return array.shape == shape or several


def read_labels(path: str | None, found: tuple[str, Array] | None, count: int) -> tuple[int, ...] | None:
    if path is not None:
        found = (path, next(iter(load_arrays(path).values())))
    if found is None:
        return None
    source, array = found
    if array.ndim == 2 and array.size == count:
        array = array.reshape(-1)  # from [sequence, step]
    if array.shape != (count,) or array.dtype.kind not in "iu":
        raise UsageError(
            f"{source}: labels must be {counted(count, 'integer')}, one for each sample; "
            f"got {array.dtype} {list(array.shape)}"
        )
    return tuple(int(label) for label in array)
