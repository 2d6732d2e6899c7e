"""Models with states, at any budget and in any arenas: bit-exact with a loop around the model without states."""

import random
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from tests.compiler.models import Quantiser, make, node, ort
from tests.harness.tiers import counted, examples
from tigris_pio import BudgetError, Session, compile_model
from tigris_pio.errors import RuntimeFailure, UsageError

CHANNELS, WIDTH = 3, 2


class Recurrent:
    """A random model of convolutions, sums and ring buffers of rows, over an input and states of different heights."""

    def __init__(self, seed: int, quantised: bool) -> None:
        self.rng = random.Random(seed)
        self.noise = np.random.default_rng(seed)
        self.quantiser = Quantiser()
        self.quantised = quantised
        self.heights = {"x": self.rng.choice([4, 6, 9])}
        self.states = {f"s{index}": f"n{index}" for index in range(self.rng.randint(1, 3))}
        for name in self.states:
            self.heights[name] = self.rng.choice([1, 2, self.heights["x"], self.heights["x"], 11])
        self.shapes = {name: (1, CHANNELS, height, WIDTH) for name, height in self.heights.items()}
        self.names = [self.quantise(name) for name in list(self.heights)]
        for _ in range(self.rng.randint(2, 4)):
            self.step()
        for held, new in self.states.items():
            self.end(new, self.heights[held])
        self.end("y", None)

    def fresh(self) -> str:
        return f"t{len(self.quantiser.nodes)}"

    def constant(self, name: str, value: np.ndarray) -> str:
        self.quantiser.weights[name] = value
        return name

    def quantise(self, name: str) -> str:
        if not self.quantised:
            return name
        scale = self.rng.choice([0.03125, 0.0625])
        result = self.quantiser.pair(name, scale, self.rng.choice([0, 3, -20]))
        self.heights[result] = self.heights[name]
        return result

    def add(self, op: str, inputs: str, height: int, **attributes: Any) -> str:
        name = self.fresh()
        self.quantiser.add(node(op, inputs, name, **attributes))
        self.heights[name] = height
        result = self.quantise(name)
        self.names.append(result)
        return result

    def rows(self, name: str, first: int, end: int) -> str:
        at = self.fresh()
        bounds = [self.constant(f"{at}_{what}", np.array([value])) for what, value in (("a", first), ("b", end))]
        return self.add("Slice", " ".join([name, *bounds, self.constant("rows", np.array([2]))]), end - first)

    def step(self) -> None:
        source = self.rng.choice(self.names)
        height = self.heights[source]
        same = [name for name in self.names if self.heights[name] == height]
        kind = self.rng.choice(["Conv", "Add", "Concat", "Relu", "Ring"])
        if kind == "Conv":
            weights = 0.4 * self.noise.standard_normal((CHANNELS, CHANNELS, 3, 1)).astype(np.float32)
            name, stored = f"{self.fresh()}_w", np.clip(np.rint(weights / 0.01), -127, 127).astype(np.int8)
            kernel = self.quantiser.constant(name, stored, 0.01) if self.quantised else self.constant(name, weights)
            self.add("Conv", f"{source} {kernel}", height, pads=[1, 0, 1, 0])
        elif kind == "Add":
            self.add("Add", f"{source} {self.rng.choice(same)}", height)
        elif kind == "Relu":
            self.add("Relu", source, height)
        else:
            other = self.rng.choice(self.names)
            both = self.add("Concat", f"{source} {other}", height + self.heights[other], axis=2)
            if kind == "Ring":
                self.rows(both, self.heights[other], height + self.heights[other])

    def end(self, name: str, height: int | None) -> None:
        """A model output: a tensor of height `height`, or else the last tensor."""
        fitting = [item for item in self.names if height is None or self.heights[item] == height]
        source = self.rng.choice(fitting) if height is not None else fitting[-1]
        self.quantiser.add(node("Identity", source, name))

    def model(self) -> onnx.ModelProto:
        inputs = {name: self.shapes[name] for name in ("x", *self.states)}
        return make(self.quantiser.nodes, inputs, ["y", *self.states.values()], self.quantiser.weights)

    def ties(self) -> dict[str, str]:
        return {new: held for held, new in self.states.items()}


def by_hand(model: onnx.ModelProto, states: Mapping[str, str], steps: Sequence[np.ndarray]) -> list[np.ndarray]:
    """A loop around the model without states, as a caller would write it."""
    with Session(compile_model(model)) as session:
        held = {io.name: np.zeros(io.shape, io.dtype) for io in session.inputs if io.name in states}
        found = []
        for x in steps:
            results = session.run({"x": x, **held})
            held = {name: results[new] for name, new in states.items()}
            found.append(results["y"])
    return found


@pytest.mark.parametrize("quantised", [False, True], ids=["float32", "int8"])
def test_any_budget_and_any_arenas(quantised: bool) -> None:
    @counted(works=examples(2, 4), banded=1, small=examples(1, 2))
    @settings(max_examples=examples(6, 12, 120), deadline=None)
    @example(seed=28, share=50, slow=True, arena=70)
    @example(seed=145, share=70, slow=True, arena=90)
    @example(seed=6, share=70, slow=True, arena=50)
    @example(seed=1270, share=90, slow=False, arena=90)  # int8: states whose conversion ends on halves
    @given(seed=st.integers(0, 10**6), share=st.integers(30, 100), slow=st.booleans(), arena=st.integers(40, 95))
    def check(seen: dict[str, int], seed: int, share: int, slow: bool, arena: int) -> None:
        made = Recurrent(seed, quantised)
        model, rng = made.model(), np.random.default_rng(seed)
        ample = compile_model(model, state=made.ties())
        assume(len(ample.plan.program.ops) < examples(8, 10))
        steps = [rng.standard_normal(made.shapes["x"]).astype(np.float32) for _ in range(4)]
        expected = by_hand(model, made.states, steps)
        budget = ample.report["memory"]["fast_peak"] * share // 100
        try:
            compiled = compile_model(model, fast=budget, slow="64K" if slow else 0, state=made.ties())
        except BudgetError:
            compiled = ample
        seen["works"] += compiled is not ample
        seen["banded"] += any(stage["bands"] > 1 for stage in compiled.report["stages"])
        with Session(compiled) as session:
            for _ in range(2):
                assert all(np.array_equal(session.run({"x": x})["y"], y) for x, y in zip(steps, expected, strict=True))
                session.reset()
        try:
            fast = compiled.report["memory"]["fast_peak"] * arena // 100
            small = Session(compiled, fast_bytes=fast, slow_bytes="64K")
        except RuntimeFailure:
            return
        seen["small"] += 1
        with small:
            for _ in range(2):
                assert all(np.array_equal(small.run({"x": x})["y"], y) for x, y in zip(steps, expected, strict=True))
                small.reset()

    check()


@pytest.mark.parametrize("seed", range(3))
def test_float32_is_onnxruntimes(seed: int) -> None:
    made = Recurrent(seed, quantised=False)
    model, rng = made.model(), np.random.default_rng(seed)
    held = {name: np.zeros(made.shapes[name], np.float32) for name in made.states}
    with Session(compile_model(model, state=made.ties())) as session:
        for _ in range(5):
            x = rng.standard_normal(made.shapes["x"]).astype(np.float32)
            results = ort(model, {"x": x, **held})
            held = {name: results[new] for name, new in made.states.items()}
            assert np.allclose(session.run({"x": x})["y"], results["y"], rtol=1e-4, atol=1e-4)
            assert all(np.allclose(value, held[name], rtol=1e-4, atol=1e-4) for name, value in session.state().items())


@pytest.mark.parametrize("ties, message", [
    ({"new": "g"}, r'state=\{"new": "g"\}: test has no input g; it has: x, h, w, k'),
    ({"news": "h"}, "has no output news; did you mean new"),
    ({"new": "h", "y": "h"}, 'input h is tied already, by state={"new": "h"}'),
    ({"wide": "h"}, r"output wide is float32 \[1, 8\] and input h float32 \[1, 4\]; both must be the same"),
    ({"known": "h"}, "output known is bool"),
])
def test_wrong_ties_are_named(ties: dict[str, str], message: str) -> None:
    nodes = [node("Add", "x h", "new"), node("Neg", "h", "y"), node("Concat", "x w", "wide", axis=1),
             node("Not", "k", "known")]
    shapes = {"x": (1, 4), "h": (1, 4), "w": (1, 4), "k": (1, 4)}
    model = make(nodes, shapes, ["new", "y", "wide", "known"], types={"k": 9, "known": 9})
    with pytest.raises(UsageError, match=message):
        compile_model(model, state=ties)


def test_a_model_of_states_alone_is_refused() -> None:
    model = make([node("Add", "x h", "new")], {"x": (1, 4), "h": (1, 4)}, ["new"])
    with pytest.raises(UsageError, match=r'state=\{"new": "h"\}: test has no output left'):
        compile_model(model, state={"new": "h"})


@pytest.mark.parametrize("given, first", [(2.5, [2.5] * 4), ("1,2,3,4", [1, 2, 3, 4]), ([0, -1, 0, 1], [0, -1, 0, 1])])
def test_a_set_value_of_a_tied_input_is_its_first_value(given: object, first: list[float]) -> None:
    model = make([node("Add", "x h", "new"), node("Neg", "new", "y")], {"x": (1, 4), "h": (1, 4)}, ["new", "y"])
    x = np.array([[1, 2, 3, 4]], np.float32)
    with Session(compile_model(model, state={"new": "h"}, set={"h": given})) as session:
        for _ in range(2):
            assert session.state()["h"].tolist() == [first]
            for step in (1, 2):
                assert session.run({"x": x})["y"].tolist() == (-(np.array([first]) + step * x)).tolist()
            session.reset()


def test_the_first_value_is_quantised_as_the_state() -> None:
    """The state is int8 in the plan; its value is a real number of the model."""
    nodes = [node("QuantizeLinear", "x s z", "xq"), node("DequantizeLinear", "xq s z", "xr"),
             node("QuantizeLinear", "h s z", "hq"), node("DequantizeLinear", "hq s z", "hr"),
             node("Add", "xr hr", "sum"), node("QuantizeLinear", "sum s z", "sq"),
             node("DequantizeLinear", "sq s z", "new"), node("Relu", "new", "y")]  # fmt: skip
    model = make(nodes, {"x": (1, 4), "h": (1, 4)}, ["new", "y"],
                 {"s": np.array(0.5, np.float32), "z": np.array(-3, np.int8)})
    x = np.array([[1, 2, 3, 4]], np.float32)
    with Session(compile_model(model, state={"new": "h"}, set={"h": 1.5})) as session:
        assert session.states[0].stored_dtype == np.int8
        assert [session.run({"x": x})["y"].tolist() for _ in range(2)] == [(1.5 + k * x).tolist() for k in (1, 2)]


def test_wrong_first_values_are_named() -> None:
    model = make([node("Add", "x h", "new"), node("Neg", "h", "y")], {"x": (1, 4), "h": (1, 4)}, ["new", "y"])
    with pytest.raises(UsageError, match=r"3 values for an input of shape \[1, 4\]"):
        compile_model(model, state={"new": "h"}, set={"h": [1, 2, 3]})
