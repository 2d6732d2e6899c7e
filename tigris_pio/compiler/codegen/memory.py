"""Writes the arenas as C unions with a member for each tensor, at its offset, in its type and shape.

Tensors whose lifetimes do not meet share bytes, so members overlap. A debugger prints each with its type.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tigris_pio.compiler.codegen.constants import C_TYPES
from tigris_pio.compiler.codegen.model import Model
from tigris_pio.compiler.codegen.schedule import Place, tensors_of
from tigris_pio.compiler.ir.program import ProgramTensor
from tigris_pio.compiler.weights.block import block_bytes
from tigris_pio.format.enums import DType, Home, WeightMode
from tigris_pio.text import c_comment

_TYPES = {
    DType.INT8: "int8", DType.UINT8: "uint8", DType.INT16: "int16", DType.INT32: "int32", DType.INT64: "int64",
    DType.FLOAT32: "float32", DType.BOOL: "bool",
}  # fmt: skip


def c_type(dtype: DType) -> str:
    """The C type of an element of this type."""
    return C_TYPES[_TYPES[dtype]]


def shape(tensor: ProgramTensor, rows: int | None = None) -> str:
    """C dimensions of a stored tensor, or of `rows` rows of it; a batch of 1 is left out."""
    height = 1 if tensor.folded else tensor.height if rows is None else rows
    extents = [height, tensor.width, tensor.channels]
    return "".join(f"[{extent}]" for extent in ([tensor.batch] if tensor.batch > 1 else []) + extents)


def unions(model: Model) -> str:
    """Definitions of `union NAME_fast` and, if there is slow memory, `union NAME_slow`."""
    text = _union(model, "fast", [*_homes(model, Home.FAST), *_stage_members(model)])
    return text + ("\n" + _union(model, "slow", _homes(model, Home.SLOW)) if model.has_slow else "")


def _union(model: Model, region: str, members: Iterable[str]) -> str:
    lines = [f"    uint8_t bytes[{model.prefix}_{region.upper()}_BYTES];", *dict.fromkeys(members)]
    return f"/* {region.capitalize()} memory. */\nunion {model.name}_{region} {{\n" + "\n".join(lines) + "\n};\n"


def _stage_members(model: Model) -> Iterator[str]:
    """Windows, copied weights and scratch."""
    plan = model.plan
    for place, stage in enumerate(plan.stages):
        touched = tensors_of(model.loops[place])
        for view in stage.views:
            for parked, offset in ((False, view.offset), (True, view.parked)):
                window = Place(view.tensor, True, parked)
                if offset is not None and window in touched:
                    tensor = plan.program.tensors[view.tensor]
                    yield _member(model.offset(offset), tensor, model.member(place, window), view.capacity_rows)
        if stage.weight_mode is not WeightMode.IN_PLACE:
            size = block_bytes(plan.program.ops[stage.first_op : stage.end_op])
            yield _struct(model.offset(stage.block_offset), f"uint8_t data[{size}]", f"weights_of_stage_{place}")
    for step, offset in plan.scratch.items():
        size = plan.program.ops[step].scratch_bytes
        yield _struct(model.offset(offset), f"uint8_t data[{size}]", f"scratch_of_{model.ops[step]}")


def _homes(model: Model, home: Home) -> Iterator[str]:
    for name, tensor in model.plan.program.tensors.items():
        if model.home(name) is home and tensor.bytes > 0:
            offset = model.plan.homes[name].offset
            yield _member(model.offset(offset) if home is Home.FAST else offset, tensor, model.tensors[name], None)


def _member(offset: int, tensor: ProgramTensor, name: str, rows: int | None) -> str:
    text = _struct(offset, f"{c_type(tensor.dtype)} data{shape(tensor, rows)}", name)
    return f"{text} /* {c_comment(tensor.name)} */"


def _struct(offset: int, data: str, name: str) -> str:
    before = f"uint8_t before[{offset}]; " if offset else ""
    return f"    struct {{ {before}{data}; }} {name};"
