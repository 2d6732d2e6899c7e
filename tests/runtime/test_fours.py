"""Convolutions of four pixels at a time, as on RISC-V, on this machine under AddressSanitizer and
UndefinedBehaviorSanitizer: the bytes are those of pairs, which other tests hold to numpy's."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.runtime.build import SANITIZERS, compile_program
from tests.runtime.kernel_harness import Way, plan_for
from tests.runtime.test_arena_sizes import NETWORKS, plan_at
from tests.runtime.test_conv import int8_case
from tests.runtime.test_damaged_plans import FUZZ
from tests.runtime.test_dsp import CONV, FULL_RANGE, PART_RANGE, window
from tests.runtime.test_dsp_in_c import assert_same

#: Kernel, stride, input channels: of neighbours, of more taps than a patch has, of rows under 3x3, of few taps.
LAYERS = (
    ((1, 1), 1, 4), ((1, 1), 1, 64), ((1, 1), 1, 96), ((1, 1), 1, 100), ((1, 1), 2, 32), ((3, 3), 1, 16),
    ((3, 3), 1, 48), ((3, 3), 1, 24), ((3, 3), 2, 16), ((3, 3), 2, 3), ((3, 3), 1, 3), ((5, 4), 2, 1), ((10, 4), 2, 1),
    ((5, 4), 1, 2),
)  # fmt: skip


@pytest.fixture(scope="module")
def replay(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sanitised program that runs plans from its standard input."""
    program = tmp_path_factory.mktemp("fours") / "replay"
    header = f"-include{Path(__file__).with_name('many_registers.h')}"
    return compile_program(program, [FUZZ / "replay.c", FUZZ / "run_plan.c"], f"-I{FUZZ}", *SANITIZERS, header)


def layers() -> Iterator[bytes]:
    """Each layer on maps of a few sizes, whole and in bands, its padding on all sides or none."""
    choose = random.Random(3)
    for kernel, stride, inputs in LAYERS:
        for width in (3, 4, 5, 8, 11):
            reach = (kernel[0] - 1, kernel[1] - 1)
            pads = (reach[0] // 2, (reach[0] + 1) // 2, reach[1] // 2, (reach[1] + 1) // 2)
            padding = choose.choice((pads, pads, (0, 0, 0, 0)))
            size = (max(choose.randint(2, 7), kernel[0] - sum(padding[:2])), max(width, kernel[1] - sum(padding[2:])))
            dilation = (2, 1) if stride == 1 and size[0] > 2 * kernel[0] else (1, 1)
            shape = window(size, kernel, (stride, stride), padding, dilation)
            outputs, seed = choose.choice((4, 8, 20, 36, 7)), choose.choice((FULL_RANGE, PART_RANGE))
            op, _ = int8_case(CONV, shape, 1, 1, inputs, outputs, seed)
            height = shape.output[0]
            yield plan_for(op, Way(height))
            yield plan_for(op, choose.choice((Way(1), Way(min(2, height)))))


def test_layers(replay: Path) -> None:
    assert_same(replay, list(layers()))


def test_networks(replay: Path, models_dir: Path) -> None:
    assert_same(replay, [plan_at(models_dir, name, "64K") for name in NETWORKS])
