"""Program passes: their statistics, and the checks of what they return."""

import dataclasses

import pytest

from tests.compiler.models import make, node, program
from tests.compiler.passes import verify_program
from tigris_pio import InternalError, compile_model
from tigris_pio.compiler.ir.program import Program
from tigris_pio.compiler.lower.passes import PASSES, program_pass
from tigris_pio.compiler.passes import run_passes


def chain() -> Program:
    """Three operators, each of which may write over its operand."""
    return program(make([node("Tanh", "x", "a"), node("Sigmoid", "a", "b"), node("Softmax", "b", "y")],
                        {"x": (1, 4, 3)}, ["y"]))  # fmt: skip


def test_statistics_count_operators() -> None:
    compiled = compile_model(make([node("Tanh", "x", "y")], {"x": (1, 4)}, ["y"]))
    own = [one for one in compiled.statistics if one.name in {step.name for step in PASSES}]
    assert [one.name for one in own] == [step.name for step in PASSES]
    assert {one.nodes_in for one in own} == {one.nodes_out for one in own} == {compiled.report["ops"]}

    def without_last(whole: Program) -> Program:
        return dataclasses.replace(whole, outputs=()).with_ops(whole.ops[:-1])

    _, (one,) = run_passes(chain(), [program_pass(without_last, "")])
    assert (one.name, one.folded, one.nodes_in - one.nodes_out) == ("without_last", 1, 1)


def reversed_ops(whole: Program) -> Program:
    """Forgets the order of execution."""
    return dataclasses.replace(whole, ops=whole.ops[::-1])


def test_a_broken_program_is_an_internal_error_of_the_pass() -> None:
    with pytest.raises(InternalError, match=r"internal error in reversed_ops .*BrokenProgram: .* defined by nothing"):
        run_passes(chain(), [program_pass(reversed_ops, "")])


def test_tests_check_what_a_pass_derives() -> None:
    """Memory that an operator may share, names, images, unused tensors and values."""
    whole = chain()
    verify_program(whole, shares=True)
    last = whole.ops[-1]
    assert last.in_place
    for changed in ({"in_place": ()}, {"name": whole.ops[0].name}, {"images": 7}):
        broken = dataclasses.replace(whole, ops=(*whole.ops[:-1], dataclasses.replace(last, **changed)))
        with pytest.raises(AssertionError):
            verify_program(broken, shares=True)
    unused = dataclasses.replace(next(iter(whole.tensors.values())), name="unused")
    with pytest.raises(AssertionError, match="declared and not used"):
        verify_program(dataclasses.replace(whole, tensors={**whole.tensors, "unused": unused}), shares=True)
