"""What lives from run to run, in C: runs that are cancelled anywhere, plans that are damaged, arenas of any size."""

import dataclasses
import functools
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.compiler.lower.test_states import ring
from tests.compiler.models import make, node
from tests.compiler.test_states import Recurrent
from tests.networks.folders import OWN
from tests.networks.plans import compiled
from tests.runtime.build import replay
from tests.runtime.damage import damaged
from tests.runtime.loader import bind_status, statuses
from tests.runtime.plan_builder import changed, with_crc
from tests.runtime.replays import outcomes
from tests.runtime.test_sessions import STEPS, answer, sanitised
from tigris_pio import compile_model
from tigris_pio.format.enums import Home, OpKind, TensorFlag, WeightMode
from tigris_pio.format.params import CommitParams
from tigris_pio.format.reader import read_plan
from tigris_pio.format.records import Header, StageRecord, TensorRecord


@functools.cache
def plans() -> list[bytes]:
    """In bands, spilling to slow memory, with copied weights, whole, and a ring, which moves within itself."""
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
    for data in plans():
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
    codes = statuses()
    assert bind_status(plan) == 0
    assert bind_status(with_params(plan, fill=7)) == 0
    refused = [with_params(plan, kept_bytes=4), with_params(plan, kept_bytes=16), with_params(plan, kept_bytes=1 << 31),
               with_state(plan, flags=0), with_state(plan, channels=8), with_state(plan, dtype=1)]
    assert {bind_status(bad) for bad in refused} <= {codes["ERR_PARAMS"], codes["ERR_TENSOR"]}
    assert bind_status(with_state(plan, flags=4)) == codes["ERR_TENSOR"]
    assert bind_status(with_state(plan, flags=3)) == codes["ERR_TENSOR"]
    assert bind_status(with_state(plan, home=Home.NONE, home_offset=0)) != 0
    assert bind_status(with_state(plan, home=Home.FLASH, home_offset=0)) != 0


def test_a_commit_takes_no_compressed_block(plan: bytes) -> None:
    fields = {"weight_mode": WeightMode.LZ4, "block_fast_offset": Header.unpack(plan).state_bytes}
    assert bind_status(changed(plan, StageRecord, commit_of(plan)[2], **fields)) == statuses()["ERR_PARAMS"]


def test_damaged_plans_are_refused_or_run(plan: bytes) -> None:
    """Under sanitisers, in planned arenas and small ones."""
    results = outcomes(replay(), [plan, *plans()])
    assert all(outcome.ran and outcome.status == 0 and not outcome.differs for outcome in results)
    results = outcomes(replay(), damaged(plan))
    assert {outcome.status for outcome in results} >= {0, statuses()["ERR_PARAMS"], statuses()["ERR_TENSOR"]}
