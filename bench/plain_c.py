"""Costs of models as plain C: python -m bench.plain_c [--machines …] [--models …] [--float …] [--budgets …]

Runs every int8 network of a folder at each budget, on emulated machines that count instructions, beside the same plan
in the runtime's executor. Float32 networks follow, on machines with floating point, beside onnx2c if TIGRIS_ONNX2C
names its program. Exit status 1 if an int8 output differs from the recorded one, or a float32 output from the
executor's.

text: code and constants without weights, at -Os; RAM: arenas, with input and output
stack: stack of a run; beside: stack without that of the deepest kernel, at -Os
"""

import argparse
import dataclasses
import os
from collections.abc import Iterator
from pathlib import Path

import onnx

from bench.command import Row, command, parser_of, print_table, write_json
from bench.emulator import MACHINES, Machine, build, emulate, measure, numbers, samples, work_folder
from bench.emulator import link as link_with
from bench.float_twin import float_twin
from bench.networks import fit, int8_networks, recorded, smallest
from bench.onnx2c import float_sample, peer_row, sizes_of
from bench.stack import beside_kernels
from tigris_pio import Session, compile_model
from tigris_pio.compiler.codegen.model import model_of
from tigris_pio.compiler.pipeline import Compiled
from tigris_pio.format.enums import Home

BUDGETS = "256K,32K,smallest"
FLOAT_BUDGETS = ("512K", "smallest")
FLOAT_MACHINES = ("cortex-m4", "cortex-m7")
COLUMNS = [("network", "name"), "budget", "instructions", "executor", ("ratio", "ratio", ".4f"), "text",
           ("RAM", "ram"), ("plan's RAM", "plan_ram"), ("stack", "stack_run"),
           ("executor's", "executor_stack"), "beside", "right"]  # fmt: skip


def link(machine: Machine, compiled: Compiled, folder: Path, optimise: str = "-O2") -> Path:
    """The harness with the model; the executor's is at -O2."""
    generated = compiled.codegen(folder, "model")
    model = model_of(compiled.plan, "model", False, False)
    regions = {
        side: "slow" if model.home(io.record.tensor) is Home.SLOW else "fast"
        for side, (io,) in (("INPUT", model.inputs), ("OUTPUT", model.outputs))
    }
    sources = [folder / name for name in generated.files if name.endswith(".c")]
    flags = [f"-DARENA_OF_{side}={name}" for side, name in regions.items()]
    return link_with(machine, folder / "model.elf", "plain_c.c", *flags, f"-I{folder}", *sources, optimise=optimise)


def run(machine: Machine, program: Path, content: bytes, folder: Path) -> dict[str, int]:
    """The numbers that the firmware prints."""
    return numbers(emulate(machine, program, content=content, folder=folder))


def sizes(machine: Machine, compiled: Compiled, folder: Path) -> dict[str, int]:
    """Code and constants without weights, and stack without that of the deepest kernel, at -Os."""
    model = model_of(compiled.plan, "model", False, False)
    text, variables = sizes_of(machine, folder / "model.c", r"\w model_weights", "-fcallgraph-info=su")
    beside = beside_kernels(folder / "model.ci", "model_run", model.kernels.functions.values())
    return {"text": text + variables, "beside": beside}


@dataclasses.dataclass(frozen=True)
class Network:
    """A model, and its first input with the output expected for it. recorded: by another program, to the bit."""

    name: str
    path: Path
    content: bytes
    recorded: bool


def int8_network(name: str, options: argparse.Namespace) -> Network:
    """One of the folder's."""
    return Network(name, *recorded(options.folder, name), True)


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
    compiled, budget = fit(network.path, str(smallest(network.path)) if wanted == "smallest" else wanted)
    plan = measure(machine, executor, compiled.data, network.content)
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


@command
def main() -> int:
    """The command."""
    parser = parser_of(__doc__, "folder", "json", machines="rv32imc,cortex-m4", models=None, float="kws,resnet,vww",
                       budgets=BUDGETS)  # fmt: skip
    options = parser.parse_args()
    options.float_budgets = FLOAT_BUDGETS if options.budgets == BUDGETS.split(",") else options.budgets
    if options.models is None:
        options.models = int8_networks(options.folder)
    with work_folder() as folder:
        found = [row for name in options.machines for row in bench(MACHINES[name], options, folder)]
    write_json(options.json, found)
    return 0 if all(row["right"] for row in found) else 1
