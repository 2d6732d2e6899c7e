"""What a file asks for before anything of it is expanded: text that is text, names of some length, graphs within graphs
to some depth, and as many nodes as its functions will make."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import onnx
from google.protobuf.message import Message  # type: ignore[import-untyped]

from tigris_pio.compiler.ir.captured import subgraphs_of
from tigris_pio.compiler.limits import Limits
from tigris_pio.errors import ModelError
from tigris_pio.text import visible_name

#: What tells a function from others: its domain, name and overload.
_Key = tuple[str, str, str]


def check_extent(model: onnx.ModelProto, limits: Limits, label: str) -> None:
    """Raises ModelError for what `limits` exclude, for names that are no text, and for recursive functions."""
    check = _Check(limits, label)
    check.texts(model, "the model", ("producer_name", "producer_version", "domain"))
    for place, entry in enumerate(model.opset_import):
        check.texts(entry, f"opset import {place}", ("domain",))
        if not 0 <= entry.version < 1 << 16:
            raise ModelError(f"{label}: it imports version {entry.version} of domain '{entry.domain}'; there is none")
    for place, function in enumerate(model.functions):
        where = f"function {check.texts(function, f'function {place}', ('name', 'domain'))}"
        check.names(function.input, where)
        check.names(function.output, where)
        check.nodes(function.node, where, 1)
    check.graph(model.graph, "", 0)
    nodes = _Functions(model.functions, limits, label).count(model.graph.node)
    limits.check("nodes", nodes, f"{label}: the graph, with its functions inlined")


class _Check:
    """Walks graphs and functions. Text is decoded when it is read, so reading is the check."""

    def __init__(self, limits: Limits, label: str) -> None:
        self.limits, self.label = limits, label

    def texts(self, message: Message, where: str, fields: Iterable[str]) -> str:
        """Checks text fields; returns the first one."""
        first = ""
        for field in fields:
            text = self.text(lambda: getattr(message, field, ""), f"{where}: its {field}")  # noqa: B023 (called now)
            first = first or visible_name(text)
        return first

    def text(self, read: Callable[[], str | bytes], what: str) -> str:
        """Text that is some; protobuf gives bytes, or fails, for others."""
        try:
            text = read()
        except UnicodeDecodeError:
            text = b""
        if isinstance(text, bytes):
            raise ModelError(f"{self.label}: {what} is no UTF-8 text; rename it with onnx.load and onnx.save")
        # A string of UTF-8 has at least as many bytes as characters, and at most four times as many.
        if 4 * len(text) > self.limits.name:
            self.limits.check("name", len(text.encode()), f"{self.label}: {what}: {visible_name(text[:40])}…")
        return text

    def names(self, names: Sequence[str], where: str) -> None:
        """Checks the names that a node or function reads and gives."""
        for place in range(len(names)):
            self.text(lambda: names[place], f"{where}: a name it reads or gives")  # noqa: B023 (called now)

    def graph(self, graph: onnx.GraphProto, where: str, depth: int) -> None:
        self.limits.check("depth", depth, f"{self.label}: {where or 'the graph'}")
        self.texts(graph, where or "the graph", ("name",))
        for kind, items in (("input", graph.input), ("output", graph.output), ("value", graph.value_info)):
            for place, item in enumerate(items):
                name = self.texts(item, f"{where}{kind} {place}", ("name",))
                self._dimensions(item, f"{where}{kind} {name}")
        for place, tensor in enumerate(graph.initializer):
            self.texts(tensor, f"{where}initializer {place}", ("name",))
        self.nodes(graph.node, where, depth)

    def _dimensions(self, value: onnx.ValueInfoProto, where: str) -> None:
        if value.type.HasField("tensor_type"):
            kind = value.type.tensor_type.elem_type
            if kind not in onnx.TensorProto.DataType.values():
                raise ModelError(f"{self.label}: {where} has element type {kind}, which ONNX does not define")
            for dim in value.type.tensor_type.shape.dim:
                self.texts(dim, where, ("dim_param",))

    def nodes(self, nodes: Sequence[onnx.NodeProto], where: str, depth: int) -> None:
        for place, node in enumerate(nodes):
            name = self.texts(node, f"{where}node {place}", ("name", "op_type", "domain"))
            here = f"{where}node {name or place}"
            self.names(node.input, here)
            self.names(node.output, here)
            for attribute in node.attribute:
                self.texts(attribute, f"{here}: an attribute", ("name", "ref_attr_name"))
            for child in subgraphs_of(node):
                self.graph(child, f"{here}: ", depth + 1)


class _Functions:
    """How many nodes each function becomes when it and those it calls are inlined."""

    def __init__(self, functions: Iterable[onnx.FunctionProto], limits: Limits, label: str) -> None:
        self.functions: Mapping[_Key, onnx.FunctionProto] = {
            (item.domain, item.name, getattr(item, "overload", "")): item for item in functions
        }
        self.sizes: dict[_Key, int] = {}
        self.limits, self.label = limits, label
        self.path: list[_Key] = []

    def count(self, nodes: Iterable[onnx.NodeProto]) -> int:
        total = 0
        for node in nodes:
            key = (node.domain, node.op_type, getattr(node, "overload", ""))
            total += self._size(key) if key in self.functions else 1
            total += sum(self.count(child.node) for child in subgraphs_of(node))
        return total

    def _size(self, key: _Key) -> int:
        if key in self.sizes:
            return self.sizes[key]
        if key in self.path:
            cycle = " -> ".join(".".join(filter(None, item[:2])) for item in (*self.path[self.path.index(key) :], key))
            raise ModelError(f"{self.label}: its function {cycle} calls itself; ONNX has no recursion")
        self.path.append(key)
        self.limits.check("depth", len(self.path), f"{self.label}: functions that call functions, at {key[1]}")
        self.sizes[key] = self.count(self.functions[key].node)
        self.path.pop()
        return self.sizes[key]

