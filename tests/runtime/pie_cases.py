"""Operators and programs with the kernels of the ESP32-S3's vectors, whose assembly something else stands in for."""

import dataclasses
import random
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from tests.runtime.build import HERE, RUNTIME, compile_program, replay
from tests.runtime.kernel_harness import Operator, Way, operator
from tests.runtime.random_layers import CONV, DEPTHWISE, random_window, window
from tests.runtime.test_conv import OFFSETS, int8_case
from tests.runtime.test_int16 import constants
from tests.runtime.test_pool import int8_params, step_fields
from tests.runtime.test_vectors import fully_connected_case
from tigris_pio.compiler.backends import pie
from tigris_pio.compiler.backends.pie_sums import with_words
from tigris_pio.compiler.ir.program import ProgramOp
from tigris_pio.format.enums import OpKind, Packing
from tigris_pio.format.params import BinaryInt8Params, ConvInt16Params, FullyConnectedInt16Params, PoolInt8Params
from tigris_pio.format.pie import LANES
from tigris_pio.sizes import round_up

SOURCES = tuple(sorted((RUNTIME / "src/kernels/pie").glob("*.c")))
DEFINES = ("-DTIGRIS_PIE", "-DTIGRIS_DEFAULT_BACKEND=tigris_pie_backend")


def compile_pie(output: Path, sources: list[Path], *flags: str) -> Path:
    """A program of `sources`, which have the assembly's functions, with TIGRIS_PIE."""
    return compile_program(output, [*sources, *SOURCES], *DEFINES, *flags, variant="pie")


def pie_replay() -> Path:
    """The sanitised program that runs plans, with C in the assembly's place."""
    return replay("pie", (HERE / "pie_in_c.c", *SOURCES), *DEFINES)


def packed(op: Operator) -> Operator | None:
    """The operator as the compiler gives it to the kernels; None where it finds no words."""
    stream = pie.stream(ProgramOp("op", op.kind, op.dtype, (), "out", op.params, op.blobs))
    if isinstance(stream, str):
        return None
    weights = op.blobs["weights"]
    outputs = weights.shape[-1] if op.kind == DEPTHWISE else weights.shape[0]
    taps = weights.size // outputs
    window = taps * round_up(outputs, LANES) if op.kind == DEPTHWISE else round_up(weights[0].size, LANES)
    return dataclasses.replace(op, packing=Packing.PIE, blobs={**op.blobs, "weights": stream},
                               scratch_bytes=window + round_up(outputs, LANES))  # fmt: skip


def layers(count: int, seed: int = 11) -> Iterator[tuple[Operator, Way]]:
    """Convolutions and layers of random sizes, some of whole vectors: whole, in bands, and rolling through windows."""
    choose = random.Random(seed)
    for number in range(count):
        kind = choose.choice((CONV, DEPTHWISE, DEPTHWISE, None))
        channels = choose.choice((1, 3, 8, 16, 16, 32, 48))
        if kind is None:
            inputs, vectors = choose.choice((1, 16, 20, 64, 90)), choose.choice((1, 3))
            op = fully_connected_case(vectors, inputs, channels, 0, choose.random() < 0.5, number)[0]
        else:
            kernels = ((1, 1), (3, 3), (3, 3), (2, 5), (10, 1))
            form = (channels, 1, 1) if kind == DEPTHWISE else (1, choose.choice((1, 3, 16, 32)), channels)
            stride = choose.choice((1, 1, 2))
            op = int8_case(kind, random_window(choose, kernels, (stride, stride)), 1, *form, number,
                           strays=number % 4 == 1)[0]
        own = packed(op)
        if own is not None:
            height = own.output_shape[1]
            yield own, choose.choice((Way(height), Way(min(2, height)), Way(1, windows=True, keep=True)))


def sum_params(choose: np.random.Generator, kind: OpKind, **steps: tuple[int, int]) -> BinaryInt8Params:
    """Constants of an ADD or SUB with random scales and int8's limits."""
    whole = dict.fromkeys(("row_step", "column_step", "channel_step"), (1, 1)) | steps
    return dataclasses.replace(int8_params(kind, choose, whole), activation_min=-128)


def sums(count: int, seed: int = 7) -> Iterator[tuple[Operator, Way]]:
    """Sums and differences of random shapes, some of whole vectors: whole, in bands, and rolling through windows."""
    choose = np.random.default_rng(seed)
    for number in range(count):
        kind = (OpKind.ADD, OpKind.SUB)[number % 2]
        shape = tuple(int(choose.choice(sizes)) for sizes in ((1, 1, 2), (1, 3, 6), (1, 4, 7), (1, 5, 16, 24)))
        a, b = (choose.integers(-128, 128, shape).astype(np.int8) for _ in range(2))
        own = with_words(sum_params(choose, kind, **step_fields(shape, shape, shape)), kind)
        if own is not None:
            op = dataclasses.replace(operator(kind, own, a, b, images=shape[0]), packing=Packing.PIE)
            yield op, (Way(shape[1]), Way(min(2, shape[1])), Way(1, windows=True, keep=True))[number // 2 % 3]


def pools(count: int, seed: int = 13) -> Iterator[tuple[Operator, Way]]:
    """Averages and maxima of random windows, most of them of channels in multiples of eight."""
    choose = random.Random(seed)
    for number in range(count):
        kind = (OpKind.AVERAGE_POOL, OpKind.MAX_POOL)[number % 2]
        stride, channels = choose.choice((1, 1, 2)), choose.choice((8, 16, 16, 24, 32, 5))
        w = random_window(choose, ((1, 1), (2, 2), (3, 3), (2, 5), (8, 8), (9, 8)), (stride, stride))
        x = np.random.default_rng(number).integers(-128, 128, (1, *w.input, channels)).astype(np.int8)
        rescale = choose.choice((0, 2)) if kind is OpKind.AVERAGE_POOL else 0
        params = PoolInt8Params(**w.geometry, rescale=rescale, include_pad=choose.randint(0, 1),
                                input_zero_point=choose.randint(-128, 127), output_zero_point=-3,
                                activation_min=choose.choice((-128, -90)), activation_max=choose.choice((127, 80)),
                                multiplier=0, shift=0)  # fmt: skip
        op = operator(kind, params, x, rows=w.rows, out=(1, *w.output, channels))
        yield op, choose.choice((Way(w.output[0]), Way(min(2, w.output[0])), Way(1, windows=True, keep=True)))


def int16_layers(count: int, seed: int = 17) -> Iterator[tuple[Operator, Way]]:
    """Layers of int16, most of channels in multiples of eight, some with sums beyond 32 bits."""
    choose = random.Random(seed)
    for number in range(count):
        draw, kind = np.random.default_rng(number), choose.choice((CONV, DEPTHWISE, OpKind.FULLY_CONNECTED))
        stride, depth, outputs = choose.choice((1, 1, 2)), choose.choice((1, 3, 8, 24, 64)), choose.choice((1, 8, 20))
        w = random_window(choose, ((1, 1), (3, 3), (2, 5), (5, 1)), (stride, stride))
        if kind is OpKind.FULLY_CONNECTED:
            w, depth = window((3, 1), (1, 1), (1, 1), (0, 0, 0, 0)), choose.choice((8, 30, 64, 328))
        outputs = depth if kind is DEPTHWISE else outputs
        weights = (*w.kernel, depth) if kind is DEPTHWISE else (outputs, *w.kernel, depth)
        sum_bits = choose.choice((32, 64))
        made = constants(draw, outputs, depth * w.kernel[0] * w.kernel[1], sum_bits)
        common = {"sum_bits": sum_bits, "activation_min": -20000, "activation_max": 32767, **OFFSETS}
        params: ConvInt16Params | FullyConnectedInt16Params = ConvInt16Params(
            **w.geometry, groups=1, weight_bytes=1, **common)  # fmt: skip
        if kind is OpKind.FULLY_CONNECTED:
            params = FullyConnectedInt16Params(rows=3, in_features=depth, out_features=outputs, **common)
        x = draw.integers(-32768, 32768, (1, *w.input, depth)).astype(np.int16)
        op = operator(kind, params, x, rows=w.rows, out=(1, *w.output, outputs),
                      weights=draw.integers(-128, 128, weights).astype(np.int8), **made)  # fmt: skip
        yield op, choose.choice((Way(w.output[0]), Way(min(2, w.output[0])), Way(1, windows=True, keep=True)))
