"""Limits on memory and work that a model file may cause: a file of a kilobyte can require more than any machine has.

Networks for microcontrollers stay far below every limit. A refusal names the limit, the required number, the place in
the model, and the option that raises the limit.
"""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Mapping

from tigris_pio import spelling
from tigris_pio.errors import ModelError, UsageError


@dataclasses.dataclass(frozen=True)
class Limits:
    """The largest numbers that are accepted."""

    nodes: int = 100_000  #: nodes of the graph, functions inlined and loops unrolled
    unrolled: int = 4_096  #: nodes that one loop may become
    constants: int = 640 << 20  #: bytes of constants that are computed from others and alive at once
    computed: int = 2 << 30  #: bytes of all constants that are computed, dead or alive
    elements: int = 1 << 27  #: elements of one tensor that is not stored in the file
    name: int = 1_024  #: bytes of a name
    depth: int = 20  #: graphs within graphs, and functions that call functions

    def most_counted_trips(self, nodes: int) -> int:
        """The trips after which counting stops for a loop of `nodes` nodes; more than may be unrolled."""
        return 2 * self.unrolled // max(nodes, 1) + 1

    def too_many_trips(self, nodes: int, where: str) -> ModelError:
        """The error for a loop of `nodes` nodes that runs longer than most_counted_trips()."""
        most = self.unrolled // max(nodes, 1)
        counted = self.most_counted_trips(nodes)
        return ModelError(f"{where}: it runs more than {counted:,} times; at most {most:,} trips are unrolled: export "
                          "the model with fewer steps")

    def check(self, name: str, required: int, where: str) -> None:
        """Raises ModelError if `required` exceeds the limit `name`; `where` names the part of the model."""
        most: int = getattr(self, name)
        if required > most:
            limit = spelling.limit(name, required)
            raise ModelError(f"{where}: {required:,} {_UNITS[name]}; the limit is {most:,}, {limit} raises it")


#: The units of the limits, for messages.
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
    """The default limits with the values of `given`. Raises UsageError for an unknown name or a number below 1."""
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
    """Counts the bytes of computed constants, of those that are still read and of all, and holds them to the limits."""

    def __init__(self, limits: Limits, origin: str) -> None:
        self._limits, self._origin = limits, origin
        self._alive: dict[str, int] = {}
        self._live = self._all = 0

    def check(self, where: str, size: int) -> None:
        """Raises ModelError if `size` more bytes exceed a limit; `where` names the node."""
        self._limits.check("constants", self._live + size, f"{self._origin}: {where}")
        self._limits.check("computed", self._all + size, f"{self._origin}: {where}")

    def is_counted(self, name: str) -> bool:
        """Whether the constant was computed and is still read."""
        return name in self._alive

    def add(self, name: str, size: int, where: str) -> None:
        """Counts a constant that was computed. Raises ModelError beyond the limit."""
        self.free(name)
        self._limits.check("computed", self._all + size, f"{self._origin}: {where}")
        self._alive[name] = size
        self._live += size
        self._all += size

    def free(self, name: str) -> bool:
        """Ends a constant that is not read any more; returns whether it was a computed one."""
        known = name in self._alive
        self._live -= self._alive.pop(name, 0)
        return known
