"""Makes names that no tensor, node or C identifier of a model has."""

from __future__ import annotations

from collections.abc import Iterable


class Names:
    """The names in use in one graph, program or C file; `fresh` makes new ones."""

    def __init__(self, used: Iterable[str] = ()) -> None:
        self._used = set(used)
        self._next: dict[str, int] = {}

    def __contains__(self, name: str) -> bool:
        return name in self._used

    def add(self, *names: str) -> None:
        """Marks names as in use."""
        self._used.update(names)

    def fresh(self, base: str) -> str:
        """A name that is not in use: `base`, or else the first of `base_1`, `base_2`, …. Marks it as in use."""
        name, count = base, self._next.get(base, 0)
        while not name or name in self._used:
            count += 1
            name = f"{base}_{count}"
        self._next[base] = count
        self._used.add(name)
        return name
