"""Options that several commands share, and how their texts become compile options."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from tigris_pio.compiler import arguments
from tigris_pio.compiler.arguments import parse_ties
from tigris_pio.compiler.backends.backend import BACKENDS, PORTABLE
from tigris_pio.compiler.ir.plan import Budget
from tigris_pio.compiler.limits import Limits, find_limits
from tigris_pio.compiler.options import DEFAULT_ALIGNMENT, CompileOptions
from tigris_pio.errors import UsageError
from tigris_pio.files import check_target, read_named
from tigris_pio.sizes import parse_memory, parse_size
from tigris_pio.spelling import option

F = TypeVar("F", bound=Callable[..., Any])

MODEL = click.argument("model", type=click.Path(), metavar="MODEL")
JSON = click.option("--json", "as_json", is_flag=True, help="Print one JSON document on stdout and nothing else.")


LIMIT = click.option(
    "--limit",
    "limits",
    multiple=True,
    metavar="NAME=VALUE",
    help="Let the model file ask for more than is usual, e.g. --limit nodes=200000. A refusal names what to raise.",
)


HOP = click.option(
    "--hop",
    metavar="ROWS",
    help="Runs are on windows that overlap: each is given the ROWS new rows of the input, and rows of maps that the "
    "runs before made are kept. Rows lie along the input's first axis but batch and channels.",
)


CORES = click.option(
    "--cores",
    type=click.Choice(["1", "2"]),
    default="1",
    show_default=True,
    help="Cores of the board that share the rows of an operator: with 2 those worth it are marked.",
)


def model_options(command: F) -> F:
    """--dim, --set, --state, --stream and --limit: what the model file leaves open."""
    command = LIMIT(command)
    command = click.option(
        "--stream",
        "streams",
        multiple=True,
        metavar="NAME",
        help="Never have input or output NAME whole in memory: the firmware gives rows when asked, as a camera's lines "
        "arrive, and takes rows as they are made.",
    )(command)
    command = click.option(
        "--state",
        "states",
        multiple=True,
        metavar="OUT=IN",
        help="Carry a state: what output OUT is after a run, input IN is in the next; in the first zeros, or what "
        "--set IN=VALUE says.",
    )(command)
    command = click.option(
        "--set",
        "fixed",
        multiple=True,
        metavar="NAME=VALUE",
        help="Make an input of the model a constant, e.g. --set sr=16000. Several values: 1,2,3.",
    )(command)
    return click.option(
        "--dim",
        "dims",
        multiple=True,
        metavar="NAME=VALUE",
        help="Set a free dimension of the model, e.g. --dim length=512. A free batch is 1 unless set.",
    )(command)


class _Memory(click.types.StringParamType):
    """Says what to give where it lacks."""

    def get_missing_message(self, param: click.Parameter, ctx: click.Context | None = None) -> str:
        """The sentence behind click's."""
        return "Give the memory for activations, like -m 64K; tigris analyze MODEL says what a model takes."


def budget_options(memory_required: bool) -> Callable[[F], F]:
    """-m, -f, and those of model_options."""

    def decorate(command: F) -> F:
        command = click.option(
            "-f", "--flash", metavar="SIZE", help="Flash the plan may take, e.g. 4M. Default: no limit."
        )(model_options(command))
        default = "" if memory_required else " Default: no limit."
        return click.option(
            "-m",
            "--mem",
            "memory",
            required=memory_required,
            type=_Memory(),
            metavar="FAST[+SLOW]",
            help="Memory for activations: SRAM, and PSRAM if there is any, e.g. 256K or 256K+8M." + default,
        )(command)

    return decorate


def storage_options(command: F) -> F:
    """--xip, --compress, --copy-weights and --align."""
    command = click.option(
        "--align",
        type=click.Choice(["4", "8", "16", "32", "64"]),
        default=str(DEFAULT_ALIGNMENT),
        show_default=True,
        help="Alignment of tensors in the arenas, in bytes; Xtensa needs 8, AArch64 16, ARM32 and RISC-V 4.",
    )(command)
    command = click.option(
        "--copy-weights", is_flag=True, help="Copy each stage's weights to fast memory first, where they fit."
    )(command)
    command = click.option(
        "--compress",
        default="none",
        show_default=True,
        metavar="none|lz4",
        help="Compress each stage's weights; they are decompressed to fast memory, where they fit.",
    )(command)
    return click.option(
        "--xip", is_flag=True, help="Weights are read in place from mapped flash and never copied to RAM."
    )(command)


def backend_options(command: F) -> F:
    """--backend and --chip."""
    command = click.option(
        "--chip",
        default="",
        metavar="NAME",
        help="The board's chip or core, such as esp32s3 or cortex-m4: by what its instructions take the plan and its "
        "backend are chosen, and scratch is sized. Default: neither DSP nor floating point, scratch for any.",
    )(command)
    return click.option(
        "--backend",
        default="auto",
        show_default=True,
        metavar="|".join((*PORTABLE, *BACKENDS)),
        help="Whose kernels run int8 convolutions and fully connected layers on the board; auto is the fastest "
        "on --chip, without one portable.",
    )(command)


def check_model(path: str) -> None:
    """FileError before any work when there is no such file, or it is a plan already."""
    if not Path(path).exists() or Path(path).is_dir():
        read_named(Path(path), "the path of an .onnx or .tflite model")
    if Path(path).suffix == ".tgrs":
        raise UsageError(f"{path}: is a plan; this takes the model it was compiled from")


#: What is written, by the ending of its name.
_WRITTEN = {".onnx": "an ONNX model", ".tgrs": "a plan", ".tflite": ""}


def check_output(name: str, path: str, *inputs: str | None, ending: str = "") -> None:
    """The same for a file that is to be written: in a folder that can be, over none of `inputs`, and, with an `ending`,
    under no other format's."""
    if any(other is not None and _same_file(path, other) for other in inputs):
        raise UsageError(f"{name} {path}: is another file of this command; nothing was written")
    if ending and Path(path).suffix.lower() in _WRITTEN.keys() - {ending}:
        raise UsageError(f"{name} {path}: {_WRITTEN[ending]} is written; call it {Path(path).with_suffix(ending)}")
    check_target(Path(path))


def _same_file(one: str, other: str) -> bool:
    return os.path.realpath(one) == os.path.realpath(other)


def compile_options(
    memory: str | None,
    flash: str | None,
    dims: tuple[str, ...],
    xip: bool = False,
    compress: str = "none",
    copy_weights: bool = False,
    align: str = str(DEFAULT_ALIGNMENT),
    name: str | None = None,
    backend: str = "auto",
    chip: str = "",
    limits: tuple[str, ...] = (),
    fixed: tuple[str, ...] = (),
    states: tuple[str, ...] = (),
    hop: str | None = None,
    streams: tuple[str, ...] = (),
    cores: str = "1",
) -> CompileOptions:
    """The options as the compiler takes them; UsageError names the option, the value and what is right."""
    fast, slow = (None, 0) if memory is None else parse_memory(memory, option("mem"))
    if fast == 0:
        raise UsageError(f"{option('mem')}: the fast memory is 0; give at least a few kilobytes, like 64K")
    budget = Budget(fast, slow, None if flash is None else parse_size(flash, option("flash")))
    rows = None if hop is None else arguments.hop(hop)
    options = CompileOptions(budget, xip, compress, copy_weights, int(align), _dims(dims), _fixed(fixed),
                             parse_ties(states), rows, streams, name, backend, chip,
                             parse_limits(limits), int(cores))  # fmt: skip
    options.kernels()
    options.weights()
    return options


def _dims(texts: tuple[str, ...]) -> dict[str, int]:
    dims = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not name or not equals or not value.isdigit() or int(value) < 1:
            raise UsageError(
                f"{option('dims')}: '{text}' is not NAME=VALUE with a positive whole number, like length=512"
            )
        dims[name] = int(value)
    return dims


def _fixed(texts: tuple[str, ...]) -> dict[str, object]:
    """Values stay text: the input they are for says what type they have."""
    values: dict[str, object] = {}
    for text in texts:
        name, equals, value = text.rpartition("=")
        if not name or not equals or not value.strip():
            raise UsageError(f"{option('set')}: '{text}' is not NAME=VALUE, like sr=16000")
        if name in values:
            raise UsageError(f"{option('set', text)}: input {name} is set already, to {values[name]}")
        values[name] = value
    return values


def parse_limits(texts: tuple[str, ...]) -> Limits:
    """Limits from texts like nodes=200000; sizes may be written 512M."""
    given = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals:
            raise UsageError(f"{option('limit', text)}: is not NAME=VALUE, like nodes=200000")
        given[name.strip()] = parse_size(value, option("limit", name.strip()))
    return find_limits(given)
