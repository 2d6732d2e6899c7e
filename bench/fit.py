"""Fits rows of the cost table to counts, by least squares of the relative errors with no coefficient below zero."""

import dataclasses
import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from tigris_pio.compiler.cost.kernel import TERMS, Kernel
from tigris_pio.compiler.cost.model import PATH

#: Different kernels from which all terms of a row are fitted; with fewer, one beside CALL instructions for a call.
ENOUGH, CALL = 4, 150.0
#: Terms of a row. More of them reduce the error of the networks by less than a tenth.
MOST_TERMS = 5
#: A tile must leave so much of the squared error or less; a term that can go leaves so much or less.
TILE_GAIN, TERM_LOSS = .95, 1.03
TILES = (*(("pixels", size) for size in (3, 4)), ("rows", 2), *(("channels", size) for size in (4, 8, 16)),
         ("window", 4), ("window", 16))  # fmt: skip
TILED_KINDS = ("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED", "INT4_CONV_2D", "INT4_FULLY_CONNECTED",
               "TABLE_CONV_2D", "TABLE_FULLY_CONNECTED")
_STEPS, _CLOSE, _EQUAL = 3, 1e-9, 1.005
#: Coefficients below this are rounding errors, as are differences of the mean squared error.
_NOTHING = 1e-6


@dataclasses.dataclass(frozen=True)
class Sample:
    """The calls of one operator in a run, by the rows that each makes, and the instructions that they took together.

    weight: importance of its relative error
    """

    kernel: Kernel
    calls: Mapping[int, int]
    counted: float
    weight: float = 1.0

    def amounts(self, tile: Mapping[str, int]) -> dict[str, float]:
        """The amount of each term in all calls."""
        calls = [(count, self.kernel.amounts(rows, tile)) for rows, count in self.calls.items()]
        return {term: sum(count * amounts[term] for count, amounts in calls) for term in TERMS}


def fit(work: Sequence[Mapping[str, float]], measured: Sequence[float], names: Sequence[str]) -> dict[str, float]:
    """The coefficient of each of `names`, from the amounts of work and the total counts; coefficients of 0 left out."""
    rows = np.array([[amounts.get(name, 0.0) for name in names] for amounts in work])
    found, _ = _solved(rows, np.array(measured), np.ones(len(measured)))
    return {name: _rounded(value) for name, value in zip(names, found, strict=True) if value > _NOTHING}


def fit_rows(samples: Iterable[Sample]) -> dict[str, dict[str, Any]]:
    """The row of each kernel. A variant of a convolution with fewer than ENOUGH kernels joins the next shorter name."""
    groups: dict[str, list[Sample]] = defaultdict(list)
    for one in samples:
        groups[one.kernel.name].append(one)
    for name in sorted(groups, key=len, reverse=True):
        words = name.split()
        if words[0] in TILED_KINDS and len(words) > 2 and _kernels(groups[name]) < ENOUGH:
            groups[" ".join(words[:-1])] += groups.pop(name)
    return {name: fit_row(groups[name]) for name in sorted(groups)}


def _kernels(samples: Sequence[Sample]) -> int:
    return len({dataclasses.replace(one.kernel, name="") for one in samples})


def fit_row(samples: Sequence[Sample]) -> dict[str, Any]:
    """The row of one kernel: at most MOST_TERMS terms, and a tile where it explains the counts better."""
    counted = np.array([one.counted for one in samples], float)
    weight = np.array([one.weight for one in samples])
    if _kernels(samples) < ENOUGH:
        amounts = _amounts(samples, {})
        main = _main(amounts)
        rest = np.maximum(counted - CALL * amounts[:, TERMS.index("call")], 1.0)
        found, _ = _solved(amounts[:, [main]], rest, weight)
        return {"call": CALL, TERMS[main]: _rounded(found[0])}
    tile, best = {}, _solved(_amounts(samples, {}), counted, weight)[1]
    while samples[0].kernel.name.split()[0] in TILED_KINDS:
        wider = [{**tile, name: size} for name, size in TILES if name not in tile]
        errors = [_solved(_amounts(samples, one), counted, weight)[1] for one in wider]
        if not errors or min(errors) >= TILE_GAIN * best:
            break
        best, tile = min(errors), wider[int(np.argmin(errors))]
    terms, found = _few_terms(_amounts(samples, tile), counted, weight)
    values = {TERMS[term]: _rounded(value) for term, value in zip(terms, found, strict=True) if value > _NOTHING}
    return {"tile": tile, **values} if tile else values


def _amounts(samples: Sequence[Sample], tile: Mapping[str, int]) -> np.ndarray:
    return np.array([list(one.amounts(tile).values()) for one in samples], float)


def _main(amounts: np.ndarray) -> int:
    """The term of the most work: multiplications, else elements that are read or written."""
    mac, output, read = (amounts[:, TERMS.index(term)].sum() for term in ("mac", "output", "read"))
    return TERMS.index("mac" if mac else "read" if read > 1.5 * output else "output")


def _few_terms(amounts: np.ndarray, counted: np.ndarray, weight: np.ndarray) -> tuple[list[int], np.ndarray]:
    """Removes terms, the least understood first of equally useless ones, while the error stays."""
    kept = list(range(len(TERMS)))
    found, error = _solved(amounts, counted, weight)
    while len(kept) > 1:
        fewer = [[one for one in kept if one != term] for term in kept]
        errors = [_solved(amounts[:, terms], counted, weight)[1] for terms in fewer]
        enough = min(errors) * _EQUAL + _NOTHING
        if len(kept) <= MOST_TERMS and min(errors) > error * TERM_LOSS + _NOTHING * len(counted):
            break
        kept = next(terms for terms, one in zip(reversed(fewer), reversed(errors), strict=True) if one <= enough)
        found, error = _solved(amounts[:, kept], counted, weight)
    return kept, found


def _solved(amounts: np.ndarray, counted: np.ndarray, weight: np.ndarray) -> tuple[np.ndarray, float]:
    """The coefficients >= 0 of the least weighted squares of relative errors, and the sum of these squares.

    By active sets (C. Lawson and R. Hanson, "Solving Least Squares Problems", 1974, chapter 23).
    """
    rows = amounts / counted[:, None] * weight[:, None]
    scale = np.maximum(np.abs(rows).max(axis=0), 1e-300)
    rows = rows / scale
    x, used = np.zeros(len(scale)), np.zeros(len(scale), bool)
    for _ in range(_STEPS * len(scale)):
        slope = np.where(used, 0.0, rows.T @ (weight - rows @ x))
        if slope.max() <= _CLOSE * len(counted):
            break
        used[slope.argmax()] = True
        while True:
            goal = np.zeros(len(scale))
            goal[used] = np.linalg.lstsq(rows[:, used], weight, rcond=None)[0]
            below = used & (goal <= 0)
            if not below.any():
                break
            share = (x[below] / np.maximum(x[below] - goal[below], 1e-300)).min()
            x += share * (goal - x)
            used &= x > _CLOSE
            x[~used] = 0.0
        x = goal
    return x / scale, float(((rows @ x - weight) ** 2).sum())


def _rounded(value: float) -> float:
    return float(f"{value:.4g}")


def write_table(table: Mapping[str, Any]) -> None:
    """Writes the cost table, a row of it in a line."""
    PATH.write_text(_text(table, "") + "\n", "utf-8")


def _text(value: Any, indent: str) -> str:
    if not isinstance(value, dict) or not any(isinstance(value[name], dict) for name in value.keys() - {"tile"}):
        return json.dumps(value)
    inner = indent + " "
    lines = [f"{inner}{json.dumps(name)}: {_text(item, inner)}" for name, item in value.items()]
    return "{\n" + ",\n".join(lines) + f"\n{indent}}}"
