"""Kernels out of the runtime's sources: each alone, all together, and nothing that they do not need."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.harness.tiers import sampled
from tests.runtime.build import C99, compile_each
from tigris_pio.compiler.codegen.c_source import resolve_conditionals
from tigris_pio.compiler.codegen.call_layout import TYPES, WEIGHTS_IN_CALLS
from tigris_pio.compiler.codegen.kernels import Bundle, bundle
from tigris_pio.compiler.codegen.runtime_sources import entries

WITHOUT = {"tigris_fetch_int8", "tigris_take_int8", "tigris_commit_int8"}


def text_of(found: Bundle, weights_in_calls: bool) -> str:
    """A file that gives the kernels to others, so that none is unused."""
    includes = "".join(f"#include {name}\n" for name in found.includes)
    calls = "".join(
        f"void use_{place}(const tigris_kernel_call *call);\n"
        f"void use_{place}(const tigris_kernel_call *call)\n{{\n    {name}(call);\n}}\n"
        for place, name in enumerate(found.functions.values())
    )
    return f"{includes}\n{WEIGHTS_IN_CALLS if weights_in_calls else ''}{TYPES}\n{found.text}\n{calls}"


@pytest.mark.thorough
def test_every_kernel_compiles_alone(tmp_path: Path) -> None:
    symbols = sorted(set(entries()) - WITHOUT)
    assert len(symbols) > 90
    for place, symbol in enumerate(symbols):
        (tmp_path / f"{symbol}.c").write_text(text_of(bundle([symbol]), place % 2 == 0))
    assert len(compile_each(["gcc", *C99], sorted(tmp_path.glob("*.c")), tmp_path)) == len(symbols)


@pytest.mark.parametrize("weights_in_calls", sampled([False, True], 1))
def test_all_kernels_compile_in_one_file(weights_in_calls: bool, tmp_path: Path) -> None:
    (tmp_path / "all.c").write_text(text_of(bundle(sorted(set(entries()) - WITHOUT)), weights_in_calls))
    compile_each(["gcc", *C99], [tmp_path / "all.c"], tmp_path)


def test_checks_of_plans_are_left_out() -> None:
    found = bundle(["tigris_conv_2d_int8"])
    assert not re.search(r"check_|tigris_session|tigris_plan\b|TIGRIS_ERR|kernel_entry", found.text)
    assert "depthwise" not in found.text.split("tigris_conv_int8_params;")[1]


@pytest.mark.parametrize("condition,value,kept", [
    ("#if X", "1", "a;"), ("#if X", "0", "b;"), ("#if X", None, "b;"),
    ("#if !X", "1", "b;"), ("#if !X", "0", "a;"), ("#if !X", None, "a;"),
    ("#ifdef X", "0", "a;"), ("#ifdef X", None, "b;"), ("#ifndef X", "0", "b;"), ("#ifndef X", None, "a;"),
])  # fmt: skip
def test_known_conditionals_are_decided(condition: str, value: str | None, kept: str) -> None:
    text = f"#if Y\n{condition}\na;\n#else\nb;\n#endif\n#endif"
    assert resolve_conditionals(text, {"X": value}) == f"#if Y\n{kept}\n#endif"


def test_the_text_is_the_same_each_time() -> None:
    """The text does not depend on the order of sets."""
    code = "from tigris_pio.compiler.codegen.kernels import bundle; print(bundle(['tigris_add_int8']).text, end='')"
    texts = {
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True,
                       env={**os.environ, "PYTHONHASHSEED": seed}).stdout
        for seed in ("1", "2")
    }  # fmt: skip
    assert texts == {bundle(["tigris_add_int8"]).text}
