"""The adapters of kernel libraries: the host's bytes at every budget, and no byte outside the arenas."""

import random
from pathlib import Path

import pytest

from tests.harness.tiers import examples, sampled
from tests.networks.plans import compiled
from tests.runtime.backends.libraries import CASES, VARIABLES, backend_replay, case_name, sources
from tests.runtime.build import C99, INCLUDE, compile_each
from tests.runtime.fuzz.geometries import Axis, conv
from tests.runtime.kernel_harness import Way, plan_for
from tests.runtime.replays import assert_same, outcomes
from tigris_pio.format.enums import OpKind

NETWORKS = ("ad", "kws", "micro_speech", "person_detect", "resnet")
#: Whole, and in bands, which test_adapters.py has of single operators.
BUDGETS = (("128K", 0), ("24K", "1M"))[: examples(1, 2)]


@pytest.fixture(scope="module", params=CASES, ids=case_name)
def backend(request: pytest.FixtureRequest) -> tuple[str, Path, bool]:
    """A backend's name, the program that runs plans with it, and whether its library is a stand-in."""
    name, real = request.param
    return name, backend_replay(name, real), not real


@pytest.mark.parametrize("network", sampled(NETWORKS, ("kws",)))
def test_networks_give_the_portable_bytes(backend: tuple[str, Path, bool], network: str) -> None:
    name, program, _ = backend
    plans = [compiled(network, fast=fast, slow=slow, backend=name) for fast, slow in BUDGETS]
    assert_same(program, [plan.data for plan in plans])
    # Without a chip, what one chip's kernels cannot sum (the layer of micro_speech, on the ESP32-P4) is not asked for.
    least = 1 if (name, network) == ("esp-nn", "micro_speech") else 3
    assert sum(plan.report["backend"]["ops"] for plan in plans) >= least


def test_too_little_for_the_scratch_is_said(backend: tuple[str, Path, bool]) -> None:
    """In an arena of the plan's bytes alone, and of half the scratch, the session says what is missing and portable
    kernels give the same bytes; with that much more nothing is missing."""
    name, program, stands_in = backend
    plan = compiled("kws", fast="128K", slow=0, backend=name)
    (outcome,) = outcomes(program, [plan.data])
    assert (outcome.status, outcome.differs) == (0, False)
    # A library may take less than the compiler grants: on this machine, none.
    assert int(stands_in) <= outcome.scratch <= plan.report["memory"]["backend_scratch"]


#: Of 8 rows, 10 columns, 4 channels and a 3x3 kernel: bytes that the stand-ins ask for.
LARGEST = {
    ("cmsis-nn", OpKind.PLAIN_CONV_2D): 3 * 9 * 4,
    ("cmsis-nn", OpKind.PLAIN_DEPTHWISE_CONV_2D): 2 * 9 * 4,
    ("esp-nn", OpKind.PLAIN_CONV_2D): 10 * 12 * 4 + 16,  # padding on all sides
    ("esp-nn", OpKind.PLAIN_DEPTHWISE_CONV_2D): 10 * 12 * 4 + 16,
}


@pytest.mark.parametrize(("name", "kind"), LARGEST, ids=str)
def test_scratch_is_that_of_the_operator(name: str, kind: OpKind) -> None:
    plan = plan_for(conv(kind, Axis(8, 3, 1, 1, 1), Axis(10, 3, 1, 1, 1), 4, 4, random.Random(1)), Way(8))
    (outcome,) = outcomes(backend_replay(name, False), [plan])
    assert (outcome.status, outcome.scratch) == (0, LARGEST[name, kind])


@pytest.mark.parametrize("name", VARIABLES)
def test_adapters_compile_without_warnings(name: str, tmp_path: Path) -> None:
    given = sources(name, real=False)
    for compiler in ("gcc", "clang"):
        for flags in (given.flags, ()):
            compile_each([compiler, *C99, *flags, f"-I{INCLUDE}", "-fsyntax-only"], given.files[:-1], tmp_path)
