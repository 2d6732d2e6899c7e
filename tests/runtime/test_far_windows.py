"""Windows far outside their input are no undefined behaviour: every sliding kernel, under the sanitisers.

All positions in the padding are computed and none is read, so they must neither overflow nor be made into pointers."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from tests.runtime.build import replay
from tests.runtime.kernel_harness import Operator, Way, plan_for
from tests.runtime.loader import TIGRIS_ERR_PARAMS
from tests.runtime.operators import operators
from tests.runtime.replays import outcomes
from tigris_pio.compiler.ir.program import RowMap
from tigris_pio.format.enums import OpKind

CONV = (OpKind.CONV_2D, OpKind.PLAIN_CONV_2D)
PLAIN = (OpKind.PLAIN_CONV_2D, OpKind.PLAIN_DEPTHWISE_CONV_2D)
DEPTHWISE = (OpKind.DEPTHWISE_CONV_2D, OpKind.PLAIN_DEPTHWISE_CONV_2D)
SLIDING = [op for op in operators() if hasattr(op.params, "kernel_height") and op.kind is not OpKind.TRANSPOSE_CONV]
TRANSPOSED = [op for op in operators() if op.kind is OpKind.TRANSPOSE_CONV]
FAR = (1 << 29) - 1  #: rows that a row map may start above the input
MOST = (1 << 16) - 1  #: of a stride, dilation or padding


@dataclasses.dataclass(frozen=True)
class Far:
    """A window. `first`: the row map's."""

    name: str
    width: int
    channels: int
    output: tuple[int, int]
    first: int = -1
    height: int = 1
    geometry: tuple[tuple[str, int], ...] = ()


CASES = (
    Far("far-above", 4, 4, (3, 4), -FAR),
    Far("far-above-wide", 8200, 4, (1, 2), -FAR),
    Far("below", 8200, 4, (1, 2), FAR - 2),
    Far("dilated-rows", 8200, 4, (3, 2), -MOST, 2, (("dilation_height", MOST),)),
    Far("a-network", 9000, 8, (1, 2), -30000, 1,
        (("dilation_height", 30000), ("dilation_width", 30000), ("pad_left", 30000))),
    Far("dilated-columns", 2, 33000, (1, 2), -1, 1, (("dilation_width", MOST), ("pad_left", MOST))),
    Far("strided-rows", 8200, 4, (1, 2), -1, 3, (("stride_height", MOST),)),
    Far("strided-rows-of-some", 8200, 4, (4, 2), -1, 3, (("stride_height", MOST),)),
    Far("strided-columns", 4, 70, (1, 900), -1, 3, (("stride_width", MOST),)),
    Far("everything", 8200, 4, (9, 5), -FAR, 2, tuple((name, MOST) for name in (
        "stride_height", "stride_width", "dilation_height", "dilation_width", "pad_left"))),
)  # fmt: skip


def with_channels(op: Operator, channels: int) -> tuple[dict[str, np.ndarray], int]:
    """Constants of an operator of as many input channels, and its output channels: few, where it may choose."""
    if op.kind not in CONV + DEPTHWISE:
        return dict(op.blobs), channels
    outputs, shape = (5, (5, 3, 3, channels)) if op.kind in CONV else (channels, (3, 3, channels))
    return {name: np.resize(blob, shape if name == "weights" else outputs) for name, blob in op.blobs.items()}, outputs


def far_plan(op: Operator, far: Far, way: Way) -> bytes:
    """The operator with that window."""
    geometry = dict(far.geometry)
    params: Any = dataclasses.replace(op.params, **geometry)  # type: ignore[type-var]
    blobs, outputs = with_channels(op, far.channels)
    rows = RowMap(params.stride_height, 1, far.first, far.first + 2 * params.dilation_height)
    x = np.resize(op.inputs[0], (1, far.height, far.width, far.channels))
    return plan_for(
        dataclasses.replace(op, params=params, inputs=(x,), rows=(rows,), output_shape=(1, *far.output, outputs),
                            blobs=blobs), way)  # fmt: skip


def far_plans() -> Iterator[bytes]:
    """Every sliding kernel at every window, whole and in bands; transposed convolutions with far taps."""
    for op, far in itertools.product(SLIDING, CASES):
        yield far_plan(op, far, Way(far.output[0]))
        if far.output[0] > 1:
            yield far_plan(op, far, Way(2))
    for op, dilation, pad in itertools.product(TRANSPOSED, (1, 30000, MOST), (0, 30000, MOST)):
        fields = {"dilation_height": dilation, "dilation_width": dilation, "pad_top": pad, "pad_left": pad}
        params: Any = dataclasses.replace(op.params, **fields)  # type: ignore[type-var]
        yield plan_for(dataclasses.replace(op, params=params, rows=(RowMap.whole(6),)), Way(11))


@pytest.mark.parametrize("variant", ["", pytest.param("dsp", marks=pytest.mark.thorough)], ids=("portable", "dsp-in-c"))
def test_no_window_overflows(variant: str) -> None:
    results = outcomes(replay(variant), far_plans())
    assert sum(result.ran and result.status == 0 for result in results) > 100
    # Kernels that a library may run in their stead do not take windows like these.
    assert {(result.status, result.ran) for result in results} == {(0, True), (TIGRIS_ERR_PARAMS, False)}
    assert sum(result.ran for result in results) >= sum(op.kind not in PLAIN for op in SLIDING) * len(CASES)
