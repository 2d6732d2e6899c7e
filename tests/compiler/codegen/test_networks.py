"""The project's networks as C: recorded bytes at every budget, small, with little stack, clean with every compiler."""

import functools
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from bench.emulator import NETWORKS
from tests.compiler.codegen.c_model import CModel, build, compile_for_m4, noise, same
from tests.compiler.plan.test_columns import wide
from tests.families.catalogue import float_model
from tests.harness.tiers import chosen, sampled
from tests.runtime.build import C99, COMPILERS, compiler, program
from tigris_pio import Session, compile_model
from tigris_pio.compiler.pipeline import Compiled

#: Fast and slow memory: whole stages; tiles, chains and rolling stages; slow memory.
BUDGETS = {
    "kws": [("64K", 0), ("6K", 0)],
    "vww": [("256K", 0), ("32K", 0), ("16K", "64K")],
    "micro_speech": [("64K", 0), ("4K", 0)],
    "resnet": [("64K", 0), ("20K", 0), ("8K", "64K")],
    "sww": [("4K", 0)],
    "ad": [("64K", 0)],
    "person_detect": [("32K", 0), ("16K", 0), ("8K", "64K")],
}
CASES = [(name, *memory) for name, budgets in BUDGETS.items() for memory in budgets]
if chosen() == "fast":
    CASES = [("kws", "6K", 0), ("resnet", "8K", "64K")]


@functools.cache
def compiled(name: str, fast: str, slow: str | int) -> Compiled:
    return compile_model(NETWORKS / f"{name}_int8.onnx", fast=fast, slow=slow)


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[tuple[str, str], CModel]]:
    """Every network at each budget, in one library; models share kernels, but no names."""
    plans = [compiled(*case) for case in CASES]
    generated = [plan.codegen(None, f"{name}_{fast}", layout="split")
                 for (name, fast, _), plan in zip(CASES, plans, strict=True)]  # fmt: skip
    library = build(generated, tmp_path_factory.mktemp("networks"))
    sessions = [Session(plan) for plan in plans]
    yield {(name, fast): CModel(library, *three) for (name, fast, _), *three in
           zip(CASES, plans, generated, sessions, strict=True)}  # fmt: skip
    for session in sessions:
        session.close()


@pytest.mark.parametrize("name,fast,slow", CASES)
def test_recorded_vectors(models: dict[tuple[str, str], CModel], name: str, fast: str, slow: str | int) -> None:
    data = np.load(NETWORKS / f"{name}_vectors.npz")
    model = models[name, fast]
    (source,), (result,) = model.session.inputs, model.session.outputs
    for given, expected in list(zip(data["input_q"], data["output_tflm_q"], strict=True))[:4]:
        got = model.run({source.name: given.reshape(source.stored_shape)})[result.name]
        assert got.tobytes() == expected.tobytes()


@pytest.mark.parametrize("name,fast,slow", CASES)
def test_arenas_are_those_of_the_plan_without_run_time_state(name: str, fast: str, slow: str | int) -> None:
    plan = compiled(name, fast, slow).plan
    header = compiled(name, fast, slow).codegen(None, "m").files["m.h"].decode()
    sizes = {region: int(size) for region, size in re.findall(r"#define M_(FAST|SLOW)_BYTES (\d+)U", header)}
    assert sizes == {"FAST": plan.fast_bytes - plan.state_bytes, "SLOW": plan.slow_bytes}
    assert plan.state_bytes > 0


def test_a_run_in_place_or_with_copies_tells_of_operators_and_can_be_cancelled(tmp_path: Path) -> None:
    """The input where the model has it, and from an array of its own; wrong addresses are refused."""
    main = r"""
#include <stdio.h>
#include "kws.h"
int cancel(void);
void tell(uint32_t operation);
static KWS_ALIGNED uint8_t fast[KWS_FAST_BYTES];
static int8_t input[KWS_INPUT_BYTES], output[KWS_OUTPUT_BYTES];
static unsigned left = 1000U, told;
int cancel(void) { return left-- == 0U; }
void tell(uint32_t operation) { told = 10U * told + operation % 10U; }
static void show(int status, const int8_t *values)
{
    for (unsigned i = 0; i < KWS_OUTPUT_BYTES; i++) printf("%d ", values[i]);
    printf("%d\n", status);
}
int main(void)
{
    for (unsigned i = 0; i < KWS_INPUT_BYTES; i++) input[i] = KWS_INPUT_IN(fast)[i] = (int8_t)(i * 37U);
    show(kws_run(KWS_INPUT_IN(fast), KWS_OUTPUT_IN(fast), fast), KWS_OUTPUT_IN(fast));
    show(kws_run(input, output, fast), output);
    printf("%d %d ", kws_run(input, output, fast + 1), kws_run(NULL, output, fast));
    left = 3U;
    told = 0U;
    printf("%d ", kws_run(input, output, fast));
    printf("%u\n", told);
    return 0;
}
"""
    (tmp_path / "main.c").write_text(main)
    compiled("kws", "64K", 0).codegen(tmp_path, "kws")
    command = ["gcc", *C99, "-O1", "-DKWS_CANCEL=cancel", "-DKWS_PROFILE=tell", "main.c", "kws.c", "-o", "main"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    lines = subprocess.run([tmp_path / "main"], capture_output=True, text=True, check=True).stdout.splitlines()
    assert lines[0] == lines[1] and lines[0].endswith(" 0") and len(set(lines[0].split())) > 2
    assert lines[2] == "-4 -1 -5 12"  # operators 0, 1 and 2 were begun


@pytest.mark.parametrize("machine", sampled(COMPILERS, ["gcc"]))
def test_no_warnings(machine: str, tmp_path: Path) -> None:
    """Float networks are included, because compilers see all their numbers and warn more."""
    floats = (compile_model(float_model(name)) for name in ("dilated_segmentation", "tiny_vit"))
    for plan in (compiled("kws", "6K", 0), *floats):
        plan.codegen(tmp_path, "m")
        command = [*compiler(machine), *C99, "-O2", "-c", "m.c", "-o", "m.o"]
        result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert (result.returncode, result.stderr) == (0, "")


def test_the_header_is_cpp(tmp_path: Path) -> None:
    compiled("kws", "6K", 0).codegen(tmp_path, "m")
    (tmp_path / "m.cpp").write_text('#include "m.h"\n#include "m.h"\nint main() { return M_OPERATORS != 13U; }\n')
    for name in ("g++", "clang++"):
        program(name, name.replace("clang++", "clang"))
        command = [name, "-std=c++11", "-Wall", "-Wextra", "-pedantic", "-Werror", "-fsyntax-only", "m.cpp"]
        result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert result.returncode == 0, result.stderr


def tool(*command: str | Path) -> str:
    """The standard output of a tool."""
    return subprocess.run(list(map(str, command)), capture_output=True, text=True, check=True).stdout


def test_micro_speech_is_small(tmp_path: Path) -> None:
    """Text and constants without weights, Cortex-M4: TVM has 41,264 bytes with the weights' 17,792."""
    compiled("micro_speech", "64K", 0).codegen(tmp_path, "m")
    compile_for_m4(tmp_path, "-Os")
    lines = tool("arm-none-eabi-size", tmp_path / "m.o").splitlines()
    text, data, bss = map(int, lines[1].split()[:3])
    symbols = tool("arm-none-eabi-nm", "-S", tmp_path / "m.o")
    weights = sum(int(size, 16) for size in re.findall(r"^\w+ (\w+) r m_weights$", symbols, re.MULTILINE))
    assert weights > 17000
    assert (data, bss) == (0, 0)
    assert text - weights <= 8 * 1024
    undefined = re.findall(r"^ +U (\w+)$", symbols, re.MULTILINE)
    assert set(undefined) <= {"memcpy", "memmove", "memset"}


@pytest.mark.parametrize("compress,copy", [("lz4", False), ("none", True)])
@pytest.mark.parametrize("weights", ["c", "partition"])
def test_weights_in_every_way(compress: str, copy: bool, weights: str, tmp_path: Path) -> None:
    plan = compile_model(NETWORKS / "kws_int8.onnx", fast="40K", compress=compress, copy_weights=copy)
    generated = plan.codegen(None, "m", weights)
    assert ("m_weights.bin" in generated.files) == (weights == "partition")
    with Session(plan) as session:
        assert same(CModel(build([generated], tmp_path), plan, generated, session), noise(session, 1))


@pytest.mark.thorough
@pytest.mark.parametrize("weights", ["c", "partition"])
def test_tiles_of_columns_have_their_weights_once(weights: str, tmp_path: Path) -> None:
    plan = compile_model(wide(), fast=5000, slow="1M")
    assert any(attempt.columns and attempt.outcome == "best so far" for attempt in plan.attempts)
    generated = plan.codegen(None, "m", weights)
    whole = compile_model(wide()).codegen(None, "m", weights)
    if weights == "partition":
        assert len(generated.files["m_weights.bin"]) <= 1.1 * len(whole.files["m_weights.bin"])
    with Session(plan) as session:
        assert same(CModel(build([generated], tmp_path), plan, generated, session), noise(session, 1))
