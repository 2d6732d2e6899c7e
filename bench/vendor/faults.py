"""Finds words for layers that a kernel library computes wrongly."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.int64]
Marks = NDArray[np.bool_]
Table = Mapping[str, Numbers]

#: The numbers of a line that sweep.c prints.
COLUMNS = (
    "kind", "images", "groups", "inputs", "outputs", "by_channel", "extreme", "rows", "columns", "output_rows",
    "output_columns", "kernel_rows", "kernel_columns", "stride_rows", "stride_columns", "dilation_rows",
    "dilation_columns", "above", "left", "below", "right", "status", "asked", "written", "before", "behind",
    "adapted",
)  # fmt: skip
KINDS = ("convolution", "depthwise", "fully connected")
RIGHT, WRONG, CRASHED, REFUSED, NOT_RUN = range(5)


def _row(t: Table) -> Numbers:
    return t["kernel_columns"] * t["inputs"] // t["groups"]


def _padded(t: Table) -> Marks:
    return (t["above"] > 0) | (t["left"] > 0)


def _most_behind(t: Table) -> Numbers:
    return np.maximum(t["below"], t["right"])


def _is_3x3(t: Table) -> Marks:
    return np.equal(t["kernel_rows"], 3) & np.equal(t["kernel_columns"], 3)


def _is_1x1(t: Table) -> Marks:
    return np.equal(t["kernel_rows"], 1) & np.equal(t["kernel_columns"], 1)


#: Conditions that the table can name, the plainest first.
CONDITIONS: dict[str, Callable[[Table], Marks]] = {
    "dilated": lambda t: ((t["dilation_rows"] > 1) & (t["kernel_rows"] > 1))
        | ((t["dilation_columns"] > 1) & (t["kernel_columns"] > 1)),
    "not dilated": lambda t: (t["dilation_rows"] == 1) & (t["dilation_columns"] == 1),
    "several groups": lambda t: t["groups"] > 1,
    "several images": lambda t: t["images"] > 1,
    "extreme sums": lambda t: t["extreme"] == 1,
    "padded only behind": lambda t: ~_padded(t) & (_most_behind(t) > 0),
    "padded before": _padded,
    "not padded before": lambda t: ~_padded(t),
    "more padding behind than before": lambda t: (t["below"] > t["above"]) | (t["right"] > t["left"]),
    "padded before, and more behind":
        lambda t: _padded(t) & ((t["below"] > t["above"]) | (t["right"] > t["left"])),
    "padded only behind, by more than a stride":
        lambda t: ~_padded(t) & ((t["below"] > t["stride_rows"]) | (t["right"] > t["stride_columns"])),
    "two or more rows or columns of padding":
        lambda t: np.maximum(_most_behind(t), np.maximum(t["above"], t["left"])) > 1,
    "two or more columns of padding on the right": lambda t: t["right"] > 1,
    "two or more rows of padding below": lambda t: t["below"] > 1,
    "other padding than 1 before": lambda t: _padded(t) & ((t["above"] != 1) | (t["left"] != 1)),
    "stride 1": lambda t: (t["stride_rows"] == 1) & (t["stride_columns"] == 1),
    "stride of 2 or more": lambda t: (t["stride_rows"] > 1) | (t["stride_columns"] > 1),
    "1x1": _is_1x1,
    "3x3": _is_3x3,
    "not 3x3": lambda t: ~_is_3x3(t),
    "kernel of three columns": lambda t: t["kernel_columns"] == 3,
    "kernel of one row": lambda t: t["kernel_rows"] == 1,
    "kernel wider than the input": lambda t: t["kernel_columns"] > t["columns"],
    "kernel larger than the padded input": lambda t:
        (t["kernel_rows"] > t["rows"] + t["above"]) | (t["kernel_columns"] > t["columns"] + t["left"]),
    "as many outputs as inputs": lambda t: t["outputs"] == t["inputs"],
    "multiplied channels": lambda t: (t["kind"] == 1) & (t["outputs"] > t["inputs"]),
    "channels a multiple of 4": lambda t: t["inputs"] % 4 == 0,
    "channels a multiple of 8": lambda t: t["inputs"] % 8 == 0,
    "channels a multiple of 16": lambda t: t["inputs"] % 16 == 0,
    "channels no multiple of 4": lambda t: t["inputs"] % 4 != 0,
    "channels no multiple of 8": lambda t: t["inputs"] % 8 != 0,
    "channels no multiple of 16": lambda t: t["inputs"] % 16 != 0,
    "odd number of vectors of 16 channels": lambda t: t["inputs"] // 16 % 2 == 1,
    "more than 256 channels": lambda t: t["inputs"] > 256,
    "kernel rows of less than 16 values": lambda t: _row(t) < 16,
    "kernel rows of 16 values or more": lambda t: _row(t) >= 16,
    "kernels of less than 16 values": lambda t: _row(t) * t["kernel_rows"] < 16,
    "one output pixel": lambda t: t["output_rows"] * t["output_columns"] == 1,
}  # fmt: skip


@dataclass(frozen=True)
class Fault:
    """Layers of a kind that fail under a condition: `failed` of `layers` that it holds for."""

    kind: str
    what: str
    where: str
    failed: int
    layers: int


def read(text: str) -> Table:
    """The lines of a sweep by column."""
    numbers = np.array([line.split() for line in text.splitlines()], np.int64).reshape(-1, len(COLUMNS))
    return dict(zip(COLUMNS, numbers.T, strict=True))


def outcomes(table: Table) -> dict[str, Marks]:
    """The ways in which a layer fails, with the layers that do."""
    return {
        "crashes": table["status"] == CRASHED,
        "wrong outputs": table["status"] == WRONG,
        "more scratch than requested": table["written"] > table["asked"],
        "writes elsewhere": (table["before"] > 0) | (table["behind"] > 0),
    }


def faults(table: Table) -> Iterator[Fault]:
    """The failures of each kind, by conditions."""
    for number, kind in enumerate(KINDS):
        chosen = (table["kind"] == number) & (table["status"] < REFUSED)
        part = {name: column[chosen] for name, column in table.items()}
        for what, failed in outcomes(part).items():
            for where, some, of in _explained(part, failed):
                yield Fault(kind, what, where, some, of)


#: Conditions of a fault, faults of a kind, sets of conditions that the search keeps, and the share of the best score
#: that fewer conditions may cost.
_MOST_WORDS, _MOST_FAULTS, _KEPT, _ENOUGH = 4, 6, 24, 0.95


def _explained(table: Table, failed: Marks) -> Iterator[tuple[str, int, int]]:
    """Conditions, most failures first; each counts the layers that no condition before it holds for."""
    marks = {words: condition(table) for words, condition in CONDITIONS.items()}
    left = np.ones_like(failed)
    for _ in range(_MOST_FAULTS):
        if not (failed & left).any():
            return
        words = _best(marks, failed, left)
        if words is None:
            break
        held = left & np.logical_and.reduce([marks[word] for word in words], axis=0)
        yield ", ".join(words) or "everywhere", int((failed & held).sum()), int(held.sum())
        left &= ~held
    if rest := int((failed & left).sum()):
        yield "elsewhere", rest, int(left.sum())


def _best(marks: Mapping[str, Marks], failed: Marks, left: Marks) -> tuple[str, ...] | None:
    """The fewest conditions of nearly the best score: failing layers, less the others that the conditions hold for.

    A beam search. It keeps the sets whose failing layers exceed most what chance would give.
    """
    share = (failed & left).sum() / left.sum()
    kept: dict[tuple[str, ...], Marks] = {(): left}
    found: list[tuple[int, int, tuple[str, ...]]] = []
    for _ in range(_MOST_WORDS + 1):
        gains: list[tuple[float, tuple[str, ...]]] = []
        for words, held in kept.items():
            failing, of = int((failed & held).sum()), int(held.sum())
            gains.append((failing - share * of, words))
            if failing > 2:
                found.append((2 * failing - of, -len(words), words))
        kept = {tuple(sorted((*words, word))): kept[words] & marks[word]
                for _, words in sorted(gains)[-_KEPT:] for word in marks if word not in words}  # fmt: skip
    most = max((score for score, _, _ in found), default=0)
    good = [(size, score, words) for score, size, words in found if score >= _ENOUGH * most]
    return max(good)[2] if most > 0 else None
