"""Sessions in C as applications use them, with and without states: here, under valgrind, and on 64-bit Arm."""

import dataclasses
import functools
import re
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.compiler.lower.test_states import ring
from tests.compiler.models import make, node
from tests.compiler.test_states import Recurrent
from tests.networks.folders import OWN
from tests.networks.plans import compiled
from tests.runtime.build import (
    C99,
    INCLUDE,
    PLAIN,
    SANITIZERS,
    compile_program,
    compiler,
    objects,
    own_folder,
    program,
    replay,
)
from tests.runtime.damage import damaged
from tests.runtime.kernel_harness import Way, plan_for
from tests.runtime.loader import Status, bind_status
from tests.runtime.operators import operators
from tests.runtime.plan_builder import changed, with_crc
from tests.runtime.replays import outcomes
from tigris_pio import Session, compile_model
from tigris_pio.format.enums import Home, OpKind, TensorFlag, WeightMode
from tigris_pio.format.params import CommitParams
from tigris_pio.format.reader import read_plan
from tigris_pio.format.records import Header, StageRecord, TensorRecord

#: Arguments of the program: arenas as planned, and three quarters of the fast memory, where everything is placed anew.
ARENAS = pytest.mark.parametrize("arenas", [(), (75,)], ids=["planned", "small"])
SOURCE = Path(__file__).parent / "sessions.c"
#: Of the plans: what the strictest of the machines, x86-64, wants.
ALIGNMENT = 32
#: As in the program.
STEPS = 3


@dataclasses.dataclass(frozen=True)
class Answer:
    """What the program printed: outputs of both plans; of the first, (calls, ticks) of each operator, and how many runs
    were cancelled."""

    outputs: tuple[bytes, ...]
    profile: tuple[tuple[int, int], ...]
    cancelled: int = dataclasses.field(compare=False)


def build(machine: str, folder: Path, *flags: str) -> Path:
    """The program for a machine of COMPILERS, not sanitised."""
    target = folder / f"sessions-{machine}"
    command = [*compiler(machine), *C99, *PLAIN, *flags, "-pthread", f"-I{INCLUDE}", str(SOURCE)]
    subprocess.run([*command, *map(str, objects(machine)), "-lm", "-o", str(target)], check=True)
    return target


@functools.cache
def sanitised(*flags: str) -> Path:
    """The program for this machine, with AddressSanitizer unless flags say otherwise."""
    target = own_folder("tigris-sessions-") / "sessions"
    return compile_program(target, [SOURCE], *(flags or SANITIZERS), "-pthread")


def answer(*command: object) -> Answer:
    """Runs the program; its complaint is the test's failure."""
    result = subprocess.run([*map(str, command)], capture_output=True, text=True, check=False, timeout=120)
    assert result.returncode == 0, result.stderr[-3000:]
    first, second, cancelled, *rest = result.stdout.splitlines()
    calls = [tuple(map(int, line.split())) for line in rest]
    outputs = (bytes.fromhex(first), bytes.fromhex(second))
    return Answer(outputs, tuple((call[0], call[1]) for call in calls), int(cancelled))


@pytest.fixture(scope="module")
def plans(models_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Keyword spotting in bands, spilling, with compressed weights; anomaly detection whole."""
    folder = tmp_path_factory.mktemp("plans")
    options: dict[str, dict[str, Any]] = {"kws": {"fast": "8K", "slow": "1M", "compress": "lz4"}, "ad": {"fast": "64K"}}
    for name, given in options.items():
        compile_model(models_dir / f"{name}_int8.onnx", alignment=ALIGNMENT, **given).save(folder / f"{name}.tgrs")
    return [folder / f"{name}.tgrs" for name in options]


@pytest.fixture(scope="module")
def expected(plans: list[Path]) -> Answer:
    """The host library's answer."""
    outputs, profiles = [], []
    for path in plans:
        with Session(path) as session:
            made = b""
            for step in range(STEPS):
                raw = session.run_raw(inputs_of(session, step))
                made += b"".join(raw[io.name].tobytes() for io in session.outputs)
            outputs.append(made)
            profiles.append(tuple((op.calls, op.calls) for op in session.profile))
    return Answer(tuple(outputs), profiles[0], 0)


def inputs_of(session: Session, step: int) -> dict[str, np.ndarray]:
    """The program's."""
    state, inputs = 2463534242 + step, {}
    for io in session.inputs:
        data = bytearray()
        for _ in range(int(np.prod(io.stored_shape)) * io.stored_dtype.itemsize):
            state = (state * 1664525 + 1013904223) % 2**32
            data.append(state >> 24 & 0x3F)
        inputs[io.name] = np.frombuffer(bytes(data), io.stored_dtype).reshape(io.stored_shape)
    return inputs


@ARENAS
def test_sessions(arenas: tuple[int, ...], plans: list[Path], expected: Answer) -> None:
    """Interleaved, run again, cancelled at several operators, profiled: the counter's steps count the calls."""
    assert len(expected.profile) > 8 and max(expected.profile)[0] > 4, "the first plan has bands"
    assert answer(sanitised(), *plans, *arenas) == expected


def test_operators_that_take_long_yield_within(tmp_path: Path) -> None:
    """After each row here, whose products are 64 or more, and before each step or look at all that is chosen from."""
    long = re.compile("CONV|POOL|FULLY_CONNECTED|LRN|MAT_MUL|TOP_K|SUPPRESS|RECURRENT")
    paths = {}
    for number, op in enumerate(operators()):
        if long.search(op.kind.name):
            paths[number] = tmp_path / f"{op.kind.name}-{op.dtype.name}-{number}"
            paths[number].write_bytes(plan_for(op, Way(op.output_shape[1])))
    own = compile_program(tmp_path / "sessions", [SOURCE], *SANITIZERS, "-pthread", paces=True)
    result = subprocess.run([own, "yields", *paths.values()], capture_output=True, text=True, check=True)
    yields = dict(zip((path.name for path in paths.values()), map(int, result.stdout.split()), strict=True))
    assert len(yields) > 30 and min(yields.values()) > 1, yields


@pytest.mark.thorough
@ARENAS
def test_valgrind_finds_nothing(arenas: tuple[int, ...], plans: list[Path], expected: Answer, tmp_path: Path) -> None:
    """No byte outside what was allocated is touched, and no result depends on one that was never written."""
    valgrind = program("valgrind", "valgrind")
    checks = ("-q", "--error-exitcode=9", "--leak-check=full", "--exit-on-first-error=yes")
    assert answer(valgrind, *checks, build("gcc", tmp_path), *plans, *arenas) == expected


@pytest.mark.thorough
def test_64_bit_arm_gives_the_same_bytes(plans: list[Path], expected: Answer, tmp_path: Path) -> None:
    emulator = program("qemu-aarch64", "qemu-user")
    assert answer(emulator, build("aarch64", tmp_path, "-static"), *plans) == expected


# States in C: runs that are cancelled anywhere, damaged plans, arenas of any size.


@functools.cache
def plans_with_states() -> list[bytes]:
    """Plans with states: in bands, spilled to slow memory, with copied weights, whole, and a ring buffer."""
    made = Recurrent(11, quantised=True)
    found = []
    options: dict[str, Any]
    for options in ({}, {"fast": "1K", "slow": "64K"}, {"copy_weights": True}):
        found.append(compile_model(made.model(), state=made.ties(), alignment=32, **options))
    other = Recurrent(3, quantised=False)
    peak = compile_model(other.model(), state=other.ties()).report["memory"]["fast_peak"]
    found.append(compile_model(other.model(), state=other.ties(), alignment=32, fast=peak, slow="64K"))
    found.append(compile_model(ring((1, 3, 5, 2), (1, 3, 1, 2), 2), state={"n": "h"}, alignment=32))
    assert found[-1].plan.program.ops[-1].params.kept_bytes > 0  # type: ignore[attr-defined]
    found.append(compile_model(OWN / "sww_int8.onnx", hop=1, alignment=32))
    commits = [op for op in found[-1].plan.program.ops if op.kind is OpKind.COMMIT]
    assert any(len(op.operands) == 2 for op in commits), "a state begins with a row, repeated"
    return [compiled.data for compiled in found]


@pytest.mark.parametrize("percent", [(), ("80",)], ids=["planned", "small"])
def test_a_cancelled_run_is_no_step(percent: tuple[str, ...], tmp_path: Path, models_dir: Path) -> None:
    """Nor one that another session's runs interrupt; see sessions.c."""
    (tmp_path / "other.tgrs").write_bytes(compiled("ad", fast="64K", alignment=32).data)
    for data in plans_with_states():
        (tmp_path / "plan.tgrs").write_bytes(data)
        found = answer(sanitised(), tmp_path / "plan.tgrs", tmp_path / "other.tgrs", *percent)
        commits = sum(op.kind == OpKind.COMMIT for op in read_plan(data).ops)
        assert found.cancelled >= STEPS * (read_plan(data).header.op_count - commits), "cancelled at every operator"


@pytest.fixture(scope="module")
def plan() -> bytes:
    """Two states, one that begins with numbers of its own and one with zeros, before a copied block."""
    nodes = [node("Add", "x a", "n"), node("MatMul", "n w", "y"), node("Neg", "x", "m"), node("Add", "y b", "z")]
    model = make(nodes, {"x": (1, 4), "a": (1, 4), "b": (1, 4)}, ["z", "n", "m"],
                 {"w": np.full((4, 4), 0.5, np.float32)})
    return compile_model(model, state={"n": "a", "m": "b"}).data


def commit_of(plan: bytes) -> tuple[int, int, int]:
    """The offset of the first COMMIT's parameters, the index of its state and that of its stage."""
    file = read_plan(plan)
    index, op = next((index, op) for index, op in enumerate(file.ops) if op.kind == OpKind.COMMIT)
    place, stage = next((i, s) for i, s in enumerate(file.stages) if s.first_op == index)
    return file.header.params + op.params, file.views[stage.first_view + op.output_view].tensor, place


def with_params(plan: bytes, **changes: int) -> bytes:
    at = commit_of(plan)[0]
    params = dataclasses.replace(CommitParams.unpack(plan, at), **changes)  # type: ignore[arg-type]
    return with_crc(plan[:at] + params.pack() + plan[at + CommitParams.size() :])


def with_state(plan: bytes, **changes: int) -> bytes:
    """The plan with fields of its states changed."""
    for index, tensor in enumerate(read_plan(plan).tensors):
        if tensor.flags & TensorFlag.STATE:
            plan = changed(plan, TensorRecord, index, **changes)
    return plan


def test_what_a_commit_must_hold(plan: bytes) -> None:
    assert bind_status(plan) == 0
    assert bind_status(with_params(plan, fill=7)) == 0
    refused = [with_params(plan, kept_bytes=4), with_params(plan, kept_bytes=16), with_params(plan, kept_bytes=1 << 31),
               with_state(plan, flags=0), with_state(plan, channels=8), with_state(plan, dtype=1)]
    assert {bind_status(bad) for bad in refused} <= {Status.ERR_PARAMS, Status.ERR_TENSOR}
    assert bind_status(with_state(plan, flags=4)) == Status.ERR_TENSOR
    assert bind_status(with_state(plan, flags=3)) == Status.ERR_TENSOR
    assert bind_status(with_state(plan, home=Home.NONE, home_offset=0)) != 0
    assert bind_status(with_state(plan, home=Home.FLASH, home_offset=0)) != 0


def test_a_commit_takes_no_compressed_block(plan: bytes) -> None:
    fields = {"weight_mode": WeightMode.LZ4, "block_fast_offset": Header.unpack(plan).state_bytes}
    assert bind_status(changed(plan, StageRecord, commit_of(plan)[2], **fields)) == Status.ERR_PARAMS


def test_damaged_plans_are_refused_or_run(plan: bytes) -> None:
    """Under sanitisers, in planned arenas and small ones."""
    results = outcomes(replay(), [plan, *plans_with_states()])
    assert all(outcome.ran and outcome.status == 0 and not outcome.differs for outcome in results)
    results = outcomes(replay(), damaged(plan))
    assert {outcome.status for outcome in results} >= {0, Status.ERR_PARAMS, Status.ERR_TENSOR}
