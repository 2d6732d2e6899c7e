"""Chooses the memory budget (custom_tigris_mem) of a new project."""

import dataclasses

from tigris_pio.compiler.backends.backend import find_backend
from tigris_pio.compiler.ir.plan import Budget
from tigris_pio.compiler.options import CompileOptions
from tigris_pio.compiler.pipeline import Compiled, Front, back
from tigris_pio.errors import BudgetError
from tigris_pio.project.boards import NewBoard

#: Possible sizes of fast memory, in KB.
SIZES = (16, 32, 64, 96, 128, 160, 192, 256)
#: Largest free block of internal memory in firmware for these chips, in KB (ESP-IDF's heap regions).
LARGEST_BLOCK = {"esp32": 96, "esp32s2": 128, "esp32c3": 192}
#: Sizes of PSRAM that are tried, in MB.
PSRAM = (2, 8)


@dataclasses.dataclass(frozen=True)
class Grant:
    """The value of custom_tigris_mem, and the model compiled for it."""

    memory: str
    compiled: Compiled


def grant(start: Front, board: NewBoard, options: CompileOptions, given: str | None = None) -> Grant:
    """Compiles for the budget of `options`, whose text is `given`. Without it for fast memory alone, else with PSRAM if
    the board has it.

    The budget then is the size of SIZES next above the plan's peak, so that a model that is trained again still fits.
    BudgetError if no size works.
    """
    most = LARGEST_BLOCK.get(board.chip, SIZES[-1])
    kernels = find_backend(options.backend, board.chip)
    if kernels is not None and kernels.has_planned_scratch:  # kernels in the runtime, which the build uses here
        options = dataclasses.replace(options, chip=board.chip)
    if given:
        return Grant(given, back(start, options))
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
