"""Chains of operators over bands: small plans that exercise windows of every kind, and random ones."""

import dataclasses
from collections.abc import Sequence

import numpy as np

from tests.runtime import bands
from tests.runtime.plan_builder import NO_PACE, Pace, PlanBuilder
from tigris_pio.compiler.ir.program import RowMap
from tigris_pio.format.enums import DType, Home, OpKind, ViewFlag, WeightMode
from tigris_pio.format.params import BinaryFloatParams, ConvFloatParams, PoolFloatParams
from tigris_pio.format.record import Record

WIDTH, CHANNELS = 3, 2
ROW = WIDTH * CHANNELS


@dataclasses.dataclass(frozen=True)
class Link:
    """One operator of a chain: it reads the outputs `inputs` (0: the chain's input, i: link i - 1)."""

    kind: OpKind
    inputs: tuple[int, ...]
    kernel: int = 1
    stride: int = 1
    dilation: int = 1
    pad_top: int = 0
    pad_bottom: int = 0

    @property
    def rows(self) -> RowMap:
        """Its row map, for every input."""
        if self.kind == OpKind.ADD:
            return RowMap.same()
        return RowMap.window(self.kernel, self.stride, self.dilation, self.pad_top)

    def height(self, input_height: int) -> int:
        """Rows of its output; 0 or less when the kernel does not fit."""
        reach = (self.kernel - 1) * self.dilation + 1
        return (input_height + self.pad_top + self.pad_bottom - reach) // self.stride + 1

    def params(self) -> Record:
        """Kernel parameters: one column wide, stride 1 along the columns."""
        geometry = (self.kernel, 1, self.stride, 1, self.dilation, 1, 0)
        if self.kind == OpKind.ADD:
            return BinaryFloatParams(-np.inf, np.inf, (ROW, ROW), (CHANNELS, CHANNELS), (1, 1))
        if self.kind == OpKind.CONV_2D:
            return ConvFloatParams(*geometry, 1, -np.inf, np.inf, 0, 0)
        return PoolFloatParams(*geometry, 0, -np.inf, np.inf)

    def blobs(self, seed: int) -> dict[str, np.ndarray]:
        """Weights."""
        if self.kind != OpKind.CONV_2D:
            return {}
        random = np.random.default_rng(seed)
        weights = random.standard_normal((CHANNELS, self.kernel, 1, CHANNELS)).astype(np.float32)
        return {"weights": weights, "bias": random.standard_normal(CHANNELS).astype(np.float32)}


@dataclasses.dataclass(frozen=True)
class Chain:
    """Operators of one stage, the height of its input, and how each tensor is seen.

    `windows[i]`, `keeps[i]`, `paces[i]`: of tensor i, where tensor 0 is the input and the last one the output,
    which must have a pace.
    """

    height: int
    links: tuple[Link, ...]
    windows: tuple[bool, ...]
    keeps: tuple[bool, ...]
    paces: tuple[Pace, ...]

    @property
    def heights(self) -> list[int]:
        """Rows of every tensor."""
        result = [self.height]
        for link in self.links:
            result.append(link.height(result[link.inputs[0]]))
        return result

    @property
    def band_count(self) -> int:
        """Bands until the output's pace has brought all its rows."""
        numerator, denominator, offset = self.paces[-1]
        return max(1, -((offset - self.heights[-1] * denominator) // numerator))


def output_paces(chain: Chain, pace: Pace) -> tuple[Pace, ...]:
    """Only the output has a pace: everything else is made as it is needed."""
    return (NO_PACE,) * len(chain.links) + (pace,)


def walk(chain: Chain) -> tuple[list[int], int]:
    """Rows every window must hold, and rows computed in total."""
    last = len(chain.links)
    each = enumerate(zip(chain.heights, chain.windows, chain.keeps, chain.paces, strict=True))
    views = [bands.View(height, window, load=window and index == 0, store=window and index == last,
                        keep=window and keep, pace=pace) for index, (height, window, keep, pace) in each]  # fmt: skip
    ops = [bands.Op(tuple((view, link.rows) for view in link.inputs), index + 1)
           for index, link in enumerate(chain.links)]  # fmt: skip
    computed = bands.walk(views, ops, chain.band_count)
    return [max(1, view.highest) for view in views], computed


def whole(chain: Chain) -> Chain:
    """The same operators, one band, every tensor whole at its home."""
    direct = (False,) * (len(chain.links) + 1)
    paces = output_paces(chain, (chain.heights[-1], 1, 0))
    return dataclasses.replace(chain, windows=direct, keeps=direct, paces=paces)


def plan_of(chain: Chain, capacities: Sequence[int], weights: WeightMode = WeightMode.IN_PLACE) -> bytes:
    """The chain as a plan of one stage, its windows `capacities` rows high."""
    plan = PlanBuilder()
    last = len(chain.links)
    stage = plan.stage(chain.band_count, weights)
    views = []
    for index, (height, window, keep) in enumerate(zip(chain.heights, chain.windows, chain.keeps, strict=True)):
        inner = 0 < index < last
        home = Home.NONE if inner and window else Home.SLOW
        tensor = plan.tensor(f"t{index}", (1, height, WIDTH, CHANNELS), DType.FLOAT32, home)
        flags = 0
        if window:
            flags |= ViewFlag.KEEP if keep else 0
            flags |= ViewFlag.LOAD if index == 0 else ViewFlag.STORE if index == last else 0
        views.append(stage.view(tensor, capacities[index] if window else 0, flags=flags, pace=chain.paces[index]))
        if index == 0:
            plan.input(tensor)
        if index == last:
            plan.output(tensor)
    for index, link in enumerate(chain.links):
        operands = [(views[view], link.rows) for view in link.inputs]
        stage.op(link.kind, DType.FLOAT32, link.params(), operands, views[index + 1], blobs=link.blobs(index))
    return plan.build()


def example_chain(keep: bool) -> Chain:
    """Conv 3x1, strided pool, conv 3x1 and a residual sum, in bands of two rows."""
    links = (Link(OpKind.CONV_2D, (0,), 3, 1, 1, 1, 1), Link(OpKind.MAX_POOL, (1,), 2, 2),
             Link(OpKind.CONV_2D, (2,), 3, 1, 1, 1, 1), Link(OpKind.ADD, (2, 3)))  # fmt: skip
    return Chain(12, links, (True,) * 5, (keep,) * 5, (NO_PACE,) * 4 + ((2, 1, 0),))
