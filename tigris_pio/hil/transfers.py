"""Transfers: large inputs and outputs in frames that are not acknowledged one by one.

`client.Board` calls `_send_input` and `_receive_tensor`. `in_flight` decides which frames to send and to request.
"""

import zlib
from collections.abc import Iterable, Iterator

from tigris_pio.hil import protocol
from tigris_pio.hil.conversation import Conversation
from tigris_pio.hil.errors import OutputsError
from tigris_pio.hil.frames import Frame, encode
from tigris_pio.hil.in_flight import Receiver, Sender
from tigris_pio.hil.protocol import Answer, Direction, Progress, Request, TransferFrame

#: Bytes on the line for a frame besides its data.
_FRAME_OVERHEAD = 18
#: A write to the line ends with the first frame that reaches this many bytes.
_WRITE_BYTES = 1024
#: Silences in a row after which an input is sent by WRITE instead.
_STALLED_TRIES = 2


class Transfers(Conversation):
    """A conversation with transfers."""

    _can_transfer = True  # False once a transfer has stalled before its first frame

    def _send_input(self, model: int, index: int, data: bytes) -> None:
        """Fills an input by transfers; the rest of a stalled transfer and short inputs go by WRITE."""
        most = self.info.payload_bytes - protocol.Range.size()
        done = 0
        if self._can_transfer and len(data) > 2 * most:  # a transfer waits for two answers, too
            for first, count in self._split(len(data)):
                self._open_transfer(model, Direction.INPUT, index, first, count)
                done = first + self._send_transfer(data[first : first + count])
                if done < first + count:
                    self._can_transfer = done > 0
                    break
        for first in range(done, len(data), most):
            part = data[first : first + most]
            self._ask(Request.WRITE, protocol.Range(model, 0, index, first, len(part)).pack() + part)

    def _receive_tensor(self, model: int, direction: Direction, index: int, size: int) -> bytes:
        """Reads the first `size` bytes of an output, or of rows; OutputsError if their checksum is not the board's."""
        data = b""
        for first, count in self._split(size):
            crc32 = self._open_transfer(model, direction, index, first, count)
            part = self._receive_transfer(count)
            if zlib.crc32(part) != crc32:
                raise OutputsError(
                    f"{self.url}: {direction.name.lower()} {index} was dropped: its checksum is not the board's. Does "
                    "something between here and the board change data, or does the firmware run the model meanwhile?"
                )
            data += part
        return data

    def _split(self, size: int) -> Iterator[tuple[int, int]]:
        """Yields (first byte, bytes) of the transfers that `size` bytes need."""
        most = self.info.transfer_bytes * protocol.MOST_TRANSFER_FRAMES
        for first in range(0, size, most):
            yield first, min(most, size - first)

    def _open_transfer(self, model: int, direction: Direction, index: int, first: int, count: int) -> int:
        request = protocol.Transfer(model, direction, index, first, count, self.info.transfer_bytes)
        return self._record(protocol.Checksum, Request.TRANSFER, request).crc32

    def _send_transfer(self, data: bytes) -> int:
        """Sends a transfer's frames; returns the bytes that have arrived when it is done or stalls.

        A transfer stalls if the board reads slowly and its line has a short buffer: a request fits, a frame of a
        transfer does not.
        """
        frame_bytes = self.info.transfer_bytes
        sender = Sender(-(-len(data) // frame_bytes))
        quiet, start = 0, self._line.now()
        while not sender.done:
            due = ((number, number * frame_bytes) for number in sender.due())
            self._send_frames(
                TransferFrame.DATA, (number.to_bytes(2, "little") + data[at : at + frame_bytes] for number, at in due)
            )
            frame = self._transfer_frame(quiet, sender.in_flight)
            if frame is None:
                if quiet + 1 == _STALLED_TRIES:
                    return sender.next * frame_bytes
                quiet = self._count_quiet(quiet)
                sender.mark_first_lost()
            elif frame.type == TransferFrame.ACK and len(frame.payload) == Progress.size():
                quiet = 0 if sender.acknowledge(Progress.unpack(frame.payload)) else quiet
                if sender.next:
                    self._measure_line(min(sender.next * frame_bytes, len(data)), 0, start)
        return len(data)

    def _receive_transfer(self, size: int) -> bytes:
        receiver = Receiver(size, self.info.transfer_bytes)
        quiet = 0
        while not receiver.done:
            frame = self._transfer_frame(quiet, protocol.IN_FLIGHT)
            credit = None
            if frame is None:
                quiet, credit = self._count_quiet(quiet), receiver.request_all()
            elif frame.type == TransferFrame.DATA and receiver.accept(frame.payload):
                quiet, credit = 0, receiver.credit()
            if credit is not None:
                self._send_frames(TransferFrame.CREDIT, [credit.pack()])
        return receiver.data

    def _send_frames(self, kind: TransferFrame, payloads: Iterable[bytes]) -> None:
        """Sends frames of the transfer, a few in each write: a write must not take long on a slow line."""
        piece = b""
        for payload in payloads:
            piece += encode(Frame(kind, self._sequence, self._connection, payload))
            if len(piece) >= _WRITE_BYTES:
                self._line.write(piece)
                piece = b""
        if piece:
            self._line.write(piece)

    def _transfer_frame(self, quiet: int, in_flight: int) -> Frame | None:
        """Returns the transfer's next frame; None if the line is quiet for longer than `in_flight` frames take.

        `quiet`: silences before; each doubles the wait.
        """
        seconds = min(self._timing.answer * 2**quiet, self._timing.longest_answer)
        seconds += self._seconds_for(in_flight * (self.info.transfer_bytes + _FRAME_OVERHEAD))
        frame = self._next_frame(self._line.now() + seconds)
        if frame is not None and frame.type == Answer.ERROR:
            self._check_answer(Request.TRANSFER, frame, None)
        return frame

    def _count_quiet(self, quiet: int) -> int:
        """Returns `quiet` + 1; raises the error of a silent board if that is too many."""
        if quiet + 1 >= self._timing.tries:
            self._must_reconnect = True
            raise self._no_answer_error(Request.TRANSFER, self._line.now())
        self.repeats += 1
        return quiet + 1
