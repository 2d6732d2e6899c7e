"""Compares an array of the board with the host's."""

import dataclasses

import numpy as np

from tigris_pio.host.io import Array


@dataclasses.dataclass(frozen=True)
class Mismatch:
    """Differences of an output of the board from the host's; indices count stored elements."""

    output: str
    elements: int
    differing: int
    first: int
    board: float
    host: float
    largest_difference: float

    @property
    def extent(self) -> str:
        """How many elements differ, in words."""
        one = self.elements == 1
        return "its only element differs" if one else f"{self.differing} of {self.elements} elements differ"

    def sentence(self) -> str:
        """The whole mismatch in one sentence."""
        return (
            f"output {self.output}: {self.extent}, first at index {self.first}: "
            f"board {self.board:g}, host {self.host:g}; largest difference {self.largest_difference:g}"
        )


def compare(name: str, board: Array, host: Array, tolerance: float = 0.0) -> Mismatch | None:
    """Returns how `board` differs from `host`; None if it does not, or by no more than `tolerance`.

    `tolerance`: largest |board - host| / max(1, |host|) of floating-point elements that counts as equal.
    """
    board, host = (np.ascontiguousarray(array).reshape(-1) for array in (board, host))
    if board.tobytes() == host.tobytes():
        return None
    width = host.dtype.itemsize
    words = [np.frombuffer(array.tobytes(), np.uint8).reshape(-1, width) for array in (board, host)]
    differs = (words[0] != words[1]).any(axis=1)
    with np.errstate(invalid="ignore", over="ignore"):
        distance = np.abs(board.astype(np.float64) - host.astype(np.float64))
        if host.dtype.kind == "f" and tolerance > 0:
            differs &= ~(distance <= tolerance * np.maximum(1.0, np.abs(host.astype(np.float64))))
    if not differs.any():
        return None
    first = int(differs.argmax())
    largest = float(np.nanmax(distance)) if not np.isnan(distance).all() else float("nan")
    return Mismatch(name, len(host), int(differs.sum()), first, float(board[first]), float(host[first]), largest)
