"""Whole plans with ESP-NN's kernels for the ESP32-P4: the runtime and its adapter compiled for this machine, and each
call of the library run by the interpreter, in memory that has each operand where it lay modulo 16 and no more scratch
than the library asks for."""

from __future__ import annotations

import struct
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from bench.assembly.memory import Memory
from bench.emulator import BUILD_SECONDS, RUNTIME, run_tool, runtime_sources
from bench.libraries import adapters, definitions
from bench.riscv.esp_nn import program
from bench.riscv.machine import Machine
from tigris_pio.format.records import Header

_REQUEST, _ARGUMENT = struct.Struct("<64sI"), struct.Struct("<3I")
_NUMBER, _READ, _WRITTEN, _TWO = range(4)
_FLAGS = ("-O1", "-w", "-std=gnu99", "-DCONFIG_IDF_TARGET_ESP32P4=1", "-DTIGRIS_TENSOR_ALIGN=4")
_CONV = "esp_nn_conv_s8_esp32p4"
_SCRATCH = "esp_nn_get_conv_scratch_size_esp32p4"
_SET_SCRATCH = "esp_nn_set_conv_scratch_buf_esp32p4"
#: Bytes that vector loads may read behind an operand: what is left of its last vector.
READ_AHEAD = 32
#: Above the plan's memory: more than the library takes. What it is held to is the interpreter's affair.
SCRATCH = 1 << 20


@dataclass(frozen=True)
class Argument:
    """`place`: where its bytes lie modulo 16; `content`: those that are read."""

    kind: int
    value: int
    place: int
    content: bytes


@dataclass(frozen=True)
class Call:
    """A call of the library."""

    name: str
    arguments: tuple[Argument, ...]


@dataclass(frozen=True)
class Run:
    """A run's output; `instructions` of the library, by the operator's place in the plan; `calls`: how many there were,
    by function."""

    status: int
    output: bytes
    instructions: Mapping[int, int]
    calls: Mapping[str, int] = field(default_factory=dict)


def build(folder: Path, checkout: Path) -> Path:
    """The program that asks for each call of the library."""
    target = folder / "by_pipe"
    own = Path(__file__).with_name("by_pipe.c")
    run_tool(["gcc", *_FLAGS, *definitions("esp-nn"), f"-isystem{checkout / 'include'}",
              f"-I{RUNTIME / 'include'}", str(own), *map(str, (*adapters(), *runtime_sources())), "-lm", "-o",
              str(target)], timeout=BUILD_SECONDS)  # fmt: skip
    return target


def run(target: Path, checkout: Path, plan: bytes, data: bytes) -> Run:
    """The plan on stored input `data`, in arenas of its own sizes."""
    header, interpreter = Header.unpack(plan), Interpreter(checkout)
    counts: dict[int, int] = {}
    calls: dict[str, int] = {}
    before = 0
    with subprocess.Popen([str(target)], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None and process.stdout is not None
        sizes = struct.pack("<4I", len(plan), header.fast_bytes + SCRATCH, header.slow_bytes, len(data))
        process.stdin.write(sizes + plan + data)
        process.stdin.flush()
        while (call := _next(process.stdout)).name:
            if call.name == "op":
                place = call.arguments[0].value
                counts[place] = counts.get(place, 0) + interpreter.executed - before
                before = interpreter.executed
                continue
            calls[call.name] = calls.get(call.name, 0) + 1
            process.stdin.write(interpreter.answer(call))
            process.stdin.flush()
    status, output = call.arguments
    return Run(status.value if status.value < 1 << 31 else status.value - (1 << 32), output.content, counts, calls)


def _next(stream: IO[bytes]) -> Call:
    name, count = _REQUEST.unpack(_exactly(stream, _REQUEST.size))
    words = [_ARGUMENT.unpack(_exactly(stream, _ARGUMENT.size)) for _ in range(count)]
    sizes = [{_READ: value, _TWO: 2 * value}.get(kind, 0) for kind, value, _ in words]
    arguments = tuple(Argument(kind, value, place, _exactly(stream, size))
                      for (kind, value, place), size in zip(words, sizes, strict=True))  # fmt: skip
    return Call(name.rstrip(b"\0").decode(), arguments)


def _exactly(stream: IO[bytes], size: int) -> bytes:
    content = stream.read(size)
    if len(content) != size:
        raise EOFError(f"the program ended: {len(content)} of {size} bytes came")
    return content


class Interpreter:
    """Runs calls of the library, each on a machine of its own."""

    def __init__(self, checkout: Path) -> None:
        self.executed = 0
        self._program = program(checkout)

    def answer(self, call: Call) -> bytes:
        """The function's result and the bytes that it writes."""
        memory = Memory((1 << 18) + 2 * sum(len(one.content) + one.value % (1 << 24) for one in call.arguments
                                            if one.kind != _NUMBER))  # fmt: skip
        machine = Machine(self._program, memory)
        arguments = [_placed(memory, number, one) for number, one in enumerate(call.arguments)]
        if call.name == _CONV:
            self._scratch(machine, arguments)
        result = machine.call(call.name, arguments)
        self.executed += machine.executed
        _check(memory, call.name)
        written = [memory.content(address, one.value) for address, one in zip(arguments, call.arguments, strict=True)
                   if one.kind == _WRITTEN]  # fmt: skip
        return struct.pack("<I", result) + b"".join(written)

    def _scratch(self, machine: Machine, arguments: list[int]) -> None:
        inputs, _, kernels, _, _, outputs, _, params, _ = arguments
        size = machine.call(_SCRATCH, (inputs, kernels, outputs, params))
        machine.call(_SET_SCRATCH, [machine.memory.add("scratch", size, writable=True)])


def _placed(memory: Memory, number: int, one: Argument) -> int:
    """Places an argument in memory. Returns the value that the function gets for it."""
    name = f"operand {number}"
    if one.kind == _NUMBER:
        return one.value
    if one.kind == _READ:
        return memory.add(name, one.content, offset=one.place)
    if one.kind == _WRITTEN:
        return memory.add(name, one.value, writable=True, offset=one.place)
    two = [memory.add(name, part, align=4) for part in (one.content[: one.value], one.content[one.value :])]
    return memory.add(name, struct.pack("<2I", *two), align=4)


def _check(memory: Memory, name: str) -> None:
    """AssertionError if the function wrote outside of its operands, or read too far."""
    far = {stray for stray in memory.strays if stray.writes or abs(stray.distance) >= READ_AHEAD}
    if far or memory.misaligned:
        raise AssertionError(f"{name}: {far or memory.misaligned}")
