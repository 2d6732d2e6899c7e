"""What a refusal says is the smallest budget, and how few budgets are tried to find it."""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

import pytest

from tigris_pio.compiler.ir.plan import Budget
from tigris_pio.compiler.plan.refusal import Candidate, refusal


class Found(NamedTuple):
    """What is asked of an arrangement."""

    fast_bytes: int


@dataclasses.dataclass
class Network:
    """One that works in `least` bytes and more, of which it takes multiples of `grain`, and is cut in `cut`."""

    least: int
    cut: int
    grain: int = 16
    late: int = 0  #: below it, what is found is found late
    tried: list[int] = dataclasses.field(default_factory=list)

    def find(self, fast: int, slow: int) -> Found | None:
        if slow:
            return None if fast < 100_000 else Found(fast)
        self.tried.append(fast)
        return Found(fast // self.grain * self.grain) if fast >= self.least else None

    def candidate(self) -> Candidate:
        return Candidate(self.find, lambda fast, slow: bool(slow) or fast >= self.cut, self.glance)

    def glance(self, fast: int, slow: int) -> Found | None:
        return self.find(fast, slow) if fast >= self.late else None


def said(*networks: Network, refused: int = 2000, operators: int = 30) -> int:
    text = refusal("net", Budget(refused, 0), 16, 1 << 20, [each.candidate() for each in networks], operators)
    return int(text.split("that works is ")[1].split(" ")[0])


@pytest.mark.parametrize("cut", [5000, 5600, 6000, 9000, 40_000])
def test_the_smallest_is_found_wherever_live_bytes_are_cut(cut):
    network = Network(5600, cut)
    assert said(network) == 5600
    assert len(network.tried) == len(set(network.tried)) < 24


def test_near_the_cut_few_budgets_are_tried():
    network = Network(5600, 5700)
    assert said(network) == 5600
    assert len(network.tried) <= 8


def test_nothing_is_tried_at_or_below_what_was_refused():
    network = Network(5600, 5700)
    assert said(network, refused=5584) == 5600
    assert min(network.tried) > 5584


def test_an_alignment_less_was_tried_of_every_program():
    networks = Network(5600, 5700), Network(5600, 8000), Network(5600, 6000)
    assert said(*networks) == 5600
    assert all(5584 in each.tried for each in networks)


def test_the_smallest_may_be_that_of_a_program_cut_in_more():
    assert said(Network(5600, 5700), Network(5200, 8000)) == 5200


def test_of_some_operators_others_than_the_program_cut_in_least_are_tried_at_a_glance():
    early, late = Network(5200, 8000), Network(5200, 8000, late=7000)
    assert said(Network(5600, 5700), early) == 5200
    assert said(Network(5600, 5700), late) == 5600
    assert said(Network(5600, 5700), late, operators=8) == 5200


def test_of_many_operators_only_the_program_cut_in_least_is_tried():
    other = Network(5200, 8000)
    assert said(Network(5600, 5700), other, operators=90) == 5600
    assert not other.tried


def test_of_hundreds_of_operators_one_in_a_hundred_is_near_enough():
    network = Network(5600, 5700)
    assert 5600 <= said(network, operators=200) <= 5660
    assert len(network.tried) <= 6


def test_what_was_taken_of_more_is_tried_before_it_is_said():
    """A plan in fewer bytes than it was searched in need not be found in these."""
    network = Network(5640, 5700, grain=64)
    smallest = said(network)
    assert smallest in network.tried and smallest >= 5640


@pytest.mark.parametrize("least", [5604, 5610, 5616])
def test_between_two_multiples_of_the_alignment_nothing_is_tried(least):
    """What fits from a byte between them on is said to need the upper one."""
    network = Network(least, 5700, grain=least)
    assert said(network) == 5616
    assert all(size % 16 == 0 for size in network.tried if size < 5690)
