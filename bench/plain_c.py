"""Costs of models as plain C: python -m bench.plain_c [--machines …] [--models …] [--float …] [--budgets …]

Runs every int8 network of a folder at each budget, on emulated machines that count instructions, beside the same plan
in the runtime's executor. Float32 networks follow, on machines with floating point, beside onnx2c if TIGRIS_ONNX2C
names its program. Exit status 1 if an int8 output differs from the recorded one, or a float32 output from the
executor's.

text: code and constants without weights, at -Os; RAM: arenas, with input and output
stack: stack of a run; beside: stack without that of the deepest kernel, at -Os
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
import onnx

from bench.emulator import FIRMWARE, MACHINES, SECTIONS, BenchError, Machine, build, measure, run_tool, samples
from bench.float_twin import float_twin
from bench.instructions import Row, add_folder, fit, int8_networks, print_table
from bench.onnx2c import float_sample, peer_row
from bench.stack import beside_kernels
from tigris_pio import Session, compile_model
from tigris_pio.compiler.codegen.model import model_of
from tigris_pio.compiler.pipeline import Compiled
from tigris_pio.format.enums import Home

BUDGETS = ("256K", "32K", "smallest")
FLOAT_BUDGETS = ("512K", "smallest")
FLOAT_MACHINES = ("cortex-m4", "cortex-m7")
COLUMNS = [
    ("network", "name", ""), ("budget", "budget", ""), ("instructions", "instructions", ",d"),
    ("executor", "executor", ",d"), ("ratio", "ratio", ".4f"), ("text", "text", ",d"), ("RAM", "ram", ",d"),
    ("plan's RAM", "plan_ram", ",d"), ("stack", "stack_run", "d"), ("executor's", "executor_stack", "d"),
    ("beside", "beside", "d"), ("right", "right", ""),
]  # fmt: skip


def compiler(machine: Machine) -> list[str]:
    """The command for a machine."""
    return [f"{machine.toolchain}-gcc", *machine.flags, "-std=gnu99", *SECTIONS]


def link(machine: Machine, compiled: Compiled, folder: Path, optimise: str = "-O2") -> Path:
    """The harness with the model; the executor's is at -O2."""
    generated = compiled.codegen(folder, "model")
    model = model_of(compiled.plan, "model", False, False)
    regions = {
        side: "slow" if model.home(io.record.tensor) is Home.SLOW else "fast"
        for side, (io,) in (("INPUT", model.inputs), ("OUTPUT", model.outputs))
    }
    target = folder / "model.elf"
    run_tool([
        *compiler(machine), optimise, "-nostartfiles", *(f"-DARENA_OF_{side}={name}" for side, name in regions.items()),
        f"-I{FIRMWARE}", f"-I{folder}", *(str(folder / name) for name in generated.files if name.endswith(".c")),
        str(FIRMWARE / "plain_c.c"), str(FIRMWARE / machine.support), f"-L{FIRMWARE}", f"-T{FIRMWARE / machine.script}",
        "-Wl,--gc-sections", "-lm", "-o", str(target),
    ])  # fmt: skip
    return target


def run(machine: Machine, program: Path, content: bytes, folder: Path) -> dict[str, int]:
    """The numbers that the firmware prints."""
    path = folder / "samples.bin"
    path.write_bytes(content)
    output = run_tool([
        *machine.emulator, "-nographic", "-monitor", "none", "-serial", "stdio", "-icount", "shift=0",
        "-semihosting-config", "enable=on,target=native", "-kernel", str(program),
        "-device", f"loader,file={path},addr={machine.samples_address:#x},force-raw=on",
    ])  # fmt: skip
    return {words[0]: int(words[1]) for line in output.splitlines() if len(words := line.split()) == 2}


def sizes(machine: Machine, compiled: Compiled, folder: Path) -> dict[str, int]:
    """Code and constants without weights, and stack without that of the deepest kernel, at -Os."""
    model = model_of(compiled.plan, "model", False, False)
    target = folder / "model.o"
    flags = ["-Os", "-fcallgraph-info=su"]
    run_tool([*compiler(machine), *flags, "-c", str(folder / "model.c"), "-o", str(target)], folder)
    lines = run_tool([f"{machine.toolchain}-size", str(target)]).splitlines()
    text, data, bss = (int(value) for value in lines[1].split()[:3])
    symbols = run_tool([f"{machine.toolchain}-nm", "-S", str(target)])
    weights = sum(int(size, 16) for size in re.findall(r"^\w+ (\w+) . model_weights$", symbols, re.MULTILINE))
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


@dataclasses.dataclass(frozen=True)
class Network:
    """A model, and its first input with the output expected for it. recorded: by another program, to the bit."""

    name: str
    path: Path
    content: bytes
    recorded: bool


def int8_network(name: str, options: argparse.Namespace) -> Network:
    """One of the folder's."""
    data = np.load(options.folder / f"{name}_vectors.npz")
    content = samples(data["input_q"][0].tobytes(), data["output_tflm_q"][0].tobytes())
    return Network(name, options.folder / f"{name}_int8.onnx", content, True)


def float_network(name: str, options: argparse.Namespace, folder: Path) -> Network:
    """The folder's, or else its int8 one as float32. Expected is what onnxruntime gives."""
    path = options.folder / f"{name}_fp32.onnx"
    if not path.exists():
        path = folder / f"{name}_fp32.onnx"
        onnx.save(float_twin(options.folder / f"{name}_int8.onnx"), path)
    x, y = float_sample(path)
    with Session(compile_model(path)) as session:
        stored = session.inputs[0].to_stored(x)
    return Network(f"{name}_fp32", path, samples(stored.tobytes(), y.tobytes()), False)


def row(machine: Machine, executor: Path, network: Network, wanted: str, folder: Path) -> Row:
    """A network at a budget."""
    compiled, budget = fit(network.path, budget_of(network.path, wanted))
    plan = measure(machine, executor, compiled.data, network.content, folder)
    result = run(machine, link(machine, compiled, folder), network.content, folder)
    generated = compiled.codegen(None, "model")
    same = result["output"] == plan.output
    return {
        "machine": machine.name, "name": network.name, "budget": budget, "instructions": result["run"],
        "executor": plan.run, "ratio": result["run"] / plan.run, "ram": generated.fast_bytes + generated.slow_bytes,
        "plan_ram": compiled.plan.fast_bytes + compiled.plan.slow_bytes, "stack_run": result["stack_run"],
        "executor_stack": plan.stack_run, "right": same and (result["right"] == 1 or not network.recorded),
        **sizes(machine, compiled, folder),
    }  # fmt: skip


def float_rows(machine: Machine, executor: Path, options: argparse.Namespace, folder: Path) -> Iterator[Row]:
    """Each network as float32, and what onnx2c makes of it."""
    for name in options.float:
        network = float_network(name, options, folder)
        found = [row(machine, executor, network, budget, folder) for budget in options.float_budgets]
        if program := os.environ.get("TIGRIS_ONNX2C"):
            found.append(peer_row(machine, Path(program), network.name, network.path, found[0]["executor"], folder))
        yield from found


def bench(machine: Machine, options: argparse.Namespace, folder: Path) -> list[Row]:
    """All rows of one machine, printed."""
    executor = build(machine, folder)
    found = [row(machine, executor, int8_network(name, options), budget, folder)
             for name in options.models for budget in options.budgets]  # fmt: skip
    if found:
        print_table(f"{machine.name}: plain C", found, COLUMNS)
    real = list(float_rows(machine, executor, options, folder)) if machine.name in FLOAT_MACHINES else []
    if real:
        print_table(f"{machine.name}: plain C, float32", real, COLUMNS)
    return found + real


def names_of(text: str | None, default: Sequence[str]) -> list[str]:
    """An option's list; '-' is an empty one."""
    return list(default) if text is None else [name for name in text.split(",") if name != "-"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--machines", default="rv32imc,cortex-m4")
    add_folder(parser)
    parser.add_argument("--models", help="names of int8 networks, or - for none; default: all")
    parser.add_argument("--float", default="kws,resnet,vww", help="names of float32 networks; default: %(default)s")
    parser.add_argument("--budgets", default=",".join(BUDGETS))
    parser.add_argument("--json", type=Path, help="also write everything to this file")
    options = parser.parse_args()
    machines = options.machines.split(",")
    if unknown := [name for name in machines if name not in MACHINES]:
        parser.error(f"no machine {', '.join(unknown)}; there are {', '.join(MACHINES)}")
    options.float_budgets = FLOAT_BUDGETS if options.budgets == ",".join(BUDGETS) else options.budgets.split(",")
    options.budgets = options.budgets.split(",")
    found: list[Row] = []
    try:
        options.models = names_of(options.models, int8_networks(options.folder))
        options.float = names_of(options.float, ())
        with tempfile.TemporaryDirectory() as name:
            for machine in (MACHINES[name] for name in machines):
                found += bench(machine, options, Path(name))
    except BenchError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    if options.json:
        options.json.write_text(json.dumps(found, indent=1) + "\n")
    return 0 if all(row["right"] for row in found) else 1


if __name__ == "__main__":
    sys.exit(main())
