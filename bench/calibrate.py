"""Calibrates the cost model: python -m bench.calibrate [--machines …] [--json FILE] [--from FILE] [--write]

Runs networks, their float32 versions, single layers and single operators on emulated machines that count instructions.
Networks run at several budgets and in several variants: streamed, in batches, on overlapping windows, with copied or
decompressed weights. The command fits a row of tigris_pio/compiler/cost/table.json for each kernel and for the
executor, and prints the error of the prediction for each network, budget and machine. `--write` writes the rows and
keeps those of machines that were not measured. `--from` fits the counts that `--json` wrote, and runs nothing.
`--record` writes the counts by which tests judge the predictions. Takes some minutes.
"""

import dataclasses
import datetime
import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from bench.calibration_cases import network_subjects, plans, subjects
from bench.command import Row, command, parser_of
from bench.emulator import MACHINES, ROOT, build, measure, run_tool, work_folder
from bench.fit import Sample, fit, fit_rows, write_table
from bench.networks import content_of
from tigris_pio.compiler.cost.kernel import Kernel, kernel_of
from tigris_pio.compiler.cost.model import EXECUTOR, TABLE, CostModel
from tigris_pio.compiler.ir.plan import ExecutionPlan
from tigris_pio.compiler.plan.band.calls import plan_stage_calls

#: Importance of the relative error of a kernel that is no part of a network's run, beside that of all of a run. Random
#: float32 inputs hold no zeros, which take fewer instructions without a floating-point unit, as maps of networks do.
ALONE, ALONE_IN_FLOAT = 0.1, 0.02
#: Counts by which tests judge the predictions.
RECORD = ROOT / "tests" / "compiler" / "cost" / "counted.json"


def described(plan: ExecutionPlan) -> Row:
    """The kernel and the calls of each operator in a run of the plan, and the executor's steps."""
    walked: dict[str, int] = defaultdict(int)
    ops = []
    for stage in plan.stages:
        found = plan_stage_calls(plan, stage)
        for name, amount in found.walked.items():
            walked[name] += amount
        for op, counts in zip(plan.program.ops[stage.first_op : stage.end_op], found.calls, strict=True):
            calls = {str(rows): op.images * count for rows, count in counts.items()}
            ops.append({"kernel": dataclasses.asdict(kernel_of(op, plan.program.tensors)), "calls": calls})
    return {"ops": ops, "walked": dict(walked)}


def measured(machines: Sequence[str], folder: Path) -> Iterator[Row]:
    """A row of counts for every subject and budget, with the counts of each machine."""
    programs = {name: build(MACHINES[name], folder) for name in machines}
    networks = {subject.name for subject in network_subjects()}
    for subject in subjects():
        for budget, compiled in plans(subject):
            content = content_of(compiled, subject.inputs)
            found = {name: measure(MACHINES[name], program, compiled.data, content)
                     for name, program in programs.items()}  # fmt: skip
            yield {"name": subject.name, "way": subject.way, "dtype": subject.dtype, "budget": budget,
                   "network": subject.name in networks, **described(compiled.plan),
                   "counted": {name: one.run for name, one in found.items()},
                   "op_counts": {name: list(one.ops) for name, one in found.items()}}  # fmt: skip


def samples(rows: Sequence[Row], machine: str) -> Iterator[Sample]:
    """The kernels' counts on one machine."""
    for row in rows:
        run, alone = row["counted"][machine], ALONE if row["dtype"] == "int8" else ALONE_IN_FLOAT
        for op, counted in zip(row["ops"], row["op_counts"][machine], strict=True):
            if counted:
                share = counted / run if row["network"] else 0.0
                yield Sample(Kernel(**op["kernel"]), calls_of(op), counted, alone + share)


def calls_of(op: Row) -> dict[int, int]:
    """Calls of an operator by the rows that each makes."""
    return {int(rows): count for rows, count in op["calls"].items()}


def fitted(rows: Sequence[Row], machine: str) -> dict[str, Row]:
    """The rows of one machine: of each kernel, of any kernel in float32, and of the executor."""
    found = list(samples(rows, machine))
    floats = [one for one in found if one.kernel.name.split()[1] == "FLOAT32"]
    names = ("call", "output", "mac")
    around = [row["counted"][machine] - sum(row["op_counts"][machine]) for row in rows]
    walked = list(dict.fromkeys(name for row in rows for name in row["walked"]))
    return {
        **fit_rows(found),
        "FLOAT32": fit([one.amounts({}) for one in floats], [one.counted for one in floats], names),
        EXECUTOR: fit([row["walked"] for row in rows], around, walked),
    }


def predicted(row: Row, model: CostModel) -> float:
    """Instructions of a run by the model."""
    calls = [(Kernel(**op["kernel"]), made, count) for op in row["ops"] for made, count in calls_of(op).items()]
    return model.executor(row["walked"]) + sum(count * model.portable(kernel, made) for kernel, made, count in calls)


def print_errors(rows: Sequence[Row], models: Mapping[str, CostModel]) -> None:
    """Prints the error of the prediction: for each network, and for all layers and operators together."""
    groups: dict[tuple[str, str, str], list[float]] = defaultdict(list)
    print(f"{'machine':11}{'network':16}{'way':13}{'type':9}{'budget':8}{'counted':>14}{'predicted':>14}{'error':>8}")
    for machine, model in models.items():
        for row in rows:
            guess, counted = predicted(row, model), row["counted"][machine]
            error = guess / counted - 1
            if row["network"]:
                print(f"{machine:11}{row['name']:16}{row['way']:13}{row['dtype']:9}{row['budget']:8}"
                      f"{counted:14,d}{guess:14,.0f}{error:8.1%}")  # fmt: skip
            kind = (row["way"] or "as it is") if row["network"] else "layers"
            groups[machine, row["dtype"], kind].append(abs(error))
    for (machine, dtype, kind), errors in groups.items():
        print(f"{machine:11}{kind:13}{dtype:9}{len(errors):4} plans, error {sum(errors) / len(errors):.1%} on average, "
              f"{max(errors):.1%} at most")  # fmt: skip


def record(rows: Sequence[Row]) -> Row:
    """The counts of networks at their largest and smallest budgets. Runs name their kernels by a number."""
    kernels: dict[Kernel, int] = {}
    runs = []
    for row in rows:
        if row["network"] and not row["way"] and row["budget"] in ("256K", "64K", "least"):
            ops = [[kernels.setdefault(Kernel(**op["kernel"]), len(kernels)), op["calls"]] for op in row["ops"]]
            runs.append({**{name: row[name] for name in ("name", "dtype", "budget", "walked", "counted")}, "ops": ops})
    return {"kernels": [dataclasses.astuple(kernel) for kernel in kernels], "runs": runs}


def note(machine: str) -> str:
    """When and with what a machine was counted."""
    today = datetime.datetime.now(datetime.timezone.utc)
    commit = run_tool(["git", "rev-parse", "--short=12", "HEAD"], ROOT).strip()
    compiler = run_tool([MACHINES[machine].toolchain + "-gcc", "--version"]).splitlines()[0]
    return f"{compiler}, -O2, under QEMU on {today:%Y-%m-%d} at commit {commit}"


@command
def main() -> None:
    """The command."""
    parser = parser_of(__doc__, machines=",".join(MACHINES))
    parser.add_argument("--json", type=Path, help="write the counts to this file")
    parser.add_argument("--from", type=Path, dest="counted", help="fit the counts of a file that --json wrote")
    parser.add_argument("--write", action="store_true", help="write the table")
    parser.add_argument("--record", action="store_true", help="write the counts of networks, for tests")
    options = parser.parse_args()
    if options.counted:
        rows = json.loads(options.counted.read_text())
    else:
        with work_folder() as folder:
            rows = list(measured(options.machines, folder))
    if options.json:
        options.json.write_text(json.dumps(rows) + "\n")
    models = {}
    for name in options.machines:
        entry = TABLE["processors"][name]
        if "rows" in entry:  # else those of another processor stand for its own
            entry["counted"], entry["rows"] = note(name), fitted(rows, name)
        like = TABLE["processors"][entry.get("like", name)]
        models[name] = dataclasses.replace(CostModel.of(name), rows=like["rows"])
    print_errors(rows, models)
    if options.write:
        write_table(TABLE)
    if options.record:
        RECORD.write_text(json.dumps(record(rows), separators=(",", ":")).replace('{"name', '\n{"name') + "\n")
