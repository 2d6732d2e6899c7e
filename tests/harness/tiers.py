"""Which tests run, and with how many examples.

`make test` runs the tier `fast`; `make test-all` runs `all`, with the tests marked `thorough`; `make fuzz` runs `fuzz`,
the tests marked `fuzzed` with many more random examples. By hand: `pytest --tier all tests/runtime`.
"""

import functools
from collections import Counter
from collections.abc import Callable, Collection, Iterable
from typing import Any

import pytest

TIERS = ("fast", "all", "fuzz")
_chosen = TIERS[0]


def choose(tier: str) -> None:
    """To be called once, before the test modules are imported."""
    global _chosen  # noqa: PLW0603
    _chosen = tier


def chosen() -> str:
    """The tier of this run."""
    return _chosen


def runs(item: pytest.Item) -> bool:
    """Whether a test belongs to the tier of this run."""
    if _chosen == "fuzz":
        return item.get_closest_marker("fuzzed") is not None
    return _chosen == "all" or item.get_closest_marker("thorough") is None


def examples(fast: int, everything: int, fuzz: int | None = None) -> int:
    """A number of examples by tier, such as hypothesis' `max_examples`."""
    return {"fast": fast, "all": everything, "fuzz": everything if fuzz is None else fuzz}[_chosen]


def sampled(cases: Iterable[Any], fast: int | Collection[str]) -> list[Any]:
    """Cases for `parametrize`: `make test` runs some of them, `make test-all` all.

    `fast`: how many, evenly spread, or the names of those (a case that is a tuple is named by its first element).
    """
    every = list(cases)
    if isinstance(fast, int):
        kept = {index * len(every) // fast for index in range(fast)} if fast < len(every) else set(range(len(every)))
    else:
        named = [str(case[0] if isinstance(case, tuple) else case) for case in every]
        unknown = set(fast) - set(named)
        assert not unknown, f"no cases: {sorted(unknown)}"
        kept = {index for index, name in enumerate(named) if name in fast}
    return [case if index in kept else _thorough(case) for index, case in enumerate(every)]


def _thorough(case: Any) -> Any:
    return pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=pytest.mark.thorough)


def counted(**least: int) -> Callable[[Callable[..., None]], Callable[[], None]]:
    """For a hypothesis test whose body may be empty for an example: its first argument counts, and in the end at least
    so many of each kind must have been seen.

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

        # functools.wraps would make pytest take the arguments of the wrapped function for fixtures.
        marked: Any = functools.update_wrapper(all_examples, test, assigned=("__module__", "__name__", "__doc__"))
        del marked.__wrapped__
        return all_examples

    return decorate
