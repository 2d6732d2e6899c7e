"""Whole plans with ESP-NN's kernels for the ESP32-P4: the runtime and its adapter compiled for this machine, and each
call of the library run by the interpreter, with no more scratch than the library asks for."""

from pathlib import Path

from bench.assembly import pipe
from bench.assembly.engine import Engine
from bench.assembly.memory import Memory
from bench.libraries import adapters, definitions
from bench.riscv.esp_nn import SCRATCH_BYTES, SET_SCRATCH, program
from bench.riscv.machine import Machine

_CONV = "esp_nn_conv_s8_esp32p4"
#: Bytes that vector loads may read behind an operand: what is left of its last vector.
READ_AHEAD = 32
#: Above the plan's memory: more than the library takes. What it is held to is the interpreter's affair.
SCRATCH = 1 << 20


def build(folder: Path, checkout: Path) -> Path:
    """The program that asks for each call of the library."""
    return pipe.build(Path(__file__).with_name("by_pipe.c"), folder, "-DCONFIG_IDF_TARGET_ESP32P4=1",
                      *definitions("esp-nn"), f"-isystem{checkout / 'include'}", *map(str, adapters()))  # fmt: skip


def run(by_pipe: Path, checkout: Path, plan: bytes, data: bytes) -> pipe.Run:
    """The plan on stored input `data`, in arenas of its own sizes."""
    target = pipe.Target(by_pipe, lambda memory: Machine(program(checkout), memory), _check, SCRATCH, _give_scratch)
    return pipe.run(target, plan, data)


def _give_scratch(machine: Engine, call: pipe.Call, arguments: list[int]) -> None:
    if call.name == _CONV:
        size = machine.call(SCRATCH_BYTES, [arguments[i] for i in (0, 2, 5, 7)])
        machine.call(SET_SCRATCH, [machine.memory.add("scratch", size, writable=True)])


def _check(memory: Memory, name: str) -> None:
    """AssertionError if the function wrote outside of its operands, or read too far."""
    far = {stray for stray in memory.strays if stray.writes or abs(stray.distance) >= READ_AHEAD}
    assert not far, (name, far)
    assert not memory.misaligned, (name, memory.misaligned)
