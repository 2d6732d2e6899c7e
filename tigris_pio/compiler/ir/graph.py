"""The graph: a model with ONNX's operators as plain data. Loading makes it, passes rewrite it, lowering reads it.

Shapes, element orders and names are the model's own (NCHW); quantisation is an annotation on tensors.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from tigris_pio.compiler.limits import Limits
from tigris_pio.format.enums import Rounding


@dataclasses.dataclass(frozen=True, eq=False)
class Quantisation:
    """real = (q - zero_point) * scale, with one scale for the whole tensor or one for each index of `axis`.

    `scale` is float32 and `zero_point` an integer; both have shape () without an axis, (n,) with one.
    """

    scale: np.ndarray
    zero_point: np.ndarray
    dtype: np.dtype[Any]
    axis: int | None = None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Quantisation):
            return NotImplemented
        return (
            self.axis == other.axis
            and self.dtype == other.dtype
            and np.array_equal(self.scale, other.scale)
            and np.array_equal(self.zero_point, other.zero_point)
        )

    def __hash__(self) -> int:
        return hash((self.axis, self.scale.tobytes(), self.dtype.str))


@dataclasses.dataclass(frozen=True)
class Tensor:
    """Name, static shape and element type of one value; the type of a quantised tensor is the stored integers'."""

    name: str
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    quantisation: Quantisation | None = None

    @property
    def value_dtype(self) -> np.dtype[Any]:
        """The element type of the values: float32 for quantised integers."""
        return self.dtype if self.quantisation is None else np.dtype(np.float32)


@dataclasses.dataclass(frozen=True)
class Node:
    """One operator. An absent optional input is the empty string."""

    name: str
    op: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    domain: str = ""


@dataclasses.dataclass(frozen=True, eq=False)
class State:
    """A state between runs: tensor `input` has the value that tensor `output` had at the end of the run before.

    Nodes read `input`; no node computes it, and it is no input of the model. `output` may be any tensor: also an output
    of the model, an input, a constant, or `input` itself. Both have one shape and one `value_dtype`; if they are stored
    differently, lowering converts. `initial`: the value of `input` in the first run, in the tensor's stored type; None:
    zeros, which are the zero point of a quantised tensor.
    """

    output: str
    input: str
    initial: np.ndarray | None = None


@dataclasses.dataclass(frozen=True)
class Graph:
    """A model: nodes in execution order, all tensors by name, constant values by name.

    io_dtypes: the element type of each input and output as the model declares it; it differs from the stored type once
        quantisation is folded
    output_permutations: for an output whose last Transpose was removed: output = tensor.transpose(permutation)
    tflite: the model is a .tflite file; integers are computed as TensorFlow Lite Micro computes them, not ONNX
    refused: nodes that are not supported, with the reasons. They and all nodes behind them are left out, so the model
        cannot be compiled, but the other nodes can still be checked
    labels: the names of classes, by output, for an output that is the index of a class or has a number for each
    """

    name: str
    opset: int
    nodes: tuple[Node, ...]
    tensors: Mapping[str, Tensor]
    weights: Mapping[str, np.ndarray]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    source_sha256: bytes = b"\0" * 32
    warnings: tuple[str, ...] = ()
    limits: Limits = dataclasses.field(default_factory=Limits)
    io_dtypes: Mapping[str, np.dtype[Any]] = dataclasses.field(default_factory=dict)
    output_permutations: Mapping[str, tuple[int, ...]] = dataclasses.field(default_factory=dict)
    states: tuple[State, ...] = ()
    tflite: bool = False
    refused: tuple[tuple[Node, str], ...] = ()
    labels: Mapping[str, tuple[str, ...]] = dataclasses.field(default_factory=dict)

    @property
    def rounding(self) -> Rounding:
        """The model format's rule for quantising float32."""
        return Rounding.HALF_AWAY if self.tflite else Rounding.HALF_EVEN

    @property
    def sources(self) -> tuple[str, ...]:
        """The tensors that have a value before the first node runs: the model's inputs and the states."""
        return (*self.inputs, *(state.input for state in self.states))

    @property
    def results(self) -> tuple[str, ...]:
        """The tensors that are needed after the last node, each once: the model's outputs, the states' next values."""
        return tuple(dict.fromkeys((*self.outputs, *(state.output for state in self.states))))
