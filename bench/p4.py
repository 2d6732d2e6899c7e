"""ESP-NN on the ESP32-P4, by an interpreter of its instructions: python -m bench.p4 CHECKOUT [--models …] [--json FILE]

Prints, for the int8 networks of a folder, the instructions of each convolution and fully connected layer: with the
library in a checkout (interpreted; memcpy and memset estimated, the adapter not counted), with the portable kernels,
compiled for rv32imafc (QEMU), and with the choice of `auto`. Exit status 1 if an output is wrong. `bench.vendor` judges
the library's functions by themselves.
"""

import dataclasses
from pathlib import Path

import numpy as np

from bench.command import Row, command, parser_of, print_table, write_json
from bench.emulator import MACHINES, build, measure, samples, work_folder
from bench.networks import int8_networks
from bench.riscv import whole
from bench.riscv.esp_nn import CHIP
from tigris_pio import compile_model
from tigris_pio.compiler.backends.shape import SHAPED_KINDS

#: The ESP32-P4's instructions but for its own.
MACHINE = dataclasses.replace(
    MACHINES["rv32imc"], name="rv32imafc", flags=("-march=rv32imafc", "-mabi=ilp32f", "--specs=picolibc.specs"),
)  # fmt: skip
COLUMNS = ["operator", "shape", ("products", "macs"), "portable", ("a product", "portable_each", ".2f"),
           ("ESP-NN", "library"), ("a product", "library_each", ".2f"), "auto",
           ("a product", "auto_each", ".2f"), "right"]  # fmt: skip
KERNELS = ("portable", "library", "auto")
FAST = "256K"


def portable(folder: Path) -> Path:
    """The harness with portable kernels."""
    return build(MACHINE, folder)


def rows_of(network: Path, checkout: Path, by_library: Path, by_portable: Path) -> list[Row]:
    """A row for each convolution and fully connected layer, and one for all, with whether both outputs are right.

    The programs are those of `whole.build` and `portable`."""
    data = np.load(network.with_name(network.name.replace("_int8.onnx", "_vectors.npz")))
    x, y = data["input_q"][0].tobytes(), data["output_tflm_q"][0].tobytes()
    plain, own, mixed = (compile_model(network, fast=FAST, backend=name, chip=CHIP)
                         for name in ("portable", "esp-nn", "auto"))  # fmt: skip
    chosen = {op.name for op in mixed.plan.program.ops if op.backend}
    counted = measure(MACHINE, by_portable, plain.data, samples(x, y))
    found = whole.run(by_library, checkout, own.data, x)
    rows: list[Row] = []
    for place, op in enumerate(own.plan.program.ops):
        if op.kind in SHAPED_KINDS:
            output, before = own.plan.program.tensors[op.output], counted.ops[place]
            library = found.instructions.get(place, 0) if op.backend else before
            rows.append({
                "operator": op.kind.name.removeprefix("PLAIN_"), "right": "" if op.backend else "portable",
                "shape": f"{output.height}x{output.width}x{output.channels}", "macs": op.macs, "portable": before,
                "library": library, "auto": library if op.name in chosen else before,
            })  # fmt: skip
    total = {key: sum(row[key] for row in rows) for key in ("macs", *KERNELS)}
    rows.append({"operator": f"{len(rows)} of {len(counted.ops)}", "shape": "", **total,
                 "right": counted.right and (found.status, found.output) == (0, y)})  # fmt: skip
    return [row | {f"{name}_each": row[name] / row["macs"] for name in KERNELS} for row in rows]


@command
def main() -> int:
    """The command."""
    parser = parser_of(__doc__, "folder", "json", models=None)
    parser.add_argument("checkout", type=Path, help="folder with a checkout of ESP-NN")
    options = parser.parse_args()
    tables = {}
    with work_folder() as folder:
        programs = whole.build(folder, options.checkout), portable(folder)
        for name in options.models or int8_networks(options.folder):
            tables[name] = rows_of(options.folder / f"{name}_int8.onnx", options.checkout, *programs)
            print_table(f"{name} on the ESP32-P4, instructions, {FAST}", tables[name], COLUMNS)
    write_json(options.json, tables)
    return 0 if all(rows[-1]["right"] for rows in tables.values()) else 1
