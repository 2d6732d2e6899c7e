"""The chips of Espressif's QEMU, and QEMU's arguments for each.

Sources: qemu/esp32, qemu/esp32s3 and qemu/esp32c3 in github.com/espressif/esp-toolchain-docs, and ESP-IDF's
tools/idf_py_actions/qemu_ext.py. Chip numbers: "Firmware Image Format" in esptool's documentation.
"""

import dataclasses

#: Sizes of flash chips that the machines support, in bytes.
FLASH_SIZES = tuple(size << 20 for size in (2, 4, 8, 16))


@dataclasses.dataclass(frozen=True)
class Chip:
    """One machine."""

    name: str  #: of the machine; esptool and ESP-IDF use the same for the chip
    number: int  #: in the header of its images
    command: str
    package: str  #: the package of ESP-IDF's tools with the command
    psram: str  #: largest external RAM of the machine, as -m takes it; empty: none
    download_straps: int  #: level of the strapping pins at which the ROM waits for an upload on UART 0
    #: Time is a count of instructions, 8 ns each: the only documented mode of the ESP32-C3's machine. The others follow
    #: this computer's clock.
    counts_instructions: bool
    efuse_bytes: int = 0  #: 0: the machine has its own
    efuse: tuple[tuple[int, int], ...] = ()  #: offset and value of bytes that are not 0


#: The efuses set the revision: 3 for the ESP32, 0.3 for the ESP32-S3. With revision 0 ESP-IDF's bootloader would refuse
#: firmware that needs a later one.
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
    """The chip of a firmware image, by the image's first bytes; None if QEMU does not have it."""
    if len(header) < 14 or header[0] != 0xE9:
        return None
    return _BY_NUMBER.get(int.from_bytes(header[12:14], "little"))


def arguments(
    chip: Chip, flash: str, port: int, efuse: str | None = None, octal_psram: bool = False, download: bool = False
) -> list[str]:
    """QEMU's arguments. `flash` and `efuse` are files; `port` is the local TCP port of UART 0.

    The machine starts at the first connection, so no output is lost. `download`: its ROM waits for esptool. If time is
    this computer's, the timer groups' watchdogs are off, because they follow the chip's clock.
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
    # Older QEMUs give the ESP32-S3's timers the ESP32-C3's name; an unknown name is no error.
    names = [chip.name, *(["esp32c3"] if chip.name == "esp32s3" else [])]
    return [word for name in names for word in ("-global", f"driver=timer.{name}.timg,property=wdt_disable,value=true")]


def _quoted(path: str) -> str:
    """Doubles commas: a single one separates QEMU's sub-options."""
    return path.replace(",", ",,")


def efuse_image(chip: Chip) -> bytes:
    """The efuses of a new chip; empty if the machine has its own."""
    image = bytearray(chip.efuse_bytes)
    for offset, value in chip.efuse:
        image[offset] = value
    return bytes(image)


def flash_bytes(needed: int) -> int | None:
    """The smallest flash chip that holds `needed` bytes; None if there is none."""
    return next((size for size in FLASH_SIZES if size >= needed), None)
