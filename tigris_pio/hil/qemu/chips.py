"""The chips that Espressif's QEMU has, and how each is started.

Sources: qemu/esp32, qemu/esp32s3 and qemu/esp32c3 in github.com/espressif/esp-toolchain-docs, and ESP-IDF's
tools/idf_py_actions/qemu_ext.py; chip numbers are those of the image header that esptool's documentation describes
("Firmware Image Format").
"""

from __future__ import annotations

import dataclasses

#: Sizes of a flash chip that the machines take.
FLASH_SIZES = tuple(size << 20 for size in (2, 4, 8, 16))


@dataclasses.dataclass(frozen=True)
class Chip:
    """One machine."""

    name: str  #: of the machine, as esptool and ESP-IDF call the chip
    number: int  #: in the header of its images
    command: str
    package: str  #: of ESP-IDF's tools, which has the command
    psram: str  #: the most external RAM that the machine has, as -m takes it; empty: none
    download_straps: int  #: level of the strapping pins at which the ROM waits for an upload on UART 0
    #: 8 ns an instruction: time is a count of instructions. The ESP32-C3's machine is documented to run that way and no
    #: other; the others follow this machine's clock.
    counts_instructions: bool
    efuse_bytes: int = 0  #: 0: those that the machine has by itself
    efuse: tuple[tuple[int, int], ...] = ()  #: offset and value of bytes that are not 0


#: The efuses of an ESP32 say revision 3, those of an ESP32-S3 0.3: without them ESP-IDF's bootloader refuses firmware
#: that asks for more than revision 0.
CHIPS = {
    chip.name: chip
    for chip in (
        Chip("esp32", 0, "qemu-system-xtensa", "qemu-xtensa", "4M", 0x0F, False, 124, ((13, 0x80), (22, 0x10))),
        Chip("esp32s3", 9, "qemu-system-xtensa", "qemu-xtensa", "32M", 0x07, False, 1024, ((38, 0x0C),)),
        Chip("esp32c3", 5, "qemu-system-riscv32", "qemu-riscv32", "", 0x02, True),
    )
}
_BY_NUMBER = {chip.number: chip for chip in CHIPS.values()}


def chip_of_image(header: bytes) -> Chip | None:
    """The chip that a firmware image is for, by its first bytes; None where QEMU has none such."""
    if len(header) < 14 or header[0] != 0xE9:
        return None
    return _BY_NUMBER.get(int.from_bytes(header[12:14], "little"))


def arguments(
    chip: Chip, flash: str, port: int, efuse: str | None = None, octal_psram: bool = False, download: bool = False
) -> list[str]:
    """What QEMU is started with; `flash` and `efuse` are files, UART 0 is served on `port` of this machine.

    The machine starts at the first connection, so that nothing that it says is lost. `download`: its ROM waits for
    esptool. The timer groups' watchdogs, which follow a chip's clock, are off where time is this machine's.
    """
    words = ["-M", chip.name, *(["-m", chip.psram] if chip.psram else []), "-display", "none", "-monitor", "none"]
    words += ["-icount", "3"] if chip.counts_instructions else _without_watchdogs(chip)
    words += ["-drive", f"file={_quoted(flash)},if=mtd,format=raw"]
    if efuse is not None:
        words += ["-drive", f"file={_quoted(efuse)},if=none,format=raw,id=efuse"]
        words += ["-global", f"driver=nvram.{chip.name}.efuse,property=drive,value=efuse"]
    if octal_psram:
        words += ["-global", "driver=ssi_psram,property=is_octal,value=true"]
    if download:
        words += ["-global", f"driver={chip.name}.gpio,property=strap_mode,value=0x{chip.download_straps:02x}"]
    return [*words, "-serial", f"tcp:127.0.0.1:{port},server=on,wait=on,nodelay=on"]


def _without_watchdogs(chip: Chip) -> list[str]:
    # The ESP32-S3's timers had the ESP32-C3's name at first; an unknown name is no error.
    names = [chip.name, *(["esp32c3"] if chip.name == "esp32s3" else [])]
    return [
        word for name in names for word in ("-global", f"driver=timer.{name}.timg,property=wdt_disable,value=true")
    ]


def _quoted(path: str) -> str:
    """QEMU separates its sub-options by commas; a doubled comma is a comma."""
    return path.replace(",", ",,")


def efuse_image(chip: Chip) -> bytes:
    """The efuses of a new chip; empty where the machine has its own."""
    image = bytearray(chip.efuse_bytes)
    for offset, value in chip.efuse:
        image[offset] = value
    return bytes(image)


def flash_bytes(needed: int) -> int | None:
    """The smallest flash chip of so many bytes; None where there is none."""
    return next((size for size in FLASH_SIZES if size >= needed), None)
