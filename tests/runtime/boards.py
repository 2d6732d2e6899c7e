"""Programs for emulated machines that run many plans after one start."""

import dataclasses
import functools
import struct
from pathlib import Path

from bench.emulator import MACHINES, emulate, link
from tests.runtime.build import C99, HERE, INCLUDE, compile_each, core_sources, own_folder
from tests.runtime.kernel_harness import Operator, Way, plan_for, run

#: Kernels of few_kernels.c and what they call.
FEW = frozenset((
    "conv_2d_int8", "depthwise_conv_2d_int8", "fully_connected_int8", "binary_integer", "pool_int8", "map_mean_int8",
    "softmax_int8", "check", "check_conv_int8", "check_fully_connected_int8", "rows_int8", "scale_int8", "window",
))  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Case:
    """A plan with its inputs' bytes and the output expected."""

    plan: bytes
    inputs: bytes
    output: bytes


@dataclasses.dataclass(frozen=True)
class Answer:
    """The machine's output for one case."""

    status: str
    right: bool
    instructions: int


def case_of(op: Operator, rows: int = 0) -> Case:
    """The operator in bands of so many rows (0: whole), with the host's output."""
    expected = run(op, Way(op.output_shape[1]))
    inputs = b"".join(array.tobytes() for array in op.inputs)
    return Case(plan_for(op, Way(rows or op.output_shape[1])), inputs, expected.tobytes())


def few_sources() -> list[Path]:
    """The core with the kernels of few_kernels.c alone, those for particular processors among them."""
    kept = [path for path in core_sources() if path.parent.name != "kernels" or path.stem in FEW]
    return [*(path for path in kept if path.parent.name != "pie"), HERE / "few_kernels.c"]


@functools.cache
def board_program(name: str, every_kernel: bool = False) -> Path:
    """cases_on_board.c for a machine of bench.emulator."""
    machine, folder = MACHINES[name], own_folder("tigris-board-")
    command = [f"{machine.toolchain}-gcc", *machine.flags, *C99, "-O1", f"-I{INCLUDE}"]
    made = compile_each(command, core_sources() if every_kernel else few_sources(), folder)
    return link(machine, folder / "cases.elf", HERE / "cases_on_board.c", *made, optimise="-O1")


def answers(name: str, program: Path, cases: list[Case]) -> list[Answer]:
    """The answer to each case, all from one run of the emulated machine."""
    machine, image = MACHINES[name], bytearray()
    for case in cases:
        parts = (case.plan, case.inputs, case.output)
        image += struct.pack("<4I", *map(len, parts), 0)
        image += b"".join(part + bytes(-len(part) % 16) for part in parts)
    output = emulate(machine, program, bytes(image) + bytes(16))
    lines = [line.rsplit(" ", 2) for line in output.splitlines()]
    assert len(lines) == len(cases), output[-500:]
    return [Answer(status, right == "1", int(instructions)) for status, right, instructions in lines]

