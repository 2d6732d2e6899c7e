"""Calls the search for a placement in C (runtime/host/placement_search.c), for the planner."""

import ctypes
import weakref
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tigris_pio.errors import ToolError
from tigris_pio.host import library

_INTS = ctypes.POINTER(ctypes.c_int32)
NO_MEMORY = -2
#: Outcomes of a search.
FOUND, EXHAUSTED, LIMIT = 1, 0, -1
#: Rules that prune it: values of TIGRIS_PLACE_… in runtime/host/placement_search.h.
LOADS, HEADS, DOMINANCE, BLOCKERS, DECOMPOSITION = 1, 2, 4, 8, 16


class _Problem(ctypes.Structure):
    """tigris_place_problem."""

    _fields_ = (
        ("requests", ctypes.c_int32),
        ("pieces", ctypes.c_int32),
        ("sections", ctypes.c_int32),
        ("stacked", ctypes.c_int32),
        ("first_piece", _INTS),
        ("offset", _INTS),
        ("size", _INTS),
        ("first_member", _INTS),
        ("members", _INTS),
    )


class _Question(ctypes.Structure):
    """tigris_place_question."""

    _fields_ = (
        ("rank", _INTS),
        ("capacity", ctypes.c_int32),
        ("rules", ctypes.c_uint32),
        ("fullest_first", ctypes.c_int32),
        ("staircases_first", ctypes.c_int32),
        ("limit", ctypes.c_int64),
    )


class Geometry(NamedTuple):
    """The constant part of several searches, in units; see tigris_place_problem."""

    first_piece: Sequence[int]
    offset: Sequence[int]
    size: Sequence[int]
    first_member: np.ndarray
    members: np.ndarray
    stacked: int


class PlacementSearch:
    """Runs searches of one problem; ToolError if there is no library."""

    def __init__(self, geometry: Geometry) -> None:
        host = library.load()
        self._requests = len(geometry.first_piece) - 1
        sizes = (self._requests, len(geometry.size), len(geometry.first_member) - 1, geometry.stacked)
        self._problem = _Problem(*sizes, *(_array(values) for values in geometry[:-1]))
        self._state = host.tigris_host_place_open(ctypes.byref(self._problem))
        if not self._state:
            raise ToolError(self._too_little())
        self._search = host.tigris_host_place
        weakref.finalize(self, host.tigris_host_place_close, self._state)

    def run(
        self, rank: Sequence[int], capacity: int, rules: int, fullest_first: bool, staircases_first: bool, limit: int
    ) -> tuple[int, list[int], int]:
        """Returns (outcome, offsets in units, nodes); outcome: 1 found, 0 exhausted, -1 limit of nodes reached."""
        starts, nodes = (ctypes.c_int32 * max(1, self._requests))(), ctypes.c_int64()
        question = _Question(_array(rank), capacity, rules, fullest_first, staircases_first, limit)
        outcome = self._search(self._state, ctypes.byref(question), starts, ctypes.byref(nodes))
        if outcome == NO_MEMORY:
            raise ToolError(self._too_little())
        return outcome, list(starts)[: self._requests], nodes.value

    def _too_little(self) -> str:
        return f"this machine has too little memory to place {self._requests:,} requests"


def _array(values: Sequence[int] | np.ndarray) -> ctypes.Array[ctypes.c_int32]:
    found = np.zeros(max(1, len(values)), np.int32)
    found[: len(values)] = values
    return (ctypes.c_int32 * len(found)).from_buffer_copy(found.tobytes())
