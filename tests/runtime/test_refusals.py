"""Each kind of damage has its own status, and none of it reaches a kernel."""

import dataclasses
import functools
import itertools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from tests.runtime import loader
from tests.runtime.chains import example_chain, plan_of, walk
from tests.runtime.kernel_harness import Operator, Way, operator, plan_for
from tests.runtime.loader import Status, bind_status
from tests.runtime.operators import operators
from tests.runtime.plan_builder import PlanBuilder, changed, with_crc
from tigris_pio.cli.inspect import inspect
from tigris_pio.compiler.ir.program import RowMap
from tigris_pio.errors import PlanError
from tigris_pio.format.enums import DType, Home, OpKind, TensorFlag, UnaryFunction, ViewFlag
from tigris_pio.format.kinds import INT4_KINDS, PARAMS, TABLE_KINDS
from tigris_pio.format.params import ConvInt8Params, CopyParams, UnaryFloatParams, shared
from tigris_pio.format.record import Record
from tigris_pio.format.records import Header, IoRecord, OperandRecord, OpRecord, StageRecord, TensorRecord, ViewRecord
from tigris_pio.host import Session
from tigris_pio.host.library import status_text


@functools.cache
def example_plan() -> bytes:
    """Five tensors in windows: 0 the input in slow memory, 1 … 3 inside the stage, 4 the output in slow memory."""
    chain = example_chain(keep=True)
    return plan_of(chain, walk(chain)[0])


@pytest.fixture
def plan() -> bytes:
    """See example_plan."""
    return example_plan()


HUGE = 0xFFFFFFF0
MOST_STEPS = 1 << 20

#: By the record that is damaged, its index and the status.
DAMAGES: dict[tuple[type[Record], int, int], list[dict[str, Any]]] = {
    (Header, 0, Status.ERR_NOT_A_PLAN): [{"magic": b"TGRX"}],
    (Header, 0, Status.ERR_VERSION): [{"version": 2}, {"header_bytes": 196}],
    (Header, 0, Status.ERR_TRUNCATED): [{"total_bytes": HUGE}],
    (Header, 0, Status.ERR_ALIGNMENT): [{"alignment": 24}, {"alignment": 2}, {"alignment": 1 << 15}],
    (Header, 0, Status.ERR_SECTION): [
        {"flags": 16}, {"state_bytes": HUGE}, {"fast_reserved": HUGE}, {"tensors": 201}, {"tensors": 0},
        {"ops": HUGE}, {"view_count": 0x10000000}, {"weights_bytes": HUGE}],
    (Header, 0, Status.ERR_STRING): [{"name": b"x" * 48}, {"strings_bytes": 1}],
    (TensorRecord, 0, Status.ERR_STRING): [{"name": HUGE}],
    (TensorRecord, 0, Status.ERR_TENSOR): [
        {"height": 0}, {"width": 0x80000000, "channels": 8}, {"dtype": 0}, {"dtype": 8},
        {"home": 4}, {"home_offset": 8}, {"home_offset": HUGE}, {"home": Home.FAST, "home_offset": 0}, {"flags": 3},
        {"flags": 4}, {"scale": float("nan")}, {"scale": -1.0}],
    (TensorRecord, 0, Status.ERR_IO): [{"flags": TensorFlag.FOLDED}],
    (TensorRecord, 1, Status.ERR_TENSOR): [{"home_offset": 16}],
    (IoRecord, 0, Status.ERR_IO): [{"tensor": 99}, {"tensor": 1}, {"rank": 9}, {"shape": (1, 12, 3, 3, 0, 0, 0, 0)},
        {"shape": (1, 12, 3, 2, 1, 0, 0, 0)}, {"stored_shape": (0x80000000, 2, 0, 0, 0, 0, 0, 0)},
        {"permutation": (0, 1, 2, 2, 0, 0, 0, 0)}, {"permutation": (0, 1, 2, 4, 0, 0, 0, 0)}, {"model_dtype": 0}],
    (IoRecord, 0, Status.ERR_STRING): [{"name": HUGE}],
    (StageRecord, 0, Status.ERR_STAGE): [{"first_op": 1}, {"op_count": 3}, {"view_count": HUGE}, {"band_count": 0},
        {"band_count": 4}, {"band_count": HUGE}, {"strategy": 4}, {"weight_mode": 3}, {"block": 8}, {"block": HUGE},
        {"block_raw_bytes": 1}, {"weight_mode": 1, "block_fast_offset": 2048}],
    (StageRecord, 0, Status.ERR_BANDS): [{"band_count": 2}],
    (ViewRecord, 0, Status.ERR_VIEW): [
        {"tensor": 99}, {"flags": 16 | ViewFlag.WINDOW}, {"flags": ViewFlag.LOAD}, {"offset": 0},
        {"offset": 1025}, {"capacity_rows": 0}, {"capacity_rows": HUGE}, {"pace_numerator": 2, "pace_denominator": 1},
        {"flags": ViewFlag.WINDOW | ViewFlag.STORE}],
    (ViewRecord, 1, Status.ERR_VIEW): [
        {"flags": 0, "offset": 0, "capacity_rows": 12}, {"flags": ViewFlag.WINDOW | ViewFlag.LOAD},
        {"flags": ViewFlag.WINDOW | ViewFlag.STORE}, {"parked": 768}, {"parked": HUGE}],
    (ViewRecord, 4, Status.ERR_VIEW): [{"pace_denominator": 0}, {"pace_denominator": HUGE}, {"pace_numerator": HUGE},
        {"pace_numerator": 0}, {"pace_offset": 0x7FFFFFFF}],
    (ViewRecord, 4, Status.ERR_STAGE): [{"pace_offset": 6}],
    (ViewRecord, 4, Status.ERR_BANDS): [{"pace_offset": -1}],
    (OpRecord, 0, Status.ERR_OP): [{"operand_count": 0}, {"operand_count": 9}, {"output_view": 5}, {"output_view": 2},
        {"images": 0}, {"images": 2}, {"params": 2}, {"params": HUGE}, {"params_bytes": HUGE}, {"first_operand": 1},
        {"scratch": 2048, "scratch_bytes": HUGE}, {"scratch": 0, "scratch_bytes": 16}],
    (OpRecord, 0, Status.ERR_PACKING): [{"packing": 99}],
    (OpRecord, 0, Status.ERR_STRING): [{"name": HUGE}],
    (OpRecord, 0, Status.ERR_UNKNOWN_OP): [{"kind": 99}, {"dtype": DType.INT32}],
    (OpRecord, 0, Status.ERR_PARAMS): [{"params_bytes": 4}],
    (OperandRecord, 0, Status.ERR_OPERAND): [
        {"view": 5}, {"view": 1}, {"denominator": 0}, {"flags": 2}, {"first": 5, "last": 4},
        {"last": 0x7FFFFFFF}, {"first": -0x80000000}],
    (OperandRecord, 0, Status.ERR_PARAMS): [{"first": -2, "last": 2}],
    (OperandRecord, 0, Status.ERR_BANDS): [{"first": 0, "last": 2}],
}  # fmt: skip


@pytest.mark.parametrize(("place", "each"), DAMAGES.items(), ids=str)
def test_damage(plan: bytes, place: tuple[type[Record], int, int], each: list[dict[str, Any]]) -> None:
    record, index, status = place
    found = [bind_status(changed(plan, record, index, **fields)) for fields in each]
    assert found == [status] * len(each)


@pytest.mark.parametrize("windows", [True, False])
def test_scratch_lies_apart_from_what_its_operator_sees(windows: bool) -> None:
    """Boxes, scores and what is found; beside them it may lie anywhere."""
    op = _operator(OpKind.SUPPRESS, DType.FLOAT32)
    plan = plan_for(op, Way(1, windows=windows))
    header = Header.unpack(plan)
    plan = changed(plan, Header, 0, fast_bytes=header.fast_bytes + 64)
    operands = [OperandRecord.unpack(plan, header.operands + index * OperandRecord.size()).view for index in (0, 1)]
    for index in (*operands, output := OpRecord.unpack(plan, header.ops).output_view):
        view = ViewRecord.unpack(plan, header.views + index * ViewRecord.size())
        tensor = TensorRecord.unpack(plan, header.tensors + view.tensor * TensorRecord.size())
        first = view.offset if windows else tensor.home_offset
        end = first + tensor.height * tensor.width * tensor.channels * 4
        for at in (first, (end - 1) // 16 * 16):
            refused = Status.ERR_OP if index == output else Status.ERR_OPERAND
            assert bind_status(changed(plan, OpRecord, 0, scratch=at)) == refused
    assert bind_status(changed(plan, OpRecord, 0, scratch=header.fast_bytes)) == 0


@pytest.mark.parametrize(("more", "status"), [(0, 0), (1, Status.ERR_STAGE)])
def test_steps_of_the_proof_are_limited(plan: bytes, more: int, status: int) -> None:
    """The rows of a plan come late, after as many bands that make none: views and operands of all bands are counted."""
    header = Header.unpack(plan)
    stage = StageRecord.unpack(plan, header.stages)
    bands = MOST_STEPS // (header.view_count + header.operand_count) + more
    for index in range(header.view_count):
        view = ViewRecord.unpack(plan, header.views + index * ViewRecord.size())
        late = (bands - stage.band_count) * view.pace_numerator
        plan = changed(plan, ViewRecord, index, pace_offset=view.pace_offset - late)
    assert bind_status(changed(plan, StageRecord, 0, band_count=bands)) == status


@pytest.mark.parametrize(("kind", "channels", "stages", "status"), [
    (OpKind.DEPTHWISE_CONV_2D, 1 << 16, 64, 0), (OpKind.DEPTHWISE_CONV_2D, 1 << 16, 65, Status.ERR_PARAMS),
    (OpKind.PLAIN_DEPTHWISE_CONV_2D, 1 << 16, 65, Status.ERR_PARAMS),
], ids=str)  # fmt: skip
def test_checks_of_shared_constants_are_limited(kind: OpKind, channels: int, stages: int, status: int) -> None:
    """Every stage has the block of the first: 2^22 multipliers may be looked at, all stages together."""
    plan = PlanBuilder()
    tensors = [plan.tensor(name, (1, 1, 1, channels)) for name in ("in", "out")]
    plan.input(tensors[0])
    plan.output(tensors[1])
    shifts = np.int8 if kind is OpKind.DEPTHWISE_CONV_2D else np.int32
    blobs = {"weights": np.zeros((1, 1, channels), np.int8), "bias": np.zeros(channels, np.int32),
             "multiplier": np.zeros(channels, np.int32), "shift": np.zeros(channels, shifts)}  # fmt: skip
    placed = dict(zip(blobs, itertools.accumulate((blob.nbytes for blob in blobs.values()), initial=0), strict=False))
    for index in range(stages):
        stage = plan.stage()
        views = [stage.view(tensors[0]), stage.view(tensors[1], pace=(1, 1, 0))]
        params = ConvInt8Params(1, 1, 1, 1, 1, 1, 0, 1, 0, 0, -128, 127, **placed)
        stage.op(kind, DType.INT8, params, [(views[0], RowMap.same())], views[1], blobs={} if index else blobs)
    data = bytearray(plan.build())
    header = Header.unpack(data)
    first, size = StageRecord.unpack(data, header.stages), StageRecord.size()
    for index in range(1, stages):
        at = header.stages + index * size
        same = {name: getattr(first, name) for name in ("block", "block_stored_bytes", "block_raw_bytes")}
        data[at : at + size] = dataclasses.replace(StageRecord.unpack(data, at), **same).pack()
    assert bind_status(with_crc(bytes(data))) == status


def two_sines(first_reads: int, *, windows: bool) -> bytes:
    """Two operators, 1 made by the first and 2 by the second; the first reads `first_reads`."""
    plan = PlanBuilder()
    tensors = [plan.tensor(name, (1, 6, 4, 4), DType.FLOAT32, home) for name, home in
               (("in", Home.SLOW), ("first", Home.FAST), ("second", Home.SLOW))]  # fmt: skip
    plan.input(tensors[0])
    plan.output(tensors[2])
    stage = plan.stage()
    flags = (ViewFlag.LOAD, 0, ViewFlag.STORE) if windows else (0, 0, 0)
    views = [stage.view(tensor, capacity=6 if windows else 0, flags=flag, pace=(6, 1, 0) if tensor == 2 else (0, 0, 0))
             for tensor, flag in zip(tensors, flags, strict=True)]  # fmt: skip
    sine = UnaryFloatParams(UnaryFunction.SIN, 0.0, 0.0)
    for source, made in ((first_reads, 1), (1 - first_reads // 2, 2)):
        stage.op(OpKind.TRIGONOMETRIC, DType.FLOAT32, sine, [(views[source], RowMap.same())], views[made])
    return plan.build()


@pytest.mark.parametrize("windows", [False, True], ids=("direct", "windows"))
def test_rows_that_are_not_made_yet_cannot_be_read(windows: bool) -> None:
    assert bind_status(two_sines(0, windows=windows)) == 0
    early = changed(two_sines(2, windows=windows), ViewRecord, 1, pace_numerator=6, pace_denominator=1)
    assert bind_status(early) == Status.ERR_BANDS
    assert re.search(r"at stage 0, operator 0 \(TRIGONOMETRIC [^)]+\), tensor 2 \(second\)", refusal(early))


@pytest.mark.parametrize("data", [b"\0" * 4096, b"TGRS" + b"\xff" * 4092], ids=["zeros", "a header alone"])
def test_a_plan_that_did_not_open_is_not_bound(data: bytes) -> None:
    assert loader.bind_status_of_a_refused_plan(data) == Status.ERR_ARGUMENT


@pytest.mark.parametrize(("images", "flags", "status"), [
    (1, ViewFlag.LOAD, 0), (1, ViewFlag.LOAD | ViewFlag.KEEP, Status.ERR_VIEW), (2, ViewFlag.LOAD | ViewFlag.KEEP, 0)])
def test_windows_of_a_whole_batch_do_not_keep_rows(images: int, flags: ViewFlag, status: int) -> None:
    """Images lie a whole image apart: moving the rows of one would leave the others where they were."""
    x = np.zeros((2, 6, 4, 4), np.int8)
    batch = operator(OpKind.COPY, CopyParams(x.size // images), x, rows=RowMap.whole(6), images=images)
    plan = plan_for(batch, Way(6, windows=True))
    header = Header.unpack(plan)
    plan = changed(plan, Header, 0, fast_bytes=header.fast_bytes + 4096)  # windows of both images
    assert bind_status(changed(plan, ViewRecord, 0, flags=ViewFlag.WINDOW | flags, capacity_rows=6)) == status


@functools.cache
def plan_with_constant() -> bytes:
    """An input, a constant of its shape, which is tensor 1, and their sum."""

    def place(plan: PlanBuilder) -> None:
        offset = plan.add_weights(bytes(400))
        plan.tensors[1] = dataclasses.replace(plan.tensors[1], home=Home.FLASH, home_offset=offset)
        del plan._inputs[1]

    return plan_for(_operator(OpKind.ADD, DType.FLOAT32), Way(6), place)


#: A constant lies on a boundary of its section. It is no input, which the caller would write; it may be an output.
@pytest.mark.parametrize(("record", "index", "fields", "status"), [
    (TensorRecord, 1, {"home_offset": 0}, 0), (TensorRecord, 1, {"home_offset": 16}, 0),
    *((TensorRecord, 1, {"home_offset": offset}, Status.ERR_TENSOR) for offset in (8, 4, 1, HUGE)),
    (IoRecord, 0, {"tensor": 1}, Status.ERR_IO), (IoRecord, 1, {"tensor": 1}, 0),
], ids=str)  # fmt: skip
def test_constants(record: type[Record], index: int, fields: dict[str, int], status: int) -> None:
    assert bind_status(changed(plan_with_constant(), record, index, **fields)) == status


def test_constants_cannot_be_written(plan: bytes) -> None:
    """The output's home moved to flash: a store there is refused, and so is a direct output."""
    moved = changed(plan, TensorRecord, 4, home=Home.FLASH, home_offset=0, height=1)
    moved = changed(moved, IoRecord, 1, shape=(1, 1, 3, 2, 0, 0, 0, 0), stored_shape=(1, 1, 3, 2, 0, 0, 0, 0))
    assert bind_status(moved) == Status.ERR_VIEW
    direct = changed(moved, ViewRecord, 4, flags=0, offset=0, capacity_rows=1, pace_numerator=0, pace_denominator=0)
    assert bind_status(changed(direct, StageRecord, 0, band_count=1)) == Status.ERR_OP


def test_a_flag_that_promises_xip_is_held_to_it(plan: bytes) -> None:
    stage = StageRecord.unpack(plan, Header.unpack(plan).stages)
    fast = Header.unpack(plan).fast_bytes
    copied = changed(plan, Header, 0, fast_bytes=fast + stage.block_raw_bytes)
    copied = changed(copied, StageRecord, 0, weight_mode=1, block_fast_offset=fast)
    assert bind_status(copied) == Status.ERR_STAGE
    assert bind_status(changed(copied, Header, 0, flags=0)) == 0


def test_opening_does_not_read_the_whole_file(plan: bytes) -> None:
    assert bind_status(plan[:-1] + bytes([plan[-1] ^ 1])) == 0


def _operator(kind: OpKind, dtype: DType) -> Operator:
    return next(op for op in operators() if (op.kind, op.dtype) == (kind, dtype))


PARAMETER_DAMAGES: dict[tuple[OpKind, DType], list[dict[str, Any]]] = {
    (OpKind.CONV_2D, DType.INT8): [{"groups": 0}, {"groups": 3}, {"kernel_height": 0}, {"kernel_height": 4},
        {"kernel_width": 65535}, {"stride_height": 2}, {"stride_width": 0}, {"dilation_height": 0},
        {"input_zero_point": 128}],
    (OpKind.DEPTHWISE_CONV_2D, DType.INT8): [{"groups": 2}],
    (OpKind.DEPTHWISE_CONV_2D, DType.FLOAT32): [{"kernel_width": 60000}],
    (OpKind.PLAIN_CONV_2D, DType.INT8): [{"groups": 3}, {"kernel_height": 4}, {"kernel_width": 65535},
        {"input_zero_point": 128}],
    (OpKind.PLAIN_DEPTHWISE_CONV_2D, DType.INT8): [{"groups": 2}, {"stride_width": 0}],
    (OpKind.PLAIN_FULLY_CONNECTED, DType.INT8): [{"rows": 23}, {"out_features": 3}, {"requantise_step": 2}],
    (OpKind.FULLY_CONNECTED, DType.INT8): [{"rows": 23}, {"in_features": 0}, {"out_features": 3},
        {"requantise_step": 2}],
    (OpKind.INT4_CONV_2D, DType.INT8): [{"groups": 0}, {"groups": 2}, {"kernel_height": 4}, {"kernel_width": 65535},
        {"stride_width": 0}, {"input_zero_point": 128}],
    (OpKind.INT4_FULLY_CONNECTED, DType.INT8): [{"rows": 23}, {"in_features": 0}, {"out_features": 3},
        {"requantise_step": 2}],
    (OpKind.TABLE_CONV_2D, DType.INT8): [{"groups": 2}, {"kernel_height": 4}, {"kernel_width": 65535},
        {"stride_width": 0}, {"table_step": 1}, {"table_step": 32}, {"pass_channels": 0}, {"pass_channels": 2},
        {"pass_channels": 12}, {"pass_channels": 1 << 30}, {"tables": 8}, {"tables": 1 << 20}],
    (OpKind.TABLE_FULLY_CONNECTED, DType.INT8): [{"rows": 23}, {"in_features": 0}, {"out_features": 3}, {"table": 8},
        {"table": 1 << 20}],
    (OpKind.FULLY_CONNECTED, DType.FLOAT32): [{"in_features": 8}],
    (OpKind.AVERAGE_POOL, DType.INT8): [{"rescale": 3}, {"include_pad": 2}],
    (OpKind.MAX_POOL, DType.INT8): [{"rescale": 1}],
    (OpKind.MAX_POOL, DType.FLOAT32): [{"stride_height": 3}],
    (OpKind.ADD, DType.INT8): [{"left_shift": 23}, {"row_step": (16, 15)}, {"row_step": (0, 16)},
        {"column_step": (4, 5)}, {"channel_step": (1, 2)}, {"column_step": (-4, 4)}],
    (OpKind.MUL, DType.INT8): [{"left_shift": 1}],
    (OpKind.SOFTMAX, DType.INT8): [{"length": 0}, {"length": 3}, {"exponentials": 16}],
    (OpKind.SOFTMAX, DType.FLOAT32): [{"length": 5}],
    (OpKind.UNARY, DType.FLOAT32): [{"function": 0}, {"function": max(UnaryFunction) + 1}],
    (OpKind.COPY, DType.INT8): [{"bytes": 95}],
    (OpKind.TRANSPOSE, DType.INT8): [{"rank": 9}, {"element_bytes": 2}, {"output_shape": (1, 4, 6, 3, 1, 1, 1, 1)},
        {"input_step": (96, 4, 17, 1, 0, 0, 0, 0)}],
    (OpKind.CONCAT, DType.INT8): [{"axis": 3}, {"axis": 1}],
    (OpKind.QUANTIZE, DType.INT8): [{"scale": 0.0}, {"scale": float("nan")}, {"table": 8}, {"rounding": 2}],
    (OpKind.QUANTIZE, DType.INT16): [{"rounding": 2}],
    (OpKind.DEQUANTIZE, DType.INT8): [{"zero_point": 200}, {"table": 16}],
    **{(OpKind.MAT_MUL, dtype): [{"depth": 1 << 31, "depth_step_a": 0, "depth_step_b": 0}]
       for dtype in (DType.FLOAT32, DType.INT16)},
    (OpKind.SUPPRESS, DType.FLOAT32): [{"per_class": 5}, {"boxes": 5}, {"count": 3}],
    (OpKind.SPECTRUM, DType.INT16): [{"samples": 12}, {"samples": 14}, {"points": 8}, {"points": 32}, {"points": 15},
        {"points": 0}, {"points": 1 << 31}, {"shift": 32}, {"weight_count": 1 << 31}, {"weight_count": 33}],
    (OpKind.LEVEL, DType.INT32): [{"function": 0}, {"function": 3, "table": 16}, {"function": 4}, {"function": 5},
        {"up_bits": 32}, {"down_bits": 64}],
}  # fmt: skip


@pytest.mark.parametrize(("kernel", "each"), PARAMETER_DAMAGES.items(), ids=str)
def test_parameters_that_contradict_the_tensors(kernel: tuple[OpKind, DType], each: list[dict[str, Any]]) -> None:
    op = _operator(*kernel)
    plan = plan_for(op, Way(op.output_shape[1]))
    assert bind_status(plan) == 0
    for fields in each:
        assert status_with_params(plan, kernel, **fields) == Status.ERR_PARAMS, fields


def status_with_params(plan: bytes, kernel: tuple[OpKind, DType], **fields: Any) -> int:
    """The status of a plan whose first operator has other parameters."""
    header = Header.unpack(plan)
    start = header.params + OpRecord.unpack(plan, header.ops).params
    damaged = dataclasses.replace(PARAMS[kernel].unpack(plan, start), **fields).pack()  # type: ignore[type-var]
    return bind_status(with_crc(plan[:start] + damaged + plan[start + len(damaged) :]))


def damages_of(record: type[Record], lowest: int, highest: int) -> Iterator[dict[str, Any]]:
    """Values that no kernel takes, by the shared records that a record embeds."""
    for part in record.EMBEDDED:
        yield from damages_of(part, lowest, highest)
    yield from {
        shared.Clamp: [{"activation_min": lowest - 1}, {"activation_max": highest + 1},
                       {"activation_min": 5, "activation_max": 4}],
        shared.OutputZero: [{"output_zero_point": lowest - 1}, {"output_zero_point": highest + 1}],
        shared.Requantise: [{"multiplier": -1}, {"shift": 32}, {"shift": -32}],
        shared.ScaledOutput: [{"output_multiplier": -1}, {"output_shift": 32}, {"output_shift": -32}],
        shared.Operands: [{"zero_point": (128, 0)}, {"multiplier": (-1, 0)}, {"shift": (0, 32)}],
        shared.Steps: [{"row_step": (1 << 20, 0)}, {"column_step": (0, 1 << 20)}, {"channel_step": (1, -1)}],
    }.get(record, ())


#: Fields that a kernel does not read.
UNREAD = {(OpKind.MAX_POOL, "output_zero_point"), (OpKind.MUL, "multiplier"), (OpKind.MUL, "shift")}


@pytest.mark.parametrize("op", operators(), ids=lambda op: f"{op.kind.name}-{op.dtype.name}")
def test_shared_parameters_out_of_range(op: Operator) -> None:
    """Whatever kernel has them: a new one needs no case of its own."""
    plan, kernel = plan_for(op, Way(op.output_shape[1])), (op.kind, op.dtype)
    assert bind_status(plan) == 0
    ends = (-32768, 32767) if op.output_dtype == DType.INT16 else (-128, 127)
    for fields in damages_of(PARAMS[kernel], *ends):
        if not any((op.kind, field) in UNREAD for field in fields):
            assert status_with_params(plan, kernel, **fields) == Status.ERR_PARAMS, fields


@pytest.mark.parametrize("batches", [(5, 1, 1), (2, 1, 1), (1, 2, 1), (1, 2, 2), (3, 2, 2)], ids=str)
def test_batches_that_contradict_each_other(batches: tuple[int, int, int]) -> None:
    """Batch of each input in turn, of the output, and calls of the kernel: none may see rows of several images as rows
    of one. One image may serve every image of the output; kernels that find elements by steps may leave some unread."""
    given, made, images = batches
    for op in operators():
        for index in range(len(op.inputs)):
            inputs = [np.repeat(x, given if i == index else 1, axis=0) for i, x in enumerate(op.inputs)]
            shape = (made, *op.output_shape[1:])
            changed_op = dataclasses.replace(op, inputs=tuple(inputs), output_shape=shape, images=images)
            status = bind_status(plan_for(changed_op, Way(shape[1])))
            serves = given == 1 and images == made
            positions = index == 1 and op.kind in (OpKind.GATHER, OpKind.SCATTER)
            unread = made == 1 and (positions or op.kind in (OpKind.TRANSPOSE, OpKind.MAT_MUL))
            allowed = {Status.ERR_PARAMS, 0} if serves or unread else {Status.ERR_PARAMS, Status.ERR_OPERAND}
            assert status in allowed, (op.kind.name, op.dtype.name, index)


@pytest.mark.parametrize("op", [op for op in operators() if op.blobs], ids=lambda op: f"{op.kind.name}-{op.dtype.name}")
def test_weights_that_are_too_short(op: Operator) -> None:
    """Each array shortened in turn; the last one of the block has nothing behind it to read instead."""
    for name, blob in op.blobs.items():
        if name == "weights" and op.kind in {*INT4_KINDS.values(), *TABLE_KINDS.values()}:
            continue  # below, as fewer of them may fill up the same words
        others = {field: array for field, array in op.blobs.items() if field != name}
        damaged = dataclasses.replace(op, blobs={**others, name: blob.ravel()[:-1]})
        assert bind_status(plan_for(damaged, Way(op.output_shape[1]))) == Status.ERR_PARAMS, name


def test_weights_of_4_bits_that_are_too_short() -> None:
    """Eight outputs with the weights of four."""
    op = _operator(OpKind.INT4_FULLY_CONNECTED, DType.INT8)
    params = dataclasses.replace(op.params, rows=12, in_features=8, out_features=8)
    own = {name: np.tile(op.blobs[name], 2) for name in ("bias", "multiplier", "shift")}
    for outputs, status in ((8, 0), (4, Status.ERR_PARAMS)):
        blobs = {**own, "weights": np.ones((outputs, 8), np.int8)}
        plan = plan_for(dataclasses.replace(op, params=params, blobs=blobs), Way(op.output_shape[1]))
        assert bind_status(plan) == status


@pytest.mark.parametrize("kind", TABLE_KINDS.values(), ids=lambda kind: kind.name)
def test_tables_with_too_little_scratch(kind: OpKind) -> None:
    op = _operator(kind, DType.INT8)
    enough = op.scratch_bytes // 2
    for scratch, status in ((enough, 0), (enough - 16, Status.ERR_PARAMS)):
        plan = plan_for(dataclasses.replace(op, scratch_bytes=scratch), Way(op.output_shape[1]))
        assert bind_status(plan) == status


def test_indices_that_are_too_few() -> None:
    op = _operator(OpKind.TABLE_CONV_2D, DType.INT8)
    others = {field: array for field, array in op.blobs.items() if field != "weights"}
    damaged = dataclasses.replace(op, blobs={**others, "weights": op.blobs["weights"][:, :1]})
    assert bind_status(plan_for(damaged, Way(op.output_shape[1]))) == Status.ERR_PARAMS


@pytest.mark.parametrize(("field", "value"), [("shift", 32), ("shift", -32), ("multiplier", -1)])
def test_weights_with_values_out_of_range(field: str, value: int) -> None:
    op = _operator(OpKind.CONV_2D, DType.INT8)
    blob = op.blobs[field].copy()
    blob[-1] = value
    damaged = dataclasses.replace(op, blobs={**op.blobs, field: blob})
    assert bind_status(plan_for(damaged, Way(6))) == Status.ERR_PARAMS


def test_wrong_types_are_refused() -> None:
    op = _operator(OpKind.CONV_2D, DType.INT8)
    wrong = dataclasses.replace(op, inputs=(op.inputs[0].astype(np.float32),))
    assert bind_status(plan_for(wrong, Way(6))) == Status.ERR_PARAMS


def test_every_status_has_its_own_text() -> None:
    known = Status.__members__
    assert len(known) > 25 and len(set(known.values())) == len(known)
    texts = {name: status_text(code) for name, code in known.items()}
    assert len(set(texts.values())) == len(texts)
    assert "unknown status" not in texts.values()
    assert status_text(-99) == "unknown status"


def refused_plans() -> dict[int, bytes]:
    """One broken plan for each status that opening and binding a plan of the right size can end with."""
    whole = example_plan()
    plans = {Status.ERR_CRC: whole[:-1] + bytes([whole[-1] ^ 1])}
    for (record, index, status), each in DAMAGES.items():
        plans.setdefault(status, changed(whole, record, index, **each[0]))
    return plans


def test_every_refusal_of_a_file_is_tried_here() -> None:
    """The statuses of the file and of its records, but for one of the address and one that only a run finds."""
    file_statuses = {code for code in Status if -40 < code <= -10}
    elsewhere = {Status.ERR_PLAN_ADDRESS, Status.ERR_WEIGHT_BLOCK}
    assert set(refused_plans()) == file_statuses - elsewhere


def test_inspect_says_what_the_runtime_says(tmp_path: Path) -> None:
    path = tmp_path / "broken.tgrs"
    for status, broken in refused_plans().items():
        path.write_bytes(broken)
        result = CliRunner().invoke(inspect, [str(path)])
        assert isinstance(result.exception, PlanError)
        assert f"{status_text(status)} (status {status})" in str(result.exception)


# Where it is.


def refusal(plan: bytes) -> str:
    """The runtime's message for a refused plan."""
    with pytest.raises(PlanError) as error:
        Session(plan)
    return str(error.value)


def test_a_refusal_names_the_record(plan: bytes) -> None:
    """By every record that has an index: the loader's by numbers, those found with kernels by names, too."""
    header = Header.unpack(plan)
    assert (header.stage_count, header.op_count) == (1, 4)
    for index in range(header.tensor_count):
        assert f"(status -22) at tensor {index}" in refusal(changed(plan, TensorRecord, index, batch=0))
    for index in range(header.view_count):
        tensor = ViewRecord.unpack(plan, header.views + index * ViewRecord.size()).tensor
        damaged = changed(plan, ViewRecord, index, flags=0x80)
        assert f"(status -25) at stage 0, tensor {tensor}" in refusal(damaged)
    for index in range(header.op_count):
        assert f"(status -26) at stage 0, operator {index}" in refusal(changed(plan, OpRecord, index, operand_count=9))
        name = next(op.name for place, op in enumerate(Session(plan).profile) if place == index)
        text = refusal(changed(plan, OpRecord, index, kind=250))
        assert f"(status -30) at stage 0, operator {index} (kind 250 {name})" in text
    assert "(status -24) at stage 0" in refusal(changed(plan, StageRecord, 0, band_count=0))
    assert refusal(changed(plan, Header, 0, alignment=24)).endswith("(status -14)")


def test_rows_that_are_missing_are_those_of_an_operator_and_a_tensor(plan: bytes) -> None:
    header = Header.unpack(plan)
    views = [ViewRecord.unpack(plan, header.views + i * ViewRecord.size()) for i in range(header.view_count)]
    kept = next(i for i, view in enumerate(views) if view.flags & ViewFlag.KEEP)
    text = refusal(changed(plan, ViewRecord, kept, capacity_rows=1))
    assert f"(status -28) at stage 0, operator 0 (CONV_2D op0), tensor {views[kept].tensor} (" in text
