"""ESP-NN on the ESP32-P4, by an interpreter of its instructions: python -m bench.p4 CHECKOUT [--models …] [--json FILE]

First, each function of the library in a checkout runs on random shapes. The table counts runs whose bytes differ from
TensorFlow Lite, runs that write outside of their operands, bytes read behind an operand, and instructions a product.
Known faults have a table of their own. Then the int8 networks of a folder: instructions of each convolution and fully
connected layer with the library (interpreted; memcpy and memset estimated, the adapter not counted), with the portable
kernels, compiled for rv32imafc (QEMU), and with the choice of `auto`. Exit status 1 if a result that should be right is
not.
"""

from __future__ import annotations

import dataclasses
import sys
import tempfile
from pathlib import Path

import numpy as np

from bench.command import Row, command, parser_of, print_table, write_json
from bench.emulator import MACHINES, build, measure, samples
from bench.networks import int8_networks
from bench.riscv import whole
from bench.riscv.esp_nn import CHIP
from bench.riscv.esp_nn_cases import CASES, FAULTS, run
from tigris_pio import compile_model
from tigris_pio.compiler.backends.shape import SHAPED_KINDS

#: The ESP32-P4's instructions but for its own.
MACHINE = dataclasses.replace(
    MACHINES["rv32imc"], name="rv32imafc", flags=("-march=rv32imafc", "-mabi=ilp32f", "--specs=picolibc.specs"),
)  # fmt: skip
FUNCTIONS = [("function", "function", ""), ("way", "way", ""), ("shapes", "shapes", "d"), ("outputs", "outputs", ",d"),
             ("wrong", "wrong", "d"), ("wrote outside", "outside", "d"), ("read ahead", "most", "d"),
             ("a product", "each", ".2f")]  # fmt: skip
COLUMNS = [("operator", "operator", ""), ("shape", "shape", ""), ("products", "macs", ",d"),
           ("portable", "portable", ",d"), ("a product", "portable_each", ".2f"), ("ESP-NN", "library", ",d"),
           ("a product", "each", ".2f"), ("auto", "auto", ",d"), ("a product", "auto_each", ".2f"),
           ("right", "right", "")]  # fmt: skip
FAST = "256K"


@dataclasses.dataclass(frozen=True)
class Programs:
    """By `whole.build` and `portable`."""

    esp_nn: Path
    portable: Path


def portable(folder: Path) -> Path:
    """The harness with portable kernels."""
    return build(MACHINE, folder)


def functions(checkout: Path, shapes: int) -> tuple[list[Row], list[Row]]:
    """A row for each way through each function, and for what is known to be wrong."""
    first, second = ([dataclasses.asdict(run(name, make, checkout, range(shapes))) for name, make in cases.items()]
                     for cases in (CASES, FAULTS))  # fmt: skip
    return first, second


def rows_of(network: Path, programs: Programs, checkout: Path) -> list[Row]:
    """A row for each convolution and fully connected layer, and one for all, with whether both outputs are right."""
    data = np.load(network.with_name(network.name.replace("_int8.onnx", "_vectors.npz")))
    x, y = data["input_q"][0].tobytes(), data["output_tflm_q"][0].tobytes()
    plain, own, mixed = (compile_model(network, fast=FAST, backend=name, chip=CHIP)
                         for name in ("portable", "esp-nn", "auto"))  # fmt: skip
    chosen = {op.name for op in mixed.plan.program.ops if op.backend}
    counted = measure(MACHINE, programs.portable, plain.data, samples(x, y))
    found = whole.run(programs.esp_nn, checkout, own.data, x)
    rows: list[Row] = []
    for place, op in enumerate(own.plan.program.ops):
        if op.kind not in SHAPED_KINDS:
            continue
        output, before = own.plan.program.tensors[op.output], counted.ops[place]
        library = found.instructions.get(place, 0) if op.backend else before
        auto = library if op.name in chosen else before
        rows.append({
            "operator": op.kind.name.removeprefix("PLAIN_"), "macs": op.macs, "right": "" if op.backend else "portable",
            "shape": f"{output.height}x{output.width}x{output.channels}", "portable": before, "library": library,
            "portable_each": before / op.macs, "each": library / op.macs, "auto": auto, "auto_each": auto / op.macs,
        })  # fmt: skip
    macs, before, library, auto = (sum(row[key] for row in rows) for key in ("macs", "portable", "library", "auto"))
    total = {"operator": f"{len(rows)} of {len(counted.ops)}", "shape": "", "macs": macs, "portable": before,
             "portable_each": before / macs, "library": library, "each": library / macs, "auto": auto,
             "auto_each": auto / macs,
             "right": counted.right and (found.status, found.output) == (0, y)}  # fmt: skip
    return [*rows, total]


@command
def main() -> int:
    """The command."""
    parser = parser_of(__doc__, "folder", "json", models=None)
    parser.add_argument("checkout", type=Path, help="folder with a checkout of ESP-NN")
    parser.add_argument("--shapes", type=int, default=24, help="for each path of a function; default: %(default)s")
    options = parser.parse_args()
    usual, known = functions(options.checkout, options.shapes)
    print_table("ESP-NN's functions for the ESP32-P4", usual, FUNCTIONS)
    print_table("Not as TensorFlow Lite has it, or not in the scratch asked for: not asked of the library", known,
                FUNCTIONS)  # fmt: skip
    tables = {}
    with tempfile.TemporaryDirectory() as folder:
        programs = Programs(whole.build(Path(folder), options.checkout), portable(Path(folder)))
        for name in options.models or int8_networks(options.folder):
            tables[name] = rows_of(options.folder / f"{name}_int8.onnx", programs, options.checkout)
            print_table(f"{name} on the ESP32-P4, instructions, {FAST}", tables[name], COLUMNS)
    write_json(options.json, {"functions": usual, "faults": known, "networks": tables})
    right = all(row["wrong"] == row["outside"] == 0 for row in usual)
    right = right and all(bool(rows[-1]["right"]) for rows in tables.values())
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
