"""Which operators are made in tiles of columns."""

import functools

import numpy as np
import onnx
import pytest

from bench.quantised_net import QuantisedNet
from tests.compiler.simulator import Simulator
from tigris_pio import Session, compile_model
from tigris_pio.compiler import choose
from tigris_pio.compiler.pipeline import Compiled
from tigris_pio.compiler.plan.cost import cost_of
from tigris_pio.format.enums import OpKind


def wide() -> onnx.ModelProto:
    """Rows of 64 columns and 24 channels between an image and a map of a quarter of the columns, with a skip across."""
    net = QuantisedNet("wide", 3, (32, 64))
    x = skip = net.conv(net.image, 8)
    x = net.conv(net.depthwise(net.conv(x, 24, 1), 2), 8, 1, relu=False)
    x = net.conv(net.depthwise(net.conv(x, 24, 1), 2), 12, 1, relu=False)
    x = net.conv(net.concat(net.upsample(net.upsample(x)), skip), 4, 3)
    return net.model(net.pool(x))


@functools.cache
def planned(**options: object) -> Compiled:
    return compile_model(wide(), **options)  # type: ignore[arg-type]


def moved(compiled: Compiled) -> int:
    traffic = compiled.report["traffic"]
    return int(traffic["slow_read"] + traffic["slow_written"])


def test_tiles_move_less(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three rows do not fit. Outputs are the same bytes, and flash differs by some records only."""
    tiled = planned(fast=5000, slow="1M")
    assert any(attempt.columns and attempt.outcome == "best so far" for attempt in tiled.attempts)
    Simulator(tiled.plan).run()
    monkeypatch.setattr(choose, "tiled", lambda *_: [])
    whole = compile_model(wide(), fast=5000, slow="1M")
    assert moved(tiled) < 0.7 * moved(whole)
    assert cost_of(tiled.plan) < cost_of(whole.plan)
    assert tiled.report["compute"]["macs"] == whole.report["compute"]["macs"]
    assert tiled.report["compute"]["recomputed_macs"] > whole.report["compute"]["recomputed_macs"]  # tiles' edges
    assert tiled.report["flash"]["weights"] <= whole.report["flash"]["weights"] + 16
    x = np.random.default_rng(3).standard_normal((1, 3, 32, 64)).astype(np.float32)
    with Session(tiled.data) as one, Session(whole.data) as other:
        for name, values in other.run({"image": x}).items():
            np.testing.assert_array_equal(one.run({"image": x})[name], values)


@pytest.mark.parametrize("memory", [{"fast": "256K", "slow": "1M"}, {"fast": "48K"}])
def test_nothing_is_tiled_where_little_is_moved(memory: dict[str, str]) -> None:
    compiled = planned(**memory)
    assert not any(attempt.columns for attempt in compiled.attempts)
    assert [op.kind for op in compiled.plan.program.ops].count(OpKind.CONV_2D) == 6


@pytest.mark.thorough
def test_a_library_runs_tiles_too() -> None:
    """Its scratch and its packing are those of the narrower operators."""
    compiled = compile_model(wide(), fast=9000, slow="1M", chip="cortex-m4", backend="cmsis-nn")
    assert any(attempt.columns and attempt.outcome == "best so far" for attempt in compiled.attempts)
    assert any("/columns" in op.output for op in compiled.plan.program.ops)  # they are taken
    x = np.random.default_rng(3).standard_normal((1, 3, 32, 64)).astype(np.float32)
    with Session(compiled.data) as one, Session(planned().data) as other:
        for name, values in other.run({"image": x}).items():
            np.testing.assert_array_equal(one.run({"image": x})[name], values)
