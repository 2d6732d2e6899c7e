"""Calibrates what kernel libraries cost: python -m bench.calibrate_libraries [--cmsis-nn CHECKOUT] [--esp-nn CHECKOUT]
    [--pie] [--mve]

Runs the int8 networks at three budgets and single layers, planned for a library, on emulated machines that count
instructions. The command fits the rows of the library's kernels and prints the error of the model.

- ESP-NN, ESP32-S3: an interpreter counts the assembly of single kernels; the C around it is estimated
  (bench/xtensa/esp_nn_cases.py).
- ESP-NN, ESP32-P4: an interpreter counts whole kernels (bench/riscv).
- `--pie`: the runtime's own kernels for the ESP32-S3. Their assembly is interpreted; rv32imc counts the C around it.
- `--mve`: the runtime's own kernels for Cortex-M55.

`--write` writes the rows to tigris_pio/compiler/cost/table.json and keeps those of a library that is not given. Takes
some minutes.
"""

import dataclasses
import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import onnx

from bench.calibration_cases import SHAPES, Subject, accelerated
from bench.command import Row, command, parser_of
from bench.emulator import FIRMWARE, MACHINES, NETWORKS, BenchError, build, measure, work_folder
from bench.fit import Sample, fit_rows, write_table
from bench.layers import build_layer
from bench.libraries import Sources, library_sources
from bench.networks import content_of
from bench.riscv import whole
from bench.riscv.esp_nn import CHIP as ESP32P4
from bench.xtensa import whole as xtensa
from bench.xtensa.esp_nn_cases import LAYERS, counted
from bench.xtensa.esp_nn_cases import MACHINE as ESP32S3
from tigris_pio import compile_model
from tigris_pio.compiler.cost.kernel import kernel_of
from tigris_pio.compiler.cost.model import TABLE, price
from tigris_pio.compiler.ir.plan import ExecutionPlan
from tigris_pio.compiler.pipeline import Compiled
from tigris_pio.compiler.plan.band.calls import plan_stage_calls
from tigris_pio.errors import BudgetError

#: Emulated machines by library, each with the chip that plans are made for.
EMULATED: Mapping[str, Mapping[str, str]] = {
    "cmsis-nn": {"cortex-m4": "cortex-m4", "cortex-m55": "cortex-m55", "rv32imc": "esp32c3"},
    "esp-nn": {"rv32imc": "esp32c3"},
}
CORTEX_M55 = "cortex-m55"
BUDGETS = ("256K", "24K", "10K")
_LARGE = ("resnet", "vww", "person_detect")
#: Importance of the relative error of a layer by itself, beside that of all of a network's run.
ALONE = 0.1
#: The subject's name, and the counts of one kernel.
Count = tuple[str, Sample]


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


def samples(name: str, plan: ExecutionPlan, counts: Sequence[float]) -> Iterator[Count]:
    """The counts of each operator that the library runs or speeds up."""
    ops, total = plan.program.ops, sum(counts)
    for stage in plan.stages:
        found = plan_stage_calls(plan, stage)
        for step, calls in enumerate(found.calls, stage.first_op):
            if ops[step].backend or ops[step].accelerated_by:
                kernel = kernel_of(ops[step], plan.program.tensors)
                share = 0.0 if " " in name else counts[step] / total
                made = {rows: count * ops[step].images for rows, count in calls.items()}
                yield name, Sample(kernel, made, counts[step], ALONE + share)


def emulated(library: str, machine: str, chip: str, source: Sources, folder: Path) -> Iterator[Count]:
    """The counts of each operator that the library ran."""
    extra = ("-DNDEBUG", *source.flags, *map(str, source.files))
    program = build(MACHINES[machine], folder, extra=extra)
    for subject in models():
        for compiled in plans(subject, library, chip):
            result = measure(MACHINES[machine], program, compiled.data, content_of(compiled, subject.inputs))
            if not result.right:
                raise BenchError(f"{library} on {machine}: {subject.name} is wrong")
            yield from samples(subject.name, compiled.plan, result.ops)


def interpreted(checkout: Path, folder: Path) -> Iterator[Count]:
    """Counts for the ESP32-P4: networks at one budget, and small layers."""
    program = whole.build(folder, checkout)
    subjects = [subject for subject in models() if " " not in subject.name]
    subjects += [Subject(layer.name, "int8", build_layer(layer), BUDGETS[:1]) for layer in LAYERS]
    for subject in subjects:
        compiled = compile_model(subject.model, fast=BUDGETS[0], backend="esp-nn", chip=ESP32P4)
        size = math.prod(compiled.plan.program.inputs[0].stored_shape)
        found = whole.run(program, checkout, compiled.data, bytes(size))
        if found.status != 0:
            raise BenchError(f"{subject.name} on {ESP32P4}: status {found.status}")
        steps = range(len(compiled.plan.program.ops))
        yield from samples(subject.name, compiled.plan, [found.instructions.get(step, 0) for step in steps])


class PieCounter:
    """Counts plans with the runtime's own kernels on the ESP32-S3: assembly by the interpreter, C on rv32imc."""

    def __init__(self, folder: Path) -> None:
        self._assembly = xtensa.build(folder)
        flags = ("-DNDEBUG", "-DTIGRIS_PIE", "-DTIGRIS_DEFAULT_BACKEND=tigris_pie_backend")
        self._around = build(MACHINES["rv32imc"], folder, extra=(*flags, str(FIRMWARE / "pie_nothing.c")))

    def counts(self, subject: Subject, compiled: Compiled) -> list[float]:
        """The instructions of each operator."""
        size = math.prod(compiled.plan.program.inputs[0].stored_shape)
        found = xtensa.run(self._assembly, compiled.data, bytes(size)).instructions
        ops = measure(MACHINES["rv32imc"], self._around, compiled.data, content_of(compiled, subject.inputs)).ops
        return [count + found.get(step, 0) for step, count in enumerate(ops)]


def own_kernels(folder: Path) -> Iterator[Count]:
    """Counts for the runtime's own kernels on the ESP32-S3. Large networks are counted at one budget."""
    counter = PieCounter(folder)
    for subject in (*models(), *accelerated()):
        small = subject if subject.name not in _LARGE else dataclasses.replace(subject, budgets=BUDGETS[:1])
        for compiled in plans(small, "pie", ESP32S3):
            yield from samples(subject.name, compiled.plan, counter.counts(subject, compiled))


def fitted(library: str, machine: str, counts: Sequence[Count]) -> dict[str, Row]:
    """The rows of a library on a machine. Prints the errors of each kernel's operators and of networks."""
    rows = fit_rows(one for _, one in counts)
    by_kernel: dict[str, list[float]] = defaultdict(list)
    by_network: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])
    for name, one in counts:
        row = next(rows[known] for known in sorted(rows, key=len, reverse=True) if one.kernel.name.startswith(known))
        guess = sum(count * price(row, one.kernel, made) for made, count in one.calls.items())
        by_kernel[one.kernel.name].append(abs(guess / one.counted - 1))
        if " " not in name:
            by_network[name][0] += guess
            by_network[name][1] += one.counted
    for kernel, errors in by_kernel.items():
        print(f"{library:9}{machine:11}{kernel:36}{len(errors):4} times, off by {np.mean(errors):6.1%} on average, "
              f"{max(errors):6.1%} at most")  # fmt: skip
    for name, (guess, count) in by_network.items():
        print(f"{library:9}{machine:11}{name:22}{count:14,.0f}{guess:14,.0f}{guess / count - 1:8.1%}")
    return rows


def calibrated(library: str, checkout: Path) -> Iterator[tuple[str, dict[str, Row]]]:
    """The rows of a library, by machine."""
    for machine, chip in EMULATED[library].items():
        with work_folder() as folder:
            found = list(emulated(library, machine, chip, library_sources(library, checkout), folder))
        yield machine, fitted(library, machine, found)
    if library == "esp-nn":
        yield ESP32S3, fitted(library, ESP32S3, [(name, Sample(*one)) for name, *one in counted(checkout)])
        with work_folder() as folder:
            yield ESP32P4, fitted(library, ESP32P4, list(interpreted(checkout, folder)))


@command
def main() -> None:
    """The command."""
    parser = parser_of(__doc__)
    for library in EMULATED:
        parser.add_argument(f"--{library}", type=Path, metavar="CHECKOUT", dest=library)
    parser.add_argument("--pie", action="store_true", help="count the runtime's own kernels for the ESP32-S3")
    parser.add_argument("--write", action="store_true", help="write the table")
    parser.add_argument("--mve", action="store_true", help="count the runtime's own kernels for Cortex-M55")
    options = vars(parser.parse_args())
    found = [(library, item) for library in EMULATED if options[library]
             for item in calibrated(library, options[library])]  # fmt: skip
    if options["pie"]:
        with work_folder() as folder:
            found.append(("pie", (ESP32S3, fitted("pie", ESP32S3, list(own_kernels(folder))))))
    if options["mve"]:
        with work_folder() as folder:
            counts = list(emulated("mve", CORTEX_M55, CORTEX_M55, Sources((), ()), folder))
        found.append(("mve", (CORTEX_M55, fitted("mve", CORTEX_M55, counts))))
    for library, (machine, rows) in found:
        TABLE["processors"][machine].setdefault("libraries", {})[library] = rows
    if options["write"]:
        write_table(TABLE)
