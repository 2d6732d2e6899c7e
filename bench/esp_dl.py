"""MobileNetV2 and single layers on the ESP32-S3's vectors, beside ESP-DL's times: python -m bench.esp_dl [--json FILE]

Counts instructions of this project's PIE kernels, the C around them included, in layers of two small heights, and
continues them to the height. Adds lines of a cache of data before PSRAM: those of weights, and those of inputs and
outputs if they lie there too. Prints cycles beside Espressif's published times at 240 MHz. The memory's figures are
assumptions that no chip has confirmed. Takes a minute or two of processor time.

ESP-DL: https://github.com/espressif/esp-dl, operator_performance.md (single layers), release 3.3.15 (MobileNetV2).
"""

import dataclasses
from collections.abc import Iterator

from bench.calibrate_libraries import PieCounter
from bench.calibration_cases import Subject
from bench.command import Row, command, parser_of, print_table, write_json
from bench.emulator import work_folder
from bench.layers import Layer, build_layer
from bench.zoo import INVERTED
from tigris_pio import compile_model
from tigris_pio.compiler.backends.pie import CHIP
from tigris_pio.sizes import round_up

#: ESP-DL's figures are for 64 KB of cache with lines of 64 bytes. Octal PSRAM at 80 MHz takes 32 clocks for a line, and
#: some 18 for command, address and latency: 50 clocks are 150 cycles of 240 MHz. On one board a copy from PSRAM took
#: 378 cycles a line (github.com/project-x51/esp32-s3-memorycopy).
CACHE, LINE, MISS = 65536, 64, 150
MHZ = 240
MOBILENET_MS = 423.3
PASS = 16384  #: of a stream, as in runtime/src/kernels/pie/layer.c
WORDS = 14  #: bytes of an output beside its weights
OUTPUT_ROWS = (4, 6)  #: in which layers are counted
ADD_EACH = 1.63  #: instructions of an element: python -m bench.s3
COLUMNS = [("layer", "name"), "times", ("products", "macs"), "instructions", ("each", "each", ".3f"),
           "weight_lines", "other_lines", "cycles", ("all in PSRAM", "in_psram"), ("ESP-DL", "esp_dl")]  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Case:
    """A layer on a square map, and how often the network has it; microseconds: ESP-DL's, 0 if unknown."""

    group: str
    inputs: int
    outputs: int
    size: tuple[int, int]
    kernel: int = 1
    stride: int = 1
    times: int = 1
    microseconds: int = 0

    @property
    def depthwise(self) -> bool:
        return self.group == "depthwise"

    def layer(self, rows: int) -> Layer:
        """With so many rows of the input."""
        weights = (self.outputs, 1 if self.depthwise else self.inputs, self.kernel, self.kernel)
        return Layer(self.name, (1, self.inputs, rows, self.size[1]), weights, self.stride,
                     self.inputs if self.depthwise else 1)  # fmt: skip

    @property
    def name(self) -> str:
        stride = f" s{self.stride}" if self.stride > 1 else ""
        return f"{self.group} {self.inputs}-{self.outputs} {self.size[0]}x{self.size[1]}{stride}"

    @property
    def output_size(self) -> tuple[int, int]:
        rows, columns = (-(-size // self.stride) for size in self.size)
        return rows, columns


def mobilenet() -> Iterator[Case]:
    """The layers of MobileNetV2 of width 1 for 224x224 pixels, equal ones once."""
    size, channels = 112, 32
    yield Case("first", 3, channels, (224, 224), 3, 2)
    for expansion, outputs, count, stride in INVERTED:
        for inputs, step, times in ((channels, stride, 1), (outputs, 1, count - 1))[:count]:
            wide = expansion * inputs
            if expansion > 1:
                yield Case("expand", inputs, wide, (size, size), times=times)
            yield Case("depthwise", wide, wide, (size, size), 3, step, times)
            size //= step
            yield Case("project", wide, outputs, (size, size), times=times)
        channels = outputs
    yield Case("last", 320, 1280, (7, 7))
    yield Case("classes", 1280, 1000, (1, 1))


#: Layers of ESP-DL's operator_performance.md, if the kernels have their padding.
PUBLISHED = (
    Case("single", 16, 32, (20, 20), microseconds=422),
    Case("single", 32, 16, (19, 23), 3, 2, microseconds=482),
    Case("single", 16, 32, (22, 22), 5, 2, microseconds=974),
    Case("single", 22, 33, (19, 23), 3, microseconds=3447),
    Case("depthwise", 32, 32, (100, 50), 3, microseconds=5542),
)


def lines(case: Case) -> tuple[int, int]:
    """Lines that a layer moves: of weights, as often as the cache loses them; and of its input once, or once a pass,
    and of its output, fetched and written back."""
    rows, columns = case.output_size
    pixels, read = rows * columns, case.size[0] * case.size[1] * case.inputs
    stream = case.outputs * (case.kernel**2 * (1 if case.depthwise else round_up(case.inputs, 16)) + WORDS)
    passes = -(-stream // PASS) if case.kernel == 1 and pixels > 1 else 1
    streams = pixels if case.kernel > 1 and stream > CACHE // 2 else 1
    reads = passes if read > CACHE // 2 else 1
    return streams * stream // LINE, (reads * read + 2 * pixels * case.outputs) // LINE


def instructions(case: Case, counter: PieCounter) -> int:
    """Instructions of one layer, by interpreting it in parts of its rows if it is large."""
    rows, counts = case.output_size[0], []
    heights = [rows] if rows <= max(OUTPUT_ROWS) else OUTPUT_ROWS
    for height in heights:
        model = build_layer(case.layer(height * case.stride))
        compiled = compile_model(model, fast="8M", backend="pie", chip=CHIP)
        counts.append(sum(counter.counts(Subject(case.name, "int8", model, ()), compiled)))
    slope = (counts[-1] - counts[0]) / (OUTPUT_ROWS[1] - OUTPUT_ROWS[0])
    return round(counts[-1] + slope * (rows - heights[-1]))


def row_of(case: Case, counter: PieCounter) -> Row:
    """Counts of a layer, all of its times together."""
    rows, columns = case.output_size
    macs = rows * columns * case.kernel**2 * case.outputs * (1 if case.depthwise else case.inputs)
    return _row(case, macs, instructions(case, counter), lines(case))


def _row(case: Case, macs: int, count: int, moved: tuple[int, int]) -> Row:
    fixed = {"name": case.name, "group": case.group, "times": case.times, "esp_dl": MHZ * case.microseconds}
    made = {"macs": macs, "instructions": count, "weight_lines": moved[0], "other_lines": moved[1],
            "cycles": count + MISS * moved[0], "in_psram": count + MISS * sum(moved)}  # fmt: skip
    return fixed | {"each": count / max(macs, 1)} | {key: value * case.times for key, value in made.items()}


def sums() -> Row:
    """The ten ADDs of the network."""
    elements = sum((count - 1) * size**2 * channels for count, size, channels in
                   ((2, 56, 24), (3, 28, 32), (4, 14, 64), (3, 14, 96), (3, 7, 160)))  # fmt: skip
    return _row(Case("add", 0, 0, (0, 0)), 0, round(ADD_EACH * elements), (0, 4 * elements // LINE))


def total(name: str, rows: list[Row]) -> Row:
    """The sums of rows."""
    keys = ("macs", "instructions", "weight_lines", "other_lines", "cycles", "in_psram", "times")
    made: Row = {key: sum(row[key] for row in rows) for key in keys}
    return made | {"name": name, "each": made["instructions"] / max(made["macs"], 1), "esp_dl": 0}


@command
def main() -> None:
    """The command."""
    options = parser_of(__doc__, "json").parse_args()
    with work_folder() as folder:
        counter = PieCounter(folder)
        single = [row_of(case, counter) for case in PUBLISHED]
        rows = [*(row_of(case, counter) for case in mobilenet()), sums()]
    print_table("Single layers, cycles", single, COLUMNS)
    groups = list(dict.fromkeys(row["group"] for row in rows))
    parts = [total(group, [row for row in rows if row["group"] == group]) for group in groups]
    whole = total("MobileNetV2", rows) | {"esp_dl": round(MOBILENET_MS * 1000 * MHZ)}
    print_table("MobileNetV2 1.0 224, cycles", [*rows, *parts, whole], COLUMNS)
    write_json(options.json, {"single": single, "layers": rows, "groups": parts, "all": whole})
