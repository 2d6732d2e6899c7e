"""Calibrates the cost model: python -m bench.calibrate [--machines …] [--json FILE] [--from FILE] [--write]

Runs networks, their float32 versions, single layers and single operators on emulated machines that count instructions.
Networks run at several budgets and in several variants: streamed, in batches, on overlapping windows, with copied or
decompressed weights. The command fits the instructions of each step of kernels and executor, and prints the error of
the prediction for each network, budget and machine. `--write` writes the coefficients to
tigris_pio/compiler/instructions/coefficients.py and keeps those of machines that were not measured. `--from` fits the
counts that `--json` wrote, and runs nothing. Takes about seven minutes of processor time for each machine.
"""

from __future__ import annotations

import argparse
import datetime
import json
import sys
import tempfile
import textwrap
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench.calibration_cases import content_of, network_subjects, plans, subjects
from bench.emulator import MACHINES, ROOT, BenchError, build, measure, run_tool
from bench.fit import ENOUGH, fit
from tigris_pio.compiler.instructions import coefficients as written
from tigris_pio.compiler.instructions.call import Call
from tigris_pio.compiler.instructions.kernels import name_of, work_of
from tigris_pio.compiler.instructions.predict import instruction_set
from tigris_pio.compiler.ir.plan import ExecutionPlan
from tigris_pio.compiler.plan.band.calls import plan_stage_calls

MODULE = ROOT / "tigris_pio" / "compiler" / "instructions" / "coefficients.py"
EXECUTOR = "executor"
Row = dict[str, Any]
Coefficients = Mapping[str, Mapping[str, float]]


def described(plan: ExecutionPlan, processor: str) -> Row:
    """What a run of the plan does on a processor: of each operator its kernel's name and work, and the executor's
    way."""
    walked: dict[str, int] = defaultdict(int)
    ops, having = [], instruction_set(processor)
    for stage in plan.stages:
        found = plan_stage_calls(plan, stage)
        for name, amount in found.walked.items():
            walked[name] += amount
        for op, counts in zip(plan.program.ops[stage.first_op : stage.end_op], found.calls, strict=True):
            work: dict[str, float] = defaultdict(float)
            for rows, count in counts.items():
                call = Call.of(op, plan.program.tensors, rows)
                for name, amount in work_of(call, having).items():
                    work[name] += amount * count * op.images
            ops.append({"kernel": name_of(op, having), "name": op.name, "work": dict(work)})
    return {"ops": ops, "walked": dict(walked)}


def measured(machines: Sequence[str], folder: Path) -> Iterator[Row]:
    """A row of counts for every subject, budget and machine."""
    programs = {name: build(MACHINES[name], folder) for name in machines}
    for subject in subjects():
        for budget, compiled in plans(subject):
            content = content_of(subject, compiled)
            for name, program in programs.items():
                done = described(compiled.plan, name)
                counted = measure(MACHINES[name], program, compiled.data, content, folder)
                ops = [{**op, "counted": count} for op, count in zip(done["ops"], counted.ops, strict=True)]
                yield {"machine": name, "name": subject.name, "way": subject.way, "dtype": subject.dtype,
                       "budget": budget, "right": counted.right,
                       "counted": counted.run, "walked": done["walked"], "ops": ops}  # fmt: skip


def coefficients(rows: Sequence[Row]) -> dict[str, dict[str, float]]:
    """The coefficients of one machine: of each kernel, and of the executor."""
    by_kernel: dict[str, list[tuple[Row, Row]]] = defaultdict(list)
    for row in rows:
        for op in row["ops"]:
            by_kernel[op["kernel"]].append((row, op))
    found = {}
    for kernel, ops in sorted(by_kernel.items()):
        names = list(dict.fromkeys(name for _, op in ops for name in op["work"]))
        if len({(row["name"], op["name"]) for row, op in ops}) < ENOUGH:
            names = ["call", list(ops[0][1]["work"])[-1]]
        found[kernel] = fit([op["work"] for _, op in ops], [op["counted"] for _, op in ops], names)
    around = [row["counted"] - sum(op["counted"] for op in row["ops"]) for row in rows]
    names = list(dict.fromkeys(name for row in rows for name in row["walked"]))
    found[EXECUTOR] = fit([row["walked"] for row in rows], around, names)
    return found


def predicted(row: Row, known: Coefficients) -> float:
    """Instructions of a run by the model."""
    doing = [(op["kernel"], op["work"]) for op in row["ops"]] + [(EXECUTOR, row["walked"])]
    return sum(known[kernel].get(name, 0.0) * amount for kernel, work in doing for name, amount in work.items())


def print_errors(rows: Sequence[Row], known: Mapping[str, Coefficients]) -> None:
    """Prints the error of the prediction: for each network, and for all layers and operators together."""
    networks = {subject.name for subject in network_subjects()}
    groups: dict[tuple[str, str, str], list[float]] = defaultdict(list)
    print(f"{'machine':11}{'network':16}{'way':13}{'type':9}{'budget':8}{'counted':>14}{'predicted':>14}{'error':>8}")
    for row in rows:
        guess = predicted(row, known[row["machine"]])
        error, network = guess / row["counted"] - 1, row["name"] in networks
        if network:
            print(f"{row['machine']:11}{row['name']:16}{row['way']:13}{row['dtype']:9}{row['budget']:8}"
                  f"{row['counted']:14,d}{guess:14,.0f}{error:8.1%}")  # fmt: skip
        kind = (row["way"] or "as it is") if network else "layers"
        groups[row["machine"], row["dtype"], kind].append(abs(error))
    for (machine, dtype, kind), errors in groups.items():
        print(f"{machine:11}{kind:13}{dtype:9}{len(errors):4} plans, error {sum(errors) / len(errors):.1%} on average, "
              f"{max(errors):.1%} at most")  # fmt: skip


def notes(machines: Sequence[str]) -> dict[str, str]:
    """Of each machine when and with what its coefficients were counted: of `machines` now, of others as is written."""
    known = written.__doc__ or ""
    found = {name: line.strip() for name, colon, line in (line.partition(":") for line in known.splitlines())
             if colon and name in written.COEFFICIENTS}  # fmt: skip
    today = datetime.datetime.now(datetime.timezone.utc)
    commit = run_tool(["git", "rev-parse", "--short=12", "HEAD"], ROOT).strip()
    for name in machines:
        compiler = run_tool([MACHINES[name].toolchain + "-gcc", "--version"]).splitlines()[0]
        found[name] = f"{compiler}, -O2, on {today:%Y-%m-%d} at commit {commit}"
    return found


def module(known: Mapping[str, Coefficients], counted: Mapping[str, str]) -> str:
    """The source of coefficients.py; `counted`: when, of each machine."""
    machines = [name for name in MACHINES if name in known]
    lines = [
        '"""Instructions for each piece of work, by processor and kernel; "executor": around the kernels. Generated.',
        "",
        "Written by `python -m bench.calibrate --write`; counted under QEMU:",
        *(f"{name}: {counted[name]}" for name in machines),
        '"""',
        "",
        "from __future__ import annotations",
        "",
        "from collections.abc import Mapping",
        "",
        "COEFFICIENTS: Mapping[str, Mapping[str, Mapping[str, float]]] = {",
    ]
    for machine in machines:
        lines.append(f'    "{machine}": {{')
        for kernel, values in known[machine].items():
            text = " ".join(f'"{name}": {value:g},'.replace(" ", "\0") for name, value in values.items())
            lines.append(f'        "{kernel}": {{')
            wrapped = textwrap.wrap(text, 119, initial_indent=" " * 12, subsequent_indent=" " * 12)
            lines += [line.replace("\0", " ") for line in wrapped]
            lines.append("        },")
        lines.append("    },")
    return "\n".join([*lines, "}", ""])


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--machines", default=",".join(MACHINES))
    parser.add_argument("--json", type=Path, help="write the counts to this file")
    parser.add_argument("--from", type=Path, dest="counted", help="fit the counts of a file that --json wrote")
    parser.add_argument("--write", action="store_true", help=f"write {MODULE.name}")
    options = parser.parse_args()
    machines = options.machines.split(",")
    if unknown := [name for name in machines if name not in MACHINES]:
        parser.error(f"no machine {', '.join(unknown)}; there are {', '.join(MACHINES)}")
    try:
        if options.counted:
            rows = json.loads(options.counted.read_text())
        else:
            with tempfile.TemporaryDirectory() as folder:
                rows = list(measured(machines, Path(folder)))
        known = {name: coefficients([row for row in rows if row["machine"] == name]) for name in machines}
        print_errors([row for row in rows if row["machine"] in machines], known)
        if options.write:
            MODULE.write_text(module({**written.COEFFICIENTS, **known}, notes(machines)))
    except BenchError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    if options.json:
        options.json.write_text(json.dumps(rows) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
