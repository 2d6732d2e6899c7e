"""Whole plans with this project's kernels for the ESP32-S3, each call of assembly run by the interpreter."""

from pathlib import Path

from bench.assembly import pipe
from bench.assembly.memory import Memory
from bench.xtensa.kernels import program
from bench.xtensa.machine import Machine


def build(folder: Path) -> Path:
    """The program that asks for each call of assembly."""
    return pipe.build(Path(__file__).with_name("by_pipe.c"), folder, "-DTIGRIS_PIE")


def run(by_pipe: Path, plan: bytes, data: bytes) -> pipe.Run:
    """The plan on stored input `data`, in arenas of its own sizes."""
    return pipe.run(pipe.Target(by_pipe, lambda memory: Machine(program(), memory), _check), plan, data)


def _check(memory: Memory, name: str) -> None:
    assert not memory.strays, (name, memory.strays)
    assert not memory.misaligned, (name, memory.misaligned)
