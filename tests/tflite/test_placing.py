"""Operators that TensorFlow Lite Micro lacks, against LiteRT's results, written in numpy."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from tests.harness.tiers import examples
from tests.tflite.cases import Case, merged
from tests.tflite.writer import Tensor, constant
from tigris_pio import ModelError, Session, compile_model

#: Types, with scale and zero point of the quantised ones.
TYPES = {"float32": (), "int8": (0.05, 3), "uint8": (0.05, 100), "int32": (), "bool": ()}
Made = tuple[Case, list[np.ndarray]]


def tensor(name: str, array: np.ndarray) -> Tensor:
    return Tensor(name, array.shape, array.dtype.name, *TYPES.get(array.dtype.name, ()))


def values(shape: tuple[int, ...], dtype: str, seed: int = 0) -> np.ndarray:
    """Small numbers, some of them equal, whose sums fit any type."""
    random = np.random.default_rng(seed)
    return random.integers(0, 2 if dtype == "bool" else 40, shape).astype(dtype)


def case(op: str, inputs: dict[str, np.ndarray], known: set[str], outputs: list[np.ndarray], **options: float) -> Made:
    """`known`: inputs that are constants."""
    given = [constant(name, array, *TYPES.get(array.dtype.name, ())[:2]) if name in known else tensor(name, array)
             for name, array in inputs.items()]
    free = {name: array for name, array in inputs.items() if name not in known}
    return Case(op, given, [tensor(f"y{place}", array) for place, array in enumerate(outputs)], options, free), outputs


def largest() -> Iterator[Made]:
    """TOPK_V2; among equal elements, the one with the lower index comes first."""
    shapes = (((3, 9), 4), ((7,), 1), ((2, 5), 5))
    for dtype, (shape, k) in itertools.product(("float32", "int8", "uint8", "int32"), shapes):
        x = values(shape, dtype, k)
        order = np.argsort(-x.astype(np.int64), -1, kind="stable")[..., :k]
        yield case("TOPK_V2", {"x0": x, "k": np.array(k, np.int32)}, {"k"},
                   [np.take_along_axis(x, order, -1), order.astype(np.int32)])


def hot() -> Iterator[Made]:
    """ONE_HOT; negative indices, and indices from the depth on, select nothing."""
    for dtype, (axis, shape) in itertools.product(TYPES, ((-1, (4,)), (0, (3, 2)), (1, (2, 3)), (-1, ()))):
        places = np.random.default_rng(7).integers(-3, 8, shape).astype(np.int32)
        on, off = values((2,), "int8", 3).astype(dtype)
        behind = len(shape) - axis % (len(shape) + 1)
        moved = np.expand_dims(places, axis) == np.arange(5).reshape(-1, *(1,) * behind)
        yield case("ONE_HOT", {"x0": places, "d": np.array(5, np.int32), "on": np.array(on), "off": np.array(off)},
                   {"d", "on", "off"}, [np.where(moved, on, off)], axis=axis)


def scattered() -> Iterator[Made]:
    """SCATTER_ND; updates of one element are added as integers."""
    places = (([[4], [1], [6]], (8,)), ([[4], [1], [4]], (8,)), ([[3], [0], [3]], (4, 5)),
              ([[0, 1], [2, 3]], (3, 4, 2)))
    for dtype, (at, shape), fixed in itertools.product(("float32", "int8", "uint8", "int32"), places, (True, False)):
        index = np.array(at, np.int32)
        updates, result = values((len(at), *shape[index.shape[1] :]), dtype), np.zeros(shape, dtype)
        np.add.at(result, tuple(index.T), updates)
        known = {"s", "i"} if fixed else {"s"}
        yield case("SCATTER_ND", {"i": index, "x0": updates, "s": np.array(shape, np.int32)}, known, [result])


def turned() -> Iterator[Made]:
    """REVERSE_SEQUENCE; the first elements of each sequence are reversed."""
    axes = ((1, 0, (3, 5)), (0, 1, (5, 3)), (1, 3, (2, 4, 3, 5)), (0, 3, (4, 2, 2, 3)), (1, 0, (2, 6, 3)))
    for dtype, (time, batch, shape), fixed in itertools.product(("float32", "uint8", "int32"), axes, (True, False)):
        lengths = np.random.default_rng(time).integers(0, shape[time] + 1, shape[batch]).astype(np.int32)
        x = values(shape, dtype)
        result = x.copy()
        rows, results = (np.moveaxis(array, (batch, time), (0, 1)) for array in (x, result))
        for row, length in enumerate(lengths):
            results[row, :length] = rows[row, :length][::-1]
        yield case("REVERSE_SEQUENCE", {"x0": x, "l": lengths}, {"l"} if fixed else set(), [result], seqDim=time,
                   batchDim=batch)


def responses() -> Iterator[Made]:
    """LRN with TensorFlow's window of `radius` on both sides, which LiteRT's default kernel also has."""
    factors = ((2, 1, 0.1, 0.75, 8), (1, 2, 0.5, 0.5, 3), (0, 1, 0.3, 1, 4), (9, 1, 0.05, 1, 5))
    for radius, bias, alpha, beta, count in factors:
        x = values((2, 3, 4, count), "float32") / 9
        sums = np.stack([(x[..., max(0, at - radius) : at + radius + 1] ** 2).sum(-1) for at in range(count)], -1)
        yield case("LOCAL_RESPONSE_NORMALIZATION", {"x0": x}, set(), [x / (bias + alpha * sums) ** beta], radius=radius,
                   bias=bias, alpha=alpha, beta=beta)


@pytest.mark.parametrize("make", (largest, hot, scattered, turned, responses))
def test_results_are_those_of_litert(make: Callable[[], Iterator[Made]]) -> None:
    """All cases in one file."""
    made = list(make())[:: examples(5, 1)]
    data, given = merged([item for item, _ in made])
    with Session(compile_model(data)) as session:
        got = list(session.run(given).values())
    for result, wanted in zip(got, itertools.chain(*(outputs for _, outputs in made)), strict=True):
        assert (result.shape, result.dtype) == (wanted.shape, wanted.dtype)
        np.testing.assert_allclose(result, wanted, rtol=1e-5)


WRONG = {
    "the largest 9": ("TOPK_V2", {"x0": values((3, 4), "int8"), "k": np.array(9, np.int32)}, {}),
    "depth -1": ("ONE_HOT", {"x1": values((3,), "int32"), "d": np.array(-1, np.int32), "on": np.float32(1),
                             "off": np.float32(0)}, {}),
    "an index outside of": ("SCATTER_ND", {"i": np.array([[4]], np.int32), "x0": values((1,), "int8"),
                                          "s": np.array([4], np.int32)}, {}),
    "lengths .9. of 5 steps": ("REVERSE_SEQUENCE", {"x0": values((1, 5), "float32"), "l": np.array([9], np.int32)},
                               {"seqDim": 1}),
}  # fmt: skip


@pytest.mark.parametrize("said", WRONG)
def test_contradictions_are_refused(said: str) -> None:
    op, inputs, options = WRONG[said]
    outputs = [np.zeros(1, np.float32)] * (1 + (op == "TOPK_V2"))
    item, _ = case(op, inputs, set(inputs) - {"x0", "x1"}, outputs, **options)
    with pytest.raises(ModelError, match=f"{op}_0: {said}"):
        compile_model(item.file())
