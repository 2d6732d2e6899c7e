"""Instructions of inference with the ESP32-S3's vectors: python -m bench.s3 [--models …] [--json FILE]

Counts the assembly of this project's PIE kernels (runtime/src/kernels/pie) for each operator that they run of the int8
networks of a folder, each product or, without products, each output. The runtime's C runs a plan on this computer, and
an interpreter runs the assembly that it calls; the C and other kernels are not counted. The network's output is
compared with the host's. Exit status 1 if one differs.
"""

from pathlib import Path

import numpy as np

from bench.assembly.pipe import Run
from bench.command import Row, command, parser_of, print_table, write_json
from bench.emulator import work_folder
from bench.networks import int8_networks
from bench.xtensa import whole
from tigris_pio import Session, compile_model
from tigris_pio.compiler.backends import pie
from tigris_pio.compiler.pipeline import Compiled
from tigris_pio.format.enums import DType

COLUMNS = ["operator", "shape", ("products", "macs"), "kernel", "instructions", ("each", "each", ".3f"),
           "right"]  # fmt: skip


def rows_of(network: Path, program: Path, fast: str | None = None) -> list[Row]:
    """A row for each operator of a kind that the kernels run or help, and one for all that they take, with whether the
    output is right. `program`: by `whole.build`; `fast`: the budget, None: what there is."""
    compiled = compile_model(network, fast=fast, backend="pie", chip=pie.CHIP)
    run, right = _run(compiled, program)
    rows = [_row(compiled, place, run.instructions.get(place, 0)) for place in _places(compiled, run)]
    own = [row for row in rows if row["instructions"]]
    macs, count = sum(row["macs"] for row in own), sum(row["instructions"] for row in own)
    total = {"operator": f"{len(own)} of {len(rows)}", "shape": "", "kernel": "", "macs": macs, "instructions": count,
             "each": count / max(macs, 1), "right": right}  # fmt: skip
    return [*rows, total]


def _places(compiled: Compiled, run: Run) -> list[int]:
    ops = enumerate(compiled.plan.program.ops)
    return [place for place, op in ops
            if run.instructions.get(place) or (op.dtype is DType.INT8 and op.kind in pie.KINDS)]  # fmt: skip


def _row(compiled: Compiled, place: int, instructions: int) -> Row:
    op = compiled.plan.program.ops[place]
    output = compiled.plan.program.tensors[op.output]
    layer = pie.layer_of(op) if op.backend and op.blobs else None
    kernel = compiled.report["kernels"]["ops"][place]
    own = layer.function if layer else kernel["kernel"] if op.backend or instructions else kernel["why"]
    return {
        "operator": op.kind.name, "shape": f"{output.height}x{output.width}x{output.channels}", "macs": op.macs,
        "kernel": own.removeprefix("tigris_pie_"), "instructions": instructions,
        "each": instructions / (op.macs or output.height * output.width * output.channels), "right": "",
    }  # fmt: skip


def _run(compiled: Compiled, program: Path) -> tuple[Run, bool]:
    """On random input, and whether the output is the host's."""
    with Session(compiled) as session:
        (source,), (result,) = session.inputs, session.outputs
        data = np.random.default_rng(1).integers(-128, 128, source.stored_shape).astype(np.int8)
        expected = session.run_raw({source.name: data})[result.name].tobytes()
    run = whole.run(program, compiled.data, data.tobytes())
    return run, (run.status, run.output) == (0, expected)


@command
def main() -> int:
    """The command."""
    options = parser_of(__doc__, "folder", "json", models=None).parse_args()
    tables = {}
    with work_folder() as folder:
        program = whole.build(folder)
        for name in options.models or int8_networks(options.folder):
            tables[name] = rows_of(options.folder / f"{name}_int8.onnx", program)
            print_table(f"{name} on the ESP32-S3's vectors, instructions", tables[name], COLUMNS)
    write_json(options.json, tables)
    return 0 if all(rows[-1]["right"] for rows in tables.values()) else 1
