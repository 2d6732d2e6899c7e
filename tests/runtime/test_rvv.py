"""Kernels with RISC-V's vector instructions (RVV 1.0), which no host has: an emulated processor with registers of 128,
256 and 1,024 bits gives the portable kernels' results, which other tests hold to numpy's."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from bench.emulator import MACHINES, NETWORKS, RUNTIME, build, library_headers, measure, samples, vector_machine
from bench.instructions import fit, layers
from tests.runtime.build import C99, INCLUDE
from tests.runtime.kernel_harness import Operator, Way, plan_for, run
from tests.runtime.operators import operators
from tests.runtime.strategies import Window, int8_array, output_extent
from tests.runtime.test_binary import int8_params, row_map, step_fields
from tests.runtime.test_conv import int8_case
from tests.runtime.test_dsp import window
from tests.runtime.test_mve import CONVS, DEPTHWISE, LANES, LINES, NONE, SAME, with_left_shifts
from tests.runtime.test_vectors import fully_connected_case
from tigris_pio.format.enums import DType, OpKind

CONV = OpKind.CONV_2D
BITS = (128, 256)
FOLDER = RUNTIME / "src" / "kernels" / "rvv"
EVERY = [("conv", number) for number in range(16)] + [("depthwise", number) for number in range(16)]


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One for registers of any length."""
    for tool in ("clang", "qemu-system-riscv32"):
        if shutil.which(tool) is None:
            pytest.skip(f"no {tool} on the path: `python3 tools/prepare.py test` installs it")
    targets = subprocess.run(["clang", "--print-targets"], capture_output=True, text=True, check=False).stdout
    if "riscv32" not in targets:
        pytest.skip("this clang does not compile for riscv32")
    return build(vector_machine(BITS[0]), tmp_path_factory.mktemp("rvv"))


def assert_agrees(program: Path, op: Operator, *rows: int, bits: tuple[int, ...] = BITS) -> None:
    """In bands of so many rows."""
    expected = run(op, Way(op.output_shape[1]))
    content = samples(b"".join(array.tobytes() for array in op.inputs), expected.tobytes())
    for number in bits:
        for band in rows or (op.output_shape[1],):
            result = measure(vector_machine(number), program, plan_for(op, Way(band)), content, program.parent)
            assert result.right, (number, band)


@pytest.mark.parametrize(("shape", "inputs", "outputs"), [
    *CONVS,
    (window((4, 3), (3, 3), (1, 1), SAME), 3, 7),
    (window((3, 3), (3, 3), (1, 1), SAME), 128, 5),
    (window((2, 2), (3, 3), (1, 1), SAME), 130, 4),  # of too many taps for the patch
    (window((3, 2), (1, 1), (1, 1), NONE), 33, 70),
    (window((9, 11), (1, 1), (1, 1), NONE), 20, 5),  # of more pixels than the patch has room for
    (window((4, 5), (1, 1), (1, 1), (1, 0, 0, 1)), 8, 8),
])  # fmt: skip
def test_convolutions(program: Path, shape: Window, inputs: int, outputs: int) -> None:
    op, _ = int8_case(CONV, shape, 1, 1, inputs, outputs, inputs)
    assert_agrees(program, op, 1, bits=BITS[:1])
    assert_agrees(program, with_left_shifts(op), bits=BITS[1:])


@pytest.mark.parametrize(("groups", "inputs", "outputs"), [(2, 4, 4), (3, 5, 3), (4, 3, 1), (2, 2, 6)])
def test_grouped_convolutions(program: Path, groups: int, inputs: int, outputs: int) -> None:
    for shape in (CONVS[0][0], CONVS[3][0], CONVS[8][0]):
        assert_agrees(program, int8_case(CONV, shape, 1, groups, inputs, outputs, 9)[0], bits=BITS[:1])


@pytest.mark.parametrize(("shape", "channels"), LINES + LANES)
def test_depthwise_convolutions(program: Path, shape: Window, channels: int) -> None:
    assert_agrees(program, int8_case(DEPTHWISE, shape, 1, channels, 1, 1, channels)[0])
    op, _ = int8_case(DEPTHWISE, shape, 1, channels + 3, 1, 1, channels)
    assert_agrees(program, with_left_shifts(op), 1, bits=BITS[:1])
    assert_agrees(program, int8_case(DEPTHWISE, shape, 1, channels, 1, 1, channels, strays=True)[0], bits=BITS[1:])


@pytest.mark.parametrize(("inputs", "multiplier"), [(1, 8), (1, 21), (4, 2)])
def test_depthwise_convolutions_with_several_outputs_a_channel(program: Path, inputs: int, multiplier: int) -> None:
    for shape, _ in (LINES[0], LANES[1], (window((12, 9), (10, 8), (2, 2), (4, 5, 3, 3)), 0)):
        assert_agrees(program, int8_case(DEPTHWISE, shape, 1, inputs, 1, multiplier, 5)[0], bits=BITS[:1])


@pytest.mark.parametrize("outputs", [1, 4, 11, 70])
@pytest.mark.parametrize("inputs", [1, 5, 16, 27, 640, 2501])
def test_fully_connected_layers(program: Path, inputs: int, outputs: int) -> None:
    op, _ = fully_connected_case(3, inputs, outputs, 0, inputs != 16, inputs)
    assert_agrees(program, op)
    assert_agrees(program, with_left_shifts(op), bits=BITS[:1])


@pytest.mark.parametrize("kind", [OpKind.ADD, OpKind.SUB, OpKind.MUL])
@pytest.mark.parametrize("shapes", [
    ((5, 3, 19), (5, 3, 19)), ((4, 3, 8), (1, 1, 8)), ((4, 3, 5), (4, 1, 5)), ((3, 2, 4), (3, 2, 1)),
])  # fmt: skip
def test_elementwise(program: Path, kind: OpKind, shapes: tuple[tuple[int, int, int], tuple[int, int, int]]) -> None:
    first, second = ((1, *shape) for shape in shapes)
    for seed in range(3):
        random = np.random.default_rng(seed)
        params = int8_params(kind, random, step_fields(first, second, first))
        inputs = int8_array(random, first), int8_array(random, second)
        rows = row_map(first, first), row_map(second, first)
        op = Operator(kind, DType.INT8, params, inputs, rows, first, DType.INT8)
        assert_agrees(program, op, first[1], 2, bits=(BITS[seed % 2],))


def random_window(random: np.random.Generator) -> Window:
    axes = []
    for _ in range(2):
        kernel, stride, dilation = (int(random.integers(1, most + 1)) for most in (5, 3, 3))
        before, after = (int(random.integers(0, 4)) for _ in range(2))
        reach = (kernel - 1) * dilation + 1
        extent = int(random.integers(max(1, reach - before - after), max(10, reach + 1)))
        axes.append((extent, kernel, stride, dilation, (before, after)))
    rows, columns = axes
    output = tuple(output_extent(extent, kernel, stride, dilation, sum(pads))
                   for extent, kernel, stride, dilation, pads in axes)  # fmt: skip
    return Window((rows[0], columns[0]), (rows[1], columns[1]), (rows[2], columns[2]), (rows[3], columns[3]),
                  (*rows[4], *columns[4]), (output[0], output[1]))  # fmt: skip


@pytest.mark.parametrize(("kind", "number"), EVERY)
def test_any_convolution(program: Path, kind: str, number: int) -> None:
    """Those of 3x3 among them; in registers of 1,024 bits some lanes are of no use to depthwise ones."""
    random = np.random.default_rng(100 + number)
    shape = random_window(random)
    if number % 2:
        pads = tuple(int(pad) for pad in random.integers(0, 3, 4))
        size, stride = random.integers(3, 9, 2), random.integers(1, 3, 2)
        shape = window((int(size[0]), int(size[1])), (3, 3), (int(stride[0]), int(stride[1])), pads)  # type: ignore[arg-type]
    if kind == "conv":
        op, _ = int8_case(CONV, shape, 1, 1, int(random.integers(1, 40)), int(random.integers(1, 75)), number)
    else:
        op, _ = int8_case(DEPTHWISE, shape, 1, int(random.integers(2, 140)), 1, 1, number)
    assert_agrees(program, op, bits=(BITS[number // 2 % 2], 1024))


@pytest.mark.parametrize("op", [op for op in operators() if op.dtype == DType.INT8], ids=lambda op: op.kind.name)
def test_the_machine_agrees_with_the_host(program: Path, op: Operator) -> None:
    assert_agrees(program, op, bits=BITS[:1])


#: Instructions a multiplication at most, by bits of a register, about an eighth above what was counted; the portable
#: kernels take 2.9 to 5.6.
MOST = {
    "conv 3x3 16x16x32-32": (0.23, 0.15), "depthwise 3x3 48x48x16": (0.58, 0.58), "conv 1x1 24x24x32-64": (0.34, 0.29),
    "fully connected 256-10": (0.37, 0.28), "conv 3x3 32x32x3-16": (1.33, 1.33),
    "depthwise 3x3 s2 24x24x32": (0.88, 0.45), "fully connected 640-128": (0.185, 0.10),
}  # fmt: skip


#: The same of whole networks, where additions and depthwise convolutions of any kernel count.
MOST_OF_NETWORKS = {"kws": 0.70, "sww": 0.60, "resnet": 0.36, "ad": 0.28, "micro_speech": 1.1, "person_detect": 0.70}


def test_layers_take_few_instructions(program: Path) -> None:
    """So that none of them runs a portable kernel, and longer registers take less."""
    for place, bits in enumerate(BITS):
        rows = {row["name"]: row for row in layers(vector_machine(bits), program, program.parent)}
        assert all(row["right"] for row in rows.values())
        assert {name: rows[name]["per_mac"] for name in MOST if rows[name]["per_mac"] > MOST[name][place]} == {}


@pytest.mark.parametrize(("name", "budget"), [("kws", "6K"), ("sww", "4K"), ("resnet", "64K"), ("ad", "16K"),
                                              ("micro_speech", "16K"), ("person_detect", "64K")])  # fmt: skip
def test_networks_have_the_recorded_outputs(program: Path, name: str, budget: str) -> None:
    """In bands of a row or two, with windows that keep rows."""
    data = np.load(NETWORKS / f"{name}_vectors.npz")
    content = samples(data["input_q"][0].tobytes(), data["output_tflm_q"][0].tobytes())
    compiled, _ = fit(NETWORKS / f"{name}_int8.onnx", budget)
    for bits in BITS:
        result = measure(vector_machine(bits), program, compiled.data, content, program.parent)
        assert result.right, bits
        assert result.run / sum(op.macs for op in compiled.plan.program.ops) < MOST_OF_NETWORKS[name], bits


@pytest.mark.parametrize("source", sorted(FOLDER.glob("*.c")), ids=lambda path: path.name)
def test_sources_compile_without_a_warning(program: Path, source: Path, tmp_path: Path) -> None:
    """And are nothing where the instructions are not there, or are not asked for."""
    machine = vector_machine(BITS[0])
    clang = ["clang", *machine.clang, *C99, f"-I{INCLUDE}", "-isystem", str(library_headers(machine))]
    plain = ["riscv64-unknown-elf-gcc", *MACHINES["rv32imc"].flags, *C99, f"-I{INCLUDE}", "-Os"]
    empty = {}
    for command in ([*clang, "-O2"], [*clang, "-Os"], [*clang, "-O0"], plain):
        target = tmp_path / "object.o"
        subprocess.run([*command, "-c", str(source), "-o", str(target)], check=True)
        symbols = subprocess.run(["riscv64-unknown-elf-nm", "-g", "--defined-only", str(target)], check=True,
                                 capture_output=True, text=True).stdout  # fmt: skip
        empty[command[0], command[-1]] = symbols == ""
    assert list(empty.values()) == [False, False, True, True]
