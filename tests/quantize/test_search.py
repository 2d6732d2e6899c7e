"""The search for layers to keep in float, over made-up losses."""

from __future__ import annotations

from collections.abc import Collection

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tigris_pio.quantize.prepare import LayerNodes
from tigris_pio.quantize.search import Found, search

STEPS: list[tuple[str, int, int]] = []


def layers(count: int) -> list[LayerNodes]:
    return [LayerNodes(f"l{index}", "Conv", (f"l{index}",), (f"t{index}",)) for index in range(count)]


def found(losses: list[float], tolerance: float, most: int, always: int = 0) -> tuple[Found, list[int]]:
    """The search where the outputs' error is the sum of what layers in int8 lose; and the sizes that were tried."""
    every, tried = layers(len(losses)), []

    def measure(kept: Collection[LayerNodes]) -> float:
        tried.append(len(kept))
        names = {layer.name for layer in kept}
        return sum(loss for layer, loss in zip(every, losses, strict=True) if layer.name not in names)

    result = search(every[always:], every[:always], measure, tolerance, most, lambda *step: STEPS.append(step))
    return result, tried


@given(st.lists(st.integers(0, 50), min_size=1, max_size=14), st.integers(0, 200))
def test_with_enough_trials_the_set_is_the_smallest(numbers: list[int], tolerance: int) -> None:
    losses = [float(number) for number in numbers]
    result, tried = found(losses, tolerance, 200)
    ordered = sorted(losses, reverse=True)
    smallest = next(count for count in range(len(losses) + 1) if sum(ordered[count:]) <= tolerance)
    assert result.met and result.complete and len(result.kept) == smallest
    assert result.error <= tolerance and result.trials == len(tried)


@given(st.lists(st.integers(1, 50), min_size=1, max_size=30), st.integers(0, 100), st.integers(1, 12))
def test_no_more_trials_than_allowed_and_what_is_found_meets_it(numbers: list[int], tolerance: int, most: int) -> None:
    result, tried = found([float(number) for number in numbers], tolerance, most)
    assert len(tried) <= most
    assert result.met == (result.error <= tolerance)
    assert STEPS[-1] == ("searching", most, most)


@pytest.mark.parametrize("most", [20, 200])
def test_layers_that_were_asked_for_stay(most: int) -> None:
    result, _ = found([1.0, 9.0, 1.0, 1.0], 3.5, most, always=1)
    assert {layer.name for layer in result.kept} >= {"l0", "l1"} and result.met


def test_a_tolerance_out_of_reach_ends_with_the_nearest() -> None:
    result = search(layers(3), (), lambda kept: 1.0 - 0.1 * len(kept), 0.1, 40, lambda *_: None)
    assert not result.met and result.complete and len(result.kept) == 3
