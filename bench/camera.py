"""Instructions and code size of the camera adapter of tigris_camera.h: python -m bench.camera

Instructions per pixel of the crop, of a frame of 320 x 240 whose 240 x 240 in the middle become 96 x 96, on each
emulated machine, and the adapter's code on rv32imc, compiled for size.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from typing import Any

from bench.emulator import FIRMWARE, MACHINES, RUNTIME, SECTIONS, BenchError, Machine, run_tool
from bench.instructions import print_table
from bench.text import SMALL, text_bytes

FORMATS = ("grey", "RGB565, low byte first", "RGB565, high byte first", "RGB888", "BGR888", "YUYV", "UYVY")
WAYS = (("mean, grey", 0, 1), ("mean, RGB", 0, 3), ("nearest, grey", 1, 1), ("nearest, RGB", 1, 3))
PIXELS = 240 * 240
SOURCES = [str(path) for path in sorted((RUNTIME / "src").glob("camera*.c"))]
COLUMNS = [("format", "format", ""), *((name, name, ",.1f") for name, _, _ in WAYS)]


def measured(machine: Machine, folder: Path) -> list[dict[str, Any]]:
    """Rows of the machine's table."""
    program = folder / f"{machine.name}.elf"
    run_tool([
        f"{machine.toolchain}-gcc", *machine.flags, "-O2", "-std=gnu99", *SECTIONS, "-nostartfiles",
        f"-I{RUNTIME / 'include'}", f"-I{FIRMWARE}", str(FIRMWARE / "camera.c"), str(FIRMWARE / machine.support),
        *SOURCES, f"-L{FIRMWARE}", f"-T{FIRMWARE / machine.script}", "-Wl,--gc-sections", "-o", str(program),
    ])  # fmt: skip
    output = run_tool([
        *machine.emulator, "-nographic", "-monitor", "none", "-serial", "stdio", "-icount", "shift=0",
        "-semihosting-config", "enable=on,target=native", "-kernel", str(program),
    ])  # fmt: skip
    if "error" in output:
        raise BenchError(f"{machine.name}: {output}")
    found: dict[tuple[int, ...], int] = {}
    for words in (line.split() for line in output.splitlines()):
        if len(words) == 4:
            *way, instructions = map(int, words)
            found[tuple(way)] = instructions
    return [{"format": name} | {way: found[index, method, channels] / PIXELS for way, method, channels in WAYS}
            for index, name in enumerate(FORMATS)]  # fmt: skip


def main() -> int:
    """The command."""
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    try:
        with tempfile.TemporaryDirectory() as folder:
            for machine in MACHINES.values():
                print_table(f"{machine.name}: instructions per pixel", measured(machine, Path(folder)), COLUMNS)
            small = MACHINES["rv32imc"]
            run_tool([f"{small.toolchain}-gcc", *small.flags, *SMALL, "-std=gnu99", f"-I{RUNTIME / 'include'}", "-c",
                      *SOURCES], Path(folder))  # fmt: skip
            sizes = {name: text_bytes(small, Path(folder, f"{name}.o")) for name in ("camera", "camera_table")}
            print(f"{small.name}, -Os: {sizes['camera']:,} bytes of code, and {sizes['camera_table']:,} to fill tables")
    except BenchError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
