"""The registry of operator contracts, from which docs/operators.md is written, too.

A contract is a function `(builder, node)` that emits kernel calls, or raises Refusal with the reason in a few words.
`operators/` has a file for each family. Importing the package `lower` fills the registry.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable

import onnx

from tigris_pio import spelling
from tigris_pio.compiler.ir.captured import DATA_DEPENDENT
from tigris_pio.compiler.ir.graph import Node
from tigris_pio.compiler.lower.builder import Builder
from tigris_pio.compiler.lower.refusal import Refusal
from tigris_pio.compiler.lower.remedies import not_supported
from tigris_pio.errors import UnsupportedError


@dataclasses.dataclass(frozen=True)
class Contract:
    """The contract of one operator.

    operator: its name, behind its domain if that is not ONNX's own
    summary: a cell of docs/operators.md
    like_input: the output has the shape and type of the first input. Shape inference asks it where ONNX has no schema.
    """

    operator: str
    summary: str
    lower: Callable[[Builder, Node], None]
    like_input: bool = False


REGISTRY: dict[str, Contract] = {}
#: The domain of nodes with TensorFlow Lite's own arithmetic; their names are those of its schema.
TFLITE = "tflite"
#: The attribute in which a front end says why it could not read a node.
REFUSAL = "refusal"

#: Operators that normalisation always replaces, with the pass that replaces them.
NORMALISED = {
    "Constant": "constant_fold",
    "ConstantOfShape": "constant_fold",
    "Shape": "shape_fold",
    "Size": "shape_fold",
    "Range": "constant_fold",
    "Silu": "silu_decompose",
    "Swish": "silu_decompose",
}

#: Operators that only normalisation and lowering make; they are not ONNX operators.
INTERNAL = frozenset((
    "DepthwiseConv", "Conv1D", "Relu6", "TigrisStandardise", "TigrisRms", "TigrisRecode", "TigrisTable",
))  # fmt: skip


def operator(
    *names: str, summary: str, domain: str = "", like_input: bool = False
) -> Callable[[Callable[[Builder, Node], None]], Callable[[Builder, Node], None]]:
    """Registers the decorated function as the contract of operators of ONNX, or of another domain."""

    def register(function: Callable[[Builder, Node], None]) -> Callable[[Builder, Node], None]:
        for name in (f"{domain}.{name}" if domain else name for name in names):
            if name in REGISTRY:
                raise ValueError(f"operator {name} is registered twice")
            REGISTRY[name] = Contract(name, summary, function, like_input)
        return function

    return register


def contract_of(node: Node) -> Contract | None:
    """The node's contract; None for an unknown operator."""
    return REGISTRY.get(full_name(node))


def full_name(node: Node) -> str:
    """The operator's name, behind its domain if its contract is not that of an operator of ONNX."""
    is_own = not node.domain or node.op in _AS_IN_ONNX.get(node.domain, ())
    return node.op if is_own else f"{node.domain}.{node.op}"


def is_lowered(proto: onnx.NodeProto) -> bool:
    """Whether a node has a contract, or a pass that replaces it. If not, the loader tries its ONNX function."""
    if proto.op_type == "LayerNormalization" and any(proto.output[1:]):
        return False  # the kernel does not return mean and deviation, but ONNX's function does
    if proto.op_type in NORMALISED:
        return True
    return contract_of(Node(proto.name, proto.op_type, (), (), {}, proto.domain)) is not None


#: Operators of other domains that have the contracts of ONNX's own.
_AS_IN_ONNX = {
    "com.microsoft": frozenset(("QuantizeLinear", "DequantizeLinear", "Gelu")),
}


def supported_operators() -> tuple[Contract, ...]:
    """All ONNX operators that compile, in alphabetical order."""
    folded = {
        name: Contract(name, f"replaced by the {step} pass", _never) for name, step in NORMALISED.items()
    }
    own = {name: item for name, item in REGISTRY.items()
           if name not in INTERNAL and not name.startswith(f"{TFLITE}.")}
    listed = {**folded, **own}
    return tuple(listed[name] for name in sorted(listed))


def _never(builder: Builder, node: Node) -> None:
    raise Refusal("normalisation should have replaced it")


def why_data_dependent(node: Node) -> str:
    """Why an If or a Loop that remains is refused, and the remedy."""
    reason = {"If": f"its condition {node.inputs[0]} depends on data",
              "Loop": "its number of iterations depends on data or is missing"}[node.op]
    return (f"{reason}; make the input that decides a constant with {spelling.fixed('NAME', 'VALUE')}, or export the "
            "model without it")


def why_unsupported(node: Node) -> str | None:
    """Why a node has no kernel, judged by its operator only; None if it has one, or a pass replaces it."""
    if node.op in DATA_DEPENDENT and not node.domain:
        return why_data_dependent(node)
    if contract_of(node) is not None or (node.op in NORMALISED and node.domain != TFLITE):
        return None
    return not_supported(node.domain, node.op)


def refused(problems: Iterable[tuple[Node, str]], label: str) -> UnsupportedError:
    """The error that names every refused node."""
    found = [(node.name, f"{node.domain}.{node.op}" if node.domain else node.op, reason) for node, reason in problems]
    lines = [f"  {name} ({op}): {reason}" for name, op, reason in found]
    nodes = "1 node" if len(lines) == 1 else f"{len(lines)} nodes"
    return UnsupportedError("\n".join([f"{label}: {nodes} cannot be compiled", *lines]), found)
