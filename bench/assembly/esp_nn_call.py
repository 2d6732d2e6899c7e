"""A call of a function of ESP-NN on random shapes, and the result of TensorFlow Lite's arithmetic for it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from bench.assembly.arithmetic import Ints, Output, Window
from bench.assembly.memory import Memory, Stray

Random = np.random.Generator


class Caller(Protocol):
    """A machine."""

    executed: int

    def call(self, name: str, arguments: Sequence[int]) -> int: ...


@dataclass
class Call(ABC):
    """One run: arguments in order, the output, and accesses outside of the operands."""

    function: str
    shape: str
    memory: Memory = field(default_factory=Memory)
    arguments: list[int] = field(default_factory=list)
    executed: int = 0
    macs: int = 0
    _output: tuple[int, NDArray[np.generic]] | None = None
    _expected: Callable[[], NDArray[np.generic]] | None = None

    def data(self, values: NDArray[np.generic], align: int = 4, offset: int = 0) -> None:
        self.arguments.append(self.memory.add(f"operand {len(self.arguments)}", values.tobytes(), align=align,
                                              offset=offset))  # fmt: skip

    def words(self, values: Ints, offset: int = 0) -> None:
        self.data(values.astype("<i4"), offset=offset)

    def numbers(self, *values: int) -> None:
        self.arguments.extend(int(value) for value in values)

    def output(self, expected: NDArray[np.generic], align: int = 1, offset: int = 0) -> None:
        address = self.memory.add("output", expected.nbytes, writable=True, align=align, offset=offset)
        self.arguments.append(address)
        self._output = (address, expected)

    def scales(self, output: Output) -> None:
        """Of each channel, and limits."""
        self.words(output.shift)
        self.words(output.multiplier)
        self.numbers(output.low, output.high)

    def scratch(self, size: int) -> None:
        self.arguments.append(self.memory.add("scratch", size, writable=True))

    @abstractmethod
    def machine(self) -> Caller:
        """With the library's program and this memory."""

    def run(self) -> tuple[int, int]:
        """The number of outputs that differ, and the number of outputs."""
        machine = self.machine()
        result = machine.call(self.function, self.arguments)
        self.executed = machine.executed
        assert self._output is not None
        address, expected = self._output
        if address < 0:
            got: NDArray[np.generic] = np.array([result], np.uint32).view(np.int32)
        else:
            got = np.frombuffer(self.memory.content(address, expected.nbytes), expected.dtype)
        return int((got.reshape(-1) != expected.reshape(-1)).sum()), expected.size

    def result(self, expected: int) -> None:
        """Takes the function's own result as the expected one."""
        self._output = (-1, np.array([expected], np.int32))

    def writes_outside(self) -> list[Stray]:
        return [stray for stray in self.memory.strays if stray.writes]

    def furthest_read(self) -> int:
        """Bytes from the nearest operand, of what is read ahead."""
        return max((abs(stray.distance) + (stray.distance >= 0) for stray in self.memory.strays), default=0)


def random_bytes(choose: Random, *shape: int) -> Ints:
    return choose.integers(-128, 128, shape)


def random_scales(choose: Random, count: int, terms: int) -> Output:
    """Multipliers and shifts that bring sums of that many products to about eight bits."""
    right = int(np.log2(terms) / 2) + 5
    low, high = sorted(choose.choice([-128, -100, -20, 20, 100, 127], 2, replace=False))
    return Output(choose.integers(1 << 30, 1 << 31, count), choose.integers(-right - 2, -right + 2, count),
                  int(choose.integers(-128, 128)), int(low), int(high))  # fmt: skip


def random_window(choose: Random, kernel: tuple[int, int], padded: bool = False) -> tuple[Window, tuple[int, int]]:
    """A window and the input's rows and columns."""
    stride = (int(choose.integers(1, 3)),) * 2
    output = (int(choose.integers(1, 6)), int(choose.integers(1, 7)))
    pad = (kernel[0] // 2, kernel[1] // 2) if padded else (0, 0)
    size = tuple((o - 1) * s + k - 2 * p for o, s, k, p in zip(output, stride, kernel, pad, strict=True))
    if min(size) < 1:
        return random_window(choose, kernel, padded)
    return Window(kernel, stride, output, pad), (size[0], size[1])
