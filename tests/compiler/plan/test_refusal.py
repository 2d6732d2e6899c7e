"""Which budgets a refusal names, by programs that say what they take."""

import dataclasses
from types import SimpleNamespace
from typing import NamedTuple

from tigris_pio.compiler.ir.plan import Budget
from tigris_pio.compiler.plan.refusal import refusal


class Found(NamedTuple):
    """An arrangement."""

    fast_bytes: int
    slow: SimpleNamespace


@dataclasses.dataclass
class Network:
    """A network that takes `least` bytes, or `beside` with at least `spilled` bytes of slow memory."""

    least: int
    beside: int = 100_000
    spilled: int = 0
    asked: list[tuple[int, int]] = dataclasses.field(default_factory=list)

    def __call__(self, slow: int, enough: int) -> Found:
        self.asked.append((slow, enough))
        fast = self.beside if slow and slow >= self.spilled else self.least
        return Found(fast, SimpleNamespace(peak=4 * self.spilled if slow > 4 * self.spilled else slow))


def named(*networks: Network, refused: int = 2000) -> str:
    return refusal("net", Budget(refused, 0), 16, networks)


def test_the_smallest_of_any_order_is_named() -> None:
    assert 'works is 5200 bytes (fast="6K")' in named(Network(5601), Network(5190), Network(9000))


def test_nothing_at_or_below_what_was_refused_is_named() -> None:
    assert "works is 2001 bytes" in named(Network(1999))


def test_bytes_are_taken_for_a_forgotten_unit() -> None:
    assert '(64 is bytes: did you mean fast="64K"?)' in named(Network(5600), refused=64)


def test_slow_memory_is_named_where_it_helps_and_no_more_than_is_needed() -> None:
    """The first arrangement takes four times what another needs; the first program that fits suffices."""
    other = Network(6000)
    text = named(Network(5600, beside=1800, spilled=4096), other)
    assert text.endswith(', or add slow memory: fast="2000", slow="4K"')
    assert [slow for slow, _ in other.asked] == [0, 2048]


def test_less_fast_memory_beside_slow_memory_is_named() -> None:
    text = named(Network(5600, beside=3000, spilled=1024))
    assert text.endswith(', with slow memory 3008 bytes (fast="3K", slow="4K")')


def test_slow_memory_that_does_not_help_is_not_named() -> None:
    assert named(Network(5600)).endswith('works is 5600 bytes (fast="6K")')
