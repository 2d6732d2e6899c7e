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
    holds for both. An operator relies on all four numbers, or on the rows alone: how many there are, but not how each
    is made up of columns and channels.
    """

    def __init__(self, dims: Dims, fixed: bool = False, fixed_rows: bool = False):
        self._dims = dims
        self._fixed = fixed
        self._fixed_rows = fixed or fixed_rows
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
        """Whether an operator relies on all of it."""
        return self.root()._fixed

    @property
    def fixed_rows(self) -> bool:
        """Whether an operator relies on its rows."""
        return self.root()._fixed_rows

    def allows(self, dims: Dims) -> bool:
        """Whether the choice is open, as far as these dimensions differ from it."""
        root = self.root()
        return root._dims == dims or not (root._fixed or (root._fixed_rows and root._dims[:2] != dims[:2]))

    def settle(self, dims: Dims) -> bool:
        """Fixes the choice; False when it is fixed otherwise."""
        if not self.allows(dims):
            return False
        root = self.root()
        root._dims, root._fixed, root._fixed_rows = dims, True, True
        return True

    def settle_rows(self, dims: Dims) -> bool:
        """Fixes the rows of the choice; False when they are fixed otherwise."""
        if not self.allows(dims):
            return False
        root = self.root()
        root._dims, root._fixed_rows = dims, True
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
