"""A partition table from its CSV, written apart from the hook's own code so that one checks the other.

    gen_table.py SOURCE TARGET OFFSET

Source of the format: ESP-IDF programming guide, "Partition Tables". Blank offsets follow the entry before, apps on
64 KB and data on 4 KB boundaries.
"""

import hashlib
import struct
import sys

TYPES = {"app": 0, "data": 1}
SUBTYPES = {"factory": 0, "ota_0": 16, "ota_1": 17, "ota": 0, "phy": 1, "nvs": 2, "coredump": 3}
SUBTYPES |= {"fat": 129, "spiffs": 130}


def number(text):
    scale = {"K": 1024, "M": 1024 * 1024}.get(text[-1].upper(), 1)
    return int(text[:-1] if scale > 1 else text, 0) * scale


def rows(path, table_at=0x8000):
    end = table_at + 0x1000
    with open(path, encoding="utf-8") as file:
        for line in file:
            fields = [field.strip() for field in line.split("#")[0].split(",")]
            if len(fields) < 5:
                continue
            name, kind, subtype, offset, size = fields[:5]
            step = 0x10000 if kind == "app" else 0x1000
            start = number(offset) if offset else -(-end // step) * step
            end = start + number(size)
            kind_number = TYPES.get(kind) if kind in TYPES else int(kind, 0)
            yield name, kind_number, SUBTYPES[subtype] if subtype in SUBTYPES else int(subtype, 0), start, number(size)


def table(path, table_at):
    start = min(row[3] for row in rows(path, table_at))
    if start < table_at + 0x1000:
        sys.exit(f"a partition at 0x{start:x} overlaps the table at 0x{table_at:x}")
    entries = b"".join(
        b"\xaa\x50" + struct.pack("<BBII16sI", kind, subtype, start, size, name.encode(), 0)
        for name, kind, subtype, start, size in rows(path, table_at)
    )
    return (entries + b"\xeb\xeb" + b"\xff" * 14 + hashlib.md5(entries).digest()).ljust(0xC00, b"\xff")


if __name__ == "__main__":
    with open(sys.argv[2], "wb") as file:
        file.write(table(sys.argv[1], int(sys.argv[3], 0)))
