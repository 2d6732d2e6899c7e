"""Every vector instruction of the interpreter, by what numpy makes of its operands."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from bench.assembly.engine import RunError
from bench.assembly.memory import Memory
from bench.riscv import pie
from bench.riscv.machine import Machine
from bench.riscv.operands import REGISTERS
from bench.riscv.source import parse
from bench.riscv.state import State

Vector = NDArray[np.uint8]
KINDS = {"s8": np.int8, "u8": np.uint8, "s16": np.int16, "u16": np.uint16, "s32": np.int32, "u32": np.uint32}
NARROW = ("s8", "u8", "s16", "u16")
A0, A1, A2, A3 = (REGISTERS[name] for name in ("a0", "a1", "a2", "a3"))


@dataclass
class Case:
    """An instruction's registers before it, as random bytes: a0 an address in `block`, a1 a step, and a2 a number."""

    text: str
    choose: np.random.Generator
    machine: Machine = field(init=False)
    before: list[Vector] = field(init=False)

    def __post_init__(self) -> None:
        memory = Memory(1 << 16)
        self.block = memory.add("block", self.choose.bytes(96), writable=True)
        self.machine = Machine(parse(self.text), memory)
        state = self.state
        state.enabled = True
        extremes = self.choose.integers(0, 4, (8, 16)) == 0
        self.before = list(np.where(extremes, self.choose.choice([0, 127, 128, 255], (8, 16)),
                                    self.choose.integers(0, 256, (8, 16))).astype(np.uint8))  # fmt: skip
        state.q[:] = [one.tobytes() for one in self.before]
        state.x[A0] = self.block + 32 + int(self.choose.integers(16))
        state.x[A1] = int(self.choose.integers(1, 17))
        state.x[A2] = int(self.choose.integers(0, 1 << 32))
        state.cfg = int(self.choose.integers(4))
        state.byte_shift = int(self.choose.integers(16))
        state.shift = int(self.choose.integers(33))
        state.xacc = int(self.choose.choice([0, (1 << 39) - 9, -(1 << 39) + 9, 123456789]))
        near = [0, (1 << 31) - 100, -(1 << 31) + 100, 77]
        state.qacc.set_bits(sum((int(self.choose.choice(near)) & 0xFFFFFFFF) << 32 * i for i in range(16)))

    @property
    def state(self) -> State:
        return self.machine.state

    def q(self, i: int, kind: str = "u8") -> NDArray[np.int64]:
        """Before."""
        return self.before[i].view(KINDS[kind]).astype(np.int64)

    def run(self, at: int = 0) -> None:
        assert self.machine.run_one(at) is None

    def after(self, i: int, kind: str = "u8") -> NDArray[np.int64]:
        return np.frombuffer(self.state.q[i], KINDS[kind]).astype(np.int64)

    def at(self, address: int, size: int = 16) -> Vector:
        return np.frombuffer(self.machine.memory.content(address, size), np.uint8)

    def read(self, size: int = 16) -> int:
        """Where a load of a0 reads: there, or rounded down."""
        return self.state.x[A0] if self.state.cfg & 2 else self.state.x[A0] & -size

    def written(self, size: int = 16) -> int:
        return self.state.x[A0] if self.state.cfg & 1 else self.state.x[A0] & -size


def cases(text: str, count: int = 12) -> Iterator[Case]:
    for seed in range(count):
        yield Case(text, np.random.default_rng(seed))


def limited(values: NDArray[np.int64], kind: str) -> NDArray[np.int64]:
    limits = np.iinfo(KINDS[kind])
    return np.clip(values, limits.min, limits.max)


def sums_of(state: State, kind: str) -> list[int]:
    """QACC's lanes as numbers of the kind's sign, four times as wide as its own."""
    width = 32 if kind.endswith("8") else 64
    bits = state.qacc.bits()
    lanes = [bits >> width * i & ((1 << width) - 1) for i in range(512 // width)]
    return [lane - (1 << width) if kind[0] == "s" and lane >> (width - 1) else lane for lane in lanes]


Lanewise = Callable[[NDArray[np.int64], NDArray[np.int64], int, str], NDArray[np.int64]]
INCP = ("", ".ld.incp", ".st.incp")
LANEWISE: dict[str, tuple[Lanewise, tuple[str, ...], tuple[str, ...]]] = {
    "vadd": (lambda x, y, sar, kind: limited(x + y, kind), tuple(KINDS), INCP),
    "vsub": (lambda x, y, sar, kind: limited(x - y, kind), tuple(KINDS), INCP),
    "vmax": (lambda x, y, sar, kind: np.maximum(x, y), tuple(KINDS), INCP),
    "vmin": (lambda x, y, sar, kind: np.minimum(x, y), tuple(KINDS), INCP),
    "vmul": (lambda x, y, sar, kind: x * y >> sar, NARROW, INCP),
    "vcmp.eq": (lambda x, y, sar, kind: -(x == y).astype(np.int64), tuple(KINDS), ("",)),
    "vcmp.lt": (lambda x, y, sar, kind: -(x < y).astype(np.int64), tuple(KINDS), ("",)),
    "vcmp.gt": (lambda x, y, sar, kind: -(x > y).astype(np.int64), tuple(KINDS), ("",)),
}
LANEWISE_NAMES = {f"esp.{name}.{kind}{form}": (name, kind, form) for name, (_, kinds, forms) in LANEWISE.items()
                  for kind in kinds for form in forms}  # fmt: skip


@pytest.mark.parametrize("name", LANEWISE_NAMES)
def test_lane_by_lane(name: str) -> None:
    """With a load or store that rides along, of a vector at a0, which then moves on by 16."""
    base, kind, form = LANEWISE_NAMES[name]
    for case in cases(f"{name} {'q4, a0, ' if form else ''}q5, q1, q2"):
        address, read, written = case.state.x[A0], case.read(), case.written()
        old = case.at(read).copy()
        case.run()
        expected = LANEWISE[base][0](case.q(1, kind), case.q(2, kind), case.state.shift, kind)
        np.testing.assert_array_equal(case.after(5, kind), expected.astype(KINDS[kind]).astype(np.int64))
        assert case.state.x[A0] == address + (16 if form else 0)
        if form == ".ld.incp":
            np.testing.assert_array_equal(case.after(4), old)
        if form == ".st.incp":
            np.testing.assert_array_equal(case.at(written), case.before[4])


RIDES = ("", ".ld.ip", ".ld.xp", ".st.ip", ".st.xp")
ACCUMULATE = {f"esp.vmulas.{kind}.{to}{form}": (kind, to, form) for kind in NARROW for to in ("xacc", "qacc")
              for form in RIDES}  # fmt: skip


@pytest.mark.parametrize("name", ACCUMULATE)
def test_products_are_accumulated(name: str) -> None:
    kind, to, form = ACCUMULATE[name]
    ride = f"q4, a0, {'a1' if form.endswith('xp') else '-32'}, " if form else ""
    for case in cases(f"{name} {ride}q1, q2"):
        address, step, read, written = case.state.x[A0], case.state.x[A1], case.read(), case.written()
        loaded, total, sums = case.at(read).copy(), case.state.xacc, sums_of(case.state, kind)
        if kind[0] == "u":
            total = case.state.xacc = abs(total)
        case.run()
        products = case.q(1, kind) * case.q(2, kind)
        bits = 40 if to == "xacc" else 32 if kind.endswith("8") else 64
        low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if kind[0] == "s" else (0, (1 << bits) - 1)
        if to == "xacc":
            assert case.state.xacc == min(high, max(low, total + int(products.sum())))
        else:
            expected = [min(high, max(low, a + int(b))) for a, b in zip(sums, products, strict=True)]
            assert sums_of(case.state, kind) == expected
        if form.startswith(".ld"):
            np.testing.assert_array_equal(case.after(4), loaded)
        if form.startswith(".st"):
            np.testing.assert_array_equal(case.at(written), case.before[4])
        assert case.state.x[A0] == address + (0 if not form else step if form.endswith("xp") else -32)


@pytest.mark.parametrize("kind", NARROW)
@pytest.mark.parametrize("form", ["", ".ld.incp"])
def test_products_with_one_lane(kind: str, form: str) -> None:
    width = 32 if kind.endswith("8") else 64
    low, high = (-(1 << (width - 1)), (1 << (width - 1)) - 1) if kind[0] == "s" else (0, (1 << width) - 1)
    for lane in (0, 3, 128 // (width // 4) - 1):
        for case in cases(f"esp.vsmulas.{kind}.qacc{form} {'q4, a0, ' if form else ''}q1, q2, {lane}", 4):
            sums, loaded = sums_of(case.state, kind), case.at(case.read()).copy()
            case.run()
            products = case.q(1, kind) * case.q(2, kind)[lane]
            expected = [min(high, max(low, a + int(b))) for a, b in zip(sums, products, strict=True)]
            assert sums_of(case.state, kind) == expected
            if form:
                np.testing.assert_array_equal(case.after(4), loaded)


PARTS = {"128": slice(0, 16), "l.64": slice(0, 8), "h.64": slice(8, 16)}


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("form", ["ip", "xp"])
@pytest.mark.parametrize("verb", ["vld", "vst"])
def test_moves(verb: str, part: str, form: str) -> None:
    """At any address where CFG says so, else rounded down."""
    size = 16 if part == "128" else 8
    addresses = set()
    for case in cases(f"esp.{verb}.{part}.{form} q5, a0, {'-16' if form == 'ip' else 'a1'}", 24):
        address, by = case.state.x[A0], -16 if form == "ip" else case.state.x[A1]
        place = case.read(size) if verb == "vld" else case.written(size)
        addresses.add(place % size)
        case.run()
        held = np.frombuffer(case.state.q[5], np.uint8)
        np.testing.assert_array_equal(case.at(place, size), held[PARTS[part]])
        kept = held if verb == "vst" else np.delete(held, PARTS[part])
        np.testing.assert_array_equal(kept, case.before[5] if verb == "vst" else np.delete(case.before[5], PARTS[part]))
        assert case.state.x[A0] == address + by
        assert not case.machine.memory.strays
    assert len(addresses) > 2


@pytest.mark.parametrize("bits", [8, 16, 32])
@pytest.mark.parametrize("form", ["ip", "xp"])
def test_broadcasts(bits: int, form: str) -> None:
    size = bits // 8
    for case in cases(f"esp.vldbc.{bits}.{form} q5, a0, {size if form == 'ip' else 'a1'}"):
        address, read = case.state.x[A0], case.read(size)
        case.run()
        np.testing.assert_array_equal(case.after(5), np.tile(case.at(read, size), 16 // size))
        assert case.state.x[A0] == address + (size if form == "ip" else case.state.x[A1])


@pytest.mark.parametrize("form", ["ip", "xp"])
def test_a_load_that_notes_the_offset(form: str) -> None:
    """What lies at any address, of two loads and a shift."""
    step = "16" if form == "ip" else "a1"
    for case in cases(f"esp.ld.128.usar.{form} q1, a0, {step}\n esp.ld.128.usar.{form} q2, a0, {step}\n"
                      "esp.src.q q5, q1, q2\n esp.src.q.qup q6, q1, q2\n esp.movx.r.sar.bytes a3"):  # fmt: skip
        address, case.state.x[A1] = case.state.x[A0], 16
        for at in range(5):
            case.run(at)
        np.testing.assert_array_equal(case.after(5), case.at(address))
        np.testing.assert_array_equal(case.after(6), case.at(address))
        np.testing.assert_array_equal(case.after(1), case.after(2))
        assert case.state.x[A3] == address & 15


@pytest.mark.parametrize("place, part", list(enumerate(("l.l", "l.h", "h.l", "h.h"))))
def test_qacc_to_memory_and_back(place: int, part: str) -> None:
    for case in cases(f"esp.st.qacc.{part}.128.ip a0, 16\n esp.ld.qacc.{part}.128.ip a0, -16"):
        case.state.x[A0] &= -16
        address, whole = case.state.x[A0], case.state.qacc.bits()
        case.run()
        own = whole >> 128 * place & ((1 << 128) - 1)
        assert int.from_bytes(case.at(address).tobytes(), "little") == own
        case.state.qacc.set_bits(0)
        case.state.x[A0] = address
        case.run(1)
        assert case.state.qacc.bits() == own << 128 * place
        assert case.state.x[A0] == address - 16


def test_sums_of_bytes_are_stored_in_order() -> None:
    """As ESP-NN takes them: 16 sums of 32 bits."""
    text = "esp.zero.qacc\n esp.vmulas.s8.qacc q1, q2\n" + "\n".join(
        f"esp.st.qacc.{part}.128.ip a0, 16" for part in ("l.l", "l.h", "h.l", "h.h"))  # fmt: skip
    for case in cases(text):
        address = case.state.x[A0] = case.block
        for at in range(6):
            case.run(at)
        np.testing.assert_array_equal(case.at(address, 64).view("<i4"), case.q(1, "s8") * case.q(2, "s8"))


@pytest.mark.parametrize("kind", NARROW)
@pytest.mark.parametrize("form", ["", "ip", "xp"])
def test_lanes_to_qacc(kind: str, form: str) -> None:
    text = {"": f"esp.mov.{kind}.qacc q1", "ip": f"esp.ldqa.{kind}.128.ip a0, -32",
            "xp": f"esp.ldqa.{kind}.128.xp a0, a1"}[form]  # fmt: skip
    for case in cases(text):
        source = case.at(case.read()).copy() if form else case.before[1]
        case.run()
        assert sums_of(case.state, kind) == source.view(KINDS[kind]).tolist()


@pytest.mark.parametrize("kind", KINDS)
def test_the_largest_and_the_least_lane(kind: str) -> None:
    for case in cases(f"esp.max.{kind}.a q1, a3\n esp.min.{kind}.a q1, a3"):
        case.run()
        assert case.state.x[A3] == int(case.q(1, kind).max()) & 0xFFFFFFFF
        case.run(1)
        assert case.state.x[A3] == int(case.q(1, kind).min()) & 0xFFFFFFFF


def test_the_sum_of_all_is_read_in_halves() -> None:
    """Of 24 bits and 16, the lower with its sign: a sum of more is not what is read."""
    text = ("esp.movx.r.xacc.l a3\n esp.movx.r.xacc.h a2\n esp.zero.xacc\n esp.movx.w.xacc.l a3\n esp.movx.w.xacc.h a2")
    read = []
    for case in cases(text):
        held = case.state.xacc
        case.run()
        case.run(1)
        low = held & 0xFFFFFF
        assert case.state.x[A3] == (low - (1 << 24) if low >> 23 else low) & 0xFFFFFFFF
        assert case.state.x[A2] == held >> 24 & 0xFFFF
        read.append(case.state.x[A3] == held & 0xFFFFFFFF)
        case.run(2)
        assert case.state.xacc == 0
        case.run(3)
        case.run(4)
        assert case.state.xacc == held
    assert set(read) == {True, False}


@pytest.mark.parametrize("kind", ["s", "u"])
def test_the_sum_of_all_shifted(kind: str) -> None:
    for case in cases(f"esp.srs.{kind}.xacc a3, a1"):
        held = case.state.xacc if kind == "s" else case.state.xacc & ((1 << 40) - 1)
        case.run()
        shifted = held >> case.state.x[A1]
        low, high = (-(1 << 31), (1 << 31) - 1) if kind == "s" else (0, (1 << 32) - 1)
        assert case.state.x[A3] == min(high, max(low, shifted)) & 0xFFFFFFFF
        assert case.state.xacc == shifted


def test_bits_and_special_registers() -> None:
    text = ("esp.andq q5, q1, q2", "esp.orq q5, q1, q2", "esp.xorq q5, q1, q2", "esp.notq q5, q1", "esp.zero.q q5",
            "esp.movx.w.sar a2", "esp.movx.r.sar a3", "esp.movx.w.sar.bytes a2", "esp.movx.w.cfg a2",
            "esp.movx.r.cfg a3", "esp.zero.qacc")  # fmt: skip
    for case in cases("\n".join(text)):
        x, y = case.q(1), case.q(2)
        for at, expected in enumerate((x & y, x | y, x ^ y, 255 - x, 0 * x)):
            case.run(at)
            np.testing.assert_array_equal(case.after(5), expected)
        for at in range(5, 11):
            case.run(at)
            if at == 6:
                assert case.state.x[A3] == case.state.x[A2] & 63
        assert case.state.byte_shift == case.state.x[A2] & 15
        assert case.state.x[A3] == case.state.x[A2] & 0x1FF
        assert case.state.qacc.bits() == 0


@pytest.mark.parametrize("bits", [8, 16, 32])
def test_lanes_to_registers_and_back(bits: int) -> None:
    last = 128 // bits - 1
    for case in cases(f"esp.movi.{bits}.a q1, a3, {last}\n esp.movi.{bits}.q q5, a2, {last}"):
        case.run()
        case.run(1)
        assert case.state.x[A3] == case.q(1, f"u{bits}")[last]
        expected = case.q(5, f"u{bits}")
        expected[last] = case.state.x[A2] & ((1 << bits) - 1)
        np.testing.assert_array_equal(case.after(5, f"u{bits}"), expected)


@pytest.mark.parametrize("text", ["esp.vld.128.ip q8, a0, 0", "esp.vld.128.ip q1, a0, 8", "esp.vld.128.ip q1, a0, 2048",
                                  "esp.vld.128.ip q1, a6, 0", "esp.vldbc.8.ip q1, t0, 0", "esp.vldbc.8.ip q1, a0, 128",
                                  "esp.vmulas.s8.xacc.ld.ip q1, a0, 512, q2, q3", "esp.movi.32.q q1, a0, 4",
                                  "esp.zero.q a1", "esp.nothing q1"])  # fmt: skip
def test_what_an_encoding_cannot_hold_is_refused(text: str) -> None:
    machine = Machine(parse(text, "own.S"))
    machine.state.enabled = True
    with pytest.raises(RunError, match=r"own\.S:1: "):
        machine.run_one()


def test_the_unit_is_off_until_it_is_turned_on() -> None:
    text = ".globl f\nf: csrsi 0x7f2, 0b01\n esp.zero.q q0\n ret\n.globl g\ng: esp.zero.q q0\n ret"
    with pytest.raises(RunError, match="the vector unit is off"):
        Machine(parse(text)).call("g", [])
    machine = Machine(parse(text))
    machine.call("f", [])
    machine.call("g", [])


@pytest.mark.parametrize("name", ["esp.vmul.s8 q1, q2, q3", "esp.srs.s.xacc a0, a1"])
def test_roundings_that_are_not_known_are_refused(name: str) -> None:
    for case in cases(name, 1):
        case.state.cfg, case.state.shift = 4 << 4, 1
        with pytest.raises(ValueError, match="rounding"):
            case.run()


def test_all_are_tested() -> None:
    """By the names in this file and those made of tables."""
    source = Path(__file__).read_text()
    made = {*LANEWISE_NAMES, *ACCUMULATE, *(f"esp.vsmulas.{k}.qacc{s}" for k in NARROW for s in ("", ".ld.incp")),
            *(f"esp.{v}.{p}.{f}" for v in ("vld", "vst") for p in PARTS for f in ("ip", "xp")),
            *(f"esp.vldbc.{b}.{f}" for b in (8, 16, 32) for f in ("ip", "xp")),
            *(f"esp.ld.128.usar.{f}" for f in ("ip", "xp")), *(f"esp.mov.{k}.qacc" for k in NARROW),
            *(f"esp.ldqa.{k}.128.{f}" for k in NARROW for f in ("ip", "xp")),
            *(f"esp.{v}.qacc.{p}.128.ip" for v in ("st", "ld") for p in ("l.l", "l.h", "h.l", "h.h")),
            *(f"esp.{m}.{k}.a" for m in ("max", "min") for k in KINDS),
            *(f"esp.movi.{b}.{t}" for b in (8, 16, 32) for t in "qa"),
            *(f"esp.srs.{k}.xacc" for k in "su")}  # fmt: skip
    written = {name for name in pie.BUILDERS if f"{name} " in source or f'{name}"' in source or f"{name}\\n" in source}
    assert set(pie.BUILDERS) == made & set(pie.BUILDERS) | written
