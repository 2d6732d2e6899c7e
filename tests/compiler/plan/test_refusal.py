"""Which budget a refusal names, by networks that say what they work in, and how few budgets are tried to find it."""

import dataclasses
from types import SimpleNamespace
from typing import NamedTuple

import pytest

from tigris_pio.compiler.ir.plan import Budget
from tigris_pio.compiler.plan.refusal import Candidate, refusal


class Found(NamedTuple):
    """An arrangement."""

    fast_bytes: int
    slow: SimpleNamespace = SimpleNamespace(peak=0)


@dataclasses.dataclass
class Network:
    """A network that works in `least` bytes and more, in multiples of `grain`; its live bytes fit in `cut`."""

    least: int
    cut: int
    grain: int = 16
    tried: list[int] = dataclasses.field(default_factory=list)

    def find(self, fast: int, slow: int) -> Found | None:
        if slow:
            return None if fast < 100_000 else Found(fast)
        self.tried.append(fast)
        return Found(fast // self.grain * self.grain) if fast >= self.least else None

    def candidate(self) -> Candidate:
        return Candidate(self.find, lambda slow: 0 if slow else self.cut)


def named(*networks: Network, refused: int = 2000) -> int:
    text = refusal("net", Budget(refused, 0), 16, 1 << 20, [each.candidate() for each in networks])
    return int(text.split("that works is ")[1].split(" ")[0])


@pytest.mark.parametrize(("cut", "most"), [(5000, 23), (5600, 8), (5700, 12), (6000, 40)])
def test_the_smallest_budget_is_found_wherever_live_bytes_fit(cut: int, most: int) -> None:
    network = Network(5600, cut)
    assert named(network) == 5600
    assert len(network.tried) == len(set(network.tried)) <= most


def test_the_smallest_of_any_order_is_named() -> None:
    assert named(Network(5600, 5700), Network(5200, 8000)) == 5200


def test_nothing_is_tried_at_or_below_what_was_refused() -> None:
    network = Network(5600, 5700)
    assert named(network, refused=5584) == 5600
    assert min(network.tried) > 5584


@pytest.mark.parametrize(("least", "grain"), [(5640, 64), (5604, 5604), (5616, 5616)])
def test_the_budget_that_is_named_was_tried_and_is_aligned(least: int, grain: int) -> None:
    """A plan that takes fewer bytes than it was searched in need not be found in these."""
    network = Network(least, 5700, grain=grain)
    smallest = named(network)
    assert smallest == (5616 if grain == least else smallest) >= least
    assert smallest in network.tried
    assert all(size % 16 == 0 for size in network.tried if size < 5690)
