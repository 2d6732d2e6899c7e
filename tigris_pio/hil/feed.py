"""Feeds sensor data to the firmware of the sensor examples, which answers in lines of text.

    'b'                starts a recording; the answer is `begin: ` and the sentence of a status, `ok` for success
    'a' and a record   the sensor's next bytes, always the same number; the board may answer in one line

The firmware ignores all other bytes. This is not the serial harness: a demo shows the firmware's own text, not tensors.
"""

import serial

from tigris_pio.errors import TigrisError
from tigris_pio.hil.project import open_project

_BEGIN = b"begin: "
_TRIES = 10
_SECONDS_TO_BEGIN, _SECONDS_TO_ANSWER = 2.0, 60.0


class Feed:
    """The line to such a board; opening it starts a recording."""

    def __init__(self, port: str, baud: int, record: int) -> None:
        """`port` is any pyserial URL, `record` the bytes of a record. TigrisError if the board does not start."""
        self.record = record
        try:
            self._line = serial.serial_for_url(port, baud, timeout=_SECONDS_TO_BEGIN)
        except (serial.SerialException, ValueError) as error:
            raise TigrisError(f"{port} cannot be opened: {error}") from error
        for _ in range(_TRIES):
            # Zeros are ignored, but complete an interrupted record.
            self._line.write(bytes(record) + b"b")
            while line := self._line.readline():
                if line.startswith(_BEGIN + b"ok"):
                    self._line.timeout = _SECONDS_TO_ANSWER
                    return
                if line.startswith(_BEGIN):
                    raise TigrisError(f"the board cannot open its network: {line.decode('ascii', 'replace').strip()}")
        raise TigrisError(f"{port}: the board does not answer; is this example on it? pio run -t upload")

    def send(self, records: bytes) -> None:
        """Sends whole records, one after the other; waits if the board is slower than the line."""
        assert len(records) % self.record == 0
        firsts = range(0, len(records), self.record)
        self._line.write(b"".join(b"a" + records[first : first + self.record] for first in firsts))

    def answer(self) -> str:
        """Returns the board's next line; TigrisError if none arrives."""
        # The board answers each repeated 'b'.
        while (line := self._line.readline()).startswith(_BEGIN):
            pass
        if not line.endswith(b"\n"):
            raise TigrisError("the board stopped answering")
        return str(line.decode("ascii", "replace").strip())


def board_port(given: str | None, folder: str) -> str:
    """The given port, or the port of the PlatformIO project in `folder`."""
    return given or open_project(folder, None).port()
