"""Sessions in C as applications use them, with what lives from run to run too: on this machine, under valgrind, and on
64-bit Arm."""

import dataclasses
import functools
import re
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.runtime.build import C99, INCLUDE, PLAIN, SANITIZERS, compile_program, compiler, objects, own_folder, program
from tests.runtime.kernel_harness import Way, plan_for
from tests.runtime.operators import operators
from tigris_pio import Session, compile_model

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
    """The same by the host library."""
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
