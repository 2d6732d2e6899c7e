"""Damaged plans under AddressSanitizer and UndefinedBehaviorSanitizer: refused or run, never a crash."""

from __future__ import annotations

import dataclasses
import random
import struct
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.runtime.build import SANITIZERS, compile_program
from tests.runtime.fuzz.keep import FOUND, kept
from tests.runtime.fuzz.seeds import seeds
from tests.runtime.plan_builder import with_crc
from tigris_pio.format.params import PARAMS
from tigris_pio.format.record import Record
from tigris_pio.format.records import (
    Header,
    IoRecord,
    OperandRecord,
    OpRecord,
    StageRecord,
    TensorRecord,
    ViewRecord,
)

FUZZ = Path(__file__).parent / "fuzz"
WORDS = {1: "<B", 2: "<H", 4: "<I"}


@pytest.fixture(scope="module")
def replay(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sanitised program that runs plans from its standard input."""
    program = tmp_path_factory.mktemp("replay") / "replay"
    return compile_program(program, [FUZZ / "replay.c", FUZZ / "run_plan.c"], f"-I{FUZZ}", *SANITIZERS)


class Outcome(NamedTuple):
    """What tests/runtime/fuzz/run_plan.h says of a plan."""

    status: int
    ran: bool
    ran_small: bool
    differs: bool
    outputs: int


def outcomes(program: Path, plans: list[bytes]) -> list[Outcome]:
    """Of each plan. A crash fails the test with the sanitiser's report."""
    stream = b"".join(struct.pack("<I", len(plan)) + plan for plan in plans)
    result = subprocess.run([str(program)], input=stream, capture_output=True, check=False, timeout=300)
    lines = result.stdout.decode().split("\n")[:-1]
    report = result.stderr.decode(errors="replace")[-3000:]
    assert result.returncode == 0, f"plan {len(lines)} of {len(plans)} crashed the runtime:\n{report}"
    assert len(lines) == len(plans)
    return [
        Outcome(int(status), *(flag == "1" for flag in flags), int(outputs))
        for status, *flags, outputs in map(str.split, lines)
    ]


def sections(plan: bytes) -> list[tuple[type[Record], int, int]]:
    """(record, offset, count) of every record section."""
    header = Header.unpack(plan)
    return [
        (Header, 0, 1),
        (TensorRecord, header.tensors, header.tensor_count),
        (IoRecord, header.io, header.input_count + header.output_count),
        (StageRecord, header.stages, header.stage_count),
        (ViewRecord, header.views, header.view_count),
        (OpRecord, header.ops, header.op_count),
        (OperandRecord, header.operands, header.operand_count),
    ]


def words(plan: bytes) -> Iterator[tuple[int, int]]:
    """(offset, bytes) of every word of every record, and of parameters, which have no fixed layout."""
    for record, start, count in sections(plan):
        for index in range(count):
            for field in record.layout():
                size = {"u": 4, "i": 4, "f": 4, "c": 1}[field.c_type[0]]
                size = {"uint8_t": 1, "uint16_t": 2}.get(field.c_type, size)
                for item in range(min(field.count, 8)):
                    yield start + index * record.size() + field.offset + item * size, size
    header = Header.unpack(plan)
    for offset in range(header.params, header.params + header.params_bytes, 4):
        yield offset, 4
        yield offset, 2
        yield offset + 2, 2


def values_for(old: int, size: int) -> set[int]:
    """Values that tend to break checks: neighbours, limits, sign bits, powers of two."""
    limit = 1 << 8 * size
    values = {0, 1, 2, 3, 16, 64, old + 1, old - 1, old + 16, old - 16, old * 2, old * 1024, limit - 1, limit // 2}
    values |= {limit // 2 - 1, limit - 16, ~old}
    return {value % limit for value in values} - {old}


def damaged(plan: bytes) -> Iterator[bytes]:
    """The plan with one word overwritten, for each word and awkward value."""
    for offset, size in words(plan):
        (old,) = struct.unpack_from(WORDS[size], plan, offset)
        for value in sorted(values_for(old, size)):
            copy = bytearray(plan)
            struct.pack_into(WORDS[size], copy, offset, value)
            yield bytes(copy)


def test_valid_plans_run(replay: Path) -> None:
    """In smaller arenas, where they find room, with the same outputs."""
    names, plans = zip(*seeds(), strict=True)
    results = dict(zip(names, outcomes(replay, list(plans)), strict=True))
    assert not {name: result for name, result in results.items() if result.status or result.differs}
    assert sum(result.ran_small for result in results.values()) > len(results) // 3


def test_every_word_of_a_rolling_chain(replay: Path) -> None:
    plan = dict(seeds())["chain-rolling-lz4"]
    results = outcomes(replay, list(damaged(plan)))
    refused = {result.status for result in results if not result.ran}
    assert len(results) > 4000
    # Every kind of refusal but those of addresses and checksums is reached by a single wrong word.
    assert {-10, -11, -12, -14, *range(-30, -19)} <= refused
    assert any(result.ran and result.status == 0 for result in results), "some words do not matter"
    assert any(result.ran_small for result in results)


def test_words_of_every_kernel(replay: Path) -> None:
    """A random part of all single-word damages to all seeds, the same in every run."""
    choose = random.Random(2024)
    plans = []
    for _, plan in seeds():
        candidates = list(words(plan))
        for _ in range(150):
            offset, size = choose.choice(candidates)
            (old,) = struct.unpack_from(WORDS[size], plan, offset)
            copy = bytearray(plan)
            struct.pack_into(WORDS[size], copy, offset, choose.choice(sorted(values_for(old, size))))
            plans.append(bytes(copy))
    outcomes(replay, plans)


def test_several_damages_at_once(replay: Path) -> None:
    choose = random.Random(7)
    plans = []
    for _, plan in seeds():
        candidates = list(words(plan))
        for _ in range(60):
            copy = bytearray(plan)
            for _ in range(choose.randint(2, 5)):
                offset, size = choose.choice(candidates)
                (old,) = struct.unpack_from(WORDS[size], copy, offset)
                struct.pack_into(WORDS[size], copy, offset, choose.choice(sorted(values_for(old, size))))
            plans.append(with_crc(bytes(copy)))
    outcomes(replay, plans)


def test_every_truncation_of_a_small_plan(replay: Path) -> None:
    plan = dict(seeds())["chain-tiled-in_place"]
    results = outcomes(replay, [plan[:size] for size in range(0, len(plan), 3)])
    assert {result.status for result in results} <= {-10, -12}


def test_damaged_weight_blocks(replay: Path) -> None:
    plan = dict(seeds())["00-conv_2d-int8-lz4"]
    header = Header.unpack(plan)
    plans = []
    for offset in range(header.weights, header.weights + header.weights_bytes):
        for value in (0, 1, 15, 16, 127, 128, 240, 255):
            copy = bytearray(plan)
            copy[offset] = value
            plans.append(bytes(copy))
    statuses = {result.status for result in outcomes(replay, plans)}
    assert -31 in statuses, "a damaged block is found"
    assert -29 in statuses, "a shift or multiplier out of range is found"
    assert statuses <= {0, -29, -31}


def test_a_block_of_another_length(replay: Path) -> None:
    """A valid one that makes fewer bytes than the stage says would leave the rest as it was."""
    plan = dict(seeds())["00-conv_2d-int8-lz4"]
    ((start, _),) = [(start, count) for record, start, count in sections(plan) if record is StageRecord]
    stage = StageRecord.unpack(plan, start)
    plans = []
    for more in (0, 1, 2, 15):
        longer = dataclasses.replace(stage, block_raw_bytes=stage.block_raw_bytes + more).pack()
        header = dataclasses.replace(Header.unpack(plan), fast_bytes=Header.unpack(plan).fast_bytes + 16).pack()
        plans.append(with_crc(header + plan[len(header) : start] + longer + plan[start + len(longer) :]))
    assert [result.status for result in outcomes(replay, plans)] == [0, -31, -31, -31]


def test_the_kept_corpus(replay: Path) -> None:
    """What fuzzing found worth keeping: inputs that crashed once, and one for each edge it ever reached."""
    plans = kept()
    results = dict(zip(plans, outcomes(replay, list(plans.values())), strict=True))
    assert len(plans) > 100 and any(name.startswith(FOUND) for name in plans)
    ran = [plans[name] for name, result in results.items() if result.ran and result.status == 0]
    kernels = {(op.kind, op.dtype) for plan in (*ran, *dict(seeds()).values()) for op in records(plan, OpRecord)}
    assert kernels == set(PARAMS), "fuzzing starts from a plan for each kernel"


def records(plan: bytes, wanted: type[Record]) -> list[Any]:
    """Every record of one kind."""
    ((start, count),) = [(start, count) for record, start, count in sections(plan) if record is wanted]
    return [wanted.unpack(plan, start + index * wanted.size()) for index in range(count)]
