"""Instructions of single int8 operators: python -m bench.operators [--machine …] [--only TEXT] [--json FILE]

Prints instructions per element (or output, or multiplication) of each operator on an emulated machine, and the kernels
that it runs. Conversions to and from float32 are included. Outputs are compared with the host's. Exit status 1 if one
differs.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np

from bench.emulator import MACHINES, BenchError, Machine, build, measure, samples
from bench.instructions import print_table
from bench.operator_models import CASES, MEASURED, Case
from tigris_pio import Session, compile_model

#: Kernel calls of the measured node.
_OWN = re.compile(rf"{MEASURED}(_\d+)?(/|$)")
COLUMNS = [("operator", "name", ""), ("a", "unit", ""), ("instructions", "per_unit", ",.1f"),
           ("kernels", "kernels", ""), ("right", "right", "")]  # fmt: skip


def measure_case(machine: Machine, program: Path, case: Case, folder: Path) -> dict[str, Any]:
    """One row of the table."""
    compiled = compile_model(case.model())
    with Session(compiled) as session:
        (source,), result = session.inputs, session.outputs[0]
        x = np.random.default_rng(1).integers(-128, 128, source.stored_shape).astype(np.int8)
        y = session.run_raw({source.name: x})[result.name]
    found = measure(machine, program, compiled.data, samples(x.tobytes(), y.tobytes()), folder)
    counted = [(op.kind.name + (" float" if op.dtype.name == "FLOAT32" else ""), count)
               for op, count in zip(compiled.plan.program.ops, found.ops, strict=True)
               if (op.kind.name == case.kind if case.kind else _OWN.match(op.name))]
    return {"name": case.name, "unit": case.unit, "units": case.units, "right": found.right,
            "instructions": sum(count for _, count in counted),
            "per_unit": sum(count for _, count in counted) / case.units,
            "kernels": ", ".join(kind for kind, _ in counted)}  # fmt: skip


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--machine", choices=MACHINES, default="rv32imc")
    parser.add_argument("--only", default="", help="operators whose name contains this")
    parser.add_argument("--json", type=Path, help="also write everything to this file")
    options = parser.parse_args()
    machine = MACHINES[options.machine]
    cases = [case for case in CASES if options.only.lower() in case.name.lower()]
    try:
        with tempfile.TemporaryDirectory() as folder:
            program = build(machine, Path(folder))
            rows = [measure_case(machine, program, case, Path(folder)) for case in cases]
    except BenchError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print_table(f"{machine.name}, -O2", rows, COLUMNS)
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    return 0 if all(row["right"] for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
