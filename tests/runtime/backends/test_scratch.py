"""Scratch of kernel libraries: the compiler reserves what sessions ask for, by sizes that libraries answered."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.networks.plans import compiled
from tests.runtime.backends import scratch
from tests.runtime.backends.libraries import VARIABLES
from tests.runtime.backends.scratch import VARIANTS, Variant
from tigris_pio.compiler.backends.backend import BACKENDS
from tigris_pio.platformio.backend import RELEASES
from tigris_pio.sizes import round_up

#: Of each variant; each library gets more than 20,000.
SHAPES = 8000
NETWORKS = ("ad", "kws", "micro_speech", "person_detect", "resnet", "sww", "vww")
BUDGETS = ("256K", "96K", "48K", "24K")
REAL = [pytest.param(name, marks=[pytest.mark.thorough, pytest.mark.vendor(VARIABLES[variant.backend])])
        for name, variant in VARIANTS.items()]  # fmt: skip


def reserved(variant: Variant) -> Callable[[scratch.PlainShape], int]:
    return lambda shape: BACKENDS[variant.backend].scratch(shape, variant.chip)


@pytest.mark.parametrize("backend", VARIABLES)
def test_recorded_sizes(backend: str, tmp_path: Path) -> None:
    """The adapter asks for what the compiler reserves; without a chip's name that is enough on every chip."""
    recorded, program = scratch.recorded(), None
    for name, variant in VARIANTS.items():
        if variant.backend == backend:
            program = program or scratch.replayed(variant, tmp_path)
            shapes, answers = zip(*recorded[name], strict=True)
            assert [line[0] for line in scratch.ask(program, shapes, answers)] == list(map(reserved(variant), shapes))
            assert all(reserved(variant)(shape) <= BACKENDS[backend].scratch(shape, "") for shape in shapes)
            assert len(shapes) == scratch.RECORDED
    assert program is not None


@pytest.mark.parametrize("name", REAL)
def test_sizes_of_libraries(name: str) -> None:
    variant = VARIANTS[name]
    most = slack(variant)
    shapes = list(scratch.shapes(variant, SHAPES, seed=2))
    asked = [line[0] for line in scratch.ask(scratch.real(variant), shapes)]
    more = [own - size for own, size in zip(map(reserved(variant), shapes), asked, strict=True)]
    assert len(more) == SHAPES and min(more) >= 0
    assert max(more) <= most


def slack(variant: Variant) -> int:
    """Bytes that a release asks for less than the newest, for whose answers the compiler has a rule."""
    if variant.backend != "esp-nn":
        return 0
    found = scratch.version(scratch.checkout(variant))
    assert found in RELEASES
    if found != RELEASES[-1] and variant.chip == "esp32p4":
        pytest.skip(f"sized for ESP-NN {RELEASES[-1]}: {found} asks for more on the ESP32-P4")
    return 0 if found == RELEASES[-1] else 32


@pytest.mark.parametrize("fast", BUDGETS)
@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize("name", REAL)
def test_networks_at_all_budgets(name: str, network: str, fast: str, tmp_path: Path) -> None:
    """What a plan reserves is what its session asks for, in the plan's own steps."""
    variant = VARIANTS[name]
    most = slack(variant)
    plan = compiled(network, fast=fast, slow="1M", backend=variant.backend, chip=variant.chip)
    plan.save(tmp_path / "plan.tgrs")
    (asked,) = scratch.ask_for_plans(scratch.real(variant), [tmp_path / "plan.tgrs"])
    assert 0 <= plan.report["memory"]["backend_scratch"] - round_up(asked, 16) <= most
    assert asked or fast != BUDGETS[0] or name == "esp32c3" or network in ("ad", "micro_speech")
