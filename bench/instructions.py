"""Instructions of inference: python -m bench.instructions [--machines …] [--models …] [--budgets …] [--json FILE]

Runs every int8 network of a folder at each budget, and single layers, on emulated machines that count instructions.
Prints tables. Every output is compared with the recorded one, and a network's instructions with the prediction of
`tigris analyze`. Exit status 1 if an output differs, or a prediction is off by more than a tenth.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
import onnx

from bench.emulator import MACHINES, NETWORKS, BenchError, Machine, build, measure, samples
from bench.layers import LAYERS, build_layer
from bench.text import core_text, link_model, small_objects, text_bytes
from tigris_pio import Session, compile_model
from tigris_pio.compiler.pipeline import Compiled
from tigris_pio.compiler.plan.prediction import PROCESSORS, predicted_instructions
from tigris_pio.errors import BudgetError
from tigris_pio.sizes import parse_size

BUDGETS = ("256K", "64K", "32K", "16K")
#: Largest relative error of the prediction for a network.
TOLERANCE = 0.1
SLOW = "1M"  #: given where a network does not fit without
Row = dict[str, Any]


def add_folder(parser: argparse.ArgumentParser) -> None:
    """The option that names other networks than the project's own."""
    text = "of the networks, NAME_int8.onnx with NAME_vectors.npz; default: %(default)s"
    parser.add_argument("--folder", type=Path, default=NETWORKS, help=text)


def int8_networks(folder: Path) -> list[str]:
    """Names of the networks in a folder."""
    names = sorted(path.name.removesuffix("_int8.onnx") for path in folder.glob("*_int8.onnx"))
    if not names:
        raise BenchError(f"{folder} holds no *_int8.onnx")
    return names


def fit(model: Path | onnx.ModelProto, fast: str | None) -> tuple[Compiled, str]:
    """The plan at a budget, and the budget: with slow memory where it does not fit without."""
    try:
        return compile_model(model, fast=fast), fast or "-"
    except BudgetError:
        return compile_model(model, fast=fast, slow=SLOW), f"{fast}+{SLOW}"


def row_of(machine: Machine, program: Path, compiled: Compiled, content: bytes, folder: Path) -> Row:
    """One measurement with its per-operator counts."""
    result = measure(machine, program, compiled.data, content, folder)
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


def networks(machine: Machine, program: Path, choice: Choice, folder: Path) -> Iterator[Row]:
    """Each network at each budget, on its first recorded vector."""
    for name in choice.names:
        data = np.load(choice.networks / f"{name}_vectors.npz")
        content = samples(data["input_q"][0].tobytes(), data["output_tflm_q"][0].tobytes())
        for fast in choice.budgets:
            compiled, budget = fit(choice.networks / f"{name}_int8.onnx", fast)
            yield {"name": name, "budget": budget, **row_of(machine, program, compiled, content, folder)}


def layers(machine: Machine, program: Path, folder: Path) -> Iterator[Row]:
    """Single layers; the host's result is the expected one."""
    for layer in LAYERS:
        compiled, _ = fit(build_layer(layer), None)
        with Session(compiled) as session:
            (source,), (result,) = session.inputs, session.outputs
            x = np.random.default_rng(1).integers(-128, 128, source.stored_shape).astype(np.int8)
            y = session.run_raw({source.name: x})[result.name]
        row = row_of(machine, program, compiled, samples(x.tobytes(), y.tobytes()), folder)
        (only,) = (op for op in row["ops"] if op["macs"])
        yield {"name": layer.name, **row, "per_mac": only["instructions"] / only["macs"]}


def small_text(machine: Machine, kws: Path, folder: Path) -> dict[str, int]:
    """Bytes of code and constants at -Os: loader, executor and memory; all of keyword spotting's program."""
    objects = small_objects(machine, folder)
    compiled = compile_model(kws, fast="64K", name="model")
    program = link_model(machine, objects, compiled, folder)
    return {"core": core_text(machine, objects), "kws": text_bytes(machine, program)}


def print_table(title: str, rows: list[Row], columns: list[tuple[str, str, str]]) -> None:
    """`columns`: heading, key, format."""
    cells = [[heading for heading, _, _ in columns]]
    cells += [[format(row[key], form) for _, key, form in columns] for row in rows]
    widths = [max(len(line[i]) for line in cells) for i in range(len(columns))]
    print(f"\n{title}")
    for line in cells:
        first, *others = (f"{cell:>{width}}" for cell, width in zip(line, widths, strict=True))
        print("  ".join([f"{first.strip():<{widths[0]}}", *others]))


NETWORK_COLUMNS = [
    ("network", "name", ""), ("budget", "budget", ""), ("instructions", "instructions", ",d"),
    ("predicted", "predicted", ",d"), ("off by", "error", "+.1%"), ("per MAC", "per_mac", ".2f"),
    ("open", "open", ",d"), ("init", "init", ",d"),
    ("checksum per byte", "check_per_byte", ".2f"), ("fast", "fast", ",d"),
    ("slow", "slow", ",d"), ("stack", "stack_run", "d"), ("right", "right", ""),
]  # fmt: skip
LAYER_COLUMNS = [("layer", "name", ""), ("MACs", "macs", ",d"), ("per MAC", "per_mac", ".2f"), ("right", "right", "")]
OP_COLUMNS = [("operator", "name", ""), ("kind", "kind", ""), ("instructions", "instructions", ",d"),
              ("MACs", "macs", ",d")]  # fmt: skip


def bench(machine: Machine, choice: Choice, folder: Path) -> Row:
    """All measurements of one machine, printed as they come."""
    program = build(machine, folder)
    text = text_bytes(machine, program)
    found = list(networks(machine, program, choice, folder))
    print_table(f"{machine.name}, -O2, {text:,} bytes of text with every kernel", found, NETWORK_COLUMNS)
    for row in found if choice.with_ops else []:
        print_table(f"{row['name']} at {row['budget']}", row["ops"], OP_COLUMNS)
    small = small_text(machine, choice.networks / "kws_int8.onnx", folder)
    print(f"\n{machine.name}, -Os, bytes of text: {small['core']:,} for loader, executor and memory; "
          f"{small['kws']:,} for all of keyword spotting's program, C library included")
    single = list(layers(machine, program, folder))
    print_table(f"{machine.name}, single layers", single, LAYER_COLUMNS)
    return {"machine": machine.name, "text": text, "small_text": small, "networks": found, "layers": single}


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--machines", default=",".join(MACHINES))
    add_folder(parser)
    parser.add_argument("--models", help="names of networks; default: every int8 one")
    parser.add_argument("--budgets", default=",".join(BUDGETS))
    parser.add_argument("--ops", action="store_true", help="also print the operators of each run")
    parser.add_argument("--json", type=Path, help="also write everything to this file")
    options = parser.parse_args()
    machines = options.machines.split(",")
    if unknown := [name for name in machines if name not in MACHINES]:
        parser.error(f"no machine {', '.join(unknown)}; there are {', '.join(MACHINES)}")
    try:
        names = options.models.split(",") if options.models else int8_networks(options.folder)
        budgets = sorted(options.budgets.split(","), key=parse_size, reverse=True)
        choice = Choice(options.folder, names, budgets, options.ops)
        with tempfile.TemporaryDirectory() as folder:
            results = [bench(MACHINES[name], choice, Path(folder)) for name in machines]
    except BenchError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    if options.json:
        options.json.write_text(json.dumps(results, indent=1) + "\n")
    wrong = [row["name"] for result in results for row in (*result["networks"], *result["layers"]) if not row["right"]]
    if wrong:
        print(f"\nwrong outputs: {', '.join(wrong)}", file=sys.stderr)
    off = [f"{row['name']} at {row['budget']} on {row['machine']}" for result in results for row in result["networks"]
           if abs(row["error"]) > TOLERANCE]  # fmt: skip
    if off:
        print(f"\npredictions off by more than {TOLERANCE:.0%}: {', '.join(off)}", file=sys.stderr)
    return 1 if wrong or off else 0


if __name__ == "__main__":
    sys.exit(main())
