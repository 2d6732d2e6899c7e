"""Checks of any graph: its outputs equal onnxruntime's, and every budget gives the same bytes."""

from collections.abc import Mapping
from unittest.mock import patch

import numpy as np
from onnxruntime.capi.onnxruntime_pybind11_state import Fail, InvalidGraph, NotImplemented, RuntimeException

from tests.compiler.models import ort
from tests.families.layers import check_layers
from tests.families.measure import Run, run
from tests.families.quantised import SCHEMES, quantise, sample_inputs
from tests.fuzz.graphs import Step, graph
from tests.runtime.two_cores import Turned, all_split
from tigris_pio import Session
from tigris_pio.compiler.ir.plan import Budget
from tigris_pio.compiler.options import CompileOptions
from tigris_pio.compiler.pipeline import front
from tigris_pio.errors import BudgetError, UnsupportedError

#: Share of the largest output.
FLOAT_ERROR = 3e-4
#: What onnxruntime's own sessions raise; its calibration runs the model in some.
ORT_ERRORS = (Fail, InvalidGraph, NotImplemented, RuntimeException)
CHECKED, NOT_QUANTISED = "checked", "onnxruntime cannot quantise it"


def check(shape: int, steps: list[Step], scheme: int | None, share: int) -> str:
    """Compiles, runs and compares one graph; says "checked" or, for a graph refused by name, why.

    `scheme`: quantised by onnxruntime that way. `share`: percent of the whole run's memory that another plan gets.
    """
    model = graph(shape, steps)
    inputs = sample_inputs(model, 5)
    expected = ort(model, inputs)
    if scheme is not None:
        try:
            model = quantise(model, SCHEMES[scheme])
            expected = ort(model, inputs)
        except ORT_ERRORS:
            return NOT_QUANTISED
    try:
        start = front(model, CompileOptions())
    except UnsupportedError as error:
        assert "cannot be compiled" in str(error)
        return str(error)
    whole = run(start, CompileOptions(), inputs)
    check_nothing_is_made_for_nobody(whole)
    compare(whole.outputs, expected, scheme is not None)
    if scheme is not None:
        check_layers(model, whole.compiled, inputs)
    for slow in (0, 1 << 20):
        budget = Budget(max(1, whole.compiled.plan.fast_bytes * share // 100), slow)
        try:
            other = run(start, CompileOptions(budget), inputs)
        except BudgetError as error:
            assert "smallest fast memory that works" in str(error)
            continue
        # As the model gives them: how they are stored may depend on the budget, by the order an input is taken in.
        for name, data in whole.outputs.items():
            np.testing.assert_array_equal(other.outputs[name], data)
        check_two_cores(other, inputs)
    return CHECKED


def check_nothing_is_made_for_nobody(one: Run) -> None:
    """Every operator's output is read, or seen from outside."""
    program = one.compiled.plan.program
    read = {operand.tensor for op in program.ops for operand in op.operands}
    unread = {op.output for op in program.ops} - read - set(program.ports)
    assert not unread, f"made for nobody: {', '.join(sorted(unread))}"


def check_two_cores(one: Run, inputs: Mapping[str, np.ndarray]) -> None:
    """The same bytes where two cores share every operator that they can, whichever half runs first."""
    with patch("tigris_pio.host.session.Cores", Turned), Session(all_split(one.compiled), cores=2) as session:
        outputs = session.run(inputs)
    for name, data in one.outputs.items():
        np.testing.assert_array_equal(outputs[name], data)


def compare(got: Mapping[str, np.ndarray], expected: Mapping[str, np.ndarray], quantised: bool) -> None:
    """Names, shapes and types; float32 values within rounding."""
    assert list(got) == list(expected)
    for name, want in expected.items():
        assert got[name].shape == want.shape and got[name].dtype == want.dtype, f"{name}: {got[name].shape}"
        scale = max(1e-3, float(np.abs(want).max(initial=0)))
        if not quantised and np.isfinite(scale):
            missed = np.abs(got[name] - want) / scale
            assert missed.max(initial=0) <= FLOAT_ERROR, f"{name}: {missed.max()}"
