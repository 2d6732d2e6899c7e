"""Compares a plan of a .tflite file with TensorFlow Lite Micro's interpreter, tensor by tensor.

int8 arithmetic is the same in both, so errors do not add up along the network: a layer differs if it is off by more
than one step. If that interpreter does not run a file, LiteRT's is used, whose int8 may round differently. A layer that
differs from only one of them passes, because each is wrong for some files. A model with states carries them from
sample to sample.
"""

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

import numpy as np

from tigris_pio.compiler.ir.program import Program, StoredValue
from tigris_pio.compiler.limits import find_limits
from tigris_pio.compiler.load.tflite.annotation import DTYPES
from tigris_pio.compiler.load.tflite.file import FlatModel, read
from tigris_pio.compiler.load.tflite.model import io_names, set_inputs, tensor_numbers
from tigris_pio.compiler.load.tflite.network import FROM_IMAGE, IMAGE_SUFFIX
from tigris_pio.compiler.options import CompileOptions
from tigris_pio.compiler.pipeline import Compiled
from tigris_pio.errors import ModelError, ToolError
from tigris_pio.format.enums import OpKind
from tigris_pio.host import Session
from tigris_pio.installation import install_command
from tigris_pio.verify.compare import Comparison, Layer, layers_and_outputs, measure
from tigris_pio.verify.traces import Masked, in_model_order, integer_limits, masked

#: Largest error of a layer: steps of int8, and a share of the largest value in float32.
STEPS, RELATIVE = 1.0, 1e-3
_MICRO, _LITERT = "TensorFlow Lite Micro", "LiteRT"
#: The kind that writes a state when a run ends. In the reference, that tensor still holds the state before the run.
_COMMIT = OpKind.COMMIT.name.lower()
#: Bytes of the interpreter's arena: in all, and for each tensor's records.
_MICRO_HEAP, _MICRO_A_TENSOR = 1 << 20, 256


#: Shapes of the inputs, in the file's order.
Shapes = Sequence[Sequence[int]]


class _Interpreter(Protocol):
    """A reference: takes a sample by input number, returns any tensor of the main subgraph."""

    name: str

    def run(self, inputs: Sequence[np.ndarray]) -> None: ...

    def tensor(self, number: int) -> np.ndarray | None: ...


class _Micro:
    """The package tflite-micro."""

    name = _MICRO

    def __init__(self, data: bytes, model: FlatModel, shapes: Shapes) -> None:
        declared = [model.subgraphs[0].tensors[number].shape for number in model.subgraphs[0].inputs]
        for shape, said in zip(shapes, declared, strict=True):
            if math.prod(shape) != math.prod(said):
                raise ValueError(f"it needs input shapes as in the file, {list(said)}, not {list(shape)}")
        from tflite_micro.python.tflite_micro import runtime  # noqa: PLC0415  optional: only verify needs it

        arena = _MICRO_HEAP + len(data)
        for subgraph in model.subgraphs:
            for tensor in subgraph.tensors:
                arena += 8 * math.prod(tensor.shape) + _MICRO_A_TENSOR
        keep = runtime.InterpreterConfig.kPreserveAllTensors
        self._interpreter = runtime.Interpreter.from_bytes(data, arena_size=arena, intrepreter_config=keep)
        self._shapes = declared

    def run(self, inputs: Sequence[np.ndarray]) -> None:
        for number, (array, shape) in enumerate(zip(inputs, self._shapes, strict=True)):
            self._interpreter.set_input(np.ascontiguousarray(array).reshape(shape), number)
        self._interpreter.invoke()

    def tensor(self, number: int) -> np.ndarray | None:
        return np.array(self._interpreter.GetTensor(number, 0)["tensor_data"])


class _LiteRt:
    """The package ai-edge-litert, with TensorFlow Lite's reference kernels."""

    name = _LITERT

    def __init__(self, data: bytes, model: FlatModel, shapes: Shapes) -> None:
        from ai_edge_litert import interpreter as litert  # noqa: PLC0415  optional

        # The reference kernel of this operator leaves out the last channel of the window that TensorFlow trains with.
        names = {operator.name for graph in model.subgraphs for operator in graph.operators}
        resolver = (litert.OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES if "LOCAL_RESPONSE_NORMALIZATION" in names
                    else litert.OpResolverType.BUILTIN_REF)
        self._interpreter = litert.Interpreter(model_content=data, experimental_op_resolver_type=resolver,
                                               experimental_preserve_all_tensors=True)
        for detail, shape in zip(self._interpreter.get_input_details(), shapes, strict=True):
            if math.prod(detail["shape"]) != math.prod(shape):
                self._interpreter.resize_tensor_input(detail["index"], shape)
        self._interpreter.allocate_tensors()

    def run(self, inputs: Sequence[np.ndarray]) -> None:
        for array, detail in zip(inputs, self._interpreter.get_input_details(), strict=True):
            self._interpreter.set_tensor(detail["index"], array.reshape(detail["shape"]))
        self._interpreter.invoke()

    def tensor(self, number: int) -> np.ndarray | None:
        try:
            return np.array(self._interpreter.get_tensor(number))
        except ValueError:  # a handle, or a tensor of a delegate
            return None


_INTERPRETERS: Sequence[tuple[Callable[[bytes, FlatModel, Shapes], _Interpreter], str]] = (
    (_Micro, "tflite-micro"), (_LiteRt, "ai-edge-litert"),
)


def open_interpreter(data: bytes, model: FlatModel, shapes: Shapes) -> _Interpreter:
    """Opens the first interpreter that is installed and runs the model with inputs of `shapes` (dimensions bound).

    Raises ToolError if a missing package may help, else ModelError.
    """
    missing, reasons = [], []
    for make, package in _INTERPRETERS:
        try:
            make(data, model, shapes).run(_zeros(model, shapes))  # some operators are only refused when they run
            return make(data, model, shapes)
        except ImportError:
            missing.append(package)
        except (RuntimeError, ValueError) as error:
            reasons.append(f"{package}: {str(error).splitlines()[0] if str(error) else type(error).__name__}")
    command = install_command(missing[0]) if missing else ""
    if not reasons:
        raise ToolError(f"verify needs TensorFlow Lite Micro's interpreter; install it: {command}")
    refusal = f"{model.origin}: no reference runs the model ({'; '.join(reasons)})"
    if missing:
        raise ToolError(f"{refusal}; another one may run it: {command}")
    raise ModelError(refusal)


def _zeros(model: FlatModel, shapes: Shapes) -> list[np.ndarray]:
    numbers = model.subgraphs[0].inputs
    dtypes = [DTYPES[model.subgraphs[0].tensors[number].type] for number in numbers]
    return [np.zeros(shape, dtype) for shape, dtype in zip(shapes, dtypes, strict=True)]


def _second(first: _Interpreter, data: bytes, model: FlatModel, shapes: Shapes) -> _Interpreter | None:
    """LiteRT as a second opinion on TensorFlow Lite Micro; None if it is not installed or does not run the model."""
    try:
        return _LiteRt(data, model, shapes) if first.name == _MICRO else None
    except (ImportError, RuntimeError, ValueError):
        return None


def compare_tflite(compiled: Compiled, whole: Compiled, path: Path, options: CompileOptions,
                   samples: Sequence[Mapping[str, np.ndarray]]) -> tuple[Comparison, str]:
    """Compares a plan with the reference, and byte for byte with `whole`; returns the reference's name as well."""
    limits = find_limits(options.limits)
    model, data = read(path, limits), path.read_bytes()
    fixed = {name: value for name, value in options.fixed.items() if name not in {held for _, held in options.states}}
    numbers = tensor_numbers(path, options.dims, limits, fixed)
    with Session(compiled.data) as session:
        shapes = _Given(session, model, fixed).shapes
    interpreter = open_interpreter(data, model, shapes)
    found = _compared(compiled, whole, model, numbers, fixed, samples, interpreter)
    other = None if found.passed or not found.bands_identical else _second(interpreter, data, model, shapes)
    if other is None:
        return found, interpreter.name
    again = _compared(compiled, whole, model, numbers, fixed, samples, other)
    both = [tuple(one if not one.differs or two.differs else two for one, two in zip(first, second, strict=True))
            for first, second in ((found.layers, again.layers), (found.outputs, again.outputs))]
    return (dataclasses.replace(found, layers=both[0], outputs=both[1]),
            f"{interpreter.name}, and {other.name} where the first one differs")


def _compared(compiled: Compiled, whole: Compiled, model: FlatModel, numbers: Mapping[str, int],
              fixed: Mapping[str, object], samples: Sequence[Mapping[str, np.ndarray]],
              interpreter: _Interpreter) -> Comparison:
    """Compares with one reference."""
    program = compiled.plan.program
    layers, outputs = layers_and_outputs(compiled)
    shown = _shown(program, numbers)
    results = {name: number for number, name in io_names(model).items()}
    identical = True
    with Session(compiled.data) as first, Session(compiled.data) as second, Session(whole.data) as undivided:
        given = _Given(first, model, fixed)
        for sample in samples:
            inputs = given.arrays(sample)
            stored = {io.name: io.to_stored(io.check_model_array(sample[io.name])) for io in first.inputs}
            raw, trace = first.run_raw_traced(stored)
            _, again = second.run_raw_traced(stored, fill=0x55)
            expected = undivided.run_raw(stored)
            identical &= all(raw[name].tobytes() == expected[name].tobytes() for name in raw)
            interpreter.run(inputs)
            for layer in layers:
                if layer.tensor in shown and layer.kind != _COMMIT:
                    value, number, image = shown[layer.tensor]
                    array = in_model_order(masked(trace[layer.name], again[layer.name]), value)
                    _compare(layer, array, interpreter.tensor(number), image, program)
            for layer, io in zip(outputs, first.outputs, strict=True):
                array = np.ma.masked_array(io.to_model(raw[io.name]))
                _compare(layer, array, interpreter.tensor(results[io.name]), False, program)
    return Comparison(len(samples), tuple(layers), tuple(outputs), identical)


class _Given:
    """The reference's inputs: all inputs of the file, including constants of --set and states."""

    def __init__(self, session: Session, model: FlatModel, fixed: Mapping[str, object]) -> None:
        constants, names = set_inputs(model, fixed), io_names(model)
        known = {io.name: io for io in (*session.inputs, *session.states)}
        self._session = session
        self._inputs: list[str | np.ndarray] = [
            constants[place] if place in constants else names[number]
            for place, number in enumerate(model.subgraphs[0].inputs)]
        self.shapes = [item.shape if isinstance(item, np.ndarray) else known[item].shape for item in self._inputs]

    def arrays(self, sample: Mapping[str, np.ndarray]) -> list[np.ndarray]:
        """The inputs of the next run, by number; states have the plan's values."""
        known = {**sample, **self._session.state()}
        return [item if isinstance(item, np.ndarray) else known[item] for item in self._inputs]


def _shown(program: Program, numbers: Mapping[str, int]) -> dict[str, tuple[StoredValue, int, bool]]:
    """The stored tensors that the file has: where they lie, their numbers, and whether they are stored as images."""
    found: dict[str, tuple[StoredValue, int, bool]] = {}
    for name, value in program.values.items():
        image = name.endswith(IMAGE_SUFFIX) and name not in numbers
        number = numbers.get(name.removesuffix(IMAGE_SUFFIX) if image else name)
        if number is not None:
            found.setdefault(value.tensor, (value, number, image))
    return found


def _compare(layer: Layer, array: Masked, expected: np.ndarray | None, image: bool, program: Program) -> None:
    """Measures a layer in real numbers; marks it if it exceeds STEPS or RELATIVE."""
    if expected is None or expected.size != array.size:
        return
    tensor = program.tensors[layer.tensor]
    if image:
        array = array.transpose(FROM_IMAGE)
    made = ~np.ma.getmaskarray(array).reshape(-1)
    got, wanted = (np.asarray(item).reshape(-1)[made] for item in (array.data, expected))
    integers = integer_limits(tensor) is not None
    if integers:
        got, wanted = (_real(item, tensor.scale, tensor.zero_point) for item in (got, wanted))
    measure(layer, got.astype(np.float64), wanted.astype(np.float64), tensor.scale if integers else 0.0)
    largest = float(np.max(np.abs(wanted[np.isfinite(wanted)]), initial=0.0)) if wanted.dtype.kind == "f" else 1.0
    most = STEPS * tensor.scale * (1 + 1e-6) if integers else RELATIVE * max(largest, 1e-3)
    layer.differs |= not layer.max_difference <= most


def _real(values: np.ndarray, scale: float, zero_point: int) -> np.ndarray:
    """Dequantises integers; a file's uint8 values are 128 more than the plan's int8."""
    if values.dtype.kind == "f":
        return values.astype(np.float64)
    shift = 128 if values.dtype == np.uint8 else 0
    real: np.ndarray = (values.astype(np.float64) - shift - zero_point) * scale
    return real
