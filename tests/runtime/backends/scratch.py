"""Scratch that libraries request on each kind of chip, and scratch that the compiler reserves.

    python -m tests.runtime.backends.scratch

writes scratch_sizes.txt anew, with the answers of the checkouts that TIGRIS_ESP_NN and TIGRIS_CMSIS_NN name: a line for
each operator has a name of VARIANTS, the numbers that scratch_of.c takes, and what the library answered.
"""

import dataclasses
import functools
import os
import random
import re
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from tests.runtime.backends.libraries import STAND_IN, VARIABLES
from tests.runtime.build import INCLUDE, PLAIN, RUNTIME, core_objects, own_folder
from tests.runtime.fuzz.geometries import Axis
from tigris_pio.compiler.backends.backend import BACKENDS
from tigris_pio.compiler.backends.shape import PlainShape
from tigris_pio.compiler.ir.program import ProgramOp
from tigris_pio.format.enums import DType, OpKind
from tigris_pio.platformio.backend import LIBRARIES

HERE = Path(__file__).parent
SIZES = HERE / "scratch_sizes.txt"
#: Operators of each variant in SIZES.
RECORDED = 60


@dataclasses.dataclass(frozen=True)
class Variant:
    """A library on a kind of chip. functions: those that tell sizes of convolutions, depthwise ones and others;
    sources: where they are."""

    backend: str
    chip: str
    functions: tuple[str, ...]
    sources: str
    flags: tuple[str, ...] = ()

    @property
    def adapter(self) -> str:
        return self.backend.replace("-", "_")


def _esp_nn(chip: str, ending: str, *flags: str) -> Variant:
    names = tuple(f"esp_nn_get_{kind}conv_scratch_size_{ending}" for kind in ("", "depthwise_"))
    return Variant("esp-nn", chip, names, f"src/convolution/*_{ending}.c", flags)


def _cmsis_nn(chip: str, ending: str) -> Variant:
    names = tuple(f"arm_{kind}_s8_get_buffer_size{ending}"
                  for kind in ("convolve_wrapper", "depthwise_conv_wrapper", "fully_connected"))  # fmt: skip
    return Variant("cmsis-nn", chip, names, "Source/*/*_get_buffer_sizes_s8.c")


VARIANTS = {
    "esp32s3": _esp_nn("esp32s3", "esp32s3", "-DCONFIG_IDF_TARGET_ESP32S3"),
    "esp32p4": _esp_nn("esp32p4", "esp32p4", "-DCONFIG_IDF_TARGET_ESP32P4"),
    "esp32c3": _esp_nn("esp32c3", "opt"),
    "mve": _cmsis_nn("cortex-m55", "_mve"),
    "dsp": _cmsis_nn("cortex-m4", "_dsp"),
    "plain": _cmsis_nn("cortex-m0", ""),
}
#: Functions that are not called are left out, with what they would need.
_COMPILER = ("gcc", "-std=gnu99", "-w", "-O1", "-ffunction-sections", "-fdata-sections")
#: Assembly inside of a library's C is left out: it is another processor's.
_WITHOUT_ASSEMBLY = '-Dvolatile(...)=("")'


def checkout(variant: Variant) -> Path:
    """The library's folder."""
    return Path(os.environ[VARIABLES[variant.backend]])


def version(folder: Path) -> str:
    """Of a checkout of ESP-NN."""
    (found,) = re.findall(r'^version: "(.*)"', (folder / "idf_component.yml").read_text("utf-8"), re.MULTILINE)
    return str(found)


def _build(variant: Variant, header: str, functions: Sequence[str], flags: Sequence[str], output: Path) -> Path:
    names = [f"-D{name}_SIZE={own}" for name, own in zip(("CONV", "DEPTHWISE", "DENSE"), functions, strict=False)]
    given = (f'ADAPTER="{RUNTIME}/backends/{variant.adapter}.c"', f'LIBRARY="{header}"', "TIGRIS_TENSOR_ALIGN=16",
             LIBRARIES[variant.backend].define)  # fmt: skip
    subprocess.run([*_COMPILER, *names, *(f"-D{define}" for define in given), f"-I{INCLUDE}", *flags,
                    str(HERE / "scratch_of.c"), "-Wl,--gc-sections", "-o", str(output)], check=True)  # fmt: skip
    return output


def replayed(variant: Variant, folder: Path) -> Path:
    """The adapter, with answers that it reads."""
    header = Path(LIBRARIES[variant.backend].header).name
    functions = ("next_answer",) * len(variant.functions)
    return _build(variant, header, functions, ("-DRECORDED", f"-I{STAND_IN}"), folder / variant.adapter)


@functools.cache
def real(variant: Variant) -> Path:
    """The adapter with the library's own functions, of plans too; the library's kernels are not there."""
    library, own, folder = LIBRARIES[variant.backend], checkout(variant), own_folder("tigris-scratch-")
    includes = [f"-I{own / include}" for include in library.includes]
    compiled = [str(folder / f"{variant.chip}_{path.stem}.o") for path in sorted(own.glob(variant.sources))]
    for path, target in zip(sorted(own.glob(variant.sources)), compiled, strict=True):
        command = [*_COMPILER, *variant.flags, _WITHOUT_ASSEMBLY, *includes, "-c", str(path), "-o", target]
        subprocess.run(command, check=True)
    flags = (
        *includes, *variant.flags, *(f"-D{define}" for define in library.defines), *compiled,
        f"-DPLAN_BYTES=tigris_{variant.adapter}_scratch", f"-DBACKEND={library.symbol}",
        *map(str, (RUNTIME / "backends/libraries.c", RUNTIME / "backends/plain_ops.c", *core_objects(*PLAIN))),
        "-static", "-lm", "-Wl,--unresolved-symbols=ignore-all",
    )  # fmt: skip
    return _build(variant, Path(library.header).name, variant.functions, flags, folder / variant.chip)


def numbers(shape: PlainShape) -> list[int]:
    """A shape as scratch_of.c takes it."""
    return [2 if shape.dense else int(shape.depthwise), int(shape.banded), shape.inputs, shape.outputs, shape.width,
            shape.output_width, shape.rows, shape.output_rows, *shape.kernel, *shape.stride, *shape.dilation,
            *shape.pad]  # fmt: skip


def shape_of(given: Sequence[int]) -> PlainShape:
    """The other way round; padding behind the input is no matter of scratch."""
    kind, banded, inputs, outputs, width, output_width, rows, output_rows, *pairs = given
    kernel, stride, dilation, pad = zip(pairs[::2], pairs[1::2], strict=True)
    return PlainShape(inputs, outputs, width, output_width, rows, output_rows, kernel, stride, dilation, pad, (0, 0),
                      bool(banded), depthwise=kind == 1, dense=kind == 2)  # fmt: skip


def ask(program: Path, shapes: Sequence[PlainShape], answers: Sequence[Sequence[int]] = ()) -> list[list[int]]:
    """Of each shape what the adapter asks for, and the library's answers."""
    lines = [[*numbers(shape), len(known), *known]
             for shape, known in zip(shapes, answers or [()] * len(shapes), strict=True)]  # fmt: skip
    text = "\n".join(" ".join(map(str, line)) for line in lines)
    said = subprocess.run([program], input=text, capture_output=True, text=True, check=True).stdout
    return [[int(word) for word in line.split()] for line in said.splitlines()]


def ask_for_plans(program: Path, plans: Sequence[Path]) -> list[int]:
    """What sessions of plans ask for."""
    said = subprocess.run([program, *plans], capture_output=True, text=True, check=True).stdout
    return [int(line) for line in said.splitlines()]


def recorded() -> dict[str, list[tuple[PlainShape, list[int]]]]:
    """Shapes and what the library answered, by the variants' names."""
    found: dict[str, list[tuple[PlainShape, list[int]]]] = {name: [] for name in VARIANTS}
    for line in SIZES.read_text("utf-8").splitlines():
        name, given, answers = line.split(":")
        found[name].append((shape_of([int(word) for word in given.split()]), [int(word) for word in answers.split()]))
    return found


# ---- shapes ------------------------------------------------------------------------------------------------------

_CHANNELS = (1, 2, 3, 4, 5, 8, 8, 10, 12, 16, 16, 20, 24, 32, 32, 40, 48, 64, 96, 128, 160, 256)
_KERNELS = ((1, 1), (1, 1), (3, 3), (3, 3), (3, 3), (5, 5), (7, 7), (1, 3), (3, 1), (2, 2), (4, 4), (10, 4), (1, 9),
            (5, 1))  # fmt: skip
_STRIDES = ((1, 1), (1, 1), (2, 2), (1, 2), (3, 3), (2, 1))
_DILATIONS = (*[(1, 1)] * 8, (2, 2), (1, 2))
_SIZES = (1, 2, 3, 4, 5, 7, 8, 10, 12, 16, 25, 28, 32, 48, 49, 64, 96)


def shapes(variant: Variant, count: int, seed: int) -> Iterator[PlainShape]:
    """Random ones that the compiler gives to the library there."""
    choose = random.Random(seed)
    backend = BACKENDS[variant.backend]
    weights = {"weights": np.zeros((1, 1), np.int8)}  # what sums they can have is no matter of scratch
    op = ProgramOp("", OpKind.PLAIN_CONV_2D, DType.INT8, (), "", None, weights)  # type: ignore[arg-type]
    while count:
        shape = _whole(choose)
        on_chip = backend.refuses_on and backend.refuses_on(op, shape, variant.chip)
        if backend.refuses(shape) is None and not on_chip:
            count -= 1
            yield _band(choose, shape)


def _whole(choose: random.Random) -> PlainShape:
    if choose.random() < 0.02:
        return PlainShape(choose.randint(1, 2000), choose.randint(1, 300), 1, 1, 1, 1, dense=True)
    depthwise, inputs = choose.random() < 0.5, choose.choice(_CHANNELS)
    outputs = inputs * choose.choice((1, 1, 1, 1, 2, 4, 8)) if depthwise else choose.choice(_CHANNELS)
    pairs = choose.choice(_KERNELS), choose.choice(_STRIDES), choose.choice(_DILATIONS)
    rows, columns = (_axis(choose, *of_axis) for of_axis in zip(*pairs, strict=True))
    below, right = (
        max(0, (axis.output - 1) * axis.stride + (axis.kernel - 1) * axis.dilation + 1 - axis.before - axis.size)
        for axis in (rows, columns)
    )
    return PlainShape(inputs, outputs, columns.size, columns.output, rows.size, rows.output, *pairs,
                      (rows.before, columns.before), (below, right), depthwise=depthwise)  # fmt: skip


def _band(choose: random.Random, shape: PlainShape) -> PlainShape:
    """The tallest band where the operator runs in some."""
    height = choose.choice((shape.output_rows, shape.output_rows, choose.randint(1, shape.output_rows)))
    reach = (shape.kernel[0] - 1) * shape.dilation[0]
    rows = min(shape.rows, (height - 1) * shape.stride[0] + reach + 1)
    return dataclasses.replace(shape, rows=rows, output_rows=height, banded=height < shape.output_rows)


def _axis(choose: random.Random, kernel: int, stride: int, dilation: int) -> Axis:
    reach = (kernel - 1) * dilation
    before, after = choose.choice(((0, 0), (reach // 2, reach - reach // 2), (reach // 2, reach // 2),
                                   (choose.randint(0, reach), choose.randint(0, reach))))  # fmt: skip
    size = choose.choice([size for size in _SIZES if size + before + after > reach])
    return Axis(size, kernel, stride, before, after, dilation)


def main() -> None:
    """Writes SIZES."""
    lines = []
    for name, variant in VARIANTS.items():
        chosen = list(shapes(variant, RECORDED, seed=1))
        for shape, (_, *answers) in zip(chosen, ask(real(variant), chosen), strict=True):
            lines.append(f"{name}: {' '.join(map(str, numbers(shape)))}: {' '.join(map(str, answers))}")
    SIZES.write_text("\n".join(lines) + "\n", "utf-8")


if __name__ == "__main__":
    main()
