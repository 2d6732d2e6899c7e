"""The first wrong operator on a board of another architecture: RISC-V firmware with a kernel that computes wrongly."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable

import pytest

from tests.harness.command import tigris

from .project import ROOT, Project

#: Before the example's main: a backend that is asked first, with one kernel, which spoils channel 5 of row 12.
WRONG_KERNEL = """
#include <tigris_kernels.h>
static void run(const tigris_kernel_call *call)
{
    const tigris_band *out = call->output;
    const int32_t row_bytes = (int32_t)(out->tensor->width * out->tensor->channels);
    tigris_depthwise_conv_2d_int8.run(call);
#ifdef WRONG_KERNEL
    if (out->first <= 12 && 12 < out->first + out->rows)
        call->output_data[(12 - out->first) * row_bytes + 5] ^= 64U;
#else
    (void)out;
    (void)row_bytes;
#endif
}
static tigris_status check(const tigris_check_call *call)
{
    return tigris_depthwise_conv_2d_int8.check(call);
}
static const tigris_kernel_entry wrong = {
    TIGRIS_OP_KIND_DEPTHWISE_CONV_2D, TIGRIS_DTYPE_INT8, TIGRIS_PACKING_PORTABLE, sizeof(tigris_conv_int8_params),
    run, check};
static const tigris_kernel_entry *const kernels[] = {&wrong};
static const tigris_backend faulty = {"faulty", kernels, 1U, NULL, &TIGRIS_DEFAULT_BACKEND};
"""
INI = f"""
lib_deps = tigris-pio=symlink://{ROOT}
custom_tigris_models = kws.onnx
custom_tigris_mem = 8K
[env:emu_rv32]
board = emu_rv32
build_flags = -DWRONG_KERNEL
"""


@pytest.mark.thorough
def test_a_kernel_that_is_wrong_on_riscv(new_project: Callable[..., Project]) -> None:
    """In a rolling stage; named from the host, with the values of both."""
    main = (ROOT / "examples" / "digits" / "src" / "main.c").read_text("utf-8").replace("DIGITS", "KWS")
    at = main.index("static tigris_status open_model")
    main = main[:at] + WRONG_KERNEL + main[at:].replace("_SLOW_BYTES, NULL)", "_SLOW_BYTES, &faulty)")
    assert "&faulty" in main
    project = new_project({"src/main.c": main}, INI)
    shutil.copy(ROOT / "networks" / "kws_int8.onnx", project.folder / "kws.onnx")
    project.run("-t", "upload")
    plan = project.build("emu_rv32") / "tigris" / "kws.tgrs"
    words = (plan, "--port", f"socket://127.0.0.1:{project.port('emu_rv32')}", "--samples", "2", "--json")
    found = json.loads(tigris("hil", *words, status=1).stdout)["first_wrong"]
    assert found["name"] == "dwconv0/Conv"
    assert (found["kernel"], found["strategy"], found["cause"]) == ("depthwise_conv_2d int8", "rolling", "kernel")
    assert (found["row"], found["column"], found["channel"], found["differing"]) == (12, 0, 5, 1)
    assert int(found["board"]) ^ int(found["host"]) in (64, -64)
    assert found["reproducible"]
