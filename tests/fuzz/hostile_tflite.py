"""TensorFlow Lite files that nobody meant: sound ones with fields of the schema changed, or bytes of the flatbuffer."""

import functools
import random
import struct
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tests.fuzz.tflite_cases import MAKERS, Draw
from tests.tflite.cases import merged
from tests.tflite.cases_int16 import mixed_network
from tests.tflite.writer import RELU, Operator, Tensor, changed, constant, write

EXTREMES = (0, 1, -1, 2, 3, 7, 127, 128, 255, 256, 65535, 65536, 1 << 24, 1 << 30, (1 << 31) - 1, -(1 << 31))
SMALL = (0, 1, -1, 2, 3, 4, 5)
FLOATS = (0.0, -1.0, 1e-38, 1e38, -1e38, float("inf"), float("-inf"), float("nan"), 0.5, 3.0)
NAMES = (b"", b"x", b"y", b"\xff\xfe", b"\x1b[31m", "é".encode() * 700, b"a" * 5000, b"\0")


def _side_by_side(seed: int) -> bytes:
    """Ten random operators of all types."""
    draw = random.Random(seed)
    return merged([MAKERS[op](Draw(seed), op) for op in draw.sample(sorted(MAKERS), 10)])[0]


def _state() -> bytes:
    """A variable with a first value, and a branch that is not taken."""
    tensors = [
        Tensor("x", (1, 8), "int8", 0.1, 3), Tensor("h", (1,), "resource"), Tensor("old", (1, 8), "int8", 0.2, -5),
        Tensor("new", (1, 8), "int8", 0.2, -5), Tensor("y", (1, 8), "float32"), constant("yes", np.array([True])),
    ]  # fmt: skip
    name = {"sharedName": "total", "container": ""}
    operators = [
        Operator("CALL_ONCE", [], [], {"initSubgraphIndex": 1}),
        Operator("VAR_HANDLE", [], ["h"], name),
        Operator("READ_VARIABLE", ["h"], ["old"]),
        Operator("ADD", ["x", "old"], ["new"], {"fusedActivationFunction": RELU}),
        Operator("ASSIGN_VARIABLE", ["h", "new"], []),
        Operator("IF", ["yes"], [], {"thenSubgraphIndex": 2, "elseSubgraphIndex": 3}),
        Operator("DEQUANTIZE", ["new"], ["y"]),
    ]
    first = ([Tensor("h", (1,), "resource"), constant("v", np.arange(8, dtype=np.int8).reshape(1, 8), 0.2, -5)],
             [Operator("VAR_HANDLE", [], ["h"], name), Operator("ASSIGN_VARIABLE", ["h", "v"], [])])
    return write(tensors, operators, ["x"], ["y"], subgraphs=[first, ([], []), ([], [])])


MODELS: tuple[Callable[[], bytes], ...] = (
    *(functools.partial(_side_by_side, seed) for seed in range(6)), *(_state,) * 3, *(mixed_network,) * 5,
)


# ---- changes -----------------------------------------------------------------------------------------------------


def _number(draw: random.Random) -> int:
    return draw.choice(EXTREMES if draw.random() < 0.5 else SMALL)


def _objects(item: Any) -> Iterator[Any]:
    """All tables of the schema in a file."""
    if isinstance(item, list):
        for part in item:
            yield from _objects(part)
    elif hasattr(item, "__dict__"):
        yield item
        yield from _objects(list(vars(item).values()))


def _change(model: Any, draw: random.Random) -> None:
    """One field of one table; every kind of table as often."""
    tables = sorted(_objects(model), key=lambda item: type(item).__name__)
    kind = draw.choice(sorted({type(item).__name__ for item in tables}))
    table = draw.choice([item for item in tables if type(item).__name__ == kind])
    field = draw.choice(sorted(name for name, value in vars(table).items() if value is not None) or [""])
    if field:
        setattr(table, field, None if draw.random() < 0.05 else _other(getattr(table, field), draw))


def _other(value: Any, draw: random.Random) -> Any:
    """Another value of about this type."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return _number(draw) if draw.random() < 0.6 else max(0, value + draw.choice((-1, 1)))
    if isinstance(value, float):
        return draw.choice(FLOATS)
    if isinstance(value, bytes | str):
        return draw.choice(NAMES)
    if isinstance(value, np.ndarray) and value.dtype == np.uint8 and value.size >= 4 and draw.random() < 0.6:
        words = value[: value.size // 4 * 4].view(np.int32).copy()
        words[draw.randrange(len(words))] = _number(draw)
        return words.view(np.uint8)
    items, choice = list(value) if isinstance(value, list | np.ndarray) else [], draw.random()
    if not items or choice < 0.3:
        items = [*items, draw.choice(items) if items else _number(draw)] * draw.choice((1, 1, 20))
    elif choice < 0.5:
        del items[draw.randrange(len(items))]
    elif not hasattr(items[0], "__dict__"):
        wrong = draw.choice(FLOATS) if isinstance(items[0], float | np.floating) else _number(draw)
        items[draw.randrange(len(items))] = wrong if draw.random() < 0.6 else draw.choice(items)
    return items


@functools.cache
def _sound() -> tuple[bytes, ...]:
    return tuple(make() for make in MODELS)


def _damaged(data: bytes, draw: random.Random) -> bytes:
    """Offsets, lengths and numbers of a flatbuffer overwritten, or its end cut off."""
    if draw.random() < 0.2:
        return data[: draw.randrange(len(data))]
    damaged = bytearray(data)
    for _ in range(draw.choice((1, 1, 2, 8))):
        place = draw.randrange(8, len(damaged) - 4) if draw.random() < 0.9 else 0
        if draw.random() < 0.6:
            struct.pack_into("<i", damaged, place // 4 * 4, draw.choice((*EXTREMES, len(data), -len(data), 4, 8, 16)))
        else:
            damaged[place] = draw.randrange(256)
    return bytes(damaged)


def hostile(seed: int) -> bytes | None:
    """The file of that number; None where it cannot be written."""
    draw = random.Random(seed)
    data = draw.choice(_sound())
    if draw.random() < 0.3:
        return _damaged(data, draw)

    def change(model: Any) -> None:
        for _ in range(draw.choice((1, 1, 1, 2, 3))):
            _change(model, draw)

    try:
        return changed(data, change)
    except (TypeError, ValueError, struct.error, OverflowError, AttributeError, IndexError):
        return None
