"""Plain C before analysers, sanitisers, a debugger and Rust, and what it keeps to of MISRA C."""

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from bench.stack import call_graph
from tests.compiler.codegen.c_model import compile_for_m4
from tests.docs.pages import ROOT, blocks
from tests.families.catalogue import float_model, int8_model
from tests.harness.tiers import sampled
from tests.networks.folders import OWN
from tests.runtime.build import C99, program
from tigris_pio import Session, compile_model

PAGE = ROOT / "docs" / "codegen.md"

#: Warnings beside C99's that keep to rules of MISRA C:2012.
MISRA = (
    # 10.x: no implicit conversions
    "-Wsign-conversion", "-Wfloat-conversion", "-Wdouble-promotion",
    # 5.3, 8.x: names and declarations
    "-Wshadow", "-Wredundant-decls", "-Wstrict-prototypes", "-Wmissing-prototypes", "-Wold-style-definition",
    # 18.8, 21.3, 20.9, 11.8, 11.3, 18.4: arrays of known size, macros that are defined, pointers
    "-Wvla", "-Walloca", "-Wundef", "-Wcast-qual", "-Wcast-align=strict", "-Wpointer-arith",
    # 16.x, 14.3: branches
    "-Wswitch-default", "-Wimplicit-fallthrough=5", "-Wduplicated-cond", "-Wlogical-op",
)  # fmt: skip


@pytest.fixture(scope="module", params=["int8", "float32"])
def source(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """m.c of a small network whose stages are tiled or rolling, the int8 one's beside slow memory."""
    model = (int8_model if request.param == "int8" else float_model)("dscnn")
    ample = compile_model(model)
    plan = compile_model(model, fast=int(ample.plan.fast_bytes * 0.25), slow="64K")
    assert any(stage.bands > 1 for stage in plan.plan.stages)
    assert plan.plan.slow_bytes > 0 or request.param == "float32"
    folder = tmp_path_factory.mktemp(request.param)
    plan.codegen(folder, "m")
    yield folder / "m.c"


def said(folder: Path, *command: str | Path) -> str:
    """The output and errors of a tool, whose exit status must be 0."""
    result = subprocess.run(list(map(str, command)), cwd=folder, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout + result.stderr


def test_cppcheck_finds_nothing(source: Path) -> None:
    """C leaves right shifts of negative numbers to compilers; the generated text asserts that they keep the sign."""
    command = [program("cppcheck", "cppcheck"), "--std=c99", "--quiet", "--enable=warning,performance,portability"]
    known = "--suppress=shiftTooManyBitsSigned"
    assert said(source.parent, *command, known, "--error-exitcode=1", "-D__GNUC__=12", "m.c") == ""


@pytest.mark.thorough
def test_analysers_find_nothing(source: Path) -> None:
    """gcc's, clang-tidy with the checks of the runtime's own sources, and clang's but for what those mark for
    clang-tidy, with the reason beside it."""
    assert said(source.parent, "gcc", *C99, "-O1", "-fanalyzer", "-c", "m.c", "-o", "analysed.o") == ""
    tidy = program("clang-tidy", "clang-tidy"), "--quiet", f"--config-file={ROOT / '.clang-tidy'}"
    said(source.parent, *tidy, "m.c", "--", "-std=c99")
    text = said(source.parent, program("clang", "clang"), "--analyze", "--analyzer-output", "text", "m.c")
    lines = source.read_text().splitlines()
    found = [line for line in text.splitlines() if ": warning: " in line]
    marked = {line: f"{lines[int(line.split(':')[1]) - 2]} {lines[int(line.split(':')[1]) - 1]}" for line in found}
    assert [line for line, text in marked.items() if "NOLINT" not in text] == []


def test_rules_that_compilers_check(source: Path) -> None:
    assert said(source.parent, "gcc", *C99, *MISRA, "-O1", "-c", "m.c", "-o", "checked.o") == ""


def test_no_goto_no_unions_of_code_no_heap(source: Path) -> None:
    """Rules 15.1, 17.1, 21.3 to 21.8: words that are not in the code, and headers that are not included."""
    code = re.sub(r"/\*.*?\*/", "", source.read_text(), flags=re.DOTALL)
    assert re.findall(r"\b(?:goto|setjmp|va_list|malloc|calloc|realloc|free|abort|exit|system|register)\b", code) == []
    assert set(re.findall(r"#include <(\w+\.h)>", code)) <= {"math.h", "stddef.h", "stdint.h", "string.h", "arm_acle.h"}


def test_nothing_calls_itself(source: Path) -> None:
    """Rule 17.2, by the compiler's call graph."""
    compile_for_m4(source.parent, "-O0")
    _, calls = call_graph(source.with_suffix(".ci"))

    def below(name: str, path: tuple[str, ...]) -> None:
        assert name not in path, " calls ".join((*path, name))
        for target in calls.get(name, ()):
            below(target, (*path, name))

    assert "m_run" in calls
    below("m_run", ())


#: How each deviation that the page lists looks.
DEVIATIONS = {
    "11.3": r"\(const tigris_operation \*\)", "11.4": r"\(uintptr_t\)fast", "15.5": r"return M_ERROR_ARGUMENT;",
    "19.2": r"union m_fast \{", "20.10": r"##", "1.2": r"__attribute__", "20.7": r"#define M_REPORT\(operation\)",
    "8.9": r"static const .*_params = ", "D.4.9": r"#define M_BEFORE\(operation\)",
    "9.3": r"\.shape = \{\d", "14.4": r"if \(!?\w+\) \{", "17.7": r"\n +memmove\(",
    "2.5": r"#define TIGRIS_STATIC_ASSERT", "18.4": r"\n +(?:input|output|weights|sums?) \+= ",
}  # fmt: skip


def test_what_the_page_lists_is_there(source: Path) -> None:
    """A list that names what is not in the code helps no review."""
    listed = re.findall(r"^\| ([\dD.x, ]+) \|", PAGE.read_text(), re.MULTILINE)
    rules = {rule for line in listed for rule in line.split(", ")}
    text = source.read_text()
    assert {*DEVIATIONS, "12.3"} <= rules
    assert ("_int8_run(" in text) == (re.search(r"^ +sum\[0\] = [^;]*, sum\[1\] = ", text, re.MULTILINE) is not None)
    assert [rule for rule, pattern in DEVIATIONS.items() if not re.search(pattern, text)] == []


@pytest.mark.parametrize("compiler", sampled(["gcc", "clang"], ["clang"]))
def test_sanitisers_find_nothing(source: Path, compiler: str) -> None:
    """The sanitisers of both compilers run; fast memory has exactly the size in the header."""
    header = source.with_suffix(".h").read_text()
    region = "slow" if "M_INPUT_IN(slow)" in header else "fast"
    kind = re.search(r"#define M_INPUT_IN\(\w+\) \(\((\w+) \*\)", header)
    assert kind is not None
    slow = ", slow" if "void *slow" in header else ""
    (source.parent / "main.c").write_text(f"""#include "m.h"
static M_ALIGNED uint8_t fast[M_FAST_BYTES];
static M_ALIGNED uint8_t slow[M_SLOW_BYTES + 1U];
static {kind[1]} output[M_OUTPUT_ELEMENTS];
int main(void) {{ return m_run(M_INPUT_IN({region}), output, fast{slow}); }}
""")
    flags = ["-std=c99", "-O1", "-g1", "-fsanitize=address,undefined,float-cast-overflow", "-fno-sanitize-recover=all"]
    said(source.parent, program(compiler, compiler), *flags, "m.c", "main.c", "-lm", "-o", compiler)
    assert said(source.parent, source.parent / compiler) == ""


def test_stepping_through_a_model(tmp_path: Path) -> None:
    """As the page says: a breakpoint at an operator, and a tensor's numbers, which are those of the executor."""
    plan = compile_model(OWN / "kws_int8.onnx", fast="6K")
    plan.codegen(tmp_path, "kws")
    x = np.random.default_rng(3).integers(-128, 128, 490).astype(np.int8)
    (tmp_path / "main.c").write_text(f"""#include "kws.h"
static KWS_ALIGNED uint8_t fast[KWS_FAST_BYTES];
static const int8_t input[KWS_INPUT_BYTES] = {{{', '.join(map(str, x))}}};
static int8_t output[KWS_OUTPUT_BYTES];
int main(void) {{ return kws_run(input, output, fast); }}
""")
    said(tmp_path, "gcc", *C99, "-O0", "-g", "main.c", "kws.c", "-o", "main")
    commands = [line.removeprefix("(gdb) ") for line in blocks(PAGE, "text")[-2].text.splitlines()]
    asked = [commands[0], "run", *commands[1:], "backtrace", "delete", "break main.c:5", "finish", "up", "tbreak exit",
             "continue", "print/d output"]  # fmt: skip
    arguments = [word for command in asked for word in ("-ex", command)]
    text = said(tmp_path, program("gdb", "gdb"), "-nx", "-q", "-batch", *arguments, "main")
    assert re.search(r"Breakpoint 1, kws_conv1_conv \(fast=0x", text)
    assert re.search(r"^\$1 = \{\{-?\d+[, ]", text, re.MULTILINE), text
    assert re.search(r"#2 .* kws_run \(", text)
    with Session(plan) as session:
        (source,), (result,) = session.inputs, session.outputs
        expected = session.run_raw({source.name: x.reshape(source.stored_shape)})[result.name].reshape(-1)
    assert f"{{{', '.join(map(str, expected))}}}" in text


def test_rust_calls_it(tmp_path: Path) -> None:
    """The page's program."""
    if shutil.which("rustc") is None:
        pytest.skip("rustc is not installed: the page's Rust is not compiled")
    plan = compile_model(OWN / "kws_int8.onnx", fast="64K")
    plan.codegen(tmp_path, "kws")
    (tmp_path / "main.rs").write_text(blocks(PAGE, "text")[-1].text)
    said(tmp_path, "gcc", *C99, "-O1", "-c", "kws.c", "-o", "kws.o")
    said(tmp_path, "rustc", "--edition", "2021", "-C", "link-arg=kws.o", "main.rs")
    with Session(plan) as session:
        (source,), (result,) = session.inputs, session.outputs
        expected = session.run_raw({source.name: np.zeros(source.stored_shape, np.int8)})[result.name].reshape(-1)
    assert said(tmp_path, tmp_path / "main") == f"0 [{', '.join(map(str, expected))}]\n"
