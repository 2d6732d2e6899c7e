"""Tells the compiler's own faults from those of a model."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from contextlib import contextmanager

from tigris_pio.compiler.ir.graph import Node
from tigris_pio.compiler.ir.program import ProgramOp
from tigris_pio.errors import InternalError, TigrisError, internal_error


@contextmanager
def compiler_step(name: str) -> Iterator[None]:
    """Inside, an exception that is no TigrisError becomes an InternalError with the names of the step and its node."""
    try:
        yield
    except (TigrisError, InternalError):
        raise
    except Exception as error:
        node = _current_node(error)
        raise internal_error(f"{name} at {node}" if node else name, error) from error


def _current_node(error: Exception) -> str:
    """The name of the node or operator among the local variables of the innermost function with one; "" for none."""
    held = [value.name for frame, _ in traceback.walk_tb(error.__traceback__) for value in frame.f_locals.values()
            if isinstance(value, Node | ProgramOp)]
    return held[-1] if held else ""
