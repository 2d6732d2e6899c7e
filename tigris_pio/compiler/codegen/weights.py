"""The weights: a struct of typed arrays for each stage, or a file that is flashed alone."""

from __future__ import annotations

import io

import numpy as np

from tigris_pio.compiler.codegen import constants
from tigris_pio.compiler.codegen.calls import constant_name
from tigris_pio.compiler.codegen.constants import Member
from tigris_pio.compiler.codegen.model import Model, called_in
from tigris_pio.compiler.ir.program import ProgramOp
from tigris_pio.compiler.weights.block import BLOB_ALIGNMENT, compressed_block, write_array, write_block
from tigris_pio.compiler.weights.packing import packed_blobs
from tigris_pio.format.enums import WeightMode
from tigris_pio.text import c_comment


def weights_text(model: Model) -> str:
    """Constants of all stages, and constant operands."""
    texts = []
    called = called_in(model.loops)
    read = {operand.tensor for step in called for operand in model.plan.program.ops[step].operands}
    for name, tensor in model.plan.program.tensors.items():
        if tensor.constant is not None and name in read:
            texts.append(_constant(model, name, tensor.constant))
    stages = range(len(model.plan.stages))
    used = {model.weights_of[place] for place in stages if any(step in called for step, _ in _ops(model, place))}
    texts += [] if model.partition else [_stage(model, place) for place in sorted(used)]
    return "\n".join(texts)


def _ops(model: Model, place: int) -> list[tuple[int, ProgramOp]]:
    stage = model.plan.stages[place]
    return [(step, model.plan.program.ops[step]) for step in range(stage.first_op, stage.end_op)
            if model.plan.program.ops[step].blobs]  # fmt: skip


def _constant(model: Model, name: str, values: np.ndarray) -> str:
    c_type = constants.C_TYPES[values.dtype.name]
    head = f"/* {c_comment(name)} */\nstatic const {model.prefix}_ALIGNED {c_type} {constant_name(model, name)}[]"
    return f"{head} = {{\n{constants.array(values)}\n}};\n"


def _stage(model: Model, place: int) -> str:
    stage = model.plan.stages[place]
    name = f"{model.name}_weights_{place}"
    if stage.weight_mode is WeightMode.LZ4:
        packed = compressed_block(model.plan.program.ops[stage.first_op : stage.end_op])
        values = constants.array(np.frombuffer(packed, np.uint8))
        head = f"static const {model.prefix}_ALIGNED uint8_t {name}[{len(packed)}]"
        return f"/* One LZ4 block. */\n{head} = {{\n{values}\n}};\n"
    members = []
    for step, op in _ops(model, place):
        for field, array in packed_blobs(op.kind, op.dtype, op.params, op.blobs).items():
            if array.size:
                padding = -array.nbytes % BLOB_ALIGNMENT
                members.append(Member(f"{model.ops[step]}_{field}", _typed(array), padding))
    return constants.struct(name, members, f"{model.prefix}_ALIGNED")


def _typed(array: np.ndarray) -> np.ndarray:
    """Numbers that have no literal as the words they are."""
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        return np.ascontiguousarray(array).view(np.uint32)
    return array


def partition(model: Model) -> tuple[bytes, dict[int, int]]:
    """The file of weights, and where each stage's lie in it."""
    out = io.BytesIO()
    offsets: dict[int, int] = {}
    for place, stage in enumerate(model.plan.stages):
        ops = model.plan.program.ops[stage.first_op : stage.end_op]
        if not any(op.blobs for op in ops):
            continue
        if model.weights_of[place] != place:
            offsets[place] = offsets[model.weights_of[place]]
            continue
        offsets[place] = out.tell()
        if stage.weight_mode is WeightMode.LZ4:
            write_array(out, np.frombuffer(compressed_block(ops), np.uint8))
        else:
            write_block(out, ops)
        out.write(bytes(-out.tell() % BLOB_ALIGNMENT))
    return out.getvalue(), offsets
