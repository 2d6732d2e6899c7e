"""Checks a file before any of it is expanded: its texts are UTF-8, and names, nesting, and the number of nodes with all
functions inlined stay within the limits."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import onnx
from google.protobuf.message import Message  # type: ignore[import-untyped]

from tigris_pio.compiler.ir.captured import subgraphs_of
from tigris_pio.compiler.limits import Limits
from tigris_pio.errors import ModelError
from tigris_pio.text import visible_name

#: A function's domain, name and overload.
_Key = tuple[str, str, str]


def check_extent(model: onnx.ModelProto, limits: Limits, origin: str) -> None:
    """Raises ModelError for a file beyond `limits`, for names that are no text, and for recursive functions."""
    checker = _Checker(limits, origin)
    checker.check_texts(model, "the model", ("producer_name", "producer_version", "domain"))
    for position, entry in enumerate(model.opset_import):
        checker.check_texts(entry, f"opset import {position}", ("domain",))
        if not 0 <= entry.version < 1 << 16:
            raise ModelError(f"{origin}: it imports version {entry.version} of domain '{entry.domain}'; there is none")
    for position, function in enumerate(model.functions):
        where = f"function {checker.check_texts(function, f'function {position}', ('name', 'domain'))}"
        checker.check_names(function.input, where)
        checker.check_names(function.output, where)
        checker.check_nodes(function.node, where, 1)
    checker.check_graph(model.graph, "", 0)
    nodes = _Functions(model.functions, limits, origin).count(model.graph.node)
    limits.check("nodes", nodes, f"{origin}: the graph, with its functions inlined")


class _Checker:
    """Checks graphs and functions, with all graphs within. protobuf decodes text when it is read, so reading checks it.
    """

    def __init__(self, limits: Limits, origin: str) -> None:
        self.limits, self.origin = limits, origin

    def check_texts(self, message: Message, where: str, fields: Iterable[str]) -> str:
        """Checks text fields; returns the first one."""
        first = ""
        for field in fields:
            text = self.check_text(lambda: getattr(message, field, ""), f"{where}: its {field}")  # noqa: B023 (called now)
            first = first or visible_name(text)
        return first

    def check_text(self, read: Callable[[], str | bytes], what: str) -> str:
        """The text that `read` returns. Raises ModelError if it is no UTF-8: then protobuf returns bytes, or fails."""
        try:
            text = read()
        except UnicodeDecodeError:
            text = b""
        if isinstance(text, bytes):
            raise ModelError(f"{self.origin}: {what} is no UTF-8 text; rename it with onnx.load and onnx.save")
        # A string of UTF-8 has at least as many bytes as characters, and at most four times as many.
        if 4 * len(text) > self.limits.name:
            self.limits.check("name", len(text.encode()), f"{self.origin}: {what}: {visible_name(text[:40])}…")
        return text

    def check_names(self, names: Sequence[str], where: str) -> None:
        """Checks the names that a node or function reads and gives."""
        for position in range(len(names)):
            self.check_text(lambda: names[position], f"{where}: a name it reads or gives")  # noqa: B023 (called now)

    def check_graph(self, graph: onnx.GraphProto, where: str, depth: int) -> None:
        self.limits.check("depth", depth, f"{self.origin}: {where or 'the graph'}")
        self.check_texts(graph, where or "the graph", ("name",))
        for kind, items in (("input", graph.input), ("output", graph.output), ("value", graph.value_info)):
            for position, item in enumerate(items):
                name = self.check_texts(item, f"{where}{kind} {position}", ("name",))
                self._dimensions(item, f"{where}{kind} {name}")
        for position, tensor in enumerate(graph.initializer):
            self.check_texts(tensor, f"{where}initializer {position}", ("name",))
        self.check_nodes(graph.node, where, depth)

    def _dimensions(self, value: onnx.ValueInfoProto, where: str) -> None:
        if value.type.HasField("tensor_type"):
            kind = value.type.tensor_type.elem_type
            if kind not in onnx.TensorProto.DataType.values():
                raise ModelError(f"{self.origin}: {where} has element type {kind}, which ONNX does not define")
            for dim in value.type.tensor_type.shape.dim:
                self.check_texts(dim, where, ("dim_param",))

    def check_nodes(self, nodes: Sequence[onnx.NodeProto], where: str, depth: int) -> None:
        for position, node in enumerate(nodes):
            name = self.check_texts(node, f"{where}node {position}", ("name", "op_type", "domain"))
            here = f"{where}node {name or position}"
            self.check_names(node.input, here)
            self.check_names(node.output, here)
            for attribute in node.attribute:
                self.check_texts(attribute, f"{here}: an attribute", ("name", "ref_attr_name"))
            for child in subgraphs_of(node):
                self.check_graph(child, f"{here}: ", depth + 1)


class _Functions:
    """Counts the nodes of each function when it and the functions that it calls are inlined."""

    def __init__(self, functions: Iterable[onnx.FunctionProto], limits: Limits, origin: str) -> None:
        self.functions: Mapping[_Key, onnx.FunctionProto] = {
            (item.domain, item.name, getattr(item, "overload", "")): item for item in functions
        }
        self.sizes: dict[_Key, int] = {}
        self.limits, self.origin = limits, origin
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
            raise ModelError(f"{self.origin}: its function {cycle} calls itself; ONNX has no recursion")
        self.path.append(key)
        self.limits.check("depth", len(self.path), f"{self.origin}: functions that call functions, at {key[1]}")
        self.sizes[key] = self.count(self.functions[key].node)
        self.path.pop()
        return self.sizes[key]

