"""States in plans: what a run leaves is what the next one finds, in every form that a tensor can have."""

import dataclasses
from typing import Any

import numpy as np
import onnx
import pytest

from tests.compiler.models import make, node, ort, tied
from tigris_pio import compile_model
from tigris_pio.compiler.emit.writer import write_plan
from tigris_pio.compiler.ir.graph import Graph
from tigris_pio.compiler.ir.plan import Budget
from tigris_pio.compiler.lower import lower
from tigris_pio.compiler.normalise import normalise
from tigris_pio.compiler.plan.search import plan_program
from tigris_pio.compiler.plan.settings import WeightOptions
from tigris_pio.format.enums import OpKind
from tigris_pio.host import Session

ONE = np.ones((1, 4), np.float32)


def session(graph: Graph, fast: int | None = None, slow: int = 0) -> Session:
    program = lower(normalise(graph)[0])
    return Session(write_plan(plan_program(program, Budget(fast, slow), 16, WeightOptions()), xip=False))


def test_states_are_carried_and_begin_anew() -> None:
    """A sum, and the sum of one run before: both read the old values, whichever is written first."""
    nodes = [node("Add", "x sum", "new"), node("Sub", "sum x", "y"), node("Identity", "sum", "past")]
    model = make(nodes, {"x": (1, 4), "sum": (1, 4), "before": (1, 4)}, ["y", "new", "past"])
    first = np.array([[1, 2, 3, 4]], np.float32)
    with session(tied(model, {"sum": "new", "before": "past"}, {"sum": first})) as s:
        assert [(io.name, io.shape) for io in s.states] == [("sum", (1, 4)), ("before", (1, 4))]
        assert [io.name for io in s.inputs] == ["x"] and [io.name for io in s.outputs] == ["y"]
        for _ in range(2):
            held, before = first, 0 * ONE
            for step in range(4):
                assert np.array_equal(s.state()["sum"], held) and np.array_equal(s.state()["before"], before)
                assert np.array_equal(s.run({"x": step * ONE})["y"], held - step)
                held, before = held + step, held
            s.reset()


def test_a_state_may_be_an_input_a_constant_itself_or_an_output() -> None:
    nodes = [node("Identity", "x", "last"), node("Identity", "kept", "kept_"), node("Neg", "one", "known"),
             node("Sum", "a kept c", "y"), node("Identity", "a", "shown")]
    model = make(nodes, dict.fromkeys(("x", "a", "kept", "c"), (1, 4)), ["y", "last", "kept_", "known", "shown"],
                 {"one": ONE})
    graph = tied(model, {"a": "last", "kept": "kept_", "c": "known"}, {"kept": 5 * ONE})
    with session(dataclasses.replace(graph, outputs=("y", "shown", "last"))) as s:
        for step in range(4):
            result = s.run({"x": step * ONE})
            a, c = max(0, step - 1), -1 if step else 0
            assert np.array_equal(result["y"], (a + 5 + c) * ONE)
            assert np.array_equal(result["shown"], a * ONE) and np.array_equal(result["last"], step * ONE)


#: Shapes of a ring and of what is new, the axis, and what the joined tensor keeps.
RINGS = [((1, 5, 3), (1, 2, 3), 1), ((1, 3, 5, 2), (1, 3, 1, 2), 2), ((1, 7), (1, 3), 1), ((6, 2), (1, 2), 0),
         ((1, 1, 1, 4), (1, 1, 1, 1), 3)]


def ring(old: tuple[int, ...], new: tuple[int, ...], axis: int, order: str = "h x", first: int | None = None,
         shown: bool = False) -> onnx.ModelProto:
    start = new[axis] if first is None else first
    weights = {"a": np.array([start]), "b": np.array([start + old[axis]]), "d": np.array([axis])}
    nodes = [node("Relu", "u", "x"), node("Concat", order, "c", axis=axis), node("Slice", "c a b d", "n"),
             node("Neg", "c", "y"), *([node("Abs", "n", "z")] if shown else [])]
    return make(nodes, {"u": new, "h": old}, ["y", "n", *(["z"] if shown else [])], weights)


def steps_of(model: onnx.ModelProto, plan: object, count: int = 6) -> bool:
    """Whether a plan with the state gives the results of onnxruntime in a loop."""
    rng = np.random.default_rng(1)
    with Session(plan) as s:  # type: ignore[arg-type]
        held = np.zeros(s.states[0].shape, np.float32)
        same = True
        for _ in range(count):
            u = rng.standard_normal(s.inputs[0].shape).astype(np.float32)
            results = ort(model, {"u": u, "h": held})
            found, held = s.run({"u": u}), results["n"]
            same &= all(np.array_equal(found[name], results[name]) for name in found)
        return same and np.array_equal(s.state()["h"], held)


@pytest.mark.parametrize("old, new, axis", RINGS)
def test_a_ring_is_told_what_is_new_only(old: tuple[int, ...], new: tuple[int, ...], axis: int) -> None:
    """COMMIT moves the other rows, without a copy of the state."""
    model = ring(old, new, axis)
    compiled = compile_model(model, state={"n": "h"})
    commit = compiled.plan.program.ops[-1]
    assert commit.params.kept_bytes == 4 * (np.prod(old) - np.prod(new))  # type: ignore[attr-defined]
    assert not {op.kind for op in compiled.plan.program.ops} & {OpKind.SELECT, OpKind.COPY}
    assert steps_of(model, compiled)


@pytest.mark.parametrize(("old", "new", "axis", "change"), [
    *(((1, 3, 5, 2), (1, 3, 2, 2), 2, change) for change in (
        {"order": "x h", "first": 0}, {"first": 1}, {"shown": True}, {"order": "h h"})),
    ((1, 3, 2, 2), (1, 3, 4, 2), 2, {}),  # more than it holds
    ((1, 4, 5, 2), (1, 1, 5, 2), 1, {}),  # of channels, which do not lie in one piece
])
def test_what_is_no_ring_is_copied(old: tuple[int, ...], new: tuple[int, ...], axis: int,
                                   change: dict[str, Any]) -> None:
    model = ring(old, new, axis, **change)
    compiled = compile_model(model, state={"n": "h"})
    assert compiled.plan.program.ops[-1].params.kept_bytes == 0  # type: ignore[attr-defined]
    assert steps_of(model, compiled)
