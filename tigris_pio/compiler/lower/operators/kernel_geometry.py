"""The kernel geometry of convolutions and pools: size, stride, dilation and padding along rows and columns."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

from tigris_pio.compiler.ir.graph import Node
from tigris_pio.compiler.ir.program import RowMap
from tigris_pio.compiler.lower.refusal import Refusal
from tigris_pio.compiler.lower.storage import Dims

Pair = tuple[int, int]
#: The largest size, stride, dilation or pad along an axis; records hold them in 16 bits.
MOST = (1 << 16) - 1


@dataclasses.dataclass(frozen=True)
class KernelGeometry:
    """The geometry, each field as (rows, columns). pad_begin: above and on the left; pad_end: below and on the right"""

    kernel: Pair
    stride: Pair
    dilation: Pair
    pad_begin: Pair
    pad_end: Pair

    def has_inner_taps(self, source: Pair, result: Pair) -> bool:
        """Whether every output has a tap inside the tensor. source, result: input and output size as (rows, columns)"""
        return all(
            _has_inner_taps(size, count, kernel, stride, dilation, pad)
            for size, count, kernel, stride, dilation, pad in zip(
                source, result, self.kernel, self.stride, self.dilation, self.pad_begin, strict=True)
        )

    def row_map(self) -> RowMap:
        """The row map of the kernel."""
        return RowMap.window(self.kernel[0], self.stride[0], self.dilation[0], self.pad_begin[0])

    def fields(self) -> dict[str, Any]:
        """The geometry's fields of a convolution or pooling record."""
        return {
            "kernel_height": self.kernel[0], "kernel_width": self.kernel[1],
            "stride_height": self.stride[0], "stride_width": self.stride[1],
            "dilation_height": self.dilation[0], "dilation_width": self.dilation[1],
            "pad_left": self.pad_begin[1],
        }


def _has_inner_taps(size: int, count: int, kernel: int, stride: int, dilation: int, pad: int) -> bool:
    """Whether each of `count` outputs along an axis of `size` has a tap inside; in time bounded by `dilation`."""
    if count < 1 or size < 1 or (count - 1) * stride - pad >= size:
        return False
    # A kernel that begins before the axis needs a tap in [0, size). Its first tap from 0 on is (first mod dilation), so
    # only the first `dilation` outputs differ. The last tap of the first output is the earliest.
    before = min(count, -(-pad // stride)) if pad > 0 else 0
    if before and -pad + (kernel - 1) * dilation < 0:
        return False
    if dilation <= size:
        return True
    return all((place * stride - pad) % dilation < size for place in range(min(before, dilation)))


def read_geometry(node: Node, source: Sequence[int], result: Sequence[int], kernel: Sequence[int]) -> KernelGeometry:
    """The geometry of a node with tensors [N, C, spatial…]. With one spatial axis, rows have width one."""
    rank = len(source) - 2
    if rank not in (1, 2):
        raise Refusal(f"{rank} spatial dimensions; one or two are supported")
    strides = tuple(node.attributes.get("strides", (1,) * rank))
    dilations = tuple(node.attributes.get("dilations", (1,) * rank))
    if any(len(item) != rank for item in (kernel, strides, dilations)) or min(*kernel, *strides, *dilations) < 1:
        raise Refusal(f"kernel {list(kernel)}, strides {list(strides)} or dilations {list(dilations)} contradict "
                      f"input {list(source)}")
    begin, end = read_pads(node, source[2:], kernel, strides, dilations)
    if max(*kernel, *strides, *dilations, *begin, *end) > MOST:
        raise Refusal(f"kernel {list(kernel)}, strides {list(strides)}, dilations {list(dilations)} or pads "
                      f"{[*begin, *end]} beyond {MOST}")
    if min(*begin, *end) < 0:
        raise Refusal(f"negative pads {[*begin, *end]}")
    return KernelGeometry(pair(kernel, 1), pair(strides, 1), pair(dilations, 1), pair(begin, 0), pair(end, 0))


def pair(values: Sequence[int], fill: int) -> Pair:
    """(rows, columns) of the values of one or two axes; `fill` is that of a missing column axis."""
    return (int(values[0]), int(values[1]) if len(values) > 1 else fill)


def read_pads(node: Node, source: Sequence[int], kernel: Sequence[int], strides: Sequence[int],
              dilations: Sequence[int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    rank = len(source)
    mode = node.attributes.get("auto_pad", "NOTSET")
    if mode == "NOTSET":
        pads = tuple(node.attributes.get("pads", (0,) * 2 * rank))
        return pads[:rank], pads[rank:]
    if mode == "VALID":
        return (0,) * rank, (0,) * rank
    if mode not in ("SAME_UPPER", "SAME_LOWER"):
        raise Refusal(f"auto_pad {mode}")
    totals = [max((math.ceil(size / s) - 1) * s + (k - 1) * d + 1 - size, 0)
              for size, k, s, d in zip(source, kernel, strides, dilations, strict=True)]
    less = tuple(total // 2 for total in totals)
    more = tuple(total - half for total, half in zip(totals, less, strict=True))
    return (less, more) if mode == "SAME_UPPER" else (more, less)


def image_dims(shape: Sequence[int]) -> Dims:
    """[N, C, H, W] or [N, C, L] as [batch, height, width, channels]."""
    return int(shape[0]), int(shape[2]), int(shape[3]) if len(shape) > 3 else 1, int(shape[1])
