"""Vector instructions that both processors have, as what makes them of lanes' types and forms.

An instruction reads all of its operands before it writes any. `qu` of a load that rides along is written before the
instruction's own result.
"""

import struct
from collections.abc import Callable
from operator import mul

from bench.assembly.engine import WORD, Builder, Operands, State, in_range
from bench.assembly.lanes import BITS, LANES, funnel, signed
from bench.assembly.program import Step

WHOLE, LOW, HIGH = slice(0, 16), slice(0, 8), slice(8, 16)
#: Computes and returns a vector register with its new content, or None.
Work = Callable[[], "tuple[int, bytes] | None"]


def limits(kind: str, bits: int) -> tuple[int, int]:
    """The least and the largest number of so many bits."""
    return (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if kind[0] == "s" else (0, (1 << bits) - 1)


def advance(state: State, given: Operands, i: int, how: str, size: int = 16, wide: int = 128) -> Callable[[], int]:
    """The step of an address: `ip` a constant, `xp` a register, `incp` the access's own size, or none."""
    if how in ("", "incp"):
        return lambda: size if how else 0
    if how == "xp":
        a, register = state.a, given.address(i)
        return lambda: a[register]
    number = in_range(given.number(i), -wide * size, (wide - 1) * size, size)
    return lambda: number


def ride(state: State, given: Operands, form: str, kind: str) -> tuple[Callable[[], None], int]:
    """The access that rides along, and how many operands it takes."""
    if not form:
        return lambda: None, 0
    verb, how, *_ = form.split(".")
    size = BITS[kind] // 8 if verb == "ldbc" else 16
    a, q, u, s, by = state.a, state.q, given.vector(0), given.address(1), advance(state, given, 2, how, size, 32)

    def access() -> None:
        if verb == "st":
            state.store(a[s], q[u])
        else:
            q[u] = state.load(a[s], size) * (16 // size)
        a[s] = (a[s] + by()) & WORD

    return access, 2 if how == "incp" else 3


def riding(kind: str, form: str, work: Callable[[State, Operands, int], Work]) -> Builder:
    """`work` on the operands behind those of the access that rides along. What is stored is from before."""

    def build(state: State, given: Operands) -> Step:
        rides, first = ride(state, given, form, kind)
        q, compute = state.q, work(state, given, first)

        def step() -> None:
            written = compute()
            rides()
            if written is not None:
                q[written[0]] = written[1]

        return step

    return build


def move(writes: bool, part: slice, form: str, notes_shift: bool = False) -> Builder:
    """A vector or half of one to or from memory; without `form` an offset that changes no register."""
    size = part.stop - part.start

    def build(state: State, given: Operands) -> Step:
        a, q, u, s = state.a, state.q, given.vector(0), given.address(1)
        by = advance(state, given, 2, form or "ip", size)

        def step() -> None:
            address = a[s] if form else a[s] + by()
            if notes_shift:
                state.byte_shift = address & 15
            if writes:
                state.store(address, q[u][part])
            else:
                q[u] = q[u][: part.start] + state.load(address, size) + q[u][part.stop :]
            if form:
                a[s] = (a[s] + by()) & WORD

        return step

    return build


def broadcast(size: int, form: str) -> Builder:
    """qu = one number from memory in all lanes."""

    def build(state: State, given: Operands) -> Step:
        a, q, u, s, by = state.a, state.q, given.vector(0), given.address(1), advance(state, given, 2, form, size)

        def step() -> None:
            q[u] = state.load(a[s], size) * (16 // size)
            a[s] = (a[s] + by()) & WORD

        return step

    return build


def _moved(state: State, given: Operands, first: int, form: str) -> Work:
    """With `.qup` the next operand becomes what lies in it and the one behind it at SAR_BYTE."""
    if not form.endswith(".qup"):
        return lambda: None
    q, s, t = state.q, given.vector(first), given.vector(first + 1)
    return lambda: (s, funnel(q[s], q[t], state.byte_shift))


def accumulate_total(kind: str, form: str) -> Builder:
    """The one accumulator of 40 bits += the sum of all products."""
    of_lanes, (low, high) = struct.Struct("<" + LANES[kind]), limits(kind, 40)

    def work(state: State, given: Operands, first: int) -> Work:
        q, x, y, moved = state.q, given.vector(first), given.vector(first + 1), _moved(state, given, first + 2, form)

        def compute() -> tuple[int, bytes] | None:
            total = state.accx + sum(map(mul, of_lanes.unpack(q[x]), of_lanes.unpack(q[y])))
            state.accx = low if total < low else high if total > high else total
            return moved()

        return compute

    return riding(kind, form, work)


def accumulate_lanes(kind: str, form: str, width: int, by_lane: bool = False) -> Builder:
    """Each product to the lane of QACC with its number, of `width` bits; `by_lane`: with one lane of qy."""
    of_lanes, (low, high) = struct.Struct("<" + LANES[kind]), limits(kind, width)
    mask = (1 << width) - 1

    def work(state: State, given: Operands, first: int) -> Work:
        q, x, y, moved = state.q, given.vector(first), given.vector(first + 1), _moved(state, given, first + 2, form)
        lane = in_range(given.number(first + 2), 0, 128 // BITS[kind] - 1) if by_lane else None

        def compute() -> tuple[int, bytes] | None:
            sums, other = state.qacc.lanes(width), of_lanes.unpack(q[y])
            products = map(mul, of_lanes.unpack(q[x]), other if lane is None else (other[lane],) * len(other))
            for i, product in enumerate(products):
                total = (sums[i] if low else sums[i] & mask) + product
                total = low if total < low else high if total > high else total
                sums[i] = total if low else signed(total, width)
            return moved()

        return compute

    return riding(kind, form, work)


def sums_moved(writes: bool, at: int, size: int) -> Builder:
    """`size` bytes of QACC, from byte `at` on, to or from memory."""
    mask = (1 << 8 * size) - 1

    def build(state: State, given: Operands) -> Step:
        a, s, by = state.a, given.address(0), advance(state, given, 1, "ip", size)

        def step() -> None:
            bits = state.qacc.bits()
            if writes:
                state.store(a[s], (bits >> 8 * at & mask).to_bytes(size, "little"))
            else:
                new = int.from_bytes(state.load(a[s], size), "little")
                state.qacc.set_bits(bits & ~(mask << 8 * at) | new << 8 * at)
            a[s] = (a[s] + by()) & WORD

        return step

    return build


def read(function: Callable[[State], int]) -> Builder:
    """A register = what `function` returns."""

    def build(state: State, given: Operands) -> Step:
        a, d = state.a, given.address(0)

        def step() -> None:
            a[d] = function(state) & WORD

        return step

    return build


def write(name: str, mask: int) -> Builder:
    """A special register = the low bits of a register."""

    def build(state: State, given: Operands) -> Step:
        a, s = state.a, given.address(0)
        return lambda: setattr(state, name, a[s] & mask)

    return build


def zero_total(state: State, given: Operands) -> Step:
    return lambda: setattr(state, "accx", 0)


def zero_lanes(state: State, given: Operands) -> Step:
    return lambda: state.qacc.set_bits(0)


def named(name: str, form: str) -> str:
    """An instruction's name with its form."""
    return f"{name}.{form}" if form else name
