"""Operators in tiles of columns make the same bytes, whatever is tiled."""

import dataclasses
import functools
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.quantised_net import QuantisedNet
from tests.compiler.lower.compare import noise
from tests.compiler.lower.test_int16_operators import NUMBERS, Model, layer
from tests.compiler.models import make, node, program
from tests.compiler.simulator import Simulator
from tests.harness.tiers import examples
from tigris_pio import Session
from tigris_pio.compiler.emit.writer import write_plan
from tigris_pio.compiler.ir.plan import Budget
from tigris_pio.compiler.ir.program import Program
from tigris_pio.compiler.lower.columns import Tiles, is_tileable, live_outputs, tile_columns
from tigris_pio.compiler.plan.index import ProgramIndex
from tigris_pio.compiler.plan.search import find_plan
from tigris_pio.compiler.plan.settings import WeightOptions
from tigris_pio.compiler.weights.block import block_bytes, distinct_bytes
from tigris_pio.format.enums import OpKind, WeightMode
from tigris_pio.format.reader import read_plan


def encoder() -> tuple[QuantisedNet, tuple[str, str]]:
    """All that slides, with and without padding, by any step; a skip across; sums; joins; what needs a column twice."""
    net = QuantisedNet("encoder", 3, (12, 22))
    x = skip = net.conv(net.image, 6)
    x = net.conv(net.depthwise(x, 2), 8, 1)
    x = net.add(x, net.conv(net.depthwise(x, kernel=5), 8, 1, relu=False))
    x = net.concat(net.pool(x, "AveragePool", 3, 1, 1), net.conv(x, 5, dilation=2), x)
    x = net.conv(net.concat(net.upsample(x), skip), 4, 3)
    return net, (net.pool(x, kernel=3, stride=2, pad=1), net.conv(x, 2, 1, relu=False))


@functools.cache
def int8() -> Program:
    net, outputs = encoder()
    return program(net.model(*outputs))


@functools.cache
def floating() -> Program:
    weights = {"w": noise(4, 3, 3, 3), "f": np.float32(0.3), "d": noise(4, 1, 3, 3), "each": noise(1, 4, 1, 1),
               "s": np.array([1, 1, 2, 2], np.float32)}
    nodes = [
        node("Conv", "x w", "a", pads=[1, 2, 1, 0], strides=[1, 2]), node("Relu", "a", "b"),
        node("Conv", "b d", "c", group=4, pads=[1, 1, 1, 1]), node("Mul", "c each", "m"), node("Sigmoid", "m", "e"),
        node("Mul", "m e", "g"), node("Resize", "g - s", "h", mode="nearest", nearest_mode="floor",
                                      coordinate_transformation_mode="asymmetric"),
        node("AveragePool", "h", "i", kernel_shape=[2, 3], pads=[0, 1, 0, 1], count_include_pad=1),
        node("Concat", "i i", "y", axis=1),
    ]
    return program(make(nodes, {"x": (1, 3, 9, 20)}, ["y"], weights))


@functools.cache
def int16() -> Program:
    model = Model()
    convolved = layer(model, "Conv", model.rounded("x", "int16"), (4, 3, 3, 3), NUMBERS["int16"][0],
                      pads=[1, 2, 1, 0], strides=[1, 2])
    model.then("Sigmoid", model.rounded(convolved, "int16", 1e-3), "s")
    model.then("Identity", model.rounded("s", "int8", 0.004, -128), "y")
    return program(make(model.nodes, {"x": (1, 3, 9, 20)}, ["y"], model.weights, 21))


PROGRAMS = {"int8": int8, "int16": int16, "float": floating}


def run(of: Program, fast: int | None = None, mode: WeightMode = WeightMode.IN_PLACE) -> dict[str, np.ndarray]:
    budget, options = Budget(fast, 0 if fast is None else 1 << 20), WeightOptions(mode=mode)
    plan = find_plan(ProgramIndex.of(of), budget, 16, options)
    assert plan is not None
    if fast is not None:
        Simulator(plan).run()
    shape = of.inputs[0].shape
    x = np.random.default_rng(1).standard_normal(shape).astype(np.float32)
    with Session(write_plan(plan, False)) as session:
        return session.run({of.inputs[0].name: x})


@functools.cache
def expected(which: str) -> dict[str, np.ndarray]:
    return run(PROGRAMS[which]())


def regions(of: Program, draw: Callable[[st.SearchStrategy[int]], int]) -> list[Tiles]:
    """Up to three regions of operators that may be tiled, in so many tiles as their outputs have columns for."""
    found, first = [], 0
    for _ in range(draw(st.integers(1, 3))):
        first = draw(st.integers(first, len(of.ops)))
        end = draw(st.integers(first, len(of.ops)))
        widths = [of.tensors[name].width for name in live_outputs(of, first, end)]
        if end > first and widths and all(is_tileable(of, op) for op in of.ops[first:end]):
            found.append(Tiles(first, end, draw(st.integers(2, min(5, min(widths) // 2)))))
        first = end
    return found


@pytest.mark.parametrize("which", PROGRAMS)
@settings(max_examples=examples(12, 25, 100), deadline=None)
@given(data=st.data())
def test_tiles_make_the_same_bytes(which: str, data: st.DataObject) -> None:
    of = PROGRAMS[which]()
    chosen = regions(of, data.draw)
    split_tensors = {op.output for op in of.ops if data.draw(st.booleans())}
    found = tile_columns(of, chosen, split_tensors)
    assert found.inputs == of.inputs and found.outputs == of.outputs
    assert len({op.name for op in found.ops}) == len(found.ops) == len({op.output for op in found.ops})
    for name, values in run(found).items():
        np.testing.assert_array_equal(values, expected(which)[name])


@pytest.mark.parametrize("which", PROGRAMS)
def test_tiles_in_bands_beside_slow_memory(which: str) -> None:
    of = PROGRAMS[which]()
    found = tile_columns(of, [Tiles(0, 3, 3)], {op.output for op in of.ops})
    for name, values in run(found, 6000).items():
        np.testing.assert_array_equal(values, expected(which)[name])


def tiled(of: Program) -> set[OpKind]:
    return {op.kind for op in of.ops if is_tileable(of, op)}


def test_operators_that_may_be_tiled() -> None:
    """Operators without columns stay whole, and so do constants with a number for each column."""
    assert tiled(int8()) >= {OpKind.CONV_2D, OpKind.DEPTHWISE_CONV_2D, OpKind.AVERAGE_POOL, OpKind.MAX_POOL, OpKind.ADD,
                             OpKind.LOOKUP, OpKind.SELECT, OpKind.CONCAT}
    assert tiled(int16()) == {OpKind.CONV_2D, OpKind.LOGISTIC, OpKind.RESCALE}
    assert tiled(floating()) >= {OpKind.CONV_2D, OpKind.MUL, OpKind.UNARY, OpKind.SELECT, OpKind.AVERAGE_POOL}
    tensors = {name: dataclasses.replace(item, batch=2) for name, item in int8().tensors.items()}
    assert not tiled(dataclasses.replace(int8(), tensors=tensors))
    nodes = [node("Conv", "x w", "a", pads=[1, 1, 1, 1]), node("GlobalAveragePool", "a", "b"),
             node("Softmax", "a", "c", axis=3), node("Concat", "a a", "d", axis=3), node("Sub", "a grid", "e"),
             node("Mul", "e one", "f")]
    weights = {"w": noise(2, 3, 3, 3), "grid": noise(1, 1, 1, 8), "one": np.float32(3)}
    of = program(make(nodes, {"x": (1, 3, 6, 8)}, ["b", "c", "d", "f"], weights))
    assert tiled(of) == {OpKind.CONV_2D, OpKind.MUL}


@pytest.mark.thorough
@pytest.mark.parametrize("mode", WeightMode)
def test_what_tiles_have_in_common_is_stored_once(mode: WeightMode) -> None:
    of = int8()
    tiled = tile_columns(of, [Tiles(0, len(of.ops) - 2, 3)])
    assert block_bytes(tiled.ops) <= block_bytes(of.ops)
    for fast in (None, 6000):
        for name, values in run(tiled, fast, mode).items():
            np.testing.assert_array_equal(values, expected("int8")[name])
    plan = find_plan(ProgramIndex.of(tiled), Budget(6000, 1 << 20), 16, WeightOptions())
    assert plan is not None and len(plan.stages) > 3
    weights = read_plan(write_plan(plan, False)).header.weights_bytes
    assert distinct_bytes(tiled) <= weights < distinct_bytes(tiled) + 32


def test_what_is_made_in_tiles_is_joined_where_it_is_read() -> None:
    """A tiled tensor is joined once, before its first reader outside the tiles; an output is always joined."""
    of = int8()
    tiled = tile_columns(of, [Tiles(0, 3, 2)])
    names = [op.output for op in tiled.ops]
    for name in live_outputs(of, 0, 3):
        reader = next(op.output for op in of.ops[3:] if any(each.tensor == name for each in op.operands))
        assert names.count(name) == 1 and names.index(reader) == names.index(name) + 1
    assert find_plan(ProgramIndex.of(tiled), Budget(None), 16, WeightOptions()) is not None
