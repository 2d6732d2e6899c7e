"""What slides and what does not, what is refused, and what is said about it."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest

from bench.hop import rows
from tests.compiler.models import make, node, program
from tests.compiler.slide.signals import Signal, wrong_runs
from tests.families.catalogue import int8_model
from tests.networks.folders import OWN
from tigris_pio import Session, compile_model
from tigris_pio.compiler.slide import slide
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
    model = spotter(stride=2)
    compiled = compile_model(model, hop=hop)
    rows = {state["name"]: state["shape"][1] for state in compiled.report["states"]}
    assert rows["c/kept"] == (kept if hop > 1 else 4)
    assert compiled.report["hop"]["macs"] == new * (6 * 4 * 5 + 4 * 8 + 8 * 3) + 6 * 8 * 3
    assert wrong_runs(model, compiled) == []


def test_a_hop_that_strides_do_not_fit_keeps_the_input_alone() -> None:
    model = spotter(stride=2)
    compiled = compile_model(model, hop=3)
    assert compiled.report["hop"]["macs"] == compiled.report["hop"]["whole_macs"]
    assert [state["name"] for state in compiled.report["states"]] == ["x/kept"]
    assert "2 input rows apart, of which a hop of 3 is no multiple and no part" in compiled.report["warnings"][0]
    assert wrong_runs(model, compiled) == []


@pytest.mark.parametrize("end", ["flat", "mean"])
def test_rows_that_padding_reaches_are_made_anew(end: str) -> None:
    """Two rows of padding on either side, and what those of the first layer reach in the second: four edge rows above
    it, which are made of four rows each layer before has to make, and as many below."""
    model = spotter(pads=2, end=end)
    compiled = compile_model(model, hop=1)
    made = {edges["op"]: edges["rows"] for edges in compiled.report["hop"]["edges"]}
    assert made == {"conv_a": 4 + 3, "conv_c": 4 + 3, "conv_d": 4 + 5}
    assert "padding reaches are made anew in every run: conv_a 7 of 20" in compiled.report["warnings"][1]
    assert wrong_runs(model, compiled) == []


def test_a_window_without_overlap_is_the_whole_model() -> None:
    model = spotter()
    compiled = compile_model(model, hop=20)
    assert compiled.data == compile_model(model).data
    assert wrong_runs(model, compiled) == []


@pytest.mark.parametrize("name, hops", [("sww", (1, 2, 3)), ("kws", (1, 2, 3)), ("micro_speech", (1, 2))])
def test_recorded_networks(name: str, hops: tuple[int, ...]) -> None:
    path = str(OWN / f"{name}_int8.onnx")
    for hop in hops:
        compiled = compile_model(path, hop=hop)
        found = compiled.report["hop"]
        assert wrong_runs(path, compiled) == []
        assert found["macs"] < found["whole_macs"] or (name, hop) == ("kws", 3)
        twin = compile_model(str(OWN / f"{name}_int8.tflite"), hop=hop).report["hop"]
        assert {key: twin[key] for key in ("macs", "states")} == {key: found[key] for key in ("macs", "states")}


def test_states_begin_with_silence_and_are_forgotten_by_a_reset() -> None:
    """What is kept of an inner layer is that layer's row of zeros, repeated."""
    model = spotter()
    with Session(compile_model(model, hop=1)) as session:
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
    compiled = compile_model(biased, hop=1)
    with Session(compiled) as session:
        assert session.state()["a/kept"].tolist() == [[[[1, 2, 3]]] * 3]
    assert wrong_runs(biased, compiled) == []


def test_what_is_kept_lies_in_what_it_is_joined_to() -> None:
    """Where a layer reads all that is kept and the new row at once, nothing is copied to bring them together."""
    compiled = compile_model(str(OWN / "sww_int8.onnx"), hop=1)
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


@pytest.mark.parametrize("shape, options, message", [
    ((1, 1, 9, 1), {"hop": 10}, r"hop=10: input x, \[1, 1, 9, 1\], has 9 rows; a hop has 1 to 9"),
    ((1, 1, 9, 1), {"hop": 0}, "hop: 0 rows are no hop; give at least 1"),
    ((1, 1, 9, 1), {"hop": -3}, "hop: -3 rows are no hop"),
    ((1, 1, 9, 1), {"hop": "two"}, "hop: 'two' is no number of rows"),
    ((1, 1, 9, 1), {"hop": True}, "hop: True is no whole number"),
    ((2, 1, 9, 1), {"hop": 1}, "hop=1: input x has 2 images; it must be one window"),
])  # fmt: skip
def test_hops_that_have_no_meaning_are_refused(shape: tuple[int, ...], options: dict[str, Any], message: str) -> None:
    with pytest.raises(TigrisError, match=message):
        compile_model(make([node("MaxPool", "x", "y", kernel_shape=[3, 1])], {"x": shape}, ["y"]), **options)


def test_models_of_other_forms_are_refused() -> None:
    both = make([node("Add", "x z", "y")], {"x": (1, 1, 9, 1), "z": (1, 1, 9, 1)}, ["y"])
    with pytest.raises(UsageError, match=r"hop=1: test has 2 inputs \(x, z\), .*make the others constants by set"):
        compile_model(both, hop=1)
    assert wrong_runs(make([node("Neg", "x", "y")], {"x": (1, 1, 9, 1)}, ["y"]),
                      compile_model(both, hop=1, set={"z": 0})) != []  # fmt: skip
    held = make([node("Add", "x h", "n"), node("Neg", "n", "y")], {"x": (1, 1, 9, 1), "h": (1, 1, 9, 1)}, ["y", "n"])
    with pytest.raises(UsageError, match=r"hop=1: test has states already \(h\)"):
        compile_model(held, hop=1, state={"n": "h"})
    numbers = make([node("Cast", "x", "y", to=1)], {"x": (1, 1, 9, 1)}, ["y"], types={"x": 7})
    with pytest.raises(UsageError, match="hop=1: input x has type int64; it must be one window of int8"):
        compile_model(numbers, hop=1)


def test_the_rows_of_a_flat_input_are_found() -> None:
    """micro_speech's input is [1, 1960], 49 rows of 40."""
    compiled = compile_model(str(OWN / "micro_speech_int8.onnx"), hop=2)
    assert compiled.report["inputs"][0]["shape"] == [1, 80]
    assert (compiled.report["hop"]["window"], compiled.report["hop"]["axis"]) == (49, 1)


@pytest.mark.parametrize("shape, hop, window", [((1, 640), 128, 640), ((1, 10, 4), 2, 10), ((10, 4), 3, 10)])
def test_a_perceptron_is_given_what_is_new_of_its_window(shape: tuple[int, ...], hop: int, window: int) -> None:
    """Its input is one row of the program; a hop counts entries of the slowest axis."""
    count = int(np.prod(shape))
    nodes = [node("Reshape", "x s", "f"), node("MatMul", "f w", "y")]
    model = make(nodes, {"x": shape}, ["y"], {"w": weights(count, 2), "s": np.array([1, count])})
    compiled = compile_model(model, hop=hop)
    assert compiled.report["hop"]["window"] == window
    assert wrong_runs(model, compiled) == []


def test_recurrent_layers_and_joins_of_rows_read_all_rows() -> None:
    nodes = [node("Conv", "x w", "a", kernel_shape=[3]), node("Transpose", "a", "b", perm=[2, 0, 1]),
             node("GRU", "b wx wh", "- h", hidden_size=3)]  # fmt: skip
    model = make(nodes, {"x": (1, 2, 12)}, ["h"],
                 {"w": weights(4, 2, 3), "wx": weights(1, 9, 4), "wh": weights(1, 9, 3)})  # fmt: skip
    compiled = compile_model(model, hop=1)
    assert compiled.report["hop"]["macs"] < compiled.report["hop"]["whole_macs"]
    assert wrong_runs(model, compiled) == []
    joined = make([node("Conv", "x w", "a", kernel_shape=[3, 1]), node("Concat", "a x", "y", axis=2)],
                  {"x": (1, 2, 12, 1)}, ["y"], {"w": weights(2, 2, 3, 1)})  # fmt: skip
    compiled = compile_model(joined, hop=3)
    assert [halt["op"] for halt in compiled.report["hop"]["all_rows"]] == ["concat_y"]
    assert wrong_runs(joined, compiled) == []


def test_a_network_made_to_be_streamed() -> None:
    """No padding and 98 frames: a hop of one makes a row of each layer, in little more memory than whole windows."""
    table = rows("spotter", int8_model("streaming_spotter"), [1])
    whole, hopped = ([cell.replace(",", "") for cell in row] for row in table)
    assert int(hopped[2]) == 40 * 64 * 5 + 3 * (64 * 9 + 64 * 64) + 64 * 12
    assert int(whole[2]) == 94 * 64 * 40 * 5 + (86 + 70 + 38) * (64 * 9 + 64 * 64) + 64 * 12
    assert int(hopped[4]) == 40 * 4 + 64 * (8 + 16 + 32 + 37)
    assert int(hopped[5]) < 1.1 * int(whole[5])
    assert hopped[6] == ""


def test_what_the_model_is_without_a_hop_does_not_change() -> None:
    whole = program(Signal(3, True).model())
    slid = slide(whole, 1)
    assert slid.whole is whole and set(whole.tensors) == set(program(Signal(3, True).model()).tensors)
