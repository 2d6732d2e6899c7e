"""How much memory a new project grants its model."""

from __future__ import annotations

import dataclasses

from tigris_pio.compiler.backends.backend import find_backend
from tigris_pio.compiler.ir.plan import Budget
from tigris_pio.compiler.options import CompileOptions
from tigris_pio.compiler.pipeline import Compiled, Front, back
from tigris_pio.errors import BudgetError
from tigris_pio.project.boards import NewBoard

#: What custom_tigris_mem may say, in KB.
SIZES = (16, 32, 64, 96, 128, 160, 192, 256)
#: Larger blocks of internal memory are not free in firmware with these chips (esp-idf's heap regions).
LARGEST_BLOCK = {"esp32": 96, "esp32s2": 128, "esp32c3": 192}
#: MB of PSRAM that are tried.
PSRAM = (2, 8)


@dataclasses.dataclass(frozen=True)
class Grant:
    """`memory` is what custom_tigris_mem says; `compiled` the model within it."""

    memory: str
    compiled: Compiled


def grant(start: Front, board: NewBoard, options: CompileOptions) -> Grant:
    """Fast memory alone where that is enough, else with PSRAM where the board has it.

    The usual size next above what the fastest plan takes, so that a model trained anew finds room. BudgetError when
    nothing works, in the planner's words.
    """
    most = LARGEST_BLOCK.get(board.chip, SIZES[-1])
    kernels = find_backend(options.backend, board.chip)
    if kernels is not None and kernels.own_scratch:  # the runtime's own for the chip, which the build takes
        options = dataclasses.replace(options, chip=board.chip)
    budgets = [(most, 0), *((most, slow) for slow in (PSRAM if board.has_psram else ()))]
    refusal: BudgetError | None = None
    for fast, slow in budgets:
        try:
            compiled = back(start, dataclasses.replace(options, budget=Budget(fast << 10, slow << 20)))
        except BudgetError as error:
            refusal = error
            continue
        needed = compiled.report["memory"]["fast_peak"]
        size = next(size for size in SIZES if size << 10 >= needed)
        return Grant(f"{size}K" + (f"+{slow}M" if slow else ""), compiled)
    assert refusal is not None
    raise refusal
