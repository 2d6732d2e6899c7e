"""The emulated board as a thing: its flash chip (a file), its power switch (a QEMU process), its serial port (TCP).

Standard library only: PlatformIO loads this inside its own Python, and runs it as the uploader:

    board_process.py --state DIR --port socket://127.0.0.1:PORT --spec JSON write_flash OFFSET FILE [OFFSET FILE ...]
    board_process.py --state DIR --spec JSON read_flash OFFSET SIZE FILE
    board_process.py stop --state DIR
    board_process.py port --state DIR
    board_process.py watch --state DIR

The last one runs beside the board and switches it off when its folder is removed.

A state folder holds, per PlatformIO environment: `flash.bin` (the chip; erased bytes are 0xFF; kept between uploads),
`board.json` (process, port, age of the running chip), `uart.log` (everything the board has said since it was started),
`emulator.log`, `chip.img` (the chip of the running board, whose firmware may write it).
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

SECTOR_BYTES = 4096
MARK_BYTES = 16
BOOT_AREA_BYTES = 0x8000
# Below the range from which systems hand out ports by themselves.
FIRST_PORT = 20000
PORT_COUNT = 12000
START_SECONDS = 15.0
STOP_SECONDS = 5.0
WATCH_SECONDS = 1.0

WINDOWS = os.name == "nt"
#: Windows' answer to `ps`.
PROCESSES_OF_WINDOWS = (
    *("powershell", "-NoProfile", "-NonInteractive", "-Command"),
    'Get-CimInstance Win32_Process | ForEach-Object { "$($_.ProcessId) $($_.CommandLine)" }',
)

PACKAGES = {"qemu-system-riscv32": "qemu-system-misc", "qemu-system-arm": "qemu-system-arm"}


class BoardError(Exception):
    """The upload cannot be done; the message says what to change."""


class PortTaken(BoardError):
    """Another program listens on the port."""


@dataclass(frozen=True)
class Spec:
    """What the board's manifest says about its emulator. `flash_window` 0: the chip's own size."""

    command: str
    args: tuple[str, ...]
    flash_bytes: int
    flash_window: int


def default_port(project_dir: str, environment: str) -> int:
    """A port number that stays the same for this project and environment."""
    identity = f"{os.path.realpath(project_dir)}\0{environment}"
    return FIRST_PORT + zlib.crc32(identity.encode("utf-8", "surrogateescape")) % PORT_COUNT


def state_dir(workspace_dir: str, environment: str) -> Path:
    return Path(workspace_dir) / "emulated" / environment


def port_url(state: Path, project_dir: str, environment: str) -> str:
    """Where the board's UART is, or will be after the next upload."""
    number = read_record(state).get("port") or default_port(project_dir, environment)
    return f"socket://127.0.0.1:{number}"


def parse_port(url: str) -> int:
    match = re.fullmatch(r"socket://(127\.0\.0\.1|localhost):(\d+)/?", url.strip())
    if not match or not 0 < int(match[2]) < 65536:
        raise BoardError(
            f"upload_port = {url}: an emulated board's port is socket://127.0.0.1:PORT with PORT from 1 to 65535"
        )
    return int(match[2])


# ---- flash chip ------------------------------------------------------------------------------------------------


def write_flash(state: Path, flash_bytes: int, images: Sequence[tuple[int, Path]]) -> list[str]:
    """Erases the sectors that the images cover and writes them, or raises before anything is changed."""
    contents = [(offset, path, _read_image(path)) for offset, path in images]
    _check_ranges(contents, flash_bytes)
    _keep_chip(state)
    with contextlib.suppress(PermissionError):  # of a system that keeps open files
        (state / "chip.img").unlink(missing_ok=True)  # what a board that runs on writes is lost
    chip = _chip_file(state, flash_bytes)
    report = []
    with chip.open("r+b", buffering=0) as file:
        for offset, path, data in contents:
            for at, sector in write_steps(offset, data):
                file.seek(at)
                file.write(sector)
            report.append(f"Wrote {len(data)} bytes at 0x{offset:08x} ({path.name})")
    return report


def write_steps(offset: int, data: bytes) -> Iterator[tuple[int, bytes]]:
    """The sectors of an image as they are written: of the first one a few bytes first, and all of it last.

    So an upload that is cut off leaves no image that starts as a whole one does, and firmware sees a damaged plan.
    """
    yield offset, data[:MARK_BYTES].ljust(SECTOR_BYTES, b"\xff")
    for at in [*range(SECTOR_BYTES, len(data), SECTOR_BYTES), 0]:
        yield offset + at, data[at : at + SECTOR_BYTES].ljust(SECTOR_BYTES, b"\xff")


def _read_image(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise BoardError(f"cannot read {path}: {error.strerror}") from None


def read_flash(state: Path, flash_bytes: int, offset: int, size: int) -> bytes:
    """What the chip holds; erased when it was never written."""
    if offset + size > flash_bytes:
        raise BoardError(f"{size} bytes at 0x{offset:x} end beyond the flash chip of {flash_bytes} bytes")
    chip = state / ("chip.img" if _has_written(state) else "flash.bin")
    data = chip.read_bytes()[offset : offset + size] if chip.is_file() else b""
    return data.ljust(size, b"\xff")


def _check_ranges(contents: Sequence[tuple[int, Path, bytes]], flash_bytes: int) -> None:
    end, previous = 0, None
    for offset, path, data in sorted(contents, key=lambda item: item[0]):
        if offset % SECTOR_BYTES:
            raise BoardError(f"{path.name} at 0x{offset:x}: an offset in flash is a multiple of 0x1000")
        if offset + len(data) > flash_bytes:
            raise BoardError(
                f"{path.name}: {len(data)} bytes at 0x{offset:x} end beyond the flash chip of {flash_bytes} bytes"
            )
        if offset < end:
            raise BoardError(f"{path.name} at 0x{offset:x} overlaps {previous}, which ends at 0x{end:x}")
        end, previous = offset + len(data) + -len(data) % SECTOR_BYTES, path.name


def _chip_file(state: Path, flash_bytes: int) -> Path:
    state.mkdir(parents=True, exist_ok=True)
    chip = state / "flash.bin"
    if not chip.is_file() or chip.stat().st_size != flash_bytes:
        chip.write_bytes(b"\xff" * flash_bytes)
    return chip


def _has_written(state: Path) -> bool:
    """Whether firmware changed the chip since the board was started."""
    chip = state / "chip.img"
    return chip.is_file() and chip.stat().st_mtime_ns != read_record(state).get("chip", chip.stat().st_mtime_ns)


def _keep_chip(state: Path) -> None:
    """What the firmware wrote stays when the board is off. Each process writes to a chip file of its own."""
    chip, kept = state / "chip.img", state / "flash.bin"
    if not _has_written(state) or not kept.is_file():
        return
    written = state / "flash.written"
    with chip.open("rb") as file:
        written.write_bytes(file.read(kept.stat().st_size))
    os.replace(written, kept)
    chip.unlink()


# ---- process ---------------------------------------------------------------------------------------------------


def read_record(state: Path) -> dict[str, int]:
    try:
        record = json.loads((state / "board.json").read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return record if isinstance(record, dict) else {}


def running_process(state: Path) -> int | None:
    """The process id of this state folder's board, or None."""
    return next(iter(_boards(state)), None)


def _boards(state: Path) -> dict[int, int]:
    """Ports by process ids of the emulators that were started for this folder.

    They are known by their command lines: the record in the folder may be gone with it, or tell of a recycled number.
    """
    log = f"logfile={_uart_log(state)}"
    found = {}
    for pid, command in _command_lines():
        port = re.search(r"id=uart,host=127\.0\.0\.1,port=(\d+),", command)
        if port and log in command:
            found[pid] = int(port[1])
    return found


def all_running() -> list[tuple[Path, int]]:
    """State folder and port of every emulated board that runs on this machine."""
    found = []
    for _, command in _command_lines():
        match = re.search(r"id=uart,host=127\.0\.0\.1,port=(\d+),.*?logfile=(.+?)[/\\]uart\.log(?:[ \"]|$)", command)
        if match:
            found.append((Path(match[2].replace(",,", ",")), int(match[1])))
    return found


def _command_lines(proc: Path = Path("/proc"), windows: bool = WINDOWS) -> Iterator[tuple[int, str]]:
    """Number and command line of every process."""
    if windows or not (proc / "self").exists():
        command = PROCESSES_OF_WINDOWS if windows else ("ps", "-axwwo", "pid=,command=")
        listing = subprocess.run(command, capture_output=True, encoding="utf-8", errors="replace", check=False)
        for line in listing.stdout.splitlines():
            pid, _, words = line.strip().partition(" ")
            if pid.isdigit():
                yield int(pid), words
        return
    for process in proc.glob("[0-9]*"):
        with contextlib.suppress(OSError):
            command_line = (process / "cmdline").read_bytes().replace(b"\0", b" ")
            yield int(process.name), command_line.decode("utf-8", "surrogateescape")


def _uart_log(state: Path) -> str:
    # QEMU separates its sub-options by commas; a doubled comma is a comma.
    return str(state.resolve() / "uart.log").replace(",", ",,")


def stop(state: Path) -> bool:
    """Switches the board off; False if it was not running. Flash and port number stay."""
    boards = _boards(state)
    for pid, port in boards.items():
        _end(pid)
        # Its threads end one by one; it is off when it has let go of its port.
        deadline = time.monotonic() + STOP_SECONDS
        while not _is_free(port) and time.monotonic() < deadline:
            time.sleep(0.01)
        if hasattr(os, "WNOHANG"):
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)
    if state.is_dir():
        _keep_chip(state)
    return bool(boards)


def _end(pid: int) -> None:
    """At once: an emulator that waits for its first connection does not react to SIGTERM, and it owns no data.

    On Windows every signal ends a process so, and there is no SIGKILL.
    """
    with contextlib.suppress(OSError):
        os.kill(pid, getattr(signal, "SIGKILL", signal.SIGTERM))


def detached(windows: bool = WINDOWS) -> dict[str, Any]:
    """Options of Popen for a process that outlives this one, and that Ctrl-C here does not reach."""
    # DETACHED_PROCESS and CREATE_NEW_PROCESS_GROUP, which only Windows' subprocess names.
    return {"creationflags": 0x00000008 | 0x00000200} if windows else {"start_new_session": True}


def watch(state: Path) -> None:
    """Returns when the board is off; switches it off when its folder is gone: nobody would find it again."""
    while _boards(state):
        if not (state / "board.json").is_file():
            stop(state)
        time.sleep(WATCH_SECONDS)


def start(state: Path, spec: Spec, port: int, *, fixed_port: bool) -> int:
    """Switches the board on with what its flash holds; returns the port of its UART.

    The board starts running at the first connection to the port, so that nothing of what it says is lost.
    """
    command = shutil.which(spec.command)
    if command is None:
        package = PACKAGES.get(spec.command, spec.command)
        raise BoardError(f"{spec.command} is not installed. On Debian or Ubuntu: sudo apt install {package}")
    state = state.resolve()
    _keep_chip(state)
    while True:
        port = _free_port(port, fixed_port)
        try:
            _launch(command, state, spec, port)
            return port
        except PortTaken:
            # Another program was quicker between the look at the port and the emulator's start.
            if fixed_port:
                raise
            port += 1


def _launch(command: str, state: Path, spec: Spec, port: int) -> None:
    arguments = [command, *_spec_arguments(state, spec), *_common_arguments(state, port)]
    log = state / "emulator.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            arguments, stdin=subprocess.DEVNULL, stdout=output, stderr=output, cwd=state.anchor, **detached()
        )
    record = {"pid": process.pid, "port": port, "chip": (state / "chip.img").stat().st_mtime_ns}
    (state / "board.json").write_text(json.dumps(record), "utf-8")
    _await_listening(process, log, port)
    watcher = [sys.executable, str(Path(__file__).resolve()), "watch", "--state", str(state)]
    nothing = subprocess.DEVNULL
    subprocess.Popen(watcher, stdin=nothing, stdout=nothing, stderr=nothing, cwd=state.anchor, **detached())


def _free_port(port: int, fixed: bool) -> int:
    for candidate in range(port, port + (1 if fixed else 64)):
        if _is_free(candidate):
            return candidate
    raise BoardError(f"port {port} of 127.0.0.1 is in use: set another upload_port, or remove that option")


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        # SO_REUSEADDR passes over connections that are ending; on Windows it would share a port that is in use.
        exclusive = getattr(socket, "SO_EXCLUSIVEADDRUSE", None)
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR if exclusive is None else exclusive, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def _spec_arguments(state: Path, spec: Spec) -> list[str]:
    chip = (state / "flash.bin").read_bytes()
    files = {"boot": state / "boot.img", "flash": state / "chip.img"}
    files["boot"].write_bytes(chip[:BOOT_AREA_BYTES])
    with files["flash"].open("wb") as file:
        file.write(chip)
        file.truncate(max(spec.flash_window, len(chip)))
    # QEMU separates its sub-options by commas; a doubled comma is a comma.
    names = {name: str(path).replace(",", ",,") for name, path in files.items()}
    return [argument.format(**names) for argument in spec.args]


def _common_arguments(state: Path, port: int) -> list[str]:
    log = _uart_log(state)
    return [
        *("-icount", "shift=0", "-display", "none", "-monitor", "none", "-no-reboot"),
        *("-chardev", f"socket,id=uart,host=127.0.0.1,port={port},server=on,wait=on,nodelay=on,logfile={log}"),
        *("-serial", "chardev:uart"),
    ]


def _await_listening(process: subprocess.Popen[bytes], log: Path, port: int) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        text = log.read_text("utf-8", "replace")
        if "waiting for connection" in text:
            return
        if process.poll() is not None:
            kind = PortTaken if "Address already in use" in text or not _is_free(port) else BoardError
            raise kind(f"the emulator stopped at once: {text.strip() or 'no message'}")
        time.sleep(0.01)
    raise BoardError(f"the emulator did not start within {START_SECONDS:.0f} s; see {log}")


# ---- command line ----------------------------------------------------------------------------------------------


def upload(state: Path, spec: Spec, url: str, fixed_port: bool, images: Sequence[tuple[int, Path]]) -> None:
    port = parse_port(url)
    _check_ranges([(offset, path, _read_image(path)) for offset, path in images], spec.flash_bytes)
    stop(state)  # before, for firmware may write its chip
    for line in write_flash(state, spec.flash_bytes, images):
        print(line)
    port = start(state, spec, port, fixed_port=fixed_port)
    if not os.environ.get("TIGRIS_UPLOAD_GOES_ON"):
        print(f"The board is on; its UART is socket://127.0.0.1:{port}", flush=True)


def _pairs(items: Sequence[str]) -> list[tuple[int, Path]]:
    if len(items) % 2 or not items:
        raise BoardError("images are given as pairs: OFFSET FILE")
    return [(int(offset, 0), Path(file)) for offset, file in zip(items[::2], items[1::2], strict=True)]


def _arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--state", type=Path, help="folder of the board")
    parser.add_argument("--spec", type=Path, help="JSON file with the fields of Spec")
    parser.add_argument("--port")
    parser.add_argument("--fixed-port", action="store_true", help="fail when the port is in use")
    commands = parser.add_subparsers(dest="action", required=True)
    commands.add_parser("write_flash").add_argument("images", nargs="+", metavar="OFFSET FILE")
    reader = commands.add_parser("read_flash")
    for name in ("offset", "size"):
        reader.add_argument(name, type=lambda text: int(text, 0))
    reader.add_argument("file", type=Path)
    for name in ("stop", "port", "watch"):
        commands.add_parser(name).add_argument("--state", type=Path, default=argparse.SUPPRESS)
    return parser


def write_spec(path: Path, spec: Spec) -> None:
    path.write_text(json.dumps(asdict(spec)), "utf-8")


def read_spec(path: Path) -> Spec:
    fields = json.loads(path.read_text("utf-8"))
    return Spec(fields["command"], tuple(fields["args"]), fields["flash_bytes"], fields["flash_window"])


def _recorded_port(state: Path) -> int:
    if running_process(state) is None:
        raise BoardError(f"no board of {state} is running; start it with pio run -t upload")
    return read_record(state)["port"]


def main() -> int:
    parser = _arguments()
    options = parser.parse_args()
    if options.state is None:
        parser.error("--state is missing")
    try:
        if options.action == "stop":
            print("The board is off" if stop(options.state) else "The board was not running")
        elif options.action == "watch":
            watch(options.state)
        elif options.action == "port":
            print(f"socket://127.0.0.1:{_recorded_port(options.state)}")
        elif options.action == "read_flash":
            flash_bytes = read_spec(options.spec).flash_bytes
            options.file.write_bytes(read_flash(options.state, flash_bytes, options.offset, options.size))
        else:
            spec = read_spec(options.spec)
            upload(options.state, spec, options.port, options.fixed_port, _pairs(options.images))
    except BoardError as error:
        print(f"Error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
