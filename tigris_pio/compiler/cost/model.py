"""The cost model of a processor: coefficients from table.json, which `python -m bench.calibrate` writes."""

from __future__ import annotations

import dataclasses
import functools
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tigris_pio.compiler.cost.kernel import Kernel, kernel_of
from tigris_pio.compiler.ir.program import Program, ProgramOp, ProgramTensor
from tigris_pio.format.enums import DType

PATH = Path(__file__).with_name("table.json")
#: A row of the table: instructions of each term; "tile": the multiples to which the kernel rounds amounts up.
Row = Mapping[str, Any]
Rows = Mapping[str, Row]
#: The row of what the executor does around the calls.
EXECUTOR = "executor"


@dataclasses.dataclass(frozen=True, eq=False)
class CostModel:
    """Predicts the instructions of kernel calls and of the executor on one processor.

    rows: of the portable kernels, each taking `times` as many instructions as its row says
    libraries: rows of the kernel libraries that were counted on this processor
    estimates: rows of portable kernels that were counted on none
    """

    processor: str
    rows: Rows
    times: float
    libraries: Mapping[str, Rows]
    estimates: Rows

    @staticmethod
    @functools.cache
    def of(processor: str) -> CostModel:
        """The model of a processor of the table."""
        entry = _entry(processor)
        return CostModel(processor, entry["rows"], entry["times"], entry["libraries"], TABLE["estimates"])

    def call(self, op: ProgramOp, tensors: Mapping[str, ProgramTensor], rows: int | None = None) -> float:
        """Instructions of one kernel call that makes `rows` rows or all, of the images that the kernel takes together.

        A library's kernel counts as the portable one on processors where the library was not counted.
        """
        kernel, made = kernel_of(op, tensors), tensors[op.output].height if rows is None else rows
        row = _nearest(self.libraries.get(op.backend or op.accelerated_by, {}), kernel.name)
        return self.portable(kernel, made) if row is None else price(row, kernel, made)

    def portable(self, kernel: Kernel, rows: int) -> float:
        """Instructions of one call of a portable kernel."""
        return self.times * price(self.row(kernel.name), kernel, rows)

    def calls(self, op: ProgramOp, tensors: Mapping[str, ProgramTensor], counts: Mapping[int, int]) -> float:
        """Instructions of `counts` calls, by the rows that each makes."""
        return sum(count * self.call(op, tensors, rows) for rows, count in counts.items())

    def row(self, name: str) -> Row:
        """The row of a portable kernel, else one that was estimated, else that of its type."""
        dtype = name.split()[1]
        found = _nearest(self.rows, name) or _nearest(self.estimates, name)
        return found or self.rows.get(dtype) or self.estimates.get(dtype) or self.estimates[DType.INT8.name]

    def executor(self, walked: Mapping[str, float]) -> float:
        """Instructions of the executor around the calls, by how often it does what."""
        row = self.rows[EXECUTOR]
        taken: float = sum(row.get(name, 0.0) * amount for name, amount in walked.items())
        return self.times * taken


def price(row: Row, kernel: Kernel, rows: int) -> float:
    """Instructions of a call that makes `rows` rows."""
    amounts = kernel.amounts(rows, row.get("tile", {}))
    taken: float = sum(amount * row[term] for term, amount in amounts.items() if term in row)
    return taken


def row_name(rows: Rows, name: str) -> str | None:
    """The name of a kernel's row, or of its kind's and type's with fewer words about its variant."""
    words = name.split()
    names = (" ".join(words[:count]) for count in range(len(words), 1, -1))
    return next((one for one in names if one in rows), None)


def _nearest(rows: Rows, name: str) -> Row | None:
    found = row_name(rows, name)
    return None if found is None else rows[found]


#: processors: the rows of each, or the processor that it is `like`, and how many `times` its instructions.
#: factors: of single rows, by library or "portable", from an emulated chip's firmware (`python -m bench.emulated_s3`).
#: chips: the processor that stands for a chip, by library; "*": for any other chip.
TABLE: Mapping[str, Any] = json.loads(PATH.read_text("utf-8"))
#: The processors that stand for chips with portable kernels.
PROCESSORS = tuple(dict.fromkeys(TABLE["chips"]["portable"].values()))
#: For a chip that nobody named: without DSP instructions and without floating point.
DEFAULT = "rv32imc"
#: With single-precision floating point.
FPU = "cortex-m7"


def _entry(processor: str) -> Mapping[str, Any]:
    entry = TABLE["processors"][processor]
    whole = {"times": 1.0, "libraries": {}, "factors": {}, **TABLE["processors"].get(entry.get("like"), {}), **entry}
    factors = whole["factors"]
    libraries = {name: _scaled(rows, factors.get(name, {})) for name, rows in whole["libraries"].items()}
    return {**whole, "rows": _scaled(whole["rows"], factors.get("portable", {})), "libraries": libraries}


def _scaled(rows: Rows, factors: Mapping[str, float]) -> Rows:
    scaled = {name: {term: amount if term == "tile" else factor * amount for term, amount in rows[name].items()}
              for name, factor in factors.items()}  # fmt: skip
    return {**rows, **scaled}


def machines(library: str) -> tuple[str, ...]:
    """The processors on which a library was counted."""
    return tuple(name for name in TABLE["processors"] if library in _entry(name)["libraries"])


def nearest(chip: str, use: str = "portable") -> str:
    """The processor that stands for a chip of `--chip`, for a library or for the portable kernels."""
    chips = TABLE["chips"].get(use, {})
    found: str | None = chips.get(chip, chips.get("*"))
    return found or nearest(chip)


def nearest_for(program: Program, chip: str, library: str = "") -> str:
    """The processor by whose instructions a plan of `program` for a chip is judged.

    For a network in float32 it has floating point if the chip does. Else the library was counted on it.
    """
    floats = sum(op.dtype is DType.FLOAT32 and op.macs > 0 for op in program.ops)
    is_float = 2 * floats > sum(op.macs > 0 for op in program.ops)
    return nearest(chip, "float32" if is_float else library or "portable")


def operator_instructions(program: Program, op: ProgramOp, *, fpu: bool) -> float:
    """Instructions of an operator that runs whole, on a processor with or without single-precision floating point."""
    processor = FPU if fpu and op.dtype is DType.FLOAT32 else DEFAULT
    return op.images * CostModel.of(processor).call(op, program.tensors)


def instructions(program: Program, *, fpu: bool) -> int:
    """Instructions of one run whose operators all run whole."""
    return round(sum(operator_instructions(program, op, fpu=fpu) for op in program.ops))
