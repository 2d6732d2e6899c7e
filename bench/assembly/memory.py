"""A machine's memory: named regions, and records of accesses outside of them."""

from collections import Counter
from dataclasses import dataclass

SIZE = 1 << 20
#: Where regions begin; below it nothing is, as below the first address of the chip's memory.
FIRST = 0x1000
GAP = 256


@dataclass(frozen=True)
class Region:
    """Bytes [start, start + size) of memory."""

    name: str
    start: int
    size: int
    writable: bool

    @property
    def end(self) -> int:
        return self.start + self.size


@dataclass(frozen=True)
class Stray:
    """A byte touched outside of the regions: `distance` from the end of `region` (from 0), or negative before its
    start."""

    region: str
    writes: bool
    distance: int


class Memory:
    """Regions with gaps between them. An access with any byte inside one, of 16 aligned bytes, is a read of that one:
    such blocks cannot cross into memory that is not there. What is read outside is `fill`.
    """

    def __init__(self, size: int = SIZE, fill: int = 0xA5) -> None:
        self.bytes = bytearray([fill]) * size
        self.regions: list[Region] = []
        self.strays: Counter[Stray] = Counter()
        #: (bytes of the access, address modulo it) that were not 0.
        self.misaligned: Counter[tuple[int, int]] = Counter()
        self._readable = bytearray(size)
        self._writable = bytearray(size)
        self._next = FIRST

    def add(self, name: str, content: bytes | int, writable: bool = False, align: int = 16, offset: int = 0) -> int:
        """The address of a new region with that content, or that many bytes; it is `offset` behind a multiple of
        `align`."""
        size = content if isinstance(content, int) else len(content)
        start = -(-self._next // align) * align + offset
        self._next = start + size + GAP
        if self._next > len(self.bytes):
            raise MemoryError(f"{name}: {size} bytes do not fit")
        self.regions.append(Region(name, start, size, writable))
        if not isinstance(content, int):
            self.bytes[start : start + size] = content
        self._readable[start : start + size] = b"\1" * size
        if writable:
            self._writable[start : start + size] = b"\1" * size
        return start

    def content(self, address: int, size: int) -> bytes:
        """The bytes at an address; the access is not recorded."""
        return bytes(self.bytes[address : address + size])

    def load(self, address: int, size: int) -> int:
        """Little-endian, unsigned."""
        if address & (size - 1):
            self.misaligned[size, address & (size - 1)] += 1
        if 0 in self._readable[address : address + size]:
            self._note(address, size, writes=False)
        return int.from_bytes(self.bytes[address : address + size], "little")

    def store(self, address: int, size: int, value: int) -> None:
        """The low bytes of `value`."""
        if address & (size - 1):
            self.misaligned[size, address & (size - 1)] += 1
        if 0 in self._writable[address : address + size]:
            self._note(address, size, writes=True)
        self.bytes[address : address + size] = (value & ((1 << 8 * size) - 1)).to_bytes(size, "little")

    def block(self, address: int, size: int = 16) -> bytes:
        """A vector, at an address that is a multiple of its size."""
        if 1 not in self._readable[address : address + size]:
            self._note(address, size, writes=False)
        return bytes(self.bytes[address : address + size])

    def store_block(self, address: int, content: bytes) -> None:
        """A vector."""
        if 0 in self._writable[address : address + len(content)]:
            self._note(address, len(content), writes=True)
        self.bytes[address : address + len(content)] = content

    def _note(self, address: int, size: int, writes: bool) -> None:
        """The byte of an access that is furthest from the nearest region."""
        allowed = self._writable if writes else self._readable
        outside = [i for i in range(address, address + size) if not (0 <= i < len(allowed) and allowed[i])]
        if not (address >= FIRST and address + size <= len(self.bytes)):
            raise MemoryError(f"{size} bytes at {address:#x}, where nothing is")
        strays = [self._stray(i, writes) for i in outside]
        self.strays[max(strays, key=lambda stray: abs(stray.distance))] += 1

    def _stray(self, address: int, writes: bool) -> Stray:
        def away(region: Region) -> int:
            return address - region.end if address >= region.end else address - region.start

        candidates = [region for region in self.regions if region.writable or not writes] or self.regions
        inside = [region for region in self.regions if region.start <= address < region.end]
        if inside:  # a write to what is only read
            return Stray(inside[0].name, writes, 0)
        nearest = min(candidates, key=lambda region: abs(away(region)))
        return Stray(nearest.name, writes, away(nearest))
