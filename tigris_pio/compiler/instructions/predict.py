"""From what kernels do to instructions, by coefficients that were measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tigris_pio.compiler.instructions.call import Call, Work
from tigris_pio.compiler.instructions.coefficients import COEFFICIENTS
from tigris_pio.compiler.instructions.fallback import fallback
from tigris_pio.compiler.instructions.kernels import InstructionSet, name_of, work_of
from tigris_pio.compiler.instructions.libraries import library_instructions, machine_for
from tigris_pio.compiler.ir.program import Program, ProgramOp, ProgramTensor
from tigris_pio.format.enums import DType

#: The processors that were measured, by their names in the bench.
PROCESSORS = tuple(COEFFICIENTS)
#: For whoever names no chip: without DSP instructions and without floating point.
DEFAULT = "rv32imc"
_INSTRUCTION_SETS = {
    **dict.fromkeys(("cortex-m4", "cortex-m7"), InstructionSet.DSP),
    "cortex-m55": InstructionSet.MVE,
}
#: With single-precision floating point.
FPU = "cortex-m7"
#: The executor's coefficients stand beside those of the kernels.
EXECUTOR = "executor"
_NEAREST = {
    **dict.fromkeys(("cortex-m4", "cortex-m33", "cortex-m35p"), "cortex-m4"),
    "cortex-m7": "cortex-m7",
    **dict.fromkeys(("cortex-m52", "cortex-m55", "cortex-m85"), "cortex-m55"),
}
#: Machines on which libraries alone were counted, and the processor that stands for theirs beside them.
_ALIKE = {"esp32s3": "rv32imc", "esp32p4": "rv32imc"}
#: How many of that one's instructions a machine takes for one: 1.53 to 1.55 in four networks of portable kernels on
#: Espressif's emulated ESP32-S3 (ESP-IDF 5.5.5, GCC 12.2, -O2; docs/backends.md).
_TIMES = {"esp32s3": 1.54}

#: Espressif's chips with single-precision floating point (data sheets of ESP32, ESP32-S3, ESP32-P4).
_ESP_FPU = frozenset(("esp32", "esp32s3", "esp32p4"))


def nearest(chip: str) -> str:
    """The measured processor that is most like a chip of `--chip`; "": the default one."""
    return _NEAREST.get(chip, DEFAULT)


def instruction_set(processor: str) -> InstructionSet:
    """That of a processor of the bench."""
    return _INSTRUCTION_SETS.get(processor, InstructionSet.PORTABLE)


def _alike(processor: str) -> str:
    return _ALIKE.get(processor, processor)


def nearest_for(program: Program, chip: str, library: str = "") -> str:
    """The measured processor whose instructions a plan of `program` for a chip is judged by: of a network in float32
    one with floating point where the chip has it, otherwise one on which the library was counted that runs kernels."""
    floats = sum(op.dtype is DType.FLOAT32 and op.macs > 0 for op in program.ops)
    is_float = 2 * floats > sum(op.macs > 0 for op in program.ops)
    if is_float:
        return FPU if chip in _ESP_FPU else nearest(chip)
    return machine_for(library, chip) or nearest(chip)


def call_instructions(
    op: ProgramOp,
    tensors: Mapping[str, ProgramTensor],
    rows: int | None = None,
    processors: Sequence[str] = (DEFAULT,),
) -> tuple[float, ...]:
    """Of one call of an operator's kernel that makes `rows` rows of one image, or of all that it takes together; on
    each of `processors`. A library's kernel counts as such where it was counted, and as the portable one elsewhere."""
    call = Call.of(op, tensors, rows)
    own = [library_instructions(call, processor) if op.backend else None for processor in processors]
    alike = [_alike(processor) for processor, taken in zip(processors, own, strict=True) if taken is None]
    works = {one: work_of(call, one) for one in {instruction_set(processor) for processor in alike}}
    return tuple(
        _portable(call, works, _alike(processor)) * _TIMES.get(processor, 1.0) if taken is None else taken
        for processor, taken in zip(processors, own, strict=True)
    )


def _portable(call: Call, works: Mapping[InstructionSet, Work], processor: str) -> float:
    instructions = instruction_set(processor)
    known = COEFFICIENTS[processor].get(name_of(call.op, instructions))
    if known is None:
        return fallback(call, processor)
    return sum(known.get(name, 0.0) * amount for name, amount in works[instructions].items())


def executor_instructions(walked: Mapping[str, int], processor: str = DEFAULT) -> float:
    """Of the executor around the calls, by how often it does what."""
    known = COEFFICIENTS[_alike(processor)][EXECUTOR]
    return sum(known.get(name, 0.0) * amount for name, amount in walked.items())


def operator_instructions(program: Program, op: ProgramOp, *, fpu: bool) -> float:
    """Of `op`, an operator of `program`, run whole, on a processor with or without single-precision floating point."""
    processor = FPU if fpu and op.dtype is DType.FLOAT32 else DEFAULT
    return op.images * call_instructions(op, program.tensors, None, (processor,))[0]


def instructions(program: Program, *, fpu: bool) -> int:
    """Of the operators of one run, each run whole."""
    return round(sum(operator_instructions(program, op, fpu=fpu) for op in program.ops))
