"""Writes the weights: a C struct of typed arrays, or a binary file for a flash partition."""

from __future__ import annotations

import io

import numpy as np

from tigris_pio.compiler.codegen import constants
from tigris_pio.compiler.codegen.constants import Member
from tigris_pio.compiler.codegen.model import Model, called_ops
from tigris_pio.compiler.weights.block import BLOB_ALIGNMENT
from tigris_pio.compiler.weights.section import SectionPart
from tigris_pio.text import c_comment


def weights_text(model: Model) -> str:
    """C text of constant operands and of the weights of all stages."""
    tensors, called = model.plan.program.tensors, called_ops(model.loops)
    operands = {operand.tensor for step in called for operand in model.plan.program.ops[step].operands}
    read = {model.constants[name] for name in operands if name in model.constants}
    texts = []
    for name, c_name in model.constants.items():
        values = tensors[name].constant
        if c_name in read and values is not None and "." not in c_name:
            texts.append(_constant(model, name, values))
            read.remove(c_name)
    if model.section[0].parts and not model.partition:
        members = zip(model.weight_names, model.section[0].parts, strict=True)
        texts.append(constants.struct(f"{model.name}_weights", [_member(*each) for each in members],
                                      f"{model.prefix}_ALIGNED"))  # fmt: skip
    return "\n".join(texts)


def _member(name: str, part: SectionPart) -> Member:
    array = part.array()
    return Member(name, _typed(array), -array.nbytes % BLOB_ALIGNMENT)


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
