"""docs/codegen.md and examples/plain-c: what they show is run."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from tests.docs.pages import ROOT, blocks
from tests.networks.folders import OWN
from tests.runtime.build import C99, program
from tigris_pio import compile_model

PAGE = ROOT / "docs" / "codegen.md"


def test_programs_of_the_page_run(tmp_path: Path) -> None:
    compile_model(OWN / "kws_int8.onnx", fast="64K").codegen(tmp_path, "kws")
    compile_model(OWN / "kws_int8.onnx", fast="6K", stream="input").codegen(tmp_path, "rows")
    programs = blocks(PAGE, "c")
    assert len(programs) == 2
    for block in programs:
        (name,) = re.findall(r'#include "(\w+)\.h"', block.text)
        (tmp_path / "main.c").write_text(block.text)
        command = ["gcc", *C99, "main.c", f"{name}.c", "-o", "main"]
        result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert (result.returncode, result.stderr) == (0, "")
        assert subprocess.run([tmp_path / "main"], capture_output=True, check=False).returncode == 0


def test_what_the_page_quotes_is_written() -> None:
    source = compile_model(OWN / "kws_int8.onnx", fast="10K").codegen(None, "kws").files["kws.c"].decode()
    _, loop, gdb, _ = (block.text for block in blocks(PAGE, "text"))
    pattern = re.escape(" ".join(loop.split()))
    assert re.search(re.sub(r"\d+", r"\\d+", pattern), " ".join(source.split())), "but for its numbers"
    for name in re.findall(r"kws_\w+(?=\n|\.)|(?<=->)\w+|(?<=_0\.)\w+", gdb):
        assert re.search(rf"\b{name}\b", source), name


def test_the_example_reads_its_digits(tmp_path: Path) -> None:
    folder = tmp_path / "plain-c"
    shutil.copytree(ROOT / "examples" / "plain-c", folder, ignore=shutil.ignore_patterns("build"))
    program("qemu-system-arm", "qemu-system-arm")
    model = ROOT / "examples" / "digits" / "model" / "digits.onnx"
    command = ["make", "-s", "run", f"PYTHON={sys.executable}", f"MODEL={model}"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    result = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False,
                            timeout=60, stdin=subprocess.DEVNULL)  # fmt: skip
    assert result.returncode == 0, result.stderr
    assert result.stdout.splitlines() == [f"picture {i} is a {i}, read as {i}" for i in range(10)]
