"""The ESP32-S3's vector instructions (PIE): every `ee.*` that ESP-NN or this project's kernels use, and their kin.

Semantics after the chapter "Processor Instruction Extensions" of Espressif's "ESP32-S3 Technical Reference Manual" and
its summary in Espressif's ESP-DL (tools/agents/skills/esp32s3-pie-simd); second opinion: Espressif's QEMU
(target/xtensa/translate_tie_esp32s3.c), which saturates to -(2^n - 1) where the manual says -2^n, as here.

An instruction reads all of its operands before it writes any; loads and stores take the address rounded down to their
size. `qu` of a load that rides along is written last.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from operator import and_, or_, xor

from bench.assembly.engine import in_range
from bench.assembly.lanes import BITS, LANES, funnel, lanes, packed, saturated
from bench.assembly.program import Step
from bench.xtensa import pie_sums
from bench.xtensa.base import WORD, Builder, Operands
from bench.xtensa.pie_access import behind, broadcast, ride
from bench.xtensa.state import State


def _lanewise(kind: str, function: Callable[[int, int], int], suffix: str = "") -> Builder:
    """qa = function(qx, qy) in each lane."""
    form = struct.Struct("<" + LANES[kind])

    def build(state: State, given: Operands) -> Step:
        rides, first, q = ride(state, given, suffix), behind(suffix), state.q
        d, x, y = given.vector(first), given.vector(first + 1), given.vector(first + 2)

        def step() -> None:
            result = form.pack(*map(function, form.unpack(q[x]), form.unpack(q[y])))
            if rides is not None:
                rides()
            q[d] = result

        return step

    return build


def _vmul(kind: str, suffix: str = "") -> Builder:
    """qz = qx * qy >> SAR, the low bits."""

    def build(state: State, given: Operands) -> Step:
        rides, first, q = ride(state, given, suffix), behind(suffix), state.q
        d, x, y = given.vector(first), given.vector(first + 1), given.vector(first + 2)

        def step() -> None:
            result = packed([s * t >> state.shift for s, t in zip(lanes(q[x], kind), lanes(q[y], kind), strict=True)],
                            kind)  # fmt: skip
            if rides is not None:
                rides()
            q[d] = result

        return step

    return build


def _vldbc(kind: str, form: str) -> Builder:
    """Without suffix the address stays: the assembler knows no other form that ESP-NN was written for."""

    def build(state: State, given: Operands) -> Step:
        if form == "xp":
            d = given.address(2)
            return broadcast(state, given, kind, lambda: state.a[d])
        most = {8: 127, 16: 254, 32: 508}[BITS[kind]]
        number = in_range(given.number(2), 0, most, BITS[kind] // 8) if form == "ip" else 0
        return broadcast(state, given, kind, lambda: number)

    return build


def _move(writes: bool, part: slice, form: str, notes_shift: bool = False) -> Builder:
    """A vector or half of one to or from memory; `form`: ip, xp, or none with an offset that changes no register."""
    size = 16 if part == slice(0, 16) else 8

    def build(state: State, given: Operands) -> Step:
        a, q, memory, u, s = state.a, state.q, state.memory, given.vector(0), given.address(1)
        most = 2048 if size == 16 else 1024
        d = given.address(2) if form == "xp" else 0
        number = 0 if form == "xp" else in_range(given.number(2), -most, most - size, size)

        def step() -> None:
            address = a[s] + (number if form == "" else 0)
            if notes_shift:
                state.byte_shift = address & 15
            address &= ~(size - 1) & WORD
            if writes:
                memory.store_block(address, q[u][part])
            else:
                block = memory.block(address, size)
                q[u] = block if size == 16 else q[u][: part.start] + block + q[u][part.stop :]
            if form:
                a[s] = (a[s] + (a[d] if form == "xp" else number)) & WORD

        return step

    return build


def _src(form: str) -> Builder:
    """qa = what lies in qs0 and qs1 at SAR_BYTE; qup: then qs0 = qs1."""

    def build(state: State, given: Operands) -> Step:
        q, d, s0, s1 = state.q, given.vector(0), given.vector(1), given.vector(2)

        def step() -> None:
            result, up = funnel(q[s0], q[s1], state.byte_shift), q[s1]
            if form == "qup":
                q[s0] = up
            q[d] = result

        return step

    return build


def _src_load(form: str) -> Builder:
    """qs0 is that, and a load rides along."""

    def build(state: State, given: Operands) -> Step:
        q, rides, s0, s1 = state.q, ride(state, given, form), given.vector(3), given.vector(4)
        assert rides is not None

        def step() -> None:
            result = funnel(q[s0], q[s1], state.byte_shift)
            rides()
            q[s0] = result

        return step

    return build


def _zip(kind: str, apart: bool) -> Builder:
    """Two vectors in turn, a lane of each; `apart`: the contrary."""

    def build(state: State, given: Operands) -> Step:
        q, x, y = state.q, given.vector(0), given.vector(1)

        def step() -> None:
            s, t = lanes(q[x], kind), lanes(q[y], kind)
            both = s + t if apart else tuple(lane for pair in zip(s, t, strict=True) for lane in pair)
            half = len(s)
            q[x], q[y] = ((packed(both[0::2], kind), packed(both[1::2], kind)) if apart
                          else (packed(both[:half], kind), packed(both[half:], kind)))  # fmt: skip

        return step

    return build


def _bitwise(function: Callable[[int, int], int]) -> Builder:
    def build(state: State, given: Operands) -> Step:
        q, d, x, y = state.q, given.vector(0), given.vector(1), given.vector(2)

        def step() -> None:
            q[d] = bytes(map(function, q[x], q[y]))

        return step

    return build


def _notq(state: State, given: Operands) -> Step:
    q, d, x = state.q, given.vector(0), given.vector(1)

    def step() -> None:
        q[d] = bytes(~byte & 0xFF for byte in q[x])

    return step


def _shift_lanes(left: bool) -> Builder:
    """The four words by SAR."""

    def build(state: State, given: Operands) -> Step:
        q, d, x = state.q, given.vector(0), given.vector(1)

        def step() -> None:
            by = state.shift
            q[d] = packed([lane << by if left else lane >> by for lane in lanes(q[x], "s32")], "s32")

        return step

    return build


def _word_to_vector(state: State, given: Operands) -> Step:
    a, q, u, s, lane = state.a, state.q, given.vector(0), given.address(1), in_range(given.number(2), 0, 3)

    def step() -> None:
        q[u] = q[u][: 4 * lane] + a[s].to_bytes(4, "little") + q[u][4 * lane + 4 :]

    return step


def _word_of_vector(state: State, given: Operands) -> Step:
    a, q, s, u, lane = state.a, state.q, given.vector(0), given.address(1), in_range(given.number(2), 0, 3)

    def step() -> None:
        a[u] = int.from_bytes(q[s][4 * lane : 4 * lane + 4], "little")

    return step


def _mv(state: State, given: Operands) -> Step:
    q, d, s = state.q, given.vector(0), given.vector(1)

    def step() -> None:
        q[d] = q[s]

    return step


def _zero_q(state: State, given: Operands) -> Step:
    q, d = state.q, given.vector(0)

    def step() -> None:
        q[d] = bytes(16)

    return step


def _rur_sar_byte(state: State, given: Operands) -> Step:
    a, d = state.a, given.address(0)

    def step() -> None:
        a[d] = state.byte_shift

    return step


def _wur_sar_byte(state: State, given: Operands) -> Step:
    a, s = state.a, given.address(0)

    def step() -> None:
        state.byte_shift = a[s] & 15

    return step


def _table() -> dict[str, Builder]:
    all_of, low, high = slice(0, 16), slice(0, 8), slice(8, 16)
    table: dict[str, Builder] = {
        "mv.qr": _mv, "ee.zero.q": _zero_q, "ee.notq": _notq,
        "ee.andq": _bitwise(and_), "ee.orq": _bitwise(or_), "ee.xorq": _bitwise(xor),
        "ee.vsl.32": _shift_lanes(True), "ee.vsr.32": _shift_lanes(False),
        "ee.movi.32.q": _word_to_vector, "ee.movi.32.a": _word_of_vector,
        "ee.src.q": _src(""), "ee.src.q.qup": _src("qup"), "ee.src.q.ld.ip": _src_load("ld.ip"),
        "ee.src.q.ld.xp": _src_load("ld.xp"), "ld.qr": _move(False, all_of, ""), "st.qr": _move(True, all_of, ""),
        "rur.sar_byte": _rur_sar_byte, "wur.sar_byte": _wur_sar_byte,
    }  # fmt: skip
    for form in ("ip", "xp"):
        table[f"ee.ld.128.usar.{form}"] = _move(False, all_of, form, notes_shift=True)
        for writes, verb in ((False, "vld"), (True, "vst")):
            for part, name in ((all_of, "128"), (low, "l.64"), (high, "h.64")):
                table[f"ee.{verb}.{name}.{form}"] = _move(writes, part, form)
    for bits in ("8", "16", "32"):
        for form in ("", "ip", "xp"):
            table[f"ee.vldbc.{bits}" + (f".{form}" if form else "")] = _vldbc(f"u{bits}", form)
        table[f"ee.vzip.{bits}"], table[f"ee.vunzip.{bits}"] = _zip(f"u{bits}", False), _zip(f"u{bits}", True)
    return {**table, **_arithmetic(), **pie_sums.BUILDERS}


def _arithmetic() -> dict[str, Builder]:
    table: dict[str, Builder] = {}
    for kind in ("s8", "s16", "s32"):
        bits = BITS[kind]
        functions: dict[str, Callable[[int, int], int]] = {
            "vadds": lambda x, y, bits=bits: saturated(x + y, bits),  # type: ignore[misc]
            "vsubs": lambda x, y, bits=bits: saturated(x - y, bits),  # type: ignore[misc]
            "vmax": max, "vmin": min,
        }  # fmt: skip
        for name, function in functions.items():
            for suffix in ("", "ld.incp", "st.incp"):
                table[_named(f"ee.{name}.{kind}", suffix)] = _lanewise(kind, function, suffix)
        table[f"ee.vcmp.eq.{kind}"] = _lanewise(kind, lambda x, y: -int(x == y))
        table[f"ee.vcmp.lt.{kind}"] = _lanewise(kind, lambda x, y: -int(x < y))
        table[f"ee.vcmp.gt.{kind}"] = _lanewise(kind, lambda x, y: -int(x > y))
    for kind in ("s8", "u8", "s16", "u16"):
        for suffix in ("", "ld.incp", "st.incp"):
            table[_named(f"ee.vmul.{kind}", suffix)] = _vmul(kind, suffix)
    return table


def _named(name: str, suffix: str) -> str:
    return f"{name}.{suffix}" if suffix else name


BUILDERS: dict[str, Builder] = _table()
