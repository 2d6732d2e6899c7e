"""Which operators of TensorFlow Lite are read, and how.

To add one: write a function `(layer)` in the file of its family (a new file goes to operators/__init__.py) and register
it under the schema's names:

    @handler("SQUARED_DIFFERENCE", summary="any broadcasting")
    def read_squared_difference(layer: Layer) -> None:
        shape = layer.broadcast(0, 1)
        layer.write("Sub", ..., shape)

It adds nodes of ONNX's operators (opset network.OPSET) to the graph: `layer.write` for an output of the file,
`layer.part` for what lies between. Tensors carry their scales, so nothing is said about quantisation. Where TensorFlow
Lite's arithmetic is not that of an ONNX operator, the node has `domain="tflite"` and the schema's name, and a lowering
of its own in compiler/lower/operators/tflite/. What cannot be compiled raises Unsupported with the reason, a file that
contradicts itself `layer.fault(...)`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from tigris_pio.compiler.load.tflite.layer import Layer

Handler = Callable[[Layer], None]


@dataclasses.dataclass(frozen=True)
class Entry:
    """How one operator is read."""

    operator: str
    summary: str
    read: Handler
    lists: int  #: the first so many inputs may be lists of tensors


HANDLERS: dict[str, Entry] = {}


def handler(*names: str, summary: str, lists: int = 0) -> Callable[[Handler], Handler]:
    """Registers a function for operators; `lists`: the first so many inputs may be lists of tensors."""

    def register(function: Handler) -> Handler:
        for name in names:
            if name in HANDLERS:
                raise ValueError(f"operator {name} is registered twice")
            HANDLERS[name] = Entry(name, summary, function, lists)
        return function

    return register


def read_operators() -> tuple[Entry, ...]:
    """All operators that are read, in alphabetical order."""
    from tigris_pio.compiler.load.tflite import operators  # noqa: F401, PLC0415

    return tuple(HANDLERS[name] for name in sorted(HANDLERS))


def handler_of(operator: str) -> Entry | None:
    """The operator's entry, or None."""
    from tigris_pio.compiler.load.tflite import operators  # noqa: F401, PLC0415 (importing fills the registry)

    return HANDLERS.get(operator)
