"""The registry of handlers for operators of TensorFlow Lite.

To add an operator, write a function `(layer)` in a file of this folder, and register it under the schema's names.

    @handler("SQUARED_DIFFERENCE", summary="any broadcasting")
    def read_squared_difference(layer: Layer) -> None:
        shape = layer.broadcast(0, 1)
        layer.write("Sub", ..., shape)

The function adds nodes with ONNX's operators (opset network.OPSET) to the graph: `layer.write` for an output of the
file, `layer.part` for a result in between. Tensors carry their scales, so the function needs no code for quantisation.
If TensorFlow Lite's arithmetic differs from ONNX's operator, the node has `domain="tflite"` and the schema's name, and
its own lowering in compiler/lower/operators/tflite/. Raise Unsupported, with the reason, for an operator that cannot be
compiled, and `layer.fault(...)` for a file that contradicts itself.

A handler's docstring names the ONNX operators that it adds.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from tigris_pio.compiler.load.tflite.layer import Layer

Handler = Callable[[Layer], None]


@dataclasses.dataclass(frozen=True)
class Entry:
    """The handler of one operator; `summary`: its limits, for docs/operators.md."""

    operator: str
    summary: str
    read: Handler
    lists: int  #: number of inputs, from the first on, that may be lists of tensors


HANDLERS: dict[str, Entry] = {}


def handler(*names: str, summary: str, lists: int = 0) -> Callable[[Handler], Handler]:
    """Registers a function for operators; the arguments are Entry's fields."""

    def register(function: Handler) -> Handler:
        for name in names:
            if name in HANDLERS:
                raise ValueError(f"operator {name} is registered twice")
            HANDLERS[name] = Entry(name, summary, function, lists)
        return function

    return register


def read_operators() -> tuple[Entry, ...]:
    """The entries of all operators, in alphabetical order."""
    return tuple(HANDLERS[name] for name in sorted(HANDLERS))


def handler_of(operator: str) -> Entry | None:
    """The operator's entry; None if it is not supported."""
    return HANDLERS.get(operator)
