"""The C header of one compiled model: its exact arena sizes, its inputs and outputs, as constants.

Nothing in it tells one training from another: firmware is built again only when something changes that it relies on.
"""

from __future__ import annotations

import dataclasses
import struct
import zlib

from tigris_pio.compiler.ir.plan import ExecutionPlan
from tigris_pio.compiler.ir.program import ProgramIo, ProgramTensor
from tigris_pio.format.c_header import kernel_symbol
from tigris_pio.format.enums import OpKind
from tigris_pio.format.records import Header, IoRecord, TensorRecord
from tigris_pio.sizes import round_up
from tigris_pio.text import c_comment, c_identifier, c_string


def kernel_symbols(plan: ExecutionPlan) -> list[str]:
    """Addresses of the kernels the model needs (tigris_kernels.h), each once: the entries of a backend's table."""
    used = dict.fromkeys((op.backend, op.kind, op.dtype) for op in plan.program.ops)
    # A backend's kernel without weights takes the place of the portable one of its kind.
    return [
        "&" + plan.backend.kernel_symbol(kind)
        if plan.backend is not None and backend
        else "&" + kernel_symbol(kind, dtype)
        for backend, kind, dtype in sorted(used, key=lambda key: not key[0])
    ]


def fast_bytes(plan: ExecutionPlan) -> int:
    """What firmware gives as fast memory: the plan's, and a backend's scratch above it."""
    own = round_up(plan.fast_bytes, plan.alignment)
    return own if plan.backend is None else own + plan.backend.scratch_bytes


def interface_crc32(data: bytes, any_scale: bool = False) -> int:
    """CRC-32 of what firmware relies on: types, shapes, scales and zero points of inputs and outputs, in their order.

    For each of them the digest of those before it, its IoRecord and its TensorRecord, without names, indices and
    places. `any_scale`: without scales and zero points, and begun with 1, so that it is another number than with them
    even where all of them are 0. tigris_model_open computes the same (runtime/port/model.c).
    """
    header, crc = Header.unpack(data), int(any_scale)
    for index in range(header.input_count + header.output_count):
        io = IoRecord.unpack(data, header.io + index * IoRecord.size())
        tensor = TensorRecord.unpack(data, header.tensors + io.tensor * TensorRecord.size())
        io = dataclasses.replace(io, name=0, tensor=0, mover=min(io.mover, 1))
        tensor = dataclasses.replace(tensor, name=0, home=0, home_offset=0)
        if any_scale:
            tensor = dataclasses.replace(tensor, scale=0.0, zero_point=0)
        crc = zlib.crc32(struct.pack("<I", crc) + io.pack() + tensor.pack())
    return crc


def render_model_header(plan: ExecutionPlan, data: bytes) -> str:
    """`tigris_model_<name>.h`. Sizes in bytes; scale and zero point: real = (q - zero_point) * scale.

    Firmware that takes plans of any scale defines TIGRIS_MODEL_<NAME>_ANY_SCALE (tigris_models.h does, with
    custom_tigris_match = shape): then there are no scales and zero points here, for they are those of one plan only.

    ROWS and ROW_BYTES are there of what is streamed: rows in a run, bytes of each.

    STATES_BYTES live from run to run; a comment names the states and what makes them begin anew.

    KERNELS initialises a table of `const tigris_kernel_entry *`: firmware that passes a backend of just these to
    tigris_session_init links no other kernel.
    """
    program, header = plan.program, Header.unpack(data)
    prefix = f"TIGRIS_MODEL_{c_identifier(program.name)}"
    constants: list[tuple[str, str]] = [
        ("FAST_BYTES", f"{fast_bytes(plan)}u"),
        ("SLOW_BYTES", f"{header.slow_bytes}u"),
        ("INTERFACE_CRC32", f"0x{interface_crc32(data):08x}u"),
        ("SHAPE_CRC32", f"0x{interface_crc32(data, any_scale=True):08x}u"),
        ("ALIGNMENT", f"{header.alignment}u"),
        ("XIP", str(header.flags & 1)),
        ("ROUNDING", f"TIGRIS_ROUNDING_{program.rounding.name}"),
        ("OPS", f"{header.op_count}u"),
        ("STATES_BYTES", f"{sum(program.tensors[io.tensor].bytes for io in program.states)}u"),
    ]
    scales: list[tuple[str, str]] = []
    sides = (("INPUT", program.inputs, OpKind.FETCH), ("OUTPUT", program.outputs, OpKind.TAKE))
    for kind, ports, mover in sides:
        constants.append((f"{kind}S", f"{len(ports)}u"))
        for place, io in enumerate(ports):
            constants += _io_constants(f"{kind}{place}", io, program.tensors[io.tensor])
            scales += _scale_constants(f"{kind}{place}", program.tensors[io.tensor])
            if (mover, place) in program.movers:
                constants += _stream_constants(f"{kind}{place}", program.tensors[io.tensor])
    constants.append(("KERNELS", ", ".join(kernel_symbols(plan))))
    width = max(len(name) for name, _ in (*constants, *scales))
    lines, lines_of_scales = (
        "".join(f"#define {prefix}_{name:<{width}} {value}\n" for name, value in group) for group in (constants, scales)
    )
    guard = f"{prefix}{_mark(program.name)}_H"
    return (
        f"/* Constants of the model '{c_comment(program.name)}', written by tigris compile. Do not edit. */\n"
        f"#ifndef {guard}\n#define {guard}\n\n"
        f'#ifdef {prefix}_FAST_BYTES\n#error "two models have the constants {prefix}_...: give one another name"\n'
        "#endif\n\n" + _of_states(program.states) + lines + f"\n#ifndef {prefix}_ANY_SCALE\n{lines_of_scales}#endif\n\n"
        "#endif\n"
    )


def _of_states(states: tuple[ProgramIo, ...]) -> str:
    if not states:
        return ""
    names = [f" *   {c_comment(io.name)}" for io in states]
    head = ["/* What lives from run to run; tigris_session_reset(&session) makes it begin anew:", *names]
    return "\n".join(head) + " */\n"


def _mark(name: str) -> str:
    """Tells apart the include guards of names that give the same constants, such as kws-1, kws_1 and KWS_1: a
    program that includes both headers is told so, and does not silently get the first one's constants twice."""
    plain = c_identifier(name).lower() == name
    return "" if plain else f"_{zlib.crc32(name.encode()):08X}"


def _stream_constants(prefix: str, tensor: ProgramTensor) -> list[tuple[str, str]]:
    """Of what is streamed: how many rows come or go during a run, and the bytes of each."""
    return [(f"{prefix}_ROWS", f"{tensor.height}u"), (f"{prefix}_ROW_BYTES", f"{tensor.row_bytes}u")]


def _io_constants(prefix: str, io: ProgramIo, tensor: ProgramTensor) -> list[tuple[str, str]]:
    shape = ", ".join(str(extent) for extent in io.stored_shape)
    return [
        (f"{prefix}_NAME", c_string(io.name)),
        (f"{prefix}_BYTES", f"{tensor.bytes}u"),
        (f"{prefix}_RANK", f"{len(io.stored_shape)}u"),
        (f"{prefix}_SHAPE", f"{{ {shape} }}"),
        (f"{prefix}_DTYPE", f"TIGRIS_DTYPE_{tensor.dtype.name}"),
    ]


def _scale_constants(prefix: str, tensor: ProgramTensor) -> list[tuple[str, str]]:
    return [
        (f"{prefix}_SCALE", f"{tensor.scale:.9g}f" if "." in f"{tensor.scale:.9g}" or "e" in f"{tensor.scale:.9g}"
         else f"{tensor.scale:.9g}.0f"),
        (f"{prefix}_ZERO_POINT", f"({tensor.zero_point})"),
    ]  # fmt: skip
