"""Every layer of a plan fed with the plan's own values: what it may miss by, and why."""

import math
from collections.abc import Collection, Mapping

import numpy as np
import onnx

from tests.families.symmetric import with_symmetric_weights
from tigris_pio import Session
from tigris_pio.compiler.ir.program import Program, ProgramOp
from tigris_pio.compiler.pipeline import Compiled
from tigris_pio.format.enums import DType, OpKind
from tigris_pio.verify.own_inputs import OwnInputs

#: Rounding costs up to half a step; onnxruntime's float32 sums are a little off themselves.
ROUNDING, REFERENCE_NOISE = 0.5, 0.01
#: Share of a float tensor's largest value.
FLOAT_ERROR = 3e-4
#: PRelu's slopes that are float32 are rounded to int8 where that costs no more.
SLOPES = 0.45
#: int8 Softmax computes e^x in fixed point.
SOFTMAX = 1.0


def check_layers(model: onnx.ModelProto, compiled: Compiled, inputs: Mapping[str, np.ndarray]) -> float:
    """Asserts that no layer misses by more than it may; returns the largest miss of an int8 layer in steps."""
    program = compiled.plan.program
    reference, changed = with_symmetric_weights(model)
    allowed = allowed_steps(program, changed)
    with Session(compiled) as session:
        own = OwnInputs(reference, program)
        found, fed_by_reference = own.run(session, inputs), own.fed_by_reference(program)
    assert {io.name for io in program.outputs} <= {item.tensor for item in found}
    ops = {op.name: op for op in program.ops}
    for item in found:
        if item.op in fed_by_reference:
            continue
        # Two roundings of nearly the same value may fall on either side.
        limit = allowed[ops[item.op].output] + (ROUNDING if item.rounded else 0.0)
        where = f"{item.tensor} ({item.op}, {ops[item.op].kind.name})"
        assert item.steps <= limit, f"{where}: {item.steps} steps, {limit} allowed"
        assert item.relative <= FLOAT_ERROR, f"{where}: {item.relative} of the largest"
    return max((item.steps for item in found), default=0.0)


def output_steps(program: Program) -> dict[str, float]:
    """What one step is worth in each output, in real numbers.

    Its own scale; of a float32 output the largest scale among the int8 tensors it is made of (behind them lie Tanh,
    Sigmoid and Resize, which make no difference larger).
    """
    made = {op.output: op for op in program.ops}

    def scales(name: str) -> float:
        if program.tensors[name].scale or name not in made:
            return program.tensors[name].scale
        return max((scales(operand.tensor) for operand in made[name].operands), default=0.0)

    return {io.name: scales(io.tensor) for io in program.outputs}


def allowed_steps(program: Program, rounded_again: Collection[str] = ()) -> dict[str, float]:
    """For every int8 tensor how far it may be from its exact value, in its steps.

    A tensor that is none of the model's, such as what a requantisation follows, passes on its own miss.
    `rounded_again`: operators whose weights have new scales, to whose products the bias is rounded.
    """
    named = {value.tensor for value in program.values.values()} | {io.tensor for io in program.outputs}
    allowed: dict[str, float] = {}
    for op in program.ops:
        shifts = _shifts(op, program)
        own = ROUNDING + REFERENCE_NOISE + _second_rounding(shifts)
        if op.name in rounded_again:
            own += 2.0 ** (max(shifts) - 1)
        if op.kind is OpKind.PRELU:
            own += SLOPES
        if op.kind is OpKind.SOFTMAX:
            own = SOFTMAX
        result = program.tensors[op.output]
        passed = [
            allowed[source] * program.tensors[source].scale / result.scale
            for source in (operand.tensor for operand in op.operands)
            if source in allowed and source not in named and result.scale
        ]
        if result.dtype is DType.INT8:
            allowed[op.output] = own + max(passed, default=0.0)
    return allowed | {op.output: 0.0 for op in program.ops if op.output not in allowed}


def _second_rounding(shifts: list[int]) -> float:
    """Fixed-point scaling rounds once at 2^shift of a step, then to the step itself."""
    return max((2.0 ** (shift - 1) for shift in shifts if shift < 0), default=0.0)


def _shifts(op: ProgramOp, program: Program) -> list[int]:
    """Of the fixed-point factors, powers of two, that bring an operator's sums to its output's steps; -1: a half.

    PRelu has two factors: one for products with the slope, and one, in its table, for elements that pass unchanged.
    """
    scalar = getattr(op.params, "output_shift", getattr(op.params, "shift", 0))
    shifts = [int(shift) for shift in np.ravel(op.blobs.get("shift", scalar))]
    if op.kind is OpKind.PRELU:
        passing = program.tensors[op.operands[0].tensor].scale / program.tensors[op.output].scale
        shifts.append(math.frexp(passing)[1])
    return shifts
