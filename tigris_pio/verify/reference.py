"""The reference of an ONNX model: onnxruntime, with every intermediate tensor as an output."""

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from tigris_pio.compiler.load.onnx.inputs import fix_inputs
from tigris_pio.compiler.load.onnx.protobuf import read
from tigris_pio.errors import ModelError, ToolError
from tigris_pio.verify.own_inputs import open_session, with_all_outputs


@dataclasses.dataclass(frozen=True)
class Reference:
    """An onnxruntime session that returns every tensor of the model.

    `model`: the model with bound dimensions. `names`: the session's outputs. `after_quantisation`: tensor to the tensor
    behind its QuantizeLinear/DequantizeLinear pair, which is what a quantised operator should give. `states`: input to
    the output whose value it gets in the next run.
    """

    model: onnx.ModelProto
    session: Any
    names: tuple[str, ...]
    after_quantisation: Mapping[str, str]
    states: Mapping[str, str] = dataclasses.field(default_factory=dict)

    def run(self, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Runs the model once; returns every tensor by name."""
        return dict(zip(self.names, self.session.run(list(self.names), dict(inputs)), strict=True))

    def value(self, tensors: Mapping[str, np.ndarray], name: str) -> np.ndarray | None:
        """The tensor to compare the program's tensor `name` with; None if the model has no such tensor."""
        return tensors.get(self.after_quantisation.get(name, name))


def open_reference(
    path: Path, dims: Mapping[str, int], fixed: Mapping[str, object] | None = None,
    ties: Sequence[tuple[str, str]] = (),
) -> Reference:
    """Opens the model at `path` in onnxruntime with all graph optimisations off.

    `ties`: pairs of output and state input. Raises ModelError if onnxruntime refuses the model, ToolError if it is not
    installed.
    """
    held = {name for _, name in ties}
    constants = {name: value for name, value in (fixed or {}).items() if name not in held}
    model = fix_inputs(read(path).model, constants, str(path))
    for name, value in dims.items():
        _bind(model, name, value)
    shown = with_all_outputs(model)
    try:
        session = open_session(shown)
    except ToolError:
        raise
    except Exception as error:
        raise ModelError(f"{path}: onnxruntime refuses the model: {str(error).splitlines()[0]}") from error
    return Reference(model, session, tuple(output.name for output in shown.graph.output), _pairs(model),
                     {held: output for output, held in ties})  # fmt: skip


def _bind(model: onnx.ModelProto, name: str, value: int) -> None:
    for tensor in model.graph.input:
        for dim in tensor.type.tensor_type.shape.dim:
            if dim.dim_param == name:
                dim.ClearField("dim_param")
                dim.dim_value = value


def _pairs(model: onnx.ModelProto) -> dict[str, str]:
    quantised = {node.output[0]: node.input[0] for node in model.graph.node if node.op_type == "QuantizeLinear"}
    return {
        quantised[node.input[0]]: node.output[0]
        for node in model.graph.node
        if node.op_type == "DequantizeLinear" and node.input[0] in quantised
    }
