"""Records the kernel calls of a run; their order is the same on every machine."""

import ctypes
import dataclasses

from tigris_pio.host import library


@dataclasses.dataclass(frozen=True)
class CallOperand:
    """The rows of an operand that a call read: of its image, or of all images if it reads the whole batch."""

    first: int
    rows: int
    crc32: int  #: of the rows before the call


@dataclasses.dataclass(frozen=True)
class Call:
    """One kernel call: operator `op` of the plan made `rows` rows from `first` on of one image of its output.

    `crc32` is of this call and all before it, as docs/protocol.md says at TRACE.
    """

    op: int
    image: int
    first: int
    rows: int  #: of all images if the call writes the whole batch
    crc32: int
    operands: tuple[CallOperand, ...]


@dataclasses.dataclass(frozen=True)
class CallRows:
    """Bytes of one call's output rows, and of its operands' rows, after the call."""

    output: bytes
    operands: tuple[bytes, ...]  #: the call may have overwritten them


class Watch:
    """Memory for the calls of one run, at most `capacity`; the rows of call `wanted`, counted from 1, are kept.

    `largest`: bytes of the largest tensor.
    """

    def __init__(self, capacity: int, wanted: int, largest: int) -> None:
        self._records = (library.HostCall * max(1, capacity))()
        count = library.MAX_OPERANDS + 1 if wanted else 0
        self._buffers = [ctypes.create_string_buffer(max(1, largest)) for _ in range(count)]
        self._pointers = (ctypes.c_void_p * (library.MAX_OPERANDS + 1))(*map(ctypes.addressof, self._buffers))
        self.record = library.HostWatch(self._records, capacity, 0, wanted, self._pointers)

    def calls(self) -> tuple[Call, ...]:
        """All recorded calls."""
        return tuple(map(_call, self._records[: self.record.count]))

    def rows(self) -> CallRows:
        """The rows of the wanted call."""
        count = 1 + len(self.calls()[self.record.wanted - 1].operands)
        output, *operands = (buffer.raw[: self.record.bytes[i]] for i, buffer in enumerate(self._buffers[:count]))
        return CallRows(output, tuple(operands))


def _call(record: library.HostCall) -> Call:
    operands = tuple(
        CallOperand(record.operand_first[i], record.operand_rows[i], record.operand_crc32[i])
        for i in range(record.operand_count)
    )
    return Call(record.op, record.image, record.first, record.rows, record.crc32, operands)
