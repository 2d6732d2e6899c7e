"""What the builder keeps about stored tensors while lowering."""

from __future__ import annotations

import dataclasses

import numpy as np

from tigris_pio.compiler.ir.program import ProgramOp, ProgramTensor, RowMap
from tigris_pio.compiler.lower.element_order import Layout
from tigris_pio.format.enums import DType

Dims = tuple[int, int, int, int]


@dataclasses.dataclass(frozen=True)
class Numeric:
    """Element type of stored data; scale and zero point where it is quantised."""

    dtype: DType
    scale: float = 0.0
    zero_point: int = 0

    @property
    def is_plain(self) -> bool:
        """Whether values are stored as they are, not quantised."""
        return self.scale == 0.0


FLOAT = Numeric(DType.FLOAT32)


class Cell:
    """[batch, height, width, channels] that several stored tensors share, open until an operator cares.

    Elementwise operators give their output their input's cell, so that a choice made for one
    holds for both.
    """

    def __init__(self, dims: Dims, fixed: bool = False):
        self._dims = dims
        self._fixed = fixed
        self._parent: Cell | None = None

    def root(self) -> Cell:
        """The cell that holds the value."""
        cell = self
        while cell._parent is not None:
            cell = cell._parent
        if cell is not self:
            self._parent = cell
        return cell

    @property
    def dims(self) -> Dims:
        """The present choice."""
        return self.root()._dims

    @property
    def fixed(self) -> bool:
        """Whether an operator relies on it."""
        return self.root()._fixed

    def settle(self, dims: Dims) -> bool:
        """Fixes the choice; False when it is fixed otherwise."""
        root = self.root()
        if root._fixed and root._dims != dims:
            return False
        root._dims, root._fixed = dims, True
        return True

    def unite(self, other: Cell) -> bool:
        """Makes both one; False when they are fixed differently."""
        mine, theirs = self.root(), other.root()
        if mine is theirs:
            return True
        if mine._fixed and theirs._fixed and mine._dims != theirs._dims:
            return False
        if theirs._fixed:
            mine, theirs = theirs, mine
        theirs._parent = mine
        return True


@dataclasses.dataclass(frozen=True)
class Storage:
    """One stored tensor of the program to be."""

    name: str
    numeric: Numeric
    cell: Cell
    constant: np.ndarray | None = None
    folded: bool = False  #: see ProgramTensor
    state: bool = False  #: see ProgramTensor
    sequential: bool = False

    def tensor(self) -> ProgramTensor:
        """Its final form."""
        constant = None if self.constant is None else self.constant.reshape(self.cell.dims)
        numeric = self.numeric
        return ProgramTensor(self.name, *self.cell.dims, numeric.dtype, numeric.scale, numeric.zero_point, constant,
                             self.folded, self.state, self.sequential)


@dataclasses.dataclass(frozen=True)
class Value:
    """A graph tensor in some storage, and in which element order."""

    storage: str
    layout: Layout


@dataclasses.dataclass(frozen=True)
class PendingOp:
    """An operator whose row maps wait for the final heights; None maps mean the whole operand."""

    op: ProgramOp
    sources: tuple[tuple[str, RowMap | None], ...]
    per_image: bool
