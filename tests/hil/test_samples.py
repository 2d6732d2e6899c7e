"""Inputs from files and out of thin air."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tigris_pio.errors import UsageError
from tigris_pio.hil.check import open_plan
from tigris_pio.hil.samples import random_samples, read_samples
from tigris_pio.host.io import IoDescriptor

INT8, FLOAT = np.dtype(np.int8), np.dtype(np.float32)
IMAGE = IoDescriptor("image", (1, 2, 3, 4), FLOAT, "NHWC", 0.5, -3, (1, 3, 4, 2), INT8, (0, 3, 1, 2))
GAIN = IoDescriptor("gain", (2,), FLOAT, "plain", 0.0, 0, (2,), FLOAT, (0,))


def save(path: Path, array: np.ndarray) -> str:
    np.save(path, array)
    return str(path)


def test_a_file_of_one_sample_is_quantised_and_put_in_stored_order(tmp_path: Path) -> None:
    x = np.arange(24, dtype=np.float32).reshape(1, 2, 3, 4)
    found = read_samples([IMAGE], [save(tmp_path / "x.npy", x)], None, None)
    assert found.labels is None
    (sample,) = found.inputs
    assert sample["image"].shape == (1, 3, 4, 2)
    assert sample["image"].dtype == np.int8
    assert sample["image"].tolist() == (2 * x - 3).transpose(0, 2, 3, 1).tolist()


@pytest.mark.parametrize("shape", [(5, 2, 3, 4), (5, 1, 2, 3, 4)])
def test_several_samples_lie_along_the_first_axis(tmp_path: Path, shape: tuple[int, ...]) -> None:
    x = np.arange(120, dtype=np.float32).reshape(shape) / 4
    labels = save(tmp_path / "y.npy", np.array([3, 1, 4, 1, 5]))
    found = read_samples([IMAGE], [f"image={save(tmp_path / 'x.npy', x)}"], None, labels)
    assert found.labels == (3, 1, 4, 1, 5)
    assert len(found.inputs) == 5
    assert found.inputs[4]["image"][0, 0, 0].tolist() == [45, 51]  # 24 and 27 in halves, less 3


def test_archives_hold_arrays_by_name_with_labels_or_one_array(tmp_path: Path) -> None:
    images, gains = np.ones((3, 2, 3, 4), np.float32), np.zeros((3, 2), np.float32)
    np.savez(tmp_path / "d.npz", gain=gains, image=images, labels=np.array([1, 2, 3]), extra=images)
    found = read_samples([IMAGE, GAIN], [], str(tmp_path / "d.npz"), None)
    assert (found.labels, sorted(found.inputs[0])) == ((1, 2, 3), ["gain", "image"])
    np.savez(tmp_path / "d.npz", pictures=images)
    assert len(read_samples([IMAGE], [], str(tmp_path / "d.npz"), None).inputs) == 3


def test_random_samples_fill_the_range_and_repeat(digits_plan: Path) -> None:
    inputs = open_plan(digits_plan).session.inputs
    first, second = random_samples(inputs, 40), random_samples(inputs, 40)
    values = np.concatenate([sample["image"].ravel() for sample in first.inputs])
    assert (values.min(), values.max()) == (-128, 127)
    assert [s["image"].tolist() for s in first.inputs] == [s["image"].tolist() for s in second.inputs]


def test_wrong_inputs_are_named(tmp_path: Path) -> None:
    good = save(tmp_path / "good.npy", np.ones((1, 2, 3, 4), np.float32))
    flat = save(tmp_path / "flat.npy", np.ones(24, np.float32))
    words = save(tmp_path / "words.npy", np.full((1, 2, 3, 4), "a"))
    gain = save(tmp_path / "gain.npy", np.ones((3, 2), np.float32))
    text = tmp_path / "text.npy"
    text.write_text("1 2 3")
    np.savez(tmp_path / "other.npz", a=np.ones(3), b=np.ones(3))
    for descriptors, inputs, data, labels, message in (
        ([IMAGE], [str(tmp_path / "no.npy")], None, None, r"no\.npy: no such file"),
        ([IMAGE], [str(text)], None, None, r"text\.npy: not a numpy"),
        ([IMAGE], [flat], None, None, r"shape \[24\] of float32; input image takes \[1, 2, 3, 4\], or \[N, 2, 3, 4\]"),
        ([IMAGE], [words], None, None, r"words\.npy: shape"),
        ([IMAGE], [f"sound={good}"], None, None, "has no input sound; its inputs are image"),
        ([IMAGE, GAIN], [good], None, None, "the model has inputs image, gain; give NAME=FILE.npy"),
        ([IMAGE, GAIN], [f"image={good}"], None, None, r"no data for input gain: give --input gain=FILE\.npy"),
        ([IMAGE, GAIN], [f"image={good}", f"gain={gain}"], None, None, r"different numbers .*image: 1, gain: 3"),
        ([IMAGE], [], str(tmp_path / "other.npz"), None, r"holds a, b, but the model's inputs are image"),
        ([IMAGE], [str(tmp_path / "other.npz")], None, None, r"the arrays a, b; give an .npz of several with --data"),
        ([IMAGE], [good], None, gain, r"gain\.npy: labels must be 1 integer,"),
    ):  # fmt: skip
        with pytest.raises(UsageError, match=message):
            read_samples(descriptors, inputs, data, labels)
