"""Kernels out of the runtime's sources: each alone, all together, and nothing that they do not need."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.harness.tiers import sampled
from tests.runtime.build import C99, compile_each
from tigris_pio.compiler.codegen.kernels import Bundle, bundle, entries, types
from tigris_pio.compiler.codegen.split import weights_in_calls

WITHOUT = {"tigris_fetch_int8", "tigris_take_int8", "tigris_commit_int8"}


def text_of(found: Bundle, in_calls: bool) -> str:
    """A file that gives the kernels to others, so that none is unused."""
    includes = "".join(f"#include {name}\n" for name in ("<stddef.h>", *found.includes))
    calls = "".join(
        f"void use_{place}(const tigris_kernel_call *call);\n"
        f"void use_{place}(const tigris_kernel_call *call)\n{{\n    {name}(call);\n}}\n"
        for place, name in enumerate(found.functions.values())
    )
    return f"{includes}\n{weights_in_calls(in_calls)}{types()}\n{found.text}\n{calls}"


@pytest.mark.thorough
def test_every_kernel_compiles_alone(tmp_path: Path) -> None:
    symbols = sorted(set(entries()) - WITHOUT)
    assert len(symbols) > 90
    for place, symbol in enumerate(symbols):
        (tmp_path / f"{symbol}.c").write_text(text_of(bundle([symbol]), place % 2 == 0))
    assert len(compile_each(["gcc", *C99], sorted(tmp_path.glob("*.c")), tmp_path)) == len(symbols)


@pytest.mark.parametrize("in_calls", sampled([False, True], 1))
def test_all_kernels_compile_in_one_file(in_calls: bool, tmp_path: Path) -> None:
    (tmp_path / "all.c").write_text(text_of(bundle(sorted(set(entries()) - WITHOUT)), in_calls))
    compile_each(["gcc", *C99], [tmp_path / "all.c"], tmp_path)


def test_checks_of_plans_are_left_out() -> None:
    found = bundle(["tigris_conv_2d_int8"])
    assert not re.search(r"check_|tigris_session|tigris_plan\b|TIGRIS_ERR|kernel_entry", found.text)
    assert "depthwise" not in found.text.split("tigris_conv_int8_params;")[1]


def test_other_instruction_sets_are_left_out() -> None:
    text = bundle(["tigris_add_int8", "tigris_sum_map_int8", "tigris_conv_2d_int8"]).text
    assert "tigris_mve" not in text and "TIGRIS_MVE" not in text


@pytest.mark.parametrize(("chip", "absent"), [
    ("esp32", "TIGRIS_DSP|if defined.TIGRIS_PIXELS4|smlad"), ("esp32c3", "defined.TIGRIS_DSP.$|smlad"),
    ("cortex-m4", "if defined.TIGRIS_PIXELS4|if !?defined.TIGRIS_DSP"), ("cortex-m33", "if defined.TIGRIS_PIXELS4"),
])  # fmt: skip
def test_branches_of_other_chips_are_left_out(chip: str, absent: str) -> None:
    kernels = ["tigris_conv_2d_int8", "tigris_depthwise_conv_2d_int8"]
    assert re.search(absent, bundle(kernels).text, re.MULTILINE)
    assert not re.search(absent, bundle(kernels, chip=chip).text, re.MULTILINE)


def test_bodies_of_two_kernels_are_copied_for_each() -> None:
    """Of two files with one body, each has its own names and the value of its own macro."""
    found = bundle(["tigris_fully_connected_int8", "tigris_asymmetric_fully_connected_int8"])
    assert sorted(found.functions.values()) == ["asymmetric_fully_connected_int8_run", "fully_connected_int8_run"]
    alone = bundle(["tigris_fully_connected_int8"]).text
    assert "weight_zero_points" in found.text and "weight_zero_points" not in alone


def test_the_text_is_the_same_each_time() -> None:
    """The text does not depend on the order of sets."""
    code = "from tigris_pio.compiler.codegen.kernels import bundle; print(bundle(['tigris_add_int8']).text, end='')"
    texts = {
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True,
                       env={**os.environ, "PYTHONHASHSEED": seed}).stdout
        for seed in ("1", "2")
    }  # fmt: skip
    assert texts == {bundle(["tigris_add_int8"]).text}
