"""Updates step by step, under AddressSanitizer: refusals, failing chips, and the valid records."""

import re
import subprocess
from pathlib import Path

from tests.runtime.build import SANITIZERS
from tests.update.plans import HERE, build, key, plan


def test_every_case(tmp_path: Path) -> None:
    program = build(tmp_path, [HERE / "cases.c"], SANITIZERS)
    for name, data in (("inputs", plan(0, columns=23)[0]), ("name", plan(1)[0].replace(b"tiny\0", b"tin2\0"))):
        (tmp_path / f"{name}.tgrs").write_bytes(data)
    for name, version in (("newer", 2), ("older", 0)):
        (tmp_path / f"{name}.tgrs").write_bytes(plan(1, signer=key(), version=version)[0][:-72])
    arguments = [tmp_path / f"{name}.tgrs" for name in ("0", "1", "2", "inputs", "name", "newer", "older", "0")]
    done = subprocess.run([program, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    cases = re.findall(r"CASE\((\w+)\),", (HERE / "cases.c").read_text("utf-8"))
    assert done.stdout.split() == cases[: len(cases) - 3] and len(cases) >= 18
