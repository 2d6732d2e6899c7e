"""`--hop`: rows that are computed and kept, exactness against whole input windows, refusals and warnings."""

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
    """The model with a hop, after a check that every run's outputs equal those of its whole input window."""
    compiled = compile_model(model, hop=hop)
    assert wrong_runs(model, compiled) == []
    return compiled


def test_each_layer_computes_one_row_and_keeps_the_rows_that_kernels_reach_back_to() -> None:
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
    assert "compute all rows in every run: globalaveragepool_p/part" in compiled.report["warnings"][0]


@pytest.mark.parametrize("hop, new, kept", [(1, 1, 4 * 2), (2, 1, 2), (4, 2, 2), (6, 3, 2)])
def test_a_stride_longer_than_the_hop_reads_kept_rows_with_a_stride(hop: int, new: int, kept: int) -> None:
    """The layer's stride is two input rows. At a hop of one row, runs two, four, … before made its earlier rows."""
    compiled = hopped(spotter(stride=2), hop)
    rows = {state["name"]: state["shape"][1] for state in compiled.report["states"]}
    assert rows["c/kept"] == (kept if hop > 1 else 4)
    assert compiled.report["hop"]["macs"] == new * (6 * 4 * 5 + 4 * 8 + 8 * 3) + 6 * 8 * 3


def test_a_hop_that_does_not_fit_the_stride_keeps_input_rows_only() -> None:
    compiled = hopped(spotter(stride=2), 3)
    assert compiled.report["hop"]["macs"] == compiled.report["hop"]["whole_macs"]
    assert [state["name"] for state in compiled.report["states"]] == ["x/kept"]
    assert "2 input rows is neither a multiple nor a divisor of the hop of 3" in compiled.report["warnings"][0]


@pytest.mark.parametrize("end", ["flat", "mean"])
def test_each_run_computes_the_rows_that_padding_reaches(end: str) -> None:
    """Both padded layers add two edge rows at the top and at the bottom, so the second has four at each end. Each
    layer before it computes a head of four rows for those at the top."""
    compiled = hopped(spotter(pads=2, end=end), 1)
    made = {edges["op"]: edges["rows"] for edges in compiled.report["hop"]["edges"]}
    assert made == {"conv_a": 4 + 3, "conv_c": 4 + 3, "conv_d": 4 + 5}
    assert "computes the rows that padding reaches: conv_a 7 of 20" in compiled.report["warnings"][1]


def test_a_hop_of_the_whole_input_window_changes_nothing() -> None:
    model = spotter()
    assert hopped(model, 20).data == compile_model(model).data


@pytest.mark.parametrize("name, hop", [("sww", 1), ("kws", 2), ("micro_speech", 2)])
def test_recorded_networks(name: str, hop: int) -> None:
    """The input of micro_speech is [1, 1960]: 49 rows of 40."""
    found = hopped(OWN / f"{name}_int8.onnx", hop).report
    assert found["hop"]["macs"] < found["hop"]["whole_macs"]
    twin = compile_model(OWN / f"{name}_int8.tflite", hop=hop).report["hop"]
    assert {key: twin[key] for key in ("macs", "states")} == {key: found["hop"][key] for key in ("macs", "states")}
    if name == "micro_speech":
        assert found["inputs"][0]["shape"] == [1, 80]
        assert (found["hop"]["window"], found["hop"]["axis"]) == (49, 1)


def test_states_begin_with_silence_and_a_reset_restores_it() -> None:
    """The state of an inner layer begins as that layer's row for a silent input, repeated."""
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


def test_kept_rows_lie_inside_the_join_that_reads_them() -> None:
    """A layer that reads all kept rows and the new row at once needs no copy to join them."""
    compiled = network("sww", hop=1)
    plan, program = read_plan(compiled.data), compiled.plan.program
    names = [plan.text(tensor.name) for tensor in plan.tensors]
    lies = {names[view.tensor]: view.offset for view in plan.views if view.flags & ViewFlag.WINDOW}
    lies |= {plan.text(tensor.name): tensor.home_offset for tensor in plan.tensors if tensor.home == Home.FAST}
    for name in ("conv0_relu", "conv1_relu", "conv2_relu"):
        kept = program.tensors[f"{name}/kept"].bytes
        assert lies[f"{name}/window"] == lies[f"{name}/kept"] == lies[name] - kept, name


def test_without_rows_of_silence_the_first_runs_are_not_exact() -> None:
    nodes = [node("Conv", "x w", "a", kernel_shape=[3, 1]), node("Erf", "a", "b"), node("Cos", "b", "c"),
             node("Conv", "c v", "y", kernel_shape=[4, 1])]  # fmt: skip
    model = make(nodes, {"x": (1, 1, 9, 1)}, ["y"], {"w": weights(1, 1, 3, 1), "v": weights(1, 1, 4, 1)})
    compiled = compile_model(model, hop=2)
    assert compiled.report["hop"]["exact_from"] == 5
    assert "the first 4 runs are not exact: the rows of c for a silent" in compiled.report["warnings"][-1]
    wrong = wrong_runs(model, compiled)
    assert wrong and max(wrong) < 4


def small(*operators: tuple[str, str, str], shape: tuple[int, ...] = (1, 1, 9, 1), **more: Any) -> onnx.ModelProto:
    """A model of (operator, inputs, output); each tensor that none of them makes is an input of the model."""
    made = {name for _, _, name in operators}
    inputs = dict.fromkeys(name for _, names, _ in operators for name in names.split() if name not in made)
    return make([node(*operator) for operator in operators], dict.fromkeys(inputs, shape), [*made], **more)


@pytest.mark.parametrize("model, options, message", [
    (small(("Neg", "x", "y")), {"hop": 10}, r"hop=10: input x, \[1, 1, 9, 1\], has 9 rows; give a hop of 1 to 9"),
    (small(("Neg", "x", "y")), {"hop": 0}, "hop: 0 rows are no hop; give at least 1"),
    (small(("Neg", "x", "y")), {"hop": -3}, "hop: -3 rows are no hop"),
    (small(("Neg", "x", "y")), {"hop": "two"}, "hop: 'two' is no number of rows"),
    (small(("Neg", "x", "y")), {"hop": True}, "hop: True is no whole number"),
    (small(("Neg", "x", "y"), shape=(2, 1, 9, 1)), {"hop": 1}, "hop=1: input x has 2 images; it must be one image"),
    (small(("Add", "x z", "y")), {"hop": 1}, r"hop=1: test has 2 inputs \(x, z\), .*the others constants with set"),
    (small(("Add", "x h", "n"), ("Neg", "n", "y")), {"hop": 1, "state": {"n": "h"}},
     r"hop=1: test keeps states itself \(h\)"),
    (small(("Identity", "x", "y"), types={"x": 7, "y": 7}), {"hop": 1},
     "hop=1: input x has type int64; it must be one image of int8"),
])  # fmt: skip
def test_impossible_hops_are_refused(model: onnx.ModelProto, options: dict[str, Any], message: str) -> None:
    with pytest.raises(TigrisError, match=message):
        compile_model(model, **options)


@pytest.mark.parametrize("shape, hop, window", [((1, 640), 128, 640), ((1, 10, 4), 2, 10), ((10, 4), 3, 10)])
def test_a_perceptron_receives_the_new_entries_of_its_input(shape: tuple[int, ...], hop: int, window: int) -> None:
    """Its input is one row of the program, so a hop counts entries of the slowest axis."""
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
def test_operators_that_do_not_slide(nodes: list[Any], outputs: list[str], hop: int, all_rows: list[str]) -> None:
    constants = {"w": weights(2, 2, 3, 1), "v": weights(20, 3), "c": weights(1, 2, 10, 1)}
    found = hopped(make(nodes, {"x": (1, 2, 12, 1)}, outputs, constants), hop).report["hop"]
    assert [halt["op"] for halt in found["all_rows"]] == all_rows


#: Percentages of the fast memory of a plan without slow memory; 100 makes no second plan.
SHARES = (100, 100, 80)


@pytest.mark.fuzzed
@pytest.mark.parametrize("quantised", [False, True], ids=["float32", "int8"])
def test_random_networks_equal_runs_on_whole_input_windows(quantised: bool) -> None:
    @counted(**{kind: examples(count, 3 * count) for kind, count in
                {"kept": 6, "strided": 1, "edges": 2, "not sliding": 2, "fewer": 4, "small": 2}.items()})  # fmt: skip
    @settings(max_examples=examples(20, 60, 600))
    @given(seed=st.integers(0, 10**6), hop=st.integers(1, 6), share=st.sampled_from(SHARES))
    def check(seen: dict[str, int], seed: int, hop: int, share: int) -> None:
        model = Signal(seed, quantised).model()
        try:
            compiled = plan = compile_model(model, hop=hop)
        except UsageError as error:  # a perceptron, whose slowest axis holds channels
            assert "rows; give a hop of 1 to" in str(error)
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
        seen["not sliding"] += bool(report["all_rows"])
        seen["fewer"] += report["macs"] < report["whole_macs"]
        seen["strided"] += any("/earlier" in name for name in compiled.plan.program.tensors)

    check()
