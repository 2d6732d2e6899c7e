"""What models cost as plain C: python -m bench.plain_c [--machines …] [--models …] [--budgets …] [--json FILE]

Every int8 network of a folder at each budget, on emulated machines that count instructions, beside the same plan in the
runtime's executor. Exit status 1 if an output differs from the recorded one.

text: code and constants without weights, at -Os; RAM: arenas, input and output among them
stack: all that a run took; beside: what it takes beyond the deepest kernel's own, at -Os
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np

from bench.emulator import FIRMWARE, MACHINES, SECTIONS, BenchError, Machine, build, measure, run_tool, samples
from bench.instructions import Row, add_folder, fit, int8_networks, print_table
from bench.stack import beside_kernels
from tigris_pio.compiler.codegen.model import model_of
from tigris_pio.compiler.pipeline import Compiled
from tigris_pio.format.enums import Home

BUDGETS = ("256K", "32K", "smallest")
COLUMNS = [
    ("network", "name", ""), ("budget", "budget", ""), ("instructions", "instructions", ",d"),
    ("executor", "executor", ",d"), ("ratio", "ratio", ".4f"), ("text", "text", ",d"), ("RAM", "ram", ",d"),
    ("plan's RAM", "plan_ram", ",d"), ("stack", "stack_run", "d"), ("executor's", "executor_stack", "d"),
    ("beside", "beside", "d"), ("right", "right", ""),
]  # fmt: skip


def compiler(machine: Machine) -> list[str]:
    """The command for a machine."""
    return [f"{machine.toolchain}-gcc", *machine.flags, "-std=gnu99", *SECTIONS]


def link(machine: Machine, compiled: Compiled, folder: Path) -> Path:
    """The harness with the model, at -O2 like the executor's."""
    generated = compiled.codegen(folder, "model")
    model = model_of(compiled.plan, "model", False, False)
    regions = {
        side: "slow" if model.home(port.io.tensor) is Home.SLOW else "fast"
        for side, (port,) in (("INPUT", model.inputs), ("OUTPUT", model.outputs))
    }
    script = "rv32.ld" if machine.support == "rv32.c" else f"cortex_{machine.name[-2:]}.ld"
    target = folder / "model.elf"
    run_tool([
        *compiler(machine), "-O2", "-nostartfiles", *(f"-DARENA_OF_{side}={name}" for side, name in regions.items()),
        f"-I{FIRMWARE}", f"-I{folder}", *(str(folder / name) for name in generated.files if name.endswith(".c")),
        str(FIRMWARE / "plain_c.c"), str(FIRMWARE / machine.support), f"-L{FIRMWARE}", f"-T{FIRMWARE / script}",
        "-Wl,--gc-sections", "-lm", "-o", str(target),
    ])  # fmt: skip
    return target


def run(machine: Machine, program: Path, content: bytes, folder: Path) -> dict[str, int]:
    """What the harness prints."""
    path = folder / "samples.bin"
    path.write_bytes(content)
    output = run_tool([
        *machine.emulator, "-nographic", "-monitor", "none", "-serial", "stdio", "-icount", "shift=0",
        "-semihosting-config", "enable=on,target=native", "-kernel", str(program),
        "-device", f"loader,file={path},addr={machine.samples_address:#x},force-raw=on",
    ])  # fmt: skip
    return {words[0]: int(words[1]) for line in output.splitlines() if len(words := line.split()) == 2}


def sizes(machine: Machine, compiled: Compiled, folder: Path) -> dict[str, int]:
    """Text without weights, and stack beside the deepest kernel's, at -Os."""
    model = model_of(compiled.plan, "model", False, False)
    target = folder / "model.o"
    flags = ["-Os", "-fcallgraph-info=su"]
    run_tool([*compiler(machine), *flags, "-c", str(folder / "model.c"), "-o", str(target)], folder)
    lines = run_tool([f"{machine.toolchain}-size", str(target)]).splitlines()
    text, data, bss = (int(value) for value in lines[1].split()[:3])
    symbols = run_tool([f"{machine.toolchain}-nm", "-S", str(target)])
    weights = sum(int(size, 16) for size in re.findall(r"^\w+ (\w+) . model_weights_\d+$", symbols, re.MULTILINE))
    beside = beside_kernels(target.with_suffix(".ci"), "model_run", model.kernels.functions.values())
    return {"text": text + data + bss - weights, "beside": beside}


def budget_of(model: Path, budget: str) -> str:
    """A size, or the smallest fast memory that a network works in."""
    if budget != "smallest":
        return budget
    command = [sys.executable, "-m", "tigris_pio", "analyze", str(model), "-m", "64", "--json"]
    said = json.loads(subprocess.run(command, capture_output=True, text=True, check=False).stdout)
    found = re.search(r"smallest fast memory that works is (\d+) bytes", said["reason"])
    if found is None:
        raise BenchError(f"{model}: no smallest memory is named")
    return found[1]


def rows(machine: Machine, executor: Path, options: argparse.Namespace, folder: Path) -> Iterator[Row]:
    """Each network at each budget, on its first recorded vector."""
    for name in options.models:
        data = np.load(options.folder / f"{name}_vectors.npz")
        content = samples(data["input_q"][0].tobytes(), data["output_tflm_q"][0].tobytes())
        for wanted in options.budgets:
            path = options.folder / f"{name}_int8.onnx"
            compiled, budget = fit(path, budget_of(path, wanted))
            plan = measure(machine, executor, compiled.data, content, folder)
            result = run(machine, link(machine, compiled, folder), content, folder)
            generated = compiled.codegen(None, "model")
            yield {
                "machine": machine.name, "name": name, "budget": budget, "instructions": result["run"],
                "executor": plan.run, "ratio": result["run"] / plan.run,
                "ram": generated.fast_bytes + generated.slow_bytes,
                "plan_ram": compiled.plan.fast_bytes + compiled.plan.slow_bytes, "stack_run": result["stack_run"],
                "executor_stack": plan.stack_run, "right": result["right"] == 1, **sizes(machine, compiled, folder),
            }  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--machines", default="rv32imc,cortex-m4")
    add_folder(parser)
    parser.add_argument("--models", help="networks, by name; default: every int8 one")
    parser.add_argument("--budgets", default=",".join(BUDGETS))
    parser.add_argument("--json", type=Path, help="also write everything to this file")
    options = parser.parse_args()
    machines = options.machines.split(",")
    if unknown := [name for name in machines if name not in MACHINES]:
        parser.error(f"no machine {', '.join(unknown)}; there are {', '.join(MACHINES)}")
    options.budgets = options.budgets.split(",")
    found: list[Row] = []
    try:
        options.models = options.models.split(",") if options.models else int8_networks(options.folder)
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            for machine in (MACHINES[name] for name in machines):
                executor = build(machine, folder)
                these = list(rows(machine, executor, options, folder))
                print_table(f"{machine.name}: plain C", these, COLUMNS)
                found += these
    except BenchError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    if options.json:
        options.json.write_text(json.dumps(found, indent=1) + "\n")
    return 0 if all(row["right"] for row in found) else 1


if __name__ == "__main__":
    sys.exit(main())
