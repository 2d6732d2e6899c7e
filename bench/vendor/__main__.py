"""Releases of kernel libraries, held to the portable kernels: python -m bench.vendor --esp-nn CHECKOUT [--on MACHINE]

Runs the library's convolutions, depthwise convolutions and fully connected layers on random layers: padding, strides,
dilation, groups, channels, batches. Each output is compared with the portable kernels' bytes. The first table counts
layers by kind, with the scratch that the library requests and exceeds. Its last columns are of the same layers behind
the runtime's adapter, which gives layers that the library cannot run to the portable kernels. The second table says in
which layers the library fails.

--on host: the library's C, on this machine. On a Cortex-M QEMU runs it, with its vector instructions. On esp32s3 and
esp32p4 an interpreter runs ESP-NN's vector instructions. Exit status 1 if an output behind the adapter is wrong.
"""

import dataclasses
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from bench.command import Row, command, parser_of, print_table, write_json
from bench.emulator import work_folder
from bench.libraries import library_sources
from bench.vendor.faults import CRASHED, KINDS, NOT_RUN, REFUSED, WRONG, Table, faults
from bench.vendor.sweep import Sweep, on_board, on_host
from bench.vendor.vectors import CHIPS, on_chip

#: Machines of each library, with the layers of a run and the products of a layer that take minutes.
MACHINES = {
    "esp-nn": {"host": (20_000, 200_000), **dict.fromkeys(CHIPS, (2000, 8000))},
    "cmsis-nn": {"host": (20_000, 200_000), "cortex-m4": (2000, 100_000), "cortex-m55": (2000, 100_000)},
}
COUNTS = [("layers", "kind"), "run", "wrong", "crashed", "refused", "not_run", "scratch", "exceeded", "by",
          ("adapter", "adapted"), ("wrong", "adapted_wrong")]  # fmt: skip
FAULTS = [("layers", "kind"), ("fault", "what"), "of", "where"]


def counts(table: Table) -> Iterator[Row]:
    """A row for each kind of layer."""
    for number, kind in enumerate(KINDS):
        part = {name: column[table["kind"] == number] for name, column in table.items()}
        status, adapted, beyond = part["status"], part["adapted"], part["written"] - part["asked"]
        numbers = {
            "run": (status < REFUSED).sum(), "wrong": (status == WRONG).sum(),
            "crashed": (status == CRASHED).sum(), "refused": (status == REFUSED).sum(),
            "not_run": (status == NOT_RUN).sum(), "scratch": part["asked"].max(initial=0),
            "exceeded": (beyond > 0).sum(), "by": beyond.max(initial=0), "adapted": (adapted < REFUSED).sum(),
            "adapted_wrong": np.isin(adapted, (WRONG, CRASHED)).sum(),
        }  # fmt: skip
        yield {"kind": kind} | {name: int(number) for name, number in numbers.items()}


def judged(library: str, checkout: Path, machine: str, sweep: Sweep) -> Table:
    """The layers of a sweep."""
    with work_folder() as folder:
        if machine in CHIPS:
            return on_chip(checkout, machine, sweep, folder)
        sources = library_sources(library, checkout)
        if machine == "host":
            return on_host(library, sources, sweep, folder)
        return on_board(library, sources, sweep, machine, folder)


@command
def main() -> int:
    """The command."""
    parser = parser_of(__doc__, "json")
    checkouts = parser.add_mutually_exclusive_group(required=True)
    for name in MACHINES:
        checkouts.add_argument(f"--{name}", type=Path, metavar="CHECKOUT", help="folder with a checkout")
    machines = {machine for known in MACHINES.values() for machine in known}
    parser.add_argument("--on", choices=sorted(machines), default="host", help="default: %(default)s")
    parser.add_argument("--shapes", type=int, help="layers; default: what takes some minutes")
    parser.add_argument("--seed", type=int, default=1, help="default: %(default)s")
    options = parser.parse_args()
    library = "esp-nn" if options.esp_nn else "cmsis-nn"
    if options.on not in MACHINES[library]:
        parser.error(f"--on: {library} runs on {', '.join(MACHINES[library])}")
    shapes, products = MACHINES[library][options.on]
    sweep = Sweep(options.shapes or shapes, options.seed, products)
    table = judged(library, options.esp_nn or options.cmsis_nn, options.on, sweep)
    rows, found = list(counts(table)), [dataclasses.asdict(fault) for fault in faults(table)]
    print_table(f"{library} on {options.on}, {sweep.shapes:,d} layers", rows, COUNTS)
    print_table("Failures", [{**row, "of": f"{row['failed']:,d} of {row['layers']:,d}"} for row in found], FAULTS)
    write_json(options.json, {"layers": rows, "faults": found})
    return int(any(row["adapted_wrong"] for row in rows))
