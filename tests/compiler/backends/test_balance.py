"""How fast memory is shared between the arena and a library's scratch."""

import functools
from pathlib import Path

import onnx
import pytest

from bench.emulator import MACHINES, build, measure
from bench.libraries import library_sources
from bench.networks import recorded, smallest
from bench.quantised_net import QuantisedNet
from tests.harness.tiers import sampled
from tests.networks.folders import OWN
from tests.runtime.backends.libraries import VARIABLES, checkout
from tigris_pio import compile_model
from tigris_pio.compiler.backends import BACKENDS
from tigris_pio.compiler.backends.balance import MOST_CAPS, Balances, judged_cost
from tigris_pio.compiler.cost.model import PROCESSORS, machines, nearest_for
from tigris_pio.compiler.emit.model_header import fast_bytes
from tigris_pio.compiler.ir.plan import Budget, ExecutionPlan
from tigris_pio.compiler.ir.program import Program
from tigris_pio.compiler.options import CompileOptions
from tigris_pio.compiler.pipeline import Compiled, analyze, front
from tigris_pio.compiler.plan.index import ProgramIndex
from tigris_pio.compiler.plan.prediction import predicted_instructions
from tigris_pio.compiler.plan.search import find_plan
from tigris_pio.compiler.plan.settings import WeightOptions

S3 = {"backend": "esp-nn", "chip": "esp32s3"}
LIBRARIES = (S3, {"backend": "cmsis-nn", "chip": "cortex-m4"}, {"backend": "cmsis-nn", "chip": "cortex-m55"})


@functools.cache
def small() -> onnx.ModelProto:
    """Scratch of 3 to 10 KB on an ESP32-S3 beside maps of up to 4 KB."""
    net = QuantisedNet("small", 8, (16, 16))
    x = net.conv(net.conv(net.image, 16), 16)
    return net.model(net.classified(net.conv(net.pool(x), 32, 1), 10))


def balances(model: onnx.ModelProto, fast: int) -> Balances:
    """Balances for the model's operators in the order of the file."""
    program = front(model, CompileOptions()).program
    processor = nearest_for(program, S3["chip"], S3["backend"])

    def find(wanted: Program, budget: Budget, most: float) -> ExecutionPlan | None:
        return find_plan(ProgramIndex.of(wanted, processor), budget, 16, WeightOptions(), most)

    return Balances(find, program, Budget(fast), BACKENDS["esp-nn"], S3["chip"], processor)


@pytest.mark.thorough
@pytest.mark.parametrize("fast", [6_000, 12_000, 24_000])
def test_the_cheapest_of_all_caps_is_chosen(fast: int) -> None:
    """The plan costs at most 1 % more than the cheapest of all caps in steps of 256 bytes; only a few are tried."""
    found = balances(small(), fast)
    best = found.cheapest()
    every = [one for cap in range(0, fast, 256) if (one := found.at(cap)) is not None]
    assert best is not None
    assert len(found.caps()) <= MOST_CAPS
    assert best.cost <= 1.01 * min(one.cost for one in every)
    for one in (best, *every):
        assert fast_bytes(one.plan) <= fast


@pytest.mark.parametrize("name", sampled(["kws", "resnet"], 1))
@pytest.mark.parametrize("library", LIBRARIES, ids=lambda one: one["chip"])
def test_what_fits_portable_fits(name: str, library: dict[str, str]) -> None:
    model = OWN / f"{name}_int8.onnx"
    least = smallest(model, chip=library["chip"], backend="portable")
    assert fast_bytes(compile_model(model, fast=least, **library).plan) <= least


@pytest.mark.parametrize("library", sampled(LIBRARIES[::-1], 1), ids=lambda one: one["chip"])
def test_the_report_has_the_curve(library: dict[str, str]) -> None:
    options = CompileOptions(budget=Budget(20_480), **library)
    found = analyze(OWN / "kws_int8.onnx", options)
    points, memory = found.report["backend"]["balance"], found.report["memory"]
    assert [point["scratch"] for point in points] == sorted(point["scratch"] for point in points)
    for point in points:
        assert set(point) == {"scratch", "arena", "ops", "instructions", "cost", "chosen"}
        assert point["scratch"] + point["arena"] <= 20_480
        assert point["instructions"] <= point["cost"]
    (chosen,) = (point for point in points if point["chosen"])
    assert (chosen["scratch"], chosen["arena"]) == (memory["backend_scratch"], memory["fast_peak"])
    assert chosen["ops"] == found.report["backend"]["ops"]
    assert chosen["instructions"] == found.report["predicted_instructions"][found.plan.processor]
    assert chosen["cost"] == round(judged_cost(found.plan)) <= min(point["cost"] for point in points) + 2  # rounded


def test_without_a_limit_or_a_library_there_is_no_curve() -> None:
    model = OWN / "ad_int8.onnx"
    assert analyze(model, CompileOptions(**S3)).report["backend"]["balance"] == []
    assert analyze(model, CompileOptions(budget=Budget(65_536))).report["backend"]["balance"] == []


@pytest.mark.parametrize("library", LIBRARIES, ids=lambda one: one["chip"])
def test_predictions_are_for_processors_of_the_library(library: dict[str, str]) -> None:
    portable = compile_model(OWN / "resnet_int8.onnx", chip=library["chip"], backend="portable")
    compiled = compile_model(OWN / "resnet_int8.onnx", **library)
    told = compiled.report["predicted_instructions"]
    assert set(portable.report["predicted_instructions"]) == set(PROCESSORS)
    assert set(told) == set(machines(library["backend"]))
    assert compiled.plan.processor in told
    for processor in set(told) & set(PROCESSORS):
        assert told[processor] > 1.1 * portable.report["predicted_instructions"][processor]


#: Thousands of instructions at 256K that `python -m bench.libraries cmsis-nn` counts (docs/backends.md).
COUNTED = {
    "cortex-m4": {"kws": 7_684, "resnet": 28_914, "vww": 24_126, "person_detect": 23_407, "ad": 590},
    "cortex-m55": {"kws": 1_820, "resnet": 4_816, "vww": 6_594, "person_detect": 6_543, "ad": 161},
}


@pytest.mark.parametrize("chip", COUNTED)
def test_networks_take_what_was_counted(chip: str) -> None:
    for name, counted in COUNTED[chip].items():
        plan = compile_model(OWN / f"{name}_int8.onnx", fast="256K", backend="cmsis-nn", chip=chip).plan
        assert predicted_instructions(plan, chip) == pytest.approx(1000 * counted, rel=0.1), name


@pytest.mark.vendor(VARIABLES["cmsis-nn"])
@pytest.mark.parametrize(("name", "fast"), [("kws", "256K"), ("kws", "16K"), ("resnet", "32K")])
def test_within_a_tenth_of_what_is_counted(name: str, fast: str, tmp_path: Path) -> None:
    folder = checkout("cmsis-nn")
    assert folder is not None
    source, machine = library_sources("cmsis-nn", folder), MACHINES["cortex-m4"]
    program = build(machine, tmp_path, extra=("-DNDEBUG", *source.flags, *map(str, source.files)))
    network, content = recorded(OWN, name)
    compiled: Compiled = compile_model(network, fast=fast, backend="cmsis-nn", chip=machine.name)
    counted = measure(machine, program, compiled.data, content)
    assert counted.right
    assert predicted_instructions(compiled.plan, machine.name) == pytest.approx(counted.run, rel=0.1)
