"""ONNX's own node tests, and which of them are direct float32 tests.

A direct float32 node test is a test of `onnx.backend.test` that

- holds the operator itself, not its expansion into others (`…_expanded`),
- takes at least one float32 tensor and gives at least one,
- declares a static shape for every input and output, none of them empty.

That is 798 tests in onnx 1.23.

A quantised node test is one of an operator that takes or makes quantised tensors, again with static shapes.
"""

import dataclasses
import functools
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import onnx

from tests.harness.tiers import chosen

_FLOAT = onnx.TensorProto.FLOAT
#: Cases on maps of 32 x 32 x 32, whose expected outputs take ONNX's reference seconds; `make test` leaves them out.
_SLOW = frozenset(f"export_{op}_3d_default" for op in ("averagepool", "lppool", "maxpool"))


@dataclasses.dataclass(frozen=True)
class Recording:
    """Inputs and expected outputs of one run, in the order of the graph's; None where not an array."""

    inputs: tuple[np.ndarray | None, ...]
    outputs: tuple[np.ndarray | None, ...]


@dataclasses.dataclass(frozen=True)
class Case:
    """One node test."""

    name: str
    model: onnx.ModelProto
    recordings: tuple[Recording, ...]

    @property
    def operator(self) -> str:
        """The operator under test, with its domain where it has one."""
        node = self.model.graph.node[0]
        return f"{node.domain}.{node.op_type}" if node.domain else node.op_type


@functools.cache
def direct_float_cases() -> tuple[Case, ...]:
    """All direct float32 node tests, by name."""
    return _cases(is_direct_float)


def spread(cases: Sequence[Case], most: int) -> Iterator[Case]:
    """At most `most` cases of each operator, spread evenly over its cases by name."""
    of_operators: dict[str, list[Case]] = {}
    for case in cases:
        of_operators.setdefault(case.operator, []).append(case)
    for of_operator in of_operators.values():
        count = min(most, len(of_operator))
        yield from (of_operator[index * len(of_operator) // count] for index in range(count))


def _cases(wanted: Callable[[str, onnx.ModelProto], bool]) -> tuple[Case, ...]:
    """Node tests, by name."""
    cases = [_case(item) for item in _collected() if item.model is not None and wanted(item.name, item.model)]
    return tuple(sorted(cases, key=lambda case: case.name))


@functools.cache
def _collected() -> Sequence[Any]:
    """ONNX's cases; their classes make them when they are imported."""
    from onnx.backend.test.case import base
    from onnx.backend.test.case.node import collect_testcases

    left_out = _SLOW if chosen() == "fast" else frozenset()

    def export_cases(own: type, _name: str, _bases: tuple[type, ...], members: dict[str, Any]) -> None:
        """Runs the exports without keeping their source text, as ONNX's own function does for its documentation."""
        for name in members:
            if name.startswith("export") and name not in left_out:
                np.random.seed(0)  # as ONNX does: the random inputs are the same in every process
                getattr(own, name)()

    base._Exporter.__init__ = export_cases
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found: Sequence[Any] = collect_testcases(None)
    return found


#: Operators of quantised networks.
QUANTISED = frozenset(("QuantizeLinear", "DequantizeLinear", "DynamicQuantizeLinear", "QLinearConv", "QLinearMatMul",
                       "ConvInteger", "MatMulInteger"))


@functools.cache
def quantised_cases() -> tuple[Case, ...]:
    """All quantised node tests, by name."""
    return _cases(lambda name, model: model.graph.node[0].op_type in QUANTISED and is_static(name, model))


def is_static(name: str, model: onnx.ModelProto) -> bool:
    """Whether a test has the operator itself, with known shapes."""
    return "_expanded" not in name and all(map(_is_static, (*model.graph.input, *model.graph.output)))


def is_direct_float(name: str, model: onnx.ModelProto) -> bool:
    """Whether a test is a direct float32 one, as the module's docstring defines it."""
    return is_static(name, model) and all(any(value.type.tensor_type.elem_type == _FLOAT for value in values)
                                          for values in (model.graph.input, model.graph.output))


def _is_static(value: onnx.ValueInfoProto) -> bool:
    if value.type.WhichOneof("value") != "tensor_type":
        return False
    return all(dim.WhichOneof("value") == "dim_value" and dim.dim_value > 0 for dim in value.type.tensor_type.shape.dim)


def _case(item: Any) -> Case:
    recordings = [Recording(tuple(map(_array, inputs)), tuple(map(_array, outputs)))
                  for inputs, outputs in item.data_sets]  # fmt: skip
    return Case(item.name, item.model, tuple(recordings))


def _array(value: object) -> np.ndarray | None:
    if isinstance(value, onnx.TensorProto):
        return onnx.numpy_helper.to_array(value)
    return np.asarray(value) if isinstance(value, np.ndarray | np.generic | int | float) else None
