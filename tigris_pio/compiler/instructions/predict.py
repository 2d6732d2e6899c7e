"""From what kernels do to instructions, by coefficients that were measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tigris_pio.compiler.instructions.call import Call
from tigris_pio.compiler.instructions.coefficients import COEFFICIENTS
from tigris_pio.compiler.instructions.fallback import fallback
from tigris_pio.compiler.instructions.kernels import name_of, work_of
from tigris_pio.compiler.ir.program import Program, ProgramOp, ProgramTensor
from tigris_pio.format.enums import DType

#: The processors that were measured, by their names in the bench.
PROCESSORS = tuple(COEFFICIENTS)
#: For whoever names no chip: without DSP instructions and without floating point.
DEFAULT = "rv32imc"
#: With DSP instructions.
DSP = frozenset(("cortex-m4", "cortex-m7"))
#: With single-precision floating point.
FPU = "cortex-m7"
#: The executor's coefficients stand beside those of the kernels.
EXECUTOR = "executor"
_NEAREST = {
    **dict.fromkeys(("cortex-m4", "cortex-m33", "cortex-m35p"), "cortex-m4"),
    **dict.fromkeys(("cortex-m7", "cortex-m52", "cortex-m55", "cortex-m85"), "cortex-m7"),
}


#: Espressif's chips with single-precision floating point (data sheets of ESP32, ESP32-S3, ESP32-P4).
_ESP_FPU = frozenset(("esp32", "esp32s3", "esp32p4"))


def nearest(chip: str) -> str:
    """The measured processor that is most like a chip of `--chip`; "": the default one."""
    return _NEAREST.get(chip, DEFAULT)


def nearest_for(program: Program, chip: str) -> str:
    """The measured processor whose instructions a plan of `program` for a chip is judged by: of a network in float32
    one with floating point where the chip has it."""
    floats = sum(op.dtype is DType.FLOAT32 and op.macs > 0 for op in program.ops)
    is_float = 2 * floats > sum(op.macs > 0 for op in program.ops)
    return FPU if chip in _ESP_FPU and is_float else nearest(chip)


def call_instructions(
    op: ProgramOp,
    tensors: Mapping[str, ProgramTensor],
    rows: int | None = None,
    processors: Sequence[str] = (DEFAULT,),
) -> tuple[float, ...]:
    """Of one call of an operator's kernel that makes `rows` rows of one image, or of all that it takes together; on
    each of `processors`."""
    call = Call.of(op, tensors, rows)
    kernel, works = name_of(op), {dsp: work_of(call, dsp) for dsp in {processor in DSP for processor in processors}}
    found = []
    for processor in processors:
        work = works[processor in DSP]
        known = COEFFICIENTS[processor].get(kernel)
        if known is None:
            found.append(fallback(call, processor))
        else:
            found.append(sum(known.get(name, 0.0) * amount for name, amount in work.items()))
    return tuple(found)


def executor_instructions(walked: Mapping[str, int], processor: str = DEFAULT) -> float:
    """Of the executor around the calls, by how often it does what."""
    known = COEFFICIENTS[processor][EXECUTOR]
    return sum(known.get(name, 0.0) * amount for name, amount in walked.items())


def operator_instructions(program: Program, op: ProgramOp, *, fpu: bool) -> float:
    """Of `op`, an operator of `program`, run whole, on a processor with or without single-precision floating point."""
    processor = FPU if fpu and op.dtype is DType.FLOAT32 else DEFAULT
    return op.images * call_instructions(op, program.tensors, None, (processor,))[0]


def instructions(program: Program, *, fpu: bool) -> int:
    """Of the operators of one run, each run whole."""
    return round(sum(operator_instructions(program, op, fpu=fpu) for op in program.ops))
