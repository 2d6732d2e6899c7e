"""The first wrong operator: for any wrong kernel in any plan, it is found and named."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.compiler.test_states import Recurrent
from tests.fuzz.graphs import INPUTS, LAYERS, graph
from tests.harness.command import tigris
from tests.harness.tiers import counted, examples, sampled
from tests.hil.bridge import Bridge, Fault, changing
from tests.hil.conftest import Plans, Serve
from tests.hil.locating import Wrong, amplifying, assert_found, checked, located, mixed, remembering
from tests.hil.test_check import corrupting
from tigris_pio import compile_model
from tigris_pio.errors import TigrisError
from tigris_pio.format.enums import DType, OpKind, Strategy, WeightMode
from tigris_pio.format.reader import PlanFile, read_plan
from tigris_pio.hil.check import open_plan
from tigris_pio.hil.frames import Frame
from tigris_pio.hil.locate.first_wrong import KERNEL, MEMORY, ORDER, FirstWrong, PlanNames
from tigris_pio.hil.protocol import Error, Refusal, Request, Trace
from tigris_pio.hil.report import location_lines
from tigris_pio.hil.samples import random_samples

Model = str | Callable[[], onnx.ModelProto]
NETWORKS = Path(__file__).resolve().parents[2] / "networks"
INT8, FLOAT32 = DType.INT8, DType.FLOAT32
K = OpKind


#: A band in the middle of a rolling stage, if there is one.
KERNELS = [
    ("kws", "8K", Wrong(K.CONV_2D, INT8, 12, 5)),
    ("kws", "8K", Wrong(K.DEPTHWISE_CONV_2D, INT8, 11, 3)),
    ("kws", "8K", Wrong(K.MEAN_OF_SUMS, INT8, 0, 7)),
    ("kws", "8K", Wrong(K.SOFTMAX, INT8, 0, 2)),
    ("resnet", "20K", Wrong(K.ADD, INT8, 9, 15)),
    (mixed, "4K", Wrong(K.CONV_2D, FLOAT32, 13, 1, 255)),
    (mixed, "4K", Wrong(K.MAX_POOL, FLOAT32, 5, 2, more="add=30000")),
    (mixed, "4K", Wrong(K.CONCAT, FLOAT32, 6, 6, more="add=30000")),
    (mixed, "4K", Wrong(K.RESAMPLE, FLOAT32, 15, 4, more="add=30000")),
    (remembering, "4K", Wrong(K.RECURRENT, FLOAT32, 3, 1, more="add=30000")),
]
STATE = {"hn": "h", "cn": "c"}


@pytest.mark.parametrize(
    ("model", "fast", "wrong"), sampled(KERNELS, fast=6), ids=lambda value: getattr(value, "spec", None)
)
def test_a_wrong_kernel_is_named(serve: Serve, model: Model, fast: str, wrong: Wrong, plans: Plans) -> None:
    path = plans(model, fast, **({"state": STATE} if model is remembering else {}))
    plan = open_plan(path)
    report = checked(serve(path, "--fault", wrong.spec), plan)
    assert not report.equal
    found = assert_found(report.first_wrong, plan, wrong)
    assert report.samples[found.sample].mismatches


def has(strategy: Strategy) -> Callable[[PlanFile], bool]:
    """A predicate: a stage of the plan has this strategy."""
    return lambda file: any(stage.strategy == strategy for stage in file.stages)


#: Model, memory, options of the compiler and of the board, a condition on the plan, and a fault.
PLANS = {
    "tiled": ("micro_speech", "5K", {"slow": "16K"}, [], has(Strategy.TILED), Wrong(K.CONV_2D, INT8, 17, 5)),
    "chain": ("person_detect", "8K", {"slow": "64K"}, [], has(Strategy.CHAIN), Wrong(K.CONV_2D, INT8, 31, 2)),
    "copied": ("kws", "32K", {"copy_weights": True}, [],
               lambda file: any(stage.weight_mode == WeightMode.COPY for stage in file.stages),
               Wrong(K.CONV_2D, INT8, 3, 9)),
    "a library's": ("kws", "32K", {"backend": "esp-nn", "chip": "esp32s3"}, [],
                    lambda file: any(op.kind == K.PLAIN_CONV_2D for op in file.ops),
                    Wrong(K.PLAIN_CONV_2D, INT8, 6, 9)),
    "moved": ("resnet", "64K", {}, ["--dynamic", "60000", "--fast", "45000"],
              lambda file: file.header.fast_bytes > 45000, Wrong(K.ADD, INT8, 14, 6)),
}


@pytest.mark.parametrize("name", sampled(PLANS, fast=("tiled", "copied", "moved")))
def test_in_a_plan_that_is(serve: Serve, name: str, plans: Plans) -> None:
    model, fast, options, board, is_such, wrong = PLANS[name]
    path = plans(model, fast, **options)
    plan = open_plan(path)
    assert is_such(plan.file)
    found = located(serve(path, *board, "--fault", wrong.spec), plan)
    said = assert_found(found, plan, wrong).sentences()[2]
    assert ("or the copy of its weights in fast memory was changed" in said) is (name == "copied")


def test_a_right_board_does_not_differ(serve: Serve, plans: Plans) -> None:
    """With any earlier content of its memory; also with unneeded rows, batches and states."""
    cases = (("micro_speech", "5K", {"slow": "16K"}), (mixed, "4K", {}), (remembering, "4K", {"state": STATE}))
    for model, fast, options in cases:
        path = plans(model, fast, **options)
        found = located(serve(path), open_plan(path), 2)
        assert isinstance(found, str) and "3 more runs of sample 1 gave the host's bytes in all kernel calls" in found


#: Layers with rows, and occasionally most other kinds.
KINDS = st.one_of(st.integers(0, 12), st.integers(0, len(LAYERS) - 1))
STEPS = st.lists(st.tuples(KINDS, st.integers(0, 2), st.integers(0, 10**6)), min_size=2, max_size=6)


@pytest.mark.fuzzed
def test_any_call_of_any_graph(real_board: Path, tmp_path: Path) -> None:
    @counted(found=examples(2, 20), banded=examples(0, 2))
    @settings(max_examples=examples(4, 30, 300), deadline=None, suppress_health_check=list(HealthCheck))
    @given(shape=st.integers(0, len(INPUTS) - 1), steps=STEPS, share=st.integers(40, 100), place=st.integers(0, 10**6),
           states=st.booleans())
    def search(seen: dict[str, int], shape: int, steps: list[tuple[int, int, int]], share: int, place: int,
               states: bool) -> None:
        made = Recurrent(place, quantised=bool(place % 2)) if states else None
        model = made.model() if made else graph(shape, steps)
        state = made.ties() if made else None
        try:
            ample = read_plan(compile_model(model, state=state).data).header.fast_bytes
            fast = max(1024, ample * share // 100)
            compiled = compile_model(model, fast=fast, slow="64K", state=state)
        except TigrisError:
            return
        path = tmp_path / "any.tgrs"
        compiled.save(path)
        plan = open_plan(path)
        (inputs,) = random_samples(plan.session.inputs, 1).inputs
        _, calls = plan.session.run_raw_calls(inputs)
        call, words = calls[place % len(calls)], PlanNames(plan.file)
        op, tensor = plan.file.ops[call.op], plan.file.tensors[words.tensor(call.op)]
        wrong = Wrong(OpKind(op.kind), DType(op.dtype), call.first + place % call.rows, place % tensor.channels, 1)
        with Bridge([real_board, "--fault", wrong.spec, "--model", path]) as bridge:
            found = located(bridge.url, plan)
        assert isinstance(found, FirstWrong), found
        assert (found.call, found.cause, found.reproducible) == (wrong.first_call(plan.file, calls), KERNEL, True)
        seen["found"] += 1
        seen["banded"] += plan.file.stages[found.stage].band_count > 1

    search()


def test_states_are_searched_from_the_reset(plans: Plans, serve: Serve) -> None:
    """A state that is committed wrongly is found in the run that commits it, not in the later run whose output differs.
    When the search goes back, the board has the states of the sequence again."""
    path = plans(remembering, "4K", state=STATE)
    plan = open_plan(path)
    wrong = Wrong(K.COMMIT, INT8, 0, 2, more="add=30000")
    report = checked(serve(path, "--fault", wrong.spec), plan, 5)
    assert not report.samples[0].mismatches and report.samples[1].mismatches
    found = report.first_wrong
    assert found is not None and found.difference is not None, report.not_located
    assert (found.sample, found.kernel, found.cause, found.reproducible) == (0, "commit int8", KERNEL, True)
    assert found.difference.first.channel == 2
    assert np.isclose(found.difference.first.board - found.difference.first.host, 0.3, atol=1e-6)
    # A fault in the second sequence only is searched from its start: each step commits two states.
    late = Wrong(K.COMMIT, INT8, 0, 2, more="add=30000,skip=4")
    report = checked(serve(path, "--fault", late.spec), plan, 5, starts=(0, 2))
    assert [bool(sample.mismatches) for sample in report.samples] == [False, False, False, True, True]
    found = report.first_wrong
    assert found is not None and found.sample == 2, report.not_located


# Descriptions of other faults than wrong kernels: memory, chance, rounding, the line, an older board.


def flipping(*requests: Request) -> Fault:
    """A line that changes the last byte of the answers to these requests."""
    kinds = [request | 0x80 for request in requests]

    def flip(frame: Frame) -> Frame:
        *rest, last = frame.payload or b"?"
        return replace(frame, payload=bytes([*rest, last ^ 1])) if frame.type in kinds else frame

    return changing(flip)


def test_memory_that_changes_between_two_calls(serve: Serve, plans: Plans) -> None:
    """A byte of the rows that add0/Add made in an earlier band changes after its row 30. The next operator that reads
    it is named."""
    path = plans("resnet", "28K")
    plan = open_plan(path)
    words = PlanNames(plan.file)
    made = plan.file.tensors[words.tensor(3)]
    offset = made.home_offset + (6 * made.width + 9) * made.channels + 8
    wrong = Wrong(K.ADD, DType.INT8, 30, 0, 64, f"width={made.width},poke={offset}")
    found = located(serve(path, "--fault", wrong.spec), plan)
    assert isinstance(found, FirstWrong), found
    assert (found.cause, found.writer, found.name, found.reproducible) == (MEMORY, "add0/Add", "conv3/Conv", True)
    assert found.tensor == plan.file.text(made.name)
    assert found.difference is not None
    at = found.difference.first
    assert (at.row, at.column, at.channel, found.difference.differing) == (6, 9, 8, 1)
    assert found.rows[0] <= at.row < found.rows[1]
    assert np.array(at.board).astype(np.uint8) ^ np.array(at.host).astype(np.uint8) == 64
    text = "\n".join(found.sentences())
    assert "that input was the host's when operator add0/Add wrote it, and was changed before" in text
    assert f"its input {found.tensor}, row 6, column 9, channel 8: board " in text


def test_an_input_that_changes_after_the_call(plans: Plans, serve: Serve) -> None:
    """The input of COMMIT changes before the call, and again before its rows are read (here by the line). So no element
    is shown, because it would be a wrong one."""
    path = plans(remembering, "4K", state=STATE)
    plan = open_plan(path)
    words, ops = PlanNames(plan.file), plan.file.ops
    commit = next(index for index, op in enumerate(ops) if op.kind == K.COMMIT)
    source = words.tensor(commit, 0)
    between = next(index for index in range(len(ops)) if words.tensor(index) == source) + 1
    assert between < commit, "nothing runs between what COMMIT reads is made and COMMIT"
    poke, at = (plan.file.tensors[tensor].home_offset for tensor in (source, words.tensor(between)))
    wrong = Wrong(OpKind(ops[between].kind), DType(ops[between].dtype), 0, 0, 64, f"at={at},poke={poke}")
    found = located(serve(path, "--fault", wrong.spec), plan)
    assert isinstance(found, FirstWrong) and found.difference is not None
    assert (found.op, found.cause, found.difference.first.channel) == (commit, MEMORY, 0)
    found = located(serve(path, "--fault", wrong.spec, to_host=flipping(Request.ROWS)), plan)
    assert isinstance(found, FirstWrong), found
    assert (found.op, found.cause, found.difference) == (commit, MEMORY, None)
    assert f"its input {found.tensor}, row 0: the operator overwrote them" in "\n".join(found.sentences())
    assert found.document()["row"] is None


def test_a_state_that_changes_between_two_runs(serve: Serve, plans: Plans) -> None:
    """A byte of h changes after the commit: the first operator that reads it in the next run is named."""
    path = plans(remembering, "4K", state=STATE)
    plan = open_plan(path)
    words = PlanNames(plan.file)
    commits = [index for index, op in enumerate(plan.file.ops) if op.kind == K.COMMIT]
    state = plan.file.tensors[words.tensor(commits[0])]
    wrong = Wrong(K.COMMIT, DType.INT8, 0, 0, 64, f"poke={state.home_offset + 4},every=2")
    found = located(serve(path, "--fault", wrong.spec), plan, 3)
    assert isinstance(found, FirstWrong), found
    lstm = next(index for index, op in enumerate(plan.file.ops) if op.kind == K.RECURRENT)
    assert (found.sample, found.op, found.cause, found.writer, found.reproducible) == (1, lstm, MEMORY, None, True)
    assert found.difference is not None and found.difference.first.channel == 1
    assert "that input was the host's when the run began" in found.sentences()[2]


def test_faults_that_are_not_reproducible(serve: Serve, plans: Plans) -> None:
    """The fault occurs in the check only, in the search's first run, in all but its last two runs, or in all but one
    call of its last run."""
    path = plans("kws", "8K")
    plan = open_plan(path)
    for times, words in (
        (5, "not reproducible: 3 more runs of sample 0 gave the host's bytes in all kernel calls"),
        (10, "not reproducible: a run differed between operator"),
        (12, "not reproducible: a run differed at operator 0 conv0/Conv"),
        (13, ""),
    ):
        wrong = Wrong(K.CONV_2D, DType.INT8, 5, 3, 64, f"width=5,times={times}")
        report = checked(serve(path, "--fault", wrong.spec), plan, 1)
        assert report.mismatched and words in report.not_located, report.not_located
    found = report.first_wrong
    assert found is not None and found.difference is not None
    assert (found.kernel, found.difference.first.row, found.difference.first.channel) == ("conv_2d int8", 5, 3)
    assert not found.reproducible and "not reproducible: another run" in "\n".join(found.sentences())


def test_rounding_within_the_tolerance_is_ignored(plans: Plans, serve: Serve) -> None:
    """Neg and sigmoid differ by 1e-5, within the tolerance; exp turns that into more."""
    path = plans(amplifying, "64K")
    plan = open_plan(path)
    wrong = Wrong(K.UNARY, DType.FLOAT32, 4, 1, more="add=1")
    report = checked(serve(path, "--fault", wrong.spec), plan, tolerance=1e-4)
    found = report.first_wrong
    assert found is not None and found.difference is not None, report.not_located
    assert (found.name, found.tolerance, found.difference.first.row, found.reproducible) == ("raise", 1e-4, 4, True)
    assert "its inputs differ from the host's by no more than the tolerance 0.0001" in found.sentences()[2]
    exact = checked(serve(path, "--fault", wrong.spec), plan).first_wrong
    assert exact is not None and exact.name == "negate"


def test_memory_that_changes_after_the_run(digits: Serve, digits_plan: Path) -> None:
    """All calls are right, but the outputs read afterwards are not: here the line changes the answers to READ and
    CHECKSUM."""
    url = digits(to_host=flipping(Request.READ, Request.CHECKSUM))
    report = checked(url, open_plan(digits_plan))
    assert report.first_wrong is None
    assert "kernel calls gave the host's bytes, but the outputs read afterwards are not theirs" in report.not_located
    url = digits(to_host=corrupting(0, 2, 1))
    (text,) = location_lines(checked(url, open_plan(digits_plan)))
    assert text.startswith("first wrong operator not found: not reproducible: 3 more runs of sample 0 gave the host's ")


def test_another_order_of_calls(digits: Serve, digits_plan: Path) -> None:
    """A board whose runtime makes other calls: here its answers name another operator."""

    def other(frame: Frame) -> Frame:
        if frame.type != Request.TRACE | 0x80:
            return frame
        answer = Trace.unpack(frame.payload)
        sums = tuple(crc ^ 1 if crc else 0 for crc in answer.checksums)
        changed = {**vars(answer), "op": 2, "crc32": answer.crc32 ^ 1, "checksums": sums}
        return replace(frame, payload=Trace(**changed).pack())

    found = located(digits(to_host=changing(other)), open_plan(digits_plan))
    assert isinstance(found, FirstWrong), found
    assert (found.call, found.cause, found.difference) == (1, ORDER, None)
    assert "does its firmware have another version of the runtime" in found.sentences()[1]


def test_a_board_without_traces(digits: Serve, digits_plan: Path) -> None:
    """The outputs are compared, and the report says why no operator is named."""

    def refuse(frame: Frame) -> Frame:
        is_trace = frame.type == Request.TRACE | 0x80
        return replace(frame, type=255, payload=Error(Refusal.REQUEST).pack()) if is_trace else frame

    wrong = Wrong(K.SOFTMAX, DType.INT8, 0, 2)
    report = checked(digits("--fault", wrong.spec, to_host=changing(refuse)), open_plan(digits_plan), 3)
    assert (report.complete, report.equal_samples, report.first_wrong) == (True, 0, None)
    assert "does not know this request: its model is plain C" in report.not_located


def test_the_command_prints_it(digits: Serve, digits_plan: Path) -> None:
    wrong = Wrong(K.SOFTMAX, DType.INT8, 0, 2)
    url = digits("--fault", wrong.spec)
    words = (digits_plan, "--port", url, "--samples", "2")
    entry = json.loads(tigris("hil", *words, "--json", status=1).stdout)["first_wrong"]
    assert {"op", "name", "nodes", "kernel", "stage", "image", "row", "column", "channel", "board", "host", "differing",
            "elements", "reproducible"} <= set(entry)
    assert (entry["channel"], entry["differing"], entry["elements"], entry["reproducible"]) == (2, 1, 10, True)
    assert entry["nodes"] == [entry["name"]]
    assert "first wrong" not in tigris("hil", *words, "--no-locate", status=1).stdout
