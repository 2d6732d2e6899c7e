"""An emulated board: its flash chip (a file), its power switch (a QEMU process), its serial port (TCP).

Standard library only: PlatformIO loads this file in its own Python, and runs it as the uploader:

    board_process.py --folder DIR --port socket://127.0.0.1:PORT --spec JSON write_flash OFFSET FILE [OFFSET FILE ...]
    board_process.py --folder DIR --spec JSON read_flash OFFSET SIZE FILE

    board_process.py {stop,port,watch} --folder DIR

`watch` runs beside the board and switches it off if its folder is removed.

Each PlatformIO environment has a folder DIR with these files:

    flash.bin     the chip between runs; erased bytes are 0xFF
    chip.img      the chip of the running board, which its firmware may write
    board.json    process, port, time of chip.img
    uart.log      the board's output since its start
    emulator.log  the emulator's messages
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
# Below the range of ephemeral ports.
FIRST_PORT = 20000
PORT_COUNT = 12000
START_SECONDS = 15.0
STOP_SECONDS = 5.0
WATCH_SECONDS = 1.0

WINDOWS = os.name == "nt"
#: Windows' equivalent of `ps`.
PROCESSES_OF_WINDOWS = (
    *("powershell", "-NoProfile", "-NonInteractive", "-Command"),
    'Get-CimInstance Win32_Process | ForEach-Object { "$($_.ProcessId) $($_.CommandLine)" }',
)

PACKAGES = {"qemu-system-riscv32": "qemu-system-misc", "qemu-system-arm": "qemu-system-arm"}


class BoardError(Exception):
    """The upload is not possible; the message says what to change."""


class PortInUseError(BoardError):
    """Another program listens on the port."""


@dataclass(frozen=True)
class Spec:
    """The emulator of the board's manifest. `flash_window`: bytes of its flash image; 0: the chip's size."""

    command: str
    args: tuple[str, ...]
    flash_bytes: int
    flash_window: int


def default_port(project_dir: str, environment: str) -> int:
    """A port number that is always the same for this project and environment."""
    identity = f"{os.path.realpath(project_dir)}\0{environment}"
    return FIRST_PORT + zlib.crc32(identity.encode("utf-8", "surrogateescape")) % PORT_COUNT


def board_folder(workspace_dir: str, environment: str) -> Path:
    return Path(workspace_dir) / "emulated" / environment


def port_url(folder: Path, project_dir: str, environment: str) -> str:
    """The URL of the board's UART now, or after the next upload."""
    number = read_record(folder).get("port") or default_port(project_dir, environment)
    return f"socket://127.0.0.1:{number}"


def parse_port(url: str) -> int:
    match = re.fullmatch(r"socket://(127\.0\.0\.1|localhost):(\d+)/?", url.strip())
    if not match or not 0 < int(match[2]) < 65536:
        raise BoardError(
            f"upload_port = {url}: an emulated board's port is socket://127.0.0.1:PORT with PORT from 1 to 65535"
        )
    return int(match[2])


# ---- flash chip ------------------------------------------------------------------------------------------------


def write_flash(folder: Path, flash_bytes: int, images: Sequence[tuple[int, Path]]) -> list[str]:
    """Erases the sectors of the images and writes them; raises before any change. Returns lines for the user."""
    contents = [(offset, path, _read_image(path)) for offset, path in images]
    _check_ranges(contents, flash_bytes)
    _save_chip(folder)
    with contextlib.suppress(PermissionError):  # Windows keeps open files
        (folder / "chip.img").unlink(missing_ok=True)  # later writes of a running board are lost
    chip = _chip_file(folder, flash_bytes)
    report = []
    with chip.open("r+b", buffering=0) as file:
        for offset, path, data in contents:
            for at, sector in write_steps(offset, data):
                file.seek(at)
                file.write(sector)
            report.append(f"Wrote {len(data)} bytes at 0x{offset:08x} ({path.name})")
    return report


def write_steps(offset: int, data: bytes) -> Iterator[tuple[int, bytes]]:
    """Yields an image's sectors in the order of writing: a mark in the first one, the others, then the first one.

    So an interrupted upload leaves no image with a valid start, and firmware sees a damaged plan.
    """
    yield offset, data[:MARK_BYTES].ljust(SECTOR_BYTES, b"\xff")
    for at in [*range(SECTOR_BYTES, len(data), SECTOR_BYTES), 0]:
        yield offset + at, data[at : at + SECTOR_BYTES].ljust(SECTOR_BYTES, b"\xff")


def _read_image(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise BoardError(f"cannot read {path}: {error.strerror}") from None


def read_flash(folder: Path, flash_bytes: int, offset: int, size: int) -> bytes:
    """Reads the chip; it is erased if it was never written."""
    if offset + size > flash_bytes:
        raise BoardError(f"{size} bytes at 0x{offset:x} end beyond the flash chip of {flash_bytes} bytes")
    chip = folder / ("chip.img" if _has_written(folder) else "flash.bin")
    data = chip.read_bytes()[offset : offset + size] if chip.is_file() else b""
    return data.ljust(size, b"\xff")


def _check_ranges(contents: Sequence[tuple[int, Path, bytes]], flash_bytes: int) -> None:
    end, previous = 0, None
    for offset, path, data in sorted(contents, key=lambda item: item[0]):
        if offset % SECTOR_BYTES:
            raise BoardError(f"{path.name} at 0x{offset:x}: an offset in flash must be a multiple of 0x1000")
        if offset + len(data) > flash_bytes:
            raise BoardError(
                f"{path.name}: {len(data)} bytes at 0x{offset:x} end beyond the flash chip of {flash_bytes} bytes"
            )
        if offset < end:
            raise BoardError(f"{path.name} at 0x{offset:x} overlaps {previous}, which ends at 0x{end:x}")
        end, previous = offset + len(data) + -len(data) % SECTOR_BYTES, path.name


def _chip_file(folder: Path, flash_bytes: int) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    chip = folder / "flash.bin"
    if not chip.is_file() or chip.stat().st_size != flash_bytes:
        chip.write_bytes(b"\xff" * flash_bytes)
    return chip


def _has_written(folder: Path) -> bool:
    """True if firmware has changed the chip since the board was started."""
    chip = folder / "chip.img"
    return chip.is_file() and chip.stat().st_mtime_ns != read_record(folder).get("chip", chip.stat().st_mtime_ns)


def _save_chip(folder: Path) -> None:
    """Copies chip.img to flash.bin, so that the firmware's writes outlast the run."""
    chip, kept = folder / "chip.img", folder / "flash.bin"
    if not _has_written(folder) or not kept.is_file():
        return
    written = folder / "flash.written"
    with chip.open("rb") as file:
        written.write_bytes(file.read(kept.stat().st_size))
    os.replace(written, kept)
    chip.unlink()


# ---- process ---------------------------------------------------------------------------------------------------


def read_record(folder: Path) -> dict[str, int]:
    try:
        record = json.loads((folder / "board.json").read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return record if isinstance(record, dict) else {}


def running_process(folder: Path) -> int | None:
    """The process id of this folder's board, or None."""
    return next(iter(_running_boards(folder)), None)


def _running_boards(folder: Path) -> dict[int, int]:
    """Ports by process ids of the emulators that were started for this folder."""
    return {pid: port for pid, own, port in _emulators() if own == folder.resolve()}


def all_running() -> list[tuple[Path, int]]:
    """Folder and port of every emulated board that runs on this machine."""
    return [(folder, port) for _, folder, port in _emulators()]


def _emulators() -> Iterator[tuple[int, Path, int]]:
    """Process id, folder and port of every emulator.

    Their command lines identify them: a folder's record may be removed, or have a recycled process id.
    """
    for pid, command in _command_lines():
        match = re.search(r"id=uart,host=127\.0\.0\.1,port=(\d+),.*?logfile=(.+?)[/\\]uart\.log(?:[ \"]|$)", command)
        if match:
            yield pid, Path(match[2].replace(",,", ",")), int(match[1])


def _command_lines(proc: Path = Path("/proc"), windows: bool = WINDOWS) -> Iterator[tuple[int, str]]:
    """Process id and command line of every process."""
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


def _uart_log(folder: Path) -> str:
    # Doubled commas: a single one separates QEMU's sub-options.
    return str(folder.resolve() / "uart.log").replace(",", ",,")


def stop(folder: Path) -> bool:
    """Switches the board off; False if it was not running. Flash and port number stay."""
    boards = _running_boards(folder)
    for pid, port in boards.items():
        _kill(pid)
        # Its threads end one by one; it is off when its port is free.
        deadline = time.monotonic() + STOP_SECONDS
        while not _is_free(port) and time.monotonic() < deadline:
            time.sleep(0.01)
        if hasattr(os, "WNOHANG"):
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)
    if folder.is_dir():
        _save_chip(folder)
    return bool(boards)


def _kill(pid: int) -> None:
    """Kills an emulator: while it waits for its first connection it ignores SIGTERM, and it has no data to save.

    Windows has no SIGKILL; there every signal kills.
    """
    with contextlib.suppress(OSError):
        os.kill(pid, getattr(signal, "SIGKILL", signal.SIGTERM))


def detached(windows: bool = WINDOWS) -> dict[str, Any]:
    """Options of Popen for a process that outlives this one and does not receive its Ctrl-C."""
    # DETACHED_PROCESS and CREATE_NEW_PROCESS_GROUP: only Windows' subprocess defines the names.
    return {"creationflags": 0x00000008 | 0x00000200} if windows else {"start_new_session": True}


def watch(folder: Path) -> None:
    """Returns when the board is off; switches it off if its folder is removed, because nobody would find it again."""
    while _running_boards(folder):
        if not (folder / "board.json").is_file():
            stop(folder)
        time.sleep(WATCH_SECONDS)


def start(folder: Path, spec: Spec, port: int, *, fixed_port: bool) -> int:
    """Switches the board on; returns the port of its UART.

    The board starts to run at the first connection to the port, so no output is lost.
    """
    command = shutil.which(spec.command)
    if command is None:
        package = PACKAGES.get(spec.command, spec.command)
        raise BoardError(f"{spec.command} is not installed. On Debian or Ubuntu: sudo apt install {package}")
    folder = folder.resolve()
    _save_chip(folder)
    while True:
        port = _free_port(port, fixed_port)
        try:
            _launch(command, folder, spec, port)
            return port
        except PortInUseError:
            # Another program took the port between _free_port and the emulator's start.
            if fixed_port:
                raise
            port += 1


def _launch(command: str, folder: Path, spec: Spec, port: int) -> None:
    arguments = [command, *_spec_arguments(folder, spec), *_common_arguments(folder, port)]
    log = folder / "emulator.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            arguments, stdin=subprocess.DEVNULL, stdout=output, stderr=output, cwd=folder.anchor, **detached()
        )
    record = {"pid": process.pid, "port": port, "chip": (folder / "chip.img").stat().st_mtime_ns}
    (folder / "board.json").write_text(json.dumps(record), "utf-8")
    _await_listening(process, log, port)
    watcher = [sys.executable, str(Path(__file__).resolve()), "watch", "--folder", str(folder)]
    nothing = subprocess.DEVNULL
    subprocess.Popen(watcher, stdin=nothing, stdout=nothing, stderr=nothing, cwd=folder.anchor, **detached())


def _free_port(port: int, fixed: bool) -> int:
    for candidate in range(port, port + (1 if fixed else 64)):
        if _is_free(candidate):
            return candidate
    raise BoardError(f"port {port} of 127.0.0.1 is in use: set another upload_port, or remove that option")


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        # SO_REUSEADDR ignores connections that are closing; on Windows it would share a port in use.
        exclusive = getattr(socket, "SO_EXCLUSIVEADDRUSE", None)
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR if exclusive is None else exclusive, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def _spec_arguments(folder: Path, spec: Spec) -> list[str]:
    chip = (folder / "flash.bin").read_bytes()
    files = {"boot": folder / "boot.img", "flash": folder / "chip.img"}
    files["boot"].write_bytes(chip[:BOOT_AREA_BYTES])
    with files["flash"].open("wb") as file:
        file.write(chip)
        file.truncate(max(spec.flash_window, len(chip)))
    # Doubled commas: a single one separates QEMU's sub-options.
    names = {name: str(path).replace(",", ",,") for name, path in files.items()}
    return [argument.format(**names) for argument in spec.args]


def _common_arguments(folder: Path, port: int) -> list[str]:
    log = _uart_log(folder)
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
            kind = PortInUseError if "Address already in use" in text or not _is_free(port) else BoardError
            raise kind(f"the emulator stopped at once: {text.strip() or 'no message'}")
        time.sleep(0.01)
    raise BoardError(f"the emulator did not start within {START_SECONDS:.0f} s; see {log}")


# ---- command line ----------------------------------------------------------------------------------------------


def upload(folder: Path, spec: Spec, url: str, fixed_port: bool, images: Sequence[tuple[int, Path]]) -> None:
    port = parse_port(url)
    _check_ranges([(offset, path, _read_image(path)) for offset, path in images], spec.flash_bytes)
    stop(folder)  # first, because running firmware may write its chip
    for line in write_flash(folder, spec.flash_bytes, images):
        print(line)
    port = start(folder, spec, port, fixed_port=fixed_port)
    if not os.environ.get("TIGRIS_UPLOAD_MORE_CALLS"):
        print(f"The board is on; its UART is socket://127.0.0.1:{port}", flush=True)


def _pairs(items: Sequence[str]) -> list[tuple[int, Path]]:
    if len(items) % 2 or not items:
        raise BoardError("give images as pairs: OFFSET FILE")
    return [(int(offset, 0), Path(file)) for offset, file in zip(items[::2], items[1::2], strict=True)]


def _arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, help="folder of the board")
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
        commands.add_parser(name).add_argument("--folder", type=Path, default=argparse.SUPPRESS)
    return parser


def write_spec(path: Path, spec: Spec) -> None:
    path.write_text(json.dumps(asdict(spec)), "utf-8")


def read_spec(path: Path) -> Spec:
    fields = json.loads(path.read_text("utf-8"))
    return Spec(fields["command"], tuple(fields["args"]), fields["flash_bytes"], fields["flash_window"])


def _recorded_port(folder: Path) -> int:
    if running_process(folder) is None:
        raise BoardError(f"no board of {folder} is running; start it with pio run -t upload")
    return read_record(folder)["port"]


def main() -> int:
    parser = _arguments()
    options = parser.parse_args()
    if options.folder is None:
        parser.error("--folder is missing")
    try:
        if options.action == "stop":
            print("The board is off" if stop(options.folder) else "The board was not running")
        elif options.action == "watch":
            watch(options.folder)
        elif options.action == "port":
            print(f"socket://127.0.0.1:{_recorded_port(options.folder)}")
        elif options.action == "read_flash":
            flash_bytes = read_spec(options.spec).flash_bytes
            options.file.write_bytes(read_flash(options.folder, flash_bytes, options.offset, options.size))
        else:
            spec = read_spec(options.spec)
            upload(options.folder, spec, options.port, options.fixed_port, _pairs(options.images))
    except BoardError as error:
        print(f"Error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
