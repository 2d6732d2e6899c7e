"""Ties outputs to inputs as the user asks: the input has in each run the value of the output in the run before."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from tigris_pio import spelling
from tigris_pio.compiler.ir.graph import Graph, State, Tensor
from tigris_pio.compiler.load.fixed_values import fixed_array
from tigris_pio.compiler.load.tflite.annotation import stored
from tigris_pio.errors import UsageError
from tigris_pio.text import suggest_names, visible_name

#: (output, input)
Tie = tuple[str, str]


def tie_states(graph: Graph, ties: Sequence[Tie], first: Mapping[str, object] | None = None) -> Graph:
    """`graph` with a state for each tie; tied outputs and inputs are no longer the model's.

    `first`: values of inputs in the first run, as numbers or their text; other states start with zeros.

    Raises UsageError for names, shapes and types that do not fit.
    """
    tied_by: dict[str, Tie] = {}
    for tie in ties:
        output, held = tie
        _check_name(graph, tie, "output", output, graph.outputs)
        _check_name(graph, tie, "input", held, graph.inputs)
        if held in tied_by:
            raise UsageError(f"{_given(tie)}: input {visible_name(held)} is tied already, by {_given(tied_by[held])}")
        tied_by[held] = tie
        _check_same(tie, graph.tensors[output], graph.tensors[held])
    tied = {output for output, _ in ties}
    outputs = tuple(name for name in graph.outputs if name not in tied)
    if ties and not outputs:
        raise UsageError(f"{_given(ties[-1])}: {graph.name} has no output left that is not tied; give the model one "
                         "more output")  # fmt: skip
    return dataclasses.replace(
        graph,
        inputs=tuple(name for name in graph.inputs if name not in tied_by),
        outputs=outputs,
        states=(*graph.states, *(State(output, held, _initial(graph, held, first or {})) for output, held in ties)),
    )


def _initial(graph: Graph, held: str, first: Mapping[str, object]) -> np.ndarray | None:
    """The first value of a state in its tensor's stored type: quantised uint8 is stored as int8, less 128."""
    if held not in first:
        return None
    tensor, dtype = graph.tensors[held], graph.io_dtypes[held]
    array = fixed_array(held, dtype, tensor.shape, first[held])
    return stored(array) if tensor.quantisation is not None else array


def _given(tie: Tie) -> str:
    """The option as the user wrote it."""
    return spelling.state(*map(visible_name, tie))


def _check_name(graph: Graph, tie: Tie, kind: str, name: str, known: Iterable[str]) -> None:
    known = tuple(known)
    if name in known:
        return
    has = suggest_names(name, known)
    raise UsageError(f"{_given(tie)}: {graph.name} has no {kind} {visible_name(name)}; {has}")


def _check_same(tie: Tie, output: Tensor, held: Tensor) -> None:
    if (output.shape, output.dtype) != (held.shape, held.dtype):
        raise UsageError(
            f"{_given(tie)}: output {visible_name(output.name)} is {output.dtype} {list(output.shape)} and input "
            f"{visible_name(held.name)} {held.dtype} {list(held.shape)}; both must be the same"
        )
