"""Predicted work of the kernels equals counted work, and the fit finds known coefficients."""

import dataclasses
import itertools

import numpy as np
import pytest

from bench.fit import fit
from bench.layers import Layer, build_layer
from tests.networks.folders import OWN
from tigris_pio.compiler.backends.chips import CHIPS
from tigris_pio.compiler.instructions.call import Call
from tigris_pio.compiler.instructions.coefficients import COEFFICIENTS
from tigris_pio.compiler.instructions.convolutions import _inside_on_average
from tigris_pio.compiler.instructions.kernels import InstructionSet, work_of
from tigris_pio.compiler.instructions.predict import PROCESSORS, call_instructions, nearest
from tigris_pio.compiler.ir.program import Program
from tigris_pio.compiler.options import CompileOptions
from tigris_pio.compiler.pipeline import front
from tigris_pio.format.enums import OpKind


def layer(*sizes: int, kernel: int = 3, outputs: int = 8) -> Program:
    """A convolution of 4 channels, `sizes` high and wide."""
    return front(build_layer(Layer("layer", (1, 4, *sizes), (outputs, 4, kernel, kernel))), CompileOptions()).program


def conv_of(program: Program) -> Call:
    (op,) = (op for op in program.ops if op.kind is OpKind.CONV_2D)
    return Call.of(op, program.tensors)


@pytest.mark.parametrize(
    ("rows", "kernel", "pairs", "singles"),
    [(1, 3, 2, 1), (2, 3, 5, 0), (3, 3, 7, 1), (1, 5, 3, 0), (3, 5, 8, 0), (4, 5, 10, 0)],
)
def test_a_last_odd_pixel_counts_as_two_where_its_taps_do_not_fit(
    rows: int, kernel: int, pairs: int, singles: int
) -> None:
    """A band of rows of five pixels, with 36 or 100 taps each."""
    work = work_of(dataclasses.replace(conv_of(layer(6, 5, kernel=kernel)), rows=rows))
    assert work["pair"] == pairs and work["output"] == 8 * pairs  # two pixels' at a time
    assert work["block tap"] == 2 * 4 * kernel**2 * pairs and work["channel tap"] == work["three"] == 0
    assert (work["single"], work["single output"]) == (singles, 8 * singles)
    assert work["single tap"] == 8 * 4 * kernel**2 * singles


@pytest.mark.parametrize(("rows", "width", "outputs", "threes"), [
    (1, 5, 8, 1), (3, 5, 8, 1), (2, 5, 8, 0), (1, 4, 8, 0), (1, 1, 8, 0), (3, 1, 8, 1), (1, 5, 6, 0),
])  # fmt: skip
def test_three_pixels_end_a_layer_of_one_tap(rows: int, width: int, outputs: int, threes: int) -> None:
    """The layers have 4 channels, an odd number of at least three pixels, and whole blocks of outputs."""
    work = work_of(dataclasses.replace(conv_of(layer(6, width, kernel=1, outputs=outputs)), rows=rows))
    assert work["three"] == threes and work["three output"] == outputs * threes
    assert 2 * work["pair"] + 3 * work["three"] + work["single"] == rows * width


@pytest.mark.parametrize(("pixels", "threes"), [(1, 0), (2, 0), (3, 1), (4, 0), (5, 1), (6, 2), (7, 1), (35, 11)])
def test_with_dsp_instructions_pixels_of_one_tap_go_by_threes_and_twos(pixels: int, threes: int) -> None:
    """The layer has as many tiles of three pixels as leave no single pixel."""
    work = work_of(dataclasses.replace(conv_of(layer(1, pixels, kernel=1, outputs=8)), rows=1), InstructionSet.DSP)
    assert work["three"] == threes and work["pair"] == 0
    assert work["two output"] == 8 * work["two"] and work["two tap"] == 4 * work["two output"]
    assert 2 * work["two"] + 3 * work["three"] + work["single"] == pixels


def test_rows_of_a_depthwise_layer_inside_go_by_themselves() -> None:
    """The image's first and last row run as row segments. With DSP instructions all do, except rows of 5 pixels."""
    built = build_layer(Layer("layer", (1, 8, 6, 7), (8, 1, 3, 3), groups=8))
    program = front(built, CompileOptions()).program
    (op,) = (op for op in program.ops if op.kind is OpKind.DEPTHWISE_CONV_2D)
    work = work_of(Call.of(op, program.tensors, 2))
    assert 3 * work["plain row"] == pytest.approx(8 * 4) and 3 * work["line"] == pytest.approx(8 * 2)
    assert 3 * work["plain row output"] == pytest.approx(7 * 8 * 4)
    assert work_of(Call.of(op, program.tensors, 2), InstructionSet.DSP)["plain row"] == 0


@pytest.mark.parametrize("instructions", [InstructionSet.PORTABLE, InstructionSet.DSP])
def test_channels_of_rare_scales_take_longer_on_lines(instructions: InstructionSet) -> None:
    """Each pixel counts all channels of rare scales; all other counts stay."""
    of = Layer("layer", (1, 8, 6, 7), (8, 1, 3, 3), groups=8)
    works = []
    for strays in (0, 3):
        program = front(build_layer(dataclasses.replace(of, strays=strays)), CompileOptions()).program
        (op,) = (op for op in program.ops if op.kind is OpKind.DEPTHWISE_CONV_2D)
        works.append(dict(work_of(Call.of(op, program.tensors), instructions)))
    assert [work.pop("unusual line output") for work in works] == [0, 6 * 7 * 3]
    assert works[0] == works[1]


def test_more_taps_than_a_patch_holds_are_gathered_for_each_batch_of_channels() -> None:
    few, many = (work_of(conv_of(layer(4, 4, kernel=5, outputs=outputs))) for outputs in (24, 48))
    assert few["tap"] == 8 * 100 and many["tap"] == 2 * few["tap"]
    assert few["gather"] == 8 * 2 and many["gather"] == 2 * few["gather"]


@pytest.mark.parametrize(("outputs", "kernel", "stride", "dilation", "pad"),
                         list(itertools.product([1, 4, 7], [1, 3, 5], [1, 2], [1, 2], [0, 1, 3])))
def test_taps_inside(outputs: int, kernel: int, stride: int, dilation: int, pad: int) -> None:
    size = 6
    inside = [0 <= x * stride - pad + tap * dilation < size for x in range(outputs) for tap in range(kernel)]
    assert _inside_on_average(outputs, size, kernel, stride, dilation, pad) * outputs == pytest.approx(sum(inside))


def test_rows_in_one_call_take_fewer_instructions_than_in_several() -> None:
    """The margin is for short calls: a tile of three pixels takes less than three pixels in tiles of two."""
    program = front(OWN / "kws_int8.onnx", CompileOptions()).program
    for op, processor in itertools.product(program.ops, PROCESSORS):
        height = program.tensors[op.output].height
        (whole,) = call_instructions(op, program.tensors, None, (processor,))
        (row,) = call_instructions(op, program.tensors, 1, (processor,))
        assert row > 0 and whole <= height * row * 1.08


def test_each_chip_has_a_processor_that_was_measured() -> None:
    assert {nearest(chip) for chip in (*CHIPS, "")} == set(PROCESSORS) == set(COEFFICIENTS)
    assert nearest("") == nearest("esp32s3") == nearest("cortex-m3") == "rv32imc"
    assert (nearest("cortex-m33"), nearest("cortex-m7")) == ("cortex-m4", "cortex-m7")
    assert nearest("cortex-m52") == nearest("cortex-m55") == nearest("cortex-m85") == "cortex-m55"


def test_the_fit_finds_what_there_is_and_nothing_below_zero() -> None:
    random = np.random.default_rng(0)
    work = [{"a": x, "b": y, "c": z} for x, y, z in random.uniform(1, 100, (40, 3))]
    counted = [3 * item["a"] + 0.25 * item["b"] for item in work]
    assert fit(work, counted, ["a", "b", "c"]) == pytest.approx({"a": 3, "b": 0.25})
    falling = [1000 - item["a"] for item in work]
    assert "a" not in fit(work, falling, ["a"]) or fit(work, falling, ["a"])["a"] > 0
