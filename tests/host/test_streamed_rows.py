"""Rows of a streamed input given by a function: in the model's order, in the plan's, and neither."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.compiler.models import make, node
from tigris_pio import Session, compile_model
from tigris_pio.errors import UsageError

RNG = np.random.default_rng(7)
IMAGE = RNG.normal(size=(1, 3, 24, 8)).astype(np.float32)
SOUND = RNG.normal(size=(1, 5, 40)).astype(np.float32)
SQUARE = RNG.normal(size=(2, 3, 3, 3)).astype(np.float32)
LINE = RNG.normal(size=(2, 5, 3)).astype(np.float32)


def images() -> Any:
    return make([node("Conv", "x w", "y", pads=[1, 1, 1, 1])], {"x": IMAGE.shape}, ["y"], {"w": SQUARE})


def sounds() -> Any:
    return make([node("Conv", "x w", "y")], {"x": SOUND.shape}, ["y"], {"w": LINE})


Source = Callable[[int, int], object]
#: As the model takes it; stored, with the batch and without it.
FORMS: dict[str, tuple[Any, np.ndarray, list[Source]]] = {
    "image": (images, IMAGE, [
        lambda first, rows: IMAGE[:, :, first : first + rows],
        lambda first, rows: IMAGE.transpose(0, 2, 3, 1)[:, first : first + rows],
        lambda first, rows: IMAGE[0].transpose(1, 2, 0)[first : first + rows],
        lambda first, rows: IMAGE[0].transpose(1, 2, 0)[first : first + rows].tolist(),
    ]),
    "sound": (sounds, SOUND, [
        lambda first, rows: SOUND[:, :, first : first + rows],
        lambda first, rows: SOUND[0].T[first : first + rows],
    ]),
}  # fmt: skip


@pytest.mark.parametrize("name", FORMS)
def test_each_form_is_told_by_its_shape(name: str) -> None:
    build, whole, sources = FORMS[name]
    with Session(compile_model(build())) as session:
        expected = session.run({"x": whole})["y"]
    with Session(compile_model(build(), stream="x")) as session:
        for source in sources:
            assert np.array_equal(session.run({"x": source})["y"], expected)


@pytest.mark.parametrize("wrong", [
    lambda _, rows: np.zeros((rows + 1, 8, 3), np.float32),  # too many
    lambda _, rows: np.zeros((1, rows, 3, 8), np.float32),  # as many elements in an order that nobody has
    lambda _, rows: np.zeros(rows * 24, np.float32),
], ids=("too many", "another order", "flat"))  # fmt: skip
def test_other_shapes_are_refused(wrong: Source) -> None:
    with Session(compile_model(images(), stream="x")) as session:
        with pytest.raises(UsageError, match=re.escape("rows were asked for, which are [1, 3, ")):
            session.run({"x": wrong})
        session.run({"x": IMAGE})  # and the session goes on
