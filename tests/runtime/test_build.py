"""The runtime as a C project: clean with every compiler, small, alone linkable kernels, shallow stack."""

from __future__ import annotations

import os
import re
import subprocess
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import bench.text
from bench.emulator import MACHINES, SECTIONS
from bench.text import core_text, link_model, text_bytes
from tests.harness.tiers import sampled
from tests.runtime.build import (
    C99,
    COMPILERS,
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


@pytest.mark.parametrize("machine", sampled(COMPILERS, ("gcc", "rv32imc", "cortex-m4")))
def test_no_warnings(machine: str) -> None:
    if machine in ("gcc", "rv32imc"):  # whose objects other tests need
        made = core_objects(*SANITIZERS) if machine == "gcc" else objects(machine)
        assert len(made) == len(core_sources())
        return
    command = [*compiler(machine), *C99, "-fsyntax-only", f"-I{INCLUDE}", *map(str, core_sources())]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (result.returncode, result.stderr) == (0, "")


@pytest.mark.thorough
def test_static_checks_find_nothing() -> None:
    """With the checks of .clang-tidy, the static analyser's among them."""
    tidy = program("clang-tidy", "clang-tidy")

    def check(source: Path) -> str:
        command = [tidy, "--quiet", str(source), "--", "-std=c99", f"-I{INCLUDE}", f"-I{RUNTIME / 'src'}"]
        result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        return result.stdout if result.returncode != 0 else ""

    sources = sorted((RUNTIME / "src").rglob("*.c"))
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        assert "".join(pool.map(check, sources)) == ""


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
    command = [program("cppcheck", "cppcheck"), "-q", f"-j{os.cpu_count()}", "--std=c99", "--error-exitcode=1"]
    command += ["--enable=warning,performance,portability", "--inline-suppr", "--suppress=shiftTooManyBitsSigned"]
    command += [*(f"-D{macro}" for macro in macros), f"-I{INCLUDE}", f"-I{RUNTIME / 'src'}", str(RUNTIME / "src")]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (result.returncode, result.stderr) == (0, "")


def test_headers_are_valid_cpp(tmp_path: Path) -> None:
    source = tmp_path / "all.cpp"
    source.write_text('#include "tigris.h"\n#include "tigris_kernel.h"\n#include "tigris_kernels.h"\n')
    for compiler_name in ("g++", "clang++"):
        command = [compiler_name, "-std=c++11", "-Wall", "-Wextra", "-pedantic", "-Wzero-as-null-pointer-constant"]
        program(compiler_name, compiler_name.replace("clang++", "clang"))
        result = subprocess.run([*command, "-Werror", f"-I{INCLUDE}", "-fsyntax-only", source], capture_output=True,
                                text=True, check=False)  # fmt: skip
        assert result.returncode == 0, result.stderr


def test_all_headers_go_into_one_file(tmp_path: Path) -> None:
    """No name is two things, but in those that are the body of several kernels."""
    headers = sorted({*(RUNTIME / "src").rglob("*.h"), *INCLUDE.glob("tigris*.h")} - set(INCLUDE.glob("*esp_idf*")))
    headers = [path for path in headers if "\nstatic void run(" not in path.read_text("utf-8")]
    headers = [path for path in headers if not path.name.endswith(".S.h")]  # of assembly
    source = tmp_path / "all.c"
    source.write_text("".join(f'#include "{path}"\n' for path in headers if path.parent.name != "dsp"))
    command = ["gcc", "-std=c99", "-Werror", "-fsyntax-only", f"-I{INCLUDE}", f"-I{RUNTIME / 'src'}", str(source)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert len(headers) > 25
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("flags", [
    ("-std=c11", "-U__GNUC__"), ("-std=c99", "-fms-extensions", "--target=x86_64-pc-windows-msvc"), ("-std=c99",),
], ids=("c11", "msvc", "gnu"))  # fmt: skip
def test_arenas_are_aligned_by_every_compiler(flags: tuple[str, ...], tmp_path: Path) -> None:
    source = tmp_path / "aligned.c"
    source.write_text('#include "tigris.h"\nstatic TIGRIS_ALIGNED uint8_t arena[3];\n'
                      "TIGRIS_STATIC_ASSERT(__alignof__(arena) == 32, arena_alignment);\n")  # fmt: skip
    command = ["clang", *flags, "-ffreestanding", f"-I{INCLUDE}", "-fsyntax-only", str(source)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr


def test_the_session_is_small(tmp_path: Path) -> None:
    source = tmp_path / "size.c"
    source.write_text(
        '#include "tigris.h"\nTIGRIS_STATIC_ASSERT(sizeof(tigris_session) <= 384U, session);\n'
        "TIGRIS_STATIC_ASSERT(sizeof(tigris_plan) <= 64U, plan);\n"
    )
    command = [*compiler("rv32imc"), f"-I{INCLUDE}", "-fsyntax-only", str(source)]
    assert subprocess.run(command, check=False).returncode == 0


@pytest.fixture(scope="module")
def small_objects() -> list[Path]:
    """Objects for rv32imc, optimised for size, with stack usage and call graph beside them."""
    return list(objects("rv32imc"))


def test_loader_executor_and_memory_are_small(small_objects: list[Path]) -> None:
    assert core_text(MACHINES["rv32imc"], small_objects) <= 6 * 1024


def test_objects_of_several_machines_lie_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As `bench.instructions` makes them, one machine after another in one folder."""
    monkeypatch.setattr(bench.text, "run_tool", lambda *_: "")
    one, other = (bench.text.small_objects(MACHINES[name], tmp_path) for name in ("rv32imc", "cortex-m4"))
    assert one and not set(one) & set(other)


def test_no_writable_data(small_objects: list[Path]) -> None:
    """No globals: two sessions cannot disturb each other."""
    for path in small_objects:
        output = subprocess.run(
            ["riscv64-unknown-elf-size", str(path)], capture_output=True, text=True, check=True
        ).stdout
        data, bss = (int(value) for value in output.splitlines()[1].split()[1:3])
        assert (data, bss) == (0, 0), path.stem


ALONE = r"""
#include "tigris_kernels.h"
static const tigris_kernel_entry *const kernels[] = {&%s};
static const tigris_backend backend = {"alone", kernels, 1U, NULL, NULL};
static uint32_t memory[256];
int main(void)
{
    tigris_plan plan;
    tigris_session session;
    if (tigris_plan_open(&plan, memory, sizeof memory) != TIGRIS_OK)
        return 1;
    if (tigris_session_init(&session, &plan, memory, sizeof memory, NULL, 0, &backend) != TIGRIS_OK)
        return 2;
    return (int)tigris_run(&session);
}
"""


def test_a_kernel_links_alone(small_objects: list[Path], tmp_path: Path) -> None:
    """A firmware that names one kernel holds no other, though all objects are given to the linker."""
    source = tmp_path / "alone.c"
    source.write_text(ALONE % "tigris_max_pool_int8")
    program = tmp_path / "alone"
    command = [*compiler("rv32imc"), "-Os", *SECTIONS, f"-I{INCLUDE}", str(source), *map(str, small_objects)]
    command += ["-Wl,--gc-sections", "-o", str(program)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    symbols = subprocess.run(
        ["riscv64-unknown-elf-nm", str(program)], capture_output=True, text=True, check=True
    ).stdout
    entries = set(re.findall(r"\b(tigris_\w+_(?:int8|int16|float))$", symbols, re.MULTILINE))
    assert entries == {"tigris_max_pool_int8"}
    assert "tigris_portable_backend" not in symbols
    assert not re.search(r"__(add|sub|mul|div)[sd]f3|expf", symbols), "no floating-point code for an int8 model"


def test_a_model_links_only_its_kernels(small_objects: list[Path], models_dir: Path, tmp_path: Path) -> None:
    """Keyword spotting with the table of its generated header: all code, C library included, in 16 KB."""
    compiled = compile_model(models_dir / "kws_int8.onnx", fast="64K", name="model")
    program = link_model(MACHINES["rv32imc"], small_objects, compiled, tmp_path)
    assert text_bytes(MACHINES["rv32imc"], program) <= 16 * 1024
    symbols = subprocess.run(
        ["riscv64-unknown-elf-nm", str(program)], capture_output=True, text=True, check=True
    ).stdout
    assert "dynamic_placement" not in symbols, "placement in small arenas is linked when asked for"
    assert "tigris_rows_line" not in symbols, "so is the row adapter"
    assert "tigris_split" not in symbols, "so is the work of two cores"
    entries = set(re.findall(r"\b(tigris_\w+_(?:int8|float))$", symbols, re.MULTILINE))
    kinds = ("conv_2d", "depthwise_conv_2d", "sum_map", "mean_of_sums", "fully_connected", "softmax")
    assert entries & {f"tigris_{kind}_int8" for kind in kinds} == {f"tigris_{kind}_int8" for kind in kinds}
    assert not {name for name in entries if name.endswith(("_int16", "_float"))}


def call_graph(objects: list[Path]) -> tuple[dict[str, int], dict[str, set[str]]]:
    """Frame bytes of every function and whom it calls; functions are told apart by their file."""
    frames: dict[str, int] = {}
    calls: dict[str, set[str]] = defaultdict(set)
    for path in objects:
        for line in path.with_suffix(".ci").read_text().splitlines():
            node = re.search(r'node: \{ title: "([^"]+)" label: "[^"]*?(\d+) bytes \(static\)', line)
            edge = re.search(r'edge: \{ sourcename: "([^"]+)" targetname: "([^"]+)"', line)
            if node:
                frames[_qualified(path, node[1])] = int(node[2])
            elif edge:
                calls[_qualified(path, edge[1])].add(_qualified(path, edge[2]))
    return frames, calls


def _qualified(path: Path, name: str) -> str:
    """Static functions are named file:function by the compiler already; the paths are dropped."""
    return f"{path.stem}:{name.rsplit(':', 1)[1]}" if ":" in name else name


def indirect_targets(name: str, frames: dict[str, int]) -> set[str]:
    """The functions that a function's calls through pointers may reach."""
    placement = {function for function in frames if function.startswith("placement_dynamic:")}
    visitors = {f"placement_dynamic:{do}" for do in ("count", "place_preferably", "use")}
    if name.startswith("placement_dynamic:"):
        return visitors & placement
    checks = {function for function in frames if re.search(r":(check|check_\w+)$|_check$", function)}
    runs = {function for function in frames if re.search(r":(run|run_\w+)$", function)}
    runs -= {"parallel:run_part"}
    reached = {
        "tigris_split": {"parallel:run_part"}, "parallel:run_part": runs,
        "tigris_check_params": checks, "tigris_walk": runs | placement,
        "tigris_run": placement, "tigris_session_bind": placement,
    }  # fmt: skip
    return reached.get(name, placement & {"placement_dynamic:locate"})


def deepest(name: str, frames: dict[str, int], calls: dict[str, set[str]]) -> int:
    """Bytes of stack below and including a function."""
    targets = calls[name] - {"__indirect_call", name}
    if "__indirect_call" in calls[name]:
        targets |= indirect_targets(name, frames)
    return frames.get(name, 0) + max((deepest(target, frames, calls) for target in targets), default=0)


def test_the_stack_stays_below_one_kilobyte(small_objects: list[Path]) -> None:
    frames, calls = call_graph(small_objects)
    for caller in ("tigris_check_params", "tigris_walk"):
        assert len(indirect_targets(caller, frames)) > 20
    for entry in ("tigris_plan_open", "tigris_session_bind", "tigris_run"):
        depth = deepest(entry, frames, calls)
        assert 100 < depth < 1024, (entry, depth)


def test_two_cores_take_little_stack(small_objects: list[Path]) -> None:
    """Beside what the hook takes: so much more for the caller, and so much in all for the other core."""
    frames, calls = call_graph(small_objects)
    assert len(indirect_targets("parallel:run_part", frames)) > 20
    assert 100 < frames["tigris_split"] + frames["parallel:run_part"] < 384
    assert 100 < deepest("parallel:run_part", frames, calls) < 1024


@pytest.mark.parametrize("band", ["call->output", "call->inputs"])
def test_what_kernels_read_is_const(band: str, tmp_path: Path) -> None:
    """A kernel that writes through a band does not compile; through the pointer for its output it does."""
    source = tmp_path / "kernel.c"
    for target, compiles in ((f"{band}->data", False), ("call->output_data", True)):
        function = f"void run(const tigris_kernel_call *call)\n{{\n    *{target} = 1U;\n}}\n"
        headers = '#include "tigris.h"\n#include "tigris_kernel.h"\nvoid run(const tigris_kernel_call *call);\n'
        source.write_text(headers + function, encoding="utf-8")
        command = [program("gcc", "gcc"), *C99, "-fsyntax-only", f"-I{INCLUDE}", str(source)]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        assert (result.returncode == 0) is compiles, result.stderr
