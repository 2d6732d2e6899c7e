"""A board whose firmware is fed a sensor's data over the line and answers in lines of text, as the examples' is.

    'b'                begins a stream; answered by `begin: ` and the sentence of a status, `ok` when all is well
    'a' and a record   the next bytes of the sensor, always as many; what has an answer gives one line each

All other bytes are nothing. This is not the serial harness, which such firmware does not need: a demo needs the board's
own words, not tensors.
"""

from __future__ import annotations

import serial

from tigris_pio.errors import TigrisError
from tigris_pio.hil.project import open_project

_BEGIN = b"begin: "
_TRIES = 10
_SECONDS_TO_BEGIN, _SECONDS_TO_ANSWER = 2.0, 60.0


class Feed:
    """The line to such a board, in a stream that was just begun."""

    def __init__(self, port: str, baud: int, record: int) -> None:
        """`port` is any pyserial URL, `record` the bytes of a record. TigrisError when the board does not begin."""
        self.record = record
        try:
            self._line = serial.serial_for_url(port, baud, timeout=_SECONDS_TO_BEGIN)
        except (serial.SerialException, ValueError) as error:
            raise TigrisError(f"{port} cannot be opened: {error}") from error
        for _ in range(_TRIES):
            # Zeros are nothing, and complete a record that was broken off.
            self._line.write(bytes(record) + b"b")
            while line := self._line.readline():
                if line.startswith(_BEGIN + b"ok"):
                    self._line.timeout = _SECONDS_TO_ANSWER
                    return
                if line.startswith(_BEGIN):
                    raise TigrisError(f"the board cannot open its network: {line.decode('ascii', 'replace').strip()}")
        raise TigrisError(f"{port}: the board does not answer; is this example on it? pio run -t upload")

    def send(self, records: bytes) -> None:
        """Whole records, one after the other; waits when the board is slower than the line."""
        assert len(records) % self.record == 0
        firsts = range(0, len(records), self.record)
        self._line.write(b"".join(b"a" + records[first : first + self.record] for first in firsts))

    def answer(self) -> str:
        """The board's next line. TigrisError when none comes."""
        # Answers to beginnings that were asked for twice are none.
        while (line := self._line.readline()).startswith(_BEGIN):
            pass
        if not line.endswith(b"\n"):
            raise TigrisError("the board has stopped to answer")
        return str(line.decode("ascii", "replace").strip())


def board_port(given: str | None, folder: str) -> str:
    """The port that was given, or that of the board of the PlatformIO project in `folder`."""
    return given or open_project(folder, None).port()
