"""Options that several commands share, and `compile_options`, which turns their texts into CompileOptions."""

import functools
import os
from pathlib import Path

import click

from tigris_pio.cli.gather import Option, gathering
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

MODEL = click.argument("model", type=click.Path(), metavar="MODEL")
JSON = click.option("--json", "as_json", is_flag=True, help="Print one JSON document on stdout and nothing else.")
LIMIT = click.option(
    "--limit", "limits", multiple=True, metavar="NAME=VALUE",
    help="Raise a safety limit on the model file, e.g. --limit nodes=200000. The error message names the limit.",
)  # fmt: skip


class _Memory(click.types.StringParamType):
    """The type of -m, with a remedy for a missing -m."""

    def get_missing_message(self, param: click.Parameter, ctx: click.Context | None = None) -> str:
        """Returns the sentence that follows click's."""
        return "Give the memory for activations, like -m 64K; tigris analyze MODEL shows how much a model needs."


def _budget_options(memory_required: bool) -> tuple[Option, ...]:
    """-m and -f."""
    memory = click.option(
        "-m", "--mem", "memory", required=memory_required, type=_Memory(), metavar="FAST[+SLOW]",
        help="Memory for activations: SRAM and, behind the plus, PSRAM, e.g. 256K or 256K+8M."
             + ("" if memory_required else " Default: no limit."),
    )  # fmt: skip
    flash = click.option(
        "-f", "--flash", metavar="SIZE", help="Largest size of the plan in flash, e.g. 4M. Default: no limit."
    )
    return memory, flash


#: Options that complete or change the model.
MODEL_OPTIONS: tuple[Option, ...] = (
    click.option(
        "--dim", "dims", multiple=True, metavar="NAME=VALUE",
        help="Set a free dimension of the model, e.g. --dim length=512. A free batch is 1 by default. Repeatable.",
    ),
    click.option(
        "--set", "fixed", multiple=True, metavar="NAME=VALUE",
        help="Make an input of the model a constant, e.g. --set sr=16000. Several values: 1,2,3. Repeatable.",
    ),
    click.option(
        "--state", "states", multiple=True, metavar="OUT=IN",
        help="Carry output OUT to input IN of the next run. The first run takes zeros, or the value of --set IN=VALUE. "
             "Repeatable.",
    ),
    click.option(
        "--stream", "streams", multiple=True, metavar="NAME",
        help="Stream input or output NAME row by row, as from a camera: no memory holds all of it. Repeatable.",
    ),
    LIMIT,
    click.option(
        "--hop", metavar="ROWS",
        help="Hop size of overlapping input windows: each run takes ROWS new rows and reuses the rows that earlier "
             "runs computed. Rows lie along the input's first axis other than batch and channels.",
    ),
)  # fmt: skip
#: Options of weights and arenas.
STORAGE_OPTIONS: tuple[Option, ...] = (
    click.option("--xip", is_flag=True, help="Read weights in place from mapped flash; never copy them to RAM."),
    click.option(
        "--compress", default="none", show_default=True, metavar="none|lz4",
        help="Compress each stage's weights. The runtime decompresses them to fast memory; weights that do not fit "
             "there stay uncompressed.",
    ),
    click.option(
        "--copy-weights", is_flag=True, help="Copy each stage's weights to fast memory before it runs, if they fit."
    ),
    click.option(
        "--align", type=click.Choice(["4", "8", "16", "32", "64"]), default=str(DEFAULT_ALIGNMENT), show_default=True,
        help="Alignment of tensors in the arenas, in bytes; Xtensa needs 8, AArch64 16, ARM32 and RISC-V 4.",
    ),
)  # fmt: skip
BACKEND_OPTIONS: tuple[Option, ...] = (
    click.option(
        "--backend", default="auto", show_default=True, metavar="|".join((*PORTABLE, *BACKENDS)),
        help="Kernel library for int8 convolutions and fully connected layers. auto: the fastest on --chip, or "
             "portable without --chip.",
    ),
    click.option(
        "--chip", default="", metavar="NAME",
        help="The board's chip or core, such as esp32s3 or cortex-m4. Its instruction costs decide the plan and the "
             "backend; its kernels decide the scratch. Default: a core without DSP and FPU, and scratch for any chip.",
    ),
)  # fmt: skip
CHIP = click.option(
    "--chip", default="", metavar="NAME",
    help="The board's chip or core, such as esp32c3 or cortex-m4. Its instruction costs decide the plan, and code for "
         "other instruction sets is left out. Default: C for any chip.",
)  # fmt: skip
CORES = click.option(
    "--cores", type=click.Choice(["1", "2"]), default="1", show_default=True,
    help="Cores of the board: with 2, operators that gain from it split their rows between both.",
)  # fmt: skip

SIGN = click.option(
    "--sign", "sign_key", type=click.Path(path_type=Path), metavar="KEY.pem",
    help="Sign the plan with this key of tigris keygen. The C header gets the public key: firmware that is built with "
         "it opens no other plan.",
)  # fmt: skip
SECURITY_VERSION = click.option(
    "--security-version", type=click.IntRange(0, 0xFFFF), metavar="N",
    help="Number of the last release that may not be undone: once a plan is confirmed, updates to a smaller number are "
         "refused. Default: 0, or that of the plan.",
)  # fmt: skip


def compiler_options(*options: Option) -> Option:
    """Adds options of the compiler. The command gets `compiling`, a function that makes CompileOptions of them.

    Its keywords are the texts that were given.
    """
    return gathering("compiling", functools.partial(functools.partial, compile_options), options)


def planning_options(memory_required: bool, *more: Option) -> Option:
    """`compiler_options` of a command that makes a plan: the budget, the model's and `more`."""
    return compiler_options(*_budget_options(memory_required), *MODEL_OPTIONS, *more)


def check_model(path: str) -> None:
    """Raises FileError if there is no such file, and UsageError if it is a plan."""
    if not Path(path).exists() or Path(path).is_dir():
        read_named(Path(path), "the path of an .onnx or .tflite model")
    if Path(path).suffix == ".tgrs":
        raise UsageError(f"{path}: is a plan; give the .onnx or .tflite model that it was compiled from")


#: File ending of each format to the words for such a file; no command writes .tflite.
_FORMATS = {".onnx": "an ONNX model", ".tgrs": "a plan", ".tflite": ""}


def check_output(name: str, path: str, *inputs: str | None, ending: str = "") -> None:
    """Raises UsageError or FileError if option `name` cannot write `path`.

    Its folder is missing or read-only, `path` is one of `inputs`, or its ending is another format's than `ending`.
    """
    if os.path.realpath(path) in {os.path.realpath(other) for other in inputs if other is not None}:
        raise UsageError(f"{name} {path}: this command reads or writes that file already; give {name} another name")
    if ending and Path(path).suffix.lower() in _FORMATS.keys() - {ending}:
        raise UsageError(f"{name} {path}: writes {_FORMATS[ending]}; use {name} {Path(path).with_suffix(ending)}")
    check_target(Path(path))


def compile_options(
    memory: str | None = None,
    flash: str | None = None,
    dims: tuple[str, ...] = (),
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
    """Parses the texts of the options; UsageError names the option, its value and a right value."""
    fast, slow = (None, 0) if memory is None else parse_memory(memory, option("mem"))
    if fast == 0:
        raise UsageError(f"{option('mem')}: the fast memory is 0 bytes; give a size like 64K")
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
    """Input names to values; values stay text, because the model gives their type."""
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
    """Parses texts like nodes=200000; values may be sizes like 512M."""
    given = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals:
            raise UsageError(f"{option('limit', text)}: is not NAME=VALUE, like nodes=200000")
        given[name.strip()] = parse_size(value, option("limit", name.strip()))
    return find_limits(given)
