"""`--chip`: spellings of names, and layers that ESP-NN on the ESP32-P4 computes wrongly or slowly."""

import numpy as np
import pytest

from bench.layers import Layer, build_layer
from tigris_pio import compile_model
from tigris_pio.compiler.backends.backend import find_backend
from tigris_pio.compiler.backends.chips import CHIPS, auto_choice, find_chip
from tigris_pio.compiler.backends.esp_nn import refuses_on, slower_on
from tigris_pio.compiler.backends.shape import PlainShape
from tigris_pio.compiler.ir.program import ProgramOp
from tigris_pio.compiler.options import CompileOptions
from tigris_pio.errors import UsageError
from tigris_pio.format.enums import DType, OpKind
from tigris_pio.format.params import FullyConnectedInt8Params
from tigris_pio.platformio import backend

SPELLINGS = (str.upper, str.title, lambda name: name.replace("esp32", "ESP32-"), lambda name: name.replace("-", "_"),
             lambda name: name.replace("-", " "), lambda name: f" {name} ", lambda name: name.replace("plus", "+"))


@pytest.mark.parametrize("name", CHIPS)
def test_every_spelling_is_the_same_chip(name):
    assert find_chip(name) == name
    for spelling in SPELLINGS:
        assert find_chip(spelling(name)) == name, spelling(name)
        assert CompileOptions(chip=spelling(name)).chip == name


@pytest.mark.parametrize(("name", "nearest"), [
    ("esp32s9", "esp32s"), ("esp32-s", "esp32s"), ("esp23s3", "esp32s3"), ("cortex-m44", "cortex-m4"),
    ("cortexm", "cortex-m"), ("esp3s3", "esp32s3"),
])
def test_an_unknown_chip_is_refused_with_the_nearest(name, nearest):
    with pytest.raises(UsageError, match=f"chip: '{name}' is unknown; did you mean {nearest}.*Known are .*esp32c61"):
        find_chip(name)


def test_a_chip_without_counts_claims_none():
    """ESP-NN has vector kernels for the ESP32-S31, in releases that are not proven here."""
    report = compile_model(build_layer(Layer("layer", (1, 8, 8, 8), (8, 8, 3, 3), 1)), chip="ESP32-S31").report
    assert report["kernels"]["backend"] == "portable"
    assert report["kernels"]["why"] == auto_choice("esp32s31").why == "no kernel library was counted on this chip"
    assert "than any library in C" in auto_choice("esp32c3").why


class Board:
    def __init__(self, **build):
        self.build = build

    def BoardConfig(self):
        return self

    def get(self, key, default):
        return self.build.get(key.removeprefix("build."), default)


@pytest.mark.parametrize(("board", "chip"), [
    ({"mcu": "esp32s3"}, "esp32s3"), ({"mcu": "esp32", "cpu": "xtensa"}, "esp32"), ({"mcu": "ESP32C6"}, "esp32c6"),
    ({"cpu": "cortex-m4", "mcu": "stm32f407vgt6"}, "cortex-m4"), ({"cpu": "cortex-m0plus"}, "cortex-m0plus"),
    ({"mcu": "stm32h747"}, ""), ({"mcu": "rv32imc"}, ""), ({}, ""),
])
def test_boards_name_chips_that_the_compiler_knows(board, chip):
    assert backend.chip(Board(**board)) == chip == find_chip(chip)


# ESP-NN's kernels for the ESP32-P4 get no layer that they compute wrongly, and from `auto` none that they slow down.


def layer(weights: np.ndarray) -> tuple[ProgramOp, PlainShape]:
    """A fully connected layer of those weights."""
    outputs, inputs = weights.shape
    params = FullyConnectedInt8Params(1, inputs, outputs, 0, 0, -128, 127, 0, 0, 0, 0)
    op = ProgramOp("layer", OpKind.FULLY_CONNECTED, DType.INT8, (), "out", params, {"weights": weights})
    return op, PlainShape(inputs, outputs, 1, 1, 1, 1, dense=True)


SUMS = [(-128, 511, False), (-128, 512, True), (127, 516, False), (127, 517, True), (1, 65535, False), (1, 65536, True)]


@pytest.mark.parametrize("weight, inputs, refused", SUMS)
def test_sums_of_more_than_24_bits(weight: int, inputs: int, refused: bool) -> None:
    """One output's that can be as much as 2^23 is enough; below, none."""
    weights = np.zeros((3, inputs), np.int8)
    weights[1] = weight
    op, shape = layer(weights)
    assert bool(refuses_on(op, shape, "esp32p4")) is bool(refuses_on(op, shape, "")) is refused
    assert refuses_on(op, shape, "esp32s3") is None


@pytest.mark.parametrize("own, why", [
    (Layer("small", (1, 1, 8, 8), (4, 1, 3, 3), 1), "padded kernels of less than 16"),
    (Layer("deep", (1, 272, 4, 4), (272, 1, 3, 3), 1, 272), "no bias beyond 256 channels"),
])  # fmt: skip
def test_layers_of_one_chip(own: Layer, why: str) -> None:
    model = build_layer(own)
    found = compile_model(model, backend="esp-nn", chip="esp32p4").report["backend"]
    assert found["ops"] == 0 and why in found["portable"][0]["reason"]
    assert compile_model(model, backend="esp-nn", chip="esp32s3").report["backend"]["ops"] == 1


def conv(inputs: int, kernel: tuple[int, int], stride: int = 1, size: int = 12) -> PlainShape:
    """A convolution to 16 channels."""
    return PlainShape(inputs, 16, size, size // stride, size, size // stride, kernel, (stride, stride))


def depthwise(inputs: int, kernel: tuple[int, int], size: int = 12) -> PlainShape:
    return PlainShape(inputs, inputs, size, size, size, size, kernel, depthwise=True)


def dense(inputs: int) -> PlainShape:
    return PlainShape(inputs, 16, 1, 1, 1, 1, dense=True)


#: Layers, and whether the portable kernel took fewer instructions when both were counted (bench.p4).
COUNTED = [
    *((conv(inputs, (1, 1)), slower) for inputs, slower in
      ((8, True), (16, True), (24, True), (32, False), (33, False), (40, True), (48, False), (64, False))),
    *((conv(inputs, (1, 1), 2), slower) for inputs, slower in ((16, True), (32, True), (64, False))),
    *((conv(inputs, (3, 3)), slower) for inputs, slower in ((3, True), (4, True), (7, True), (8, False), (16, False))),
    (conv(8, (3, 3), 2), True), (conv(16, (3, 3), 2), False), (conv(1, (10, 8), 2, 40), False),
    (conv(1, (10, 4), 2, 50), True), (conv(3, (5, 5)), False), (conv(1, (9, 9)), False),
    (depthwise(16, (3, 3)), True), (depthwise(128, (3, 3), 3), True), (depthwise(64, (5, 5)), False),
    (depthwise(64, (7, 7), 6), False), (depthwise(128, (15, 1), 1), True),
    (dense(8), True), (dense(12), True), (dense(16), False), (dense(256), False),
]  # fmt: skip


@pytest.mark.parametrize(("shape", "slower"), COUNTED)
def test_layers_that_the_portable_kernels_are_faster_in(shape: PlainShape, slower: bool) -> None:
    assert bool(slower_on(shape, "esp32p4")) is slower
    assert slower_on(shape, "esp32s3") is None and slower_on(shape, "") is None


def test_only_auto_leaves_them_to_portable_kernels() -> None:
    """Who names the library gets it; the report says why an operator was left."""
    model = build_layer(Layer("depthwise", (1, 16, 8, 8), (16, 1, 3, 3), 1, 16))
    chosen = compile_model(model, backend="auto", chip="esp32p4").report
    assert compile_model(model, backend="esp-nn", chip="esp32p4").report["backend"]["ops"] == 1
    assert compile_model(model, backend="auto", chip="esp32s3").report["backend"]["ops"] == 1
    assert chosen["backend"]["ops"] == 0
    (why,) = (op["why"] for op in chosen["kernels"]["ops"] if op["op"] == "layer")
    assert "portable kernel takes fewer instructions on the ESP32-P4 in depthwise convolutions" in why
    named = find_backend("esp-nn", "esp32p4")
    assert named is not None and named.slower_on is None
