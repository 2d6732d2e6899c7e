"""docs/extending.md: its changes are made to a copy of the sources, which are built; its checks run there."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.docs.compiled import NEW_FILE
from tests.docs.pages import ROOT, blocks
from tests.runtime.build import C99, object_name
from tigris_pio import compile_model

PAGE = ROOT / "docs" / "extending.md"
_HUNK = re.compile(r"(?m)^@@ -\d+,(\d+) \+\d+,(\d+) @@\n((?:[ +-].*\n|\n)+)")
#: Runs a plan with the portable kernels and with the page's, and compares the bytes; `lookups`: how often that ran.
DRIVER = """
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tigris_kernel.h"
extern const tigris_backend my_backend;
extern int lookups;
static uint64_t bytes[1 << 14];
static TIGRIS_ALIGNED uint8_t arenas[2][1 << 16];
static tigris_session sessions[2];
int main(int argc, char **argv)
{
    FILE *file = fopen(argv[argc - 1], "rb");
    const size_t size = fread(bytes, 1, sizeof bytes, file);
    tigris_plan plan;
    int status = (int)tigris_plan_open(&plan, bytes, size);
    for (int i = 0; i < 2 && status == 0; i++) {
        status = (int)tigris_session_init(&sessions[i], &plan, arenas[i], sizeof arenas[i], NULL, 0,
                                          i ? &my_backend : NULL);
        uint8_t *input = status == 0 ? tigris_input(&sessions[i], 0) : NULL;
        for (uint32_t at = 0; status == 0 && at < tigris_input_bytes(&sessions[i], 0); at++)
            input[at] = (uint8_t)(at * 37U);
        if (status == 0)
            status = (int)tigris_run(&sessions[i]);
    }
    if (status == 0)
        status = memcmp(tigris_output(&sessions[0], 0), tigris_output(&sessions[1], 0),
                        tigris_output_bytes(&sessions[0], 0));
    printf("%d %d\\n", lookups, status);
    return status;
}
"""


def apply(tree: Path, diff: str) -> None:
    """The changes of a diff, each at the one place that has its lines."""
    for part in re.split(r"(?m)^(?=--- a/)", diff)[1:]:
        name = part.splitlines()[0].removeprefix("--- a/")
        assert part.splitlines()[1] == f"+++ b/{name}"
        path = tree / name
        text = path.read_text("utf-8")
        hunks = _HUNK.findall(part)
        assert len(hunks) == part.count("\n@@ "), f"{name}: a hunk is malformed"
        for before, after, body in hunks:
            lines = [line or " " for line in body.splitlines()]
            old = "".join(f"{line[1:]}\n" for line in lines if line[0] != "+")
            new = "".join(f"{line[1:]}\n" for line in lines if line[0] != "-")
            counted = (old.count("\n"), new.count("\n"))
            assert counted == (int(before), int(after)), f"{name}: lines are miscounted:\n{body}"
            assert text.count(old) == 1, f"{name} has no such lines, or several times:\n{old}"
            text = text.replace(old, new)
        path.write_text(text, "utf-8")


@pytest.fixture(scope="module")
def changed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sources with the changes of the page; checks.py is what it checks."""
    folder = tmp_path_factory.mktemp("extended")
    unwanted = shutil.ignore_patterns("__pycache__", "*.so", "emulated", "template")
    for name in ("tigris_pio", "runtime", "tests/tflite"):
        shutil.copytree(ROOT / name, folder / name, ignore=unwanted)
    (folder / "tests" / "__init__.py").touch()
    checks = []
    for block in blocks(PAGE, "diff", "python", "c"):
        made = NEW_FILE.match(block.text)
        if block.language == "diff":
            apply(folder, block.text)
        elif made:
            assert not (folder / made[1]).exists(), made[1]
            (folder / made[1]).write_text(block.text, "utf-8")
        else:
            assert block.language == "python", block.place
            checks.append(block.text)
    (folder / "checks.py").write_text("\n".join(checks), "utf-8")
    return folder


@pytest.fixture(scope="module")
def tree(changed: Path) -> Path:
    """Built."""
    folder = changed
    subprocess.run([sys.executable, "-m", "tigris_pio.format.c_header"], cwd=folder, check=True)
    compile_sources(folder)
    return folder


def compile_sources(folder: Path) -> None:
    """Objects of the runtime, without warnings, and the host's library of them."""
    sources = sorted((folder / "runtime" / "src").rglob("*.c"))
    flags = [*C99, "-O0", "-fPIC", "-DTIGRIS_TENSOR_ALIGN=4", "-Iruntime/include"]

    def compiled(source: Path) -> str:
        target = f"{object_name(source)}.o"
        # Names relative to the folder, so that a compiler cache knows them again.
        subprocess.run(["gcc", *flags, "-c", str(source.relative_to(folder)), "-o", target], cwd=folder, check=True)
        return target

    host = sorted((folder / "runtime" / "host").glob("*.c"))
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        objects = list(pool.map(compiled, [*sources, *host]))
    library = "tigris_pio/host/_runtime.so"
    subprocess.run(["gcc", "-shared", *objects, "-lm", "-o", library], cwd=folder, check=True)


def test_the_changes_of_the_page_fit_the_sources(changed: Path) -> None:
    """Each hunk has its place; the checks are Python, and the backend is C."""
    checks = (changed / "checks.py").read_text("utf-8")
    compile(checks, "checks.py", "exec")
    assert checks.count("\nassert ") == 6
    subprocess.run(["gcc", *C99, "-fsyntax-only", "-Iruntime/include", "my_backend.c"], cwd=changed, check=True)


@pytest.mark.thorough
def test_the_checks_of_the_page_hold(tree: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(tree)}
    done = subprocess.run([sys.executable, "checks.py"], cwd=tree, env=environment, capture_output=True, text=True,
                          check=False)  # fmt: skip
    assert done.returncode == 0, done.stderr


@pytest.mark.thorough
def test_the_backend_gives_the_portable_bytes(tree: Path) -> None:
    """In a network with a LOOKUP; a counter in its kernel says that it ran."""
    compile_model(ROOT / "examples" / "digits" / "model" / "digits.onnx", fast="64K").save(tree / "digits.tgrs")
    backend = (tree / "my_backend.c").read_text("utf-8")
    assert backend.count("    if (i < elements)") == 1
    counted = backend.replace("    if (i < elements)", "    lookups++;\n    if (i < elements)", 1)
    counted = counted.replace("static void run", "int lookups;\nstatic void run", 1)
    (tree / "counted.c").write_text(counted, "utf-8")
    (tree / "driver.c").write_text(DRIVER, "utf-8")
    hosts = {f"{path.stem}.o" for path in (tree / "runtime" / "host").glob("*.c")}
    objects = sorted(path.name for path in tree.glob("*.o") if path.name not in hosts)
    command = ["gcc", "-std=c99", "-Wall", "-Wextra", "-Iruntime/include", "driver.c", "counted.c", *objects, "-lm"]
    subprocess.run([*command, "-o", "driver"], cwd=tree, check=True)
    done = subprocess.run([tree / "driver", "digits.tgrs"], cwd=tree, capture_output=True, text=True, check=False)
    lookups, status = done.stdout.split()
    assert (int(lookups), status) == (1, "0")
