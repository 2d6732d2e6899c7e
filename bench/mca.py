"""Cycles of inference on Cortex-M by llvm-mca: python -m bench.mca [--machines …] [--models …] [--cmsis-nn CHECKOUT]

QEMU counts how often each block of instructions runs (firmware/blocks.c). llvm-mca gives the cycles of each hot block
as if it ran again and again; the other blocks count as their average. Prints instructions, cycles and cycles a
multiply-accumulate, of the project's kernels or beside those of CMSIS-NN in the folder CHECKOUT. --blocks lists the
hottest blocks. Exit status 1 if an output differs.

Compare the numbers with each other, not with a clock. LLVM's models know no waits of memory, no cost of a taken branch
(BRANCH assumes one), no stall between a block and the next, and no dual issue that Arm has not published. Cortex-M55
needs LLVM 17 or later: the newest llvm-mca and llvm-objdump on PATH are used. A machine unknown to them is skipped.
"""

import dataclasses
import functools
import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

from bench.command import Row, command, parser_of, print_table, write_json
from bench.emulator import FIRMWARE, MACHINES, BenchError, Machine, build, emulate, run_tool, work_folder
from bench.libraries import library_sources
from bench.networks import int8_networks, recorded
from tigris_pio import compile_model

LIBRARY = "cmsis-nn"
TRIPLES = {"cortex-m4": "thumbv7em-none-eabihf", "cortex-m7": "thumbv7em-none-eabihf",
           "cortex-m55": "thumbv8.1m.main-none-eabihf"}  # fmt: skip
#: Cycles added for each run of a block that ends with a branch; a loop of Armv8.1-M (LE) costs none.
BRANCH = {"cortex-m4": 2.0, "cortex-m7": 0.3, "cortex-m55": 1.0}
#: The share of instructions whose blocks go through llvm-mca, the hottest first.
COVERED = 0.94
REPEATS = 30
_BRANCH = re.compile(r"(b|bl|bx|blx|cbn?z|tb[bh]|b(eq|ne|gt|ge|lt|le|hi|ls|cs|cc|hs|lo|mi|pl|vs|vc))(\.[nw])?$")
_LOOP = re.compile(r"(le|letp|dls|wls|dlstp\.\w+|wlstp\.\w+|lctp)$")
COLUMNS = ["network", "machine", "kernels", "instructions", "cycles", ("a MAC", "per_mac", ".3f"),
           ("modelled", "modelled", ".2f"), "ratio", "right"]  # fmt: skip
BLOCK_COLUMNS = ["function", "address", ("runs", "count"), "length", ("share", "share", ".3f"),
                 ("cycles", "cycles", ".1f")]  # fmt: skip


class NoModel(BenchError):
    """No program of LLVM is there that knows the processor."""


@dataclasses.dataclass(frozen=True)
class Block:
    """Instructions that run one after the other, in assembler, and how often."""

    address: int
    function: str
    lines: tuple[str, ...]
    count: int

    @property
    def weight(self) -> int:
        """Instructions in an inference."""
        return len(self.lines) * self.count


@functools.cache
def tool(name: str) -> str:
    """The newest version of a program of LLVM on PATH."""
    found = next((path for version in range(40, 13, -1) if (path := shutil.which(f"{name}-{version}"))), None)
    if found is None and (found := shutil.which(name)) is None:
        raise NoModel(f"{name} is not installed; install the package llvm, version 17 or later")
    return found


def disassembled(machine: str, program: Path) -> dict[int, tuple[str, str]]:
    """Function and assembler of each instruction, by address."""
    text = run_tool([tool("llvm-objdump"), "-d", "--no-show-raw-insn", "--no-print-imm-hex", f"--mcpu={machine}",
                     str(program)])  # fmt: skip
    found, function = {}, ""
    for line in text.splitlines():
        if name := re.match(r"[0-9a-f]+ <(.*)>:", line):
            function = name[1]
        elif one := re.match(r"\s*([0-9a-f]+):\s+([^@;]*)", line):
            found[int(one[1], 16)] = function, re.sub(r"<.*?>", "", one[2]).strip()
    return found


def counted(machine: Machine, program: Path, plan: bytes, content: bytes, plugin: Path) -> tuple[list[Block], bool]:
    """The blocks of an inference, the hottest first, and whether the output was right."""
    names = run_tool([f"{machine.toolchain}-nm", str(program)])
    first, last = (re.search(rf"^(\w+) T {name}$", names, re.MULTILINE) for name in ("tigris_run", "bench_print"))
    assert first is not None and last is not None
    counts = plugin.with_name("counts")
    printed = emulate(machine, program, plan, content,
                      ("-plugin", f"{plugin},first={first[1]},last={last[1]},counts={counts}"))  # fmt: skip
    code, blocks = disassembled(machine.name, program), []
    for line in counts.read_text().splitlines():
        at, size, count = line.split()
        places = sorted(address for address in range(int(at, 16), int(at, 16) + 4 * int(size), 2) if address in code)
        chosen = [code[place] for place in places[: int(size)]]
        if int(count) and chosen:
            blocks.append(Block(int(at, 16), chosen[0][0], tuple(line for _, line in chosen), int(count)))
    return sorted(blocks, key=lambda block: -block.weight), "right 1" in printed.splitlines()


@functools.cache
def cycles(machine: str, lines: Sequence[str]) -> float | None:
    """Cycles of a block of instructions that repeats; None if llvm-mca has no model for one of them."""
    names = [line.split()[0] if line else "nop" for line in lines]
    plain = ["nop" if _BRANCH.match(name) or _LOOP.match(name) or "pc" in line else line
             for name, line in zip(names, lines, strict=True)]  # fmt: skip
    result = subprocess.run(
        [tool("llvm-mca"), f"-mtriple={TRIPLES[machine]}", f"-mcpu={machine}", f"-iterations={REPEATS}",
         "-instruction-info=0", "-resource-pressure=0"],
        input="\n".join(plain) + "\n", capture_output=True, text=True, check=False,
    )  # fmt: skip
    total = re.search(r"Total Cycles:\s+(\d+)", result.stdout)
    if total is None:
        return None
    return int(total[1]) / REPEATS + (BRANCH[machine] if _BRANCH.match(names[-1]) else 0.0)


def modelled(machine: str, blocks: Sequence[Block]) -> tuple[float, float]:
    """Cycles of the blocks, and the share of their instructions that were modelled. NoModel if less than half."""
    total, seen, done, taken = sum(block.weight for block in blocks), 0, 0, 0.0
    for block in blocks:
        found = cycles(machine, block.lines)
        seen += block.weight
        if found is not None:
            done, taken = done + block.weight, taken + found * block.count
        if seen > COVERED * total:
            break
    if 2 * done < total:
        raise NoModel(f"{tool('llvm-mca')} has no model of {machine}; install the package llvm, version 17 or later")
    return taken * total / done, done / total


def print_blocks(machine: str, blocks: Sequence[Block]) -> None:
    """Prints the twelve hottest blocks."""
    total = sum(block.weight for block in blocks)
    rows = [{"function": block.function, "address": f"{block.address:x}", "count": block.count,
             "length": len(block.lines), "share": block.weight / total, "cycles": cycles(machine, block.lines) or 0.0}
            for block in blocks[:12]]  # fmt: skip
    print_table(f"hottest blocks on {machine}", rows, BLOCK_COLUMNS)


def build_plugin(folder: Path) -> Path:
    """QEMU's plugin that counts blocks."""
    target = folder / "blocks.so"
    run_tool(["gcc", "-O2", "-shared", "-fPIC", str(FIRMWARE / "blocks.c"), "-o", str(target)])
    return target


def measured(machine: Machine, folder: Path, checkout: Path | None, networks: Path, chosen: Sequence[str], *,
             listed: bool) -> Iterator[Row]:  # fmt: skip
    """A row for each network and set of kernels."""
    source, plugin = library_sources(LIBRARY, checkout) if checkout else None, build_plugin(folder)
    programs = {"own": build(machine, folder)}
    if source:
        (folder / LIBRARY).mkdir(exist_ok=True)
        programs[LIBRARY] = build(machine, folder / LIBRARY,
                                  extra=("-DNDEBUG", *source.flags, *map(str, source.files)))  # fmt: skip
    for name in chosen:
        path, content = recorded(networks, name)
        taken: dict[str, float] = {}
        for kernels, program in programs.items():
            own = {"backend": kernels} if kernels == LIBRARY else {}
            compiled = compile_model(path, fast="256K", chip=machine.name, **own)
            blocks, right = counted(machine, program, compiled.data, content, plugin)
            taken[kernels], share = modelled(machine.name, blocks)
            if listed:
                print_blocks(machine.name, blocks)
            macs = sum(op.macs for op in compiled.plan.program.ops)
            yield {
                "network": name, "machine": machine.name, "kernels": kernels, "cycles": round(taken[kernels]),
                "instructions": sum(block.weight for block in blocks), "per_mac": taken[kernels] / macs,
                "modelled": share, "right": right,
                "ratio": f"{taken['own'] / taken[LIBRARY]:.2f}" if kernels == LIBRARY else "",
            }  # fmt: skip


@command
def main() -> int:
    """The command."""
    parser = parser_of(__doc__, "folder", "json", machines=",".join(TRIPLES), models=None)
    parser.add_argument("--cmsis-nn", type=Path, metavar="CHECKOUT", help="compare with the library in this folder")
    parser.add_argument("--blocks", action="store_true", help="also print the hottest blocks")
    options = parser.parse_args()
    if unknown := sorted(set(options.machines) - set(TRIPLES)):
        parser.error(f"--machines: {', '.join(unknown)} has no model here; there are {', '.join(TRIPLES)}")
    rows: list[Row] = []
    with work_folder() as folder:
        for machine in options.machines:
            try:
                rows += measured(MACHINES[machine], folder, options.cmsis_nn, options.folder,
                                 options.models or int8_networks(options.folder), listed=options.blocks)  # fmt: skip
            except NoModel as error:
                print(f"{machine}: cycles unknown: {error}")
    print_table("cycles by llvm-mca, -O2, 256K; ratio: own over the library's", rows, COLUMNS)
    write_json(options.json, rows)
    return 0 if all(row["right"] for row in rows) else 1
