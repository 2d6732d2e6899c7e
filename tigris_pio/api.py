"""`compile_model`, the compiler's entry for Python; `tigris_pio` imports it at its first use."""

from __future__ import annotations

import inspect
import os
from collections.abc import Iterable, Mapping
from typing import NoReturn

import onnx

from tigris_pio.compiler import arguments
from tigris_pio.compiler.ir.plan import Budget
from tigris_pio.compiler.limits import Limits
from tigris_pio.compiler.options import DEFAULT_ALIGNMENT, CompileOptions
from tigris_pio.compiler.pipeline import Compiled, back, front
from tigris_pio.errors import UsageError


class Displayed(Compiled):
    """A compiled model that a notebook shows."""

    def _repr_html_(self) -> str:
        from tigris_pio.report.html import render_fragment  # noqa: PLC0415  (loads templates)

        return render_fragment(self)


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
    """Compiles a model to a plan.

    Sizes are bytes or texts like "64K". Raises a TigrisError, whose message says what to change.

    model: path of an `.onnx` or `.tflite` file, the bytes of a `.tflite` file, or an `onnx.ModelProto`
    fast: SRAM for activations; None: no limit
    slow: memory such as PSRAM; None or 0: none
    flash: the largest size of the plan; None: no limit
    xip: weights are never copied to RAM; not together with compress or copy_weights
    compress: "none" or "lz4": weights are decompressed to fast memory, stage by stage, if they fit
    copy_weights: each stage's weights are copied to fast memory if they fit
    alignment: alignment of tensors in the arenas: 4, 8, 16, 32 or 64 bytes
    dims: sizes of free dimensions, `{"length": 512}`; a free batch dimension is 1 unless given
    set: inputs that become constants, `{"sr": 16000}`
    state: outputs that become inputs of the next run, `{"h_out": "h"}`
    hop: hop size in input rows, for a model that runs on overlapping windows; None: each run gets a whole window
    stream: inputs and outputs that are never whole in memory, "image" or several names: their rows move during the run,
        by functions given to `Session.run` or by the firmware's hooks
    name: the model's name, a C identifier; None: the file's name
    backend: "auto", "portable", "esp-nn", "cmsis-nn", "pie" or "mve": the library that runs int8 convolutions and fully
        connected layers
    chip: the board's chip or core; the plan, the choice of "auto" and a backend's scratch are made for it. "": a core
        without DSP instructions and floating point, portable kernels, and scratch enough for any chip
    limits: limits on the work that the model's file may cause, `{"nodes": 200000}`
    cores: 2: two cores share the rows of large operators, if the firmware gives the session a second core. The outputs
        are the same with one core
    """
    arguments.refuse_unknown(unknown, inspect.signature(compile_model).parameters)
    arguments.check_model(model)
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
    return Displayed(**vars(back(front(model, options), options)))
