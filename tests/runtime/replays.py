"""Plans in the sanitised program (tests/runtime/fuzz/replay.c), and the outputs that the portable kernels give."""

import functools
import struct
import subprocess
import zlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tigris_pio.host import Session

ANY = (1 << 32) - 1
#: Bytes of fast and slow memory.
Arenas = tuple[int, int]


class Outcome(NamedTuple):
    """The result of one plan, as tests/runtime/fuzz/run_plan.h defines it."""

    status: int
    ran: bool
    ran_small: bool
    differs: bool
    outputs: int
    small: int
    missing: int
    scratch: int


def outcomes(program: Path, plans: Iterable[bytes], arenas: Iterable[Arenas] | None = None,
             command: Sequence[str] = ()) -> list[Outcome]:
    """Runs each plan in its planned arenas, and in smaller ones of these sizes or of any.

    A crash fails the test with the sanitiser's report.
    """
    plans = list(plans)
    sizes = [(ANY, ANY)] * len(plans) if arenas is None else list(arenas)
    stream = b"".join(struct.pack("<III", len(plan), *size) + plan for plan, size in zip(plans, sizes, strict=True))
    result = subprocess.run([*command, str(program)], input=stream, capture_output=True, check=False, timeout=300)
    lines = [list(map(int, line.split())) for line in result.stdout.decode().splitlines()]
    report = result.stderr.decode(errors="replace")[-3000:]
    assert result.returncode == 0, f"plan {len(lines)} of {len(plans)} crashed the runtime:\n{report}"
    assert len(lines) == len(plans)
    return [Outcome(line[0], *map(bool, line[1:4]), *line[4:]) for line in lines]  # type: ignore[arg-type]


def portable_outputs(plan: bytes) -> int:
    """The digest of outputs as run_plan.c computes it, with the host library."""
    with Session(plan) as session:
        inputs = {}
        for index, io in enumerate(session.inputs):
            k = np.arange(int(np.prod(io.stored_shape)) * io.stored_dtype.itemsize, dtype=np.uint64)
            mask = 0xFF if io.stored_dtype == np.int8 else 0x3F
            data = ((k * 2654435761 + index) % 2**32 >> 24 & mask).astype(np.uint8)
            inputs[io.name] = data.view(io.stored_dtype).reshape(io.stored_shape)
        outputs = session.run_raw(inputs)
        digests = [zlib.crc32(outputs[io.name].tobytes()) for io in session.outputs]
    return functools.reduce(lambda digest, crc: (digest * 31 + crc) % 2**32, digests, 0)


def assert_same(program: Path, plans: Iterable[bytes], command: Sequence[str] = ()) -> None:
    """Fails if a plan's outputs differ from the portable kernels', in the planned arenas or in smaller ones."""
    plans = list(plans)
    for index, (plan, result) in enumerate(zip(plans, outcomes(program, plans, command=command), strict=True)):
        assert (result.status, result.differs, result.outputs) == (0, False, portable_outputs(plan)), index
