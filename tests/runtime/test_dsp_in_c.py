"""Kernels with Arm's DSP instructions on this machine: C in place of the instructions, under AddressSanitizer and
UndefinedBehaviorSanitizer. What the instructions themselves do, test_dsp.py sees on an emulated Cortex-M4."""

from __future__ import annotations

import functools
import itertools
import random
import zlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from tests.runtime.build import SANITIZERS, compile_program
from tests.runtime.fuzz.keep import kept
from tests.runtime.fuzz.seeds import seeds
from tests.runtime.kernel_harness import Way, plan_for, portable_kernels
from tests.runtime.test_arena_sizes import NETWORKS, plan_at
from tests.runtime.test_conv import int8_case
from tests.runtime.test_damaged_plans import FUZZ, damaged, outcomes
from tests.runtime.test_dsp import CONV, DEPTHWISE, FULL_RANGE, PART_RANGE, ROWS, WINDOWS, window
from tigris_pio.host import Session


@pytest.fixture(scope="module")
def replay(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sanitised program that runs plans from its standard input."""
    program = tmp_path_factory.mktemp("dsp") / "replay"
    return compile_program(program, [FUZZ / "replay.c", FUZZ / "run_plan.c"], f"-I{FUZZ}", *SANITIZERS, dsp=True)


def portable_outputs(plan: bytes) -> int:
    """What run_plan.c would say of the outputs with the portable kernels: the host's library has them."""
    with portable_kernels(), Session(plan) as session:
        inputs = {}
        for index, io in enumerate(session.inputs):
            k = np.arange(int(np.prod(io.stored_shape)) * io.stored_dtype.itemsize, dtype=np.uint64)
            mask = 0xFF if io.stored_dtype == np.int8 else 0x3F
            data = ((k * 2654435761 + index) % 2**32 >> 24 & mask).astype(np.uint8)
            inputs[io.name] = data.view(io.stored_dtype).reshape(io.stored_shape)
        outputs = session.run_raw(inputs)
        digests = [zlib.crc32(outputs[io.name].tobytes()) for io in session.outputs]
    return functools.reduce(lambda digest, crc: (digest * 31 + crc) % 2**32, digests, 0)


def assert_same(replay: Path, plans: list[bytes]) -> None:
    """Planned and in smaller arenas."""
    for index, (plan, result) in enumerate(zip(plans, outcomes(replay, plans), strict=True)):
        assert (result.status, result.differs, result.outputs) == (0, False, portable_outputs(plan)), index


def test_every_kernel(replay: Path) -> None:
    assert_same(replay, [plan for name, plan in seeds() if "int8" in name or "chain" in name])


def windows(count: int) -> Iterator[bytes]:
    """Convolutions of random sizes: whole, in bands, and rolling through windows."""
    choose = random.Random(11)
    for seed in range(count):
        kernel, stride = (choose.choice((1, 2, 3, 3, 3, 5)), choose.choice((1, 3, 3, 4))), choose.choice((1, 1, 2))
        dilation = choose.choice(((1, 1), (1, 1), (1, 1), (2, 1)))
        reach = ((kernel[0] - 1) * dilation[0], kernel[1] - 1)
        top, bottom, left, right = (choose.randint(0, reach[i // 2]) for i in range(4))
        size = (choose.randint(max(1, reach[0] + 1 - top - bottom), 9), choose.randint(max(1, kernel[1] - left), 11))
        shape = window(size, kernel, (stride, stride), (top, bottom, left, right), dilation)
        depthwise = choose.random() < 0.5
        channels = (choose.randint(1, 9), 1, 1) if depthwise else (1, choose.randint(1, 37), choose.randint(1, 13))
        op, _ = int8_case(DEPTHWISE if depthwise else CONV, shape, 1, *channels, seed)
        height = shape.output[0]
        yield plan_for(op, choose.choice((Way(height), Way(min(2, height)), Way(1, windows=True, keep=True))))


def test_windows_of_all_sizes(replay: Path) -> None:
    fixed = []
    for (kind, shape), seed in itertools.product(WINDOWS, (FULL_RANGE, PART_RANGE)):
        channels = (6, 1, 1) if kind == DEPTHWISE else (1, 5, 9)
        fixed.append(plan_for(int8_case(kind, shape, 1, *channels, seed)[0], Way(shape.output[0])))
        fixed.append(plan_for(int8_case(kind, shape, 1, *channels, seed, strays=True)[0], Way(shape.output[0])))
    for shape, seed, strays in itertools.product(ROWS, (FULL_RANGE, PART_RANGE), (False, True)):
        op, _ = int8_case(DEPTHWISE, shape, 1, 8, 1, 1, seed, strays)
        fixed += [plan_for(op, Way(1)), plan_for(op, Way(shape.output[0]))]
    assert_same(replay, [*fixed, *windows(300)])


@pytest.mark.parametrize("dsp", [False, True])
def test_channels_of_rare_scales_where_size_counts(dsp: bool, tmp_path: Path) -> None:
    """Their operators go another way then."""
    sources = [FUZZ / "replay.c", FUZZ / "run_plan.c"]
    small = compile_program(tmp_path / "replay", sources, f"-I{FUZZ}", *SANITIZERS, "-Os", dsp=dsp)
    plans = []
    for (kind, shape), seed in itertools.product(WINDOWS, (FULL_RANGE, PART_RANGE)):
        channels = (6, 1, 1) if kind == DEPTHWISE else (1, 5, 9)
        plans.append(plan_for(int8_case(kind, shape, 1, *channels, seed, strays=True)[0], Way(shape.output[0])))
    plans += [plan_for(int8_case(DEPTHWISE, shape, 1, 8, 1, 1, 7, strays=True)[0], Way(1)) for shape in ROWS]
    assert_same(small, plans)


def test_networks(replay: Path, models_dir: Path) -> None:
    assert_same(replay, [plan_at(models_dir, name, "64K") for name in NETWORKS])


def test_damaged_plans(replay: Path) -> None:
    """Of what fuzzing kept and of each kind of kernel."""
    choose = random.Random(5)
    plans = [plan for name, plan in seeds() if "int8" in name]
    candidates = [candidate for plan in plans for candidate in choose.sample(list(damaged(plan)), 40)]
    results = outcomes(replay, [*candidates, *kept().values()])
    assert sum(result.ran for result in results) > len(plans)
