"""The host library's kernels with vector instructions must equal the portable kernels, for layers of all sizes: on this
processor under AddressSanitizer and UndefinedBehaviorSanitizer, and on 64-bit Arm."""

import itertools
import platform
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.harness.tiers import examples
from tests.networks.plans import compiled
from tests.runtime.boards import arm_replay
from tests.runtime.build import program as needed_program
from tests.runtime.build import replay
from tests.runtime.damage import damaged
from tests.runtime.fuzz.keep import kept
from tests.runtime.fuzz.seeds import seeds
from tests.runtime.kernel_harness import Operator, Way, plan_for, run
from tests.runtime.random_layers import CONV, DEPTHWISE, addition, random_layers, window
from tests.runtime.replays import assert_same, outcomes
from tests.runtime.test_conv import int8_case
from tests.runtime.test_vectors import fully_connected_case
from tigris_pio import Session
from tigris_pio.errors import ArgumentError
from tigris_pio.format.enums import OpKind
from tigris_pio.host import library

BACKEND = "-DTIGRIS_DEFAULT_BACKEND=tigris_host_backend"
#: Bounds of the kernels: taps of a pixel, of a vector, and of a depthwise kernel.
MOST_TAPS, MOST_OF_ONE, MOST_DEPTHWISE = 5120, 20480, 512


def host_replay() -> Path:
    """The sanitised program that runs plans from its standard input."""
    assert fastest() != "portable", "this processor lacks the instructions"
    return replay("", (), BACKEND)


def layer_plans(count: int, seed: int) -> list[bytes]:
    return [plan_for(op, way) for op, way in random_layers(count, seed)]


def large_plans() -> list[bytes]:
    return [plan_for(op, Way(op.output_shape[1])) for op in large()]


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
    """The fastest kernels that this processor can run, by /proc/cpuinfo."""
    flags = Path("/proc/cpuinfo").read_text("utf-8") if Path("/proc/cpuinfo").exists() else ""
    return {"x86_64": "avx2" if " avx2 " in flags else "portable", "aarch64": "neon"}.get(
        platform.machine(), "portable"
    )


def test_the_instructions_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = plan_for(addition(OpKind.ADD, 4, 1), Way(3))
    with Session(plan) as session:
        assert session.kernels == fastest()
    for asked, expected in (("fastest", fastest()), ("portable", "portable")):
        monkeypatch.setenv(library.KERNELS_VARIABLE, asked)
        with Session(plan) as session:
            assert session.kernels == expected
    monkeypatch.setenv(library.KERNELS_VARIABLE, "portably")
    with pytest.raises(ArgumentError, match="TIGRIS_HOST_KERNELS is 'portably': set it to portable or fastest"):
        Session(plan)


def test_layers_of_all_sizes() -> None:
    """`run` compares with the portable kernels."""
    for op, way in random_layers(examples(150, 400), 1):
        run(op, way)
    for op in large():
        run(op, Way(op.output_shape[1]))


@pytest.mark.parametrize("other", [(1, 5), (3, 1), (1, 1)])
def test_maps_that_are_broadcast(other: tuple[int, int]) -> None:
    """Left to the portable kernels, whichever they are."""
    for kind, channels in itertools.product((OpKind.ADD, OpKind.SUB), (1, 8)):
        run(addition(kind, channels, 1, second=other), Way(3))
        run(addition(kind, channels, 2, first=other), Way(2))


def test_nothing_is_read_or_written_outside() -> None:
    assert_same(host_replay(), [plan for name, plan in seeds() if "int8" in name or "chain" in name])
    assert_same(host_replay(), layer_plans(examples(100, 300), 2) + large_plans())


def test_damaged_plans() -> None:
    """Damages plans of each kind of kernel, and plans of the fuzzing corpus."""
    choose, count = random.Random(6), examples(5, 40)
    plans = [plan for name, plan in seeds() if "int8" in name]
    candidates = [damage for plan in (*plans, *layer_plans(30, 3)) for damage in choose.sample([*damaged(plan)], count)]
    results = outcomes(host_replay(), [*candidates, *kept().values()])
    assert sum(result.ran for result in results) > len(plans)


def test_64_bit_arm_gives_the_same_bytes() -> None:
    emulator = [needed_program("qemu-aarch64", "qemu-user")]
    assert_same(arm_replay(), layer_plans(examples(100, 300), 4) + large_plans(), emulator)
    assert_same(arm_replay(), [compiled(name).data for name in ("kws", "resnet", "sww")[: examples(1, 3)]], emulator)
