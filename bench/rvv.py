"""Instructions of the kernels with RISC-V's vectors beside the portable ones: python -m bench.rvv [--models …]

Single layers, and the int8 networks of a folder, on an emulated rv32imc (portable kernels, GCC) and on rv32imcv with
registers of 128 and 256 bits (Clang). Every output is compared with the recorded one; exit status 1 if one differs.
Instructions are not cycles: the cycles of a vector instruction depend on the processor.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench.emulator import MACHINES, BenchError, Machine, build, vector_machine
from bench.instructions import Choice, Row, add_folder, int8_networks, layers, networks, print_table

PLAIN = MACHINES["rv32imc"]
VECTORS = (vector_machine(128), vector_machine(256))
FAST = "256K"


def beside(measured: Iterable[tuple[Row, ...]]) -> list[Row]:
    """A row for each layer or network."""
    return [
        {
            "name": rows[0]["name"], "macs": rows[0]["macs"], "right": all(row["right"] for row in rows),
            **{key: row["per_mac"] for key, row in zip(("plain", "short", "long"), rows, strict=True)},
            **{f"{key} all": row["instructions"] for key, row in zip(("plain", "short", "long"), rows, strict=True)},
        }
        for rows in measured
    ]  # fmt: skip


COLUMNS = [("MACs", "macs", ",d"), (PLAIN.name, "plain all", ",d"), ("a MAC", "plain", ".2f"),
           (VECTORS[0].name, "short all", ",d"), ("a MAC", "short", ".3f"),
           (VECTORS[1].name, "long all", ",d"), ("a MAC", "long", ".3f"), ("right", "right", "")]  # fmt: skip


def bench(choice: Choice, folder: Path) -> list[Row]:
    """All measurements, printed."""
    short = build(VECTORS[0], folder)
    programs: list[tuple[Machine, Path]] = [(PLAIN, build(PLAIN, folder)), *((machine, short) for machine in VECTORS)]
    single = beside(zip(*(layers(machine, program, folder) for machine, program in programs), strict=True))
    title = "single layers: instructions of the run, and of the kernel a MAC"
    print_table(title, single, [("layer", "name", ""), *COLUMNS])
    whole = beside(zip(*(networks(machine, program, choice, folder) for machine, program in programs), strict=True))
    print_table(f"networks with {FAST}", whole, [("network", "name", ""), *COLUMNS])
    return single + whole


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_folder(parser)
    parser.add_argument("--models", help="names of networks; default: every int8 one")
    options = parser.parse_args()
    try:
        names = options.models.split(",") if options.models else int8_networks(options.folder)
        with tempfile.TemporaryDirectory() as folder:
            rows = bench(Choice(options.folder, names, [FAST], with_ops=False), Path(folder))
    except BenchError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    wrong = [row["name"] for row in rows if not row["right"]]
    if wrong:
        print(f"\nwrong outputs: {', '.join(wrong)}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
