"""Lowers one node as a sequence of other nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tigris_pio.compiler.ir.graph import Node
from tigris_pio.compiler.lower.builder import Builder
from tigris_pio.compiler.lower.registry import REGISTRY
from tigris_pio.compiler.normalise.rules import channels_last_axis


class Composer:
    """Lowers the parts of one node. Intermediate tensors are float32, as are booleans."""

    def __init__(self, builder: Builder, node: Node):
        self.builder = builder
        self.node = node

    def constant(self, value: Any) -> str:
        """Adds a float32 constant; returns its name."""
        name = self.builder.fresh(f"{self.node.outputs[0]}/constant")
        self.builder.define_constant(name, np.asarray(value, np.float32))
        return name

    def add(self, op: str, inputs: Sequence[str], shape: Sequence[int],
            attributes: Mapping[str, Any] | None = None) -> str:
        """Lowers a part whose result has this shape; returns the result's name."""
        result = self.builder.declare(f"{self.node.outputs[0]}/{op.lower()}", shape)
        self._lower(op, inputs, result, attributes or {})
        return result

    def add_as(self, op: str, inputs: Sequence[str], result: str, attributes: Mapping[str, Any] | None = None) -> None:
        """Lowers a part whose result is a tensor that the builder knows."""
        self._lower(op, inputs, result, attributes or {})

    def finish(self, op: str, inputs: Sequence[str], attributes: Mapping[str, Any] | None = None) -> None:
        """Lowers the part that makes the node's first output, with the node's fused activation."""
        fused = {name: value for name, value in self.node.attributes.items() if name.startswith("activation_")}
        self._lower(op, inputs, self.node.outputs[0], {**(attributes or {}), **fused})

    def _lower(self, op: str, inputs: Sequence[str], result: str, attributes: Mapping[str, Any]) -> None:
        if op == "Concat":  # as the pass concat_axis does
            stored = channels_last_axis(attributes["axis"], len(self.builder.shape(result)))
            attributes = {**attributes, "stored_axis": stored}
        REGISTRY[op].lower(self.builder, Node(self.node.name, op, tuple(inputs), (result,), attributes))
