"""Firmware images in the format of the ROM bootloader, one segment each.

    esp_image.py CHIP OUTPUT [FILE]

Format: Espressif's "Firmware Image Format": magic, segments, flash mode, size and frequency, entry; chip id; then
per segment load address, length, data; padding and the XOR checksum of all data at the end of a 16-byte block.
Without FILE the image is a bootloader of a few words.
"""

import struct
import sys
from functools import reduce
from pathlib import Path

CHIP_IDS = {"esp32": 0, "esp32c3": 5, "esp32s3": 9, "esp32c6": 13}
LOAD = 0x40380000
DATA_START = 24 + 8


def build(chip: str, data: bytes) -> bytes:
    data += bytes(-len(data) % 4)
    header = struct.pack("<4BI", 0xE9, 1, 2, 0x20, LOAD)
    header += struct.pack("<B3xHB2H4xB", 0xEE, CHIP_IDS[chip], 0, 0, 0xFFFF, 0)
    image = header + struct.pack("<2I", LOAD, len(data)) + data
    image += bytes(15 - len(image) % 16)
    return image + bytes([reduce(lambda a, b: a ^ b, data, 0xEF)])


def payload(image: bytes) -> bytes:
    """The content of the only segment."""
    (length,) = struct.unpack_from("<I", image, DATA_START - 4)
    return image[DATA_START : DATA_START + length]


if __name__ == "__main__":
    chip, output, *files = sys.argv[1:]
    data = Path(files[0]).read_bytes() if files else b"bootloader of " + chip.encode()
    Path(output).write_bytes(build(chip, data))
