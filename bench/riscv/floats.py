"""Single-precision instructions (F) as compilers write them. Registers are held as their bits; a result that is no
number is the one NaN that RISC-V makes. Flags are not kept, and fused products are rounded once, from their exact sum.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from bench.assembly.engine import in_range
from bench.assembly.lanes import signed
from bench.assembly.program import Step
from bench.riscv.operands import WORD, Builder, Operands
from bench.riscv.state import State

NAN = 0x7FC00000
SIGN = 0x80000000
ROUNDINGS: dict[str, Callable[[float], int]] = {
    "rne": round, "rtz": math.trunc, "rdn": math.floor, "rup": math.ceil,
    "rmm": lambda value: math.floor(abs(value) + 0.5) * (-1 if value < 0 else 1),
}  # fmt: skip


def number(bits: int) -> float:
    return float(struct.unpack("<f", bits.to_bytes(4, "little"))[0])


def bits_of(value: float) -> int:
    """Rounded to the nearest."""
    if math.isnan(value):
        return NAN
    with np.errstate(over="ignore"):
        return int(np.float32(value).view(np.uint32))


def _fused(a: float, b: float, c: float) -> int:
    if not all(map(math.isfinite, (a, b, c))) or 0.0 in (a, b, c):
        return bits_of(a * b + c)  # exact in double precision but for the last rounding
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    near = float(exact)
    if Fraction(near) != exact and not struct.pack("<d", near)[0] & 1:
        near = math.nextafter(near, math.inf if exact > Fraction(near) else -math.inf)  # odd, so that no tie is made
    return bits_of(near)


def _divide(a: float, b: float) -> float:
    if b:
        return a / b
    return math.nan if a == 0 or math.isnan(a) else math.copysign(math.inf, a) * math.copysign(1.0, b)


def _root(a: float) -> float:
    return math.sqrt(a) if a >= 0 else math.nan


def _of_two(function: Callable[[float, float], float]) -> Builder:
    def build(state: State, given: Operands) -> Step:
        f, d, s, t = state.f, given.f(0), given.f(1), given.f(2)

        def step() -> None:
            f[d] = bits_of(function(number(f[s]), number(f[t])))

        return step

    return build


def _of_three(product: int, sum_: int) -> Builder:
    """product * (fs1 * fs2) + sum * fs3."""

    def build(state: State, given: Operands) -> Step:
        f, d, s, t, u = state.f, given.f(0), given.f(1), given.f(2), given.f(3)

        def step() -> None:
            f[d] = _fused(product * number(f[s]), number(f[t]), sum_ * number(f[u]))

        return step

    return build


def _least(state: State, given: Operands) -> Step:
    """fmin.s and fmax.s: of two zeros the sign counts, a NaN loses."""
    f, d, s, t, smallest = state.f, given.f(0), given.f(1), given.f(2), given.name == "fmin.s"

    def step() -> None:
        held = [bits for bits in (f[s], f[t]) if not math.isnan(number(bits))]
        order = sorted(held, key=lambda bits: (number(bits), -(bits >> 31)))
        f[d] = (order[0] if smallest else order[-1]) if order else NAN

    return step


def _signs(function: Callable[[int, int], int]) -> Builder:
    """Bits of the first with a sign that both make; of one operand, of itself."""

    def build(state: State, given: Operands) -> Step:
        f, d, s, t = state.f, given.f(0), given.f(1), given.f(len(given) - 1)

        def step() -> None:
            f[d] = (f[s] & ~SIGN) | function(f[s], f[t]) & SIGN

        return step

    return build


def _compare(test: Callable[[float, float], bool]) -> Builder:
    def build(state: State, given: Operands) -> Step:
        x, f, d, s, t = state.x, state.f, given.to(0), given.f(1), given.f(2)

        def step() -> None:
            x[d] = int(test(number(f[s]), number(f[t])))

        return step

    return build


def _to_whole(low: int, high: int) -> Builder:
    def build(state: State, given: Operands) -> Step:
        x, f, d, s = state.x, state.f, given.to(0), given.f(1)
        rounding = ROUNDINGS[given.text(2) if len(given) > 2 else "rne"]

        def step() -> None:
            value = number(f[s])
            whole = high if math.isnan(value) or value == math.inf else low if value == -math.inf else rounding(value)
            x[d] = max(low, min(high, whole)) & WORD

        return step

    return build


def _of_whole(is_signed: bool) -> Builder:
    def build(state: State, given: Operands) -> Step:
        x, f, d, s = state.x, state.f, given.f(0), given.x(1)

        def step() -> None:
            f[d] = bits_of(float(signed(x[s], 32) if is_signed else x[s]))

        return step

    return build


def _move(to_float: bool) -> Builder:
    def build(state: State, given: Operands) -> Step:
        x, f = state.x, state.f
        d, s = (given.f(0), given.x(1)) if to_float else (given.to(0), given.f(1))

        def step() -> None:
            if to_float:
                f[d] = x[s]
            else:
                x[d] = f[s]

        return step

    return build


def _sqrt(state: State, given: Operands) -> Step:
    f, d, s = state.f, given.f(0), given.f(1)

    def step() -> None:
        f[d] = bits_of(_root(number(f[s])))

    return step


def _memory(writes: bool) -> Builder:
    def build(state: State, given: Operands) -> Step:
        x, f, memory, d, (offset, s) = state.x, state.f, state.memory, given.f(0), given.place(1)
        in_range(offset, -2048, 2047)

        def step() -> None:
            if writes:
                memory.store((x[s] + offset) & WORD, 4, f[d])
            else:
                f[d] = memory.load((x[s] + offset) & WORD, 4)

        return step

    return build


BUILDERS: dict[str, Builder] = {
    "fadd.s": _of_two(lambda s, t: s + t), "fsub.s": _of_two(lambda s, t: s - t),
    "fmul.s": _of_two(lambda s, t: s * t), "fdiv.s": _of_two(_divide), "fsqrt.s": _sqrt,
    "fmadd.s": _of_three(1, 1), "fmsub.s": _of_three(1, -1),
    "fnmadd.s": _of_three(-1, -1), "fnmsub.s": _of_three(-1, 1),
    "fmin.s": _least, "fmax.s": _least,
    "fsgnj.s": _signs(lambda s, t: t), "fsgnjn.s": _signs(lambda s, t: ~t), "fsgnjx.s": _signs(lambda s, t: s ^ t),
    "fmv.s": _signs(lambda s, t: s), "fneg.s": _signs(lambda s, t: ~s), "fabs.s": _signs(lambda s, t: 0),
    "feq.s": _compare(lambda s, t: s == t), "flt.s": _compare(lambda s, t: s < t),
    "fle.s": _compare(lambda s, t: s <= t), "fgt.s": _compare(lambda s, t: s > t),
    "fge.s": _compare(lambda s, t: s >= t),
    "fcvt.w.s": _to_whole(-(1 << 31), (1 << 31) - 1), "fcvt.wu.s": _to_whole(0, WORD),
    "fcvt.s.w": _of_whole(True), "fcvt.s.wu": _of_whole(False),
    "fmv.w.x": _move(True), "fmv.x.w": _move(False), "fmv.s.x": _move(True), "fmv.x.s": _move(False),
    "flw": _memory(False), "fsw": _memory(True),
}  # fmt: skip
