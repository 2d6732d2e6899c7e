"""The graph: an ONNX model as plain data, which stages 1 and 2 read and rewrite.

Shapes, layouts and names are the model's own (NCHW); quantisation is an annotation on tensors.
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
    """real = (q - zero_point) * scale, element by element along `axis`, or for the whole tensor.

    `scale` float32 and `zero_point` int, both of shape () per tensor or (n,) per axis.
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
    """Name, static shape and element type of one value; the type is the stored one when quantised."""

    name: str
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    quantisation: Quantisation | None = None

    @property
    def meant(self) -> np.dtype[Any]:
        """The element type that it stands for: quantised integers are real numbers."""
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
    """What lives from run to run: tensor `input` holds what tensor `output` was at the end of the run before.

    Nodes read `input`; no node computes it and it is no input of the model. `output` may be anything: also an output of
    the model, an input, a constant, or `input` itself. Both have one shape and stand for one type of numbers; where
    they are stored differently lowering converts. `initial`: what `input` holds in the first run, in the form that
    the tensor has now; None: zeros, which are the zero point where it is quantised.
    """

    output: str
    input: str
    initial: np.ndarray | None = None


@dataclasses.dataclass(frozen=True)
class Graph:
    """A model: nodes in execution order, all tensors by name, constant values by name.

    `io_dtypes` holds the element type of each input and output as the model declares it, which
    differs from the stored one once quantisation is folded. An entry of `output_permutations` says
    that the model's own output is the tensor of that name with its axes permuted:
    output = tensor.transpose(permutation). `tflite`: whether the model is a .tflite file, whose integers are those of
    TensorFlow Lite Micro also where ONNX's would be closer to the real numbers. `refused`: nodes that are left
    out, with all that follows from them, and why: the model cannot be compiled, the others can be looked at.
    `labels`: names of classes, of outputs that are the index of one or have a number for each.
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
        """By which rule of the model's format float32 is quantised."""
        return Rounding.HALF_AWAY if self.tflite else Rounding.HALF_EVEN

    @property
    def sources(self) -> tuple[str, ...]:
        """What is there before the first node runs: the model's inputs, and what the run before left."""
        return (*self.inputs, *(state.input for state in self.states))

    @property
    def results(self) -> tuple[str, ...]:
        """What is there after the last node, once each: the model's outputs, and what the next run begins with."""
        return tuple(dict.fromkeys((*self.outputs, *(state.output for state in self.states))))
