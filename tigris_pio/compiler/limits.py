"""What a model file may ask of the compiler. A file of a kilobyte can ask for more than any machine has.

Every limit is far beyond networks for microcontrollers, and can be raised: a refusal names the limit, what was asked
for, where, and the option.
"""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Mapping

from tigris_pio import spelling
from tigris_pio.errors import ModelError, UsageError


@dataclasses.dataclass(frozen=True)
class Limits:
    """Refusals begin above these numbers."""

    nodes: int = 100_000  #: nodes of the graph, functions inlined and loops unrolled
    unrolled: int = 4_096  #: nodes that one loop may become
    constants: int = 640 << 20  #: bytes of constants that are computed from others and alive at once
    computed: int = 2 << 30  #: bytes of all constants that are computed, dead or alive
    elements: int = 1 << 27  #: elements of one tensor that is not stored in the file
    name: int = 1_024  #: bytes of a name
    depth: int = 20  #: graphs within graphs, and functions that call functions

    def most_trips(self, nodes: int) -> int:
        """Trips up to which those of a loop with so many nodes are counted: some more than may be unrolled."""
        return 2 * self.unrolled // max(nodes, 1) + 1

    def endless(self, nodes: int, where: str) -> ModelError:
        """The refusal of a loop with more trips than that."""
        most = self.unrolled // max(nodes, 1)
        return ModelError(f"{where}: it runs more than {self.most_trips(nodes):,} times; at most {most:,} trips are "
                          "unrolled: export the model with fewer steps")

    def check(self, name: str, asked: int, where: str) -> None:
        """Raises ModelError when `asked` is beyond the limit `name`; `where` says who asks, for what."""
        most: int = getattr(self, name)
        if asked > most:
            raise ModelError(
                f"{where}: {asked:,} {_UNITS[name]}; the limit is {most:,}, {spelling.limit(name, asked)} raises it"
            )


#: What the numbers count, in a refusal.
_UNITS: Mapping[str, str] = {
    "nodes": "nodes",
    "unrolled": "nodes unrolled",
    "constants": "bytes of computed constants at once",
    "computed": "bytes of computed constants in all",
    "elements": "elements in one tensor",
    "name": "bytes in a name",
    "depth": "levels of nesting",
}
NAMES = tuple(field.name for field in dataclasses.fields(Limits))


def find_limits(given: Mapping[str, int] | Limits) -> Limits:
    """The limits with those in `given` changed; UsageError for a name or number that is none."""
    if isinstance(given, Limits):
        return given
    if not isinstance(given, Mapping):
        raise UsageError(f"{spelling.option('limit')}: {given!r} is no mapping of names to numbers")
    for name, value in given.items():
        if name not in NAMES:
            close = difflib.get_close_matches(name, NAMES, n=1)
            meant = f"did you mean {close[0]}? " if close else ""
            raise UsageError(f"{spelling.limit(name, value)}: no such limit; {meant}There are {', '.join(NAMES)}")
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise UsageError(f"{spelling.limit(name, value)}: a limit is a whole number of at least 1")
    return Limits(**given)


class ConstantBudget:
    """Counts the bytes of constants that are computed: those alive, and all."""

    def __init__(self, limits: Limits, label: str) -> None:
        self._limits, self._label = limits, label
        self._alive: dict[str, int] = {}
        self._live = self._all = 0

    def ask(self, where: str, size: int) -> None:
        """Raises ModelError when `size` more bytes are too many; `where` names the node."""
        self._limits.check("constants", self._live + size, f"{self._label}: {where}")
        self._limits.check("computed", self._all + size, f"{self._label}: {where}")

    def knows(self, name: str) -> bool:
        """Whether a constant is one of those counted."""
        return name in self._alive

    def add(self, name: str, size: int, where: str) -> None:
        """A constant has been computed."""
        self.free(name)
        self._limits.check("computed", self._all + size, f"{self._label}: {where}")
        self._alive[name] = size
        self._live += size
        self._all += size

    def free(self, name: str) -> bool:
        """A constant is not read any more; whether it was a computed one."""
        known = name in self._alive
        self._live -= self._alive.pop(name, 0)
        return known
