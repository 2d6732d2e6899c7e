"""Stands in for Espressif's QEMU, which is in no package: a program that takes its arguments and does as it does.

    python -m tests.harness.espressif_qemu NAME -machine help
    python -m tests.harness.espressif_qemu NAME -M esp32c3 … -drive file=FLASH,if=mtd,format=raw -serial tcp:…

What real ones refuse it refuses, too: a flash of another size than a chip's, an ESP32-C3 without -icount, an unknown
argument. It boots what lies in flash as the ROM would look for it, where "firmware" is a program of this machine
(tests/platformio/espressif_like). With the strapping pins of the download mode esptool finds a ROM that writes flash.
The variable QEMU_LOG names a file to which each call adds its arguments.
"""

import json
import os
import re
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import NoReturn

MACHINES = {"qemu-system-riscv32": ("esp32c3",), "qemu-system-xtensa": ("esp32", "esp32s3")}
#: First image that the ROM reads, level of the straps that mean an upload, bytes of the efuses.
ROMS = {"esp32": (0x1000, 0x0F, 124), "esp32s3": (0, 0x07, 1024), "esp32c3": (0, 0x02, 1024)}
VALUES = ("-M", "-m", "-display", "-monitor", "-icount", "-drive", "-global", "-serial")
SIZES = {1: 2 << 20, 2: 4 << 20, 3: 8 << 20, 4: 16 << 20}
CHIP_BYTES = 16 << 20
TABLE, APPLICATION, IMAGE_MAGIC, TABLE_MAGIC = 0x8000, 0x10000, 0xE9, b"\xaa\x50"
SERIAL = re.compile(r"tcp:127\.0\.0\.1:(\d+),server=on,wait=on,nodelay=on")


def fail(message: str) -> NoReturn:
    sys.exit(f"stand-in for QEMU: {message}")


def parse(words: list[str]) -> dict[str, list[str]]:
    """Values by option."""
    found: dict[str, list[str]] = {}
    while words:
        name, *words = words
        if name not in VALUES or not words:
            fail(f"{name}: invalid option")
        found.setdefault(name, []).append(words.pop(0))
    return found


def drive_file(options: dict[str, list[str]], kind: str) -> Path | None:
    for text in options.get("-drive", []):
        parts = text.replace(",,", "\0").split(",")
        fields = dict(part.replace("\0", ",").split("=", 1) for part in parts)
        if fields["if"] == kind and fields["format"] == "raw":
            return Path(fields["file"])
    return None


def main(name: str, words: list[str]) -> None:
    if words == ["-machine", "help"]:
        print("Supported machines are:\nnone                 empty machine")
        for machine in MACHINES[name]:
            print(f"{machine:<20} Espressif {machine} machine")
        return
    if log := os.environ.get("QEMU_LOG"):
        with open(log, "a", encoding="utf-8") as file:
            file.write(json.dumps([name, *words]) + "\n")
    options = parse(words)
    (machine,) = options.get("-M", ["none"])
    if machine not in MACHINES[name]:
        fail(f"unsupported machine type '{machine}'")
    if machine == "esp32c3" and options.get("-icount") != ["3"]:
        fail("an ESP32-C3 does not run freely: give -icount 3")
    flash, efuse = drive_file(options, "mtd"), drive_file(options, "none")
    if flash is None or flash.stat().st_size not in SIZES.values():
        fail("Error: only 2, 4, 8, 16 MB flash images are supported")
    start, straps, efuse_bytes = ROMS[machine]
    if efuse is not None and efuse.stat().st_size != efuse_bytes:
        fail(f"device requires {efuse_bytes} bytes, block backend provides {efuse.stat().st_size} bytes")
    serial = SERIAL.fullmatch(options.get("-serial", [""])[0])
    if serial is None:
        fail(f"-serial {options.get('-serial')}: not understood")
    if f"driver={machine}.gpio,property=strap_mode,value=0x{straps:02x}" in options.get("-global", []):
        download(machine, flash, int(serial[1]))
    else:
        boot(machine, flash, start, int(serial[1]))


def ready(port: int) -> None:
    said = f"-serial tcp:127.0.0.1:{port}: info: QEMU waiting for connection on: disconnected:tcp:127.0.0.1:{port}"
    print(said, file=sys.stderr, flush=True)


# ---- download mode ------------------------------------------------------------------------------------------------


def download(machine: str, flash: Path, port: int) -> None:
    """The ROM waits for esptool; when it is switched off what was written is in the file."""
    from esp32_mock_bootloader import protocol, server

    size = flash.stat().st_size
    protocol.FLASH_MOCK_SIZE = CHIP_BYTES
    server._FLASH_END_IDLE_SEC, server._CLIENT_RECV_TIMEOUT = float("inf"), 60.0
    server.get_flash_image().data[:size] = flash.read_bytes()

    def off(number: int, frame: object) -> None:
        flash.write_bytes(server.get_flash_image().data[:size])
        os._exit(0)

    signal.signal(signal.SIGTERM, off)
    port_file = Path(tempfile.mkdtemp(), "port")

    def announce() -> None:
        while not port_file.is_file():
            time.sleep(0.01)
        ready(port)

    threading.Thread(target=announce, daemon=True).start()
    server.run_server(port, None, machine, port_file=str(port_file))


# ---- running ------------------------------------------------------------------------------------------------------


def firmware(flash: bytes, start: int) -> bytes | None:
    """What the application's only segment holds; None where the ROM or the bootloader would not get there."""
    bootloader = flash[start : start + 4]
    is_bootable = bootloader[0] == IMAGE_MAGIC and bootloader[2] == 2 and SIZES.get(bootloader[3] >> 4) == len(flash)
    if not is_bootable or flash[TABLE : TABLE + 2] != TABLE_MAGIC or flash[APPLICATION] != IMAGE_MAGIC:
        return None
    (length,) = struct.unpack_from("<I", flash, APPLICATION + 28)
    return flash[APPLICATION + 32 : APPLICATION + 32 + length]


def boot(machine: str, flash: Path, start: int, port: int) -> None:
    listener = socket.create_server(("127.0.0.1", port))
    ready(port)
    client, _ = listener.accept()
    client.sendall(f"ESP-ROM:{machine}\r\nrst:0x1 (POWERON)\r\n".encode())
    program = firmware(flash.read_bytes(), start)
    if program is None:
        while True:
            client.sendall(b"invalid header: 0xffffffff\r\n")
            time.sleep(0.1)
    with tempfile.TemporaryDirectory() as folder:
        process, uart = switch_on(program, flash, Path(folder))
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
        try:
            while True:
                back = threading.Thread(target=pump, args=(uart, client), daemon=True)
                back.start()
                pump(client, uart)
                client, _ = listener.accept()
        finally:
            process.kill()
            process.wait()


def switch_on(program: bytes, flash: Path, folder: Path) -> tuple[subprocess.Popen[bytes], socket.socket]:
    """The program with its own flash chip, and the other end of its UART."""
    chip, file = folder / "chip.bin", folder / "firmware"
    chip.write_bytes(flash.read_bytes().ljust(CHIP_BYTES, b"\xff"))
    file.write_bytes(program)
    file.chmod(0o755)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    process = subprocess.Popen([file], env={**os.environ, "CHIP_FLASH": str(chip), "CHIP_PORT": str(port)})
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        try:
            return process, socket.create_connection(("127.0.0.1", port))
        except OSError:
            time.sleep(0.01)
    fail("the firmware does not start")


def pump(source: socket.socket, target: socket.socket) -> None:
    try:
        while data := source.recv(4096):
            target.sendall(data)
    except OSError:
        pass


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
