"""The passes of programs. The head of the file that holds a pass says what it is for.

PASSES run behind lowering, in this order, and those that options ask for (`pipeline.py`) after them. The planner asks
for the forms at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence

from tigris_pio.compiler.ir.program import Program, ProgramOp
from tigris_pio.compiler.lower.batch_copies import remove_batch_copies
from tigris_pio.compiler.lower.columns import Tiles, tile_columns
from tigris_pio.compiler.lower.fold_products import fold_products
from tigris_pio.compiler.lower.fold_tables import fold_tables
from tigris_pio.compiler.lower.hoist_selections import hoist_selections
from tigris_pio.compiler.lower.parts_of_layers import join_layers, split_layers
from tigris_pio.compiler.lower.rings import roll_rings
from tigris_pio.compiler.lower.verify import check_program
from tigris_pio.compiler.passes import Pass, run_pass


def program_pass(
    rewrite: Callable[[Program], Program], summary: str, requires: Sequence[str] = (), provides: Sequence[str] = (),
    name: str = "",
) -> Pass[Program]:
    """A pass that checks its result. `rewrite` returns the program itself if it finds nothing to do."""

    def run(program: Program) -> tuple[Program, int]:
        rewritten = rewrite(program)
        if rewritten is program:
            return program, 0
        check_program(rewritten)
        return rewritten, len(set(map(_identity, program.ops)) - set(map(_identity, rewritten.ops)))

    return Pass(name or rewrite.__name__, summary, frozenset(requires), frozenset(provides), run)


def _identity(op: ProgramOp) -> tuple[object, ...]:
    """Tells whether a pass rewrote an operator. Memory that it may share with its operands is not part of it."""
    return op.name, op.kind, op.operands, op.output, op.params, id(op.blobs), op.images


PASSES = (
    program_pass(roll_rings, "COMMIT of a ring reads the new rows only", provides=["rings"]),
    program_pass(fold_tables, "the product of an int8 tensor and a table of it becomes one table", provides=["tables"]),
    program_pass(remove_batch_copies, "rows become a batch of images without a copy", ["tables"], ["batches"]),
    program_pass(join_layers, "fully connected layers that one CONCAT joins become one", provides=["joined_layers"]),
    program_pass(split_layers, "a fully connected layer read in parts becomes several", ["batches"], ["split_layers"]),
    program_pass(hoist_selections, "row-wise operators compute selected rows only", provides=["selected_rows"]),
)


# Forms of a program for the planner, which tries plans with and without them.


def with_folded_products(program: Program) -> Program | None:
    """`program` with folded products; None if it has none to fold."""
    folding = program_pass(lambda whole: fold_products(whole) or whole, "a fully connected layer adds up rows of a map",
                           ["joined_layers", "split_layers"], name="fold_products")
    folded = run_pass(program, folding)[0]
    return None if folded is program else folded


def with_tiled_columns(program: Program, regions: Sequence[Tiles], split_tensors: Container[str]) -> Program:
    """`program` with `regions` in tiles; see `tile_columns`."""
    tiling = program_pass(lambda whole: tile_columns(whole, regions, split_tensors),
                          "operators run tile by tile of their columns", name="tile_columns")
    return run_pass(program, tiling)[0]
