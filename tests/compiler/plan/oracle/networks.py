"""Random small networks: geometry, sizes and multiply-accumulates as convolutional networks have them."""

import dataclasses
import random

from tests.compiler.synthetic import Builder
from tigris_pio.compiler.ir.program import Operand, Program, RowMap

PIXEL_COLUMNS = 8


def random_network(seed: int, length: int) -> Program:
    """Up to `length` operators: convolutions with kernels, strides and skips around them, pools, additions, joins of
    channels, resizes, a second head, and a dense end."""
    rng, b = random.Random(seed), Builder()
    net = _Network(rng, b, b.input(rng.choice([8, 12, 16, 20, 24]), PIXEL_COLUMNS * rng.choice([1, 3, 4])))
    while len(b.ops) < length - 1:
        net.grow()
    if rng.random() < 0.4:
        net.dense()
    else:
        net.grow()
    read = {operand.tensor for op in b.ops for operand in op.operands}
    return b.program(*(op.output for op in b.ops if op.output not in read))


class _Network:
    def __init__(self, rng: random.Random, b: Builder, image: str) -> None:
        self._rng, self._b, self._skips, self._last = rng, b, [image], image

    def grow(self) -> None:
        """Another operator."""
        rng, tensors = self._rng, self._b.tensors
        last = tensors[self._last]
        alike = [name for name in self._skips if name != self._last and tensors[name].height == last.height]
        kind = rng.random()
        if alike and kind < 0.35:
            self._join(rng.choice(alike))
        elif kind < 0.45 and last.height <= 16:
            self._last = self._upsampled()
        elif kind < 0.55 and last.height > 3:
            self._last = self._windowed(2, 2, 0, last.row_bytes, 4)
        elif kind < 0.62 and len(self._skips) > 1:
            self._last = rng.choice(self._skips)  # another branch
            self._convolve()
        else:
            self._convolve()
        self._skips.append(self._last)

    def dense(self) -> None:
        """One row of a few values, made of everything."""
        b, last = self._b, self._b.tensors[self._last]
        outputs = self._rng.choice([4, 10])
        self._last = b.whole(self._last, 1, outputs)
        self._work(last.height * last.row_bytes * outputs)

    def _convolve(self) -> None:
        rng, last = self._rng, self._b.tensors[self._last]
        kernel = rng.choice([1, 3, 3, 3, 5])
        stride = rng.choice([1, 1, 2]) if last.height > 4 else 1
        channels = rng.choice([2, 4, 8, 12, 16])
        depthwise = rng.random() < 0.4
        row_bytes = last.row_bytes if depthwise else PIXEL_COLUMNS * channels
        taps = kernel * kernel * (1 if depthwise else max(1, last.row_bytes // PIXEL_COLUMNS))
        self._last = self._windowed(kernel, stride, kernel // 2, row_bytes, taps)

    def _windowed(self, kernel: int, stride: int, pad: int, row_bytes: int, taps: int) -> str:
        scratch = self._rng.choice([0, 0, 0, 32]) if kernel > 2 else 0
        made = self._b.window(self._last, kernel, stride, pad, row_bytes, scratch)
        self._work(taps * self._b.tensors[made].bytes)
        return made

    def _join(self, other: str) -> None:
        first, second = self._b.tensors[self._last], self._b.tensors[other]
        if first.row_bytes == second.row_bytes:
            self._last = self._b.pointwise(self._last, other)
        else:  # channels behind each other
            operands = [Operand(name, RowMap.same()) for name in (self._last, other)]
            self._last = self._b.op(operands, first.height, first.row_bytes + second.row_bytes)
        self._work(0)

    def _upsampled(self) -> str:
        made = self._b.upsample(self._last, 2)
        self._work(0)
        return made

    def _work(self, macs: int) -> None:
        self._b.ops[-1] = dataclasses.replace(self._b.ops[-1], macs=macs)
