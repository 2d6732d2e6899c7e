"""Own errors: a layer that gets the plan's values shows its own fault only, down to one step."""

from __future__ import annotations

import dataclasses

import numpy as np
import onnx

from tests.compiler.models import Quantiser, make, node
from tigris_pio.compiler.options import CompileOptions
from tigris_pio.compiler.pipeline import Front, back, front
from tigris_pio.host import Session
from tigris_pio.verify.compare import random_inputs
from tigris_pio.verify.own_inputs import OwnDifference, OwnInputs

OPTIONS = CompileOptions()


def shifted(start: Front, name: str) -> Front:
    """The same program with one step added to every output element of operator `name`."""
    (op,) = (op for op in start.program.ops if op.name == name)
    params = dataclasses.replace(op.params, output_zero_point=op.params.output_zero_point + 1)
    ops = tuple(dataclasses.replace(op, params=params) if other is op else other for other in start.program.ops)
    return dataclasses.replace(start, program=dataclasses.replace(start.program, ops=ops))


def differences(model: onnx.ModelProto, start: Front) -> dict[str, OwnDifference]:
    own = OwnInputs(model, start.program)
    with Session(back(start, OPTIONS)) as session:
        return {item.tensor: item for item in own.run(session, random_inputs(session, 1))}


def test_one_step_shows_in_its_own_layer_only(models_dir):
    model = onnx.load(models_dir / "kws_int8.onnx")
    found = differences(model, shifted(front(model, OPTIONS), "conv2/Conv"))
    by_op = {item.op: item.steps for item in found.values()}
    assert 1.0 < by_op.pop("conv2/Conv") < 1.6
    assert max(by_op.values()) <= 0.6


def test_rows_that_nothing_needs_are_left_out():
    q = Quantiser()
    q.add(node("MaxPool", q.pair("x", 0.02, 3), "p", kernel_shape=[1, 1]))
    q.add(node("AveragePool", q.pair("p", 0.02, 3), "a", kernel_shape=[1, 1], strides=[5, 5]))
    q.add(node("Identity", q.pair("a", 0.02, 3), "y"))
    start = front(model := make(q.nodes, {"x": [1, 2, 8, 8]}, ["y"], q.weights), OPTIONS)
    with Session(back(start, OPTIONS)) as session:
        stored = {"x": np.full(session.inputs[0].stored_shape, 40, np.int8)}
        _, trace = session.run_raw_traced(stored)
    assert any((array == 0).any() for array in trace.values())  # rows 6 and 7 of the first pool
    assert all(item.steps <= 0.51 for item in differences(model, start).values())
