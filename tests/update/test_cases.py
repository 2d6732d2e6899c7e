"""Updates step by step, under AddressSanitizer: what is refused, what a chip that fails leaves, which records count."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from tests.runtime.build import SANITIZERS
from tests.update.plans import HERE, build, plan


def check(program: Path, *arguments: Path) -> None:
    done = subprocess.run([program, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    cases = re.findall(r"CASE\((\w+)\),", (HERE / f"{program.name}.c").read_text("utf-8"))
    assert done.stdout.split() == cases and len(cases) > 5


def test_updates(tmp_path: Path) -> None:
    program = build(tmp_path, [HERE / "cases.c"], SANITIZERS)
    for name, data in (("inputs", plan(0, columns=23)[0]), ("name", plan(1)[0].replace(b"tiny\0", b"tin2\0"))):
        (tmp_path / f"{name}.tgrs").write_bytes(data)
    check(program, *(tmp_path / f"{name}.tgrs" for name in ("0", "1", "2", "inputs", "name")))


def test_records(tmp_path: Path) -> None:
    check(build(tmp_path, [HERE / "slot_records.c"], SANITIZERS))
