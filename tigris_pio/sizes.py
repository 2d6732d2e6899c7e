"""Reads and writes sizes in people's notation: `256K`, `8M`, plain bytes; `FAST+SLOW` for the two memories."""

from __future__ import annotations

import re

from tigris_pio.errors import UsageError

_UNITS = {"": 1, "B": 1, "K": 1 << 10, "KB": 1 << 10, "KIB": 1 << 10, "M": 1 << 20, "MB": 1 << 20, "MIB": 1 << 20}
#: Any memory's size has fewer digits; more would overflow float.
_PATTERN = re.compile(r"([0-9]{1,15}(?:\.[0-9]{1,9})?)\s*([a-zA-Z]*)\Z")


def parse_size(value: str | int, option: str = "size") -> int:
    """Bytes of `256K`, `1.5M`, `4096` (units of 1024). Raises UsageError, which names `option`."""
    if isinstance(value, int):
        if isinstance(value, bool):
            raise UsageError(f"{option}: {value} is no size; give bytes or a size like 256K or 8M")
        if value < 0:
            raise UsageError(f"{option}: {value} is negative; give bytes or a size like 256K or 8M")
        return value
    match = _PATTERN.match(value.strip())
    unit = match and _UNITS.get(match[2].upper())
    if not match or unit is None:
        raise UsageError(f"{option}: '{value}' is no size; give bytes or a number with K or M, like 256K or 8M")
    return int(float(match[1]) * unit)


def parse_memory(value: str, option: str) -> tuple[int, int]:
    """(fast, slow) bytes of `FAST` or `FAST+SLOW`."""
    fast, plus, slow = value.partition("+")
    if plus and not slow.strip():
        raise UsageError(f"{option}: '{value}' lacks the size after '+'; give FAST+SLOW like 256K+8M, or FAST alone")
    return parse_size(fast, option), parse_size(slow, option) if plus else 0


def format_size(size: int) -> str:
    """`size` bytes for people: `812 B`, `13.5 KB`, `2 MB` (units of 1024)."""
    for unit, name in ((1 << 20, "MB"), (1 << 10, "KB")):
        if size >= unit:
            return f"{size / unit:.1f}".rstrip("0").rstrip(".") + f" {name}"
    return f"{size} B"


def size_option(size: int) -> str:
    """`size` as an option's value, rounded up to whole K or M: `13K`, `2M`; plain bytes below 1K."""
    if size >= 1 << 10:
        kilo = -(-size // (1 << 10))
        return f"{kilo // 1024}M" if kilo % 1024 == 0 else f"{kilo}K"
    return str(size)


def round_up(value: int, alignment: int) -> int:
    """The smallest multiple of `alignment` that is not below `value`."""
    return -(-value // alignment) * alignment


def format_estimate(count: float) -> str:
    """`count` to two significant digits: `8.2 million`, `120,000`."""
    rounded = float(f"{count:.1e}")
    return f"{rounded / 1e6:,.12g} million" if rounded >= 1e6 else f"{rounded:,.0f}"
