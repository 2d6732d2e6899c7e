"""The ESP32-P4's vector instructions (PIE): every `esp.*` that ESP-NN uses, and their kin whose meaning is told.

Semantics after Espressif's ESP-DL (tools/agents/skills/esp32p4-pie-simd/references/instructions.md), as the technical
reference manual's chapter is not published; ranges of constants after LLVM's tests of its assembler. What both leave
open is refused: rounding modes of products (CFG's vxrm) but the first, towards minus infinity.

An instruction reads all of its operands before it writes any. `qu` of a load that rides along is written last.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from operator import and_, mul, or_, xor

from bench.assembly.engine import in_range
from bench.assembly.lanes import BITS, LANES, funnel, lanes, packed, signed
from bench.assembly.program import Step
from bench.riscv.operands import WORD, Builder, Operands
from bench.riscv.state import ANY_LOAD, ANY_STORE, State

ROUNDING = 0xF0
#: XACC: of 40 bits, the lower 24 are read and written as one half.
XACC_BITS, XACC_LOW = 40, 24
KINDS = ("s8", "u8", "s16", "u16", "s32", "u32")


def load(state: State, address: int, size: int = 16) -> bytes:
    """A vector or part of one. At any address it is taken from the blocks that it lies in."""
    over = address & (size - 1)
    if over == 0:
        return state.memory.block(address, size)
    address -= over
    if not state.cfg & ANY_LOAD:
        return state.memory.block(address, size)
    return (state.memory.block(address, size) + state.memory.block(address + size, size))[over : over + size]


def store(state: State, address: int, content: bytes) -> None:
    if not state.cfg & ANY_STORE:
        address &= ~(len(content) - 1)
    state.memory.store_block(address, content)


def _limits(kind: str, bits: int) -> tuple[int, int]:
    return (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if kind[0] == "s" else (0, (1 << bits) - 1)


def _advance(state: State, given: Operands, i: int, form: str, step: int = 16, wide: int = 128) -> Callable[[], int]:
    """The step of an address: `ip` a constant, `xp` a register, `incp` the access's own size."""
    if form == "incp":
        return lambda: step
    if form == "xp":
        x, register = state.x, given.reached(i)
        return lambda: x[register]
    number = in_range(given.number(i), -wide * step, (wide - 1) * step, step)
    return lambda: number


def _move(writes: bool, part: slice, form: str) -> Builder:
    """A vector or half of one to or from memory."""
    size = 16 if part == slice(0, 16) else 8

    def build(state: State, given: Operands) -> Step:
        x, q, u, s, by = state.x, state.q, given.vector(0), given.reached(1), _advance(state, given, 2, form, size)

        def step() -> None:
            if writes:
                store(state, x[s], q[u][part])
            else:
                block = load(state, x[s], size)
                q[u] = block if size == 16 else q[u][: part.start] + block + q[u][part.stop :]
            x[s] = (x[s] + by()) & WORD

        return step

    return build


def _noted_load(form: str) -> Builder:
    """esp.ld.128.usar: SAR_BYTE notes how far behind a multiple of 16 the address is, and the block there is loaded."""

    def build(state: State, given: Operands) -> Step:
        x, q, u, s, by = state.x, state.q, given.vector(0), given.reached(1), _advance(state, given, 2, form)

        def step() -> None:
            state.byte_shift = x[s] & 15
            q[u] = state.memory.block(x[s] & ~15)
            x[s] = (x[s] + by()) & WORD

        return step

    return build


def _broadcast(size: int, form: str) -> Builder:
    """qu = one number from memory in all lanes."""

    def build(state: State, given: Operands) -> Step:
        x, q, u, s = state.x, state.q, given.vector(0), given.reached(1)
        by = _advance(state, given, 2, form, size)

        def step() -> None:
            q[u] = load(state, x[s], size) * (16 // size)
            x[s] = (x[s] + by()) & WORD

        return step

    return build


def _ride(state: State, given: Operands, form: str) -> tuple[Callable[[], None] | None, int]:
    """The access that rides along and how many operands it takes: `qu, rs` and what the address moves on by."""
    if not form:
        return None, 0
    x, q, u, s = state.x, state.q, given.vector(0), given.reached(1)
    verb, _, how = form.partition(".")
    by = _advance(state, given, 2, how, wide=32)

    def ride_load() -> None:
        q[u] = load(state, x[s])
        x[s] = (x[s] + by()) & WORD

    def ride_store() -> None:
        store(state, x[s], q[u])
        x[s] = (x[s] + by()) & WORD

    return ride_load if verb == "ld" else ride_store, 2 if how == "incp" else 3


def _lanewise(kind: str, function: Callable[[int, int], int], form: str = "") -> Builder:
    """qz = function(qx, qy) in each lane."""
    of_lanes = struct.Struct("<" + LANES[kind])

    def build(state: State, given: Operands) -> Step:
        (rides, first), q = _ride(state, given, form), state.q
        d, x, y = given.vector(first), given.vector(first + 1), given.vector(first + 2)

        def step() -> None:
            result = of_lanes.pack(*map(function, of_lanes.unpack(q[x]), of_lanes.unpack(q[y])))
            if rides is not None:
                rides()
            q[d] = result

        return step

    return build


def _product(kind: str, form: str) -> Builder:
    """qz = qx * qy >> SAR, the low bits."""

    def build(state: State, given: Operands) -> Step:
        (rides, first), q = _ride(state, given, form), state.q
        d, x, y = given.vector(first), given.vector(first + 1), given.vector(first + 2)

        def step() -> None:
            if state.cfg & ROUNDING and state.shift:
                raise ValueError("only rounding towards minus infinity is known")
            products = map(mul, lanes(q[x], kind), lanes(q[y], kind))
            result = packed([product >> state.shift for product in products], kind)
            if rides is not None:
                rides()
            q[d] = result

        return step

    return build


def _accumulate_xacc(kind: str, form: str) -> Builder:
    """XACC += the sum of all products."""
    of_lanes = struct.Struct("<" + LANES[kind])
    low, high = _limits(kind, XACC_BITS)

    def build(state: State, given: Operands) -> Step:
        (rides, first), q = _ride(state, given, form), state.q
        x, y = given.vector(first), given.vector(first + 1)

        def step() -> None:
            total = state.xacc + sum(map(mul, of_lanes.unpack(q[x]), of_lanes.unpack(q[y])))
            state.xacc = low if total < low else high if total > high else total
            if rides is not None:
                rides()

        return step

    return build


def _accumulate_qacc(kind: str, form: str, by_lane: bool = False) -> Builder:
    """Each product to the lane of QACC with its number; `by_lane`: with one lane of qy."""
    of_lanes, width = struct.Struct("<" + LANES[kind]), 4 * BITS[kind]
    low, high = _limits(kind, width)
    mask = (1 << width) - 1

    def build(state: State, given: Operands) -> Step:
        (rides, first), q = _ride(state, given, form), state.q
        x, y = given.vector(first), given.vector(first + 1)
        lane = in_range(given.number(first + 2), 0, 128 // BITS[kind] - 1) if by_lane else None

        def step() -> None:
            sums, other = state.qacc.lanes(width), of_lanes.unpack(q[y])
            products = map(mul, of_lanes.unpack(q[x]), other if lane is None else [other[lane]] * len(other))
            for i, product in enumerate(products):
                total = (sums[i] if low else sums[i] & mask) + product
                sums[i] = signed(low if total < low else high if total > high else total, width)
            if rides is not None:
                rides()

        return step

    return build


def _qacc_memory(writes: bool, part: int) -> Builder:
    """128 of QACC's bits, from the lowest of `part`, to or from memory."""

    def build(state: State, given: Operands) -> Step:
        x, s, by = state.x, given.reached(0), _advance(state, given, 1, "ip")
        mask = ((1 << 128) - 1) << part

        def step() -> None:
            bits = state.qacc.bits()
            if writes:
                store(state, x[s], (bits >> part & ((1 << 128) - 1)).to_bytes(16, "little"))
            else:
                loaded = int.from_bytes(load(state, x[s]), "little") << part
                state.qacc.set_bits(bits & ~mask | loaded)
            x[s] = (x[s] + by()) & WORD

        return step

    return build


def _lanes_to_qacc(kind: str, form: str) -> Builder:
    """Each lane of a vector, or of memory, to one of QACC."""
    width = 4 * BITS[kind]

    def build(state: State, given: Operands) -> Step:
        x, q = state.x, state.q
        s = given.reached(0) if form else given.vector(0)
        by = _advance(state, given, 1, form) if form else None

        def step() -> None:
            state.qacc.lanes(width)[:] = lanes(q[s] if by is None else load(state, x[s]), kind)
            if by is not None:
                x[s] = (x[s] + by()) & WORD

        return step

    return build


def _shift_xacc(is_signed: bool) -> Builder:
    """rd = XACC >> rs, saturated; XACC too is shifted."""
    kind = "s" if is_signed else "u"

    def build(state: State, given: Operands) -> Step:
        x, d, s = state.x, given.reached(0), given.reached(1)
        low, high = _limits(kind, 32)

        def step() -> None:
            if state.cfg & ROUNDING:
                raise ValueError("only rounding towards minus infinity is known")
            value = state.xacc if is_signed else state.xacc & ((1 << XACC_BITS) - 1)
            state.xacc = value >> (x[s] & 63)
            x[d] = max(low, min(high, state.xacc)) & WORD

        return step

    return build


def _horizontal(kind: str, function: Callable[..., int]) -> Builder:
    """rd = the largest or least lane."""

    def build(state: State, given: Operands) -> Step:
        x, q, s, d = state.x, state.q, given.vector(0), given.reached(1)

        def step() -> None:
            x[d] = function(lanes(q[s], kind)) & WORD

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


def _src(form: str) -> Builder:
    """qz = what lies in qx and qy at SAR_BYTE; `qup`: then qx = qy."""

    def build(state: State, given: Operands) -> Step:
        q, d, x, y = state.q, given.vector(0), given.vector(1), given.vector(2)

        def step() -> None:
            result, up = funnel(q[x], q[y], state.byte_shift), q[y]
            if form == "qup":
                q[x] = up
            q[d] = result

        return step

    return build


def _lane_moves(bits: int, to_vector: bool) -> Builder:
    """One lane to or from a register."""
    size, mask = bits // 8, (1 << bits) - 1

    def build(state: State, given: Operands) -> Step:
        x, q, u, s = state.x, state.q, given.vector(0), given.reached(1)
        at = size * in_range(given.number(2), 0, 16 // size - 1)

        def step() -> None:
            if to_vector:
                q[u] = q[u][:at] + (x[s] & mask).to_bytes(size, "little") + q[u][at + size :]
            else:
                x[s] = int.from_bytes(q[u][at : at + size], "little")

        return step

    return build


def _zero(what: str) -> Builder:
    def build(state: State, given: Operands) -> Step:
        d = given.vector(0) if what == "q" else 0

        def step() -> None:
            if what == "q":
                state.q[d] = bytes(16)
            elif what == "xacc":
                state.xacc = 0
            else:
                state.qacc.set_bits(0)

        return step

    return build


def _write(write: Callable[[State, int], None]) -> Builder:
    def build(state: State, given: Operands) -> Step:
        x, s = state.x, given.reached(0)
        return lambda: write(state, x[s])

    return build


def _read(read: Callable[[State], int]) -> Builder:
    def build(state: State, given: Operands) -> Step:
        x, d = state.x, given.reached(0)

        def step() -> None:
            x[d] = read(state) & WORD

        return step

    return build


def _write_xacc_low(state: State, value: int) -> None:
    mask = (1 << XACC_LOW) - 1
    state.xacc = signed(state.xacc & ~mask | value & mask, XACC_BITS)


def _write_xacc_high(state: State, value: int) -> None:
    state.xacc = signed(state.xacc & ((1 << XACC_LOW) - 1) | (value & 0xFFFF) << XACC_LOW, XACC_BITS)


def _write_to(name: str, mask: int) -> Builder:
    return _write(lambda state, value: setattr(state, name, value & mask))


def _special() -> dict[str, Builder]:
    return {
        "esp.zero.q": _zero("q"), "esp.zero.xacc": _zero("xacc"), "esp.zero.qacc": _zero("qacc"),
        "esp.movx.w.cfg": _write_to("cfg", 0x1FF), "esp.movx.r.cfg": _read(lambda state: state.cfg),
        "esp.movx.w.sar": _write_to("shift", 63), "esp.movx.r.sar": _read(lambda state: state.shift),
        "esp.movx.w.sar.bytes": _write_to("byte_shift", 15),
        "esp.movx.r.sar.bytes": _read(lambda state: state.byte_shift),
        # Of the sum the lower 24 bits alone, which others measured on a chip, too.
        "esp.movx.r.xacc.l": _read(lambda state: signed(state.xacc, XACC_LOW)),
        "esp.movx.r.xacc.h": _read(lambda state: state.xacc >> XACC_LOW & 0xFFFF),
        "esp.movx.w.xacc.l": _write(_write_xacc_low), "esp.movx.w.xacc.h": _write(_write_xacc_high),
        "esp.srs.s.xacc": _shift_xacc(True), "esp.srs.u.xacc": _shift_xacc(False),
        "esp.src.q": _src(""), "esp.src.q.qup": _src("qup"),
        "esp.andq": _bitwise(and_), "esp.orq": _bitwise(or_), "esp.xorq": _bitwise(xor), "esp.notq": _notq,
    }  # fmt: skip


def _moves() -> dict[str, Builder]:
    table: dict[str, Builder] = {}
    parts = (("128", slice(0, 16)), ("l.64", slice(0, 8)), ("h.64", slice(8, 16)))
    for form in ("ip", "xp"):
        table[f"esp.ld.128.usar.{form}"] = _noted_load(form)
        for name, part in parts:
            table[f"esp.vld.{name}.{form}"], table[f"esp.vst.{name}.{form}"] = (
                _move(False, part, form), _move(True, part, form))  # fmt: skip
        for bits in (8, 16, 32):
            table[f"esp.vldbc.{bits}.{form}"] = _broadcast(bits // 8, form)
        for kind in ("s8", "u8", "s16", "u16"):
            table[f"esp.ldqa.{kind}.128.{form}"] = _lanes_to_qacc(kind, form)
    for place, name in enumerate(("l.l", "l.h", "h.l", "h.h")):
        table[f"esp.st.qacc.{name}.128.ip"] = _qacc_memory(True, 128 * place)
        table[f"esp.ld.qacc.{name}.128.ip"] = _qacc_memory(False, 128 * place)
    for bits in (8, 16, 32):
        table[f"esp.movi.{bits}.q"], table[f"esp.movi.{bits}.a"] = _lane_moves(bits, True), _lane_moves(bits, False)
    return table


def _arithmetic() -> dict[str, Builder]:
    table: dict[str, Builder] = {}
    for kind in KINDS:
        low, high = _limits(kind, BITS[kind])
        functions: dict[str, Callable[[int, int], int]] = {
            "vadd": lambda x, y, low=low, high=high: max(low, min(high, x + y)),  # type: ignore[misc]
            "vsub": lambda x, y, low=low, high=high: max(low, min(high, x - y)),  # type: ignore[misc]
            "vmax": max, "vmin": min,
        }  # fmt: skip
        for name, function in functions.items():
            for form in ("", "ld.incp", "st.incp"):
                table[_named(f"esp.{name}.{kind}", form)] = _lanewise(kind, function, form)
        full = -1 if low else high
        for name, test in (("eq", int.__eq__), ("lt", int.__lt__), ("gt", int.__gt__)):
            table[f"esp.vcmp.{name}.{kind}"] = _lanewise(
                kind, lambda x, y, test=test, full=full: full if test(x, y) else 0)  # type: ignore[misc]  # fmt: skip
        table[f"esp.max.{kind}.a"], table[f"esp.min.{kind}.a"] = _horizontal(kind, max), _horizontal(kind, min)
    return table


def _products() -> dict[str, Builder]:
    table: dict[str, Builder] = {}
    for kind in ("s8", "u8", "s16", "u16"):
        for form in ("", "ld.ip", "ld.xp", "st.ip", "st.xp"):
            table[_named(f"esp.vmulas.{kind}.xacc", form)] = _accumulate_xacc(kind, form)
            table[_named(f"esp.vmulas.{kind}.qacc", form)] = _accumulate_qacc(kind, form)
        for form in ("", "ld.incp"):
            table[_named(f"esp.vsmulas.{kind}.qacc", form)] = _accumulate_qacc(kind, form, by_lane=True)
        for form in ("", "ld.incp", "st.incp"):
            table[_named(f"esp.vmul.{kind}", form)] = _product(kind, form)
        table[f"esp.mov.{kind}.qacc"] = _lanes_to_qacc(kind, "")
    return table


def _named(name: str, form: str) -> str:
    return f"{name}.{form}" if form else name


BUILDERS: dict[str, Builder] = {**_special(), **_moves(), **_arithmetic(), **_products()}
