"""Blocks of C: what stands in them compiles against the runtime, with a tigris_models.h as the build writes it."""

import functools
import re
import subprocess
from pathlib import Path

from tests.docs.pages import ROOT, Block
from tests.networks.folders import OWN

INCLUDE = ROOT / "runtime" / "include"
FOLDERS = (
    INCLUDE,
    ROOT / "tigris_pio" / "platformio" / "emulated" / "support" / "include",
    ROOT / "tests" / "esp_idf" / "stubs",
)
#: How a block begins that is a file of the sources; tests/docs/test_extending.py builds it.
NEW_FILE = re.compile(r"(?:#|/\*) ((?:tigris_pio/|runtime/|my_)[\w/.]+)")
#: Pages whose blocks are whole files, which tests of update, codegen and project run.
ONE_FILE = ("updates.md", "codegen.md", "arduino.md")
#: What `tigris new` writes beside a program.
HARNESS = ROOT / "tigris_pio" / "project" / "template" / "harness.h.j2"
#: What a block may rely on that stands in the text around it.
AROUND = """
#include <stddef.h>
#include <tigris_models.h>
#include <tigris_kernel.h>
#include <tigris_kernels.h>
__attribute__((unused)) static tigris_plan plan_of_the_page;
"""
KERNEL = """
__attribute__((unused)) static void run(const tigris_kernel_call *call) { (void)call; }
__attribute__((unused)) static tigris_status check(const tigris_check_call *call) { (void)call; return TIGRIS_OK; }
__attribute__((unused)) static uint32_t prepare(const tigris_plan *plan) { (void)plan; return 0; }
"""


@functools.cache
def _kws() -> str:
    """The header that the compiler writes for keyword spotting, named KWS."""
    from tigris_pio import compile_model
    from tigris_pio.compiler.emit.model_header import render_model_header

    compiled = compile_model(OWN / "kws_int8.onnx", fast="64K", name="kws")
    return render_model_header(compiled.plan, compiled.data)


def models_header(text: str) -> str:
    """tigris_models.h with every model that a text names."""
    names = sorted({name.split("_")[0] for name in re.findall(r"TIGRIS_MODEL_(\w+)", text)} or {"KWS"})
    parts = ["#include <tigris_port.h>"]
    for name in names:
        own = _kws().replace("_KWS_", f"_{name}_").replace("KWS", name)
        parts += [own, f"__attribute__((unused)) static const tigris_model TIGRIS_MODEL_{name};"]
    return "\n".join(parts) + "\n"


def source_of(block: Block) -> str | None:
    """The block as a file: as it is when it has functions, else within one. None: it quotes a header."""
    text = block.text
    if re.match(r"(typedef )?(struct|enum) ", text):
        return None
    includes = "".join(f"{line}\n" for line in text.splitlines() if line.startswith("#include"))
    rest = "".join("\n" if line.startswith("#include") else f"{line}\n" for line in text.splitlines())
    kernels = "" if re.search(r"(?m)^static \w+ \*?(run|check|prepare)\(", text) else KERNEL
    around = AROUND + (kernels if "kernel" in text else "")
    if re.search(r"(?m)^\{", text):
        return f"{includes}{around if 'kernel' in text else ''}\n{rest}"
    return f"{includes}{around}void of_the_page(void);\nvoid of_the_page(void)\n{{\n{rest}}}\n"


def check(block: Block, folder: Path) -> None:
    """Compiles the block, without warnings when it is a whole file."""
    if NEW_FILE.match(block.text) or block.page.name in ONE_FILE:
        return
    source = source_of(block)
    if source is None:
        _check_quoted(block)
        return
    (folder / "tigris_models.h").write_text(models_header(block.text), "utf-8")
    (folder / "harness.h").write_bytes(HARNESS.read_bytes())
    language, standard = ("c++", "c++17") if block.language == "cpp" else ("c", "c99")
    command = [
        *("gcc", "-x", language, f"-std={standard}", "-Wall", "-Wextra", "-Werror", "-Wno-unused", "-fsyntax-only"),
        *("-DBOARD_NAME=\"board\"", f"-I{folder}", *(f"-I{path}" for path in FOLDERS), "-"),
    ]
    done = subprocess.run(command, input=source, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{block.place}\n{done.stderr}"


def _words(text: str) -> list[str]:
    return re.sub(r"/\*.*?\*/", " ", text, flags=re.DOTALL).split()


def _check_quoted(block: Block) -> None:
    """A declaration is that of a header, comments aside."""
    headers = [" ".join(_words(path.read_text("utf-8"))) for path in INCLUDE.glob("*.h")]
    assert any(" ".join(_words(block.text)) in header for header in headers), f"{block.place}: no header has this"


