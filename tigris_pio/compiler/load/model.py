"""Loads a model by the front end of its format; the pipeline calls it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import onnx

from tigris_pio.compiler.ir.graph import Graph
from tigris_pio.compiler.limits import Limits
from tigris_pio.compiler.load.onnx.model import load_onnx
from tigris_pio.compiler.load.states import Tie, tie_states
from tigris_pio.compiler.normalise.verify import BrokenGraph, check_graph
from tigris_pio.errors import ModelError, TigrisError

DEFAULT_LIMITS = Limits()
#: Exceptions by which a contradiction in a file shows that no check foresees.
_UNREADABLE = (ArithmeticError, ValueError, LookupError, TypeError, AttributeError, RuntimeError, MemoryError)
#: The file identifier of TensorFlow Lite, at byte 4.
_TFLITE = b"TFL3"


def load_model(source: Path | str | bytes | onnx.ModelProto, dims: Mapping[str, int] | None = None,
               limits: Limits = DEFAULT_LIMITS, fixed: Mapping[str, object] | None = None,
               states: Sequence[Tie] = ()) -> Graph:
    """Reads a model into a graph with static shapes, nodes in execution order. Raises ModelError or UsageError.

    source: a file, the content of a .tflite file, or an ONNX model in memory
    dims: sizes of free input dimensions, by symbol or as INPUT:AXIS; a free first axis becomes 1, with a warning
    fixed: values of inputs that become constants; for an input of `states`, its value in the first run
    states: outputs that become inputs of the next run

    Operators that cannot be read are listed in `refused` of the graph.
    """
    name = source.graph.name if isinstance(source, onnx.ModelProto) else "model"
    name = str(source) if isinstance(source, Path | str) else name
    try:
        graph = _read(source, dims or {}, limits, fixed or {}, states)
        if not graph.refused:  # with refused nodes, tensors are missing
            check_graph(graph)
        return graph
    except BrokenGraph as fault:
        raise ModelError(f"{name}: {fault}: the types that the file declares contradict each other") from None
    except TigrisError:
        raise
    except _UNREADABLE as error:
        if os.environ.get("TIGRIS_DEBUG"):
            raise
        raise ModelError(
            f"{name}: cannot be read ({type(error).__name__}: {error}): it is damaged or breaks its format's rules; "
            "export it again, and report the error if other tools read it"
        ) from error


def _read(source: Path | str | bytes | onnx.ModelProto, dims: Mapping[str, int], limits: Limits,
          fixed: Mapping[str, object], states: Sequence[Tie]) -> Graph:
    held = {name for _, name in states}
    first = {name: value for name, value in fixed.items() if name in held}
    fixed = {name: value for name, value in fixed.items() if name not in held}
    if isinstance(source, bytes) or (not isinstance(source, onnx.ModelProto) and is_tflite(source)):
        from tigris_pio.compiler.load.tflite.model import load_tflite  # noqa: PLC0415 (needed for .tflite alone)

        graph = load_tflite(source, dims, limits, fixed)
    else:
        graph = load_onnx(source, dims, limits, fixed)
    return graph if graph.refused else tie_states(graph, states, first)


def is_tflite(source: Path | str | bytes) -> bool:
    """Whether a file, or its content, is TensorFlow Lite's: by its identifier, or else by the file's name."""
    if isinstance(source, bytes):
        return source[4:8] == _TFLITE
    try:
        with open(source, "rb") as file:
            if file.read(8)[4:] == _TFLITE:
                return True
    except (OSError, ValueError):
        pass  # the front end reports what is wrong
    return os.fspath(source).endswith(".tflite")
