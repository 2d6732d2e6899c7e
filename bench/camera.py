"""Instructions and code size of the camera adapter of tigris_camera.h: python -m bench.camera

Instructions per pixel of the crop, of a frame of 320 x 240 whose 240 x 240 in the middle become 96 x 96, on each
emulated machine, and the adapter's code on rv32imc, compiled for size.
"""

from pathlib import Path

from bench.command import Row, command, parser_of, print_table
from bench.emulator import MACHINES, RUNTIME, BenchError, Machine, compiler, emulate, link, run_tool, work_folder
from bench.text import text_bytes

FORMATS = ("grey", "RGB565, low byte first", "RGB565, high byte first", "RGB888", "BGR888", "YUYV", "UYVY")
WAYS = (("mean, grey", 0, 1), ("mean, RGB", 0, 3), ("nearest, grey", 1, 1), ("nearest, RGB", 1, 3))
PIXELS = 240 * 240
SOURCES = sorted((RUNTIME / "src").glob("camera*.c"))
COLUMNS = ["format", *((name, name, ",.1f") for name, _, _ in WAYS)]


def measured(machine: Machine, folder: Path) -> list[Row]:
    """Rows of the machine's table."""
    output = emulate(machine, link(machine, folder / f"{machine.name}.elf", "camera.c", *SOURCES))
    if "error" in output:
        raise BenchError(f"{machine.name}: {output}")
    found = {tuple(map(int, words[:3])): int(words[3]) for words in map(str.split, output.splitlines())
             if len(words) == 4}  # fmt: skip
    return [{"format": name} | {way: found[index, method, channels] / PIXELS for way, method, channels in WAYS}
            for index, name in enumerate(FORMATS)]  # fmt: skip


@command
def main() -> None:
    """The command."""
    parser_of(__doc__).parse_args()
    with work_folder() as folder:
        for machine in MACHINES.values():
            print_table(f"{machine.name}: instructions per pixel", measured(machine, folder), COLUMNS)
        small = MACHINES["rv32imc"]
        run_tool([*compiler(small), "-Os", "-c", *map(str, SOURCES)], folder)
        sizes = {name: text_bytes(small, folder / f"{name}.o") for name in ("camera", "camera_table")}
        print(f"{small.name}, -Os: {sizes['camera']:,} bytes of code, and {sizes['camera_table']:,} to fill tables")
