"""The camera adapter of tigris_camera.h against its definition, written here once more with whole arrays."""

import dataclasses
import itertools
import struct
import subprocess
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.harness.tiers import examples
from tests.runtime.build import INCLUDE, RUNTIME, SANITIZERS, compile_each, compile_program, compiler
from tests.runtime.loader import Status
from tigris_pio.format.enums import Rounding
from tigris_pio.format.rounding import rounded

FORMATS = ("grey", "rgb565 low first", "rgb565 high first", "rgb888", "bgr888", "yuyv", "uyvy")
PIXEL_BYTES = (1, 2, 2, 3, 3, 2, 2)
YUV = (5, 6)
AREA, NEAREST = 0, 1
INT8, UINT8, INT16, FLOAT32 = 1, 2, 3, 6
TYPES = {INT8: np.int8, UINT8: np.uint8, INT16: np.int16, FLOAT32: np.float32}
OK, ARGUMENT = 0, -1


@dataclasses.dataclass(frozen=True)
class Config:
    format: int = 3
    resize: int = AREA
    dtype: int = UINT8
    channels: int = 3
    frame_width: int = 8
    frame_height: int = 6
    crop_x: int = 0
    crop_y: int = 0
    crop_width: int = 8
    crop_height: int = 6
    width: int = 4
    height: int = 3

    @property
    def sums(self) -> int:
        return self.width * self.channels if self.resize == AREA else 0

    @property
    def input_bytes(self) -> int:
        return self.height * self.width * self.channels * np.dtype(TYPES[self.dtype]).itemsize


class Driver:
    """camera.c, sanitised; one process for many requests."""

    def __init__(self, program: Path) -> None:
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def ask(self, request: bytes, answer_bytes: int) -> bytes:
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write(request)
        self.process.stdin.flush()
        answer = self.process.stdout.read(answer_bytes)
        assert len(answer) == answer_bytes, "the sanitizers have stopped the adapter"
        return answer

    def frame(self, config: Config, frame: np.ndarray, tables: np.ndarray | None = None, *, before: int = 0,
              lines: int | None = None, sums: int | None = None, input_bytes: int | None = None,
              fetched: int = 0) -> tuple[list[int], int, np.ndarray]:  # fmt: skip
        """Statuses of init, begin and the last line; whether it is complete; the input. `frame`: uint8 [lines, bytes].

        `before` lines of another frame come first. `fetched`: rows that a stream asks for at a time, 0: no stream."""
        if tables is None:
            tables = np.tile(np.arange(256).astype(TYPES.get(config.dtype, np.uint8)), (3, 1))
        frame = frame if lines is None else frame[:lines]
        sums = config.sums if sums is None else sums
        input_bytes = config.input_bytes if input_bytes is None else input_bytes
        sizes = [tables[0].nbytes, frame.shape[1], before, len(frame), fetched]
        numbers = [*dataclasses.astuple(config), sums, input_bytes, *sizes]
        answer = self.ask(b"f" + struct.pack("<19I", *numbers) + tables.tobytes() + frame.tobytes(), 16 + input_bytes)
        *statuses, complete = struct.unpack("<4i", answer[:16])
        return statuses, complete, np.frombuffer(answer[16:], np.uint8)


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Driver]:
    program = tmp_path_factory.mktemp("camera") / "driver"
    running = Driver(compile_program(program, [Path(__file__).with_name("camera.c")], *SANITIZERS))
    yield running
    assert running.process.stdin and running.process.stdout
    running.process.stdin.close()
    assert running.process.wait(20) == 0  # leaks too


# ---- the definition ----------------------------------------------------------------------------------------------


def components(config: Config, frame: np.ndarray) -> np.ndarray:
    """int64 [lines, pixels, channels] of the whole frame, in the model's channels."""
    data = frame.astype(np.int64)
    if config.format == 0:
        return np.repeat(data[:, :, None], config.channels, axis=2)
    if config.format in (1, 2):
        low, high = (data[:, 0::2], data[:, 1::2])[:: 1 if config.format == 1 else -1]
        bits = high * 256 + low
        five = [(part << 3) | (part >> 2) for part in (bits >> 11, bits & 31)]
        green = (bits >> 5) & 63
        rgb = np.stack([five[0], (green << 2) | (green >> 4), five[1]], axis=2)
    elif config.format in (3, 4):
        rgb = data.reshape(len(data), -1, 3)[:, :, :: 1 if config.format == 3 else -1]
    else:
        quads = data.reshape(len(data), -1, 4)
        order = (0, 1, 2, 3) if config.format == 5 else (1, 0, 3, 2)
        y0, u, y1, v = (quads[:, :, index] for index in order)
        luma = np.stack([y0, y1], axis=2).reshape(len(data), -1)
        u, v = (np.repeat(part, 2, axis=1) - 128 for part in (u, v))
        if config.channels == 1:
            return luma[:, :, None]
        parts = (359 * v, -88 * u - 183 * v, 454 * u)
        rgb = np.clip(np.stack([(256 * luma + part + 128) // 256 for part in parts], axis=2), 0, 255)
    if config.channels == 3:
        return rgb
    return (rgb @ np.array([77, 150, 29]) + 128)[:, :, None] // 256


def shared(model: int, crop: int) -> np.ndarray:
    """Lengths that pixels of the crop share with those of the model: int64 [model, crop]."""
    into, out = np.arange(crop), np.arange(model)[:, None]
    ends = np.minimum((into + 1) * model, (out + 1) * crop) - np.maximum(into * model, out * crop)
    return np.maximum(ends, 0)


def expected(config: Config, frame: np.ndarray, tables: np.ndarray) -> np.ndarray:
    """The input tensor, [height, width, channels]."""
    rows = slice(config.crop_y, config.crop_y + config.crop_height)
    columns = slice(config.crop_x, config.crop_x + config.crop_width)
    pixels = components(config, frame)[rows, columns]
    if config.resize == NEAREST:
        y = (2 * np.arange(config.height) + 1) * config.crop_height // (2 * config.height)
        x = (2 * np.arange(config.width) + 1) * config.crop_width // (2 * config.width)
        values = pixels[y][:, x]
    else:
        area = config.crop_width * config.crop_height
        down, across = shared(config.height, config.crop_height), shared(config.width, config.crop_width)
        values = (np.einsum("yj,jic,xi->yxc", down, pixels, across) + area // 2) // area
    return np.stack([tables[channel][values[:, :, channel]] for channel in range(config.channels)], axis=2)


def check(driver: Driver, config: Config, seed: int, before: int = 0, fetched: int = 0) -> None:
    rng = np.random.default_rng(seed)
    frame = rng.integers(0, 256, (config.frame_height, config.frame_width * PIXEL_BYTES[config.format]), np.uint8)
    tables = rng.integers(-120, 120, (3, 256)).astype(TYPES[config.dtype])
    statuses, complete, found = driver.frame(config, frame, tables, before=before, fetched=fetched)
    assert (statuses, complete) == ([OK] * 3, 1)
    wanted = expected(config, frame, tables)
    assert np.array_equal(found.view(wanted.dtype).reshape(wanted.shape), wanted)


# ---- the tests ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("format_", range(7), ids=FORMATS)
def test_every_format_in_every_way(driver: Driver, format_: int) -> None:
    sizes = [(7, 5), (3, 2), (15, 12), (31, 23), (11, 12), (1, 1)]  # shrunk, oddly, copied, enlarged, both
    ways = itertools.product((1, 3), (AREA, NEAREST), TYPES, sizes)
    for seed, (channels, resize, dtype, (width, height)) in enumerate(ways):
        config = Config(format_, resize, dtype, channels, 20, 16, 3, 2, 15, 12, width, height)
        check(driver, config, seed, before=seed % 3 * 5)


@st.composite
def configs(draw: st.DrawFn) -> Config:
    format_ = draw(st.integers(0, 6))
    frame = [draw(st.integers(1, 24)) * (2 if format_ in YUV else 1), draw(st.integers(1, 24))]
    starts = [draw(st.integers(0, side - 1)) for side in frame]
    crop = [draw(st.integers(1, side - start)) for side, start in zip(frame, starts, strict=True)]
    model = [draw(st.integers(1, 40)) for _ in frame]
    dtype, channels = draw(st.sampled_from(sorted(TYPES))), draw(st.sampled_from((1, 3)))
    return Config(format_, draw(st.integers(0, 1)), dtype, channels, *frame, *starts, *crop, *model)


@pytest.mark.fuzzed
@settings(max_examples=examples(60, 150, 5000), deadline=None)
@given(config=configs(), seed=st.integers(0, 2**32 - 1))
def test_any_sizes(driver: Driver, config: Config, seed: int) -> None:
    check(driver, config, seed, before=seed % (config.frame_height + 1))


def test_colours_of_yuv_are_those_of_jpeg(driver: Driver) -> None:
    """Within one step of the equations of the JPEG file interchange format, computed in float64."""
    levels = np.array([0, 1, 50, 100, 127, 128, 129, 180, 200, 254, 255])
    y, u, v = (part.reshape(-1) for part in np.meshgrid(levels, levels, levels))
    frame = np.stack([y, u, y, v], axis=1).astype(np.uint8).reshape(1, -1)
    config = Config(5, NEAREST, UINT8, 3, 2 * len(y), 1, 0, 0, 2 * len(y), 1, len(y), 1)
    _, _, found = driver.frame(config, frame)
    red, green, blue = y + 1.402 * (v - 128), y - 0.344136 * (u - 128) - 0.714136 * (v - 128), y + 1.772 * (u - 128)
    exact = np.clip(np.stack([red, green, blue], axis=1), 0, 255)
    assert np.abs(found.reshape(-1, 3) - exact).max() <= 1


def test_the_largest_sums_fit(driver: Driver) -> None:
    config = Config(0, AREA, UINT8, 1, 4096, 4096, 0, 0, 4096, 4096, 1, 1)
    white = np.full((4096, 4096), 255, np.uint8)
    assert driver.frame(config, white)[2].tolist() == [255]
    white[4095] = 0  # half a step less would be 254.97: one line in 4096 is 0.06
    assert driver.frame(config, white)[2].tolist() == [255]
    white[:16] = 0
    assert driver.frame(config, white)[2].tolist() == [254]


REFUSED: list[dict[str, int]] = [
    {"format": 7}, {"resize": 2}, {"dtype": 4}, {"dtype": 0}, {"channels": 2}, {"channels": 0}, {"channels": 4},
    {"frame_width": 0}, {"frame_width": 4097}, {"frame_height": 4097}, {"crop_width": 9}, {"crop_height": 7},
    {"crop_width": 0}, {"crop_x": 1}, {"crop_y": 1}, {"crop_x": 2**32 - 8, "crop_width": 8},
    {"crop_y": 2**32 - 1, "crop_height": 1}, {"width": 2**31, "height": 2}, {"height": 0},
    {"format": 6, "frame_width": 7, "crop_width": 7},  # half a pair
]  # fmt: skip


@pytest.mark.parametrize("change", REFUSED, ids=str)
def test_wrong_sizes_are_refused(driver: Driver, change: dict[str, int]) -> None:
    config = dataclasses.replace(Config(), **change)
    frame = np.zeros((6, 24), np.uint8)
    statuses, complete, found = driver.frame(config, frame, sums=4096, input_bytes=36)
    assert (statuses, complete) == ([ARGUMENT] * 3, 0)
    assert (found == 0xA5).all()


#: Sizes around which checks have their edges, and those whose sums and products wrap.
EDGES = st.sampled_from([0, 1, 2, 3, 4, 7, 8, 24, 4095, 4096, 4097, 2**16, 2**31 - 1, 2**31, 2**32 - 4, 2**32 - 1])


@pytest.mark.fuzzed
@settings(max_examples=examples(80, 200, 5000), deadline=None)
@given(sizes=st.lists(EDGES, min_size=8, max_size=8), kinds=st.tuples(*[st.integers(0, 8)] * 4),
       sums=st.integers(0, 40), bytes_=st.integers(0, 200), line=st.integers(0, 40))
def test_no_sizes_do_harm(driver: Driver, sizes: list[int], kinds: tuple[int, ...], sums: int, bytes_: int,
                          line: int) -> None:  # fmt: skip
    """Accepted sizes stay within their buffers, which the sanitizers watch; refused sizes touch no buffer."""
    frame, tables = np.zeros((5, line), np.uint8), np.zeros((3, 1024), np.uint8)
    statuses, complete, found = driver.frame(Config(*kinds, *sizes), frame, tables, sums=sums, input_bytes=bytes_)
    assert set(statuses) <= {OK, ARGUMENT} and complete in (0, 1)
    if statuses[1] != OK:
        assert statuses[2] == ARGUMENT and (found == 0xA5).all()


def test_wrong_buffers_are_refused(driver: Driver) -> None:
    config, frame = Config(), np.zeros((6, 24), np.uint8)
    assert driver.frame(config, frame)[0] == [OK, OK, OK]
    assert driver.frame(config, frame, sums=11)[0] == [ARGUMENT] * 3
    assert driver.frame(config, frame, sums=0)[0] == [ARGUMENT] * 3
    for bytes_ in (0, 35, 37):
        statuses, complete, found = driver.frame(config, frame, input_bytes=bytes_)
        assert (statuses, complete) == ([OK, ARGUMENT, ARGUMENT], 0) and (found == 0xA5).all()
    # A line of fewer bytes than pixels; one of more is read as far as its pixels go.
    for bytes_ in (23, 0):
        statuses, complete, found = driver.frame(config, np.zeros((6, bytes_), np.uint8))
        assert (statuses, complete) == ([OK, OK, ARGUMENT], 0) and (found == 0xA5).all()
    assert driver.frame(config, np.zeros((6, 29), np.uint8))[:2] == ([OK, OK, OK], 1)


def test_lines_are_counted(driver: Driver) -> None:
    config, frame = Config(crop_y=1, crop_height=3, height=3), np.full((7, 24), 9, np.uint8)
    for lines in range(1, 7):
        statuses, complete, found = driver.frame(config, frame, lines=lines)
        assert (statuses, complete) == ([OK] * 3, int(lines >= 4))
        assert (found.reshape(3, -1)[: max(lines - 1, 0)] == 9).all()
        assert (found.reshape(3, -1)[max(lines - 1, 0) :] == 0xA5).all()
    assert driver.frame(config, frame, lines=7)[0] == [OK, OK, ARGUMENT]


def filled(driver: Driver, dtype: int, bytes_: int, zero_point: int, *parts: float,
           rounding: Rounding = Rounding.HALF_EVEN) -> tuple[int, bytes]:
    answer = driver.ask(b"t" + struct.pack("<4i3f", dtype, bytes_, zero_point, rounding, *parts), 4 + bytes_)
    return struct.unpack("<i", answer[:4])[0], answer[4:]


@pytest.mark.parametrize("rounding", Rounding)
@pytest.mark.parametrize("dtype", TYPES)
def test_tables_are_the_models_quantisation(driver: Driver, dtype: int, rounding: Rounding) -> None:
    kind, rng = np.dtype(TYPES[dtype]), np.random.default_rng(dtype)
    parts = [(0, 255, 1 / 255, -128 if dtype == INT8 else 0), (127.5, 127.5, 1 / 128, 0), (0, 1, 1, 0), (0, 1, 2, 0)]
    parts += [(float(rng.uniform(0, 255)), float(rng.uniform(1, 255)), float(rng.uniform(1e-3, 0.05)),
               int(rng.integers(0, 127))) for _ in range(40)]  # fmt: skip
    parts += [(0, 255, 2 / 255, 1), (0, 1, 2 / 255, 3)]  # pixels in the middle of two steps
    parts += [(255, 1e-20, 1e-20, 0), (0, 1e-20, 1e-20, 0)]  # quotients that are not finite
    with np.errstate(all="ignore"):
        for mean, deviation, scale, zero in parts:
            real = (np.arange(256, dtype=np.float32) - np.float32(mean)) / np.float32(deviation)
            stored = real
            if dtype != FLOAT32:
                # Beyond any type, so that nothing is lost, and what has no value is the least.
                steps = np.clip(np.nan_to_num(real / np.float32(scale), nan=-4e6), -4e6, 4e6)
                stored = np.clip(rounded(steps, rounding) + zero, np.iinfo(kind).min, np.iinfo(kind).max)
            status, table = filled(driver, dtype, 256 * kind.itemsize, zero, mean, deviation, scale, rounding=rounding)
            assert status == OK
            assert np.array_equal(np.frombuffer(table, kind), stored.astype(kind)), (mean, deviation, scale, zero)


def test_tables_of_nonsense_are_refused(driver: Driver) -> None:
    nan, infinite = float("nan"), float("inf")
    for dtype, bytes_, zero, parts in [
        (INT8, 255, 0, (0, 255, 1)), (INT16, 511, 0, (0, 255, 1)), (FLOAT32, 1023, 0, (0, 255, 1)),
        (0, 2048, 0, (0, 255, 1)), (4, 2048, 0, (0, 255, 1)), (5, 2048, 0, (0, 255, 1)), (7, 2048, 0, (0, 255, 1)),
        (INT8, 256, 128, (0, 255, 1)), (INT8, 256, -129, (0, 255, 1)), (UINT8, 256, -1, (0, 255, 1)),
        *((INT8, 256, 0, parts) for parts in ((nan, 255, 1), (infinite, 255, 1), (0, 0, 1), (0, -1, 1), (0, nan, 1),
                                              (0, infinite, 1), (0, 255, 0), (0, 255, -1), (0, 255, nan),
                                              (0, 255, infinite))),
    ]:  # fmt: skip
        assert filled(driver, dtype, bytes_, zero, *parts) == (ARGUMENT, bytes(bytes_)), (dtype, bytes_, zero, parts)
    assert filled(driver, FLOAT32, 1024, 5000, 0, 255, nan)[0] == OK


def test_lines_take_integers_alone(tmp_path: Path) -> None:
    """No floating point, no libc but memcpy and memset: on a processor without either."""
    (made,) = compile_each([*compiler("rv32imc"), "-Os", f"-I{INCLUDE}"], [RUNTIME / "src" / "camera.c"], tmp_path)
    command = ["riscv64-unknown-elf-nm", "-u", str(made)]
    listing = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    assert set(listing) - {"U"} == {"memcpy", "memset"}


@settings(max_examples=examples(60, 300), deadline=None)
@given(config=configs(), fetched=st.integers(1, 4), seed=st.integers(0, 2**32 - 1))
def test_rows_that_are_fetched_are_those_of_a_whole_input(driver: Driver, config: Config, fetched: int,
                                                          seed: int) -> None:  # fmt: skip
    """Pictures are shrunk or of equal size. A source that ends early stops the adapter."""
    config = dataclasses.replace(config, height=min(config.height, config.crop_height))
    check(driver, config, seed, fetched=fetched)
    if config.resize == AREA:
        bytes_, lines = config.frame_width * PIXEL_BYTES[config.format], config.crop_y + config.crop_height - 1
        found = driver.frame(config, np.zeros((lines, bytes_), np.uint8), fetched=fetched)
        assert found[0] == [OK, OK, Status.ERR_ROWS]


def test_enlarged_pictures_are_not_fetched(driver: Driver) -> None:
    init, begin, _ = driver.frame(Config(height=7), np.zeros((6, 24), np.uint8), fetched=1)[0]
    assert init == OK != begin
