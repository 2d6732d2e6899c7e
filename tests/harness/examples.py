"""How many examples: a few in `make test`, more in `make fuzz`, which runs the tests marked `thorough` again; and how
many of them looked at what the test is about."""

from __future__ import annotations

import functools
import os
from collections import Counter
from collections.abc import Callable
from typing import Any


def examples(usual: int, thorough: int) -> int:
    """For hypothesis' max_examples, of a test marked thorough."""
    return thorough if os.environ.get("TIGRIS_THOROUGH") else usual


def counted(**least: int) -> Callable[[Callable[..., None]], Callable[[], None]]:
    """For a hypothesis test whose body may be empty for an example: its first argument counts, and in the end so many
    of each kind must have been seen.

        @counted(refused=5)
        @settings(…)
        @given(…)
        def test_anything(seen, …): … seen["refused"] += 1
    """

    def decorate(test: Callable[..., None]) -> Callable[[], None]:
        def all_examples() -> None:
            seen = Counter[str]()
            test(seen)
            short = {kind: seen[kind] for kind, count in least.items() if seen[kind] < count}
            assert not short, f"{short} of {least}: the examples miss what the test is about"

        # Not functools.wraps: pytest would take the arguments of the wrapped function for fixtures.
        marked: Any = functools.update_wrapper(all_examples, test, assigned=("__module__", "__name__", "__doc__"))
        del marked.__wrapped__
        return all_examples

    return decorate
