"""Compiles node tests and runs them on the host.

Node tests pass parameters as run-time inputs that real models hold as constants, so each is tried in
three ways: as it is, with integer (and boolean) inputs but the first bound as constants, and with all inputs
but the first bound. It passes when one way does and no way is worse than refused.
"""

import dataclasses
import enum
import traceback
from collections.abc import Iterator

import numpy as np
import onnx
from onnx import numpy_helper

from tests.node_tests.cases import Case, Recording
from tigris_pio import Session, compile_model
from tigris_pio.errors import ModelError, PlanError, RuntimeFailure, UnsupportedError

#: ONNX's own runner allows a relative error of 1e-3; the absolute one is for values near zero.
RTOL, ATOL = 1e-3, 1e-5


class Outcome(enum.IntEnum):
    """How a test ended; a test run in several ways has the highest outcome."""

    REFUSED = 0  #: refused by name, with a reason
    PASSED = 1
    REFUSED_BY_RUNTIME = 2  #: the compiler made a plan that the runtime does not take
    WRONG = 3
    TRACEBACK = 4


@dataclasses.dataclass(frozen=True)
class Verdict:
    """One test's outcome and, unless it passed, why."""

    name: str
    operator: str
    outcome: Outcome
    reason: str = ""


def judge(case: Case) -> Verdict:
    """Tries a case in every way."""
    results = [_attempt(case, bound) for bound in ways(case)]
    best = max(outcome for outcome, _ in results)
    reasons = [reason for outcome, reason in results if outcome == best]
    return Verdict(case.name, case.operator, best, "" if best == Outcome.PASSED else reasons[-1])


def ways(case: Case) -> Iterator[frozenset[str]]:
    """Names of the inputs to bind, one set a way; equal sets once."""
    inputs = case.model.graph.input
    integers = {value.name for value in inputs[1:] if value.type.tensor_type.elem_type != onnx.TensorProto.FLOAT}
    yield from dict.fromkeys((frozenset(), frozenset(integers), frozenset(value.name for value in inputs[1:])))


def _attempt(case: Case, bound: frozenset[str]) -> tuple[Outcome, str]:
    results = (_run(case, recording, bound) for recording in case.recordings)
    return next((result for result in results if result[0] != Outcome.PASSED), (Outcome.PASSED, ""))


def _run(case: Case, recording: Recording, bound: frozenset[str]) -> tuple[Outcome, str]:
    arrays = dict(zip((value.name for value in case.model.graph.input), recording.inputs, strict=True))
    try:
        plan = compile_model(with_constants(case.model, {name: arrays[name] for name in bound}))
        session = Session(plan)
        results = session.run({io.name: arrays[io.name] for io in session.inputs})
    except (UnsupportedError, ModelError) as error:
        return Outcome.REFUSED, str(error)
    except (PlanError, RuntimeFailure) as error:
        return Outcome.REFUSED_BY_RUNTIME, str(error)
    except Exception:
        return Outcome.TRACEBACK, traceback.format_exc()
    if not session.inputs:
        return Outcome.REFUSED, "a model without a run-time input does not count"
    expected = zip((value.name for value in case.model.graph.output), recording.outputs, strict=True)
    problems = [problem for name, array in expected if (problem := _difference(name, results[name], array))]
    return (Outcome.WRONG, problems[0]) if problems else (Outcome.PASSED, "")


def with_constants(model: onnx.ModelProto, constants: dict[str, np.ndarray]) -> onnx.ModelProto:
    """The model with some inputs as initializers."""
    changed = onnx.ModelProto()
    changed.CopyFrom(model)
    kept = [value for value in changed.graph.input if value.name not in constants]
    del changed.graph.input[:]
    changed.graph.input.extend(kept)
    changed.graph.initializer.extend(numpy_helper.from_array(array, name) for name, array in constants.items())
    return changed


def _difference(name: str, got: np.ndarray, expected: np.ndarray) -> str:
    """A description of the difference, or an empty text."""
    if got.shape != expected.shape or got.dtype != expected.dtype:
        return f"{name} is {got.dtype} {list(got.shape)}, expected {expected.dtype} {list(expected.shape)}"
    # Eight bits are rounded as TensorFlow Lite does it, which may be one step away.
    steps = 1.0 if got.dtype in (np.int8, np.uint8) else ATOL
    try:
        np.testing.assert_allclose(got.astype(np.float64), expected.astype(np.float64), rtol=RTOL, atol=steps)
    except AssertionError as error:
        return f"{name}: {' '.join(str(error).split())}"
    return ""
