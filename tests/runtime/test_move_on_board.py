"""Moves with instructions that no host has: on an emulated Cortex-M4, where they fault at odd addresses."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.emulator import FIRMWARE, MACHINES, RUNTIME, run_tool

MACHINE = MACHINES["cortex-m4"]


@pytest.mark.parametrize("optimise", ["-O2", "-Os"])
def test_moves_on_a_cortex_m4(tmp_path: Path, optimise: str) -> None:
    program = tmp_path / "move.elf"
    run_tool([
        f"{MACHINE.toolchain}-gcc", *MACHINE.flags, optimise, "-std=gnu99", "-nostartfiles", f"-I{FIRMWARE}",
        f"-I{RUNTIME / 'src'}", f"-I{RUNTIME / 'include'}", str(Path(__file__).with_name("move_on_board.c")),
        str(FIRMWARE / MACHINE.support), str(RUNTIME / "src" / "move.c"), f"-L{FIRMWARE}",
        f"-T{FIRMWARE / 'cortex_m4.ld'}", "-o", str(program),
    ])  # fmt: skip
    output = run_tool([
        *MACHINE.emulator, "-nographic", "-monitor", "none", "-serial", "stdio",
        "-semihosting-config", "enable=on,target=native", "-kernel", str(program),
    ])  # fmt: skip
    assert output == "right\n"
