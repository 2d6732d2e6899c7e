"""Layer: one operator of the file, as its handler sees it, with inputs, options, and methods that write its outputs."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import onnx
import tflite

from tigris_pio.compiler.ir.graph import Quantisation, Tensor
from tigris_pio.compiler.load.tflite.annotation import DTYPES, annotation, stored
from tigris_pio.compiler.load.tflite.constants import read_constant
from tigris_pio.compiler.load.tflite.file import Blocks, FlatOperator, FlatTensor, Options, Subgraph, defaults
from tigris_pio.compiler.load.tflite.network import FROM_IMAGE, IMAGE_SUFFIX, TO_IMAGE, Network, Unsupported
from tigris_pio.compiler.load.tflite.variables import Variables
from tigris_pio.errors import ModelError

_ACTIVATIONS = {
    number: name for name, number in vars(tflite.ActivationFunctionType).items() if not name.startswith("_")
}
#: The type of complex numbers, which the graph stores as pairs.
COMPLEX = "complex64"
_CLIPS = {"RELU6": (0.0, 6.0), "RELU_N1_TO_1": (-1.0, 1.0)}


@dataclasses.dataclass(frozen=True, eq=False)
class Steps:
    """A tensor that is a function of the logarithm of `level`: its integer for each value of the logarithm."""

    level: str
    attributes: Mapping[str, Any]
    values: np.ndarray


@dataclasses.dataclass(frozen=True, eq=False)
class Scope:
    """One run of a subgraph. `names`: the graph's names of tensors that are defined, by index."""

    subgraph: Subgraph
    names: dict[int, str]
    variables: Variables  #: the whole model's
    prefix: str = ""  #: of the names of its nodes
    given: Mapping[int, str] = dataclasses.field(default_factory=dict)  #: names of the model's outputs, by index
    depth: int = 0  #: of nesting
    once: bool = False  #: True: it runs once, before the first run of the model
    handles: dict[int, object] = dataclasses.field(default_factory=dict)  #: keys of variables, by tensor index
    steps: dict[int, Steps] = dataclasses.field(default_factory=dict)  #: by tensor index


class Layer:
    """See the module. Shapes are the file's ([N, H, W, C]), unless a docstring names others.

    read_subgraph: adds the operators of a subgraph that this operator runs
    """

    def __init__(self, network: Network, scope: Scope, operator: FlatOperator,
                 read_subgraph: Callable[[Network, Scope], None]) -> None:
        self.network, self.scope, self.operator, self.read_subgraph = network, scope, operator, read_subgraph
        self.name = f"{scope.prefix}{operator.name}_{operator.index}"

    # The operator in the file.

    @property
    def where(self) -> str:
        """File and node, for messages."""
        return f"{self.network.origin}: node {self.name}"

    def fault(self, text: str) -> ModelError:
        """The error for a file that contradicts itself in this operator."""
        return ModelError(f"{self.where}: {text}" + ("" if ";" in text else "; this is invalid, convert it again"))

    def options(self, kind: str) -> Options:
        """The operator's options, which must be of this kind; the defaults if the file stores none."""
        if not self.operator.kind:
            return defaults(kind)
        if self.operator.kind != kind:
            raise self.fault(f"its options are {self.operator.kind} instead of {kind}")
        return self.operator.options

    @property
    def count(self) -> int:
        """The number of inputs, with absent ones."""
        return len(self.operator.inputs)

    def has_input(self, position: int) -> bool:
        """Whether the operator has this input."""
        return position < self.count and self.operator.inputs[position] >= 0

    def declared(self, position: int) -> FlatTensor:
        """An input as the file declares it."""
        if not self.has_input(position):
            raise self.fault(f"it has no input {position}")
        return self.scope.subgraph.tensors[self.operator.inputs[position]]

    def output(self, position: int = 0) -> FlatTensor:
        """An output as the file declares it."""
        if position >= len(self.operator.outputs):
            raise self.fault(f"it has no output {position}")
        return self.scope.subgraph.tensors[self.operator.outputs[position]]

    # Inputs.

    def input(self, position: int) -> str:
        """The graph's name of an input."""
        tensor = self.declared(position)
        name = self.scope.names.get(tensor.index)
        if name is None and (tensor.data is not None or _is_empty(tensor)):
            name = self.scope.names[tensor.index] = self.stored_constant(tensor)
        if name is None:
            raise self.fault(f"it reads tensor {tensor.index} ({tensor.name}), which nothing before it computes")
        return name

    def stored_constant(self, tensor: FlatTensor) -> str:
        """Adds a constant with the elements that the file stores for a tensor; returns its name."""
        where = f"{self.where}: constant {tensor.name}"
        quantisation = annotation(tensor, tensor.shape, where)
        values = read_constant(tensor, where, self.network.limits)
        if tensor.blocks is not None:
            values = self._of_blocks(tensor.blocks, values)
        if quantisation is None:
            return self.network.add_constant(tensor_name(tensor), values)
        return self.network.add_constant(tensor_name(tensor), stored(values), quantisation)

    def _of_blocks(self, blocks: Blocks, values: np.ndarray) -> np.ndarray:
        """The real values of a constant that is quantised by blocks."""
        self.network.hybrid.append(self.name)
        real = values.astype(np.float32)
        for index, combine in ((blocks.zero_points, np.subtract), (blocks.scales, np.multiply)):
            if combine is np.subtract and index < 1:
                continue
            tensors = self.scope.subgraph.tensors
            if not 0 <= index < len(tensors) or tensors[index].data is None:
                raise self.fault(f"the scales of its blocks are in tensor {index}, which is no constant")
            each = self.constant_in(tensors[index])
            if blocks.size < 1 or (*each.shape[:-1], each.shape[-1] * blocks.size) != values.shape:
                raise self.fault(f"scales {list(each.shape)} of blocks of {blocks.size} for {list(values.shape)}")
            real = combine(real, np.repeat(each, blocks.size, -1).astype(np.float32))
        return real

    def constant_in(self, tensor: FlatTensor) -> np.ndarray:
        """The elements of a constant of any subgraph, in the file's type."""
        return read_constant(tensor, f"{self.where}: {tensor.name}", self.network.limits)

    def inputs(self) -> list[str]:
        """The graph's names of all inputs; absent ones are empty."""
        return [self.input(position) if self.has_input(position) else "" for position in range(self.count)]

    def image(self, position: int) -> str:
        """The name of an input as an image [N, C, H, W]; see network.py."""
        if len(self.shape(position)) > 4:
            raise Unsupported(f"its input {position} has {len(self.shape(position))} axes; at most four are supported")
        return self.network.image(self.input(position))

    def shape(self, position: int) -> tuple[int, ...]:
        """An input's shape, without the last axis of real and imaginary parts that a complex input has in the graph."""
        shape = self.network.tensors[self.input(position)].shape
        return shape[:-1] if self.declared(position).type == COMPLEX else shape

    def quantisation(self, position: int) -> Quantisation | None:
        """An input's annotation; None if it is not quantised."""
        return self.network.tensors[self.input(position)].quantisation

    def constant(self, position: int) -> np.ndarray | None:
        """The stored elements of a constant input; None for a computed one."""
        return self.network.weights.get(self.input(position))

    def integers(self, position: int, what: str) -> list[int]:
        """The elements of a constant input of whole numbers, such as a shape. Raises Unsupported if it is computed."""
        value = self.constant(position)
        if value is None:
            raise Unsupported(f"its {what} are computed at run time")
        if value.dtype.kind not in "iu":
            raise self.fault(f"its {what} are {value.dtype}")
        if value.size > 1 << 16:
            raise self.fault(f"its {what} are {value.size} numbers")
        return [int(item) for item in value.reshape(-1)]

    def broadcast(self, *positions: int) -> tuple[int, ...]:
        """The shape of inputs, broadcast against each other."""
        return self.joint(*(self.shape(position) for position in positions))

    def as_images(self, *positions: int) -> bool:
        """Whether inputs are read as images: one was written as an image, and none has more than four axes."""
        names = [self.input(position) for position in positions]
        return (any(self.network.has_image(name) and not self.network.is_constant(name) for name in names)
                and max(len(self.network.tensors[name].shape) for name in names) == 4)

    def axes(self, position: int, rank: int) -> list[int]:
        """A constant input of axes, sorted."""
        given = self.integers(position, "axes")
        if any(not -rank <= axis < rank for axis in given):
            raise self.fault(f"axes {given} of {rank}")
        return sorted({axis % rank for axis in given})

    def axis(self, position: int, rank: int) -> int:
        """A constant input of one axis."""
        axes = self.axes(position, rank)
        if len(axes) != 1:
            raise self.fault(f"{len(axes)} axes instead of one")
        return axes[0]

    def joint(self, *shapes: Sequence[int]) -> tuple[int, ...]:
        """Shapes broadcast against each other."""
        try:
            return tuple(int(size) for size in np.broadcast_shapes(*map(tuple, shapes)))
        except ValueError:
            listed = ", ".join(str(list(shape)) for shape in shapes)
            raise self.fault(f"shapes {listed} do not fit each other") from None

    def weights(self, position: int) -> str:
        """The name of an input of weights; float32 for a layer with quantised weights and float tensors."""
        name = self.input(position)
        if self.network.is_constant(name) and self.quantisation(position) is not None and self.annotation()[1] is None:
            return self.network.widened(name, self.name)
        return name

    def bias(self, position: int, count: int) -> list[str]:
        """The names of the bias: one or none. Integers get the product of input and weight scale as their scale; the
        file's is ignored."""
        if not self.has_input(position):
            return []
        name = self.input(position)
        value = self.network.weights.get(name)
        if self.shape(position) != (count,):
            raise self.fault(f"a bias of shape {list(self.shape(position))} instead of [{count}]")
        first, second = (self.quantisation(item) for item in self._multiplied)
        if value is None or value.dtype.kind != "i" or first is None or second is None:
            return [name]
        scale = (first.scale.astype(np.float64) * second.scale.astype(np.float64)).astype(np.float32)
        scale = np.maximum(scale, np.finfo(np.float32).tiny)
        if scale.ndim and scale.shape != (count,):
            raise self.fault(f"scales of shape {list(scale.shape)} instead of [{count}]")
        axis = 0 if scale.ndim else None
        if first.dtype == np.int16:  # sums have 64 bits
            quantisation = Quantisation(scale, np.zeros(scale.shape, np.int64), np.dtype(np.int64), axis)
            return [self.network.add_constant(f"{self.name}/bias", value.astype(np.int64), quantisation)]
        quantisation = Quantisation(scale, np.zeros(scale.shape, np.int64), np.dtype(np.int32), axis)
        if value.size and not -(1 << 31) <= int(value.min()) <= int(value.max()) < 1 << 31:
            raise Unsupported("a bias beyond 32 bits")
        return [self.network.add_constant(f"{self.name}/bias", value.astype(np.int32), quantisation)]

    @property
    def _multiplied(self) -> tuple[int, int]:
        """The inputs whose scales are multiplied for the bias."""
        return (2, 1) if self.operator.name == "TRANSPOSE_CONV" else (0, 1)

    # Outputs.

    def elementwise(self, op: str, indices: Sequence[int], attributes: Mapping[str, Any] | None = None, *,
                    activation: int = 0, domain: str = "") -> None:
        """Writes the output by a node that works element by element, with broadcasting."""
        inputs, _, image = self.operands(*indices)
        self.write(op, inputs, self.broadcast(*indices), attributes, image=image, activation=activation, domain=domain)

    def operands(self, *positions: int) -> tuple[list[str], tuple[int, ...], bool]:
        """For nodes that work element by element: the inputs' names, the output's shape, and whether it is an image."""
        shape, image = self.broadcast(*positions), self.as_images(*positions)
        names = [self.image(position) if image else self.input(position) for position in positions]
        return names, tuple(shape[axis] for axis in TO_IMAGE) if image else shape, image

    def numbers(self, values: Sequence[int]) -> str:
        """Adds a constant, a vector of int64; returns its name."""
        return self.network.add_constant(f"{self.name}/numbers", np.array(values, np.int64))

    def limits(self, starts: Sequence[int], ends: Sequence[int], axes: Sequence[int],
               steps: Sequence[int] = ()) -> list[str]:
        """Adds the constants that ONNX's Slice reads behind its input; returns their names. Steps are 1 by default."""
        return [self.numbers(values) for values in (starts, ends, axes, steps or [1] * len(starts))]

    def index(self, value: int) -> str:
        """Adds a constant, one int64 without an axis; returns its name."""
        return self.network.add_constant(f"{self.name}/number", np.array(value, np.int64))

    def number(self, value: float) -> str:
        """Adds a constant, one float32 without an axis; returns its name."""
        return self.network.add_constant(f"{self.name}/number", np.array(value, np.float32))

    def annotation(self, output: int = 0) -> tuple[np.dtype[Any], Quantisation | None]:
        """Element type and quantisation of an output."""
        tensor = self.output(output)
        where = f"{self.where}: its output {tensor.name}"
        if tensor.type not in DTYPES:
            raise Unsupported(f"its output {tensor.name} has type {tensor.type}")
        quantisation = annotation(tensor, tensor.shape, where)
        if quantisation is not None and quantisation.axis is not None:
            raise Unsupported(f"its output {tensor.name} has a scale for each element of an axis")
        return DTYPES[tensor.type], quantisation

    def part(self, op: str, inputs: Sequence[str], shape: Sequence[int], attributes: Mapping[str, Any] | None = None,
             *, like: str = "", real: bool = False, quantised: Quantisation | None = None,
             dtype: type[np.generic] = np.float32, domain: str = "") -> str:
        """Adds a node whose result is no tensor of the file; returns the result's name.

        Its type is that of the tensor `like`, `dtype` if that is given or with `real`, that of the annotation
        `quantised`, or else the output's.
        """
        tensor = self.network.tensors.get(like)
        kind, quantisation = np.dtype(dtype), quantised
        if quantised is None and not real and dtype is np.float32:
            kind, quantisation = self.annotation() if tensor is None else (tensor.dtype, tensor.quantisation)
        name = self.network.fresh(f"{self.name}/{op.lower()}")
        self.network.add_tensor(name, shape, kind, quantisation)
        self.network.add_node(self.network.fresh(f"{self.name}/{op}"), op, inputs, (name,), attributes, domain)
        return name

    def write(self, op: str, inputs: Sequence[str], shape: Sequence[int], attributes: Mapping[str, Any] | None = None,
              *, output: int = 0, image: bool = False, activation: int = 0, domain: str = "") -> None:
        """Adds the node that computes an output of the file.

        shape: the output's, in the file's axis order
        image: the node computes the output as [N, C, H, W]
        activation: the schema's number of a fused activation
        """
        dtype, quantisation = self.annotation(output)
        name = self._declare(output, tuple(shape))
        final = name
        if image:
            final = self.network.fresh(f"{name}{IMAGE_SUFFIX}")
            permuted = tuple(shape[axis] for axis in TO_IMAGE)
            self.network.add_tensor(final, permuted, dtype, quantisation)
        clip, last = self._unclipped(activation, final)
        self.network.add_node(self.name if output == 0 else f"{self.name}/{output}", op, inputs, (last,), attributes,
                              domain)
        self._activate(clip, last, final)
        if image:
            self.network.images[name] = final
            transpose = self.network.fresh(f"{name}/transpose")
            self.network.add_node(transpose, "Transpose", (final,), (name,), {"perm": FROM_IMAGE})

    def write_all(self, op: str, inputs: Sequence[str], shapes: Sequence[tuple[int, ...]]) -> None:
        """Adds the node that computes all outputs."""
        names = [self._declare(output, shape) for output, shape in enumerate(shapes)]
        self.network.add_node(self.name, op, inputs, names)

    def activated(self, op: str, inputs: Sequence[str], shape: Sequence[int], attributes: Mapping[str, Any],
                  activation: int) -> str:
        """Adds a node with a fused activation; returns the result's name, which the caller reshapes into the output."""
        dtype, quantisation = self.annotation()
        final = self.network.add_tensor(self.network.fresh(f"{self.name}/inner"), shape, dtype, quantisation)
        clip, last = self._unclipped(activation, final)
        self.network.add_node(self.network.fresh(f"{self.name}/{op}"), op, inputs, (last,), attributes)
        self._activate(clip, last, final)
        return final

    def clipped(self, name: str, activation: int) -> str:
        """Applies a fused activation to a tensor; returns the result's name."""
        tensor = self.network.tensors[name]
        result = self.network.add_tensor(self.network.fresh(f"{self.name}/inner"), tensor.shape, tensor.dtype,
                                         tensor.quantisation)
        self._activate(_ACTIVATIONS.get(activation, ""), name, result)
        return result

    def whole(self, name: str) -> str:
        """A tensor of whole numbers as int64, the type of ONNX's indices; returns the result's name."""
        tensor = self.network.tensors[name]
        if tensor.dtype == np.int64:
            return name
        wide = self.network.add_tensor(self.network.fresh(f"{self.name}/indices"), tensor.shape, np.dtype(np.int64))
        self.network.add_node(self.network.fresh(f"{self.name}/wide"), "Cast", (name,), (wide,),
                              {"to": onnx.TensorProto.INT64})
        return wide

    def real(self, name: str) -> str:
        """A tensor of whole numbers as float32, which is exact up to 2^24; returns the result's name."""
        return self.part("Cast", [name], self.network.tensors[name].shape, {"to": onnx.TensorProto.FLOAT}, real=True)

    def reshaped(self, name: str, shape: Sequence[int]) -> str:
        """Reshapes a tensor of the graph; returns the result's name."""
        if self.network.tensors[name].shape == tuple(shape):
            return name
        return self.part("Reshape", [name, self.numbers(shape)], shape, like=name)

    def item(self, name: str, position: int) -> str:
        """The element of a tensor at an index of its first axis, without that axis; returns the result's name."""
        shape = self.network.tensors[name].shape[1:]
        return self.part("Gather", [name, self.index(position)], shape, {"axis": 0}, like=name)

    def listed(self, items: Sequence[str]) -> str:
        """Adds a list of tensors; returns its name."""
        name = self.network.fresh(f"{self.name}/list")
        self.network.lists[name] = tuple(items)
        return name

    def _unclipped(self, activation: int, final: str) -> tuple[str, str]:
        """The name of a fused activation, and the tensor that it reads."""
        clip = _ACTIVATIONS.get(activation, "")
        if clip == "NONE":
            return clip, final
        tensor = self.network.tensors[final]
        name = self.network.fresh(f"{self.name}/unclipped")
        return clip, self.network.add_tensor(name, tensor.shape, tensor.dtype, tensor.quantisation)

    def _activate(self, function: str, source: str, result: str) -> None:
        if function == "NONE":
            return
        node = self.network.fresh(f"{self.name}/{function.lower()}")
        if function == "RELU":
            self.network.add_node(node, "Relu", (source,), (result,))
        elif function in _CLIPS:
            bounds = [self.number(value) for value in _CLIPS[function]]
            self.network.add_node(node, "Clip", (source, *bounds), (result,))
        elif function == "TANH":
            self.network.add_node(node, "Tanh", (source,), (result,))
        else:
            raise Unsupported(f"its fused activation is {function or 'unknown'}")

    def output_like(self, output: int = 0) -> Tensor:
        """The type, annotation and declared shape of an output, as a Tensor without a name."""
        dtype, quantisation = self.annotation(output)
        kind = dtype if quantisation is None else quantisation.dtype
        return Tensor("", self.output(output).shape, kind, quantisation)

    def define_variable(self, key: object) -> None:
        """Makes the output a handle of a variable."""
        self.scope.handles[self.output().index] = key

    def variable(self, position: int) -> object:
        """The key of the variable to which an input refers: by a handle, or as the memory of a layer."""
        tensor = self.declared(position)
        if tensor.index not in self.scope.handles and tensor.is_variable and tensor.data is None:
            key = self.scope.handles[tensor.index] = (self.scope.prefix, tensor.index)
            self.scope.variables.declare(key, tensor_name(tensor))
        if tensor.index not in self.scope.handles:
            raise self.fault(f"its input {tensor.name} is no variable")
        return self.scope.handles[tensor.index]

    def state(self, position: int) -> str:
        """The name of the current value of a layer's memory, which is an input."""
        return self.scope.variables.read(self.variable(position), self.input_like(position))

    def set_state(self, position: int, name: str) -> None:
        """Assigns a new value to a layer's memory."""
        self.scope.variables.assign(self.variable(position), name)

    def input_like(self, position: int) -> Tensor:
        """The type, annotation and declared shape of an input that nothing computes, as a Tensor without a name."""
        tensor = self.declared(position)
        quantisation = annotation(tensor, tensor.shape, f"{self.where}: {tensor.name}")
        if tensor.type not in DTYPES:
            raise Unsupported(f"its input {tensor.name} has type {tensor.type}")
        kind = DTYPES[tensor.type] if quantisation is None else quantisation.dtype
        return Tensor("", tensor.shape, kind, quantisation)

    def constant_of(self, scope: Scope, index: int) -> str:
        """The graph's name of an output of another subgraph that is a constant."""
        tensor = scope.subgraph.tensors[index]
        if tensor.data is None:
            raise self.fault(f"nothing computes {tensor.name}, an output of the subgraph it runs")
        return self.stored_constant(tensor)

    def pass_on(self, name: str, output: int = 0) -> None:
        """Makes an output the tensor `name` of the graph."""
        self._define(output, name)

    def write_constant(self, value: np.ndarray, output: int = 0, quantisation: Quantisation | None = None) -> None:
        """Makes an output a constant."""
        name = self._declare(output, value.shape)
        self.network.set_constant(name, value, quantisation)

    def _declare(self, output: int, shape: tuple[int, ...]) -> str:
        """Defines an output under a new name. The file's declared shape is ignored: writers copy it from a network with
        another batch, or leave it out."""
        dtype, quantisation = self.annotation(output)
        tensor = self.output(output)
        name = self.scope.given.get(tensor.index) or self.network.fresh(tensor_name(tensor))
        self.network.add_tensor(name, shape, dtype, quantisation)
        self._define(output, name)
        return name

    def _define(self, output: int, name: str) -> None:
        index = self.output(output).index
        if index in self.scope.names:
            raise self.fault(f"it writes tensor {index} ({self.output(output).name}), which is defined already")
        self.scope.names[index] = name


def _is_empty(tensor: FlatTensor) -> bool:
    """Whether a tensor without a buffer is a constant without elements, such as the shape of a scalar."""
    return 0 in tensor.shape and -1 not in tensor.signature and not tensor.is_variable


def tensor_name(tensor: FlatTensor) -> str:
    """The converter's name of a tensor; it appends the names of fused operators behind a semicolon."""
    return tensor.name.split(";")[0][:200] or f"tensor_{tensor.index}"
