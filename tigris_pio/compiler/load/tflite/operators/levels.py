"""The front end of audio networks: custom operators of TensorFlow Lite Micro whose names begin with Signal.

From the window to the square root they are one node: 64-bit sums and the spectrum's shift are internal to it. The
results are levels, uint32, which only the operators below read.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable

import numpy as np

from tigris_pio.compiler.ir.graph import Tensor
from tigris_pio.compiler.load.tflite.annotation import DTYPES
from tigris_pio.compiler.load.tflite.custom import number
from tigris_pio.compiler.load.tflite.file import FlatOperator, FlatTensor
from tigris_pio.compiler.load.tflite.layer import Layer, Steps
from tigris_pio.compiler.load.tflite.network import Unsupported
from tigris_pio.compiler.load.tflite.operators.registry import handler

_MOST_POINTS = 1 << 15
_GAINS = 125
#: All values of a logarithm.
_VALUES = np.arange(1 << 15)
_INT32 = np.iinfo(np.int32)
_CHAIN = "SignalWindow, SignalFftAutoScale, SignalRfft, SignalEnergy, SignalFilterBank, SignalFilterBankSquareRoot"
#: Operators that keep their input's elements and bits; CAST only between int32 and uint32.
_PASSING = frozenset(("CAST", "RESHAPE", "SQUEEZE", "EXPAND_DIMS"))


@handler("SignalWindow", "SignalFftAutoScale", "SignalRfft", "SignalEnergy", "SignalFilterBank",
         summary="int16, in a chain that ends with SignalFilterBankSquareRoot; transforms of 4 to 32768 points, a "
         "power of two")
def read_link(layer: Layer) -> None:
    """Nothing: SignalFilterBankSquareRoot reads the whole chain. A refused node that nothing reads is dropped."""
    raise Unsupported(f"it is compiled only within the chain {_CHAIN}; here the chain is another one, or an output or "
                      "another operator reads it, too")


@handler("SignalFilterBankSquareRoot", summary="uint32; the end of the chain that SignalWindow begins")
def read_square_root(layer: Layer) -> None:
    """SPECTRUM."""
    bank = _maker(layer, 0, "SignalFilterBank")
    scaled = _maker(layer, 1, "SignalFftAutoScale")
    energy, kept = _energies(bank)
    transform = _maker(energy, 0, "SignalRfft")
    if _maker(transform, 0, "SignalFftAutoScale").operator is not scaled.operator:
        raise Unsupported("its shift is that of another SignalFftAutoScale than its spectrum's")
    points = _whole(transform, "fft_length")
    if transform.declared(0).type != "int16" or not 4 <= points <= _MOST_POINTS or points & (points - 1):
        raise Unsupported(f"a transform of {points} points of {transform.declared(0).type}; 4 to {_MOST_POINTS} of "
                          "int16, a power of two, are supported")
    samples, window, shift = _windowed(scaled, points)
    start, end = _whole(energy, "start_index"), _whole(energy, "end_index")
    bands, weights = _bands(bank, points // 2 + 1, (max(start, kept[0]), min(end, kept[1])))
    constants = [layer.network.add_constant(f"{layer.name}/{name}", value)
                 for name, value in (("window", window), ("bands", bands), ("weights", weights))]
    layer.write("SPECTRUM", [samples, *constants], (len(bands) - 1,), {"points": points, "shift": shift},
                domain="tflite")


def _producer(layer: Layer, position: int, passing: frozenset[str]) -> Layer | None:
    """The operator that computes an input, skipping operators named in `passing`; None if there is none."""
    index = layer.declared(position).index
    tensors = layer.scope.subgraph.tensors
    made = {output: operator for operator in layer.scope.subgraph.operators for output in operator.outputs}
    found: FlatOperator | None = None
    for _ in layer.scope.subgraph.operators:
        found = made.get(index)
        if found is None or found.name not in passing:
            break
        source = found.inputs[0]
        if found.name == "CAST" and not {tensors[item].type for item in (source, index)} <= {"int32", "uint32"}:
            break
        index = source
    return None if found is None else Layer(layer.network, layer.scope, found, layer.read_subgraph)


def _maker(layer: Layer, position: int, name: str) -> Layer:
    """The operator of this name that computes an input."""
    found = _producer(layer, position, _PASSING)
    if found is None or found.operator.name != name:
        by = "no operator" if found is None else found.name
        raise Unsupported(f"input {position} of {layer.name} is computed by {by} instead of {name}: only the whole "
                          f"chain {_CHAIN} is supported")
    return found


def _energies(bank: Layer) -> tuple[Layer, tuple[int, int]]:
    """The layer that computes a bank's energies, and the range of them that is not set to 0 in between."""
    joined = _producer(bank, 0, _PASSING)
    if joined is None or joined.operator.name != "CONCATENATION":
        return _maker(bank, 0, "SignalEnergy"), (0, _MOST_POINTS)
    tensors = [joined.declared(position) for position in range(joined.count)]
    (inner, *others) = [position for position, tensor in enumerate(tensors) if tensor.data is None] or [-1, -1]
    sliced = None if others else _producer(joined, inner, _PASSING)
    zeros = [joined.constant_in(tensor) for tensor in tensors if tensor.data is not None]
    if sliced is None or sliced.operator.name != "STRIDED_SLICE" or any(value.any() for value in zeros):
        raise Unsupported(f"the energies that {bank.name} reads are joined by {joined.name} from other than zeros and "
                          "one slice")
    begin, end, step = (_vector(sliced, position, "slice") for position in (1, 2, 3))
    before = sum(math.prod(tensor.shape) for tensor in tensors[:inner])
    options = sliced.options("StridedSliceOptions")
    masked = any(options[name] for name in ("BeginMask", "EndMask", "EllipsisMask", "NewAxisMask", "ShrinkAxisMask"))
    if len(begin) != 1 or masked or step[0] != 1 or begin[0] != before or not 0 <= begin[0] <= end[0]:
        raise Unsupported(f"{sliced.name} moves energies to other positions")
    return _maker(sliced, 0, "SignalEnergy"), (int(begin[0]), int(end[0]))


def _windowed(scaled: Layer, points: int) -> tuple[str, np.ndarray, int]:
    """The samples, the window and the shift of their products. A missing window is all ones."""
    window = _producer(scaled, 0, _PASSING)
    weights, shift, source = np.ones(1, np.int16), 0, scaled
    if window is not None and window.operator.name == "SignalWindow":
        weights, shift, source = _vector(window, 1, "window").astype(np.int16), _bits(window, "shift"), window
    name = source.input(0)
    tensor = source.network.tensors[name]
    count = math.prod(tensor.shape)
    if tensor.dtype != np.int16 or count > points or not len(weights) or count % len(weights):
        raise source.fault(f"{count} samples of {tensor.dtype} for a window of {len(weights)} and {points} points")
    if source.network.is_constant(name):
        raise Unsupported(f"its samples {name} are constant")
    return name, np.resize(weights, count), shift


def _bands(bank: Layer, bins: int, kept: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
    """The bands and pairs of weights of SPECTRUM, without the zeros at both ends of a band."""
    weights = np.stack([_vector(bank, position, "weights") for position in (1, 2)], 1)
    ranges = np.stack([_vector(bank, position, "bands") for position in (3, 4, 5)], 1)
    channels = _whole(bank, "num_channels")
    if len(ranges) != channels + 1 or channels < 1:
        raise bank.fault(f"{len(ranges)} bands for {channels} channels")
    if weights.min(initial=0) < 0:
        raise Unsupported(f"{bank.name} has negative weights")
    bands, pairs = [], []
    for first, start, width in ranges.tolist():
        if min(first, start, width) < 0 or first + width > bins or start + width > len(weights):
            raise bank.fault(f"{width} bins from {first} with weights from {start} on, of {bins} bins and "
                             f"{len(weights)} weights")
        numbers = np.arange(first, first + width)[:, np.newaxis]
        own = weights[start : start + width] * ((numbers >= kept[0]) & (numbers < kept[1]))
        used = np.flatnonzero(own.any(1))
        low, high = (int(used[0]), int(used[-1]) + 1) if len(used) else (0, 0)
        bands.append((first + low, high - low))
        pairs.append(own[low:high])
    joined = np.concatenate(pairs).astype(np.uint16)
    return np.array(bands, np.uint16), joined if len(joined) else np.zeros((1, 2), np.uint16)


def _vector(layer: Layer, position: int, what: str) -> np.ndarray:
    """A constant of whole numbers."""
    tensor: FlatTensor = layer.declared(position)
    if tensor.data is None:
        raise Unsupported(f"the {what} of {layer.name} are computed at run time")
    values = layer.constant_in(tensor)
    if values.ndim != 1 or values.dtype.kind != "i":
        raise layer.fault(f"{what} of {values.dtype} {list(values.shape)}")
    return values.astype(np.int64)


def _whole(layer: Layer, key: str) -> int:
    value = number(layer, key)
    if not value.is_integer():
        raise layer.fault(f"{key} {value}")
    return int(value)


def _bits(layer: Layer, key: str, most: int = 31) -> int:
    value = _whole(layer, key)
    if not 0 <= value <= most:
        raise Unsupported(f"{key} {value}; 0 to {most} are supported")
    return value


def _levels(layer: Layer, position: int) -> str:
    """An input of levels."""
    name = layer.input(position)
    tensor = layer.network.tensors[name]
    if tensor.dtype != np.uint32 or layer.network.is_constant(name):
        raise Unsupported(f"its input {name} is {'constant' if tensor.dtype == np.uint32 else tensor.dtype}; levels of "
                          "uint32 are supported")
    return name


@handler("SignalFilterBankSpectralSubtraction", summary="uint32; its noise is a state")
def read_subtraction(layer: Layer) -> None:
    """NOISE, and LOUDER of its result."""
    level, shape = _levels(layer, 0), layer.shape(0)
    up, down = _bits(layer, "smoothing_bits"), _bits(layer, "spectral_subtraction_bits", 63)
    share, rest = ([_word(layer, f"{prefix}{key}") for prefix in ("", "alternate_")]
                   for key in ("smoothing", "one_minus_smoothing"))
    key, variables = (layer.scope.prefix, layer.operator.index, "noise"), layer.scope.variables
    variables.declare(key, f"{layer.name}/noise")
    held = variables.read(key, Tensor("", shape, np.dtype(np.uint32)))
    layer.write("NOISE", [level, held], shape,
                {"share": tuple(share), "rest": tuple(rest), "clamp": int(bool(number(layer, "clamping"))),
                 "up_bits": up, "down_bits": down}, output=1, domain="tflite")
    noise = layer.scope.names[layer.output(1).index]
    variables.assign(key, noise)
    layer.write("LOUDER", [level, noise], shape,
                {"factor": _word(layer, "min_signal_remaining"), "up_bits": up, "down_bits": down}, domain="tflite")


def _word(layer: Layer, key: str) -> int:
    return _whole(layer, key) & 0xFFFFFFFF


@handler("SignalPCAN", summary="uint32; a constant table")
def read_gain(layer: Layer) -> None:
    """GAIN."""
    table = _vector(layer, 2, "gains").astype(np.int16)
    if len(table) < _GAINS or layer.shape(0) != layer.shape(1):
        raise layer.fault(f"{len(table)} gains for {list(layer.shape(0))} and {list(layer.shape(1))}")
    constant = layer.network.add_constant(f"{layer.name}/gains", table[:_GAINS])
    layer.write("GAIN", [_levels(layer, 0), _levels(layer, 1), constant], layer.shape(0),
                {"down_bits": _bits(layer, "snr_shift", 63)}, domain="tflite")


@handler("SignalFilterBankLog", summary="uint32 to int16; to int8 with the integer arithmetic that follows, if its "
         "result rises with the logarithm or stays equal")
def read_logarithm(layer: Layer) -> None:
    """LOG_LEVEL."""
    attributes = {"factor": _word(layer, "output_scale"), "up_bits": _bits(layer, "input_correction_bits")}
    level = _levels(layer, 0)
    layer.write("LOG_LEVEL", [level], layer.shape(0), attributes, domain="tflite")
    layer.scope.steps[layer.output().index] = Steps(level, attributes, _VALUES)


_FUNCTIONS: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "ADD": np.add, "SUB": np.subtract, "MUL": np.multiply, "MINIMUM": np.minimum, "MAXIMUM": np.maximum,
    "DIV": lambda a, b: np.sign(a) * np.sign(b) * (abs(a) // abs(b)),
}


def follow(layer: Layer) -> bool:
    """Records an output that is an integer function of a logarithm.

    Writes it and returns True if it is int8 and never falls.
    """
    steps = _next(layer)
    if steps is None:
        return False
    layer.scope.steps[layer.output().index] = steps
    if layer.output().type != "int8" or np.any(np.diff(steps.values) < 0):
        return False
    firsts = np.searchsorted(steps.values, np.arange(-127, 128)).astype(np.uint16)
    constant = layer.network.add_constant(f"{layer.name}/steps", firsts)
    layer.write("LOG_LEVEL", [steps.level, constant], layer.shape(0), steps.attributes, domain="tflite")
    return True


def _next(layer: Layer) -> Steps | None:
    found = [position for position in range(layer.count)
             if layer.has_input(position) and layer.declared(position).index in layer.scope.steps]
    if len(found) != 1 or layer.operator.name not in (*_FUNCTIONS, "CAST"):
        return None
    steps = layer.scope.steps[layer.declared(found[0]).index]
    values = steps.values
    if layer.operator.name != "CAST":
        other = layer.constant(1 - found[0]) if layer.count == 2 and layer.output().type == "int32" else None
        fused = layer.operator.options.get("FusedActivationFunction", 0)
        if other is None or other.size != 1 or other.ndim > 1 or other.dtype != np.int32 or fused:
            return None
        number_of = np.full_like(values, int(other.reshape(-1)[0]))
        if layer.operator.name == "DIV" and not number_of[0]:
            return None
        values = _FUNCTIONS[layer.operator.name](*((values, number_of) if found[0] == 0 else (number_of, values)))
    kind = DTYPES.get(layer.output().type)
    if kind is None or kind.kind != "i" or values.min() < _INT32.min or values.max() > _INT32.max:
        return None
    return dataclasses.replace(steps, values=values.astype(kind).astype(np.int64))
