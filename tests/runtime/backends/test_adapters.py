"""The adapters of kernel libraries under AddressSanitizer, with stand-ins that read and write blindly: every geometry
of a plan, damaged plans, networks at two budgets, and scratch. Outputs must equal those of the portable kernels, which
also run the operators that a library cannot."""

import dataclasses
import itertools
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.harness.tiers import examples, sampled
from tests.networks.plans import compiled
from tests.runtime.backends import scratch
from tests.runtime.backends.libraries import CASES, VARIABLES, backend_replay, case_name, sources
from tests.runtime.backends.scratch import VARIANTS, Variant
from tests.runtime.build import C99, INCLUDE, compile_each
from tests.runtime.damage import overwritten
from tests.runtime.fuzz.geometries import Axis, conv, geometries
from tests.runtime.fuzz.seeds import seeds
from tests.runtime.kernel_harness import Way, plan_for
from tests.runtime.loader import Status, bind_status
from tests.runtime.operators import operators
from tests.runtime.plan_builder import changed
from tests.runtime.replays import assert_same, outcomes, portable_outputs
from tests.runtime.test_conv import plain
from tests.runtime.test_vectors import fully_connected_case
from tigris_pio.compiler.backends.backend import BACKENDS
from tigris_pio.format.enums import OpKind, WeightMode
from tigris_pio.format.params import FullyConnectedInt8Params
from tigris_pio.format.records import Header, OpRecord, StageRecord, TensorRecord, ViewRecord
from tigris_pio.platformio.backend import RELEASE
from tigris_pio.sizes import round_up

CONV, DEPTHWISE = OpKind.PLAIN_CONV_2D, OpKind.PLAIN_DEPTHWISE_CONV_2D


@pytest.fixture(scope="module", params=CASES, ids=case_name)
def program(request: pytest.FixtureRequest) -> Path:
    """The sanitised program that runs plans, with a backend."""
    return backend_replay(*request.param)


@pytest.mark.thorough
def test_every_geometry_gives_the_portable_bytes(program: Path, request: pytest.FixtureRequest) -> None:
    assert_same(program, geometries(examples(250, 700), dilated="cmsis" in request.node.name))


def test_damaged_plans(program: Path) -> None:
    """One to four words of plain operators, the same in every run."""
    choose, count = random.Random(21), examples(6, 60)
    plain = [plan for name, plan in seeds() if "plain" in name] + list(geometries(60, dilated=False))
    plans = [damage for plan in plain for damage in overwritten(choose, plan, count, 4)]
    results = outcomes(program, plans)
    assert sum(result.ran for result in results) > len(plans) // 50


def test_weights_that_a_run_overwrites(program: Path) -> None:
    """Copied and unpacked constants with an input on top of them: what was checked is not what is read."""
    plain = [op for op in operators() if op.kind in (CONV, DEPTHWISE, OpKind.PLAIN_FULLY_CONNECTED)]
    plans = []
    for op, mode in itertools.product(plain, (WeightMode.COPY, WeightMode.LZ4)):
        plan = plan_for(op, Way(2, windows=True, weights=mode))
        header = Header.unpack(plan)
        stage = StageRecord.unpack(plan, header.stages)
        plan = changed(plan, Header, 0, fast_bytes=header.fast_bytes + 1024)
        # The window of the input or of the output, over each part of the block.
        for view, at in itertools.product((0, 1), range(0, stage.block_raw_bytes, 16)):
            plans.append(changed(plan, ViewRecord, view, offset=stage.block_fast_offset + at))
    results = outcomes(program, plans)
    assert {result.ran for result in results} == {True}


def test_scales_that_a_run_overwrites(program: Path) -> None:
    """Those that a library cannot take, which an input lies over, are left to the portable kernel."""
    op = next(op for op in operators() if op.kind is OpKind.PLAIN_FULLY_CONNECTED)
    plan = plan_for(op, Way(2, windows=True, weights=WeightMode.COPY))
    header = Header.unpack(plan)
    stage = StageRecord.unpack(plan, header.stages)
    scales = FullyConnectedInt8Params.unpack(plan, header.params + OpRecord.unpack(plan, header.ops).params).multiplier
    plan = changed(plan, Header, 0, fast_bytes=header.fast_bytes + 1024)
    plans = [changed(plan, ViewRecord, 0, offset=stage.block_fast_offset + at)
             for at in range(scales + 15 & ~15, stage.block_raw_bytes, 16)]  # fmt: skip
    assert [result.outputs for result in outcomes(program, plans)] == [portable_outputs(plan) for plan in plans] != []


UNUSUAL = [
    {"before": 3}, {"after": 5}, {"size": 20, "output": 3}, {"size": 4, "output": 9}, {"before": -1}, {"before": 100},
]  # fmt: skip


@pytest.mark.parametrize("kind", [CONV, DEPTHWISE], ids=lambda kind: kind.name)
@pytest.mark.parametrize("rows", [True, False], ids=("rows", "columns"))
def test_geometry_that_libraries_do_not_expect_is_refused(kind: OpKind, rows: bool) -> None:
    """Padding beyond a window's reach, windows that begin behind the input, input that no window reads."""
    usual = Axis(8, 3, 1, 1, 1)
    assert bind_status(plan_for(conv(kind, usual, usual, 4, 4, random.Random(1)), Way(8))) == 0
    for change in UNUSUAL if rows else [change for change in UNUSUAL if change.get("before", 0) >= 0]:
        unusual = usual._replace(**{name: value for name, value in change.items() if name != "output"})
        output = change.get("output", unusual.output)
        op = conv(kind, *((unusual, usual) if rows else (usual, unusual)), 4, 4, random.Random(1))
        shape = (1, output, 8, 4) if rows else (1, 8, output, 4)
        plan = plan_for(dataclasses.replace(op, output_shape=shape), Way(shape[1]))
        assert bind_status(plan) == Status.ERR_PARAMS, change


def test_dilation_is_refused_by_a_library_that_ignores_it(program: Path, request: pytest.FixtureRequest) -> None:
    dilated, usual = Axis(8, 3, 1, 2, 2, 2), Axis(8, 3, 1, 1, 1)
    plans = [plan_for(conv(kind, *axes, 4, 4, random.Random(1)), Way(8))
             for kind in (CONV, DEPTHWISE) for axes in ((dilated, usual), (usual, dilated))]  # fmt: skip
    refused = "esp-nn" in request.node.name
    assert {result.status for result in outcomes(program, plans)} == {Status.ERR_PARAMS if refused else 0}


ROWS = [*(Axis(7 + unread, 3, 4, 0, 0) for unread in (0, 1, 2)), Axis(17, 5, 2, 2, 2), Axis(17, 5, 1, 2, 2),
        Axis(14, 3, 2, 1, 2), Axis(16, 3, 2, 0, 1)]  # fmt: skip


@pytest.mark.parametrize("columns", ROWS, ids=str)
def test_convolutions_of_one_row(columns: Axis, program: Path) -> None:
    """CMSIS-NN with MVE takes a column that no window reads for padding, and less than there is on the right."""
    op = conv(CONV, Axis(1, 1, 1, 0, 0), columns, 4, 4, random.Random(1))
    assert_same(program, [plan_for(op, Way(1))])


def test_operands_that_vector_accesses_would_round(program: Path) -> None:
    """Tensors on multiples of 4 alone: libraries whose loads and stores round addresses down are not handed those."""
    axis, odd, choose = Axis(8, 3, 1, 1, 1), Axis(8, 1, 1, 0, 0), random.Random(3)
    cases = [conv(DEPTHWISE, axis, axis, channels, channels, choose) for channels in (8, 16, 32)]
    cases += [conv(CONV, odd, odd, channels, 5, choose) for channels in (8, 16)]
    cases += [plain(fully_connected_case(vectors, features, 5, 0, True, features)[0])
              for vectors, features in itertools.product((1, 4), (7, 13, 20, 40))]
    plans, expected = [], []
    for op in cases:
        plan = plan_for(op, Way(op.output_shape[1]))
        header = Header.unpack(plan)
        for shifts in ((0, 0), (4, 0), (0, 4), (8, 4)):
            moved = changed(plan, Header, 0, alignment=4, fast_bytes=header.fast_bytes + 64)
            for index, by in enumerate(shifts):
                offset = TensorRecord.unpack(moved, header.tensors + index * TensorRecord.size()).home_offset
                moved = changed(moved, TensorRecord, index, home_offset=offset + (16 if index else 0) + by)
            plans.append(moved)
            expected.append((0, portable_outputs(plan)))
    assert [(result.status, result.outputs) for result in outcomes(program, plans)] == expected


# The adapters of kernel libraries: the host's bytes at every budget, and no byte outside the arenas.

NETWORKS = ("ad", "kws", "micro_speech", "person_detect", "resnet")
#: Whole, and in bands.
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


# Scratch of kernel libraries: the compiler reserves what sessions ask for, by sizes that libraries answered.

#: Of each variant; each library gets more than 20,000.
SHAPES = 8000
MEASURED = ("ad", "kws", "micro_speech", "person_detect", "resnet", "sww", "vww")
MEASURED_BUDGETS = ("256K", "96K", "48K", "24K")
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
    check_release(variant)
    shapes = list(scratch.shapes(variant, SHAPES, seed=2))
    asked = [line[0] for line in scratch.ask(scratch.real(variant), shapes)]
    more = [own - size for own, size in zip(map(reserved(variant), shapes), asked, strict=True)]
    assert len(more) == SHAPES and set(more) == {0}


def check_release(variant: Variant) -> None:
    """The compiler has rules for the answers of one release."""
    assert variant.backend != "esp-nn" or scratch.version(scratch.checkout(variant)) == RELEASE


@pytest.mark.parametrize("fast", MEASURED_BUDGETS)
@pytest.mark.parametrize("network", MEASURED)
@pytest.mark.parametrize("name", REAL)
def test_networks_at_all_budgets(name: str, network: str, fast: str, tmp_path: Path) -> None:
    """What a plan reserves is what its session asks for, in the plan's own steps."""
    variant = VARIANTS[name]
    check_release(variant)
    plan = compiled(network, fast=fast, slow="1M", backend=variant.backend, chip=variant.chip)
    plan.save(tmp_path / "plan.tgrs")
    (asked,) = scratch.ask_for_plans(scratch.real(variant), [tmp_path / "plan.tgrs"])
    assert plan.report["memory"]["backend_scratch"] == round_up(asked, 16)
    assert asked or fast != MEASURED_BUDGETS[0] or name == "esp32c3" or network in ("ad", "micro_speech")
