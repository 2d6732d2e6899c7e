"""ESP-NN as it is compiled for the ESP32-P4, as text: its C with inline assembly, and its assembly.

A compiler that knows nothing of the chip's own instructions writes them as they stand. It makes no use of them either,
nor of hardware loops, as Espressif's may in the C around.
"""

from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from bench.assembly.program import Program, linked
from bench.assembly.source import included
from bench.emulator import MACHINES, run_tool, work_folder
from bench.riscv import source

CHIP = "esp32p4"
SCRATCH_BYTES, SET_SCRATCH = "esp_nn_get_conv_scratch_size_esp32p4", "esp_nn_set_conv_scratch_buf_esp32p4"
#: As its own CMakeLists.txt asks for, for the architecture that ESP-IDF builds it for but for the chip's own part.
FLAGS = ("-march=rv32imafc_zicsr", "-mabi=ilp32f", "-O2", "-w", "-DCONFIG_IDF_TARGET_ESP32P4=1",
         "-DCONFIG_NN_OPTIMIZED=1")  # fmt: skip
#: The folders of the functions that the runtime calls; the chip's own files, and what they fall back to.
FOLDERS = ("common", "convolution", "fully_connected")
PATTERNS = (f"*_{CHIP}.c", f"*_{CHIP}.S", "*_opt.c", "*_ansi.c")


@lru_cache
def program(checkout: Path) -> Program:
    """The library's convolutions and fully connected layers for the chip."""
    with work_folder() as folder:
        return linked(_parsed(checkout, folder))


def _parsed(checkout: Path, folder: Path) -> Iterator[Program]:
    machine = MACHINES["rv32imc"]
    headers = [flag for flag in machine.flags if flag.startswith("--specs")]
    folders = [checkout / "src" / name for name in FOLDERS]
    for path in sorted(path for pattern in PATTERNS for own in folders for path in own.glob(pattern)):
        text = path
        if path.suffix == ".c":
            text = folder / f"{path.stem}.s"
            run_tool([f"{machine.toolchain}-gcc", *FLAGS, *headers, f"-I{checkout / 'include'}",
                      f"-I{checkout / 'src/common'}", "-S", str(path), "-o", str(text)])  # fmt: skip
        yield source.parse(included(text), text.name)
