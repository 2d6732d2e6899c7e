"""Measures in which types each operator of docs/operators.md computes.

The models are ONNX's own node tests, as they are and quantised, and .tflite files with one operator.

`python -m tests.docs.operator_types` measures all and writes the page.
"""

import contextlib
import dataclasses
import functools
import re
from collections.abc import Iterator

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from tests.fuzz.tflite_cases import MAKERS, Draw
from tests.node_tests.cases import Case, direct_float_cases
from tests.node_tests.runner import ways, with_constants
from tigris_pio.compiler.load.tflite.operators.registry import read_operators
from tigris_pio.compiler.lower.registry import supported_operators
from tigris_pio.compiler.options import CompileOptions
from tigris_pio.compiler.pipeline import front
from tigris_pio.errors import TigrisError
from tigris_pio.format.enums import DType
from tools.operators_page import PAGE, render

INTEGERS = {"int8": np.int8, "int16": np.int16}
#: Cases of an operator that are tried, the smallest first; files of TensorFlow Lite's.
CASES, FILES = 6, 6
#: Their weights are int8 between activations of int16, too.
_LAYERS = frozenset(("Conv", "ConvTranspose", "Gemm", "MatMul"))
_NEWEST = 21  # the first opset whose QuantizeLinear knows int16


@functools.cache
def _cases() -> dict[str, list[Case]]:
    found: dict[str, list[Case]] = {}
    for case in sorted(direct_float_cases(), key=lambda case: case.model.ByteSize()):
        found.setdefault(case.operator, []).append(case)
    return found


def onnx_types(operator: str) -> tuple[str, ...]:
    """The types of an ONNX operator; () if none of its node tests compiles."""
    found: set[str] = set()
    for case in _cases().get(operator, [])[:CASES]:
        arrays = dict(zip((value.name for value in case.model.graph.input), case.recordings[0].inputs, strict=True))
        for bound in ways(case):
            model = with_constants(case.model, {name: arrays[name] for name in bound})
            with contextlib.suppress(TigrisError):
                front(model, CompileOptions())
                found.add("float32")
                break
        for name in INTEGERS.keys() - found:
            for bound in ways(case):
                model = with_constants(case.model, {key: arrays[key] for key in bound})
                if _is_whole(_quantised(model, case, name).SerializeToString()):
                    found.add(name)
                    break
    return _ordered(found)


def _is_whole(content: bytes) -> bool:
    """True if the model compiles and computes nothing in float32."""
    model = content if content[4:8] == b"TFL3" else onnx.ModelProto.FromString(content)
    with contextlib.suppress(TigrisError):
        program = front(model, CompileOptions()).program
        types = {item.dtype for item in (*program.ops, *program.tensors.values())}
        return DType.FLOAT32 not in types
    return False


def _quantised(model: onnx.ModelProto, case: Case, kind: str) -> onnx.ModelProto:
    """The model with its float32 inputs, outputs and larger constants in integers."""
    result = onnx.ModelProto()
    result.CopyFrom(model)
    graph, nodes = result.graph, list(model.graph.node)
    for entry in result.opset_import:
        entry.version = max(entry.version, _NEWEST) if entry.domain in ("", "ai.onnx") else entry.version
    del graph.node[:]
    recorded = dict(zip((value.name for value in case.model.graph.input), case.recordings[0].inputs, strict=True))
    made = dict(zip((value.name for value in case.model.graph.output), case.recordings[0].outputs, strict=True))
    given = {value.name for value in graph.input if value.type.tensor_type.elem_type == TensorProto.FLOAT}
    given |= {item.name for item in graph.initializer if item.data_type == TensorProto.FLOAT and len(item.dims) > 1}
    constants = {item.name for item in graph.initializer}
    for name in sorted(given):
        own = "int8" if name in constants and case.operator in _LAYERS else kind
        graph.node.extend(_pair(graph, name, f"{name}/real", recorded[name], own))
    outputs = {value.name for value in graph.output if value.type.tensor_type.elem_type == TensorProto.FLOAT}
    for node in nodes:
        copy = graph.node.add()
        copy.CopyFrom(node)
        copy.input[:] = [f"{name}/real" if name in given else name for name in node.input]
        copy.output[:] = [f"{name}/made" if name in outputs else name for name in node.output]
    for name in sorted(outputs):
        graph.node.extend(_pair(graph, f"{name}/made", name, made[name], kind))
    return result


def _pair(graph: onnx.GraphProto, source: str, target: str, values: np.ndarray | None,
          kind: str) -> Iterator[onnx.NodeProto]:
    """QuantizeLinear and DequantizeLinear, whose scale holds `values`."""
    most = float(np.abs(values[np.isfinite(values)]).max(initial=0)) if values is not None else 0.0
    scale, zero, stored = (f"{target}/{part}" for part in ("scale", "zero", "stored"))
    ends = np.iinfo(INTEGERS[kind])
    graph.initializer.append(numpy_helper.from_array(np.float32(max(most, 1e-3) / ends.max), scale))
    graph.initializer.append(numpy_helper.from_array(np.zeros((), INTEGERS[kind]), zero))
    yield helper.make_node("QuantizeLinear", [source, scale, zero], [stored])
    yield helper.make_node("DequantizeLinear", [stored, scale, zero], [target])


def tflite_types(operator: str) -> tuple[str, ...]:
    """The types of a TensorFlow Lite operator; () if MAKERS has no file of it alone."""
    found: set[str] = set()
    for int16 in (False, True) if operator in MAKERS else ():
        for seed in range(FILES):
            case = MAKERS[operator](Draw(seed, int16), operator)
            types = {item.dtype for item in (*case.inputs, *case.outputs) if item.data is None}
            name = next((kind for kind in ("int16", "int8", "float32") if kind in types), "")
            if not name or name in found:
                continue
            with contextlib.suppress(TigrisError):
                front(case.file(), CompileOptions())
                if name == "float32" or _is_whole(case.file()):
                    found.add(name)
                else:
                    found.add("float32")
    return _ordered(found)


def _ordered(found: set[str]) -> tuple[str, ...]:
    return tuple(kind for kind in ("int8", "int16", "float32") if kind in found)


@dataclasses.dataclass(frozen=True)
class Rows:
    """The page's operators of one format, with their types."""

    onnx: dict[str, tuple[str, ...]]
    tflite: dict[str, tuple[str, ...]]


def measured() -> Rows:
    """Measures all operators: some ten seconds."""
    return Rows({item.operator: onnx_types(item.operator) for item in supported_operators()},
                {item.operator: tflite_types(item.operator) for item in read_operators()})  # fmt: skip


def written() -> Rows:
    """Reads the types from the page as it stands."""
    parts = PAGE.read_text(encoding="utf-8").split("\n## ")
    found = [dict(re.findall(r"^\| (?!operator )(\S+) \| ([^|]*) \|", part, re.MULTILINE)) for part in parts]
    split = [{name: () if text == "-" else tuple(text.split(", ")) for name, text in rows.items()} for rows in found]
    return Rows(split[1], split[2])


if __name__ == "__main__":
    rows = measured()
    PAGE.write_text(render(rows.onnx, rows.tflite), encoding="utf-8")
