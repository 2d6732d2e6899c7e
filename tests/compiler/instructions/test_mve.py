"""Predicted work of the MVE kernels equals the work that their loops, written out here, count."""

import itertools
from collections import Counter

import pytest

from bench.layers import Layer, build_layer
from bench.quantised_net import QuantisedNet
from tests.networks.folders import OWN
from tigris_pio.compiler.instructions import mve
from tigris_pio.compiler.instructions.call import Call, Work
from tigris_pio.compiler.instructions.kernels import InstructionSet, name_of, work_of
from tigris_pio.compiler.ir.program import Program, ProgramOp
from tigris_pio.compiler.options import CompileOptions
from tigris_pio.compiler.pipeline import front
from tigris_pio.format.enums import DType, OpKind

MVE, DSP = InstructionSet.MVE, InstructionSet.DSP


def operator(shape: tuple[int, ...], weights: tuple[int, ...], stride: int = 1, groups: int = 1) -> Call:
    """A layer's, whole."""
    program = front(build_layer(Layer("layer", shape, weights, stride, groups)), CompileOptions()).program
    (op,) = (op for op in program.ops if op.macs)
    return Call.of(op, program.tensors)


def conv(depth: int, height: int, width: int, outputs: int, kernel: int, stride: int = 1) -> Call:
    return operator((1, depth, height, width), (outputs, depth, kernel, kernel), stride)


def depthwise(channels: int, height: int, width: int, kernel: int, stride: int = 1) -> Call:
    return operator((1, channels, height, width), (channels, 1, kernel, kernel), stride, channels)


def agrees(work: Work, counted: Counter[str]) -> None:
    for name, amount in counted.items():
        assert work[name] == pytest.approx(amount), name


@pytest.mark.parametrize(("depth", "kernel", "stride"), list(itertools.product([3, 8], [1, 2, 3, 5], [1, 2])))
@pytest.mark.parametrize("size", [(7, 9), (2, 5), (1, 3)])
def test_patches(depth: int, kernel: int, stride: int, size: tuple[int, int]) -> None:
    """Bytes that copy_taps of mve/conv_2d_int8.c copies."""
    call = conv(depth, *size, 8, kernel, stride)
    pad, above = call.op.params.pad_left, -call.op.operands[0].rows.first  # type: ignore[attr-defined]
    run, counted = kernel * depth, Counter[str]()
    for y, x in itertools.product(range(call.output.height), range(call.output.width)):
        row, column = y * stride - above, x * stride - pad
        whole = column >= 0 and column + kernel <= size[1]
        is_inside = whole and row >= 0 and row + kernel <= size[0]
        counted["patch"] += 1
        for at in range(row, row + kernel):
            if is_inside and run <= 16:
                counted["short patch row"] += 1
            elif whole and 0 <= at < size[0]:
                counted["patch row"] += 1
                counted["patch row vector"] += -(-run // 16)
            else:
                counted["border row"] += 1
                counted["border tap"] += kernel
                counted["border vector"] += kernel * -(-depth // 16)
    work = mve.conv(call)
    assert work is not None
    if (kernel, stride) == (1, 1) and depth % 4 == 0:
        assert "patch" not in work and work["strip vector"] == -(-depth * call.pixels // 16)
    else:
        agrees(work, counted)


@pytest.mark.parametrize(("depth", "width", "kernel"), [(8, 9, 3), (40, 7, 3), (64, 30, 1), (3, 5, 3), (17, 4, 1)])
def test_strips(depth: int, width: int, kernel: int) -> None:
    """tigris_mve_conv_2d: as many pixels as 1152 bytes hold."""
    call = conv(depth, 5, width, 12, kernel)
    taps = kernel**2 * depth
    pitch, left = (taps + 3) // 4 * 4, call.pixels
    counted = Counter[str]()
    most = 1152 // pitch // 2 * 2
    while left > 0:
        pixels = min(left, most)
        counted["strip"] += 1
        counted["strip block"] += 3
        counted["strip tile"] += -(-pixels * pitch // 64)
        counted["strip end tap"] += 3 * (taps % 16 % 4)
        counted["sums"] += 3 * -(-pixels // 2)
        counted["odd sums"] += 3 * (pixels % 2)
        counted["sums vector"] += 3 * -(-pixels // 2) * -(-taps // 16)
        left -= pixels
    work = mve.conv(call)
    assert work is not None
    agrees(work, counted)


@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("size", [(7, 9), (5, 5), (25, 5), (3, 12), (1, 4), (16, 16)])
def test_tiles(stride: int, size: tuple[int, int]) -> None:
    """run_group and take_line of depthwise_3x3_int8.c, of a group of sixteen channels and one of four."""
    call = depthwise(20, *size, 3, stride)
    rows = (call.output.height, -call.op.operands[0].rows.first, size[0])
    columns = (call.output.width, call.op.params.pad_left, size[1])  # type: ignore[attr-defined]

    def tiles(along: int, across: int) -> int:
        return -(-along // 4) * -(-across // 2)

    by_rows = tiles(rows[0], columns[0]) < tiles(columns[0], rows[0])
    (along, pad, extent), (across, *_) = (rows, columns) if by_rows else (columns, rows)
    counted = Counter[str]()
    for y, x, _ in itertools.product(range(0, across, 2), range(0, along, 4), range(2)):
        counted["tile"] += 1
        for _line in range(min(stride, across - y)):
            inside = sum(0 <= x * stride - pad + at < extent for at in range(3 * stride + 3))
            counted["tile line"] += 1
            counted["tile column"] += inside
            counted["tile padding"] += 3 * stride + 3 - inside
    counted["tile channel" if stride == 1 else "tile channel of stride 2"] = counted["tile"] * 10
    work = mve.depthwise(call)
    assert work is not None
    agrees(work, counted)


@pytest.mark.parametrize(("kernel", "stride", "size"), [(5, 1, (7, 9)), (5, 2, (8, 8)), (2, 1, (5, 5)), (5, 1, (2, 6))])
def test_lanes(kernel: int, stride: int, size: tuple[int, int]) -> None:
    """run_pixel of depthwise_lanes_int8.c, of a group of sixteen channels and one of four."""
    call = depthwise(20, *size, kernel, stride)
    pad, above = call.op.params.pad_left, -call.op.operands[0].rows.first  # type: ignore[attr-defined]
    counted = Counter[str]()
    for y, x, _ in itertools.product(range(call.output.height), range(call.output.width), range(2)):
        counted["lanes pixel"] += 1
        counted["lanes tap"] += kernel**2
        row, column = y * stride - above, x * stride - pad
        for at in range(row, row + kernel):
            ends = (column < 0) + (column + kernel > size[1])
            counted["lanes run"] += 1 + (ends if 0 <= at < size[0] else 0)
    work = mve.depthwise(call)
    assert work is not None
    agrees(work, counted)


@pytest.mark.parametrize(("inputs", "outputs"), [(64, 12), (33, 7), (1024, 4), (1030, 6), (3000, 9), (5, 2)])
def test_vectors_in_parts(inputs: int, outputs: int) -> None:
    """tigris_mve_fully_connected: parts of 1024 bytes, again for each block where there are several."""
    work = mve.fully_connected(operator((1, inputs), (inputs, outputs)))
    assert work is not None
    counted = Counter[str]()
    parts = [min(1024, inputs - first) for first in range(0, inputs, 1024)]
    for first in range(0, outputs, 4):
        counted["four"] += 1
        if first == 0 or len(parts) > 1:
            counted["taken"] += len(parts)
            counted["taken tile"] += sum(-(-part // 64) for part in parts)
        if outputs - first >= 4:
            counted["four vector"] += sum(part // 16 for part in parts)
            counted["four end tap"] += inputs % 16 % 4
        else:
            counted["one vector"] += (outputs - first) * sum(-(-(part & ~3) // 16) for part in parts)
            counted["one tap"] += (outputs - first) * (inputs % 4)
    agrees(work, counted)


@pytest.mark.parametrize("call", [
    conv(8, 5, 5, 6, 3), conv(70, 4, 4, 8, 3), operator((1, 8, 5, 5), (8, 4, 3, 3), 1, 2), depthwise(17, 5, 5, 3),
], ids=["no whole block", "more taps than a patch", "groups", "no whole block of a depthwise layer"])  # fmt: skip
def test_what_the_portable_kernels_do_instead(call: Call) -> None:
    assert work_of(call, MVE) == work_of(call, DSP)


def _ops() -> list[tuple[Program, ProgramOp]]:
    programs = [front(OWN / f"{name}_int8.onnx", CompileOptions()).program for name in ("kws", "resnet", "vww")]
    return [(program, op) for program in programs for op in program.ops if op.dtype is DType.INT8]


def test_names_are_not_those_of_the_portable_kernels() -> None:
    """One set of coefficients has both."""
    seen = set()
    for program, op in _ops():
        call = Call.of(op, program.tensors)
        if op.kind in mve.KERNELS:
            common = set(work_of(call, MVE)) & set(work_of(call, DSP))
            assert common <= {"call", "cleared"}, op.kind
            seen.add(op.kind)
        else:
            assert work_of(call, MVE) == work_of(call, DSP)
    assert {OpKind.CONV_2D, OpKind.DEPTHWISE_CONV_2D, OpKind.FULLY_CONNECTED, OpKind.ADD, OpKind.SOFTMAX} <= seen


def test_largest_elements_of_any_window_have_one_name() -> None:
    """The portable kernel has a loop of its own for 2 x 2."""
    net = QuantisedNet("pools", 8, (12, 12))
    pools = (net.pool(net.image), net.pool(net.image, kernel=3, stride=1, pad=1))
    model = net.model(net.classified(net.concat(net.upsample(pools[0]), pools[1]), 4))
    program = front(model, CompileOptions()).program
    found = [op for op in program.ops if op.kind is OpKind.MAX_POOL]
    assert {name_of(op) for op in found} == {"MAX_POOL INT8", "MAX_POOL INT8 2x2"}
    assert {name_of(op, MVE) for op in found} == {"MAX_POOL INT8"}
    for op in found:
        call = Call.of(op, program.tensors)
        work = work_of(call, MVE)
        rows = 2 if call.output.height == 6 else 34 / 12  # of 3 less those in the padding
        assert (work["window"], work["window row"]) == (call.pixels, pytest.approx(rows * call.pixels))
