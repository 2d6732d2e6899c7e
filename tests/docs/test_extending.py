"""docs/extending.md: its changes are made to a copy of the sources, which are built; its checks run there."""

import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from tests.docs.compiled import NEW_FILE
from tests.docs.pages import ROOT, blocks
from tests.runtime.build import C99, object_name
from tigris_pio import Session, compile_model

PAGE = ROOT / "docs" / "extending.md"
_HUNK = re.compile(r"(?m)^@@ -\d+,(\d+) \+\d+,(\d+) @@\n((?:[ +-].*\n|\n)+)")
#: Runs the digits with the page's kernels and prints how often its own ran, and the outputs.
RUN = """
import ctypes
import numpy as np
from tigris_pio import Session
from tigris_pio.host.library import library_path
with Session("digits.tgrs") as session:
    outputs = session.run_raw({session.inputs[0].name: np.load("input.npy")})
lookups = ctypes.c_int.in_dll(ctypes.CDLL(str(library_path())), "lookups")
print(lookups.value, *(made.tobytes().hex() for made in outputs.values()))
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
    unwanted = shutil.ignore_patterns(".*", "__pycache__", "*.so", "build", "dist", "*.egg-info")
    shutil.copytree(ROOT, folder, ignore=unwanted, dirs_exist_ok=True)
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
    """Built, with the page's backend for the default; a counter in its kernel says that it ran."""
    backend = (changed / "my_backend.c").read_text("utf-8")
    assert backend.count("    if (i < elements)") == 1
    counted = backend.replace("    if (i < elements)", "    lookups++;\n    if (i < elements)", 1)
    counted = counted.replace("static void run", "int lookups;\nstatic void run", 1)
    (changed / "my_backend.c").write_text(counted, "utf-8")
    environment = {**os.environ, "PYTHONPATH": str(changed)}
    subprocess.run([sys.executable, "-m", "tools.generated"], cwd=changed, env=environment, check=True)
    compile_sources(changed)
    return changed


def compile_sources(folder: Path) -> None:
    """Objects of the runtime, without warnings, and the host's library of them."""
    sources = [*(folder / "runtime" / "src").rglob("*.c"), *(folder / "runtime" / "host").glob("*.c")]
    defines = ["-DTIGRIS_TENSOR_ALIGN=4", "-DTIGRIS_DEFAULT_BACKEND=my_backend"]
    flags = [*C99, "-O0", "-fPIC", *defines, "-Iruntime/include"]

    def compiled(source: Path) -> str:
        target = f"{object_name(source)}.o"
        # Names relative to the folder, so that a compiler cache knows them again.
        subprocess.run(["gcc", *flags, "-c", str(source.relative_to(folder)), "-o", target], cwd=folder, check=True)
        return target

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        objects = list(pool.map(compiled, [*sources, folder / "my_backend.c"]))
    library = "tigris_pio/host/_runtime.so"
    subprocess.run(["gcc", "-shared", *objects, "-lm", "-o", library], cwd=folder, check=True)


def test_the_changes_of_the_page_fit_the_sources(changed: Path) -> None:
    """Each hunk has its place; the checks are Python, and the backend is C."""
    checks = (changed / "checks.py").read_text("utf-8")
    compile(checks, "checks.py", "exec")
    assert checks.count("\nassert ") == 10
    subprocess.run(["gcc", *C99, "-fsyntax-only", "-Iruntime/include", "my_backend.c"], cwd=changed, check=True)


@pytest.mark.thorough
def test_the_checks_of_the_page_hold_and_its_backend_gives_the_portable_bytes(tree: Path) -> None:
    """In a network with a LOOKUP."""
    compiled = compile_model(ROOT / "examples" / "digits" / "model" / "digits.onnx", fast="64K")
    compiled.save(tree / "digits.tgrs")
    with Session(compiled) as session:
        (io,) = session.inputs
        given = (np.arange(np.prod(io.stored_shape)) * 37).astype(np.int8).reshape(io.stored_shape)
        expected = [made.tobytes().hex() for made in session.run_raw({io.name: given}).values()]
    np.save(tree / "input.npy", given)
    environment = {**os.environ, "PYTHONPATH": str(tree)}
    for words, said in ((["checks.py"], None), (["-c", RUN], ["1", *expected])):
        done = subprocess.run([sys.executable, *words], cwd=tree, env=environment, capture_output=True, text=True,
                              check=False)  # fmt: skip
        assert done.returncode == 0 and said in (None, done.stdout.split()), done.stderr


@pytest.mark.thorough
def test_the_kernel_of_the_page_passes_the_tests_of_kernels(tree: Path) -> None:
    """Those that find a kernel by the tables, as a contributor would run them."""
    tests = ["tests/format/test_records.py", "tests/runtime/test_kinds.py", "tests/runtime/test_refusals.py",
             "tests/runtime/test_bands.py::test_every_kind_is_tried",
             "tests/runtime/test_bands.py::test_kernels_may_write_over_an_operand",
             "tests/docs/test_operator_types.py", "tests/compiler/lower/test_refusals.py"]
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:xdist", *tests]
    environment = {**os.environ, "PYTHONPATH": str(tree)}
    done = subprocess.run(words, cwd=tree, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-4000:]
    assert "LEAKY_CLIP" in (tree / "SPEC.md").read_text("utf-8")
    save = "import onnx; from checks import clip; onnx.save(clip, 'clip.onnx')"
    codegen = ["-m", "tigris_pio", "codegen", "clip.onnx", "-m", "64K", "-o", "generated"]
    for command in (["-c", save], codegen):
        subprocess.run([sys.executable, *command], cwd=tree, env=environment, check=True)
    source = tree / "generated" / "clip.c"
    assert "leaky_clip" in source.read_text("utf-8")
    subprocess.run(["gcc", *C99, "-fsyntax-only", source], check=True)
