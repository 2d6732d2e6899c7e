"""ONNX's own node tests through compiler and runtime: `make test` two of each operator, `make test-all` all."""

import contextlib
import dataclasses
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tests.compiler.codegen.c_model import Array, CModel, build
from tests.harness.tiers import examples
from tests.node_tests.cases import Case, direct_float_cases, quantised_cases, spread
from tests.node_tests.runner import Outcome, judge, ways, with_constants
from tigris_pio import Session
from tigris_pio.compiler.ir.plan import Budget
from tigris_pio.compiler.options import CompileOptions
from tigris_pio.compiler.pipeline import Compiled, Front, back, front
from tigris_pio.errors import BudgetError, TigrisError

#: Tests that pass at least; raised whenever more do.
FLOORS = {"float32": examples(fast=230, everything=762), "quantised": examples(fast=9, everything=24)}
#: The reference places corners by the size before rounding; PyTorch, which exports this mode, and onnxruntime do not.
DECIDED = frozenset(f"test_resize_downsample_scales_{mode}_align_corners" for mode in ("cubic", "linear"))


@pytest.mark.parametrize("kind", FLOORS)
def test_as_many_pass_as_before_and_refusals_name_the_node(kind: str) -> None:
    cases = direct_float_cases() if kind == "float32" else quantised_cases()
    found = [judge(case) for case in spread([case for case in cases if case.name not in DECIDED],
                                            most=examples(2, len(cases)))]
    wrong = [verdict for verdict in found if verdict.outcome not in (Outcome.PASSED, Outcome.REFUSED)
             or (verdict.outcome == Outcome.REFUSED and "(graph " not in verdict.reason
                 and verdict.operator.split(".")[-1] not in verdict.reason)]
    assert [f"{verdict.name}: {verdict.outcome.name}: {verdict.reason}" for verdict in wrong] == []
    assert sum(verdict.outcome == Outcome.PASSED for verdict in found) >= FLOORS[kind]


# Node tests when memory is scarce: the same bytes as with plenty, from the plan and from its C.

#: Shares of the fast memory that a plan takes when it may, in turn; the rest is offered as slow memory.
SHARES = (0.6, 0.3, 0.9)


@dataclasses.dataclass(frozen=True)
class Squeezed:
    """A case's plan at less memory, or at ample memory if none is found; stored inputs, and outputs at ample memory."""

    name: str
    plan: Compiled
    is_smaller: bool
    inputs: dict[str, Array]
    outputs: dict[str, Array]


def squeezed(cases: Sequence[Case]) -> Iterator[Squeezed]:
    """The cases that compile, each with its plan at less memory."""
    for place, case in enumerate(cases):
        arrays = dict(zip((value.name for value in case.model.graph.input), case.recordings[0].inputs, strict=True))
        if (start := compiles(case, arrays)) is None:
            continue
        ample = plan = back(start, CompileOptions())
        size = max(64, int(ample.plan.fast_bytes * SHARES[place % len(SHARES)]))
        with contextlib.suppress(BudgetError):
            plan = back(start, CompileOptions(Budget(size, 16 << 20)))
        with Session(ample) as session:
            inputs = {io.name: io.to_stored(io.check_model_array(arrays[io.name])) for io in session.inputs}
            yield Squeezed(case.name, plan, plan is not ample, inputs, session.run_raw(inputs))


def compiles(case: Case, arrays: dict[str, Array]) -> Front | None:
    """The front end's result for the first way that compiles; None if no way does."""
    for bound in ways(case):
        with contextlib.suppress(TigrisError):
            return front(with_constants(case.model, {name: arrays[name] for name in bound}), CompileOptions())
    return None


@pytest.mark.fuzzed
def test_less_memory_does_not_change_results(tmp_path: Path) -> None:
    every = spread(direct_float_cases(), examples(1, 2, 1000)), spread(quantised_cases(), examples(2, 4))
    found = [item for cases in every for item in squeezed(list(cases)[:: examples(12, 1)])]
    generated = [item.plan.codegen(None, f"n{place}", layout="split") for place, item in enumerate(found)]
    library, wrong = build(generated, tmp_path), []
    for item, made in zip(found, generated, strict=True):
        with Session(item.plan) as session:
            for kind, got in (("plan", session.run_raw(item.inputs)),
                              ("C", CModel(library, item.plan, made, session).run(item.inputs))):  # fmt: skip
                wrong += [f"{item.name}: {kind}: {name}" for name, array in item.outputs.items()
                          if got[name].tobytes() != array.tobytes()]
    assert wrong == []
    assert sum(item.is_smaller for item in found) >= examples(8, 200)
