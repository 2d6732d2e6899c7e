"""The runtime on a board against the host: equal outputs pass, differences are found."""

import io
import zlib
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from tests.hil.bridge import Fault, changing
from tests.hil.conftest import DIGITS, QUICK, Serve
from tigris_pio import compile_model
from tigris_pio.hil.check import CheckReport, check, compare, find_model, open_plan
from tigris_pio.hil.client import Board, FaultInfo, ModelInfo
from tigris_pio.hil.errors import RunError, WrongModelError
from tigris_pio.hil.frames import Frame
from tigris_pio.hil.protocol import Request, TransferFrame
from tigris_pio.hil.report import print_report, verdict
from tigris_pio.hil.samples import random_samples


def run_check(url: str, plan_path: Path, count: int = 3, **options: float) -> CheckReport:
    plan = open_plan(plan_path)
    with Board(url, timing=QUICK) as board:
        return check(board, plan, random_samples(plan.session.inputs, count).inputs, **options)


def corrupting(index: int, at: int, flip: int, size: int = 0) -> Fault:
    """A board that changes one byte of the `index`th output that is read. `size`: bytes of the output if it is
    transferred; the transfer begins with its checksum."""
    seen, change = [0], bytearray(size)
    if size:
        change[at] = flip

    def pass_on(frame: Frame) -> Frame:
        payload = bytearray(frame.payload)
        is_transfer = frame.type == Request.TRANSFER | 0x80 and any(payload[4:])
        if is_transfer or frame.type == Request.READ | 0x80:
            seen[0] += 1
        if seen[0] != index + 1:
            return frame
        if is_transfer:
            checksum = int.from_bytes(payload[4:], "little") ^ zlib.crc32(change) ^ zlib.crc32(bytes(size))
            payload[4:] = checksum.to_bytes(4, "little")
        elif frame.type == TransferFrame.DATA and payload[:2] == b"\0\0":
            payload[2 + at] ^= flip
        elif frame.type == Request.READ | 0x80:
            payload[at] ^= flip
        return replace(frame, payload=bytes(payload))

    return changing(pass_on)


def test_digits_equal_and_recognised(digits: Serve, digits_plan: Path) -> None:
    plan = open_plan(digits_plan)
    with np.load(DIGITS / "model" / "digits_test.npz") as data:
        images, labels = data["images"][:40], data["labels"][:40]
    pixels = plan.session.inputs[0]
    samples = [{pixels.name: pixels.to_stored(image[np.newaxis])} for image in images]
    with Board(digits(), timing=QUICK) as board:
        report = check(board, plan, samples, labels.tolist())
    assert report.equal and report.output_bytes == 40 * 10
    assert report.accuracy is not None and report.accuracy >= 0.9
    assert verdict(report) == f"40/40 outputs equal to the host, accuracy {100 * report.accuracy:.1f} %"
    header = plan.file.header
    assert {sample.run.fast_peak for sample in report.samples} == {plan.session.memory.fast_peak}
    assert report.model.fast_given == report.model.fast_needed == header.fast_bytes
    lacking = replace(report.model, fast_needed=header.fast_bytes + 1000)
    for model, said in ((report.model, False), (lacking, True)):
        console = Console(file=io.StringIO(), width=400)
        print_report(console, replace(report, model=model))
        assert ("1,000 bytes less than plan and kernel library" in console.file.getvalue()) is said
    assert [op.name for op in report.ops] == [plan.file.text(op.name) for op in plan.file.ops]
    assert all(op.calls >= 40 and op.elapsed > 0 for op in report.ops)
    assert all(sample.run.elapsed > 0 for sample in report.samples)


def test_the_right_one_of_several_models_is_checked(digits: Serve, digits_plan: Path, two_inputs_plan: Path) -> None:
    url = digits("--model", two_inputs_plan)
    with Board(url, timing=QUICK) as board:
        for path, index in ((digits_plan, 1), (two_inputs_plan, 0)):
            plan = open_plan(path)
            report = check(board, plan, random_samples(plan.session.inputs, 2).inputs)
            assert (report.equal, report.model.index) == (True, index)
            assert report.output_bytes == 2 * sum(output.stored_bytes for output in plan.session.outputs)


def test_tolerance_is_for_rounding_of_floats_only(serve: Serve, two_inputs_plan: Path) -> None:
    # A low bit of a mantissa, then the highest bit.
    for at, flip, tolerance, equal in ((0, 0x01, 1e-5, True), (2, 0x40, 1e-5, False), (0, 0x01, 0.0, False)):
        url = serve(two_inputs_plan, to_host=corrupting(0, at, flip, 480))
        assert run_check(url, two_inputs_plan, tolerance=tolerance).equal is equal


def test_compare_counts_elements() -> None:
    """Integers are compared exactly, also within a tolerance; floats by their bits."""
    host = np.array([[1, 2], [3, 4]], np.int16)
    mismatch = compare("y", np.array([[1, 2], [-3, 5]], np.int16), host, tolerance=100)
    assert mismatch is not None
    assert (mismatch.elements, mismatch.differing, mismatch.first, mismatch.largest_difference) == (4, 2, 2, 6)
    nan, zero = np.array([np.nan, 1], np.float32), np.array([0, 1], np.float32)
    assert compare("y", nan.copy(), nan) is None and compare("y", nan, zero, tolerance=1e-3) is not None
    assert compare("y", np.array([-0.0, 1], np.float32), zero) is not None


def test_plans_that_the_board_does_not_have(
    serve: Serve, digits_plan: Path, two_inputs_plan: Path, tmp_path: Path
) -> None:
    """Another model, another compilation, too little memory, erased flash, a flipped bit in it."""
    header = open_plan(digits_plan).file.header
    source = bytes(header.source_sha256).hex()[:12]
    other, erased, damaged = (tmp_path / name for name in ("digits.tgrs", "erased.bin", "damaged.tgrs"))
    compile_model(DIGITS / "model" / "digits.onnx", fast="16K", copy_weights=True).save(other)
    erased.write_bytes(b"\xff" * 4096)
    data = bytearray(digits_plan.read_bytes())
    data[header.weights + 200] ^= 1
    damaged.write_bytes(data)
    for plan, options, error, message in (
        (two_inputs_plan, (), WrongModelError, r"the board holds two_inputs \(SHA-256 [0-9a-f]+…\)(.|\n)*"
         rf"the host expects digits \(SHA-256 {source}…\)\. Upload that model"),
        (other, (), WrongModelError, "another compilation of digits"),
        (digits_plan, ("--fast", "1024"), RunError,
         rf"cannot run on the board: .*has 1024 bytes, the plan needs {header.fast_bytes}"),
        (erased, (), RunError, r"no plan that it can open \(model 0: .*upload it again"),
        (damaged, (), RunError, r"the plan in the board's flash is damaged: .*Upload it again"),
    ):  # fmt: skip
        with pytest.raises(error, match=message):
            run_check(serve(plan, *options), digits_plan)


def test_a_plan_of_other_scales_comes_with_its_firmware(digits_plan: Path) -> None:
    """Firmware refuses the plan before it is described; uploading it again would not help."""
    refused = ModelInfo(0, "", "", 0, 0, 0, 0, 0, 0, 0, 0, -44, "inputs or outputs are not those of the firmware")
    nowhere = FaultInfo(-44, None, None, None, "")
    board: Any = SimpleNamespace(url="board", models=lambda: [refused], fault=lambda index: nowhere)
    with pytest.raises(RunError, match=r"not those of the firmware\)\. Build and upload firmware and plan together"):
        find_model(board, open_plan(digits_plan).file)
