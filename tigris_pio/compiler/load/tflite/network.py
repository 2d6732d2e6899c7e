"""Network: the graph while it is built, with tensors, constants and nodes under unique names.

TensorFlow Lite's images are [N, H, W, C]; the graph's operators on images read [N, C, H, W]. So a tensor of four axes
may have a second name, its *image*, behind a Transpose. Such a Transpose moves no data: lowering stores the graph's
images channels last, and only records the element order.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tigris_pio.compiler.evaluate import evaluate, is_deterministic
from tigris_pio.compiler.ir.graph import Node, Quantisation, Tensor
from tigris_pio.compiler.ir.names import Names
from tigris_pio.compiler.limits import ConstantBudget, Limits
from tigris_pio.compiler.load.tflite.file import Subgraph
from tigris_pio.compiler.normalise.editor import dequantised
from tigris_pio.compiler.normalise.integers import RECODE

#: The ONNX opset of the graph's operators.
OPSET = 20
TO_IMAGE, FROM_IMAGE = (0, 3, 1, 2), (0, 2, 3, 1)
IMAGE_SUFFIX = "/image"
#: Operators that move elements, and so may be applied to the integers of a quantised constant.
_MOVES = frozenset(("Reshape", "Transpose", "Slice", "Identity", "Gather", "Tile", "Expand"))
#: The domain of nodes with TensorFlow Lite's own arithmetic, which no ONNX operator has.
DOMAIN = "tflite"


class Unsupported(Exception):
    """An operator that cannot be compiled. Its text completes the message "node X (OP): …"."""


class Network:
    """The tensors, constants and nodes of one model, while handlers add them."""

    def __init__(self, origin: str, limits: Limits, subgraphs: Sequence[Subgraph] = ()) -> None:
        self.origin, self.limits, self.subgraphs = origin, limits, subgraphs
        self.tensors: dict[str, Tensor] = {}
        self.weights: dict[str, np.ndarray] = {}
        self.nodes: list[Node] = []
        self.warnings: list[str] = []
        self.inputs: list[str] = []
        self.refused: list[tuple[Node, str]] = []
        self.hybrid: list[str] = []  #: nodes with quantised weights between float tensors
        self.images: dict[str, str] = {}  #: by tensor
        self.lists: dict[str, tuple[str, ...]] = {}  #: items of a list by its name; an item "" has no value yet
        self._widened: dict[str, str] = {}
        self._transposed: dict[tuple[str, tuple[int, ...]], str] = {}  #: constants by name and permutation
        self._names = Names()
        self._nodes = 0
        self._budget = ConstantBudget(limits, origin)

    def refuse(self, name: str, op: str, reason: str, domain: str = "") -> None:
        """Records a reason why the model cannot be compiled that belongs to no node of the graph."""
        self.refused.append((Node(name, op, (), (), {}, domain), reason))

    def count_nodes(self, more: int) -> None:
        """Counts the nodes of a subgraph, once for each of its runs. Raises ModelError beyond the limit."""
        self._nodes += more
        self.limits.check("nodes", self._nodes, f"{self.origin}: its subgraphs, where they are run")

    def fresh(self, base: str) -> str:
        """A name that no tensor or node has."""
        return self._names.fresh(base)

    def add_tensor(self, name: str, shape: Sequence[int], dtype: np.dtype[Any],
                   quantisation: Quantisation | None = None) -> str:
        """Declares an activation under a name of its own."""
        kind = dtype if quantisation is None else quantisation.dtype
        self.tensors[name] = Tensor(name, tuple(shape), kind, quantisation)
        return name

    def add_constant(self, base: str, value: np.ndarray, quantisation: Quantisation | None = None) -> str:
        """Adds a constant and returns its name."""
        name = self.fresh(base)
        self.set_constant(name, value, quantisation)
        return name

    def set_constant(self, name: str, value: np.ndarray, quantisation: Quantisation | None = None) -> None:
        """Makes `name` a constant."""
        self.weights[name] = value
        self.tensors[name] = Tensor(name, value.shape, value.dtype, quantisation)

    def is_constant(self, name: str) -> bool:
        """Whether a tensor is a constant."""
        return name in self.weights

    def real(self, name: str) -> np.ndarray:
        """A constant's real values, dequantised if it is annotated."""
        quantisation = self.tensors[name].quantisation
        return self.weights[name] if quantisation is None else dequantised(self.weights[name], quantisation)

    def add_node(self, name: str, op: str, inputs: Sequence[str], outputs: Sequence[str],
                 attributes: Mapping[str, Any] | None = None, domain: str = "") -> None:
        """Adds a node whose outputs are declared; evaluates it at once if it reads constants alone."""
        node = Node(name, op, tuple(inputs), tuple(outputs), dict(attributes or {}), domain)
        if not self._computed(node):
            self.nodes.append(node)

    def _computed(self, node: Node) -> bool:
        """Evaluates a node of constants; returns False if it cannot. For quantised constants, only nodes of _MOVES."""
        read = [name for name in node.inputs if name]
        written = [self.tensors[name] for name in node.outputs if name]
        if node.domain or not all(map(self.is_constant, read)) or not is_deterministic(node):
            return False
        annotations = {self.tensors[name].quantisation for name in read[:1]} | {item.quantisation for item in written}
        annotations |= {self.tensors[name].quantisation for name in read[1:]} - {None}
        if annotations != {None}:
            (only, *others) = annotations
            if others or only is None or only.axis is not None or node.op not in _MOVES:
                return False
        if node.op == "Reshape":
            (item,) = written
            self.set_constant(item.name, self.weights[node.inputs[0]].reshape(item.shape), item.quantisation)
            return True
        where = f"node {node.name} ({node.op})"
        size = sum(math.prod(item.shape) * item.dtype.itemsize for item in written)
        for item in written:
            self.limits.check("elements", math.prod(item.shape), f"{self.origin}: {where}: tensor {item.name}")
        self._budget.check(where, size)
        results = evaluate(node, {name: self.weights[name] for name in read}, {"": OPSET}, self.origin)
        for item, value in zip(written, results, strict=False):
            self._budget.add(item.name, value.nbytes, where)
            self.set_constant(item.name, np.asarray(value, item.dtype, order="C"), item.quantisation)
        return True

    def recoded(self, name: str, like: Tensor) -> str:
        """A tensor's integers under the annotation of `like`: a file may declare two scales for the same bytes."""
        tensor = self.tensors[name]
        if tensor.quantisation == like.quantisation:
            return name
        result = self.add_tensor(self.fresh(f"{name}/recoded"), tensor.shape, like.dtype, like.quantisation)
        self.add_node(self.fresh(f"{name}/recode"), RECODE, (name,), (result,))
        return result

    def widened(self, name: str, layer: str) -> str:
        """A constant as float32, for a layer between float tensors."""
        if name not in self._widened:
            self.hybrid.append(layer)
            self._widened[name] = self.add_constant(f"{layer}/float", self.real(name))
        return self._widened[name]

    # Images.

    def has_image(self, name: str) -> bool:
        """Whether an operator on images has written or read a tensor."""
        return name in self.images

    def image(self, name: str) -> str:
        """The image of a tensor of up to four axes; missing axes are added in front."""
        if name not in self.images:
            shape = self.tensors[name].shape
            source = name if len(shape) == 4 else self._with_axes(name, (1,) * (4 - len(shape)) + shape)
            self.images[name] = self.transposed(source, TO_IMAGE, f"{name}{IMAGE_SUFFIX}")
        return self.images[name]

    def _with_axes(self, name: str, shape: tuple[int, ...]) -> str:
        tensor = self.tensors[name]
        value = self.weights.get(name)
        if value is not None:
            missing = len(shape) - value.ndim
            quantisation = tensor.quantisation
            if quantisation is not None and quantisation.axis is not None:
                quantisation = dataclasses.replace(quantisation, axis=quantisation.axis + missing)
            return self.add_constant(f"{name}/axes", value.reshape(shape), quantisation)
        result = self.add_tensor(self.fresh(f"{name}/axes"), shape, tensor.dtype, tensor.quantisation)
        target = self.add_constant(f"{name}/shape", np.array(shape, np.int64))
        self.add_node(self.fresh(f"{name}/reshape"), "Reshape", (name, target), (result,))
        return result

    def transposed(self, name: str, permutation: Sequence[int], base: str) -> str:
        """A tensor with its axes permuted; a constant is permuted at once, with the axis of its scales."""
        tensor, key = self.tensors[name], (name, tuple(permutation))
        if key in self._transposed:
            return self._transposed[key]
        if self.is_constant(name):
            quantisation = tensor.quantisation
            if quantisation is not None and quantisation.axis is not None:
                quantisation = dataclasses.replace(quantisation, axis=tuple(permutation).index(quantisation.axis))
            self._transposed[key] = self.add_constant(base, self.weights[name].transpose(permutation), quantisation)
            return self._transposed[key]
        shape = tuple(tensor.shape[axis] for axis in permutation)
        result = self.add_tensor(self.fresh(base), shape, tensor.dtype, tensor.quantisation)
        attributes = {"perm": tuple(permutation)}
        self.add_node(self.fresh(f"{base}/transpose"), "Transpose", (name,), (result,), attributes)
        return result
