"""Instructions of the accumulators: ACCX, of all products, and QACC, of each lane."""

from __future__ import annotations

import struct
from operator import mul
from typing import Any

from bench.assembly.engine import in_range
from bench.assembly.lanes import BITS, LANES, funnel, lanes, saturated, signed
from bench.assembly.program import Step
from bench.xtensa.base import WORD, Builder, Operands
from bench.xtensa.pie_access import behind, broadcast, ride
from bench.xtensa.state import State


def _accumulate_accx(kind: str, suffix: str, shifts: bool) -> Builder:
    """ACCX += the sum of all products; with `shifts` (.qup) qs0 becomes what lies in qs0 and qs1 at SAR_BYTE."""
    form = struct.Struct("<" + LANES[kind])
    low, high = (-(1 << 39), (1 << 39) - 1) if kind[0] == "s" else (0, (1 << 40) - 1)

    def build(state: State, given: Operands) -> Step:
        rides, first, q = ride(state, given, suffix), behind(suffix), state.q
        x, y = given.vector(first), given.vector(first + 1)
        s0, s1 = (given.vector(first + 2), given.vector(first + 3)) if shifts else (0, 0)

        def step() -> None:
            total = state.accx + sum(map(mul, form.unpack(q[x]), form.unpack(q[y])))
            state.accx = low if total < low else high if total > high else total
            moved = funnel(q[s0], q[s1], state.byte_shift) if shifts else b""
            if rides is not None:
                rides()
            if shifts:
                q[s0] = moved

        return step

    return build


def _accumulate_qacc(kind: str, suffix: str, shifts: bool) -> Builder:
    """Each product to the lane of QACC with its number; 20 bits for 8, 40 for 16."""
    form, width = struct.Struct("<" + LANES[kind]), 20 if kind.endswith("8") else 40
    limits = (-(1 << (width - 1)), (1 << (width - 1)) - 1) if kind[0] == "s" else (0, (1 << width) - 1)

    def build(state: State, given: Operands) -> Step:
        first, q = behind(suffix), state.q
        rides = broadcast(state, given, kind) if suffix == "ldbc.incp" else ride(state, given, suffix)
        x, y = given.vector(first), given.vector(first + 1)
        s0, s1 = (given.vector(first + 2), given.vector(first + 3)) if shifts else (0, 0)

        def step() -> None:
            _add_products(state, form.unpack(q[x]), form.unpack(q[y]), width, limits)
            moved = funnel(q[s0], q[s1], state.byte_shift) if shifts else b""
            if rides is not None:
                rides()
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
        rides, first, q = ride(state, given, suffix), behind(suffix), state.q
        x, y, lane = given.vector(first), given.vector(first + 1), in_range(given.number(first + 2), 0, count - 1)

        def step() -> None:
            factor = form.unpack(q[y])[lane]
            _add_products(state, form.unpack(q[x]), (factor,) * count, width, limits)
            if rides is not None:
                rides()

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
            state.q[u] = struct.pack("<" + LANES[kind], *(saturated(lane, bits) for lane in sums))

        return step

    return build


def _srs(state: State, given: Operands) -> Step:
    """ACCX >>= as; au = ACCX, saturated."""
    u, s = given.address(0), given.address(1)
    in_range(given.number(2), 0, 0)

    def step() -> None:
        state.accx >>= state.a[s] & 63
        state.a[u] = saturated(state.accx, 32) & WORD

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


def _table() -> dict[str, Builder]:
    table: dict[str, Builder] = {
        "ee.zero.accx": _zero_accx, "ee.zero.qacc": _zero_qacc, "ee.srs.accx": _srs,
        "ee.srcmb.s8.qacc": _srcmb("s8"), "ee.srcmb.s16.qacc": _srcmb("s16"),
        "rur.accx_0": _rur_accx(0), "rur.accx_1": _rur_accx(1),
    }  # fmt: skip
    for i in range(5):
        table[f"rur.qacc_l_{i}"], table[f"rur.qacc_h_{i}"] = _rur_qacc(32 * i), _rur_qacc(160 + 32 * i)
    for which in ("l", "h"):
        for size, name in ((16, "l.128"), (4, "h.32")):
            table[f"ee.st.qacc_{which}.{name}.ip"] = _qacc_move(True, which == "h", size)
            table[f"ee.ld.qacc_{which}.{name}.ip"] = _qacc_move(False, which == "h", size)
    for kind in ("s8", "u8", "s16", "u16"):
        table.update(_products(kind))
        table[f"ee.ldqa.{kind}.128.ip"], table[f"ee.mov.{kind}.qacc"] = _ldqa(kind, False), _ldqa(kind, True)
    for kind in ("s8", "s16"):
        table[f"ee.vsmulas.{kind}.qacc"] = _accumulate_scalar(kind, "")
        table[f"ee.vsmulas.{kind}.qacc.ld.incp"] = _accumulate_scalar(kind, "ld.incp")
    return table


def _products(kind: str) -> dict[str, Builder]:
    table = {f"ee.vmulas.{kind}.qacc": _accumulate_qacc(kind, "", False),
             f"ee.vmulas.{kind}.accx": _accumulate_accx(kind, "", False)}  # fmt: skip
    for suffix in ("ld.ip", "ld.xp", "ldbc.incp"):
        for shifts, end in ((False, ""), (True, ".qup")):
            table[f"ee.vmulas.{kind}.qacc.{suffix}{end}"] = _accumulate_qacc(kind, suffix, shifts)
            if suffix != "ldbc.incp":
                table[f"ee.vmulas.{kind}.accx.{suffix}{end}"] = _accumulate_accx(kind, suffix, shifts)
    return table


BUILDERS: dict[str, Builder] = _table()
