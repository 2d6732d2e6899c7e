"""Names that the compiler makes: free ones only, whatever names a model brings along."""

from __future__ import annotations

from collections.abc import Iterable


class Names:
    """The names in use in one graph, program or C file. `fresh` is the only way to make another one."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._taken = set(taken)
        self._next: dict[str, int] = {}

    def __contains__(self, name: str) -> bool:
        return name in self._taken

    def add(self, *names: str) -> None:
        """Names that are in use from now on, whoever made them."""
        self._taken.update(names)

    def fresh(self, base: str) -> str:
        """`base` if it is free, otherwise `base_1`, `base_2`, …, the first that is. It is in use afterwards."""
        name, count = base, self._next.get(base, 0)
        while not name or name in self._taken:
            count += 1
            name = f"{base}_{count}"
        self._next[base] = count
        self._taken.add(name)
        return name
