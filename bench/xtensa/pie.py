"""The ESP32-S3's vector instructions (PIE): every `ee.*` that ESP-NN or this project's kernels use, and their kin.

Semantics after the chapter "Processor Instruction Extensions" of Espressif's "ESP32-S3 Technical Reference Manual" and
its summary in Espressif's ESP-DL (tools/agents/skills/esp32s3-pie-simd); second opinion: Espressif's QEMU
(target/xtensa/translate_tie_esp32s3.c), which saturates to -(2^n - 1) where the manual says -2^n, as here.

Loads and stores take the address rounded down to their size.
"""

import struct
from collections.abc import Callable
from operator import and_, or_, xor

from bench.assembly.engine import WORD, Builder, Operands, State, in_range
from bench.assembly.lanes import BITS, LANES, funnel, lanes, packed, saturated
from bench.assembly.program import Step
from bench.assembly.vectors import (
    HIGH,
    LOW,
    WHOLE,
    Work,
    accumulate_lanes,
    accumulate_total,
    advance,
    broadcast,
    move,
    named,
    read,
    riding,
    sums_moved,
    write,
    zero_lanes,
    zero_total,
)

NARROW = ("s8", "u8", "s16", "u16")
#: Bits of a lane's sum in QACC, by the lane's.
SUM_BITS = {8: 20, 16: 40}


def _lanewise(kind: str, function: Callable[[int, int], int], form: str = "") -> Builder:
    """qa = function(qx, qy) in each lane."""
    of_lanes = struct.Struct("<" + LANES[kind])

    def work(state: State, given: Operands, first: int) -> Work:
        q, d, x, y = state.q, *(given.vector(first + i) for i in range(3))
        return lambda: (d, of_lanes.pack(*map(function, of_lanes.unpack(q[x]), of_lanes.unpack(q[y]))))

    return riding(kind, form, work)


def _vmul(kind: str, form: str) -> Builder:
    """qz = qx * qy >> SAR, the low bits."""

    def work(state: State, given: Operands, first: int) -> Work:
        q, d, x, y = state.q, *(given.vector(first + i) for i in range(3))
        return lambda: (d, packed([s * t >> state.shift for s, t in
                                   zip(lanes(q[x], kind), lanes(q[y], kind), strict=True)], kind))  # fmt: skip

    return riding(kind, form, work)


def _src_load(form: str) -> Builder:
    """qs0 = what lies in qs0 and qs1 at SAR_BYTE, and a load rides along."""

    def work(state: State, given: Operands, first: int) -> Work:
        q, s, t = state.q, given.vector(first), given.vector(first + 1)
        return lambda: (s, funnel(q[s], q[t], state.byte_shift))

    return riding("s8", form, work)


def _src_qup(state: State, given: Operands) -> Step:
    """qa = what lies in qs0 and qs1 at SAR_BYTE; then qs0 = qs1."""
    q, d, s, t = state.q, *(given.vector(i) for i in range(3))

    def step() -> None:
        result, q[s] = funnel(q[s], q[t], state.byte_shift), q[t]
        q[d] = result

    return step


def _of_vectors(count: int, function: Callable[..., bytes]) -> Builder:
    """qa = function(state, so many vectors)."""

    def build(state: State, given: Operands) -> Step:
        q, d, *sources = state.q, *(given.vector(i) for i in range(count + 1))

        def step() -> None:
            q[d] = function(state, *(q[i] for i in sources))

        return step

    return build


def _bitwise(function: Callable[[int, int], int]) -> Builder:
    return _of_vectors(2, lambda state, x, y: bytes(map(function, x, y)))


def _zip(kind: str, apart: bool) -> Builder:
    """Two vectors in turn, a lane of each; `apart`: the contrary."""

    def build(state: State, given: Operands) -> Step:
        q, x, y = state.q, given.vector(0), given.vector(1)

        def step() -> None:
            s, t = lanes(q[x], kind), lanes(q[y], kind)
            both = s + t if apart else tuple(lane for pair in zip(s, t, strict=True) for lane in pair)
            first, second = (both[0::2], both[1::2]) if apart else (both[: len(s)], both[len(s) :])
            q[x], q[y] = packed(first, kind), packed(second, kind)

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


def _lanes_to_sums(kind: str, from_memory: bool) -> Builder:
    """Each lane of a vector, extended, to its lane of QACC."""
    width = SUM_BITS[BITS[kind]]

    def build(state: State, given: Operands) -> Step:
        a, q, s = state.a, state.q, given.address(0) if from_memory else given.vector(0)
        by = advance(state, given, 1, "ip" if from_memory else "")

        def step() -> None:
            state.qacc.lanes(width)[:] = lanes(state.load(a[s]) if from_memory else q[s], kind)
            if from_memory:
                a[s] = (a[s] + by()) & WORD

        return step

    return build


def _srcmb(kind: str) -> Builder:
    """QACC >>= as in each lane; qu = the lanes, saturated."""
    bits = BITS[kind]

    def build(state: State, given: Operands) -> Step:
        u, s = given.vector(0), given.address(1)
        in_range(given.number(2), 0, 0)

        def step() -> None:
            sums = state.qacc.lanes(SUM_BITS[bits])
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


def _moves() -> dict[str, Builder]:
    table = {
        "mv.qr": _of_vectors(1, lambda state, x: x), "ee.zero.q": _of_vectors(0, lambda state: bytes(16)),
        "ee.notq": _of_vectors(1, lambda state, x: bytes(~byte & 0xFF for byte in x)),
        "ee.andq": _bitwise(and_), "ee.orq": _bitwise(or_), "ee.xorq": _bitwise(xor),
        "ee.vsl.32": _of_vectors(1, lambda state, x: packed([v << state.shift for v in lanes(x, "s32")], "s32")),
        "ee.vsr.32": _of_vectors(1, lambda state, x: packed([v >> state.shift for v in lanes(x, "s32")], "s32")),
        "ee.movi.32.q": _word_to_vector, "ee.movi.32.a": _word_of_vector,
        "ee.src.q": _of_vectors(2, lambda state, x, y: funnel(x, y, state.byte_shift)), "ee.src.q.qup": _src_qup,
        "ee.src.q.ld.ip": _src_load("ld.ip"), "ee.src.q.ld.xp": _src_load("ld.xp"),
        "ld.qr": move(False, WHOLE, ""), "st.qr": move(True, WHOLE, ""),
        "rur.sar_byte": read(lambda state: state.byte_shift), "wur.sar_byte": write("byte_shift", 15),
    }  # fmt: skip
    for form in ("ip", "xp"):
        table[f"ee.ld.128.usar.{form}"] = move(False, WHOLE, form, notes_shift=True)
        for writes, verb in ((False, "vld"), (True, "vst")):
            for part, name in ((WHOLE, "128"), (LOW, "l.64"), (HIGH, "h.64")):
                table[f"ee.{verb}.{name}.{form}"] = move(writes, part, form)
    for bits in (8, 16, 32):
        for form in ("", "ip", "xp"):
            table[named(f"ee.vldbc.{bits}", form)] = broadcast(bits // 8, form)
        table[f"ee.vzip.{bits}"], table[f"ee.vunzip.{bits}"] = _zip(f"u{bits}", False), _zip(f"u{bits}", True)
    return table


def _arithmetic() -> dict[str, Builder]:
    table: dict[str, Builder] = {}
    for kind in ("s8", "s16", "s32"):
        functions: dict[str, Callable[[int, int], int]] = {
            "vadds": lambda x, y, bits=BITS[kind]: saturated(x + y, bits),  # type: ignore[misc]
            "vsubs": lambda x, y, bits=BITS[kind]: saturated(x - y, bits),  # type: ignore[misc]
            "vmax": max, "vmin": min,
        }  # fmt: skip
        for name, function in functions.items():
            for form in ("", "ld.incp", "st.incp"):
                table[named(f"ee.{name}.{kind}", form)] = _lanewise(kind, function, form)
        table[f"ee.vcmp.eq.{kind}"] = _lanewise(kind, lambda x, y: -int(x == y))
        table[f"ee.vcmp.lt.{kind}"] = _lanewise(kind, lambda x, y: -int(x < y))
        table[f"ee.vcmp.gt.{kind}"] = _lanewise(kind, lambda x, y: -int(x > y))
    for kind in NARROW:
        for form in ("", "ld.incp", "st.incp"):
            table[named(f"ee.vmul.{kind}", form)] = _vmul(kind, form)
    return table


def _sums() -> dict[str, Builder]:
    table: dict[str, Builder] = {
        "ee.zero.accx": zero_total, "ee.zero.qacc": zero_lanes, "ee.srs.accx": _srs,
        "ee.srcmb.s8.qacc": _srcmb("s8"), "ee.srcmb.s16.qacc": _srcmb("s16"),
        "rur.accx_0": read(lambda state: state.accx), "rur.accx_1": read(lambda state: state.accx >> 32 & 0xFF),
    }  # fmt: skip
    for which, start in (("l", 0), ("h", 20)):
        for i in range(5):
            table[f"rur.qacc_{which}_{i}"] = read(lambda state, by=8 * start + 32 * i: state.qacc.bits() >> by)
        for name, at, size in (("l.128", start, 16), ("h.32", start + 16, 4)):
            table[f"ee.st.qacc_{which}.{name}.ip"] = sums_moved(True, at, size)
            table[f"ee.ld.qacc_{which}.{name}.ip"] = sums_moved(False, at, size)
    forms = ("ld.ip", "ld.xp", "ld.ip.qup", "ld.xp.qup")
    for kind in NARROW:
        width = SUM_BITS[BITS[kind]]
        for form in ("", *forms):
            table[named(f"ee.vmulas.{kind}.accx", form)] = accumulate_total(kind, form)
        for form in ("", *forms, "ldbc.incp", "ldbc.incp.qup"):
            table[named(f"ee.vmulas.{kind}.qacc", form)] = accumulate_lanes(kind, form, width)
        for form in ("", "ld.incp") if kind[0] == "s" else ():
            table[named(f"ee.vsmulas.{kind}.qacc", form)] = accumulate_lanes(kind, form, width, by_lane=True)
        table[f"ee.ldqa.{kind}.128.ip"] = _lanes_to_sums(kind, True)
        table[f"ee.mov.{kind}.qacc"] = _lanes_to_sums(kind, False)
    return table


BUILDERS: dict[str, Builder] = {**_moves(), **_arithmetic(), **_sums()}
