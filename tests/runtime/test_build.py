"""The runtime as a C project: no warnings, small, kernels that link alone, a shallow stack, and the linked port."""

import os
import re
import subprocess
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from functools import partial
from pathlib import Path

import pytest

from bench import stack
from bench.emulator import MACHINES
from bench.text import core_text, link_model, text_bytes
from tests.harness.command import tigris
from tests.harness.tiers import sampled
from tests.runtime import build
from tests.runtime.build import (
    C99,
    INCLUDE,
    ROOT,
    RUNTIME,
    SANITIZERS,
    compiler,
    core_objects,
    core_sources,
    objects,
    program,
)
from tigris_pio import compile_model


def output(*command: object) -> str:
    """The output of a command, which must end with status 0 and without a warning."""
    result = subprocess.run([*map(str, command)], cwd=ROOT, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def checks(source: Path, text: str, *command: object) -> None:
    """The compiler accepts a source of this text."""
    source.write_text(text, "utf-8")
    output(*command, f"-I{INCLUDE}", "-fsyntax-only", source)


def test_assembler_finds_registers_at_every_level(tmp_path: Path) -> None:
    """Builds keep the level -O3, at which callers with assembler have fewer registers left."""
    machine = MACHINES["cortex-m55"]
    for source in sorted((RUNTIME / "src" / "kernels" / "mve").glob("depthwise*.c")):
        output(f"{machine.toolchain}-gcc", *machine.flags, *C99, "-O3", f"-I{INCLUDE}", "-S", "-o", tmp_path / "made.s",
               source)  # fmt: skip


@pytest.mark.parametrize("machine", sampled(build.COMPILERS, ("gcc", "rv32imc", "cortex-m4")))
def test_no_warnings(machine: str) -> None:
    if machine in ("gcc", "rv32imc"):  # whose objects other tests need
        made = build.core_objects(*build.SANITIZERS) if machine == "gcc" else objects(machine)
        assert len(made) == len(core_sources())
    else:
        output(*compiler(machine), *C99, "-fsyntax-only", f"-I{INCLUDE}", *core_sources())


@pytest.mark.thorough
def test_static_checks_find_nothing() -> None:
    """Runs the checks of .clang-tidy, the static analyser included."""
    tidy = program("clang-tidy", "clang-tidy")

    def check(source: Path) -> str:
        return output(tidy, "--quiet", source, "--", "-std=c99", f"-I{INCLUDE}", f"-I{RUNTIME / 'src'}")

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        assert len(list(pool.map(check, sorted((RUNTIME / "src").rglob("*.c"))))) > 50


#: The macros of compilers that exist: left to itself, cppcheck tries most sets of those that a file names.
PREPROCESSED = (
    ("__GNUC__=12", "__x86_64__"),
    ("__GNUC__=12", "__arm__", "__ARM_FEATURE_DSP", "__ARM_FEATURE_SIMD32", "TIGRIS_IN_ORDER"),
    ("__GNUC__=12", "__XTENSA__", "__OPTIMIZE_SIZE__"),
)


@pytest.mark.thorough
@pytest.mark.parametrize("macros", PREPROCESSED, ids=("x86-64", "arm", "xtensa"))
def test_cppcheck_finds_nothing(macros: tuple[str, ...]) -> None:
    """Right shifts of negative numbers, which it reports, are asserted to be arithmetic in requantise.h."""
    output(program("cppcheck", "cppcheck"), "-q", f"-j{os.cpu_count()}", "--std=c99", "--error-exitcode=1",
           "--enable=warning,performance,portability", "--inline-suppr", "--suppress=shiftTooManyBitsSigned",
           *(f"-D{macro}" for macro in macros), f"-I{INCLUDE}", f"-I{RUNTIME / 'src'}", RUNTIME / "src")  # fmt: skip


@pytest.mark.parametrize("name", ["g++", "clang++"])
def test_headers_are_valid_cpp(name: str, tmp_path: Path) -> None:
    program(name, name.replace("clang++", "clang"))
    checks(tmp_path / "all.cpp", '#include "tigris.h"\n#include "tigris_kernel.h"\n#include "tigris_kernels.h"\n', name,
           "-std=c++11", "-Wall", "-Wextra", "-pedantic", "-Wzero-as-null-pointer-constant", "-Werror")  # fmt: skip


def test_all_headers_go_into_one_file(tmp_path: Path) -> None:
    """No name is two things, but in those that are the body of several kernels, in those of assembly, and in those of a
    set that stand for the portable ones."""
    headers = sorted({*(RUNTIME / "src").rglob("*.h"), *INCLUDE.glob("tigris*.h")} - set(INCLUDE.glob("*esp_idf*")))
    kernels = RUNTIME / "src" / "kernels"
    shared = {path.name for path in (kernels / "portable").iterdir()}
    sets = {path.parent for path in kernels.glob("*/*.h") if path.name in shared} - {kernels / "portable"}
    headers = [path for path in headers if not path.name.endswith(".S.h") and path.parent not in sets
               and "\nstatic void run(" not in path.read_text("utf-8")]  # fmt: skip
    assert len(headers) > 25
    checks(tmp_path / "all.c", "".join(f'#include "{path}"\n' for path in headers), "gcc", "-std=c99", "-Werror",
           f"-I{RUNTIME / 'src'}")  # fmt: skip


@pytest.mark.parametrize("flags", [
    ("-std=c11", "-U__GNUC__"), ("-std=c99", "-fms-extensions", "--target=x86_64-pc-windows-msvc"), ("-std=c99",),
], ids=("c11", "msvc", "gnu"))  # fmt: skip
def test_arenas_are_aligned_by_every_compiler(flags: tuple[str, ...], tmp_path: Path) -> None:
    text = ('#include "tigris.h"\nstatic TIGRIS_ALIGNED uint8_t arena[3];\n'
            "TIGRIS_STATIC_ASSERT(__alignof__(arena) == 32, arena_alignment);\n")  # fmt: skip
    checks(tmp_path / "aligned.c", text, "clang", *flags, "-ffreestanding")


def test_the_session_is_small(tmp_path: Path) -> None:
    text = ('#include "tigris.h"\nTIGRIS_STATIC_ASSERT(sizeof(tigris_session) <= 388U, session);\n'
            "TIGRIS_STATIC_ASSERT(sizeof(tigris_plan) <= 64U, plan);\n")  # fmt: skip
    checks(tmp_path / "size.c", text, *compiler("rv32imc"))


@pytest.fixture(scope="module")
def small_objects() -> list[Path]:
    """Objects for rv32imc, optimised for size, with stack usage and call graph beside them."""
    return list(objects("rv32imc"))


def test_loader_executor_and_memory_are_small(small_objects: list[Path]) -> None:
    assert core_text(MACHINES["rv32imc"], small_objects) <= 7072


def test_no_writable_data(small_objects: list[Path]) -> None:
    """No globals: two sessions cannot disturb each other."""
    lines = output("riscv64-unknown-elf-size", *small_objects).splitlines()[1:]
    assert len(lines) == len(small_objects)
    assert [line for line in lines if line.split()[1:3] != ["0", "0"]] == []


def test_a_model_links_only_its_kernels(small_objects: list[Path], models_dir: Path, tmp_path: Path) -> None:
    """Keyword spotting with the table of its generated header: all code, C library included, in 17,336 bytes."""
    compiled = compile_model(models_dir / "kws_int8.onnx", fast="64K", name="model")
    program = link_model(MACHINES["rv32imc"], small_objects, compiled, tmp_path)
    assert text_bytes(MACHINES["rv32imc"], program) <= 17336
    symbols = output("riscv64-unknown-elf-nm", program)
    assert "dynamic_placement" not in symbols, "placement in small arenas is linked when asked for"
    assert "tigris_camera_add_line" not in symbols, "so is the camera adapter"
    assert "tigris_split_rows" not in symbols, "so is the work of two cores"
    assert "tigris_portable_backend" not in symbols
    assert not re.search(r"__(add|sub|mul|div)[sd]f3|expf", symbols), "no floating-point code for an int8 model"
    kernels = re.findall(r"extern const tigris_kernel_entry (\w+);", (INCLUDE / "tigris_kernels.h").read_text("utf-8"))
    kinds = ("conv_2d", "depthwise_conv_2d", "sum_map", "mean_of_sums", "fully_connected", "softmax")
    assert len(kernels) > 60
    assert set(symbols.split()) & set(kernels) == {f"tigris_{kind}_int8" for kind in kinds}


def call_graph(objects: list[Path]) -> tuple[dict[str, int], dict[str, set[str]]]:
    """Frame bytes of every function and whom it may call; functions are told apart by their file."""
    frames: dict[str, int] = {}
    calls: dict[str, set[str]] = {}
    for path in objects:
        found = stack.call_graph(path.with_suffix(".ci"), partial(_qualified, path))
        frames.update(found[0])
        calls.update(found[1])
    for name, targets in calls.items():
        if "__indirect_call" in targets:
            calls[name] = targets - {"__indirect_call"} | indirect_targets(name, frames)
    return frames, calls


def _qualified(path: Path, name: str) -> str:
    """Static functions are named file:function by the compiler already; the paths are dropped."""
    return f"{path.stem}:{name.rsplit(':', 1)[1]}" if ":" in name else name


def indirect_targets(name: str, frames: dict[str, int]) -> set[str]:
    """The functions that a function's calls through pointers may reach."""
    placement = {function for function in frames if function.startswith("placement_dynamic:")}
    visitors = {f"placement_dynamic:{do}" for do in ("count_use", "place_by_home", "end_use")}
    if name.startswith("placement_dynamic:"):
        return visitors & placement
    checks = {function for function in frames if re.search(r":(check|check_\w+)$|_check$", function)}
    runs = {function for function in frames if re.search(r":(run|run_\w+)$", function)}
    runs -= {"parallel:run_part"}
    reached = {
        "tigris_split_rows": {"parallel:run_part"}, "parallel:run_part": runs,
        "tigris_check_params": checks, "tigris_run_stages": runs | placement,
        "tigris_run": placement, "tigris_session_bind": placement,
        "tigris_run_pair": {f"{kind}_int8:gather" for kind in ("conv_2d", "asymmetric_conv_2d", "transpose_conv")},
    }  # fmt: skip
    return reached.get(name, placement & {"placement_dynamic:locate_record"})


def test_the_stack_stays_small(small_objects: list[Path]) -> None:
    frames, calls = call_graph(small_objects)
    for caller in ("tigris_check_params", "tigris_run_stages"):
        assert len(indirect_targets(caller, frames)) > 20
    for entry in ("tigris_plan_open", "tigris_session_bind", "tigris_run"):
        depth = stack.deepest(entry, frames, calls)
        assert 100 < depth <= 1040, (entry, depth)
    # Two cores, beside what the hook takes: so much more for the caller, and so much in all for the other core.
    assert len(indirect_targets("parallel:run_part", frames)) > 20
    assert 100 < frames["tigris_split_rows"] + frames["parallel:run_part"] < 384
    assert 100 < stack.deepest("parallel:run_part", frames, calls) < 1024


@pytest.mark.parametrize("target", ["call->output->data", "call->inputs->data", "call->output_data"])
def test_what_kernels_read_is_const(target: str, tmp_path: Path) -> None:
    """A kernel that writes through a band does not compile; through the pointer for its output it does."""
    text = ('#include "tigris.h"\n#include "tigris_kernel.h"\nvoid run(const tigris_kernel_call *call);\n'
            f"void run(const tigris_kernel_call *call)\n{{\n    *{target} = 1U;\n}}\n")  # fmt: skip
    compiles = nullcontext() if target == "call->output_data" else pytest.raises(AssertionError, match="read-only")
    with compiles:
        checks(tmp_path / "kernel.c", text, program("gcc", "gcc"), *C99)


# The port for firmware without a partition table: the linker knows where the plans lie.

FLAGS = "-std=c99 -Wall -Wextra -Wconversion -pedantic -Werror"
PROGRAM = """
#include <stdio.h>
#include <string.h>
#include <tigris_models.h>
TIGRIS_MODEL_DIGITS_ARENAS(arenas);
static tigris_plan plan;
static tigris_session session;
int main(void)
{
    tigris_model elsewhere = TIGRIS_MODEL_DIGITS, outside = TIGRIS_MODEL_DIGITS;
    elsewhere.partition = "elsewhere";
    outside.offset = 1U << 20;
    printf("%d %d ", (int)tigris_model_open(&elsewhere, &plan), (int)tigris_model_open(&outside, &plan));
    tigris_status status = tigris_model_open(&TIGRIS_MODEL_DIGITS, &plan);
    if (status == TIGRIS_OK)
        status = tigris_session_init(&session, &plan, &arenas, NULL);
    if (status == TIGRIS_OK)
        status = tigris_run(&session);
    tigris_model_close(&plan);
    printf("%d %d %d %d\\n", (int)status, (int)tigris_run(&session), (int)tigris_session_reset(&session),
           tigris_input(&session, 0) == NULL && tigris_output(&session, 0) == NULL);
    return 0;
}
"""


def documented(start: str) -> str:
    """The assembler lines of the port's comment, between its stars."""
    comment = (ROOT / "runtime" / "port" / "linked.c").read_text("utf-8").split("*/", 1)[0]
    lines = [line.removeprefix(" *").strip() for line in comment.splitlines()]
    return "\n".join(line for line in lines[lines.index(start) :][:6])


@pytest.fixture
def folder(tmp_path):
    """A plan, its partition's content and headers."""
    plan, table = tmp_path / "digits.tgrs", tmp_path / "table.csv"
    table.write_text("factory, app, factory, 0x10000, 1M\nmodel, data, 0x40, , 1M\n", "utf-8")
    model = [ROOT / "examples" / "digits" / "model" / "digits.onnx", "-m", "64K", "--align", "32"]
    tigris("compile", *model, "-o", plan, "--header", tmp_path / "tigris_model_digits.h")
    tigris("layout", "--model", "digits", plan, "model", "auto", "--table", table, "-o", tmp_path)
    return tmp_path


def test_a_model_is_found_where_the_linker_put_it(folder):
    (folder / "main.c").write_text(PROGRAM, "utf-8")
    (folder / "model.s").write_text(documented(".section .rodata") + "\n.section .note.GNU-stack\n", "utf-8")
    runtime = ROOT / "runtime"
    sources = [*core_objects(*SANITIZERS), *(runtime / "port").glob("*.c"), folder / "main.c", folder / "model.s"]
    command = ["gcc", *FLAGS.split(), *SANITIZERS, '-DTIGRIS_PORT_LINKED="model"']
    command += [f"-I{runtime / 'include'}", f"-I{folder}"]
    subprocess.run([*command, *sources, "-lm", "-o", folder / "program"], cwd=folder, check=True)
    done = subprocess.run([folder / "program"], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["-40", "-41", "0", *("-1", "-1", "1")]  # the last three: closed
