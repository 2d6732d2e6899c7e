"""Writes the weights: a C struct of typed arrays, or a binary file for a flash partition."""

from __future__ import annotations

import io

import numpy as np

from tigris_pio.compiler.codegen import constants
from tigris_pio.compiler.codegen.model import Model
from tigris_pio.compiler.weights.block import BLOB_ALIGNMENT
from tigris_pio.compiler.weights.section import PlacedBlock
from tigris_pio.text import c_comment


def weights_text(model: Model) -> str:
    """C text of constant operands and of the weights of all stages."""
    tensors = model.plan.program.tensors
    operands = {operand.tensor for op in model.called.values() for operand in op.operands}
    read = {model.constants[name] for name in operands if name in model.constants}
    texts = [_layout(model, *item) for item in model.section[1].items() if model.weights_in_calls]
    for name, c_name in model.constants.items():
        values = tensors[name].constant
        if c_name in read and values is not None and "." not in c_name:
            texts.append(_constant(model, name, values))
            read.remove(c_name)
    if model.section[0].parts and not model.partition:
        texts.append(_struct(model))
    return "\n".join(texts)


def _layout(model: Model, stage: int, block: PlacedBlock) -> str:
    """C text of the layout of a stage's weights, whose address is known only at run time."""
    name, members = model.block_members(stage)
    ends = [*list(members)[1:], max(block.raw_bytes, 1)]
    lines = (f"    uint8_t {members[at]}[{end - at}];\n" for at, end in zip(members, ends, strict=True))
    return f"struct {name} {{\n{''.join(lines)}}};\n"


def _struct(model: Model) -> str:
    """C text of the weights as a constant struct; padding keeps its members on multiples of 16 bytes."""
    declared, given = "", ""
    for place, part in enumerate(model.section[0].parts):
        name, values = model.weight_names[part.offset], _typed(part.array())
        declared += f"    {constants.C_TYPES[values.dtype.name]} {name}[{max(values.size, 1)}];\n"
        given += f"    .{name} = {{\n{constants.array(values, ' ' * 8)}\n    }},\n"
        if padding := -values.nbytes % BLOB_ALIGNMENT:
            declared += f"    uint8_t padding_{place}[{padding}];\n"
    name = f"{model.name}_weights"
    return f"static const {model.prefix}_ALIGNED struct {name} {{\n{declared}}} {name} = {{\n{given}}};\n"


def _constant(model: Model, name: str, values: np.ndarray) -> str:
    c_type = constants.C_TYPES[values.dtype.name]
    head = f"/* {c_comment(name)} */\nstatic const {model.prefix}_ALIGNED {c_type} {model.constants[name]}[]"
    return f"{head} = {{\n{constants.array(values)}\n}};\n"


def _typed(array: np.ndarray) -> np.ndarray:
    """Reinterprets an array with NaN or infinity, which have no literal, as uint32."""
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        return np.ascontiguousarray(array).view(np.uint32)
    return array


def partition(model: Model) -> tuple[bytes, dict[int, int]]:
    """Content of NAME_weights.bin, and the offset of each stage's weights in it."""
    out = io.BytesIO()
    weights, blocks = model.section
    weights.write(out)
    return out.getvalue(), {stage: block.offset for stage, block in blocks.items()}
