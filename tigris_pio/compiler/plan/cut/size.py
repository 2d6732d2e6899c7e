"""How many bytes windows take, by the rows of a band."""

from __future__ import annotations

from typing import NamedTuple


class Size(NamedTuple):
    """Bytes of windows in bands of one row. Each further row a band takes `growth` more, less `credit` in all.

    The credit: if a tensor gets a row in every second band only, the second row a band costs it nothing.
    """

    bytes: int
    growth: float = 0.0
    credit: float = 0.0

    def __add__(self, other: object) -> Size:
        assert isinstance(other, Size)
        return Size(self.bytes + other.bytes, self.growth + other.growth, self.credit + other.credit)


NO_SIZE = Size(0)
