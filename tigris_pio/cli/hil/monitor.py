"""`tigris hil monitor`: prints the text and the decoded frames of a board's serial line."""

from __future__ import annotations

import secrets
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from datetime import datetime

import click
from rich.markup import escape

from tigris_pio.cli import console
from tigris_pio.cli.hil.options import TargetOptions, line_options
from tigris_pio.errors import TigrisError
from tigris_pio.hil import protocol
from tigris_pio.hil.frames import Frame, encode
from tigris_pio.hil.line import Line
from tigris_pio.hil.monitor.decoder import Decoder, Event, describe_noise
from tigris_pio.hil.monitor.tap import Tap
from tigris_pio.hil.monitor.wording import FrameLog, Message
from tigris_pio.hil.protocol import Request

_TURN_SECONDS = 0.1
#: Colours of frames.
_ARROWS = {">": "cyan", "<": "blue", "-": "bright_black"}
#: First characters of errors and warnings in ESP-IDF's log, `E (123) tag: …`.
_LEVELS = {"E (": "red", "W (": "yellow"}


@click.command("monitor", short_help="Print a board's text and its decoded frames.")
@line_options
@click.option("--raw", is_flag=True, help="Print the received bytes unchanged.")
@click.option(
    "--poll",
    type=click.FloatRange(min=0, min_open=True),
    metavar="S",
    help="Send HELLO every S seconds, to see whether the board still answers.",
)
@click.option(
    "--listen",
    type=click.IntRange(min=0, max=65535),
    metavar="PORT",
    help="Let another program use the board at socket://127.0.0.1:PORT; print both directions. 0: any free port.",
)
@click.option("--seconds", type=click.FloatRange(min=0), metavar="S", help="End after S seconds. Default: at Ctrl-C.")
def monitor_command(
    where: TargetOptions, raw: bool, poll: float | None, listen: int | None, seconds: float | None
) -> None:
    """Print a board's text lines and the decoded frames of the harness, each with its time. Nothing is sent without
    --poll or --listen.

    \b
    Examples:
      tigris hil monitor --port /dev/ttyUSB0
      tigris hil monitor --project examples/digits --seconds 10
      tigris hil monitor --port /dev/ttyUSB0 --listen 5555       and in another terminal:
      tigris hil check kws.tgrs --port socket://127.0.0.1:5555

    < marks frames from the board, > frames to it. For each request only the first BUSY is printed; the response's line
    has their number. A transfer is one line when it ends.

    Exit status: 130 after Ctrl-C, 0 after --seconds, 3 if the line breaks or cannot be opened.
    """
    target = where.open(complete=True)
    show = _Screen(raw)
    with ExitStack() as stack:
        line = stack.enter_context(Line(target.url, target.baud))
        tap = None if listen is None else stack.enter_context(Tap(line, listen, show.from_host))
        if not raw:
            console.err.print(escape(_greeting(target.url, tap)))
        end = None if seconds is None else time.monotonic() + seconds
        poller = None if poll is None else _Poller(line, poll, show)
        while end is None or time.monotonic() < end:
            if poller is not None:
                poller.turn()
            data = line.read(_TURN_SECONDS)
            if tap is not None:
                tap.to_client(data)
            show.from_board(data)


def _greeting(url: str, tap: Tap | None) -> str:
    text = f"listening to {url}; Ctrl-C ends"
    return text if tap is None else f"{text}; the board is at {tap.url}, too"


class _Poller:
    """Sends HELLO at intervals. HELLO does not end a connection that another program has to the board."""

    def __init__(self, line: Line, interval: float, show: _Screen) -> None:
        self._line, self._interval, self._show = line, interval, show
        self._next = 0.0

    def turn(self) -> None:
        if time.monotonic() < self._next:
            return
        self._next = time.monotonic() + self._interval
        payload = protocol.HelloRequest(protocol.VERSION).pack()
        numbers = secrets.randbelow(protocol.SEQUENCES), secrets.randbelow(0x10000)
        data = encode(Frame(Request.HELLO, *numbers, payload))
        self._line.write(data)
        self._show.from_host(data)


class _Screen:
    """Prints both directions; they may come from two threads."""

    def __init__(self, raw: bool) -> None:
        self._raw = raw
        self._lock = threading.Lock()
        self._board, self._host = Decoder(), Decoder()
        self._frames = FrameLog(_status_text())

    def from_board(self, data: bytes) -> None:
        """Prints bytes from the board; empty `data` only lets time pass, so that unfinished lines are printed."""
        if self._raw:
            sys.stdout.buffer.write(data)
            sys.stdout.buffer.flush()
            return
        self._show(self._board, data)
        if not data:
            self._show(self._host, data)
            with self._lock:
                self._say(self._frames.flush())

    def from_host(self, data: bytes) -> None:
        """Prints bytes that were sent to the board."""
        if not self._raw:
            self._show(self._host, data)

    def _show(self, decoder: Decoder, data: bytes) -> None:
        with self._lock:
            now = time.monotonic()
            for event in decoder.feed(data, now) if data else decoder.expire(now):
                self._print(event, to_board=decoder is self._host)

    def _print(self, event: Event, to_board: bool) -> None:
        if event.frame is not None:
            self._say(self._frames.add(event.frame))
            return
        text = event.text or describe_noise(event.noise)
        colour = "magenta" if event.noise else next((_LEVELS[at] for at in _LEVELS if text.startswith(at)), "")
        self._put(f"> {text}" if to_board else text, colour)

    def _say(self, messages: Sequence[Message]) -> None:
        for message in messages:
            colour = "red" if message.is_failure else _ARROWS[message.arrow]
            self._put(f"{message.arrow} {message.words}", colour)

    def _put(self, text: str, colour: str) -> None:
        stamp = datetime.now().strftime("%H:%M:%S.%f")[:-3]
        shown = f"[{colour}]{escape(text)}[/]" if colour else escape(text)
        console.out.print(f"[bright_black]{stamp}[/] {shown}")


def _status_text() -> Callable[[int], str]:
    """The runtime's texts of status numbers, if the host library is built."""
    from tigris_pio.host import library  # noqa: PLC0415 - monitoring must work without the host library

    def text(status: int) -> str:
        try:
            return library.status_text(status)
        except (TigrisError, OSError):
            return "see tigris_status in tigris.h"

    return text
