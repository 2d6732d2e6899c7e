"""The cheapest plan over orders, tiles and sizes of memory."""

import functools

import pytest

from tests.networks.folders import OWN
from tigris_pio.compiler.ir.plan import Budget
from tigris_pio.compiler.options import CompileOptions
from tigris_pio.compiler.pipeline import Compiled, Front, back, front
from tigris_pio.format.enums import OpKind


@functools.cache
def kws() -> Front:
    return front(OWN / "kws_int8.onnx", CompileOptions())


@functools.cache
def planned(fast: int) -> Compiled:
    return back(kws(), CompileOptions(Budget(fast)))


@pytest.mark.thorough
def test_a_plan_fits_flash() -> None:
    alone = planned(13000)
    flash = len(alone.data)
    assert len(back(kws(), CompileOptions(Budget(13000, flash=flash))).data) == flash


def test_less_memory_leaves_no_operator_to_portable_kernels() -> None:
    """The instructions of these kernels were not counted, so the cost shows no gain."""
    options = CompileOptions(Budget(5 << 10), backend="pie", chip="esp32s3")
    found = back(front(OWN / "kws_int8.onnx", options), options)
    assert found.plan.backend is not None
    assert {op.kind for op in found.plan.program.ops if op.name in found.plan.backend.portable} == {
        OpKind.SUM_MAP, OpKind.MEAN_OF_SUMS, OpKind.SOFTMAX,
    }  # fmt: skip
