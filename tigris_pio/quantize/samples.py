"""Reads samples, and splits them into calibration data and held-out samples for measuring errors."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from tigris_pio.errors import UsageError
from tigris_pio.hil.samples import LABEL_KEYS, load_arrays, read_archive, read_labels, split_samples
from tigris_pio.host.io import Array
from tigris_pio.text import counted

#: Default number of held-out samples: this share of all, at most so many.
HELD_OUT_SHARE, MOST_HELD_OUT = 0.25, 256
#: Fewer samples than this give a warning.
FEW = 16
_SPLIT_SEED = 0

Sample = dict[str, Array]


@dataclasses.dataclass(frozen=True)
class Input:
    """An input of the model with bound dimensions."""

    name: str
    shape: tuple[int, ...]
    dtype: np.dtype[Any]


@dataclasses.dataclass(frozen=True)
class Samples:
    """Samples as the model takes them; labels of the held-out samples, or None."""

    calibration: tuple[Sample, ...]
    held_out: tuple[Sample, ...]
    labels: tuple[int, ...] | None = None


def read_samples(inputs: Sequence[Input], data: str, labels: str | None) -> tuple[list[Sample], tuple[int, ...] | None]:
    """Samples of an .npz (arrays by input name) or an .npy (for a single input), and their classes, or None.

    labels: name of the array of classes; default: labels, label or y, if there is one. UsageError names a wrong array.
    """
    names = [item.name for item in inputs]
    found = read_archive(names, data, LABEL_KEYS if labels is None else (labels,))
    if labels is not None and "" not in found:
        what = "is an input of the model" if labels in names else "is no array in it"
        held = ", ".join(key for key in load_arrays(data) if key) or "one array without a name"
        raise UsageError(f"--labels {labels}: {what}; {data} holds {held}")
    missing = [name for name in names if name not in found]
    if missing:
        raise UsageError(f"{data}: has no array for input {', '.join(missing)}; the model's inputs are "
                         f"{', '.join(names)}")
    batches = {item.name: _checked(item, *found[item.name]) for item in inputs}
    count = min(map(len, batches.values()))
    if any(len(batch) != count for batch in batches.values()):
        sizes = ", ".join(f"{name}: {len(batch)}" for name, batch in batches.items())
        raise UsageError(f"{data}: the inputs have different numbers of samples ({sizes}); give each the same number")
    samples = [{name: batches[name][index] for name in names} for index in range(count)]
    return samples, read_labels(None, found.get(""), count)


def _checked(item: Input, source: str, array: Array) -> list[Array]:
    """The samples of one input in its type; UsageError for NaN, infinity, or numbers out of range."""
    if array.dtype.kind == "f" and array.ndim and array.size:
        bad = ~np.isfinite(array.reshape(len(array), -1)).all(axis=1)
        if bad.any():
            raise UsageError(f"{source}: sample {int(np.argmax(bad))} has NaN or infinity "
                             f"({counted(int(bad.sum()), 'sample')} in all); remove such samples")  # fmt: skip
    parts = split_samples(item.name, item.shape, source, array)
    if item.dtype.kind in "iub" and array.dtype.kind == "f" and not np.array_equal(array, np.trunc(array)):
        raise UsageError(f"{source}: input {item.name} is {item.dtype}, but the data has fractions; convert it")
    with np.errstate(over="ignore"):
        typed = [part.astype(item.dtype, order="C") for part in parts]
    if array.dtype.kind == "f" and not all(np.isfinite(part).all() for part in typed):
        raise UsageError(f"{source}: has numbers out of range of {item.dtype}, the type of input {item.name}")
    return typed


def split(samples: Sequence[Sample], labels: Sequence[int] | None, held_out: int | None) -> Samples:
    """Draws the held-out samples (`held_out`, default a quarter), the same ones each time."""
    count = len(samples)
    if count < 2:
        raise UsageError(f"{counted(count, 'sample')}: at least 2 are needed, one to take the ranges "
                         "from and one to measure with; a few hundred are usual")
    most = held_out if held_out is not None else min(MOST_HELD_OUT, max(1, round(count * HELD_OUT_SHARE)))
    if not 1 <= most < count:
        raise UsageError(f"--held-out {most}: the data has {count} samples, and calibration needs at least one; "
                         f"give at most {count - 1}")
    order = np.random.default_rng(_SPLIT_SEED).permutation(count)
    kept, out = sorted(order[most:].tolist()), sorted(order[:most].tolist())
    classes = None if labels is None else tuple(labels[index] for index in out)
    return Samples(tuple(samples[index] for index in kept), tuple(samples[index] for index in out), classes)
