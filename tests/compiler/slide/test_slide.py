"""What slides and what does not, what is refused, and what is said about it."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.compiler.models import make, node
from tests.compiler.slide.signals import Signal, wrong_runs
from tests.harness.tiers import counted, examples
from tests.networks.folders import OWN
from tests.networks.plans import compiled as network
from tigris_pio import BudgetError, Session, compile_model
from tigris_pio.compiler.pipeline import Compiled
from tigris_pio.errors import TigrisError, UsageError
from tigris_pio.format.enums import Home, ViewFlag
from tigris_pio.format.reader import read_plan

NOISE = np.random.default_rng(5)


def weights(*shape: int) -> np.ndarray:
    return (NOISE.standard_normal(shape) * 0.4).astype(np.float32)


def spotter(pads: int = 0, stride: int = 1, end: str = "flat") -> onnx.ModelProto:
    """Two separable layers over 20 frames of 6 numbers."""
    nodes = [node("Conv", "x w0", "a", kernel_shape=[5, 1], strides=[stride, 1], pads=[pads, 0, pads, 0]),
             node("Relu", "a", "b"), node("Conv", "b w1", "c", kernel_shape=[1, 1]),
             node("Conv", "c w2", "d", kernel_shape=[3, 1], group=8, pads=[pads, 0, pads, 0])]  # fmt: skip
    rows = (20 + 2 * pads - 5) // stride + 1
    rows += 2 * pads - 2
    count = 8 * rows if end == "flat" else 8
    nodes += [node("GlobalAveragePool", "d", "p")] if end == "mean" else [node("Identity", "d", "p")]
    nodes += [node("Flatten", "p", "f"), node("Gemm", "f w3", "y")]
    constants = {"w0": weights(4, 6, 5, 1), "w1": weights(8, 4, 1, 1), "w2": weights(8, 1, 3, 1),
                 "w3": weights(count, 3)}  # fmt: skip
    return make(nodes, {"x": (1, 6, 20, 1)}, ["y"], constants)


def hopped(model: Any, hop: int) -> Compiled:
    """The model on overlapping windows; every run gives what its whole window gives."""
    compiled = compile_model(model, hop=hop)
    assert wrong_runs(model, compiled) == []
    return compiled


def test_a_row_of_each_layer_is_made_and_what_windows_reach_back_to_is_kept() -> None:
    compiled = compile_model(spotter(end="mean"), hop=1)
    assert compiled.report["hop"] | {"fast": 0, "whole_fast": 0} == {
        "rows": 1, "window": 20, "axis": 2, "exact_from": 1, "fast": 0, "whole_fast": 0,
        "macs": 6 * 4 * 5 + 4 * 8 + 8 * 3 + 8 * 3,
        "whole_macs": 16 * (6 * 4 * 5 + 4 * 8) + 14 * 8 * 3 + 8 * 3,
        "states": 4 * (4 * 6 + 2 * 8 + 13 * 8),
        "all_rows": [{"op": "globalaveragepool_p/part", "reason": "each of its rows depends on those before it"}],
        "edges": [],
    }  # fmt: skip
    assert compiled.report["inputs"][0]["shape"] == [1, 6, 1, 1]
    assert compiled.report["outputs"][0]["shape"] == [1, 3]
    assert [state["shape"] for state in compiled.report["states"]] == [[1, 4, 1, 6], [1, 2, 1, 8], [1, 13, 1, 8]]
    assert "make all their rows in every run: globalaveragepool_p/part" in compiled.report["warnings"][0]


@pytest.mark.parametrize("hop, new, kept", [(1, 1, 4 * 2), (2, 1, 2), (4, 2, 2), (6, 3, 2)])
def test_of_a_stride_longer_than_the_hop_every_so_manieth_row_is_read(hop: int, new: int, kept: int) -> None:
    """Rows two input rows apart: at a hop of one row they were made two runs before, four, …"""
    compiled = hopped(spotter(stride=2), hop)
    rows = {state["name"]: state["shape"][1] for state in compiled.report["states"]}
    assert rows["c/kept"] == (kept if hop > 1 else 4)
    assert compiled.report["hop"]["macs"] == new * (6 * 4 * 5 + 4 * 8 + 8 * 3) + 6 * 8 * 3


def test_a_hop_that_strides_do_not_fit_keeps_the_input_alone() -> None:
    compiled = hopped(spotter(stride=2), 3)
    assert compiled.report["hop"]["macs"] == compiled.report["hop"]["whole_macs"]
    assert [state["name"] for state in compiled.report["states"]] == ["x/kept"]
    assert "2 input rows apart, of which a hop of 3 is no multiple and no part" in compiled.report["warnings"][0]


@pytest.mark.parametrize("end", ["flat", "mean"])
def test_rows_that_padding_reaches_are_made_anew(end: str) -> None:
    """Two rows of padding on either side, and what those of the first layer reach in the second: four edge rows above
    it, which are made of four rows each layer before has to make, and as many below."""
    compiled = hopped(spotter(pads=2, end=end), 1)
    made = {edges["op"]: edges["rows"] for edges in compiled.report["hop"]["edges"]}
    assert made == {"conv_a": 4 + 3, "conv_c": 4 + 3, "conv_d": 4 + 5}
    assert "padding reaches are made anew in every run: conv_a 7 of 20" in compiled.report["warnings"][1]


def test_a_window_without_overlap_is_the_whole_model() -> None:
    model = spotter()
    assert hopped(model, 20).data == compile_model(model).data


@pytest.mark.parametrize("name, hop", [("sww", 1), ("kws", 2), ("micro_speech", 2)])
def test_recorded_networks(name: str, hop: int) -> None:
    """micro_speech's input is [1, 1960], 49 rows of 40."""
    found = hopped(OWN / f"{name}_int8.onnx", hop).report
    assert found["hop"]["macs"] < found["hop"]["whole_macs"]
    twin = compile_model(OWN / f"{name}_int8.tflite", hop=hop).report["hop"]
    assert {key: twin[key] for key in ("macs", "states")} == {key: found["hop"][key] for key in ("macs", "states")}
    if name == "micro_speech":
        assert found["inputs"][0]["shape"] == [1, 80]
        assert (found["hop"]["window"], found["hop"]["axis"]) == (49, 1)


def test_states_begin_with_silence_and_are_forgotten_by_a_reset() -> None:
    """What is kept of an inner layer is that layer's row of zeros, repeated."""
    with Session(compile_model(spotter(), hop=1)) as session:
        first = session.state()
        assert set(first) == {"x/kept", "c/kept", "d/kept"}
        assert np.all(first["x/kept"] == 0)
        for _ in range(3):
            session.run({"x": np.ones((1, 6, 1, 1), np.float32)})
        assert np.any(session.state()["c/kept"] != first["c/kept"])
        session.reset()
        assert all(np.array_equal(value, first[name]) for name, value in session.state().items())
    biased = make([node("Conv", "x w b", "a", kernel_shape=[1, 1]), node("Conv", "a v", "y", kernel_shape=[4, 1])],
                  {"x": (1, 1, 9, 1)}, ["y"],
                  {"w": weights(3, 1, 1, 1), "b": np.array([1.0, 2, 3], np.float32), "v": weights(2, 3, 4, 1)})
    with Session(hopped(biased, 1)) as session:
        assert session.state()["a/kept"].tolist() == [[[[1, 2, 3]]] * 3]


def test_what_is_kept_lies_in_what_it_is_joined_to() -> None:
    """Where a layer reads all that is kept and the new row at once, nothing is copied to bring them together."""
    compiled = network("sww", hop=1)
    plan, program = read_plan(compiled.data), compiled.plan.program
    names = [plan.text(tensor.name) for tensor in plan.tensors]
    lies = {names[view.tensor]: view.offset for view in plan.views if view.flags & ViewFlag.WINDOW}
    lies |= {plan.text(tensor.name): tensor.home_offset for tensor in plan.tensors if tensor.home == Home.FAST}
    for name in ("conv0_relu", "conv1_relu", "conv2_relu"):
        kept = program.tensors[f"{name}/kept"].bytes
        assert lies[f"{name}/window"] == lies[f"{name}/kept"] == lies[name] - kept, name


def test_where_silence_is_not_known_the_first_runs_are_not_exact() -> None:
    nodes = [node("Conv", "x w", "a", kernel_shape=[3, 1]), node("Erf", "a", "b"), node("Cos", "b", "c"),
             node("Conv", "c v", "y", kernel_shape=[4, 1])]  # fmt: skip
    model = make(nodes, {"x": (1, 1, 9, 1)}, ["y"], {"w": weights(1, 1, 3, 1), "v": weights(1, 1, 4, 1)})
    compiled = compile_model(model, hop=2)
    assert compiled.report["hop"]["exact_from"] == 5
    assert "the first 4 runs are not exact: what c is of silence is not known here" in compiled.report["warnings"][-1]
    wrong = wrong_runs(model, compiled)
    assert wrong and max(wrong) < 4


def small(*operators: tuple[str, str, str], shape: tuple[int, ...] = (1, 1, 9, 1), **more: Any) -> onnx.ModelProto:
    """A model of a few operators; each tensor that none of them makes is an input."""
    made = {name for _, _, name in operators}
    inputs = dict.fromkeys(name for _, names, _ in operators for name in names.split() if name not in made)
    return make([node(*operator) for operator in operators], dict.fromkeys(inputs, shape), [*made], **more)


@pytest.mark.parametrize("model, options, message", [
    (small(("Neg", "x", "y")), {"hop": 10}, r"hop=10: input x, \[1, 1, 9, 1\], has 9 rows; a hop has 1 to 9"),
    (small(("Neg", "x", "y")), {"hop": 0}, "hop: 0 rows are no hop; give at least 1"),
    (small(("Neg", "x", "y")), {"hop": -3}, "hop: -3 rows are no hop"),
    (small(("Neg", "x", "y")), {"hop": "two"}, "hop: 'two' is no number of rows"),
    (small(("Neg", "x", "y")), {"hop": True}, "hop: True is no whole number"),
    (small(("Neg", "x", "y"), shape=(2, 1, 9, 1)), {"hop": 1}, "hop=1: input x has 2 images; it must be one window"),
    (small(("Add", "x z", "y")), {"hop": 1}, r"hop=1: test has 2 inputs \(x, z\), .*make the others constants by set"),
    (small(("Add", "x h", "n"), ("Neg", "n", "y")), {"hop": 1, "state": {"n": "h"}},
     r"hop=1: test has states already \(h\)"),
    (small(("Identity", "x", "y"), types={"x": 7, "y": 7}), {"hop": 1},
     "hop=1: input x has type int64; it must be one window of int8"),
])  # fmt: skip
def test_hops_that_have_no_meaning_are_refused(model: onnx.ModelProto, options: dict[str, Any], message: str) -> None:
    with pytest.raises(TigrisError, match=message):
        compile_model(model, **options)


@pytest.mark.parametrize("shape, hop, window", [((1, 640), 128, 640), ((1, 10, 4), 2, 10), ((10, 4), 3, 10)])
def test_a_perceptron_is_given_what_is_new_of_its_window(shape: tuple[int, ...], hop: int, window: int) -> None:
    """Its input is one row of the program; a hop counts entries of the slowest axis."""
    count = int(np.prod(shape))
    nodes = [node("Reshape", "x s", "f"), node("MatMul", "f w", "y")]
    model = make(nodes, {"x": shape}, ["y"], {"w": weights(count, 2), "s": np.array([1, count])})
    assert hopped(model, hop).report["hop"]["window"] == window


CONV = node("Conv", "x w", "a", kernel_shape=[3, 1])


@pytest.mark.parametrize("nodes, outputs, hop, all_rows", [
    ([CONV, node("Concat", "a x", "y", axis=2)], ["y"], 3, ["concat_y"]),
    ([CONV, node("GlobalAveragePool", "a", "m"), node("Mul", "a m", "y")], ["y"], 1,
     ["globalaveragepool_m/part", "mul_y"]),
    ([CONV, node("Add", "a c", "y")], ["y"], 1, ["add_y"]),
    ([CONV, node("Flatten", "a", "f"), node("Gemm", "f v", "y")], ["y", "a"], 1, ["gemm_y"]),
], ids=["join of rows", "gate of all rows", "constant of each row", "output that is read too"])  # fmt: skip
def test_operators_that_read_all_rows(nodes: list[Any], outputs: list[str], hop: int, all_rows: list[str]) -> None:
    constants = {"w": weights(2, 2, 3, 1), "v": weights(20, 3), "c": weights(1, 2, 10, 1)}
    found = hopped(make(nodes, {"x": (1, 2, 12, 1)}, outputs, constants), hop).report["hop"]
    assert [halt["op"] for halt in found["all_rows"]] == all_rows


#: Shares of fast memory beside slow memory; with a full share no second plan is made.
SHARES = (100, 100, 80)


@pytest.mark.fuzzed
@pytest.mark.parametrize("quantised", [False, True], ids=["float32", "int8"])
def test_random_networks_give_what_whole_windows_give(quantised: bool) -> None:
    @counted(**{kind: examples(count, 3 * count) for kind, count in
                {"kept": 6, "apart": 1, "edges": 2, "halted": 2, "fewer": 4, "small": 2}.items()})  # fmt: skip
    @settings(max_examples=examples(20, 60, 600))
    @given(seed=st.integers(0, 10**6), hop=st.integers(1, 6), share=st.sampled_from(SHARES))
    def check(seen: dict[str, int], seed: int, hop: int, share: int) -> None:
        model = Signal(seed, quantised).model()
        try:
            compiled = plan = compile_model(model, hop=hop)
        except UsageError as error:  # a perceptron, whose slowest axis is the channels'
            assert "rows; a hop has 1 to" in str(error)
            return
        with contextlib.suppress(BudgetError):
            if share < 100:
                least = compiled.report["memory"]["fast_peak"] * share // 100
                plan = compile_model(model, hop=hop, fast=least, slow="64K")
        report = compiled.report["hop"]
        assert report["exact_from"] == 1
        assert wrong_runs(model, plan) == []
        assert report["macs"] <= report["whole_macs"]
        seen["small"] += plan is not compiled
        seen["kept"] += any(state["name"] != "x/kept" for state in compiled.report["states"])
        seen["edges"] += bool(report["edges"])
        seen["halted"] += bool(report["all_rows"])
        seen["fewer"] += report["macs"] < report["whole_macs"]
        seen["apart"] += any("/earlier" in name for name in compiled.plan.program.tensors)

    check()
