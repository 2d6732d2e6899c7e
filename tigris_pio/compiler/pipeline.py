"""Runs the compiler's steps in order, for `compile_model` (`tigris_pio/api.py`), the command line and the bench.

    load         model file     -> graph           load/
    normalise    graph          -> graph           normalise/: only operators that lowering knows
    lower        graph          -> program         lower/
    rewrite      program        -> program         lower/passes.py: passes, also those for a hop and for streams
    plan         program        -> execution plan  choose.py, below
    emit         execution plan -> .tgrs           emit/

`cheapest_plan` in choose.py plans several orders of the operators and returns the cheapest plan:

    orders       plan/order/                       candidates, by live bytes
    search       plan/search.py                    the frontier, then its schedules arranged by cost
    frontier     plan/frontier/, plan/cut/         stages and memory assignment at every level of memory, by live bytes
    bands        plan/band/                        rows, windows and paces of a stage
    arrange      plan/arrange.py                   heights of bands, and what to do if offsets exceed the budget
    placement    plan/placement.py, plan/memory/   offsets in the arenas
    cost         plan/cost.py, cost/               predicted instructions and slow traffic
    finish       plan/finish.py                    the execution plan
    refusal      plan/refusal.py                   the smallest memory that works, if no plan fits
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tigris_pio.compiler.backends import mve
from tigris_pio.compiler.backends.balance import Point
from tigris_pio.compiler.backends.report import kernels_report
from tigris_pio.compiler.choose import balances, cheapest_plan, plan_of
from tigris_pio.compiler.codegen import Generated, generate
from tigris_pio.compiler.emit.writer import write_plan
from tigris_pio.compiler.internal import compiler_step
from tigris_pio.compiler.ir.plan import ExecutionPlan
from tigris_pio.compiler.ir.program import Program
from tigris_pio.compiler.limits import find_limits
from tigris_pio.compiler.load import load_model
from tigris_pio.compiler.lower import lower
from tigris_pio.compiler.lower.pack_int4 import pack_int4
from tigris_pio.compiler.lower.passes import PASSES, program_pass
from tigris_pio.compiler.lower.registry import refused
from tigris_pio.compiler.lower.streams import add_streams
from tigris_pio.compiler.lower.verify import check_program
from tigris_pio.compiler.normalise import normalise
from tigris_pio.compiler.options import UNLIMITED, CompileOptions
from tigris_pio.compiler.passes import Pass, PassStatistics, run_passes
from tigris_pio.compiler.plan.attempt import Attempt
from tigris_pio.compiler.plan.order.candidates import orders
from tigris_pio.compiler.plan.two_cores import split_steps
from tigris_pio.compiler.report import Report, build_report, hop_report
from tigris_pio.compiler.slide import SlidingProgram, slide
from tigris_pio.errors import BudgetError, UnsupportedError
from tigris_pio.files import write_atomically
from tigris_pio.sizes import format_size, size_option
from tigris_pio.spelling import option
from tigris_pio.text import counted, visible_name

#: Called with the name of each step when it starts.
Progress = Callable[[str], None]


@dataclasses.dataclass(frozen=True)
class Front:
    """The result of all steps before planning; it does not depend on a budget."""

    program: Program
    statistics: tuple[PassStatistics, ...]
    slid: SlidingProgram | None = None  #: the program before and after `slide`; None without a hop


@dataclasses.dataclass(frozen=True, repr=False)
class Compiled:
    """A compiled model: the plan's bytes, and its report.

    A notebook shows the page of `tigris analyze --report`.

    data: the plan, the bytes of a `.tgrs` file
    report: the document of `tigris compile --json`, a dictionary
    plan: stages, bands, and the home and offset of each tensor
    statistics: for each pass its name, the nodes before and after, and the number of nodes it removed or rewrote
    attempts: the schedules that the search placed, in turn: windows, bytes, cost, and whether they exceed the budget
    """

    data: bytes
    report: Report
    plan: ExecutionPlan
    statistics: tuple[PassStatistics, ...]
    attempts: tuple[Attempt, ...] = ()

    def __repr__(self) -> str:
        """One line with the main figures."""
        report, memory = self.report, self.report["memory"]
        return (
            f"<Compiled {visible_name(report['model'])!r}: {report['dtype']}, {counted(report['ops'], 'operator')}, "
            f"plan {len(self.data)} bytes, fast {memory['fast_peak']}, slow {memory['slow_peak']} bytes>"
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the `.tgrs` file in one step."""
        write_atomically(Path(path), self.data)

    def codegen(
        self,
        folder: str | os.PathLike[str] | None = None,
        name: str | None = None,
        weights: str = "c",
        layout: str = "one",
        chip: str = "",
    ) -> Generated:
        """The model as plain C, which needs no runtime: `NAME.c` and `NAME.h`, written to `folder` if it is given.

        name: prefix of files and public names, a C identifier; None: the model's name
        weights: "c": constants in the source; "partition": in `NAME_weights.bin`, which is flashed by itself
        layout: "one": kernels in the model's file; "split": kernels in separate files, which models share
        chip: C for this chip only, without the branches of other instruction sets; "": for any chip
        """
        with compiler_step("codegen"):
            generated = generate(self.plan, name, weights, layout, chip)
        if folder is not None:
            generated.save(folder)
        return generated


def _no_progress(_: str) -> None:
    pass


def front(model: Any, options: CompileOptions, progress: Progress = _no_progress) -> Front:
    """Runs all steps before planning. `model`: a path, a file's content or an onnx.ModelProto. Raises ModelError."""
    progress("load")
    with compiler_step("load"):
        graph = load_model(model, options.dims, find_limits(options.limits), options.fixed, options.states)
    progress("normalise")
    try:
        graph, graph_statistics = normalise(graph)
        with compiler_step("lower"):
            program = lower(graph)
            check_program(program)
    except Exception as error:
        if graph.refused and not isinstance(error, UnsupportedError):  # the rest of the graph may be inconsistent
            raise refused(graph.refused, graph.name) from error
        raise
    program = dataclasses.replace(program, name=options.name) if options.name else program
    slid: list[SlidingProgram] = []
    passes = (*PASSES, *_option_passes(options.hop, options.streams, slid.append), *_weight_passes(options))
    program, statistics = run_passes(program, passes)
    return Front(program, (*graph_statistics, *statistics), slid[0] if slid else None)


def _option_passes(
    hop: int | None, streams: Sequence[str], note: Callable[[SlidingProgram], object]
) -> list[Pass[Program]]:
    """The passes behind PASSES that the options ask for. `note` gets the details of the sliding program."""

    def slide_rows(program: Program, rows: int) -> Program:
        sliding = slide(program, rows)
        note(sliding)
        return sliding.program

    sliding = [] if hop is None else [program_pass(
        lambda program: slide_rows(program, hop), "each run computes new rows only", name="slide")]
    streaming = program_pass(lambda program: add_streams(program, streams),
                             "FETCH and TAKE move rows of inputs and outputs", name="add_streams")
    return [*sliding, streaming]


def _weight_passes(options: CompileOptions) -> list[Pass[Program]]:
    """The pass for weights of 4 bits. Kernel libraries and vector instructions take 8 bits."""
    if options.kernels() is not None or options.chip in mve.CHIPS:
        return []

    def pack(program: Program) -> Program:
        return pack_int4(program, options.budget.fast, options.cores, options.alignment)

    return [program_pass(pack, "layers whose weights fit 4 bits, or tables, store them in 4 bits", name="pack_int4")]


def back(start: Front, options: CompileOptions, progress: Progress = _no_progress) -> Compiled:
    """Plans and emits the program of `front`. Raises BudgetError if it does not fit."""
    progress("partition")
    with compiler_step("plan"):
        plan, attempts = cheapest_plan(start.program, options)
        check_program(plan.program)
        if options.cores > 1:
            plan = dataclasses.replace(plan, split=split_steps(plan))
    progress("emit")
    with compiler_step("emit"):
        data = write_plan(plan, options.xip)
    flash = options.budget.flash
    if flash is not None and len(data) > flash:
        raise BudgetError(
            f"the plan of {start.program.name} is {len(data)} bytes ({format_size(len(data))}), the flash budget is "
            f"{flash} ({format_size(flash)}); the smallest that works is {option('flash', size_option(len(data)))}"
            + ("" if options.compress == "lz4" else f", or try {option('compress', 'lz4')}")
        )
    with compiler_step("report"):
        report = build_report(plan, data, options.budget)
        report["kernels"] = kernels_report(plan, options.backend, options.chip)
        if start.slid is not None:
            report["hop"] = hop_report(start.slid, plan, plan_of(start.slid.whole, options))
    return Compiled(data, report, plan, start.statistics, attempts)


def analyze(model: Any, options: CompileOptions, progress: Progress = _no_progress) -> Compiled:
    """Compiles `model`; if it does not fit, with unlimited memory and `fits` false in the report."""
    return analyze_front(front(model, options, progress), options, progress)


def analyze_front(start: Front, options: CompileOptions, progress: Progress = _no_progress) -> Compiled:
    """Like `analyze`, for a model that `front` has lowered."""
    try:
        found = back(start, options, progress)
        with compiler_step("plan"):
            curve = _curve(start, options, found.plan)
        found.report["backend"]["balance"] = [dataclasses.asdict(point) for point in curve]
        return found
    except BudgetError as error:
        ample = back(start, dataclasses.replace(options, budget=UNLIMITED), progress)
        report = build_report(ample.plan, ample.data, options.budget, str(error))
        report |= {key: ample.report[key] for key in ("hop", "kernels") if key in ample.report}
        return dataclasses.replace(ample, report=report)


def _curve(start: Front, options: CompileOptions, plan: ExecutionPlan) -> tuple[Point, ...]:
    """The cost of other divisions of fast memory into arena and library scratch; () without a library or a limit."""
    if plan.backend is None or options.budget.fast is None:
        return ()
    names = [op.name for op in plan.program.ops]
    same = (program for program in orders(start.program) if [op.name for op in program.ops] == names)
    program = next(same, start.program)  # with folded products no order has these operators
    return balances(program, options).curve(plan)
