"""Which budget a refusal names, by networks that say what they work in, and how few budgets are tried to find it."""

import dataclasses
from types import SimpleNamespace
from typing import NamedTuple

import pytest

from tigris_pio.compiler.ir.plan import Budget
from tigris_pio.compiler.plan.refusal import Candidate, refusal
from tigris_pio.compiler.plan.work import Work


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
    late: int = 0  #: below this size, only the full search finds a plan
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


def named(*networks: Network, refused: int = 2000, operators: int = 30) -> int:
    text = refusal("net", Budget(refused, 0), 16, 1 << 20, [each.candidate() for each in networks], operators)
    return int(text.split("that works is ")[1].split(" ")[0])


@pytest.mark.parametrize(("cut", "most"), [(5000, 23), (5600, 23), (5700, 8), (9000, 23), (40_000, 23)])
def test_the_smallest_budget_is_found_wherever_live_bytes_fit(cut, most):
    network = Network(5600, cut)
    assert named(network) == 5600
    assert len(network.tried) == len(set(network.tried)) <= most


@pytest.mark.parametrize(("other", "operators", "smallest"), [
    (Network(5600, 8000), 30, 5600), (Network(5200, 8000), 30, 5200), (Network(5200, 8000), 90, 5600),
    (Network(5200, 8000, late=7000), 30, 5600), (Network(5200, 8000, late=7000), 8, 5200),
])  # fmt: skip
def test_other_orders_are_tried_by_the_number_of_operators(other, operators, smallest):
    """Few operators: by full searches; some: by feasibility tests; many: only the order whose live bytes fit first."""
    first = Network(5600, 5700)
    assert named(first, other, operators=operators) == smallest
    assert (5584 in other.tried) == ((operators < 90 and not other.late) or operators == 8)


def test_nothing_is_tried_at_or_below_what_was_refused():
    network = Network(5600, 5700)
    assert named(network, refused=5584) == 5600
    assert min(network.tried) > 5584


def test_of_hundreds_of_operators_one_in_a_hundred_is_near_enough():
    network = Network(5600, 5700)
    assert 5600 <= named(network, operators=200) <= 5660
    assert len(network.tried) <= 6


@pytest.mark.parametrize(("least", "grain"), [(5640, 64), (5604, 5604), (5616, 5616)])
def test_the_budget_that_is_named_was_tried_and_is_aligned(least, grain):
    """A plan that takes fewer bytes than it was searched in need not be found in these."""
    network = Network(least, 5700, grain=grain)
    smallest = named(network)
    assert smallest == (5616 if grain == least else smallest) >= least
    assert smallest in network.tried
    assert all(size % 16 == 0 for size in network.tried if size < 5690)


def test_a_search_that_takes_long_names_the_smallest_that_was_tried():
    """Each budget that is tried takes 30,000 units of work: two may be tried, then what lies whole."""
    work = Work()

    def find(fast: int, slow: int) -> Found | None:
        work.charge(30_000)
        return Found(fast) if fast >= (60 if slow else 5600) else None

    def said(cut: int, refused: int) -> str:
        candidate = Candidate(find, lambda fast, slow: fast >= cut, find)
        return refusal("net", Budget(refused, 0), 16, 1 << 20, [candidate], 30, work)

    named = 'that works is 5680 bytes, of the sizes tried (fast="5680"), or add slow memory: fast="2000"'
    assert named in said(5700, 2000)
    assert "that works is 1048576 bytes, of the sizes tried" in said(4000, 2000)
    work.spent = 3_000_000  # as much as the refused plan took
    assert "that works is 5600 bytes (fast=\"6K\")" in said(5700, 2000)
