"""Instructions of single int8 operators: python -m bench.operators [--machine …] [--only TEXT] [--json FILE]

Prints instructions per element (or output, or multiplication) of each operator on an emulated machine, and the kernels
that it runs. Conversions to and from float32 are included. Outputs are compared with the host's. Exit status 1 if one
differs.
"""

import re
from pathlib import Path

from bench.command import Row, command, parser_of, print_table, write_json
from bench.emulator import MACHINES, Machine, build, measure, work_folder
from bench.networks import content_of
from bench.operator_models import CASES, MEASURED, Case
from tigris_pio import compile_model

#: Kernel calls of the measured node.
_OWN = re.compile(rf"{MEASURED}(_\d+)?(/|$)")
COLUMNS = [("operator", "name"), ("a", "unit"), ("instructions", "per_unit", ",.1f"), "kernels", "right"]


def measure_case(machine: Machine, program: Path, case: Case) -> Row:
    """One row of the table."""
    compiled = compile_model(case.model())
    found = measure(machine, program, compiled.data, content_of(compiled))
    counted = [(op.kind.name + (" float" if op.dtype.name == "FLOAT32" else ""), count)
               for op, count in zip(compiled.plan.program.ops, found.ops, strict=True)
               if (op.kind.name == case.kind if case.kind else _OWN.match(op.name))]
    return {"name": case.name, "unit": case.unit, "units": case.units, "right": found.right,
            "instructions": sum(count for _, count in counted),
            "per_unit": sum(count for _, count in counted) / case.units,
            "kernels": ", ".join(kind for kind, _ in counted)}  # fmt: skip


@command
def main() -> int:
    """The command."""
    parser = parser_of(__doc__, "json")
    parser.add_argument("--machine", choices=MACHINES, default="rv32imc")
    parser.add_argument("--only", default="", help="operators whose name contains this")
    options = parser.parse_args()
    machine = MACHINES[options.machine]
    with work_folder() as folder:
        program = build(machine, folder)
        rows = [measure_case(machine, program, case) for case in CASES if options.only.lower() in case.name.lower()]
    print_table(f"{machine.name}, -O2", rows, COLUMNS)
    write_json(options.json, rows)
    return 0 if all(row["right"] for row in rows) else 1
