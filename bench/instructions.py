"""Instructions of inference: python -m bench.instructions [--machines …] [--models …] [--budgets …] [--json FILE]

Runs every int8 network of a folder at each budget, and single layers, on emulated machines that count instructions.
Prints tables. Every output is compared with the recorded one, and a network's instructions with the prediction of
`tigris analyze`. Exit status 1 if an output differs, or a prediction is off by more than a tenth.
"""

import dataclasses
import sys
from collections.abc import Iterator
from pathlib import Path

from bench.command import Row, command, parser_of, print_table, write_json
from bench.emulator import MACHINES, Machine, build, measure, work_folder
from bench.layers import LAYERS, build_layer
from bench.networks import content_of, fit, int8_networks, recorded
from bench.text import core_text, link_model, small_objects, text_bytes
from tigris_pio import compile_model
from tigris_pio.compiler.pipeline import Compiled
from tigris_pio.compiler.plan.prediction import PROCESSORS, predicted_instructions
from tigris_pio.sizes import parse_size

#: Largest relative error of the prediction for a network.
TOLERANCE = 0.1


def row_of(machine: Machine, program: Path, compiled: Compiled, content: bytes) -> Row:
    """One measurement with its per-operator counts."""
    result = measure(machine, program, compiled.data, content)
    ops = compiled.plan.program.ops
    macs = sum(op.macs for op in ops)
    predicted = predicted_instructions(compiled.plan, machine.name) if machine.name in PROCESSORS else None
    return {
        "machine": machine.name, "macs": macs, "instructions": result.run, "predicted": predicted,
        "error": predicted / result.run - 1 if predicted else None, "per_mac": result.run / max(1, macs),
        "open": result.open, "check": result.check, "check_per_byte": result.check / len(compiled.data),
        "init": result.init, "stack_init": result.stack_init, "stack_run": result.stack_run,
        "fast": result.fast, "slow": result.slow, "right": result.right,
        "ops": [{"name": op.name, "kind": op.kind.name, "macs": op.macs, "instructions": count}
                for op, count in zip(ops, result.ops, strict=True)],
    }  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Choice:
    """The chosen networks, budgets and folder."""

    networks: Path
    names: list[str]
    budgets: list[str]
    with_ops: bool


def networks(machine: Machine, program: Path, choice: Choice) -> Iterator[Row]:
    """Each network at each budget, on its first recorded vector."""
    for name in choice.names:
        network, content = recorded(choice.networks, name)
        for fast in choice.budgets:
            compiled, budget = fit(network, fast, chip=machine.chip)
            yield {"name": name, "budget": budget, **row_of(machine, program, compiled, content)}


def layers(machine: Machine, program: Path) -> Iterator[Row]:
    """Single layers; the host's result is the expected one."""
    for layer in LAYERS:
        compiled, _ = fit(build_layer(layer), None, chip=machine.chip)
        row = row_of(machine, program, compiled, content_of(compiled))
        (only,) = (op for op in row["ops"] if op["macs"])
        yield {"name": layer.name, **row, "per_mac": only["instructions"] / only["macs"]}


def small_text(machine: Machine, kws: Path, folder: Path) -> dict[str, int]:
    """Bytes of code and constants at -Os: loader, executor and memory; all of keyword spotting's program."""
    objects = small_objects(machine, folder)
    compiled = compile_model(kws, fast="64K", name="model", chip=machine.chip)
    program = link_model(machine, objects, compiled, folder)
    return {"core": core_text(machine, objects), "kws": text_bytes(machine, program)}


NETWORK_COLUMNS = [("network", "name"), "budget", "instructions", "predicted", ("off by", "error", "+.1%"),
                   ("per MAC", "per_mac", ".2f"), "open", "init", ("checksum per byte", "check_per_byte", ".2f"),
                   "fast", "slow", ("stack", "stack_run"), "right"]  # fmt: skip
LAYER_COLUMNS = [("layer", "name"), ("MACs", "macs"), ("per MAC", "per_mac", ".2f"), "right"]
OP_COLUMNS = [("operator", "name"), "kind", "instructions", ("MACs", "macs")]


def bench(machine: Machine, choice: Choice, folder: Path) -> Row:
    """All measurements of one machine, printed as they come."""
    program = build(machine, folder)
    text = text_bytes(machine, program)
    found = list(networks(machine, program, choice))
    print_table(f"{machine.name}, -O2, {text:,} bytes of text with every kernel", found, NETWORK_COLUMNS)
    for row in found if choice.with_ops else []:
        print_table(f"{row['name']} at {row['budget']}", row["ops"], OP_COLUMNS)
    small = small_text(machine, choice.networks / "kws_int8.onnx", folder)
    print(f"\n{machine.name}, -Os, bytes of text: {small['core']:,} for loader, executor and memory; "
          f"{small['kws']:,} for all of keyword spotting's program, C library included")
    single = list(layers(machine, program))
    print_table(f"{machine.name}, single layers", single, LAYER_COLUMNS)
    return {"machine": machine.name, "text": text, "small_text": small, "networks": found, "layers": single}


@command
def main() -> int:
    """The command."""
    parser = parser_of(__doc__, "folder", "json", machines=",".join(MACHINES), models=None, budgets="256K,64K,32K,16K")
    parser.add_argument("--ops", action="store_true", help="also print the operators of each run")
    options = parser.parse_args()
    budgets = sorted(options.budgets, key=parse_size, reverse=True)
    choice = Choice(options.folder, options.models or int8_networks(options.folder), budgets, options.ops)
    with work_folder() as folder:
        results = [bench(MACHINES[name], choice, folder) for name in options.machines]
    write_json(options.json, results)
    wrong = [row["name"] for result in results for row in (*result["networks"], *result["layers"]) if not row["right"]]
    if wrong:
        print(f"\nwrong outputs: {', '.join(wrong)}", file=sys.stderr)
    off = [f"{row['name']} at {row['budget']} on {row['machine']}" for result in results for row in result["networks"]
           if abs(row["error"]) > TOLERANCE]  # fmt: skip
    if off:
        print(f"\npredictions off by more than {TOLERANCE:.0%}: {', '.join(off)}", file=sys.stderr)
    return 1 if wrong or off else 0
