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
from operator import and_, mul, or_, xor
from typing import Any

from bench.xtensa.base import WORD, Builder, Operands, in_range
from bench.xtensa.state import State, Step, signed

#: struct's letter of a lane: 8, 16, 32 bits, signed and unsigned.
LANES = {"s8": "16b", "u8": "16B", "s16": "8h", "u16": "8H", "s32": "4i", "u32": "4I"}
BITS = {"s8": 8, "u8": 8, "s16": 16, "u16": 16, "s32": 32, "u32": 32}


def lanes(register: bytes, kind: str) -> tuple[int, ...]:
    """The lanes of a vector, from the lowest bits."""
    return struct.unpack("<" + LANES[kind], register)


def packed(values: Any, kind: str) -> bytes:
    """A vector of lanes; each takes the low bits of its number."""
    bits = BITS[kind]
    if kind[0] == "s":
        return struct.pack("<" + LANES[kind], *(signed(value, bits) for value in values))
    return struct.pack("<" + LANES[kind], *(value & ((1 << bits) - 1) for value in values))


def _saturated(value: int, bits: int) -> int:
    top = 1 << (bits - 1)
    return -top if value < -top else top - 1 if value >= top else value


def _ride(state: State, given: Operands, suffix: str) -> Callable[[], None] | None:
    """The access that rides along: operands 0, 1 (and 2) of a name that ends in `suffix`. What is stored is read first,
    what is loaded is written when called."""
    if not suffix:
        return None
    a, q, memory, u, s = state.a, state.q, state.memory, given.vector(0), given.address(1)
    if suffix in ("ld.ip", "ld.incp", "st.incp"):
        advance = in_range(given.number(2), -512, 496, 16) if suffix == "ld.ip" else 16
        by = lambda: advance  # noqa: E731
    else:
        d = given.address(2)
        by = lambda: a[d]  # noqa: E731

    def load() -> None:
        q[u] = memory.block(a[s] & ~15)
        a[s] = (a[s] + by()) & WORD

    def store() -> None:
        memory.store_block(a[s] & ~15, q[u])
        a[s] = (a[s] + by()) & WORD

    return store if suffix == "st.incp" else load


def _behind(suffix: str) -> int:
    """How many operands the access takes."""
    return {"": 0, "ld.incp": 2, "st.incp": 2, "ldbc.incp": 2}.get(suffix, 3)


def _lanewise(kind: str, function: Callable[[int, int], int], suffix: str = "") -> Builder:
    """qa = function(qx, qy) in each lane."""
    form = struct.Struct("<" + LANES[kind])

    def build(state: State, given: Operands) -> Step:
        ride, first, q = _ride(state, given, suffix), _behind(suffix), state.q
        d, x, y = given.vector(first), given.vector(first + 1), given.vector(first + 2)

        def step() -> None:
            result = form.pack(*map(function, form.unpack(q[x]), form.unpack(q[y])))
            if ride is not None:
                ride()
            q[d] = result

        return step

    return build


def _vmul(kind: str, suffix: str = "") -> Builder:
    """qz = qx * qy >> SAR, the low bits."""

    def build(state: State, given: Operands) -> Step:
        ride, first, q = _ride(state, given, suffix), _behind(suffix), state.q
        d, x, y = given.vector(first), given.vector(first + 1), given.vector(first + 2)

        def step() -> None:
            result = packed([s * t >> state.shift for s, t in zip(lanes(q[x], kind), lanes(q[y], kind), strict=True)],
                            kind)  # fmt: skip
            if ride is not None:
                ride()
            q[d] = result

        return step

    return build


def _accumulate_accx(kind: str, suffix: str, shifts: bool) -> Builder:
    """ACCX += the sum of all products; with `shifts` (.qup) qs0 becomes what lies in qs0 and qs1 at SAR_BYTE."""
    form = struct.Struct("<" + LANES[kind])
    low, high = (-(1 << 39), (1 << 39) - 1) if kind[0] == "s" else (0, (1 << 40) - 1)

    def build(state: State, given: Operands) -> Step:
        ride, first, q = _ride(state, given, suffix), _behind(suffix), state.q
        x, y = given.vector(first), given.vector(first + 1)
        s0, s1 = (given.vector(first + 2), given.vector(first + 3)) if shifts else (0, 0)

        def step() -> None:
            total = state.accx + sum(map(mul, form.unpack(q[x]), form.unpack(q[y])))
            state.accx = low if total < low else high if total > high else total
            moved = funnel(q[s0], q[s1], state.byte_shift) if shifts else b""
            if ride is not None:
                ride()
            if shifts:
                q[s0] = moved

        return step

    return build


def _accumulate_qacc(kind: str, suffix: str, shifts: bool) -> Builder:
    """Each product to the lane of QACC with its number; 20 bits for 8, 40 for 16."""
    form, width = struct.Struct("<" + LANES[kind]), 20 if kind.endswith("8") else 40
    limits = (-(1 << (width - 1)), (1 << (width - 1)) - 1) if kind[0] == "s" else (0, (1 << width) - 1)

    def build(state: State, given: Operands) -> Step:
        first, q = _behind(suffix), state.q
        ride = _broadcast(state, given, kind) if suffix == "ldbc.incp" else _ride(state, given, suffix)
        x, y = given.vector(first), given.vector(first + 1)
        s0, s1 = (given.vector(first + 2), given.vector(first + 3)) if shifts else (0, 0)

        def step() -> None:
            _add_products(state, form.unpack(q[x]), form.unpack(q[y]), width, limits)
            moved = funnel(q[s0], q[s1], state.byte_shift) if shifts else b""
            if ride is not None:
                ride()
            if shifts:
                q[s0] = moved

        return step

    return build


def _add_products(state: State, x: Any, y: Any, width: int, limits: tuple[int, int]) -> None:
    low, high = limits
    sums = state.qacc.lanes(width)
    mask = (1 << width) - 1
    for i, product in enumerate(map(mul, x, y)):
        total = (sums[i] if low < 0 else sums[i] & mask) + product
        sums[i] = low if total < low else high if total > high else total
        if low == 0:
            sums[i] = signed(sums[i], width)


def _accumulate_scalar(kind: str, suffix: str) -> Builder:
    """Each lane of qx by one lane of qy."""
    form, width, count = struct.Struct("<" + LANES[kind]), 20 if kind == "s8" else 40, 128 // BITS[kind]
    limits = (-(1 << (width - 1)), (1 << (width - 1)) - 1)

    def build(state: State, given: Operands) -> Step:
        ride, first, q = _ride(state, given, suffix), _behind(suffix), state.q
        x, y, lane = given.vector(first), given.vector(first + 1), in_range(given.number(first + 2), 0, count - 1)

        def step() -> None:
            factor = form.unpack(q[y])[lane]
            _add_products(state, form.unpack(q[x]), (factor,) * count, width, limits)
            if ride is not None:
                ride()

        return step

    return build


def _broadcast(state: State, given: Operands, kind: str, advance: Callable[[], int] | None = None) -> Step:
    """qu = one number from memory in all lanes."""
    a, q, memory, u, s = state.a, state.q, state.memory, given.vector(0), given.address(1)
    size = BITS[kind] // 8
    step_of = size if advance is None else 0

    def step() -> None:
        q[u] = memory.block(a[s] & ~(size - 1), size) * (16 // size)
        a[s] = (a[s] + (step_of if advance is None else advance())) & WORD

    return step


def _vldbc(kind: str, form: str) -> Builder:
    """Without suffix the address stays: the assembler knows no other form that ESP-NN was written for."""

    def build(state: State, given: Operands) -> Step:
        if form == "xp":
            d = given.address(2)
            return _broadcast(state, given, kind, lambda: state.a[d])
        most = {8: 127, 16: 254, 32: 508}[BITS[kind]]
        number = in_range(given.number(2), 0, most, BITS[kind] // 8) if form == "ip" else 0
        return _broadcast(state, given, kind, lambda: number)

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


def _qacc_move(writes: bool, high: bool, size: int) -> Builder:
    """The low 16 or the high 4 bytes of QACC_L or QACC_H."""
    at = (20 if high else 0) + (0 if size == 16 else 16)
    mask = (1 << 8 * size) - 1

    def build(state: State, given: Operands) -> Step:
        a, memory, s = state.a, state.memory, given.address(0)
        most = 2048 if size == 16 else 512
        number = in_range(given.number(1), -most, most - size, size)

        def step() -> None:
            address, bits = a[s] & ~(size - 1), state.qacc.bits()
            if writes:
                memory.store_block(address, (bits >> 8 * at & mask).to_bytes(size, "little"))
            else:
                new = int.from_bytes(memory.block(address, size), "little")
                state.qacc.set_bits(bits & ~(mask << 8 * at) | new << 8 * at)
            a[s] = (a[s] + number) & WORD

        return step

    return build


def _ldqa(kind: str, moves: bool) -> Builder:
    """Each lane of a vector, extended, to its lane of QACC: from memory, or (`moves`) from a register."""
    width = 20 if kind.endswith("8") else 40

    def build(state: State, given: Operands) -> Step:
        a, q, memory = state.a, state.q, state.memory
        s = given.vector(0) if moves else given.address(0)
        number = 0 if moves else in_range(given.number(1), -2048, 2032, 16)

        def step() -> None:
            block = q[s] if moves else memory.block(a[s] & ~15)
            state.qacc.lanes(width)[:] = lanes(block, kind)
            if not moves:
                a[s] = (a[s] + number) & WORD

        return step

    return build


def _srcmb(kind: str) -> Builder:
    """QACC >>= as in each lane; qu = the lanes, saturated."""
    bits = BITS[kind]

    def build(state: State, given: Operands) -> Step:
        u, s = given.vector(0), given.address(1)
        in_range(given.number(2), 0, 0)

        def step() -> None:
            sums = state.qacc.lanes(20 if bits == 8 else 40)
            right = state.a[s] & (31 if bits == 8 else 63)
            sums[:] = [lane >> right for lane in sums]
            state.q[u] = struct.pack("<" + LANES[kind], *(_saturated(lane, bits) for lane in sums))

        return step

    return build


def _srs(state: State, given: Operands) -> Step:
    """ACCX >>= as; au = ACCX, saturated."""
    u, s = given.address(0), given.address(1)
    in_range(given.number(2), 0, 0)

    def step() -> None:
        state.accx >>= state.a[s] & 63
        state.a[u] = _saturated(state.accx, 32) & WORD

    return step


def funnel(low: bytes, high: bytes, by: int) -> bytes:
    """16 bytes from `by` on of both."""
    return (low + high)[by : by + 16]


def _src(form: str) -> Builder:
    """qa = what lies in qs0 and qs1 at SAR_BYTE; .qup: then qs0 = qs1; .ld: qs0 is that, and a load rides along."""

    def build(state: State, given: Operands) -> Step:
        q = state.q
        ride, first = (_ride(state, given, form), 2) if form.startswith("ld") else (None, 0)
        d = given.vector(first + 1) if ride is not None else given.vector(0)
        s0, s1 = given.vector(first + 1), given.vector(first + 2)

        def step() -> None:
            result, up = funnel(q[s0], q[s1], state.byte_shift), q[s1]
            if form == "qup":
                q[s0] = up
            q[d] = result
            if ride is not None:
                ride()

        return step

    if form.startswith("ld"):  # ee.src.q.ld.ip qu, as, imm, qs0, qs1
        return _src_load(form)
    return build


def _src_load(form: str) -> Builder:
    def build(state: State, given: Operands) -> Step:
        q, ride, s0, s1 = state.q, _ride(state, given, form), given.vector(3), given.vector(4)
        assert ride is not None

        def step() -> None:
            result = funnel(q[s0], q[s1], state.byte_shift)
            ride()
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


def _zero_accx(state: State, given: Operands) -> Step:
    def step() -> None:
        state.accx = 0

    return step


def _zero_qacc(state: State, given: Operands) -> Step:
    def step() -> None:
        state.qacc.set_bits(0)

    return step


def _rur_accx(part: int) -> Builder:
    def build(state: State, given: Operands) -> Step:
        a, d = state.a, given.address(0)

        def step() -> None:
            a[d] = state.accx >> 32 & 0xFF if part else state.accx & WORD

        return step

    return build


def _rur_qacc(at: int) -> Builder:
    def build(state: State, given: Operands) -> Step:
        a, d = state.a, given.address(0)

        def step() -> None:
            a[d] = state.qacc.bits() >> at & WORD

        return step

    return build


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
        "mv.qr": _mv, "ee.zero.q": _zero_q, "ee.zero.accx": _zero_accx, "ee.zero.qacc": _zero_qacc,
        "ee.notq": _notq, "ee.andq": _bitwise(and_), "ee.orq": _bitwise(or_), "ee.xorq": _bitwise(xor),
        "ee.vsl.32": _shift_lanes(True), "ee.vsr.32": _shift_lanes(False),
        "ee.movi.32.q": _word_to_vector, "ee.movi.32.a": _word_of_vector,
        "ee.srs.accx": _srs, "ee.srcmb.s8.qacc": _srcmb("s8"), "ee.srcmb.s16.qacc": _srcmb("s16"),
        "ee.src.q": _src(""), "ee.src.q.qup": _src("qup"), "ee.src.q.ld.ip": _src("ld.ip"),
        "ee.src.q.ld.xp": _src("ld.xp"), "ld.qr": _move(False, all_of, ""), "st.qr": _move(True, all_of, ""),
        "rur.accx_0": _rur_accx(0), "rur.accx_1": _rur_accx(1),
        "rur.sar_byte": _rur_sar_byte, "wur.sar_byte": _wur_sar_byte,
    }  # fmt: skip
    for i in range(5):
        table[f"rur.qacc_l_{i}"], table[f"rur.qacc_h_{i}"] = _rur_qacc(32 * i), _rur_qacc(160 + 32 * i)
    for form in ("ip", "xp"):
        table[f"ee.ld.128.usar.{form}"] = _move(False, all_of, form, notes_shift=True)
        for writes, verb in ((False, "vld"), (True, "vst")):
            for part, name in ((all_of, "128"), (low, "l.64"), (high, "h.64")):
                table[f"ee.{verb}.{name}.{form}"] = _move(writes, part, form)
    for bits in ("8", "16", "32"):
        for form in ("", "ip", "xp"):
            table[f"ee.vldbc.{bits}" + (f".{form}" if form else "")] = _vldbc(f"u{bits}", form)
        table[f"ee.vzip.{bits}"], table[f"ee.vunzip.{bits}"] = _zip(f"u{bits}", False), _zip(f"u{bits}", True)
    for which in ("l", "h"):
        for size, name in ((16, "l.128"), (4, "h.32")):
            table[f"ee.st.qacc_{which}.{name}.ip"] = _qacc_move(True, which == "h", size)
            table[f"ee.ld.qacc_{which}.{name}.ip"] = _qacc_move(False, which == "h", size)
    table.update(_arithmetic())
    return table


def _arithmetic() -> dict[str, Builder]:
    table: dict[str, Builder] = {}
    suffixes = ("", "ld.incp", "st.incp")
    for kind in ("s8", "s16", "s32"):
        bits = BITS[kind]
        functions: dict[str, Callable[[int, int], int]] = {
            "vadds": lambda x, y, bits=bits: _saturated(x + y, bits),  # type: ignore[misc]
            "vsubs": lambda x, y, bits=bits: _saturated(x - y, bits),  # type: ignore[misc]
            "vmax": max, "vmin": min,
        }  # fmt: skip
        for name, function in functions.items():
            for suffix in suffixes:
                table[_named(f"ee.{name}.{kind}", suffix)] = _lanewise(kind, function, suffix)
        table[f"ee.vcmp.eq.{kind}"] = _lanewise(kind, lambda x, y: -int(x == y))
        table[f"ee.vcmp.lt.{kind}"] = _lanewise(kind, lambda x, y: -int(x < y))
        table[f"ee.vcmp.gt.{kind}"] = _lanewise(kind, lambda x, y: -int(x > y))
    for kind in ("s8", "u8", "s16", "u16"):
        for suffix in suffixes:
            table[_named(f"ee.vmul.{kind}", suffix)] = _vmul(kind, suffix)
        for suffix in ("", "ld.ip", "ld.xp", "ldbc.incp"):
            for shifts in (False, True):
                if not suffix and shifts:
                    continue
                last = suffix + (".qup" if shifts else "")
                table[_named(f"ee.vmulas.{kind}.qacc", last)] = _accumulate_qacc(kind, suffix, shifts)
                if suffix != "ldbc.incp":
                    table[_named(f"ee.vmulas.{kind}.accx", last)] = _accumulate_accx(kind, suffix, shifts)
        table[f"ee.ldqa.{kind}.128.ip"], table[f"ee.mov.{kind}.qacc"] = _ldqa(kind, False), _ldqa(kind, True)
    for kind in ("s8", "s16"):
        for suffix in ("", "ld.incp"):
            table[_named(f"ee.vsmulas.{kind}.qacc", suffix)] = _accumulate_scalar(kind, suffix)
    return table


def _named(name: str, suffix: str) -> str:
    return f"{name}.{suffix}" if suffix else name


BUILDERS: dict[str, Builder] = _table()
