"""Kernels in the vector instructions of the machines that the host library runs on: the portable kernels' bytes, for
layers of all sizes, on this processor, under AddressSanitizer and UndefinedBehaviorSanitizer, and on 64-bit Arm."""

from __future__ import annotations

import dataclasses
import itertools
import platform
import random
import stat
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from tests.networks.folders import Network, networks
from tests.runtime.build import SANITIZERS, compile_for, compile_program
from tests.runtime.build import program as needed_program
from tests.runtime.fuzz.keep import kept
from tests.runtime.fuzz.seeds import seeds
from tests.runtime.kernel_harness import Operator, Way, plan_for, portable_kernels, run
from tests.runtime.test_binary import int8_params, row_map, step_fields
from tests.runtime.test_conv import int8_case
from tests.runtime.test_damaged_plans import FUZZ, damaged, outcomes
from tests.runtime.test_dsp import CONV, DEPTHWISE, window
from tests.runtime.test_dsp_in_c import assert_same
from tests.runtime.test_vectors import fully_connected_case
from tigris_pio import Session, compile_model
from tigris_pio.errors import ArgumentError
from tigris_pio.format.enums import DType, OpKind
from tigris_pio.host import library

BACKEND = "-DTIGRIS_DEFAULT_BACKEND=tigris_host_backend"
#: Bounds of the kernels: taps of a pixel, of a vector, and of a depthwise kernel.
MOST_TAPS, MOST_OF_ONE, MOST_DEPTHWISE = 5120, 20480, 512


@pytest.fixture(scope="module")
def replay(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sanitised program that runs plans from its standard input."""
    assert fastest() != "portable", "this processor lacks the instructions"
    program = tmp_path_factory.mktemp("host") / "replay"
    return compile_program(program, [FUZZ / "replay.c", FUZZ / "run_plan.c"], f"-I{FUZZ}", BACKEND, *SANITIZERS)


@pytest.fixture(scope="module")
def on_arm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program for 64-bit Arm, as a command that runs it here."""
    folder = tmp_path_factory.mktemp("neon")
    emulator = needed_program("qemu-aarch64", "qemu-user")
    sources = [FUZZ / "replay.c", FUZZ / "run_plan.c"]
    # run_plan.c leaves an address of its own in a session that ends with it.
    flags = ("-O3", "-Wno-dangling-pointer", f"-I{FUZZ}", BACKEND)
    program = compile_for("aarch64", folder / "replay", sources, *flags)
    script = folder / "run"
    script.write_text(f"#!/bin/sh\nexec {emulator} {program}\n")
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    return script


def scaled(op: Operator, seed: int) -> Operator:
    """The operator with a range of outputs, and shifts of all sizes to both sides in place of usual ones."""
    choose = np.random.default_rng(seed)
    count = op.blobs["shift"].size
    shift = choose.choice((-31, -30, -12, -9, -8, -7, -2, -1, 0, 1, 3), count).astype(np.int8)
    multiplier = choose.integers(0, 1 << 31, count).astype(np.int32)
    low, high = sorted(choose.integers(-128, 128, 2).tolist())
    params = dataclasses.replace(op.params, activation_min=low, activation_max=high)  # type: ignore[type-var]
    return dataclasses.replace(op, params=params, blobs={**op.blobs, "multiplier": multiplier, "shift": shift})


def sliding(choose: random.Random, number: int) -> tuple[Operator, int]:
    """A convolution of random size, and its rows."""
    kind = choose.choice((CONV, DEPTHWISE))
    kernel = choose.choice(((1, 1), (1, 1), (3, 3), (3, 3), (2, 5), (10, 1), (1, 4)))
    stride, dilation = (
        (choose.choice((1, 1, 2)), choose.choice((1, 2))),
        choose.choice(((1, 1),) * 4 + ((2, 1), (1, 2))),
    )
    reach = ((kernel[0] - 1) * dilation[0], (kernel[1] - 1) * dilation[1])
    top, bottom, left, right = (choose.randint(0, reach[i // 2]) for i in range(4))
    least = [max(1, reach[0] + 1 - top - bottom), max(1, reach[1] + 1 - left - right)]
    size = (choose.randint(least[0], least[0] + 5), choose.randint(least[1], least[1] + 6))
    if kind == DEPTHWISE:
        groups = choose.choice((1, 3, 8, 11, 16, 40))
        form = (groups, 1, choose.choice((1, 8, 9, 20)) if groups == 1 else choose.choice((1, 1, 1, 2)))
    else:
        form = (
            choose.choice((1, 1, 2)),
            choose.choice((1, 2, 3, 4, 7, 8, 13, 16, 21, 33)),
            choose.choice((1, 3, 4, 8, 9, 14, 16, 23)),
        )
    shape = window(size, kernel, stride, (top, bottom, left, right), dilation)
    op = int8_case(kind, shape, 1, *form, number, strays=number % 4 == 1)[0]
    return op, op.output_shape[1]


def layers(count: int, seed: int) -> Iterator[tuple[Operator, Way]]:
    """Operators of all kinds and random sizes: whole, in bands, and rolling through windows."""
    choose = random.Random(seed)
    for number in range(count):
        what = choose.random()
        if what < 0.7:
            op, height = sliding(choose, number)
        elif what < 0.85:
            vectors, inputs = choose.randint(1, 9), choose.choice((1, 3, 4, 16, 22, 64, 131))
            op = fully_connected_case(vectors, inputs, choose.randint(1, 40), 0, choose.random() < 0.7, number)[0]
            height = vectors
        else:
            op, height = addition(choose.choice((OpKind.ADD, OpKind.SUB)), choose.randint(1, 5), number), 3
        if "shift" in op.blobs and choose.random() < 0.5:
            op = scaled(op, number)
        ways = (Way(height), Way(min(2, height)), Way(1, windows=True, keep=op.kind in (CONV, DEPTHWISE)))
        yield op, choose.choice(ways)


def addition(
    kind: OpKind, channels: int, seed: int, first: tuple[int, int] = (3, 5), second: tuple[int, int] = (3, 5)
) -> Operator:
    """ADD or SUB of maps of these heights and widths, of which the larger are the output's."""
    values = np.random.default_rng(seed)
    a, b, out = (1, *first, channels), (1, *second, channels), (1, 3, 5, channels)
    inputs = tuple(values.integers(-128, 128, shape).astype(np.int8) for shape in (a, b))
    params = int8_params(kind, values, step_fields(a, b, out))
    rows = (row_map(a, out), row_map(b, out))
    return Operator(kind, DType.INT8, params, inputs, rows, out, DType.INT8)


def large() -> Iterator[Operator]:
    """On both sides of the kernels' bounds."""
    point = window((2, 3), (1, 1), (1, 1), (0, 0, 0, 0))
    for taps in (MOST_TAPS - 1, MOST_TAPS, MOST_TAPS + 1):
        yield int8_case(CONV, point, 1, 1, taps, 9, taps)[0]
    for taps in (MOST_TAPS, MOST_TAPS + 2, MOST_OF_ONE - 3, MOST_OF_ONE, MOST_OF_ONE + 1):
        yield fully_connected_case(3, taps, 10, 0, True, taps)[0]
    for (height, width), channels in itertools.product(((32, 16), (19, 27)), (1, 8)):
        shape = window((height + 1, width + 2), (height, width), (1, 1), (3, 1, 2, 2))
        yield int8_case(DEPTHWISE, shape, 1, channels, 1, 8 // channels, height)[0]
    for channels in (256, 259, 530):  # more than go together; the last eight begin before the last that do
        shape = window((4, 5), (3, 3), (1, 1), (1, 1, 1, 1))
        yield int8_case(DEPTHWISE, shape, 1, channels, 1, 1, channels)[0]
    for outputs in (910, 911):  # more weights than are put into another order
        yield int8_case(DEPTHWISE, window((4, 3), (3, 3), (1, 1), (1, 0, 1, 1)), 1, 1, 1, outputs, outputs)[0]
    assert 32 * 16 == MOST_DEPTHWISE < 19 * 27


def fastest() -> str:
    """What this processor has, by the system's word."""
    flags = Path("/proc/cpuinfo").read_text("utf-8") if Path("/proc/cpuinfo").exists() else ""
    return {"x86_64": "avx2" if " avx2 " in flags else "portable", "aarch64": "neon"}.get(
        platform.machine(), "portable"
    )


def test_the_instructions_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = plan_for(addition(OpKind.ADD, 4, 1), Way(3))
    with Session(plan) as session:
        assert session.kernels == fastest()
    monkeypatch.setenv(library.KERNELS_VARIABLE, "fastest")
    with Session(plan) as session:
        assert session.kernels == fastest()
    monkeypatch.setenv(library.KERNELS_VARIABLE, "portable")
    with Session(plan) as session:
        assert session.kernels == "portable"


def test_layers_of_all_sizes() -> None:
    """`run` compares with the portable kernels."""
    for op, way in layers(400, 1):
        run(op, way)


def test_bounds() -> None:
    for op in large():
        run(op, Way(op.output_shape[1]))


@pytest.mark.parametrize("other", [(1, 5), (3, 1), (1, 1)])
def test_maps_that_are_broadcast(other: tuple[int, int]) -> None:
    """Left to the portable kernels, whichever they are."""
    for kind, channels in itertools.product((OpKind.ADD, OpKind.SUB), (1, 8)):
        run(addition(kind, channels, 1, second=other), Way(3))
        run(addition(kind, channels, 2, first=other), Way(2))


def test_no_other_kernels_can_be_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(library.KERNELS_VARIABLE, "portably")
    with pytest.raises(ArgumentError, match="TIGRIS_HOST_KERNELS is 'portably': set it to portable or fastest"):
        run(addition(OpKind.ADD, 4, 1), Way(3))


@pytest.mark.parametrize(("fast", "slow"), [(None, 0), ("8K", "64K")])
@pytest.mark.parametrize("network", networks(), ids=str)
def test_networks_both_ways(network: Network, fast: str | None, slow: int | str) -> None:
    """What was recorded, by either kernels."""
    compiled = compile_model(network.path, fast=fast, slow=slow)
    with Session(compiled) as session:
        with portable_kernels():
            portable = Session(compiled)
        (source,) = session.inputs
        for data in network.recorded():
            for stored, expected in zip(data["input_q"], data["output_tflm_q"], strict=True):
                for each in (session, portable):
                    (output,) = each.run_raw({source.name: stored.reshape(source.stored_shape)}).values()
                    assert output.ravel().tolist() == expected.ravel().tolist()


def test_nothing_is_read_or_written_outside(replay: Path) -> None:
    assert_same(replay, [plan for name, plan in seeds() if "int8" in name or "chain" in name])
    assert_same(replay, [plan_for(op, way) for op, way in layers(300, 2)])
    assert_same(replay, [plan_for(op, Way(op.output_shape[1])) for op in large()])


def test_damaged_plans(replay: Path) -> None:
    """Of what fuzzing kept and of each kind of kernel."""
    choose = random.Random(6)
    plans = [plan for name, plan in seeds() if "int8" in name]
    candidates = [candidate for plan in plans for candidate in choose.sample(list(damaged(plan)), 40)]
    wide = [plan_for(op, way) for op, way in layers(30, 3)]
    candidates += [candidate for plan in wide for candidate in choose.sample(list(damaged(plan)), 60)]
    results = outcomes(replay, [*candidates, *kept().values()])
    assert sum(result.ran for result in results) > len(plans)


def test_64_bit_arm_gives_the_same_bytes(on_arm: Path, models_dir: Path) -> None:
    assert_same(on_arm, [plan_for(op, way) for op, way in layers(300, 4)])
    assert_same(on_arm, [plan_for(op, Way(op.output_shape[1])) for op in large()])
    assert_same(on_arm, [compile_model(models_dir / f"{name}_int8.onnx").data for name in ("kws", "resnet", "sww")])
