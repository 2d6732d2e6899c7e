"""Calibrates what kernel libraries cost: python -m bench.calibrate_libraries [--cmsis-nn CHECKOUT] [--esp-nn CHECKOUT]
    [--pie]

Runs the int8 networks at three budgets and single layers, planned for a library, on emulated machines that count
instructions. The command fits the instructions of each step of the library's kernels
(tigris_pio/compiler/instructions/libraries.py) and prints the error of the model.

- ESP-NN, ESP32-S3: an interpreter counts the assembly of single kernels; the C around it is estimated
  (bench/xtensa/esp_nn_cases.py).
- ESP-NN, ESP32-P4: an interpreter counts whole kernels (bench/riscv).
- `--pie`: the runtime's own kernels for the ESP32-S3. Their assembly is interpreted; rv32imc counts the C around it.

`--write` writes the coefficients to tigris_pio/compiler/instructions/counted_libraries.py and keeps those of a library
that is not given. Takes some minutes.
"""

from __future__ import annotations

import argparse
import dataclasses
import itertools
import math
import sys
import tempfile
import textwrap
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
import onnx

from bench.calibration_cases import SHAPES, Subject, content_of
from bench.emulator import FIRMWARE, MACHINES, NETWORKS, ROOT, BenchError, build, measure
from bench.fit import fit
from bench.layers import build_layer
from bench.libraries import Sources, library_sources
from bench.riscv import whole
from bench.riscv.esp_nn import CHIP as ESP32P4
from bench.xtensa import whole as xtensa
from bench.xtensa.esp_nn_cases import LAYERS, counted
from bench.xtensa.esp_nn_cases import MACHINE as ESP32S3
from tigris_pio import compile_model
from tigris_pio.compiler.instructions.call import Call
from tigris_pio.compiler.instructions.counted_libraries import LIBRARY_COEFFICIENTS
from tigris_pio.compiler.instructions.libraries import library_name_of, library_work_of
from tigris_pio.compiler.ir.plan import ExecutionPlan
from tigris_pio.compiler.ir.program import ProgramOp
from tigris_pio.compiler.pipeline import Compiled
from tigris_pio.compiler.plan.band.calls import plan_stage_calls
from tigris_pio.errors import BudgetError

MODULE = ROOT / "tigris_pio" / "compiler" / "instructions" / "counted_libraries.py"
#: Emulated machines by library, each with the chip that plans are made for.
EMULATED: Mapping[str, Mapping[str, str]] = {
    "cmsis-nn": {"cortex-m4": "cortex-m4", "cortex-m7": "cortex-m7", "cortex-m55": "cortex-m55", "rv32imc": "esp32c3"},
    "esp-nn": {"rv32imc": "esp32c3"},
}
BUDGETS = ("256K", "24K", "10K")
_LARGE = ("resnet", "vww", "person_detect")
#: Coefficients below are what rounding left of none.
_LEAST = 1e-6
Row = dict[str, Any]
Coefficients = Mapping[str, Mapping[str, float]]


def models() -> Iterator[Subject]:
    """Networks and layers."""
    for path in sorted(NETWORKS.glob("*_int8.onnx")):
        name = path.name.removesuffix("_int8.onnx")
        yield Subject(name, "int8", onnx.load(path), BUDGETS, np.load(NETWORKS / f"{name}_vectors.npz")["input_f32"][0])
    for layer in SHAPES:
        yield Subject(layer.name, "int8", build_layer(layer), ("512K",))


def plans(subject: Subject, library: str, chip: str) -> Iterator[Compiled]:
    """The budgets in which the subject fits without slow memory."""
    for budget in subject.budgets:
        try:
            yield compile_model(subject.model, fast=budget, backend=library, chip=chip)
        except BudgetError:
            continue


def calls_of(plan: ExecutionPlan) -> Iterator[tuple[int, ProgramOp, dict[str, float]]]:
    """Of each operator that the library runs its place, itself and what a run does."""
    for stage in plan.stages:
        found = plan_stage_calls(plan, stage)
        for step, counts in enumerate(found.calls, stage.first_op):
            op = plan.program.ops[step]
            if not op.backend:
                continue
            work: dict[str, float] = defaultdict(float)
            for rows, count in counts.items():
                for name, amount in library_work_of(Call.of(op, plan.program.tensors, rows)).items():
                    work[name] += amount * count * op.images
            yield step, op, dict(work)


def emulated(library: str, machine: str, chip: str, source: Sources, folder: Path) -> Iterator[Row]:
    """A row for each operator that the library ran."""
    extra = ("-DNDEBUG", *source.flags, *map(str, source.files))
    program = build(MACHINES[machine], folder, extra=extra)
    for subject in models():
        for compiled in plans(subject, library, chip):
            result = measure(MACHINES[machine], program, compiled.data, content_of(subject, compiled), folder)
            if not result.right:
                raise BenchError(f"{library} on {machine}: {subject.name} is wrong")
            for step, op, work in calls_of(compiled.plan):
                kernel = library_name_of(Call.of(op, compiled.plan.program.tensors))
                yield {"model": subject.name, "kernel": kernel, "work": work, "counted": result.ops[step]}


def interpreted(checkout: Path, folder: Path) -> Iterator[Row]:
    """Rows for the ESP32-P4: networks at one budget, and small layers."""
    program = whole.build(folder, checkout)
    subjects = [subject for subject in models() if " " not in subject.name]
    subjects += [Subject(layer.name, "int8", build_layer(layer), BUDGETS[:1]) for layer in LAYERS]
    for subject in subjects:
        compiled = compile_model(subject.model, fast=BUDGETS[0], backend="esp-nn", chip=ESP32P4)
        size = math.prod(compiled.plan.program.inputs[0].stored_shape)
        found = whole.run(program, checkout, compiled.data, bytes(size))
        if found.status != 0:
            raise BenchError(f"{subject.name} on {ESP32P4}: status {found.status}")
        for step, op, work in calls_of(compiled.plan):
            kernel = library_name_of(Call.of(op, compiled.plan.program.tensors))
            yield {"model": subject.name, "kernel": kernel, "work": work, "counted": found.instructions[step]}


def own_kernels(folder: Path) -> Iterator[Row]:
    """Rows for the runtime's own kernels on the ESP32-S3. Large networks are counted at one budget."""
    assembly, machine = xtensa.build(folder), MACHINES["rv32imc"]
    flags = ("-DNDEBUG", "-DTIGRIS_PIE", "-DTIGRIS_DEFAULT_BACKEND=tigris_pie_backend")
    around = build(machine, folder, extra=(*flags, str(FIRMWARE / "pie_nothing.c")))
    for subject in models():
        small = subject if subject.name not in _LARGE else dataclasses.replace(subject, budgets=BUDGETS[:1])
        for compiled in plans(small, "pie", ESP32S3):
            size = math.prod(compiled.plan.program.inputs[0].stored_shape)
            found = xtensa.run(assembly, compiled.data, bytes(size)).instructions
            ops = measure(machine, around, compiled.data, content_of(subject, compiled), folder).ops
            for step, op, work in calls_of(compiled.plan):
                kernel = library_name_of(Call.of(op, compiled.plan.program.tensors))
                counted = ops[step] + found[step]
                yield {"model": subject.name, "kernel": kernel, "work": work, "counted": counted}


def coefficients(rows: Sequence[Row]) -> dict[str, dict[str, float]]:
    """The coefficients of one library on one machine, by kernel."""
    found = {}
    for kernel, group in itertools.groupby(sorted(rows, key=lambda row: row["kernel"]), lambda row: row["kernel"]):
        ops = list(group)
        names = list(dict.fromkeys(name for op in ops for name in op["work"]))
        found[kernel] = fit([op["work"] for op in ops], [op["counted"] for op in ops], names)
    return found


def print_errors(library: str, machine: str, rows: Sequence[Row], known: Coefficients) -> None:
    """Prints the error of the model: for the operators of each kernel, and for each network."""
    by_kernel: dict[str, list[float]] = defaultdict(list)
    by_network: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])
    for row in rows:
        guess = sum(known[row["kernel"]].get(name, 0.0) * amount for name, amount in row["work"].items())
        by_kernel[row["kernel"]].append(abs(guess / row["counted"] - 1))
        if " " not in row["model"]:
            by_network[row["model"]][0] += guess
            by_network[row["model"]][1] += row["counted"]
    for kernel, errors in by_kernel.items():
        print(f"{library:9}{machine:11}{kernel:22}{len(errors):4} times, off by {np.mean(errors):6.1%} on average, "
              f"{max(errors):6.1%} at most")  # fmt: skip
    for name, (guess, count) in by_network.items():
        print(f"{library:9}{machine:11}{name:22}{count:14,.0f}{guess:14,.0f}{guess / count - 1:8.1%}")


def module(known: Mapping[str, Mapping[str, Coefficients]], notes: Sequence[str]) -> str:
    """The source of counted_libraries.py."""
    lines = [
        '"""Instructions that kernels of libraries take, by library, machine, kernel and what is done. Generated.',
        "",
        "Written by `python -m bench.calibrate_libraries --write`:",
        *notes,
        '"""',
        "",
        "from __future__ import annotations",
        "",
        "from collections.abc import Mapping",
        "",
        "LIBRARY_COEFFICIENTS: Mapping[str, Mapping[str, Mapping[str, Mapping[str, float]]]] = {",
    ]
    for library, by_machine in sorted(known.items()):
        lines.append(f'    "{library}": {{')
        for machine, kernels in by_machine.items():
            lines.append(f'        "{machine}": {{')
            for kernel, values in kernels.items():
                parts = (f'"{name}": {value:g},' for name, value in values.items() if value >= _LEAST)
                text = " ".join(part.replace(" ", "\0") for part in parts)
                lines.append(f'            "{kernel}": {{')
                wrapped = textwrap.wrap(text, 119, initial_indent=" " * 16, subsequent_indent=" " * 16)
                lines += [line.replace("\0", " ") for line in wrapped]
                lines.append("            },")
            lines.append("        },")
        lines.append("    },")
    return "\n".join([*lines, "}", ""])


def calibrated(library: str, checkout: Path) -> dict[str, Coefficients]:
    """By machine."""
    found: dict[str, Coefficients] = {}
    for machine, chip in EMULATED[library].items():
        with tempfile.TemporaryDirectory() as folder:
            rows = list(emulated(library, machine, chip, library_sources(library, checkout), Path(folder)))
        found[machine] = coefficients(rows)
        print_errors(library, machine, rows, found[machine])
    if library == "esp-nn":
        rows = list(counted(checkout))
        found[ESP32S3] = coefficients(rows)
        print_errors(library, ESP32S3, rows, found[ESP32S3])
        with tempfile.TemporaryDirectory() as folder:
            rows = list(interpreted(checkout, Path(folder)))
        found[ESP32P4] = coefficients(rows)
        print_errors(library, ESP32P4, rows, found[ESP32P4])
    return found


#: What was counted, and how, of the checkouts that the coefficients in the file come from.
NOTES = {
    "cmsis-nn": "at commit 99f736a6 (July 2026), counted under QEMU with gcc -O2 on 2026-11-23; cortex-m55 with MVE",
    "esp-nn": "1.2.3, on 2026-11-23; rv32imc: C under QEMU; esp32s3: assembly interpreted, C estimated; "
    "esp32p4: interpreted",
    "pie": "on 2026-11-27; assembly interpreted, the C around it counted as rv32imc's under QEMU",
}


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for library in EMULATED:
        parser.add_argument(f"--{library}", type=Path, metavar="CHECKOUT", dest=library)
    parser.add_argument("--pie", action="store_true", help="count the runtime's own kernels for the ESP32-S3")
    parser.add_argument("--write", action="store_true", help=f"write {MODULE.name}")
    options = vars(parser.parse_args())
    known = dict(LIBRARY_COEFFICIENTS)
    try:
        for library in EMULATED:
            if options[library]:
                known[library] = calibrated(library, options[library])
        if options["pie"]:
            with tempfile.TemporaryDirectory() as folder:
                rows = list(own_kernels(Path(folder)))
            known["pie"] = {ESP32S3: coefficients(rows)}
            print_errors("pie", ESP32S3, rows, known["pie"][ESP32S3])
    except BenchError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    if options["write"]:
        MODULE.write_text(module(known, [f"{library} {note}." for library, note in NOTES.items()]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
