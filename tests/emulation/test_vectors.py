"""Every vector instruction of the ESP32-S3's and the ESP32-P4's interpreter, by what numpy makes of its operands."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import bench.assembly.source
import bench.riscv.source
from bench.assembly.engine import RunError
from bench.assembly.memory import Memory
from bench.riscv import machine as riscv
from bench.riscv import pie as riscv_pie
from bench.riscv.base import REGISTERS
from bench.xtensa import machine as xtensa
from bench.xtensa import pie as xtensa_pie

Vector = NDArray[np.uint8]
Lanes = NDArray[np.int64]
KINDS = {"s8": np.int8, "u8": np.uint8, "s16": np.int16, "u16": np.uint16, "s32": np.int32, "u32": np.uint32}
SIGNED, NARROW = ("s8", "s16", "s32"), ("s8", "u8", "s16", "u16")
ENDS = (0, (1 << 39) - 9, -(1 << 39) + 9, 123456789)


@dataclass(frozen=True, eq=False)
class Unit:
    """The vectors of a processor. Texts of instructions name its prefix {p} and four registers: {a} holds an address,
    {s} a step, {n} a number, and {r} takes a result."""

    prefix: str
    builders: Any  #: the names of its instructions
    registers: dict[str, str]
    numbers: dict[str, int]  #: of these registers
    total: str  #: the name of the sum of all products
    widths: dict[int, int]  #: bits of a lane's sum, by those of the lane
    parse: Callable[..., Any]
    machine: Callable[..., Any]

    def text(self, text: str) -> str:
        return text.format(p=self.prefix, **self.registers)

    def __str__(self) -> str:
        return self.prefix.rstrip(".")


def _unit(prefix: str, builders: Any, names: str, numbers: dict[str, int], *rest: Any) -> Unit:
    registers = dict(zip("asnr", names.split(), strict=True))
    return Unit(prefix, builders, registers, {key: numbers[name] for key, name in registers.items()}, *rest)


S3 = _unit("ee.", xtensa_pie.BUILDERS, "a2 a3 a4 a6", {f"a{i}": i for i in range(16)}, "accx", {8: 20, 16: 40},
           bench.assembly.source.parse, xtensa.Machine)  # fmt: skip
P4 = _unit("esp.", riscv_pie.BUILDERS, "a0 a1 a2 a3", REGISTERS, "xacc", {8: 32, 16: 64},
           bench.riscv.source.parse, riscv.Machine)  # fmt: skip
UNITS = (S3, P4)
both = pytest.mark.parametrize("unit", UNITS, ids=str)


class Case:
    """Instructions, and the registers before them as random bytes; the address lies in `block`."""

    def __init__(self, unit: Unit, text: str, seed: int) -> None:
        choose, memory = np.random.default_rng(seed), Memory(1 << 16)
        self.unit = unit
        self.block = memory.add("block", choose.bytes(96), writable=True)
        self.machine = unit.machine(unit.parse(unit.text(text)), memory)
        self.state = self.machine.state
        extremes = choose.integers(0, 4, (8, 16)) == 0
        self.before: list[Vector] = list(np.where(
            extremes, choose.choice([0, 127, 128, 255], (8, 16)), choose.integers(0, 256, (8, 16))).astype(np.uint8))
        self.state.q[:] = [one.tobytes() for one in self.before]
        self["a"] = self.block + 32 + int(choose.integers(16))
        self["s"] = int(choose.integers(1, 17))
        self["n"] = int(choose.integers(0, 1 << 32))
        self.state.byte_shift = int(choose.integers(16))
        self.state.shift = int(choose.integers(33))
        self.total = int(choose.choice(ENDS))
        if unit is P4:
            self.state.enabled = True
            self.state.cfg = int(choose.integers(4))
        # Sums near their limits, or anything.
        near = [0, (1 << 31) - 100, -(1 << 31) + 100, 77]
        words = sum((int(choose.choice(near)) & 0xFFFFFFFF) << 32 * i for i in range(16))
        self.state.qacc.set_bits(words if unit is P4 else int.from_bytes(choose.bytes(40), "little"))

    def __getitem__(self, register: str) -> int:
        return self.state.a[self.unit.numbers[register]]

    def __setitem__(self, register: str, value: int) -> None:
        self.state.a[self.unit.numbers[register]] = value

    @property
    def total(self) -> int:
        return int(self.state.accx)

    @total.setter
    def total(self, value: int) -> None:
        self.state.accx = value

    def q(self, i: int, kind: str = "u8") -> Lanes:
        """A register before the instructions."""
        return self.before[i].view(KINDS[kind]).astype(np.int64)

    def after(self, i: int, kind: str = "u8") -> Lanes:
        return np.frombuffer(self.state.q[i], KINDS[kind]).astype(np.int64)

    def run(self, first: int = 0, count: int = 1) -> None:
        for at in range(first, first + count):
            assert self.machine.run_one(at) is None

    def at(self, address: int, size: int = 16) -> Vector:
        content: bytes = self.machine.memory.content(address, size)
        return np.frombuffer(content, np.uint8).copy()

    def place(self, size: int = 16, writes: bool = False) -> int:
        """Where an access to the address goes: rounded down, unless the ESP32-P4's CFG says otherwise."""
        anywhere = self.unit is P4 and self.state.cfg & (1 if writes else 2)
        return self["a"] if anywhere else self["a"] & -size

    def sums(self, kind: str) -> list[int]:
        """QACC's lanes as numbers of the kind's sign."""
        width, bits = self.unit.widths[int(kind[1:])], self.state.qacc.bits()
        lanes = [bits >> width * i & ((1 << width) - 1) for i in range(128 // int(kind[1:]))]
        return [lane - (1 << width) if kind[0] == "s" and lane >> (width - 1) else lane for lane in lanes]


def cases(unit: Unit, text: str, count: int = 12) -> Iterator[Case]:
    for seed in range(count):
        yield Case(unit, text, seed)


def limited(values: Lanes, kind: str) -> Lanes:
    limits = np.iinfo(KINDS[kind])
    return np.clip(values, limits.min, limits.max)


def accumulated(total: int, product: int, width: int, kind: str) -> int:
    low, high = (-(1 << (width - 1)), (1 << (width - 1)) - 1) if kind[0] == "s" else (0, (1 << width) - 1)
    return min(high, max(low, total + product))


# ---- what rides along with arithmetic ----


def ride(form: str) -> str:
    """The operands of a load or store of q4."""
    by = {"": "", "incp": "", "ip": "-32, ", "xp": "{s}, "}[form.removesuffix(".qup").rpartition(".")[2]]
    return f"q4, {{a}}, {by}" if form else ""


class Ride:
    """What an instruction's load or store must have done."""

    def __init__(self, case: Case, form: str, kind: str = "s8") -> None:
        self.form, self.size = form, int(kind[1:]) // 8
        self.address, self.written = case["a"], case.place(writes=True)
        self.loaded = case.at(case.place())
        self.one = case.at(case.place(self.size), self.size)

    def check(self, case: Case) -> None:
        form = self.form.removesuffix(".qup")
        if form != self.form:
            both = np.concatenate((case.before[5], case.before[6]))
            np.testing.assert_array_equal(case.after(5), both[case.state.byte_shift :][:16])
        if ".ldbc" in form:
            np.testing.assert_array_equal(case.after(4), np.tile(self.one, 16 // self.size))
        elif ".ld" in form:
            np.testing.assert_array_equal(case.after(4), self.loaded)
        elif ".st" in form:
            np.testing.assert_array_equal(case.at(self.written), case.before[4])
        by = {"": 0, "incp": self.size if "ldbc" in form else 16, "ip": -32, "xp": case["s"]}
        assert case["a"] == self.address + by[form.rpartition(".")[2]]


Lanewise = Callable[[Lanes, Lanes, int, str], Lanes]
INCP = ("", ".ld.incp", ".st.incp")
LANEWISE: dict[str, tuple[Lanewise, tuple[str, ...]]] = {
    "vadd": (lambda x, y, sar, kind: limited(x + y, kind), INCP),
    "vsub": (lambda x, y, sar, kind: limited(x - y, kind), INCP),
    "vmax": (lambda x, y, sar, kind: np.maximum(x, y), INCP),
    "vmin": (lambda x, y, sar, kind: np.minimum(x, y), INCP),
    "vmul": (lambda x, y, sar, kind: x * y >> sar, INCP),
    "vcmp.eq": (lambda x, y, sar, kind: -(x == y).astype(np.int64), ("",)),
    "vcmp.lt": (lambda x, y, sar, kind: -(x < y).astype(np.int64), ("",)),
    "vcmp.gt": (lambda x, y, sar, kind: -(x > y).astype(np.int64), ("",)),
}


LANEWISE_NAMES = {
    f"ee.{name}{'s' if name in ('vadd', 'vsub') else ''}.{kind}{form}": (function, kind, form)
    for name, (function, forms) in LANEWISE.items() for kind in (NARROW if name == "vmul" else SIGNED) for form in forms
}  # fmt: skip


@pytest.mark.parametrize("name", LANEWISE_NAMES)
def test_lane_by_lane(name: str) -> None:
    """With a load or store that rides along, of a vector at the address, which then moves on by 16."""
    function, kind, form = LANEWISE_NAMES[name]
    for case in cases(S3, f"{name} {ride(form)}q5, q1, q2"):
        rode = Ride(case, form)
        case.run()
        expected = function(case.q(1, kind), case.q(2, kind), case.state.shift, kind)
        np.testing.assert_array_equal(case.after(5, kind), expected.astype(KINDS[kind]).astype(np.int64))
        rode.check(case)


def test_a_store_that_rides_along_takes_what_was_there_before() -> None:
    for case in cases(S3, "ee.vadds.s16.st.incp q5, {a}, q5, q1, q2"):
        place = case.place(writes=True)
        case.run()
        np.testing.assert_array_equal(case.at(place), case.before[5])


FORMS = ("", ".ld.ip", ".ld.xp", ".ld.ip.qup", ".ld.xp.qup", ".ldbc.incp", ".ldbc.incp.qup")
ACCUMULATE = {name: (unit, kind, to, form) for unit in UNITS for kind in NARROW for to in (unit.total, "qacc")
              for form in FORMS if (name := f"{unit.prefix}vmulas.{kind}.{to}{form}") in unit.builders}  # fmt: skip


@pytest.mark.parametrize("name", ACCUMULATE)
def test_products_are_accumulated(name: str) -> None:
    unit, kind, to, form = ACCUMULATE[name]
    for case in cases(unit, f"{name} {ride(form)}q1, q2{', q5, q6' if form.endswith('qup') else ''}"):
        if kind[0] == "u":
            case.total = abs(case.total)
        total, sums, rode = case.total, case.sums(kind), Ride(case, form, kind)
        case.run()
        products = [int(product) for product in case.q(1, kind) * case.q(2, kind)]
        if to == "qacc":
            width = unit.widths[int(kind[1:])]
            assert case.sums(kind) == [accumulated(*one, width, kind) for one in zip(sums, products, strict=True)]
        else:
            assert case.total == accumulated(total, sum(products), 40, kind)
        rode.check(case)


ONE_LANE = {f"ee.vsmulas.{kind}.qacc{form}": (kind, form) for kind in ("s8", "s16") for form in ("", ".ld.incp")}


@pytest.mark.parametrize("name", ONE_LANE)
def test_products_with_one_lane(name: str) -> None:
    kind, form = ONE_LANE[name]
    for lane in (0, 3, 128 // int(kind[1:]) - 1):
        for case in cases(S3, f"{name} {ride(form)}q1, q2, {lane}", 4):
            sums, rode = case.sums(kind), Ride(case, form)
            case.run()
            products = [int(product) for product in case.q(1, kind) * case.q(2, kind)[lane]]
            width = S3.widths[int(kind[1:])]
            assert case.sums(kind) == [accumulated(*one, width, kind) for one in zip(sums, products, strict=True)]
            rode.check(case)


# ---- loads, stores and moves ----

PARTS = {"128": slice(0, 16), "l.64": slice(0, 8), "h.64": slice(8, 16)}
MOVES = {name: (unit, verb, part, form) for unit in UNITS for verb in ("vld", "vst") for part in PARTS
         for form in ("ip", "xp") if (name := f"{unit.prefix}{verb}.{part}.{form}") in unit.builders}  # fmt: skip


@pytest.mark.parametrize("name", MOVES)
def test_moves(name: str) -> None:
    unit, verb, part, form = MOVES[name]
    size, offsets = 16 if part == "128" else 8, set()
    for case in cases(unit, f"{name} q5, {{a}}, {'-16' if form == 'ip' else '{s}'}", 24):
        address, place = case["a"], case.place(size, verb == "vst")
        offsets.add(place % size)
        case.run()
        held = np.frombuffer(case.state.q[5], np.uint8)
        np.testing.assert_array_equal(case.at(place, size), held[PARTS[part]])
        kept = held if verb == "vst" else np.delete(held, PARTS[part])
        np.testing.assert_array_equal(kept, case.before[5] if verb == "vst" else np.delete(case.before[5], PARTS[part]))
        assert case["a"] == address + (-16 if form == "ip" else case["s"])
        assert not case.machine.memory.strays
    assert len(offsets) > 2 if unit is P4 else offsets == {0}


BROADCASTS = {name: (unit, bits // 8, form) for unit in UNITS for bits in (8, 16, 32) for form in ("", ".ip", ".xp")
              if (name := f"{unit.prefix}vldbc.{bits}{form}") in unit.builders}  # fmt: skip


@pytest.mark.parametrize("name", BROADCASTS)
def test_broadcasts(name: str) -> None:
    unit, size, form = BROADCASTS[name]
    by = {"": "", ".ip": f", {size}", ".xp": ", {s}"}[form]
    for case in cases(unit, f"{name} q5, {{a}}{by}"):
        address, one = case["a"], case.at(case.place(size), size)
        case.run()
        np.testing.assert_array_equal(case.after(5), np.tile(one, 16 // size))
        assert case["a"] == address + {"": 0, ".ip": size, ".xp": case["s"]}[form]


@pytest.mark.parametrize("form", ["ip", "xp"])
def test_a_load_that_notes_the_offset(form: str) -> None:
    """What lies at any address, of two loads and a shift."""
    load = f"ee.ld.128.usar.{form} %s, {{a}}, {'16' if form == 'ip' else '{s}'}\n"
    shifts = "ee.src.q q5, q1, q2\n ee.src.q.qup q6, q1, q2\n rur.sar_byte {r}"
    for case in cases(S3, load % "q1" + load % "q2" + shifts):
        address, case["s"] = case["a"], 16
        case.run(0, 5)
        np.testing.assert_array_equal(case.after(5), case.at(address))
        np.testing.assert_array_equal(case.after(6), case.at(address))
        np.testing.assert_array_equal(case.after(1), case.after(2))
        assert case["r"] == address & 15


LANES_TO_QACC = {f"ee.{name}": (kind, by) for kind in NARROW
                 for name, by in ((f"mov.{kind}.qacc", ""), (f"ldqa.{kind}.128.ip", "-32"))}  # fmt: skip


@pytest.mark.parametrize("name", LANES_TO_QACC)
def test_lanes_to_qacc(name: str) -> None:
    kind, by = LANES_TO_QACC[name]
    for case in cases(S3, f"{name} {{a}}, {by}" if by else f"{name} q1"):
        address, source = case["a"], case.at(case.place()) if by else case.before[1]
        case.run()
        assert case.sums(kind) == source.view(KINDS[kind]).tolist()
        assert case["a"] == address + int(by or 0)


def test_bits() -> None:
    text = "ee.andq q5, q1, q2\nee.orq q5, q1, q2\nee.xorq q5, q1, q2\nee.notq q5, q1\nee.zero.q q5"
    for case in cases(S3, text):
        x, y = case.q(1), case.q(2)
        for at, expected in enumerate((x & y, x | y, x ^ y, 255 - x, 0 * x)):
            case.run(at)
            np.testing.assert_array_equal(case.after(5), expected)


@both
def test_sums_become_zero(unit: Unit) -> None:
    for case in cases(unit, f"{{p}}zero.qacc\n{{p}}zero.{unit.total}"):
        case.run(0, 2)
        assert case.state.qacc.bits() == case.total == 0


def test_lanes_to_registers_and_back() -> None:
    for case in cases(S3, "ee.movi.32.a q1, {r}, 3\n ee.movi.32.q q5, {n}, 3"):
        case.run(0, 2)
        expected = case.q(5, "u32")
        expected[3] = case["n"]
        assert case["r"] == case.q(1, "u32")[3]
        np.testing.assert_array_equal(case.after(5, "u32"), expected)


def test_the_sum_of_all_is_shifted() -> None:
    for case in cases(S3, "ee.srs.accx {r}, {s}, 0"):
        shifted = case.total >> case["s"]
        case.run()
        assert case["r"] == min((1 << 31) - 1, max(-(1 << 31), shifted)) & 0xFFFFFFFF
        assert case.total == shifted


# ---- the ESP32-S3's alone ----


@pytest.mark.parametrize("kind", ["s8", "s16"])
def test_srcmb(kind: str) -> None:
    for case in cases(S3, f"ee.srcmb.{kind}.qacc q5, {{s}}, 0"):
        shifted = np.array(case.sums(kind)) >> (case["s"] & (31 if kind == "s8" else 63))
        case.run()
        assert case.sums(kind) == shifted.tolist()
        np.testing.assert_array_equal(case.after(5, kind), limited(shifted, kind))


@pytest.mark.parametrize("which", ["l", "h"])
def test_qacc_to_memory_and_back(which: str) -> None:
    text = "\n".join(f"ee.{verb}.qacc_{which}.{part}.ip {'{a}' if verb == 'st' else '{s}'}, {step}"
                     for verb in ("st", "ld") for part, step in (("l.128", 16), ("h.32", -16)))  # fmt: skip
    registers = "\n".join(f"rur.qacc_{which}_{i} a{8 + i}" for i in range(5))
    for case in cases(S3, f"{text}\n{registers}\nee.zero.qacc"):
        own = case.state.qacc.bits() >> (0 if which == "l" else 160) & ((1 << 160) - 1)
        start = case["a"] = case["s"] = case["a"] & ~15
        case.run(0, 2)
        assert case.at(start, 20).tobytes() == own.to_bytes(20, "little")
        case.run(4, 5)
        assert case.state.a[8:13] == [own >> 32 * i & 0xFFFFFFFF for i in range(5)]
        whole = case.state.qacc.bits()
        case.run(9)
        case.run(2, 2)
        assert case.state.qacc.bits() == whole & (((1 << 160) - 1) << (0 if which == "l" else 160))


def test_moves_at_an_offset_and_shifts_by_bytes() -> None:
    text = ("ld.qr q5, {a}, 16\n st.qr q4, {a}, -16\n ee.src.q.ld.ip q4, {a}, 16, q6, q7\n"
            " ee.src.q.ld.xp q3, {a}, {s}, q6, q7\n wur.sar_byte {s}\n mv.qr q5, q1")  # fmt: skip
    for case in cases(S3, text):
        address, by = case["a"], case.state.byte_shift
        case.run(0, 2)
        np.testing.assert_array_equal(case.after(5), case.at((address & ~15) + 16))
        np.testing.assert_array_equal(case.before[4], case.at((address & ~15) - 16))
        assert case["a"] == address
        case.run(2)
        once = np.concatenate(case.before[6:8])[by : by + 16]
        np.testing.assert_array_equal(case.after(6), once)
        np.testing.assert_array_equal(case.after(4), case.at(address & ~15))
        case.run(3)
        np.testing.assert_array_equal(case.after(6), np.concatenate((once, case.before[7]))[by : by + 16])
        assert case["a"] == address + 16 + case["s"]
        case.run(4, 2)
        assert case.state.byte_shift == case["s"] & 15
        np.testing.assert_array_equal(case.after(5), case.before[1])


@pytest.mark.parametrize("bits", [8, 16, 32])
def test_zip_and_unzip(bits: int) -> None:
    kind = f"u{bits}"
    for case in cases(S3, f"ee.vzip.{bits} q1, q2\n ee.vunzip.{bits} q3, q4"):
        case.run(0, 2)
        mixed = np.stack((case.q(1, kind), case.q(2, kind)), axis=1).reshape(2, -1)
        np.testing.assert_array_equal((case.after(1, kind), case.after(2, kind)), mixed)
        pair = np.concatenate((case.q(3, kind), case.q(4, kind)))
        np.testing.assert_array_equal((case.after(3, kind), case.after(4, kind)), (pair[0::2], pair[1::2]))


def test_shifts_of_words_and_parts_of_the_sum_of_all() -> None:
    for case in cases(S3, "ee.vsl.32 q5, q1\n ee.vsr.32 q6, q1\n rur.accx_0 a5\n rur.accx_1 {r}\n ee.zero.accx"):
        total, words, sar = case.total, case.q(1, "s32"), case.state.shift
        case.run(0, 5)
        for at, shifted in ((5, words << min(sar, 32)), (6, words >> sar)):
            np.testing.assert_array_equal(case.after(at, "s32"), shifted.astype(np.int32).astype(np.int64))
        assert case["r"] << 32 | case.state.a[5] == total & ((1 << 40) - 1)
        assert case.total == 0


# ---- the ESP32-P4's alone ----


def test_sums_of_bytes_are_stored_in_order() -> None:
    """As ESP-NN takes them: 16 sums of 32 bits."""
    text = "esp.zero.qacc\n esp.vmulas.s8.qacc q1, q2\n" + "\n".join(
        f"esp.st.qacc.{part}.128.ip a0, 16" for part in ("l.l", "l.h", "h.l", "h.h"))  # fmt: skip
    for case in cases(P4, text):
        address = case["a"] = case.block
        case.run(0, 6)
        assert case["a"] == address + 64
        np.testing.assert_array_equal(case.at(address, 64).view("<i4"), case.q(1, "s8") * case.q(2, "s8"))


def test_the_sum_of_all_is_read_in_part() -> None:
    """Of 24 bits with their sign: a sum of more is not what is read."""
    read = []
    for case in cases(P4, "esp.movx.r.xacc.l a3"):
        case.run()
        low = case.total & 0xFFFFFF
        assert case["r"] == (low - (1 << 24) if low >> 23 else low) & 0xFFFFFFFF
        read.append(case["r"] == case.total & 0xFFFFFFFF)
    assert set(read) == {True, False}


def test_what_loads_and_stores_may_is_set() -> None:
    for case in cases(P4, "esp.movx.w.cfg a2"):
        case.run()
        assert case.state.cfg == case["n"] & 0x1FF


def test_the_unit_is_off_until_it_is_turned_on() -> None:
    text = ".globl f\nf: csrsi 0x7f2, 0b01\n esp.zero.xacc\n ret\n.globl g\ng: esp.zero.xacc\n ret"
    with pytest.raises(RunError, match="the vector unit is off"):
        riscv.Machine(P4.parse(text)).call("g", [])
    machine = riscv.Machine(P4.parse(text))
    machine.call("f", [])
    machine.call("g", [])


# ---- all ----


@pytest.mark.parametrize("text", [
    "{p}vld.128.ip q8, {a}, 0", "{p}vld.128.ip q1, {a}, 8", "{p}vld.128.ip q1, {a}, 2048", "{p}movi.32.q q1, {a}, 4",
    "{p}vmulas.s8.{total}.ld.ip q1, {a}, 512, q2, q3", "{p}zero.q a1", "{p}nothing q1", "ee.srs.accx a2, a3, 1",
    "esp.vld.128.ip q1, a6, 0", "esp.vldbc.8.ip q1, t0, 0", "esp.vldbc.8.ip q1, a0, 128",
])  # fmt: skip
@both
def test_what_an_encoding_cannot_hold_is_refused(unit: Unit, text: str) -> None:
    """What is another processor's, too."""
    machine = unit.machine(unit.parse(unit.text(text.replace("{total}", unit.total)), "own.S"))
    if unit is P4:
        machine.state.enabled = True
    with pytest.raises(RunError, match=r"own\.S:1: "):
        machine.run_one()


@both
def test_all_are_tested(unit: Unit) -> None:
    """By the names in this file and those made of tables."""
    source = Path(__file__).read_text("utf-8").replace("{p}", unit.prefix)
    made = {*LANEWISE_NAMES, *ACCUMULATE, *ONE_LANE, *MOVES, *BROADCASTS, *LANES_TO_QACC,
            *(f"ee.ld.128.usar.{f}" for f in ("ip", "xp")), *(f"{unit.prefix}zero.{to}" for to in (unit.total, "qacc")),
            *(f"ee.srcmb.{k}.qacc" for k in ("s8", "s16")), *(f"rur.qacc_{w}_{i}" for w in "lh" for i in range(5)),
            *(f"ee.{v}.qacc_{w}.{p}.ip" for v in ("st", "ld") for w in "lh" for p in ("l.128", "h.32")),
            *(f"ee.{v}.{b}" for v in ("vzip", "vunzip") for b in (8, 16, 32)),
            *(f"esp.st.qacc.{p}.128.ip" for p in ("l.l", "l.h", "h.l", "h.h"))}  # fmt: skip
    written = {name for name in unit.builders for end in (" ", '"', "\\n") if f"{name}{end}" in source}
    assert set(unit.builders) == made & set(unit.builders) | written
