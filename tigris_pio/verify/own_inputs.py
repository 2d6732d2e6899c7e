"""Measures each layer's own error: onnxruntime computes the layer from the plan's own inputs.

The model is cut at every tensor that the plan stores. Nodes behind a cut read the plan's values; the tensor before the
cut is compared with them. So differences do not add up along the network, and an int8 layer differs from the exact
value by one rounding.
"""

import dataclasses
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

from tigris_pio.compiler.ir.program import Program, ProgramTensor, StoredValue
from tigris_pio.compiler.load.onnx.qoperators import expand_qoperators
from tigris_pio.errors import ToolError
from tigris_pio.host import Session
from tigris_pio.installation import install_command
from tigris_pio.verify.traces import Masked, crop, in_model_order, integer_limits, traced, unsigned_shift

_TYPES: Mapping[str, np.dtype[Any]] = {
    "tensor(float)": np.dtype(np.float32), "tensor(int8)": np.dtype(np.int8), "tensor(uint8)": np.dtype(np.uint8),
    "tensor(int16)": np.dtype(np.int16), "tensor(uint16)": np.dtype(np.uint16),
    "tensor(int64)": np.dtype(np.int64), "tensor(int32)": np.dtype(np.int32), "tensor(bool)": np.dtype(np.bool_),
}  # fmt: skip
#: Largest distance from a whole number that float32's rounding explains, in steps.
_WHOLE = 1e-3


@dataclasses.dataclass(frozen=True)
class OwnDifference:
    """One operator's own error: its stored output minus the exact value for the plan's inputs of that operator.

    `steps`: in units of the tensor's scale, before the exact value is rounded; right rounding gives up to 0.5, or 1 if
    `rounded`. 0 for float32. `relative`: share of the tensor's largest value; 0 for integers. `rounded`: all exact
    values are whole steps because the model rounds them itself, for example a quantised Conv before a Transpose that
    is quantised again.
    """

    tensor: str
    op: str
    steps: float
    relative: float
    rounded: bool


class OwnInputs:
    """A model opened in onnxruntime and cut at the tensors of one program. Model outputs are compared, too."""

    def __init__(self, model: onnx.ModelProto, program: Program) -> None:
        model = _without_qoperators(model)
        constants = _constants(model)
        self._tensors = program.tensors
        self._op_of = {op.output: op.name for op in program.ops}
        self._types = _element_types(model)
        self._cuts = {name: value for name, value in _stored_values(program).items()
                      if name in self._types and value.tensor in self._op_of}
        self._before = {name: node.input[0] for name, node in _before_quantisation(model).items()
                        if name in self._cuts and _rounds_to(node, constants, program.tensors[self._cuts[name].tensor])}
        self._session = open_session(_cut(model, self._cuts, self._types))
        self._shown = [item.name for item in self._session.get_outputs()]
        read = {name for node in model.graph.node for name in node.input}
        self._fed = {value.tensor for name, value in self._cuts.items() if name in read}
        self._read = {item.name for item in self._session.get_inputs()}

    def run(self, session: Session, inputs: Mapping[str, np.ndarray]) -> list[OwnDifference]:
        """Runs one sample, or one step of a model with states.

        `session` has a plan of the program open; `inputs` are as the model takes them.
        """
        stored = {io.name: io.to_stored(io.check_model_array(inputs[io.name])) for io in session.inputs}
        held = session.state()
        _, trace = traced(session, stored)
        arrays = {name: in_model_order(trace[self._op_of[value.tensor]], value) for name, value in self._cuts.items()}
        given = {name: self._as_model(name, array) for name, array in arrays.items()}
        feeds = {**held, **{io.name: io.to_model(stored[io.name]) for io in session.inputs}}
        feeds |= {_stored_name(name): array for name, array in given.items()}
        feeds = {name: array for name, array in feeds.items() if name in self._read}
        computed = dict(zip(self._shown, self._session.run(self._shown, feeds), strict=True))
        computed |= {name: array for name, array in inputs.items() if name not in computed}  # what a first layer rounds
        return [self._difference(name, array, given, computed) for name, array in arrays.items()]

    def fed_by_reference(self, program: Program) -> set[str]:
        """Operators with an input that the reference computes itself, because no node of the model reads the stored
        tensor. An example is a quantised tensor that is stored only as its transposition."""
        named = {value.tensor for value in _stored_values(program).values()} & set(self._op_of)
        rounded, found = named - self._fed, set()
        for op in program.ops:
            if any(operand.tensor in rounded for operand in op.operands):
                found.add(op.name)
                if op.output not in self._fed:
                    rounded.add(op.output)
        return found

    def _as_model(self, name: str, array: Masked) -> np.ndarray:
        """A stored tensor in the model's type: dequantised, or the model's integers."""
        tensor, dtype = self._tensors[self._cuts[name].tensor], self._types[name]
        values = array.data
        if tensor.scale and dtype == np.float32:
            values = (values.astype(np.int32) - tensor.zero_point).astype(np.float32) * np.float32(tensor.scale)
        elif tensor.scale:
            values = values.astype(np.int32) + unsigned_shift(dtype)
        typed: np.ndarray = values.astype(dtype)
        return typed

    def _difference(self, name: str, array: Masked, given: Mapping[str, np.ndarray],
                    computed: Mapping[str, np.ndarray]) -> OwnDifference:
        tensor = self._tensors[self._cuts[name].tensor]
        source = self._before.get(name, name)
        expected = given[source] if source != name and source in given else computed[source]
        return OwnDifference(name, self._op_of[tensor.name], *_measure(crop(array, expected), expected, tensor))


def _stored_values(program: Program) -> dict[str, StoredValue]:
    """The model's tensors that the plan stores; outputs as the user gets them."""
    outputs = {io.name: StoredValue(io.tensor, io.shape, io.stored_shape, io.permutation) for io in program.outputs}
    return {**program.values, **outputs}


def _measure(array: Masked, expected: np.ndarray, tensor: ProgramTensor) -> tuple[float, float, bool]:
    """Error in steps, error as a share of the largest value (one of both is 0), and whether `expected` is whole steps.

    NaN in `expected` allows any value.
    """
    made = ~np.ma.getmaskarray(array)
    exact = expected[made].astype(np.float64)
    stored = array.data[made].astype(np.float64)
    ends = integer_limits(tensor)
    if ends is not None:
        if expected.dtype.kind == "f":
            exact = np.clip(exact / tensor.scale + tensor.zero_point, *ends)
        else:
            exact -= unsigned_shift(expected.dtype)
        number = ~np.isnan(exact)
        rounded = bool((np.abs(exact - np.rint(exact))[number] < _WHOLE).all())
        return float(np.abs(stored - exact)[number].max(initial=0.0)), 0.0, rounded
    finite = np.isfinite(exact)
    missed = np.abs(stored[finite] - exact[finite]).max(initial=0.0)
    return 0.0, float(missed / max(1e-3, np.abs(exact[finite]).max(initial=0.0))), False


def _stored_name(name: str) -> str:
    return f"{name}/stored"


def open_session(model: onnx.ModelProto) -> Any:
    """Opens an onnxruntime session without graph optimisations; ToolError if onnxruntime is not installed."""
    try:
        import onnxruntime  # noqa: PLC0415  optional: only verify needs it
    except ImportError as error:
        raise ToolError(f"verify needs onnxruntime; install it: {install_command('onnxruntime')}") from error
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def with_all_outputs(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model with every computed tensor among its outputs."""
    shown = onnx.ModelProto()
    shown.CopyFrom(model)
    present = {output.name for output in shown.graph.output}
    names = dict.fromkeys(name for node in shown.graph.node for name in node.output if name and name not in present)
    shown.graph.output.extend(onnx.ValueInfoProto(name=name) for name in names)
    return shown


#: Opset since which DequantizeLinear has an axis, which per-channel weights need.
_AXIS_SINCE = 13


def _without_qoperators(model: onnx.ModelProto) -> onnx.ModelProto:
    """Expands QLinear operators as the loader does, because the program has the expanded tensors' names."""
    version = max((item.version for item in model.opset_import if item.domain in ("", "ai.onnx")), default=0)
    expanded = expand_qoperators(model, model.graph.name)
    axes = (item.name == "axis" for node in expanded.graph.node if node.op_type == "DequantizeLinear"
            for item in node.attribute)
    return model if version < _AXIS_SINCE and any(axes) else expanded


def _element_types(model: onnx.ModelProto) -> dict[str, np.dtype[Any]]:
    """Element types of all computed tensors, as onnxruntime infers them."""
    outputs = open_session(with_all_outputs(model)).get_outputs()
    return {item.name: _TYPES[item.type] for item in outputs if item.type in _TYPES}


def _cut(model: onnx.ModelProto, cuts: Mapping[str, StoredValue],
         types: Mapping[str, np.dtype[Any]]) -> onnx.ModelProto:
    """The model with all computed tensors as outputs; readers of the tensors in `cuts` read new inputs instead."""
    result = with_all_outputs(model)
    read = set()
    for node in result.graph.node:
        for index, name in enumerate(node.input):
            if name in cuts:
                node.input[index] = _stored_name(name)
                read.add(name)
    for name in sorted(read):
        kind = helper.np_dtype_to_tensor_dtype(types[name])
        result.graph.input.append(helper.make_tensor_value_info(_stored_name(name), kind, cuts[name].shape))
    del result.graph.value_info[:]
    return result


def _before_quantisation(model: onnx.ModelProto) -> dict[str, onnx.NodeProto]:
    """Maps each quantised tensor, and its dequantised forms, to its QuantizeLinear node."""
    rounded = {node.output[0]: node for node in model.graph.node if node.op_type == "QuantizeLinear"}
    before = dict(rounded)
    for node in model.graph.node:
        source = rounded.get(node.input[0]) if node.op_type == "DequantizeLinear" else None
        if source is not None and list(source.input[1:]) == list(node.input[1:]):
            before[node.output[0]] = source
    return before


def _constants(model: onnx.ModelProto) -> dict[str, np.ndarray]:
    """Constants with one element: scales and zero points."""
    found = {item.name: item for item in model.graph.initializer}
    found |= {node.output[0]: node.attribute[0].t for node in model.graph.node
              if node.op_type == "Constant" and node.attribute[0].name == "value"}
    return {name: numpy_helper.to_array(item) for name, item in found.items() if math.prod(item.dims) == 1}


def _rounds_to(node: onnx.NodeProto, constants: Mapping[str, np.ndarray], tensor: ProgramTensor) -> bool:
    """Whether a QuantizeLinear has the scale and zero point of the plan's tensor.

    They differ if the model reads integers with another scale or zero point than it wrote them with.
    """
    scale, zero = constants.get(node.input[1]), constants.get((*node.input, "")[2])
    if scale is None:
        return True
    shift = unsigned_shift(np.dtype(np.uint8) if zero is None else zero.dtype)
    stored = (0 if zero is None else int(zero.item())) - shift
    return not tensor.scale or (tensor.scale, tensor.zero_point) == (float(scale.item()), stored)
