"""Sweeps of ESP-NN's kernels in the vector instructions of a chip, which an interpreter runs in the sweep's memory.

On the ESP32-S3 the library's C is compiled for this machine, and each call of its assembly is interpreted. C with such
instructions inside is left out: its layers are not run. On the ESP32-P4 an interpreter runs all of the library.
"""

import mmap
import re
import subprocess
from collections.abc import Iterable
from pathlib import Path

from bench.assembly.engine import RunError
from bench.assembly.memory import Memory
from bench.assembly.source import read as read_assembly
from bench.emulator import BUILD_SECONDS, BenchError, run_tool
from bench.libraries import adapters, definitions
from bench.riscv import esp_nn as p4
from bench.riscv.machine import Machine as RiscvMachine
from bench.vendor.faults import Table, read
from bench.vendor.sweep import HERE, LINK, Sweep, judge
from bench.xtensa.machine import Machine as XtensaMachine
from tigris_pio.platformio.backend import LIBRARIES

#: Where the sweep's stack and memory begin, and their bytes: POOL, STACK and SWEEP_BYTES of the C files.
_POOL, _POOL_BYTES = 0x100000, 0x380000
#: For the interpreter's own stack and data.
_OWN_BYTES = 1 << 20
CHIPS = ("esp32s3", "esp32p4")


class SharedMemory(Memory):
    """A machine's memory in a file, whose part from _POOL on the sweep has at the same addresses."""

    def __init__(self, path: Path) -> None:
        super().__init__(_POOL + _POOL_BYTES + _OWN_BYTES)
        path.write_bytes(bytes(len(self.bytes)))
        with path.open("r+b") as file:
            self.bytes = mmap.mmap(file.fileno(), 0)  # type: ignore[assignment]
        self._next = _POOL
        self.add("pool", _POOL_BYTES, writable=True)


def on_chip(checkout: Path, chip: str, sweep: Sweep, folder: Path) -> Table:
    """The layers of a sweep of ESP-NN on a chip of CHIPS."""
    memory = SharedMemory(folder / "memory")
    program = _build(checkout, chip, sweep, folder)
    machine = RiscvMachine(p4.program(checkout), memory) if chip == p4.CHIP else _xtensa(checkout, memory)
    with subprocess.Popen([str(program), str(folder / "memory")], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          text=True) as process:  # fmt: skip
        assert process.stdin is not None and process.stdout is not None
        lines = []
        for line in process.stdout:
            if not line.startswith("?"):
                lines.append(line)
                continue
            process.stdin.write(f"{_answer(machine, line)}\n")
            process.stdin.flush()
    if process.returncode != 0:
        raise BenchError(f"the sweep of {checkout} on {chip} ended with status {process.returncode}")
    return read("".join(lines))


def _answer(machine: RiscvMachine | XtensaMachine, line: str) -> str:
    _, name, *arguments = line.split()
    if name not in machine.program.labels:
        return "none"
    try:
        return str(machine.call(name, [int(one) for one in arguments]))
    except (MemoryError, RunError):  # an access where nothing is, or no end
        return "crash"


def _xtensa(checkout: Path, memory: Memory) -> XtensaMachine:
    return XtensaMachine(read_assembly(_own(checkout, "*_esp32s3.S")), memory)


def _own(checkout: Path, *patterns: str) -> list[Path]:
    """Files of the functions that the sweep calls."""
    folders = [checkout / "src" / name for name in p4.FOLDERS]
    return sorted(path for folder in folders for pattern in patterns for path in folder.glob(pattern))


def _compiled(checkout: Path, chip: str) -> Iterable[Path]:
    """The library's C that this machine can run."""
    paths = [] if chip == p4.CHIP else _own(checkout, "*_ansi.c", "*_opt.c", f"*_{chip}.c")
    return (path for path in paths if not re.search(r"\bee\.\w+", path.read_text("utf-8")))


def _build(checkout: Path, chip: str, sweep: Sweep, folder: Path) -> Path:
    """The program; a stub asks for each function of the library that it lacks."""
    adapted = chip != p4.CHIP  # interpreted C has other pointers than the adapter's
    own, program, objects = judge("esp-nn", sweep, adapted), folder / "sweep", folder / "library.o"
    files = (*own.files, *_compiled(checkout, chip), *(adapters() if adapted else ()))
    flags = (*own.flags, *definitions("esp-nn"), f"-DCONFIG_IDF_TARGET_{chip.upper()}=1",
             *(f"-I{checkout / part}" for part in LIBRARIES["esp-nn"].includes))  # fmt: skip
    run_tool(["gcc", *flags, *map(str, files), "-r", "-nostdlib", "-o", str(objects)], timeout=BUILD_SECONDS)
    missing = re.findall(r"^ +U (esp_nn_\w+)$", run_tool(["nm", str(objects)]), re.MULTILINE)
    stubs = " ".join(f"STUB({name})" for name in missing)
    run_tool(["gcc", *flags, f"-DSTUBS={stubs}", str(HERE / "on_host.c"), str(objects), *LINK, "-pthread", "-o",
              str(program)], timeout=BUILD_SECONDS)  # fmt: skip
    return program
