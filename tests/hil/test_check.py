"""The runtime on a board against the host: equal where it is, and found where it is not."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
import pytest

from tests.hil.bridge import Bridge, Fault
from tests.hil.conftest import DIGITS, QUICK
from tigris_pio import compile_model
from tigris_pio.errors import PlanError
from tigris_pio.hil.check import CheckReport, check, compare, open_plan
from tigris_pio.hil.client import Board
from tigris_pio.hil.errors import RunError, WrongModelError
from tigris_pio.hil.frames import Frame, FrameReader, encode
from tigris_pio.hil.protocol import Request, StreamFrame
from tigris_pio.hil.report import document, mismatch_lines, verdict
from tigris_pio.hil.samples import random_samples

Connect = Callable[..., Bridge]


def run_check(url: str, plan_path: Path, count: int = 3, **options: float) -> CheckReport:
    plan = open_plan(plan_path)
    with Board(url, timing=QUICK) as board:
        return check(board, plan, random_samples(plan.session.inputs, count).inputs, **options)


def corrupting(index: int, at: int, flip: int, size: int = 0) -> Fault:
    """A board that computes one byte of the `index`th output that is read wrongly. `size`: its bytes, if it comes as a
    stream, which begins with their checksum."""
    reader, seen = FrameReader(), [0]
    change = bytearray(size)
    if size:
        change[at] = flip

    def pass_on(data: bytes) -> Iterable[bytes]:
        for frame in reader.feed(data):
            payload = bytearray(frame.payload)
            is_stream = frame.type == Request.STREAM | 0x80 and any(payload[4:])
            if is_stream or frame.type == Request.READ | 0x80:
                seen[0] += 1
            if is_stream and seen[0] == index + 1:
                checksum = int.from_bytes(payload[4:], "little") ^ zlib.crc32(change) ^ zlib.crc32(bytes(size))
                payload[4:] = checksum.to_bytes(4, "little")
            elif frame.type == StreamFrame.DATA and seen[0] == index + 1 and payload[:2] == b"\0\0":
                payload[2 + at] ^= flip
            elif frame.type == Request.READ | 0x80 and seen[0] == index + 1:
                payload[at] ^= flip
            yield encode(Frame(frame.type, frame.sequence, frame.session, bytes(payload)))

    return pass_on


def test_digits_equal_and_recognised(real_board: Path, digits_plan: Path, line: Connect) -> None:
    plan = open_plan(digits_plan)
    with np.load(DIGITS / "model" / "digits_test.npz") as data:
        images, labels = data["images"][:100], data["labels"][:100]
    pixels = plan.session.inputs[0]
    samples = [{pixels.name: pixels.to_stored(image[np.newaxis])} for image in images]
    seen: list[int] = []
    with Board(line([real_board, "--fifo", "128", "--model", digits_plan]).url, timing=QUICK) as board:
        report = check(board, plan, samples, labels.tolist(), lambda sample: seen.append(sample.index))
    assert report.equal
    assert seen == list(range(100))
    assert report.output_bytes == 100 * 10
    assert report.accuracy is not None
    assert report.accuracy >= 0.93
    assert verdict(report) == f"100/100 outputs equal to the host, accuracy {100 * report.accuracy:.1f} %"
    header = plan.file.header
    assert {sample.run.fast_peak for sample in report.samples} == {plan.session.memory.fast_peak}
    assert report.model.fast_given == header.fast_bytes
    assert [op.name for op in report.ops] == [plan.file.text(op.name) for op in plan.file.ops]
    assert all(op.calls >= 100 and op.elapsed > 0 for op in report.ops)
    assert all(sample.run.elapsed > 0 for sample in report.samples)


def test_several_inputs_and_outputs_of_float32(real_board: Path, two_inputs_plan: Path, line: Connect) -> None:
    report = run_check(line([real_board, "--model", two_inputs_plan]).url, two_inputs_plan)
    assert report.equal
    assert report.output_bytes == 3 * 2 * 120 * 4


def test_the_right_one_of_several_models(
    real_board: Path, digits_plan: Path, two_inputs_plan: Path, line: Connect
) -> None:
    url = line([real_board, "--model", two_inputs_plan, "--model", digits_plan]).url
    with Board(url, timing=QUICK) as board:
        for path, index in ((digits_plan, 1), (two_inputs_plan, 0)):
            plan = open_plan(path)
            report = check(board, plan, random_samples(plan.session.inputs, 2).inputs)
            assert (report.equal, report.model.index) == (True, index)


def test_a_wrong_byte_is_found_and_named(real_board: Path, digits_plan: Path, line: Connect) -> None:
    report = run_check(line([real_board, "--model", digits_plan], to_host=corrupting(1, 7, 0x04)).url, digits_plan)
    assert not report.equal
    assert report.equal_samples == 2
    (mismatch,) = report.samples[1].mismatches
    assert (mismatch.output, mismatch.elements, mismatch.differing, mismatch.first) == ("probability", 10, 1, 7)
    assert abs(mismatch.board_value - mismatch.host_value) == mismatch.largest_difference == 4
    (text,) = mismatch_lines(report.samples)
    assert text.startswith("sample 1: output probability: 1 of 10 elements differ, first at index 7: board ")
    assert verdict(report) == "2/3 outputs equal to the host"
    entry = document(report)["mismatches"][0]
    assert (entry["sample"], entry["output"], entry["first"], entry["differing"]) == (1, "probability", 7, 1)


def test_tolerance_is_for_rounding_of_floats_only(real_board: Path, two_inputs_plan: Path, line: Connect) -> None:
    # One bit low in a mantissa; then the highest one.
    for at, equal in ((0, True), (2, False)):
        fault = corrupting(0, at, 0x40 if at else 0x01, 480)
        url = line([real_board, "--model", two_inputs_plan], to_host=fault).url
        assert run_check(url, two_inputs_plan, tolerance=1e-5).equal is equal
    url = line([real_board, "--model", two_inputs_plan], to_host=corrupting(0, 0, 0x01, 480)).url
    assert not run_check(url, two_inputs_plan).equal


def test_compare_counts_elements() -> None:
    host = np.array([[1, 2], [3, 4]], np.int16)
    assert compare("y", host.copy(), host) is None
    board = np.array([[1, 2], [-3, 5]], np.int16)
    mismatch = compare("y", board, host, tolerance=100)
    assert mismatch is not None
    assert (mismatch.elements, mismatch.differing, mismatch.first, mismatch.largest_difference) == (4, 2, 2, 6)
    nan = np.array([np.nan, 1], np.float32)
    assert compare("y", nan.copy(), nan) is None
    mismatch = compare("y", nan, np.array([0, 1], np.float32), tolerance=1e-3)
    assert mismatch is not None
    assert mismatch.first == 0
    negative_zero = compare("y", np.array([-0.0], np.float32), np.array([0.0], np.float32))
    assert negative_zero is not None


def test_wrong_model_names_both(real_board: Path, digits_plan: Path, two_inputs_plan: Path, line: Connect) -> None:
    url = line([real_board, "--model", two_inputs_plan]).url
    with pytest.raises(WrongModelError) as failure:
        run_check(url, digits_plan)
    source = bytes(open_plan(digits_plan).file.header.source_sha256).hex()[:12]
    assert f"{url}: the board holds two_inputs (SHA-256 " in str(failure.value)
    assert f"the host expects digits (SHA-256 {source}…). Upload that model" in str(failure.value)


def test_another_compilation_of_the_same_model(
    real_board: Path, digits_plan: Path, line: Connect, tmp_path: Path
) -> None:
    other = tmp_path / "digits.tgrs"
    compile_model(DIGITS / "model" / "digits.onnx", fast="16K", copy_weights=True).save(other)
    with pytest.raises(WrongModelError, match="another compilation of digits"):
        run_check(line([real_board, "--model", other]).url, digits_plan)


def test_arena_too_small_on_the_board(real_board: Path, digits_plan: Path, line: Connect) -> None:
    url = line([real_board, "--fast", "1024", "--model", digits_plan]).url
    needed = open_plan(digits_plan).file.header.fast_bytes
    with pytest.raises(RunError, match=rf"cannot run on the board: .*has 1024 bytes, the plan needs {needed}"):
        run_check(url, digits_plan)


def test_flash_without_a_plan(real_board: Path, digits_plan: Path, line: Connect, tmp_path: Path) -> None:
    erased = tmp_path / "erased.bin"
    erased.write_bytes(b"\xff" * 4096)
    with pytest.raises(RunError, match=r"no plan it can open \(model 0: .*Upload the plan again"):
        run_check(line([real_board, "--model", erased]).url, digits_plan)


def test_flash_with_a_flipped_bit(real_board: Path, digits_plan: Path, line: Connect, tmp_path: Path) -> None:
    damaged = tmp_path / "damaged.tgrs"
    data = bytearray(digits_plan.read_bytes())
    data[open_plan(digits_plan).file.header.weights + 200] ^= 1
    damaged.write_bytes(data)
    with pytest.raises(RunError, match=r"the plan in the board's flash is damaged: .*Upload it again"):
        run_check(line([real_board, "--model", damaged]).url, digits_plan)


def test_plan_files_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match=r"none\.tgrs: no such file"):
        open_plan(tmp_path / "none.tgrs")
    (tmp_path / "text.tgrs").write_text("hello")
    with pytest.raises(PlanError, match=r"text\.tgrs: not a \.tgrs plan"):
        open_plan(tmp_path / "text.tgrs")
