"""Builds the bench firmware for each machine, and runs plans in it under QEMU, where an instruction takes 1 ns."""

from __future__ import annotations

import dataclasses
import struct
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
NETWORKS = ROOT / "networks"
FIRMWARE = ROOT / "bench" / "firmware"
RUNTIME = ROOT / "runtime"
TIMEOUT_SECONDS, BUILD_SECONDS = 60, 600
SECTIONS = ("-ffunction-sections", "-fdata-sections")


class BenchError(Exception):
    """A tool is missing or failed, or the machine reported an error."""


@dataclasses.dataclass(frozen=True)
class Machine:
    """A machine that QEMU emulates, and how to compile for it."""

    name: str
    toolchain: str
    flags: tuple[str, ...]
    support: str  #: start-up source
    emulator: tuple[str, ...]
    plan_address: int
    samples_address: int

    @property
    def script(self) -> str:
        """The linker script in FIRMWARE."""
        return "rv32.ld" if self.support == "rv32.c" else f"{self.name.replace('-', '_')}.ld"


_ARM = ("-mthumb", "-mfloat-abi=hard")
MACHINES = {
    machine.name: machine
    for machine in (
        Machine("rv32imc", "riscv64-unknown-elf", ("-march=rv32imc", "-mabi=ilp32", "--specs=picolibc.specs"), "rv32.c",
                ("qemu-system-riscv32", "-M", "virt", "-m", "64M", "-bios", "none"), 0x81000000, 0x80800000),
        Machine("cortex-m4", "arm-none-eabi", (*_ARM, "-mcpu=cortex-m4", "-mfpu=fpv4-sp-d16", "--specs=nano.specs"),
                "cortex_m.c", ("qemu-system-arm", "-M", "mps2-an386"), 0x21000000, 0x21800000),
        Machine("cortex-m7", "arm-none-eabi", (*_ARM, "-mcpu=cortex-m7", "-mfpu=fpv5-sp-d16", "--specs=nano.specs"),
                "cortex_m.c", ("qemu-system-arm", "-M", "mps2-an500"), 0x60000000, 0x60800000),
        Machine("cortex-m55", "arm-none-eabi", (*_ARM, "-mcpu=cortex-m55", "--specs=nano.specs"),
                "cortex_m55.c", ("qemu-system-arm", "-M", "mps3-an547"), 0x60000000, 0x60800000),
    )
}  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Measurement:
    """The numbers that the machine printed: instructions, bytes of stack and arenas; `output` is a hash."""

    open: int
    check: int
    init: int
    run: int
    right: bool
    stack_init: int
    stack_run: int
    fast: int
    slow: int
    output: int
    ops: tuple[int, ...]


def runtime_sources() -> list[Path]:
    """Loader, executor and kernels."""
    return sorted(path for path in (RUNTIME / "src").rglob("*.c") if not path.name.startswith("serve"))


def run_tool(command: list[str], cwd: Path | None = None, timeout: int = TIMEOUT_SECONDS) -> str:
    """Standard output of a command. BenchError if it is missing, fails or hangs."""
    try:
        result = subprocess.run(
            command, cwd=cwd, capture_output=True, text=True, timeout=timeout, check=False, stdin=subprocess.DEVNULL
        )
    except FileNotFoundError as error:
        raise BenchError(f"{command[0]} is not installed; `python3 tools/prepare.py test` installs it") from error
    except subprocess.TimeoutExpired as error:
        raise BenchError(f"{command[0]} did not end within {timeout} s") from error
    if result.returncode != 0:
        raise BenchError(f"{' '.join(command)}\n{result.stdout}{result.stderr}")
    return result.stdout


def build(machine: Machine, folder: Path, optimise: str = "-O2", extra: tuple[str, ...] = ()) -> Path:
    """Builds the bench firmware with the whole runtime as an ELF file in `folder`; `extra`: more flags and sources."""
    target = folder / f"{machine.name}.elf"
    run_tool([
        f"{machine.toolchain}-gcc", *machine.flags, optimise, "-std=gnu99", *SECTIONS, "-nostartfiles",
        f"-I{RUNTIME / 'include'}", f"-I{FIRMWARE}", str(FIRMWARE / "bench.c"), str(FIRMWARE / machine.support),
        *map(str, runtime_sources()), *extra, f"-L{FIRMWARE}", f"-T{FIRMWARE / machine.script}", "-Wl,--gc-sections",
        "-lm", "-o", str(target),
    ], timeout=BUILD_SECONDS)  # fmt: skip
    return target


def samples(stored_input: bytes, stored_output: bytes) -> bytes:
    """The bytes that the firmware reads at bench_samples; several inputs are concatenated."""
    return struct.pack("<II", len(stored_input), len(stored_output)) + stored_input + stored_output


def measure(machine: Machine, program: Path, plan: bytes, content: bytes, folder: Path) -> Measurement:
    """Runs `plan` on the samples `content`."""
    plan_file, samples_file = folder / "plan.bin", folder / "samples.bin"
    plan_file.write_bytes(plan)
    samples_file.write_bytes(content)
    output = run_tool([
        *machine.emulator, "-nographic", "-monitor", "none", "-serial", "stdio", "-icount", "shift=0",
        "-semihosting-config", "enable=on,target=native", "-kernel", str(program),
        "-device", f"loader,file={plan_file},addr={machine.plan_address:#x},force-raw=on",
        "-device", f"loader,file={samples_file},addr={machine.samples_address:#x},force-raw=on",
    ])  # fmt: skip
    return _parse(machine, output)


def _parse(machine: Machine, output: str) -> Measurement:
    values: dict[str, int] = {}
    ops: list[int] = []
    for line in output.splitlines():
        words = line.split()
        if words and words[0] == "error":
            raise BenchError(f"{machine.name}: {line}")
        if len(words) == 3 and words[0] == "op":
            ops.append(int(words[2]))
        elif len(words) == 2:
            values[words[0]] = int(words[1])
    missing = {field.name for field in dataclasses.fields(Measurement)} - {"ops"} - set(values)
    if missing:
        raise BenchError(f"{machine.name}: the harness did not print {', '.join(sorted(missing))}:\n{output}")
    return Measurement(**{**values, "right": values["right"] == 1}, ops=tuple(ops))  # type: ignore[arg-type]
