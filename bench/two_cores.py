"""Instructions that a second core saves: python -m bench.two_cores [--models …] [--budgets …] [--folder …]

Counts the instructions of a run on rv32imc on one core, and on the busier of two cores: all calls that are not split,
and the larger half of every split call. The halves run one after the other to be counted. Then both run at the same
time on the two harts of QEMU's `virt`, uncounted. Waking the other core and waiting for it are not counted. Every
output is compared with the recorded one. Exit status 1 if one differs.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bench.emulator import (
    FIRMWARE,
    MACHINES,
    RUNTIME,
    SECTIONS,
    BenchError,
    Machine,
    run_tool,
    runtime_sources,
    samples,
)
from bench.instructions import SLOW, add_folder, print_table
from tigris_pio import compile_model
from tigris_pio.compiler.pipeline import Compiled
from tigris_pio.errors import BudgetError

MODELS, BUDGETS = ("kws", "resnet", "vww"), ("256K", "64K", "32K", "16K")
COLUMNS = [
    ("network", "name", ""), ("budget", "budget", ""), ("one core", "one", ",d"), ("longer of two", "longer", ",d"),
    ("share", "share", ".3f"), ("predicted", "predicted", ".3f"), ("calls", "calls", "d"), ("split", "split", "d"),
    ("on two harts", "shared", "d"),
]  # fmt: skip


def build(folder: Path, runtime: Sequence[Path] = ()) -> Path:
    """The program. runtime: objects of the whole runtime for this machine, if there are some."""
    machine, target = MACHINES["rv32imc"], folder / "two_cores.elf"
    run_tool([
        f"{machine.toolchain}-gcc", *machine.flags, "-O2", "-std=gnu99", *SECTIONS, "-nostartfiles",
        f"-I{RUNTIME / 'include'}", f"-I{FIRMWARE}", str(FIRMWARE / "two_cores.c"), str(FIRMWARE / machine.support),
        *map(str, runtime or runtime_sources()), f"-L{FIRMWARE}", f"-T{FIRMWARE / 'rv32.ld'}", "-Wl,--gc-sections",
        "-lm", "-o", str(target),
    ], timeout=600)  # fmt: skip
    return target


def measure(program: Path, plan: bytes, content: bytes, folder: Path) -> dict[str, int]:
    """The numbers that the program prints: counted on one hart, and with both harts at once."""
    machine = MACHINES["rv32imc"]
    (folder / "plan.bin").write_bytes(plan)
    (folder / "samples.bin").write_bytes(content)
    counted = _run(machine, program, folder, "-icount", "shift=0")
    shared = _run(machine, program, folder, "-smp", "2")
    if "shared" not in shared:
        raise BenchError("the second hart did not come")
    return counted | {"shared": shared["shared"]}


def _run(machine: Machine, program: Path, folder: Path, *how: str) -> dict[str, int]:
    output = run_tool([
        *machine.emulator, "-nographic", "-monitor", "none", "-serial", "stdio", *how, "-kernel", str(program),
        "-device", f"loader,file={folder / 'plan.bin'},addr={machine.plan_address:#x},force-raw=on",
        "-device", f"loader,file={folder / 'samples.bin'},addr={machine.samples_address:#x},force-raw=on",
    ])  # fmt: skip
    words = [line.split() for line in output.splitlines()]
    if not all(len(line) == 2 and line[1].isdigit() for line in words):
        raise BenchError(output)
    return {name: int(value) for name, value in words}


def fit(model: Path, fast: str) -> tuple[Compiled, str]:
    """The plan for two cores at a budget, and the budget: with slow memory where it does not fit without."""
    try:
        return compile_model(model, fast=fast, cores=2), fast
    except BudgetError:
        return compile_model(model, fast=fast, slow=SLOW, cores=2), f"{fast}+{SLOW}"


def row_of(program: Path, networks: Path, name: str, fast: str, folder: Path) -> dict[str, Any]:
    """One line of the table."""
    data = np.load(networks / f"{name}_vectors.npz")
    compiled, budget = fit(networks / f"{name}_int8.onnx", fast)
    content = samples(data["input_q"][0].tobytes(), data["output_tflm_q"][0].tobytes())
    found = measure(program, compiled.data, content, folder)
    predicted = compiled.report["cores"]["predicted_instructions"]["rv32imc"]
    return {
        "name": name, "budget": budget, **found, "share": found["longer"] / found["one"],
        "predicted": predicted / compiled.report["predicted_instructions"]["rv32imc"],
        "calls": sum(stage.bands * (stage.end_op - stage.first_op) for stage in compiled.plan.stages),
    }  # fmt: skip


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_folder(parser)
    parser.add_argument("--models", default=",".join(MODELS))
    parser.add_argument("--budgets", default=",".join(BUDGETS))
    options = parser.parse_args()
    try:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            program = build(folder)
            rows = [row_of(program, options.folder, model, fast, folder)
                    for model in options.models.split(",") for fast in options.budgets.split(",")]  # fmt: skip
            print_table("rv32imc, -O2: instructions of a run", rows, COLUMNS)
    except BenchError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
