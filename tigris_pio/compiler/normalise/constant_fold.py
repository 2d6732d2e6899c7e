"""Constant fold: nodes whose inputs are all constant become constants.

It is the first pass, so that later passes see weights instead of nodes that compute them. DequantizeLinear stays,
because it says that a constant is quantised. A QuantizeLinear becomes a constant if all it depends on is constant, even
through DequantizeLinear: the weights of a recurrent layer, for example, that the graph joins.
"""

from __future__ import annotations

import dataclasses
import math

import numpy as np

from tigris_pio.compiler.evaluate import evaluate, is_deterministic
from tigris_pio.compiler.ir.graph import Graph, Node, Tensor
from tigris_pio.compiler.limits import ConstantBudget
from tigris_pio.compiler.normalise.editor import GraphEditor
from tigris_pio.compiler.normalise.integers import RECODE
from tigris_pio.compiler.normalise.quantisation import is_dequantize, is_quantize
from tigris_pio.compiler.passes import Pass
from tigris_pio.errors import ModelError

_KEPT = frozenset(("DequantizeLinear", RECODE))
#: The first opset whose QuantizeLinear and DequantizeLinear support integers of 16 and 4 bits.
_QDQ_OPSET = 21
_MEANS = frozenset(("ReduceMean", "GlobalAveragePool", "AveragePool"))


def run(graph: Graph) -> tuple[Graph, int]:
    """See the module."""
    editor = GraphEditor(graph)
    folded = fold_constants(editor) + _fold_requantised(editor)
    return editor.finish(), folded


def _fold_requantised(editor: GraphEditor) -> int:
    """Makes a constant of every QuantizeLinear that depends on constants alone; returns their number."""
    known: dict[str, tuple[Node, list[str]]] = {}
    queue: list[str] = []
    for node in editor.nodes():
        computed = [name for name in node.inputs if name and name not in editor.weights]
        if not all(name in known for name in computed) or not _is_computable(node):
            continue
        known |= dict.fromkeys(filter(None, node.outputs), (node, computed))
        queue += node.outputs if is_quantize(node) else ()
    needed = set(queue)
    while queue:
        read = [name for name in known[queue.pop()][1] if name not in needed]
        needed |= set(read)
        queue += read
    values, folded = dict(editor.weights), 0
    budget = ConstantBudget(editor.graph.limits, editor.graph.name)
    for name, (node, _) in known.items():
        if name not in needed or name in values:
            continue
        where = f"node {node.name} ({node.op})"
        budget.check(where, sum(_bytes(editor.tensors[name]) for name in node.outputs if name))
        opsets = {"": max(editor.graph.opset, _QDQ_OPSET)} if _is_quantising(node) else editor.opsets()
        results = evaluate(dataclasses.replace(node, domain=""), values, opsets, editor.graph.name)
        values |= zip(node.outputs, results, strict=False)
        for output, value in zip(node.outputs, results, strict=False):
            budget.add(output, value.nbytes, where)
        if is_quantize(node):
            editor.remove(node)
            editor.set_constant(name, results[0])
            folded += 1
    return folded


def _is_quantising(node: Node) -> bool:
    return is_quantize(node) or is_dequantize(node)


def _is_computable(node: Node) -> bool:
    return _is_quantising(node) or (not node.domain and is_deterministic(node))


def fold_constants(editor: GraphEditor) -> int:
    """Makes constants of all nodes that read constants alone; returns their number. Annotated constants are read as
    real numbers."""
    folded, budget = 0, ConstantBudget(editor.graph.limits, editor.graph.name)
    for node in editor.nodes():
        folded += _fold_empty(editor, node)
    for node in editor.nodes():
        if _foldable(editor, node):
            _check_defined(editor, node)
            values = {name: value for name in node.inputs if name and (value := editor.value(name)) is not None}
            where = f"node {node.name} ({node.op})"
            freed = (editor.weights[name].nbytes for name in _dying(editor, node) if not budget.is_counted(name))
            budget.check(where, sum(_bytes(editor.tensors[name]) for name in node.outputs if name in editor.tensors)
                         - sum(freed))
            results = evaluate(node, values, editor.opsets(), editor.graph.name)
            for name in _dying(editor, node):
                budget.free(name)
                del editor.weights[name]
            editor.remove(node)
            for name, value in zip(node.outputs, results, strict=False):
                if name:
                    budget.add(name, value.nbytes, where)
                    editor.set_constant(name, value)
            folded += 1
    return folded


def _bytes(tensor: Tensor) -> int:
    return math.prod(tensor.shape) * tensor.dtype.itemsize


def _dying(editor: GraphEditor, node: Node) -> list[str]:
    """Constants that only this node reads."""
    return [name for name in dict.fromkeys(node.inputs)
            if name in editor.weights and len(editor.consumers(name)) == 1 and not editor.is_output(name)]


def _fold_empty(editor: GraphEditor, node: Node) -> int:
    """Makes constants of outputs without elements, and drops them from the inputs of a Concat; returns 1 if it did."""
    outputs = [editor.tensors[name] for name in node.outputs if name and name in editor.tensors]
    if outputs and all(0 in tensor.shape for tensor in outputs):
        if any(editor.is_output(tensor.name) for tensor in outputs):
            return 0
        editor.remove(node)
        for tensor in outputs:
            editor.set_constant(tensor.name, np.zeros(tensor.shape, tensor.dtype), tensor.quantisation)
        return 1
    full = tuple(name for name in node.inputs if 0 not in editor.shape(name)) if node.op == "Concat" else node.inputs
    if full == node.inputs:
        return 0
    editor.replace(node, dataclasses.replace(node, inputs=full))
    return 1


def _check_defined(editor: GraphEditor, node: Node) -> None:
    if node.op in _MEANS and 0 in editor.shape(node.inputs[0]):
        raise ModelError(f"{editor.graph.name}: node {node.name} ({node.op}): the mean of no elements is not defined")


def _foldable(editor: GraphEditor, node: Node) -> bool:
    if node.op in _KEPT or node.domain or any(editor.quantisation(name) for name in node.outputs if name):
        return False
    return all(not name or name in editor.weights for name in node.inputs) and is_deterministic(node)


PASS = Pass(
    name="constant_fold",
    summary="nodes that read constants alone become constants",
    requires=frozenset(),
    provides=frozenset({"constants"}),
    run=run,
)
