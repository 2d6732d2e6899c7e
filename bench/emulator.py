"""Builds the bench firmware for each machine, and runs plans in it under QEMU, where an instruction takes 1 ns."""

import dataclasses
import re
import struct
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
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
    def chip(self) -> str:
        """The processor's name for `--chip`, if it has one."""
        return self.name if self.name.startswith("cortex-") else ""

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
                "cortex_m.c", ("qemu-system-arm", "-M", "mps3-an547"), 0x60000000, 0x60800000),
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


@contextmanager
def work_folder() -> Iterator[Path]:
    """A folder that is removed at the end."""
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


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


def compiler(machine: Machine) -> list[str]:
    """The compiler's command for a machine, without optimisation."""
    return [f"{machine.toolchain}-gcc", *machine.flags, "-std=gnu99", *SECTIONS, f"-I{RUNTIME / 'include'}"]


def link(machine: Machine, target: Path, main: str | Path, *others: str | Path, optimise: str = "-O2") -> Path:
    """Builds the ELF file `target` of a file of the firmware, or elsewhere, and of other sources, objects and flags."""
    run_tool([
        *compiler(machine), optimise, "-nostartfiles", f"-I{FIRMWARE}", str(FIRMWARE / main),
        str(FIRMWARE / machine.support), *map(str, others), f"-L{FIRMWARE}", f"-T{FIRMWARE / machine.script}",
        "-Wl,--gc-sections", "-lm", "-o", str(target),
    ], timeout=BUILD_SECONDS)  # fmt: skip
    return target


def build(machine: Machine, folder: Path, optimise: str = "-O2", extra: tuple[str, ...] = (),
          runtime: Sequence[Path] = ()) -> Path:  # fmt: skip
    """Builds the bench firmware as an ELF file in `folder`; `extra`: more flags and sources; `runtime`: sources of the
    runtime, all by default."""
    target = folder / f"{machine.name}.elf"
    return link(machine, target, "bench.c", *(runtime or runtime_sources()), *extra, optimise=optimise)


def samples(stored_input: bytes, stored_output: bytes) -> bytes:
    """The bytes that the firmware reads at bench_samples; several inputs are concatenated."""
    return struct.pack("<II", len(stored_input), len(stored_output)) + stored_input + stored_output


def emulate(machine: Machine, program: Path, plan: bytes = b"", content: bytes = b"",
            how: tuple[str, ...] = ("-icount", "shift=0"), folder: Path | None = None) -> str:  # fmt: skip
    """Runs a program on these bytes as plan and samples, from files of a folder or beside it. Returns its text."""
    loaded = []
    for name, held, address in (("plan", plan, machine.plan_address), ("samples", content, machine.samples_address)):
        if held:
            file = (folder or program.parent) / f"{name}.bin"
            file.write_bytes(held)
            loaded += ["-device", f"loader,file={file},addr={address:#x},force-raw=on"]
    return run_tool([
        *machine.emulator, "-nographic", "-monitor", "none", "-serial", "stdio", *how, "-semihosting-config",
        "enable=on,target=native", "-kernel", str(program), *loaded,
    ])  # fmt: skip


def numbers(output: str) -> dict[str, int]:
    """The lines "name value" that a program printed. BenchError if it printed an error."""
    if found := re.search(r"^error.*", output, re.MULTILINE):
        raise BenchError(found[0])
    return {name: int(value) for name, value in re.findall(r"^(\w+) (\d+)$", output, re.MULTILINE)}


def measure(machine: Machine, program: Path, plan: bytes, content: bytes) -> Measurement:
    """Runs `plan` on the samples `content`."""
    return parse(machine, emulate(machine, program, plan, content))


def parse(machine: Machine, output: str) -> Measurement:
    """The numbers in what the firmware printed."""
    ops = tuple(map(int, re.findall(r"^op \d+ (\d+)$", output, re.MULTILINE)))
    values = numbers(output)
    if missing := {field.name for field in dataclasses.fields(Measurement)} - {"ops"} - set(values):
        raise BenchError(f"{machine.name}: the harness did not print {', '.join(sorted(missing))}:\n{output}")
    return Measurement(**{**values, "right": values["right"] == 1}, ops=ops)  # type: ignore[arg-type]
