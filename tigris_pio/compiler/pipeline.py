"""The seven stages in order, and what a compilation returns.

    1 load       model file       -> graph       compiler/load/
    2 normalise  graph            -> program     compiler/normalise/, compiler/lower/, compiler/slide/
    3 lifetimes  program          -> lifetimes   compiler/plan/lifetimes.py
    4 timeline   lifetimes        -> live bytes  compiler/plan/timeline.py
    5 temporal   live bytes       -> segments    compiler/plan/cut/temporal.py
    6 spatial    segments         -> stages      compiler/plan/band/spatial.py, compiler/plan/memory/
    7 emit       execution plan   -> .tgrs       compiler/emit/
"""

from __future__ import annotations

import dataclasses
import inspect
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, NoReturn

import onnx

from tigris_pio.compiler import arguments
from tigris_pio.compiler.backends.balance import Point
from tigris_pio.compiler.backends.report import kernels_report
from tigris_pio.compiler.choose import balances, cheapest_plan, plan_of
from tigris_pio.compiler.codegen import Generated, generate
from tigris_pio.compiler.emit.writer import write_plan
from tigris_pio.compiler.ir.plan import Budget, ExecutionPlan
from tigris_pio.compiler.ir.program import Program
from tigris_pio.compiler.limits import Limits, find_limits
from tigris_pio.compiler.load import load_model
from tigris_pio.compiler.lower import lower
from tigris_pio.compiler.lower.registry import refused
from tigris_pio.compiler.lower.streams import add_streams
from tigris_pio.compiler.lower.verify import checked
from tigris_pio.compiler.normalise import PassStatistics, normalise
from tigris_pio.compiler.options import DEFAULT_ALIGNMENT, UNLIMITED, CompileOptions
from tigris_pio.compiler.plan.attempts import Attempt
from tigris_pio.compiler.plan.order.candidates import orders
from tigris_pio.compiler.plan.two_cores import split_steps
from tigris_pio.compiler.report import Report, build_report, hop_report
from tigris_pio.compiler.slide import SlidingProgram, slide
from tigris_pio.errors import BudgetError, ModelError, UnsupportedError, UsageError
from tigris_pio.files import write_atomically
from tigris_pio.sizes import format_size, size_option
from tigris_pio.spelling import option
from tigris_pio.text import counted, visible_name

#: Told the name of each stage as it begins.
Progress = Callable[[str], None]


@dataclasses.dataclass(frozen=True)
class Front:
    """Stages 1 and 2: a program that no budget has touched yet, in the order that lowering left."""

    program: Program
    statistics: tuple[PassStatistics, ...]
    slid: SlidingProgram | None = None  #: where the windows of runs overlap


@dataclasses.dataclass(frozen=True, repr=False)
class Compiled:
    """A compiled model: the plan's bytes, and what is said about it.

    A notebook shows it as `tigris analyze --report` does.

    data: the plan, the bytes of a `.tgrs` file
    report: the document of `tigris compile --json`, a dictionary
    plan: the stages, their bands and where everything lies
    statistics: name, nodes before and after, and what was folded, of each pass
    attempts: cuts that the search tried, in turn: in which order of the operators, why, what came of it
    """

    data: bytes
    report: Report
    plan: ExecutionPlan
    statistics: tuple[PassStatistics, ...]
    attempts: tuple[Attempt, ...] = ()

    def __repr__(self) -> str:
        """One line; the report has the figures."""
        report, memory = self.report, self.report["memory"]
        return (
            f"<Compiled {visible_name(report['model'])!r}: {report['dtype']}, {counted(report['ops'], 'operator')}, "
            f"plan {len(self.data)} bytes, fast {memory['fast_peak']}, slow {memory['slow_peak']} bytes>"
        )

    def _repr_html_(self) -> str:
        """The page of `tigris analyze --report`, as notebooks show it."""
        from tigris_pio.report.html import render_fragment  # noqa: PLC0415  (templates are for those who look)

        return render_fragment(self)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the `.tgrs` file; never leaves half of one."""
        write_atomically(Path(path), self.data)

    def codegen(
        self,
        folder: str | os.PathLike[str] | None = None,
        name: str | None = None,
        weights: str = "c",
        layout: str = "one",
    ) -> Generated:
        """The model as plain C, which needs no runtime: `NAME.c` and `NAME.h`, written to `folder` if there is one.

        name: what files and public names begin with, a C identifier; None: the model's name
        weights: "c", as constants, or "partition": in `NAME_weights.bin`, which is flashed alone
        layout: "one" file with the kernels inside, or "split": kernels in files of their own, which models share
        """
        generated = generate(self.plan, name, weights, layout)
        if folder is not None:
            generated.save(folder)
        return generated


def _silent(_: str) -> None:
    pass


def front(model: Any, options: CompileOptions, progress: Progress = _silent) -> Front:
    """Loads and lowers `model`: a path, a file's content or an onnx.ModelProto."""
    try:
        return _front(model, options, progress)
    except (ArithmeticError, ValueError, LookupError, TypeError, AttributeError, RecursionError, MemoryError) as error:
        if os.environ.get("TIGRIS_DEBUG"):
            raise
        name = f"model {model.graph.name}" if isinstance(model, onnx.ModelProto) else "model"
        name = name if isinstance(model, onnx.ModelProto | bytes) else str(model)
        raise ModelError(
            f"{name}: breaks its format's rules in a way that has no message of its own ({type(error).__name__}: "
            f"{error}); for ONNX onnx.checker.check_model may say more, TIGRIS_DEBUG=1 shows where"
        ) from error


def _front(model: Any, options: CompileOptions, progress: Progress) -> Front:
    progress("load")
    graph = load_model(model, options.dims, find_limits(options.limits), options.fixed, options.states)
    progress("normalise")
    try:
        result = normalise(graph)
        lowered = lower(result.graph)
    except Exception as error:
        if graph.refused and not isinstance(error, UnsupportedError):  # what is left of it needs make no sense
            raise refused(graph.refused, graph.name) from error
        raise
    program = dataclasses.replace(lowered, name=options.name) if options.name else lowered
    slid = None if options.hop is None else slide(program, options.hop)
    program = checked(slid.program, "slide") if slid else program
    return Front(checked(add_streams(program, options.streams), "add_streams"), result.statistics, slid)


def back(start: Front, options: CompileOptions, progress: Progress = _silent) -> Compiled:
    """Plans and emits; BudgetError when the model does not fit."""
    progress("partition")
    plan, attempts = cheapest_plan(start.program, options)
    checked(plan.program, "partition")
    if options.cores > 1:
        plan = dataclasses.replace(plan, split=split_steps(plan))
    progress("emit")
    data = write_plan(plan, options.xip)
    flash = options.budget.flash
    if flash is not None and len(data) > flash:
        raise BudgetError(
            f"the plan of {start.program.name} is {len(data)} bytes ({format_size(len(data))}), the flash budget is "
            f"{flash} ({format_size(flash)}); the smallest that works is {option('flash', size_option(len(data)))}"
            + ("" if options.compress == "lz4" else f", or try {option('compress', 'lz4')}")
        )
    report = build_report(plan, data, options.budget)
    report["kernels"] = kernels_report(plan, options.backend, options.chip)
    if start.slid is not None:
        report["hop"] = hop_report(start.slid, plan, plan_of(start.slid.whole, options))
    return Compiled(data, report, plan, start.statistics, attempts)


def analyze(model: Any, options: CompileOptions, progress: Progress = _silent) -> Compiled:
    """Like compiling, but a model that does not fit is reported (`fits` false) with unlimited memory."""
    return analyze_front(front(model, options, progress), options, progress)


def analyze_front(start: Front, options: CompileOptions, progress: Progress = _silent) -> Compiled:
    """The same from stage 3 on."""
    try:
        found = back(start, options, progress)
        found.report["backend"]["balance"] = [dataclasses.asdict(point) for point in _curve(start, options, found.plan)]
        return found
    except BudgetError as error:
        ample = back(start, dataclasses.replace(options, budget=UNLIMITED), progress)
        report = build_report(ample.plan, ample.data, options.budget, str(error))
        report |= {key: ample.report[key] for key in ("hop", "kernels") if key in ample.report}
        return dataclasses.replace(ample, report=report)


def _curve(start: Front, options: CompileOptions, plan: ExecutionPlan) -> tuple[Point, ...]:
    """What other shares of the arena and a library's scratch would cost; () without a library or a limit."""
    if plan.backend is None or options.budget.fast is None:
        return ()
    names = [op.name for op in plan.program.ops]
    same = (program for program in orders(start.program) if [op.name for op in program.ops] == names)
    program = next(same, start.program)  # products may be folded
    return balances(program, options).curve(plan)


def compile_model(
    model: str | os.PathLike[str] | bytes | onnx.ModelProto,
    fast: int | str | None = None,
    slow: int | str | None = 0,
    flash: int | str | None = None,
    xip: bool = False,
    compress: str = "none",
    *,
    copy_weights: bool = False,
    alignment: int = DEFAULT_ALIGNMENT,
    dims: Mapping[str, int] | None = None,
    set: Mapping[str, object] | None = None,
    state: Mapping[str, str] | Iterable[str] | None = None,
    hop: int | None = None,
    stream: str | Iterable[str] | None = None,
    name: str | None = None,
    backend: str = "auto",
    chip: str = "",
    limits: Limits | Mapping[str, int] | None = None,
    cores: int = 1,
    **unknown: NoReturn,
) -> Compiled:
    """Compiles a model to a plan: the path of an ONNX or TensorFlow Lite file, or one in memory (ModelProto, bytes).

    Sizes are bytes or texts like "64K". Raises a TigrisError that says what to change.

    model: path of an `.onnx` or `.tflite` file, the bytes of a `.tflite` file, or an `onnx.ModelProto`
    fast: SRAM for activations; None: no limit
    slow: memory such as PSRAM; None or 0: none
    flash: most that the plan may take; None: no limit
    xip: weights are never copied to RAM; not together with compress or copy_weights
    compress: "none" or "lz4": weights are decompressed to fast memory, stage by stage, where they fit
    copy_weights: each stage's weights are copied to fast memory where they fit
    alignment: of tensors in the arenas: 4, 8, 16, 32 or 64 bytes
    dims: sizes of free dimensions, `{"length": 512}`; a free batch is 1 unless given
    set: inputs that become constants, `{"sr": 16000}`
    state: outputs that are inputs of the next run, `{"h_out": "h"}`
    hop: rows of its input that a run is given, where it runs on windows that overlap; None: whole windows
    stream: inputs and outputs that are never to be whole in memory, "image" or several: their rows are asked for and
        given away during the run, by `Session.run` as by the firmware's hooks
    name: the model's, a C identifier; None: the file's
    backend: "auto", "portable", "esp-nn", "cmsis-nn" or "pie": whose kernels run int8 convolutions and fully connected
        layers
    chip: the board's chip or core, for which the plan is made, "auto" chooses and a backend's scratch is sized; "": one
        without DSP instructions and floating point, portable, and enough for any
    limits: what the model's file may ask of the compiler, `{"nodes": 200000}`
    cores: 2: operators that are worth it are marked for two cores, which share their rows where the firmware has given
        the session a second one; the same bytes with one
    """
    arguments.unknown(unknown, inspect.signature(compile_model).parameters)
    arguments.model(model)
    memory = arguments.size("fast", fast)
    if memory == 0:
        raise UsageError("fast: the fast memory is 0; give at least a few kilobytes, like '64K', or None for no limit")
    options = CompileOptions(
        budget=Budget(memory, arguments.size("slow", slow) or 0, arguments.size("flash", flash)),
        xip=arguments.switch("xip", xip),
        compress=arguments.text("compress", compress),
        copy_weights=arguments.switch("copy_weights", copy_weights),
        alignment=arguments.alignment(alignment),
        dims=arguments.dims(dims),
        fixed=arguments.fixed(set),
        states=arguments.states(state),
        hop=None if hop is None else arguments.hop(hop),
        streams=arguments.streams(stream),
        name=None if name is None else arguments.text("name", name),
        backend=arguments.text("backend", backend),
        chip=arguments.text("chip", chip),
        limits={} if limits is None else limits,
        cores=arguments.cores(cores),
    )
    options.weights()
    options.kernels()
    return back(front(model, options), options)
