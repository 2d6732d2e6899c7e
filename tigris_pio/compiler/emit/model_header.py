"""The C header of one compiled model: constants for its exact arena sizes, its inputs and its outputs.

It does not depend on the weights' values, so a model that was trained again needs no new firmware unless sizes, inputs
or outputs change.
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
    """C expressions for the addresses of the model's kernels (tigris_kernels.h), each once, for a backend's table."""
    used = dict.fromkeys((op.backend, op.kind, op.dtype) for op in plan.program.ops)
    return [
        "&" + plan.backend.kernel_symbol(kind)
        if plan.backend is not None and backend
        else "&" + kernel_symbol(kind, dtype)
        for backend, kind, dtype in sorted(used, key=lambda key: not key[0])
    ]


def fast_bytes(plan: ExecutionPlan) -> int:
    """Bytes of fast memory that firmware provides: the plan's arena, and a backend's scratch behind it."""
    own = round_up(plan.fast_bytes, plan.alignment)
    return own if plan.backend is None else own + plan.backend.scratch_bytes


def interface_crc32(data: bytes, any_scale: bool = False) -> int:
    """CRC-32 of types, shapes, scales and zero points of all inputs and outputs, in order: what firmware relies on.

    The CRC of each input or output covers the CRC before it, its IoRecord and its TensorRecord, with names, indices,
    homes and offsets set to 0. `any_scale`: without scales and zero points; the first CRC is then 1, so that the result
    differs even if all of them are 0. tigris_model_open computes the same (runtime/port/model.c).
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


def render_model_header(plan: ExecutionPlan, data: bytes, public_key: str = "") -> str:
    """`tigris_model_<name>.h`. Sizes are in bytes; real = (q - zero_point) * scale.

    Firmware that opens plans with any scale defines TIGRIS_MODEL_<NAME>_ANY_SCALE; tigris_models.h does so with
    custom_tigris_match = shape. Then the header defines no scales and zero points, because each plan has its own.

    ROWS and ROW_BYTES: rows in a run and bytes of a row, for a streamed input or output.

    STATES_BYTES: bytes of the states, which are kept between runs; a comment names them, and how to reset them.

    ARENAS(name) defines static arenas, and `name`, which is a tigris_arenas of them.

    public_key: the macros of the key with which firmware verifies plans (signing.py).

    KERNELS initialises a table of `const tigris_kernel_entry *`. Firmware that passes a backend of these alone to
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
        for index, io in enumerate(ports):
            constants += _io_constants(f"{kind}{index}", io, program.tensors[io.tensor])
            scales += _scale_constants(f"{kind}{index}", program.tensors[io.tensor])
            if (mover, index) in program.movers:
                constants += _stream_constants(f"{kind}{index}", program.tensors[io.tensor])
    constants.append(("KERNELS", ", ".join(kernel_symbols(plan))))
    width = max(len(name) for name, _ in (*constants, *scales))
    lines, lines_of_scales = (
        "".join(f"#define {prefix}_{name:<{width}} {value}\n" for name, value in group) for group in (constants, scales)
    )
    guard = f"{prefix}{_guard_suffix(program.name)}_H"
    return (
        f"/* Constants of the model '{c_comment(program.name)}', written by tigris compile. Do not edit. */\n"
        f"#ifndef {guard}\n#define {guard}\n\n"
        f'#ifdef {prefix}_FAST_BYTES\n#error "two models have the constants {prefix}_...: give one another name"\n'
        "#endif\n\n" + _states_comment(program.states) + lines
        + "\n" + arenas_macro(prefix, header.slow_bytes)
        + f"\n#ifndef {prefix}_ANY_SCALE\n{lines_of_scales}#endif\n\n{public_key}#endif\n"
    )  # fmt: skip


def arenas_macro(prefix: str, slow_bytes: int) -> str:
    """Defines `prefix`_ARENAS; without slow memory it names none."""
    slow = f"    static TIGRIS_ALIGNED uint8_t name##_slow[{prefix}_SLOW_BYTES] TIGRIS_SLOW_MEMORY; \\\n"
    members = "name##_slow, sizeof name##_slow" if slow_bytes else "TIGRIS_NULL, 0"
    return (
        f"#define {prefix}_ARENAS(name) \\\n"
        f"    static TIGRIS_ALIGNED uint8_t name##_fast[{prefix}_FAST_BYTES]; \\\n{slow if slow_bytes else ''}"
        f"    static const tigris_arenas name = {{name##_fast, sizeof name##_fast, {members}}}\n"
    )


def _states_comment(states: tuple[ProgramIo, ...]) -> str:
    if not states:
        return ""
    names = [f" *   {c_comment(io.name)}" for io in states]
    head = ["/* States, which are kept between runs; tigris_session_reset(&session) resets them:", *names]
    return "\n".join(head) + " */\n"


def _guard_suffix(name: str) -> str:
    """Makes the include guards of names with the same constants differ, such as kws-1, kws_1 and KWS_1.

    A program that includes both headers then reaches #error, instead of getting the first header's constants twice.
    """
    plain = c_identifier(name).lower() == name
    return "" if plain else f"_{zlib.crc32(name.encode()):08X}"


def _stream_constants(prefix: str, tensor: ProgramTensor) -> list[tuple[str, str]]:
    """The rows of a streamed tensor in a run, and the bytes of a row."""
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
