"""Every vector instruction of the interpreter, by what numpy makes of its operands."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from bench.assembly.engine import RunError
from bench.assembly.lanes import Accumulators
from bench.assembly.memory import Memory
from bench.assembly.source import parse
from bench.xtensa import pie
from bench.xtensa.machine import Machine
from bench.xtensa.state import State

Vector = NDArray[np.uint8]
KINDS = {"s8": np.int8, "u8": np.uint8, "s16": np.int16, "u16": np.uint16, "s32": np.int32, "u32": np.uint32}
SUFFIXES = ("", ".ld.incp", ".st.incp")


@dataclass
class Case:
    """An instruction's registers before it, as random bytes; q5 … hold what it writes."""

    text: str
    choose: np.random.Generator
    machine: Machine = field(init=False)
    before: list[Vector] = field(init=False)

    def __post_init__(self) -> None:
        memory = Memory()
        self.block = memory.add("block", self.choose.bytes(64), writable=True)
        self.machine = Machine(parse(self.text), memory)
        state = self.state
        extremes = self.choose.integers(0, 4, (8, 16)) == 0
        self.before = list(np.where(extremes, self.choose.choice([0, 127, 128, 255], (8, 16)),
                                    self.choose.integers(0, 256, (8, 16))).astype(np.uint8))  # fmt: skip
        state.q[:] = [one.tobytes() for one in self.before]
        state.a[2] = self.block + 16 + int(self.choose.integers(16))
        state.a[3] = int(self.choose.integers(1, 40))
        state.byte_shift = int(self.choose.integers(16))
        state.shift = int(self.choose.integers(33))
        state.accx = int(self.choose.choice([0, (1 << 39) - 9, -(1 << 39) + 9, 12345]))
        state.qacc.set_bits(int.from_bytes(self.choose.bytes(40), "little"))

    @property
    def state(self) -> State:
        return self.machine.state

    def q(self, i: int, kind: str = "u8") -> NDArray[np.int64]:
        """Before."""
        return self.before[i].view(KINDS[kind]).astype(np.int64)

    def run(self) -> None:
        assert self.machine.run_one() is None

    def after(self, i: int, kind: str = "u8") -> NDArray[np.int64]:
        return np.frombuffer(self.state.q[i], KINDS[kind]).astype(np.int64)

    def at(self, address: int, size: int = 16) -> Vector:
        return np.frombuffer(self.machine.memory.content(address, size), np.uint8)


def cases(text: str, count: int = 12) -> Iterator[Case]:
    for seed in range(count):
        yield Case(text, np.random.default_rng(seed))


def wrapped(values: NDArray[np.int64], kind: str) -> NDArray[np.int64]:
    """The low bits, as a lane of that kind."""
    return values.astype(KINDS[kind]).astype(np.int64)


def saturated(values: NDArray[np.int64], kind: str) -> NDArray[np.int64]:
    limits = np.iinfo(KINDS[kind])
    return np.clip(values, limits.min, limits.max)


Lanewise = Callable[[NDArray[np.int64], NDArray[np.int64], int, str], NDArray[np.int64]]
LANEWISE: dict[str, tuple[Lanewise, tuple[str, ...], tuple[str, ...]]] = {
    "vadds": (lambda x, y, sar, kind: saturated(x + y, kind), ("s8", "s16", "s32"), SUFFIXES),
    "vsubs": (lambda x, y, sar, kind: saturated(x - y, kind), ("s8", "s16", "s32"), SUFFIXES),
    "vmax": (lambda x, y, sar, kind: np.maximum(x, y), ("s8", "s16", "s32"), SUFFIXES),
    "vmin": (lambda x, y, sar, kind: np.minimum(x, y), ("s8", "s16", "s32"), SUFFIXES),
    "vmul": (lambda x, y, sar, kind: wrapped(x * y >> sar, kind), ("s8", "u8", "s16", "u16"), SUFFIXES),
    "vcmp.eq": (lambda x, y, sar, kind: -(x == y).astype(np.int64), ("s8", "s16", "s32"), ("",)),
    "vcmp.lt": (lambda x, y, sar, kind: -(x < y).astype(np.int64), ("s8", "s16", "s32"), ("",)),
    "vcmp.gt": (lambda x, y, sar, kind: -(x > y).astype(np.int64), ("s8", "s16", "s32"), ("",)),
}
LANEWISE_NAMES = {f"ee.{name}.{kind}{suffix}": (name, kind, suffix) for name, (_, kinds, suffixes) in LANEWISE.items()
                  for kind in kinds for suffix in suffixes}  # fmt: skip


@pytest.mark.parametrize("name", LANEWISE_NAMES)
def test_lane_by_lane(name: str) -> None:
    """With a load or store that rides along: 16 bytes at the address rounded down, which then moves on by 16."""
    base, kind, suffix = LANEWISE_NAMES[name]
    for case in cases(f"{name} {'q4, a2, ' if suffix else ''}q5, q1, q2"):
        address, old = case.state.a[2], case.at(case.state.a[2] & ~15).copy()
        case.run()
        expected = LANEWISE[base][0](case.q(1, kind), case.q(2, kind), case.state.shift, kind)
        np.testing.assert_array_equal(case.after(5, kind), wrapped(expected, kind))
        assert case.state.a[2] == address + (16 if suffix else 0)
        if suffix == ".ld.incp":
            np.testing.assert_array_equal(case.after(4), old)
        if suffix == ".st.incp":
            np.testing.assert_array_equal(case.at(address & ~15), case.before[4])


def test_a_store_that_rides_along_takes_what_was_there_before() -> None:
    for case in cases("ee.vadds.s16.st.incp q5, a2, q5, q1, q2"):
        address = case.state.a[2] & ~15
        case.run()
        np.testing.assert_array_equal(case.at(address), case.before[5])


FORMS = ("", ".ld.ip", ".ld.xp", ".ld.ip.qup", ".ld.xp.qup")
BROADCAST = (".ldbc.incp", ".ldbc.incp.qup")
ACCUMULATE = {f"ee.vmulas.{kind}.{to}{form}": (kind, to, form) for kind in ("s8", "u8", "s16", "u16")
              for to in ("accx", "qacc") for form in FORMS + (BROADCAST if to == "qacc" else ())}  # fmt: skip


@pytest.mark.parametrize("name", ACCUMULATE)
def test_products_are_accumulated(name: str) -> None:
    kind, to, form = ACCUMULATE[name]
    ride = {"": "", "l": "q4, a2, " + ("16, " if ".ip" in form else "a3, ")}[form[1:2]]
    ride = "q4, a2, " if "ldbc" in form else ride
    for case in cases(f"{name} {ride}q1, q2{', q5, q6' if form.endswith('qup') else ''}"):
        before, address = (case.state.accx, case.state.a[2])
        sums = qacc_lanes(case.state.qacc, 20 if kind.endswith("8") else 40, kind[0] == "s")
        case.run()
        products = case.q(1, kind) * case.q(2, kind)
        if to == "accx":
            limits = (-(1 << 39), (1 << 39) - 1) if kind[0] == "s" else (0, (1 << 40) - 1)
            assert case.state.accx == np.clip(before + products.sum(), *limits)
        else:
            width = 20 if kind.endswith("8") else 40
            limits = (-(1 << (width - 1)), (1 << (width - 1)) - 1) if kind[0] == "s" else (0, (1 << width) - 1)
            after = qacc_lanes(case.state.qacc, width, kind[0] == "s")
            np.testing.assert_array_equal(after, np.clip(sums + products, *limits))
        check_ride(case, form, address, kind)


def check_ride(case: Case, form: str, address: int, kind: str) -> None:
    if form.endswith("qup"):
        both = np.concatenate((case.before[5], case.before[6]))
        np.testing.assert_array_equal(case.after(5), both[case.state.byte_shift :][:16])
    size = 2 if kind.endswith("16") else 1
    if "ldbc" in form:
        np.testing.assert_array_equal(case.after(4), np.tile(case.at(address & -size, size), 16 // size))
        assert case.state.a[2] == address + size
    elif form:
        np.testing.assert_array_equal(case.after(4), case.at(address & ~15))
        assert case.state.a[2] == address + (16 if ".ip" in form else case.state.a[3])


def qacc_lanes(qacc: Accumulators, width: int, signed: bool = True) -> NDArray[np.int64]:
    bits = qacc.bits()
    lanes = [bits >> width * i & ((1 << width) - 1) for i in range(320 // width)]
    return np.array([lane - (1 << width) if signed and lane >> (width - 1) else lane for lane in lanes])


@pytest.mark.parametrize("kind", ["s8", "s16"])
@pytest.mark.parametrize("suffix", ["", ".ld.incp"])
def test_products_with_one_lane(kind: str, suffix: str) -> None:
    width, count = (20, 16) if kind == "s8" else (40, 8)
    for lane in range(count):
        for case in cases(f"ee.vsmulas.{kind}.qacc{suffix} {'q4, a2, ' if suffix else ''}q1, q2, {lane}", 4):
            sums, address = qacc_lanes(case.state.qacc, width), case.state.a[2]
            case.run()
            limits = (-(1 << (width - 1)), (1 << (width - 1)) - 1)
            expected = np.clip(sums + case.q(1, kind) * case.q(2, kind)[lane], *limits)
            np.testing.assert_array_equal(qacc_lanes(case.state.qacc, width), expected)
            assert case.state.a[2] == address + (16 if suffix else 0)


@pytest.mark.parametrize("kind", ["s8", "s16"])
def test_srcmb(kind: str) -> None:
    width, mask = (20, 31) if kind == "s8" else (40, 63)
    for case in cases(f"ee.srcmb.{kind}.qacc q5, a3, 0"):
        shifted = qacc_lanes(case.state.qacc, width) >> (case.state.a[3] & mask)
        case.run()
        np.testing.assert_array_equal(qacc_lanes(case.state.qacc, width), shifted)
        np.testing.assert_array_equal(case.after(5, kind), saturated(shifted, kind))


def test_srs_and_accx() -> None:
    for case in cases("ee.srs.accx a4, a3, 0\n rur.accx_0 a5\n rur.accx_1 a6\n ee.zero.accx"):
        expected = case.state.accx >> case.state.a[3]
        for at in range(3):
            case.machine.run_one(at)
        assert case.state.a[4] == int(np.clip(expected, -(1 << 31), (1 << 31) - 1)) & 0xFFFFFFFF
        assert case.state.a[6] << 32 | case.state.a[5] == expected & ((1 << 40) - 1)
        case.machine.run_one(3)
        assert case.state.accx == 0


@pytest.mark.parametrize("kind", ["s8", "u8", "s16", "u16"])
@pytest.mark.parametrize("moves", [False, True])
def test_lanes_to_qacc(kind: str, moves: bool) -> None:
    for case in cases(f"ee.mov.{kind}.qacc q1" if moves else f"ee.ldqa.{kind}.128.ip a2, -32"):
        address = case.state.a[2]
        source = case.before[1] if moves else case.at(address & ~15)
        case.run()
        lanes = qacc_lanes(case.state.qacc, 20 if kind.endswith("8") else 40)
        np.testing.assert_array_equal(lanes, source.view(KINDS[kind]))
        assert case.state.a[2] == address - (0 if moves else 32)


@pytest.mark.parametrize("which", ["l", "h"])
def test_qacc_to_memory_and_back(which: str) -> None:
    text = "\n".join(f"ee.{verb}.qacc_{which}.{part}.ip a{2 if verb == 'st' else 3}, {step}" for verb in ("st", "ld")
                     for part, step in (("l.128", 16), ("h.32", -16)))  # fmt: skip
    registers = "\n".join(f"rur.qacc_{which}_{i} a{8 + i}" for i in range(5))
    for case in cases(f"{text}\n{registers}\nee.zero.qacc"):
        own = case.state.qacc.bits() >> (0 if which == "l" else 160) & ((1 << 160) - 1)
        start = case.state.a[2] = case.state.a[3] = case.state.a[2] & ~15
        case.machine.run_one(0)
        case.machine.run_one(1)
        assert case.at(start, 20).tobytes() == own.to_bytes(20, "little")
        for at in range(5):
            case.machine.run_one(4 + at)
            assert case.state.a[8 + at] == own >> 32 * at & 0xFFFFFFFF
        whole = case.state.qacc.bits()
        case.machine.run_one(9)
        assert case.state.qacc.bits() == 0
        case.machine.run_one(2)
        case.machine.run_one(3)
        assert case.state.qacc.bits() == whole & (((1 << 160) - 1) << (0 if which == "l" else 160))


PARTS = {"128": slice(0, 16), "l.64": slice(0, 8), "h.64": slice(8, 16)}


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("form", ["ip", "xp"])
@pytest.mark.parametrize("verb", ["vld", "vst"])
def test_moves(verb: str, part: str, form: str) -> None:
    size = 16 if part == "128" else 8
    for case in cases(f"ee.{verb}.{part}.{form} q5, a2, {'-16' if form == 'ip' else 'a3'}"):
        address, by = case.state.a[2], -16 if form == "ip" else case.state.a[3]
        case.run()
        held = np.frombuffer(case.state.q[5], np.uint8)
        np.testing.assert_array_equal(case.at(address & -size, size), held[PARTS[part]])
        kept = held if verb == "vst" else np.delete(held, PARTS[part])
        np.testing.assert_array_equal(kept, case.before[5] if verb == "vst" else np.delete(case.before[5], PARTS[part]))
        assert case.state.a[2] == address + by


def test_moves_at_an_offset() -> None:
    for case in cases("ld.qr q5, a2, 16\n st.qr q4, a2, -16"):
        address = case.state.a[2]
        case.machine.run_one(0)
        case.machine.run_one(1)
        np.testing.assert_array_equal(case.after(5), case.at((address & ~15) + 16))
        np.testing.assert_array_equal(case.before[4], case.at((address & ~15) - 16))
        assert case.state.a[2] == address


@pytest.mark.parametrize("form", ["ip", "xp"])
def test_a_load_that_notes_the_offset(form: str) -> None:
    """What lies at any address, of two loads and a shift; SAR_BYTE can be read and written, too."""
    load = f"ee.ld.128.usar.{form} q1, a2, {'16' if form == 'ip' else 'a3'}"
    for case in cases(f"{load}\n ee.vld.128.ip q2, a2, 0\n ee.src.q q5, q1, q2\n rur.sar_byte a6\n wur.sar_byte a3"):
        address = case.state.a[2]
        case.state.a[3] = 16
        for at in range(4):
            case.machine.run_one(at)
        np.testing.assert_array_equal(case.after(5), case.at(address))
        assert case.state.a[6] == address & 15
        case.machine.run_one(4)
        assert case.state.byte_shift == 0


def test_shifts_by_bytes() -> None:
    text = "ee.src.q.qup q5, q1, q2\n ee.src.q.ld.ip q4, a2, 16, q6, q7\n ee.src.q.ld.xp q3, a2, a3, q6, q7"
    for case in cases(text):
        address, by = case.state.a[2], case.state.byte_shift
        case.machine.run_one(0)
        np.testing.assert_array_equal(case.after(5), np.concatenate(case.before[1:3])[by : by + 16])
        np.testing.assert_array_equal(case.after(1), case.before[2])
        case.machine.run_one(1)
        once = np.concatenate(case.before[6:8])[by : by + 16]
        np.testing.assert_array_equal(case.after(6), once)
        np.testing.assert_array_equal(case.after(4), case.at(address & ~15))
        case.machine.run_one(2)
        np.testing.assert_array_equal(case.after(6), np.concatenate((once, case.before[7]))[by : by + 16])
        assert case.state.a[2] == address + 16 + case.state.a[3]


@pytest.mark.parametrize("bits", [8, 16, 32])
@pytest.mark.parametrize("form", ["", "ip", "xp"])
def test_broadcasts(bits: int, form: str) -> None:
    size = bits // 8
    last = {"": "", "ip": f", {size}", "xp": ", a3"}[form]
    for case in cases(f"ee.vldbc.{bits}{'.' + form if form else ''} q5, a2{last}"):
        address = case.state.a[2]
        case.run()
        np.testing.assert_array_equal(case.after(5), np.tile(case.at(address & -size, size), 16 // size))
        assert case.state.a[2] == address + {"": 0, "ip": size, "xp": case.state.a[3]}[form]


@pytest.mark.parametrize("bits", [8, 16, 32])
def test_zip_and_unzip(bits: int) -> None:
    for case in cases(f"ee.vzip.{bits} q1, q2\n ee.vunzip.{bits} q3, q4"):
        case.machine.run_one(0)
        case.machine.run_one(1)
        kind = f"u{bits}"
        mixed = np.stack((case.q(1, kind), case.q(2, kind)), axis=1).reshape(2, -1)
        np.testing.assert_array_equal((case.after(1, kind), case.after(2, kind)), mixed)
        both = np.concatenate((case.q(3, kind), case.q(4, kind)))
        np.testing.assert_array_equal((case.after(3, kind), case.after(4, kind)), (both[0::2], both[1::2]))


def test_bits_and_words() -> None:
    text = ("ee.andq q5, q1, q2", "ee.orq q5, q1, q2", "ee.xorq q5, q1, q2", "ee.notq q5, q1", "mv.qr q5, q1",
            "ee.zero.q q5",
            "ee.vsl.32 q5, q1", "ee.vsr.32 q5, q1", "ee.movi.32.a q1, a6, 2", "ee.movi.32.q q5, a2, 3")  # fmt: skip
    for case in cases("\n".join(text)):
        x, y, sar = case.q(1), case.q(2), case.state.shift
        results = [x & y, x | y, x ^ y, 255 - x, x, 0 * x]
        for at, expected in enumerate(results):
            case.machine.run_one(at)
            np.testing.assert_array_equal(case.after(5), expected)
        words = case.q(1, "s32")
        for at, shifted in ((6, words << min(sar, 32)), (7, words >> sar)):
            case.machine.run_one(at)
            np.testing.assert_array_equal(case.after(5, "s32"), wrapped(shifted, "s32"))
        kept = case.after(5, "u32")
        case.machine.run_one(8)
        case.machine.run_one(9)
        assert case.state.a[6] == case.q(1, "u32")[2]
        np.testing.assert_array_equal(case.after(5, "u32"), [*kept[:3], case.state.a[2]])


@pytest.mark.parametrize("text", ["ee.vld.128.ip q8, a2, 0", "ee.vld.128.ip q1, a2, 8", "ee.vld.128.ip q1, a2, 2048",
                                  "ee.vmulas.s8.accx.ld.ip q1, a2, 512, q2, q3", "ee.movi.32.q q1, a2, 4",
                                  "ee.srs.accx a2, a3, 1", "ee.zero.q a1", "ee.nothing q1"])  # fmt: skip
def test_what_an_encoding_cannot_hold_is_refused(text: str) -> None:
    with pytest.raises(RunError):
        Machine(parse(text)).run_one()


def test_all_are_tested() -> None:
    """By the names in this file and those made of tables."""
    source = Path(__file__).read_text()
    made = {*LANEWISE_NAMES, *ACCUMULATE, *(f"ee.vsmulas.{k}.qacc{s}" for k in ("s8", "s16") for s in ("", ".ld.incp")),
            *(f"ee.srcmb.{k}.qacc" for k in ("s8", "s16")), *(f"ee.mov.{k}.qacc" for k in ("s8", "u8", "s16", "u16")),
            *(f"ee.ldqa.{k}.128.ip" for k in ("s8", "u8", "s16", "u16")),
            *(f"ee.{v}.{p}.{f}" for v in ("vld", "vst") for p in PARTS for f in ("ip", "xp")),
            *(f"ee.{v}.qacc_{w}.{p}.ip" for v in ("st", "ld") for w in "lh" for p in ("l.128", "h.32")),
            *(f"rur.qacc_{w}_{i}" for w in "lh" for i in range(5)), *(f"ee.ld.128.usar.{f}" for f in ("ip", "xp")),
            *(f"ee.vldbc.{b}{f}" for b in (8, 16, 32) for f in ("", ".ip", ".xp")),
            *(f"ee.{v}.{b}" for v in ("vzip", "vunzip") for b in (8, 16, 32))}  # fmt: skip
    written = {name for name in pie.BUILDERS if f"{name} " in source or f'{name}"' in source}
    assert set(pie.BUILDERS) == made & set(pie.BUILDERS) | written
