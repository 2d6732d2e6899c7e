"""Operators whose rows two cores share: the same bytes in whatever order the halves run, and no race between them."""

import dataclasses
import subprocess
from pathlib import Path

import numpy as np
import pytest

from bench import two_cores
from bench.networks import recorded
from tests.harness.tiers import examples, sampled
from tests.networks.plans import compiled
from tests.runtime.build import HERE, SANITIZERS, objects
from tests.runtime.kernel_harness import Operator, Way, plan_for, run, run_plan, ways
from tests.runtime.loader import Status, bind_status
from tests.runtime.operators import operators
from tests.runtime.pie_cases import compile_pie
from tests.runtime.plan_builder import PlanBuilder, changed, with_crc
from tests.runtime.test_sessions import SOURCE, sanitised
from tests.runtime.two_cores import Turned, all_split, marked
from tigris_pio import Session, compile_model
from tigris_pio.compiler.plan.two_cores import MOST_OPERANDS
from tigris_pio.errors import ArgumentError, UsageError
from tigris_pio.format.enums import OpFlag, OpKind
from tigris_pio.format.kinds import TRAITS
from tigris_pio.format.records import Header, OpRecord

#: Fast memory, slow memory: whole, and in bands whose outputs grow over inputs.
BUDGETS = (("256K", 0), ("16K", "64K"), ("8K", "64K"))
NETWORKS = ("kws", "resnet", "vww")


@pytest.fixture
def turned(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tigris_pio.host.session.Cores", Turned)


def result_of(op: Operator, plan: bytes) -> tuple[np.ndarray, int]:
    """The output with two cores, and how many calls they shared."""
    with Session(plan, cores=2) as session:
        outputs = session.run_raw({f"in{i}": array for i, array in enumerate(op.inputs)})
        return outputs["out"], session.shared_calls


@pytest.mark.usefixtures("turned")
@pytest.mark.parametrize("op", operators(), ids=lambda op: f"{op.kind.name}-{op.dtype.name}")
def test_every_kernel_gives_the_same_bytes(op: Operator) -> None:
    """Runs each kernel in every way a stage can. Only kinds with the trait are split, even if a plan marks others."""
    expected = run(op, Way(op.output_shape[1])).tobytes()
    most = 0
    for way in ways(op):
        output, shared = result_of(op, marked(plan_for(op, way)))
        assert output.tobytes() == expected, way
        most = max(most, shared)
    whole_batch = op.images == 1 and op.output_shape[0] > 1
    splits = TRAITS[op.kind].split and len(op.inputs) <= MOST_OPERANDS and not whole_batch and op.output_shape[1] > 1
    assert (most > 0) == splits


@pytest.mark.usefixtures("turned")
@pytest.mark.parametrize(("images", "shared"), [(1, 0), (2, 2)])
def test_images_of_a_batch(images: int, shared: int) -> None:
    """One by one each is split, all of them in one call are not: their rows are as many as of several maps."""
    op = next(op for op in operators() if op.kind is OpKind.LOOKUP)
    pair = np.concatenate([op.inputs[0], op.inputs[0][:, ::-1]])
    batch = dataclasses.replace(op, inputs=(pair,), output_shape=(2, *op.output_shape[1:]), images=images)
    way = Way(op.output_shape[1])
    output, calls = result_of(batch, marked(plan_for(batch, way)))
    assert (output.tobytes(), calls) == (run(batch, way).tobytes(), shared)


@pytest.mark.usefixtures("turned")
@pytest.mark.parametrize("distance", range(-112, 128, 16))
def test_halves_that_touch_each_other_are_not_split(distance: int) -> None:
    """A convolution's output lies `distance` bytes behind its input, both of six rows of 16 bytes: the bytes of one
    core, whatever they are. Each half reads a row of the other's."""

    def move(plan: PlanBuilder) -> None:
        base = plan.tensors[0].home_offset + 112
        plan.tensors[0] = dataclasses.replace(plan.tensors[0], home_offset=base)
        plan.tensors[1] = dataclasses.replace(plan.tensors[1], home_offset=base + distance)
        plan.fast.place(384)

    op = next(op for op in operators() if op.kind is OpKind.CONV_2D)
    plan = plan_for(op, Way(op.output_shape[1]), move)
    output, shared = result_of(op, marked(plan))
    assert output.tobytes() == run_plan(op, plan).tobytes()
    assert shared == (abs(distance) >= 96)


@pytest.mark.usefixtures("turned")
@pytest.mark.parametrize("fast,slow", BUDGETS)
@pytest.mark.parametrize("name", sampled(NETWORKS, ("kws",)))
def test_recorded_outputs(name: str, fast: str, slow: str | int, models_dir: Path) -> None:
    """All operators are marked. The arenas have the planned size, or are smaller, so that buffers move."""
    data = np.load(models_dir / f"{name}_vectors.npz")
    plan = compiled(name, fast=fast, slow=slow, cores=2)
    planned_fast = plan.report["memory"]["fast_peak"]
    for fast_bytes, slow_bytes in ((None, None), (planned_fast * 3 // 4, 1 << 20)):
        with Session(all_split(plan), fast_bytes, slow_bytes, cores=2) as session:
            (source,), (result,) = session.inputs, session.outputs
            for given, expected in zip(data["input_q"][:2], data["output_tflm_q"][:2], strict=True):
                outputs = session.run_raw({source.name: given.reshape(source.stored_shape)})
                assert outputs[result.name].ravel().tolist() == expected.ravel().tolist()
            assert session.shared_calls > 0


@pytest.mark.parametrize("name", sampled(NETWORKS, ("kws",)))
def test_threads(name: str, models_dir: Path) -> None:
    """Two threads each run half of the rows of every convolution that the compiler marked."""
    data = np.load(models_dir / f"{name}_vectors.npz")
    plan = compiled(name, fast="256K", slow=0, cores=2)
    marks = plan.report["cores"]["split"]
    heavy = [op.name for op in plan.plan.program.ops if op.macs > 10_000]
    assert set(heavy) <= set(marks)
    with Session(plan, cores=2) as two, Session(plan) as one:
        source = two.inputs[0]
        for runs, given in enumerate(data["input_q"][:3], 1):
            inputs = {source.name: given.reshape(source.stored_shape)}
            (both,), (alone,) = (list(session.run_raw(inputs).values()) for session in (two, one))
            assert both.tobytes() == alone.tobytes()
            assert (two.shared_calls, one.shared_calls) == (runs * len(marks), 0)


def run_in_threads(program: Path, plan: bytes, folder: Path) -> tuple[int, ...]:
    """Calls that two threads shared, and those with a backend that asks for scratch; () of a plan that is refused."""
    path = folder / "plan.tgrs"
    path.write_bytes(plan)
    done = subprocess.run([program, path, path, "threads"], capture_output=True, text=True, check=False)
    if "parameters contradict" in done.stderr:
        return ()
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return tuple(map(int, done.stdout.split()))


#: ThreadSanitizer wants a core of its own, 14 processor seconds.
RACES = pytest.param(("-O1", "-g1", "-fsanitize=thread"), marks=pytest.mark.thorough)
SANITIZED = pytest.mark.parametrize("flags", [SANITIZERS, RACES], ids=("address", "races"))


@SANITIZED
def test_threads_of_posix(flags: tuple[str, ...], tmp_path: Path) -> None:
    """Kernels of a backend with scratch are not split."""
    cases = (("kws", "256K", 0), ("kws", "8K", "64K"), ("resnet", "8K", "64K"))
    for name, fast, slow in cases[: examples(2, 3)]:
        plan = all_split(compiled(name, fast=fast, slow=slow, cores=2))
        shared, with_scratch = run_in_threads(sanitised(*flags), plan, tmp_path)
        assert shared > 5 and with_scratch == 0


def test_two_harts(tmp_path: Path, models_dir: Path) -> None:
    """On an emulated RISC-V with two: the bytes recorded, and what the one that is at work longer is left with."""
    program = two_cores.build(tmp_path, objects("rv32imc"))
    cases = (("kws", "256K", 0, 0.55), ("kws", "8K", "64K", 1), ("vww", "32K", 0, 0.55))
    for name, fast, slow, share in cases[: examples(1, 3)]:
        _, content = recorded(models_dir, name)
        found = two_cores.measure(program, compiled(name, fast=fast, slow=slow, cores=2).data, content)
        assert 0.5 * found["one"] < found["longer"] < share * found["one"]
        assert found["shared"] == found["split"] > 5


def test_what_a_plan_says() -> None:
    """Nothing but the marks differs; what two cores take is half and little more."""
    one, two = (compiled("kws", fast="64K", cores=cores) for cores in (1, 2))
    cores = two.report["cores"]
    assert (one.report["cores"]["number"], one.report["cores"]["split"], cores["number"]) == (1, [], 2)
    # What a call costs beside its rows weighs more where a vector unit makes the rows: .557 on Cortex-M55.
    for processor, count in two.report["predicted_instructions"].items():
        share = 0.57 if processor == "cortex-m55" else 0.55
        assert 0.5 * count < cores["predicted_instructions"][processor] < share * count
    header, unmarked = Header.unpack(two.data), two.data
    for index, op in enumerate(two.plan.program.ops):
        flags = OpRecord.unpack(two.data, header.ops + index * OpRecord.size()).flags
        assert flags == (OpFlag.SPLIT if op.name in cores["split"] else 0)
        unmarked = changed(unmarked, OpRecord, index, flags=0)
    assert unmarked == with_crc(one.data)


def test_refusals(models_dir: Path) -> None:
    model = models_dir / "kws_int8.onnx"
    with pytest.raises(UsageError, match="cores: 3 is neither 1 nor 2"):
        compile_model(model, fast="64K", cores=3)
    with pytest.raises(ArgumentError, match="cores: '2' is no whole number; give 1 or 2"):
        compile_model(model, fast="64K", cores="2")  # type: ignore[arg-type]
    plan = compile_model(model, fast="64K", cores=2).data
    with pytest.raises(ArgumentError, match="cores: True is neither 1 nor 2"):
        Session(plan, cores=True)
    for flags in (2, 3, 0x80):
        assert bind_status(changed(plan, OpRecord, 0, flags=flags)) == Status.ERR_OP


def with_half_scratch(plan: bytes) -> bytes:
    header = Header.unpack(plan)
    for index in range(header.op_count):
        record = OpRecord.unpack(plan, header.ops + index * OpRecord.size())
        plan = changed(plan, OpRecord, index, scratch_bytes=record.scratch_bytes // 2)
    return plan


@SANITIZED
def test_scratch_of_each_core(flags: tuple[str, ...], tmp_path: Path) -> None:
    """Kernels with scratch of their own, which the plan has twice; with C in the place of their assembly."""
    two = compiled("kws", fast="64K", cores=2, backend="pie", chip="esp32s3")
    one = compiled("kws", fast="64K", backend="pie", chip="esp32s3")
    twice = [op.scratch_bytes for op in two.plan.program.ops]
    assert max(twice) > 0 and twice == [2 * op.scratch_bytes for op in one.plan.program.ops]
    program = compile_pie(tmp_path / "sessions", [SOURCE, HERE / "pie_in_c.c"], *flags, "-pthread")
    assert run_in_threads(program, all_split(two), tmp_path)[0] >= len(two.report["cores"]["split"]) > 5
    half = two.data
    for index, scratch in enumerate(twice):
        half = changed(half, OpRecord, index, scratch_bytes=scratch // 2)
    assert run_in_threads(program, half, tmp_path) == ()
