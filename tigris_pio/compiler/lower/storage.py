"""Records of the builder: stored tensors, their element types and dimensions, and pending operators."""

from __future__ import annotations

import dataclasses

import numpy as np

from tigris_pio.compiler.ir.program import ProgramOp, ProgramTensor, RowMap
from tigris_pio.compiler.lower.element_order import Layout
from tigris_pio.format.enums import DType

Dims = tuple[int, int, int, int]  #: [batch, height, width, channels]


@dataclasses.dataclass(frozen=True)
class Numeric:
    """The element type of stored data, with scale and zero point if it is quantised (scale 0: it is not)."""

    dtype: DType
    scale: float = 0.0
    zero_point: int = 0

    @property
    def is_unquantised(self) -> bool:
        """Whether stored values are the real values."""
        return self.scale == 0.0


FLOAT = Numeric(DType.FLOAT32)


class Cell:
    """[batch, height, width, channels] that several stored tensors share, open until an operator relies on them.

    Elementwise operators give their output the cell of their input, so that both have the same dimensions. An operator
    relies on all four numbers, or on batch and height only.
    """

    def __init__(self, dims: Dims, fixed: bool = False, fixed_rows: bool = False):
        self._dims = dims
        self._fixed = fixed
        self._fixed_rows = fixed or fixed_rows
        self._parent: Cell | None = None

    def root(self) -> Cell:
        """The cell that holds the dimensions of all joined cells (union-find)."""
        cell = self
        while cell._parent is not None:
            cell = cell._parent
        if cell is not self:
            self._parent = cell
        return cell

    @property
    def dims(self) -> Dims:
        """The present dimensions."""
        return self.root()._dims

    @property
    def fixed(self) -> bool:
        """Whether an operator relies on all four numbers."""
        return self.root()._fixed

    @property
    def fixed_rows(self) -> bool:
        """Whether an operator relies on batch and height."""
        return self.root()._fixed_rows

    def allows(self, dims: Dims) -> bool:
        """Whether no operator relies on a number that `dims` would change."""
        root = self.root()
        return root._dims == dims or not (root._fixed or (root._fixed_rows and root._dims[:2] != dims[:2]))

    def settle(self, dims: Dims) -> bool:
        """Fixes all four numbers; False if an operator relies on others."""
        if not self.allows(dims):
            return False
        root = self.root()
        root._dims, root._fixed, root._fixed_rows = dims, True, True
        return True

    def settle_rows(self, dims: Dims) -> bool:
        """Fixes batch and height; False if an operator relies on other numbers."""
        if not self.allows(dims):
            return False
        root = self.root()
        root._dims, root._fixed_rows = dims, True
        return True


@dataclasses.dataclass(frozen=True)
class Storage:
    """A stored tensor of the program in the making. folded, state, sequential: as in ProgramTensor"""

    name: str
    numeric: Numeric
    cell: Cell
    constant: np.ndarray | None = None
    folded: bool = False
    state: bool = False
    sequential: bool = False

    def tensor(self) -> ProgramTensor:
        """The tensor of the finished program."""
        constant = None if self.constant is None else self.constant.reshape(self.cell.dims)
        numeric = self.numeric
        return ProgramTensor(self.name, *self.cell.dims, numeric.dtype, numeric.scale, numeric.zero_point, constant,
                             self.folded, self.state, self.sequential)


@dataclasses.dataclass(frozen=True)
class Value:
    """A storage that holds a graph tensor, and the tensor's element order in it."""

    storage: str
    layout: Layout


@dataclasses.dataclass(frozen=True)
class PendingOp:
    """An operator without row maps of final heights. A row map of None reads the whole operand."""

    op: ProgramOp
    sources: tuple[tuple[str, RowMap | None], ...]
    per_image: bool
