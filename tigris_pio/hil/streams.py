"""Inputs and outputs as streams: frames that are not waited for one by one."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator

from tigris_pio.hil import protocol
from tigris_pio.hil.conversation import Conversation
from tigris_pio.hil.errors import OutputsError
from tigris_pio.hil.frames import Frame, encode
from tigris_pio.hil.protocol import Answer, Direction, Request, StreamFrame, Window
from tigris_pio.hil.window import Receiver, Sender

#: Bytes on the line around a frame's data.
_AROUND = 18
#: Bytes that are written at once, and no more than a frame beyond.
_PIECE_BYTES = 1024
#: Times in a row that no answer came, after which an input is sent by other means.
_STANDSTILL = 2


class Streams(Conversation):
    """A conversation in which large inputs and outputs travel without waiting for each frame."""

    _streams_arrive = True  # frames of streams do, at this board

    def _send_input(self, model: int, index: int, data: bytes) -> None:
        """Fills an input. What no stream brings to the board goes there by WRITE, frame by frame."""
        most = self.info.payload_bytes - protocol.Range.size()
        done = 0
        if self._streams_arrive and len(data) > 2 * most:  # a stream, too, waits for two answers
            for first, count in self._streams(len(data)):
                self._open_stream(model, Direction.INPUT, index, first, count)
                done = first + self._send(data[first : first + count])
                if done < first + count:
                    self._streams_arrive = done > 0
                    break
        for first in range(done, len(data), most):
            part = data[first : first + most]
            self._ask(Request.WRITE, protocol.Range(model, 0, index, first, len(part)).pack() + part)

    def _receive_tensor(self, model: int, direction: Direction, index: int, size: int) -> bytes:
        """The first `size` bytes of an output, or of rows. OutputsError when they are not those that the board has."""
        data = b""
        for first, count in self._streams(size):
            crc32 = self._open_stream(model, direction, index, first, count)
            part = self._receive(count)
            if zlib.crc32(part) != crc32:
                raise OutputsError(
                    f"{self.url}: what was read of {direction.name.lower()} {index} is not what the board has of it: "
                    "it was dropped. Does something between here and the board change data, or the firmware run the "
                    "model meanwhile?"
                )
            data += part
        return data

    def _streams(self, size: int) -> Iterator[tuple[int, int]]:
        """First byte and bytes of the streams that so many bytes take."""
        most = self.info.stream_bytes * protocol.MOST_STREAM_FRAMES
        for first in range(0, size, most):
            yield first, min(most, size - first)

    def _open_stream(self, model: int, direction: Direction, index: int, first: int, count: int) -> int:
        request = protocol.Stream(model, direction, index, first, count, self.info.stream_bytes)
        return self._record(protocol.Checksum, Request.STREAM, request).crc32

    def _send(self, data: bytes) -> int:
        """Sends a stream's frames; how many bytes have come when it is done or stands still.

        A stream stands still at a board that is slow to read and whose line has a short buffer: a request fits in, a
        frame of a stream does not.
        """
        frame_bytes = self.info.stream_bytes
        sender = Sender(-(-len(data) // frame_bytes))
        quiet, began = 0, self._line.now()
        while not sender.done:
            due = ((number, number * frame_bytes) for number in sender.due())
            self._send_frames(
                StreamFrame.DATA, (number.to_bytes(2, "little") + data[at : at + frame_bytes] for number, at in due)
            )
            frame = self._stream_frame(quiet, sender.under_way)
            if frame is None:
                if quiet + 1 == _STANDSTILL:
                    return sender.next * frame_bytes
                quiet = self._count_quiet(quiet)
                sender.doubt()
            elif frame.type == StreamFrame.ACK and len(frame.payload) == Window.size():
                quiet = 0 if sender.acknowledge(Window.unpack(frame.payload)) else quiet
                if sender.next:
                    self._measure(min(sender.next * frame_bytes, len(data)), 0, began)
        return len(data)

    def _receive(self, size: int) -> bytes:
        receiver = Receiver(size, self.info.stream_bytes)
        quiet = 0
        while not receiver.done:
            frame = self._stream_frame(quiet, protocol.WINDOW)
            credit = None
            if frame is None:
                quiet, credit = self._count_quiet(quiet), receiver.doubt()
            elif frame.type == StreamFrame.DATA and receiver.take(frame.payload):
                quiet, credit = 0, receiver.credit()
            if credit is not None:
                self._send_frames(StreamFrame.CREDIT, [credit.pack()])
        return receiver.data

    def _send_frames(self, kind: StreamFrame, payloads: Iterable[bytes]) -> None:
        """Sends frames of the stream, several in one piece, but few: a write must not take long on a slow line."""
        piece = b""
        for payload in payloads:
            piece += encode(Frame(kind, self._sequence, self._session, payload))
            if len(piece) >= _PIECE_BYTES:
                self._line.write(piece)
                piece = b""
        if piece:
            self._line.write(piece)

    def _stream_frame(self, quiet: int, under_way: int) -> Frame | None:
        """The stream's next frame, or None when the line was quiet for longer than so many frames take."""
        seconds = min(self._timing.answer * 2**quiet, self._timing.longest_answer)
        seconds += self._seconds_for(under_way * (self.info.stream_bytes + _AROUND))
        frame = self._next_frame(self._line.now() + seconds)
        if frame is not None and frame.type == Answer.ERROR:
            self._checked(Request.STREAM, frame, None)
        return frame

    def _count_quiet(self, quiet: int) -> int:
        """One more time that nothing came; the exception that says so when that were too many."""
        if quiet + 1 >= self._timing.tries:
            self._lost = True
            raise self._no_answer(Request.STREAM, self._line.now())
        self.repeats += 1
        return quiet + 1
