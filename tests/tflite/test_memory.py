"""Operators with a memory of their own: LSTM and SVDF."""

import dataclasses

import numpy as np
import pytest

from tests.tflite.compare import check_exact, random_input
from tests.tflite.tflm import Tflm
from tests.tflite.writer import NONE, RELU, Operator, Tensor, constant, write
from tigris_pio import Session, UnsupportedError, compile_model

TANH = 4


@dataclasses.dataclass(frozen=True)
class Lstm:
    """One layer on the input x: its sizes, and the scales and zero points of its tensors."""

    steps: int = 5
    batch: int = 1
    inputs: int = 6
    units: int = 5
    time_first: bool = False
    clip: float = 0.0
    cell_scale: float = 2.0**-11
    hidden: tuple[float, int] = (0.0071, -9)
    entered: tuple[float, int] = (0.031, 17)
    kind: str = "int8"
    given: tuple[tuple[int, Tensor], ...] = ()  #: inputs of other layers
    activation: int = TANH

    def shape(self, last: int) -> tuple[int, ...]:
        """The shape of the sequence, and of the output, with `last` values a step."""
        return (self.steps, self.batch, last) if self.time_first else (self.batch, self.steps, last)

    def file(self) -> bytes:
        """The .tflite."""
        inputs = dict(enumerate([Tensor("", ())] * 24)) | self._weights()
        exact = self.kind == "int8"
        x = Tensor("x", self.shape(self.inputs), self.kind, *(self.entered if exact else ()))
        y = Tensor("y", self.shape(self.units), self.kind, *(self.hidden if exact else ()))
        inputs |= {0: x, 18: self._state("h", self.kind, self.hidden),
                   19: self._state("c", "int16" if exact else self.kind, (self.cell_scale, 0)), **dict(self.given)}
        options = {"fusedActivationFunction": self.activation, "timeMajor": self.time_first, "cellClip": self.clip}
        operator = Operator("UNIDIRECTIONAL_SEQUENCE_LSTM", [item.name for item in inputs.values()], ["y"], options)
        return write([*(item for item in inputs.values() if item.name), y], [operator], ["x"], ["y"])

    def _state(self, name: str, kind: str, number: tuple[float, int]) -> Tensor:
        shape = (self.batch, self.units)
        return Tensor(name, shape, kind, *(() if self.kind == "float32" else number), variable=True)

    def _weights(self) -> dict[int, Tensor]:
        random, result = np.random.default_rng(self.units), {}
        for index in (*range(1, 9), *range(12, 16)):
            shape: tuple[int, ...] = (self.units, self.inputs if index < 5 else self.units)
            if index >= 12:
                values = random.integers(-3000, 3000, self.units).astype(np.int32)
                value = constant(f"b{index}", values, 0.0001)
                shape = (self.units,)
            else:
                value = constant(f"w{index}", random_input(shape, seed=index), 0.004 + 0.001 * index)
            if self.kind == "float32":
                value = constant(value.name, random.normal(0, 0.5, shape).astype(np.float32))
            result[index] = value
        return result


FORMS = (
    Lstm(), Lstm(time_first=True, batch=2), Lstm(batch=3, units=4, steps=9), Lstm(units=37, inputs=11, steps=49),
    Lstm(clip=0.8), Lstm(clip=2.5, cell_scale=2.0**-13), Lstm(cell_scale=0.0006), Lstm(cell_scale=2.0**-16),
    Lstm(hidden=(0.0004, 100), entered=(0.4, -128)), Lstm(entered=(0.2, 127), cell_scale=2.0**-9), Lstm(steps=1),
)


@pytest.mark.parametrize("form", FORMS)
def test_int8_has_the_references_bytes(form: Lstm) -> None:
    """At any budget, with the state kept between runs."""
    data = form.file()
    check_exact(data, data, {"x": random_input(form.shape(form.inputs))}, runs=5)


@pytest.mark.parametrize("form", (Lstm(), Lstm(time_first=True, batch=2), Lstm(batch=2, clip=0.4)))
def test_float32_agrees(form: Lstm) -> None:
    data = dataclasses.replace(form, kind="float32").file()
    reference = Tflm(data)
    with Session(compile_model(data)) as session:
        for seed in range(5):
            x = random_input(form.shape(form.inputs), "float32", seed)
            np.testing.assert_allclose(session.run({"x": x})["y"], reference.run([x])[0], rtol=1e-4, atol=1e-6)


def vector(name: str, kind: str = "int8", *number: float) -> Tensor:
    return constant(name, np.ones(Lstm().units, kind), *number)


@pytest.mark.parametrize(("form", "reason"), [
    (Lstm(given=((9, vector("p", "int16", 0.01)),)), "peepholes"),
    (Lstm(given=((16, constant("p", np.ones((5, 5), np.int8), 0.01)),)), "a projection"),
    (Lstm(given=((20, vector("n", "int16", 0.01)),)), "normalised gates"),
    (Lstm(given=((1, Tensor("", ())),)), "coupled input and forget gates"),
    (Lstm(activation=RELU), "an activation that is not tanh"),
    (Lstm(cell_scale=9.0), "a scale of 9"),
    (Lstm(given=((6, constant("w", np.ones((5, 5), np.int8), 0.01, 3)),)), "w are not int8 with one scale"),
    (Lstm(given=((6, constant("w", np.ones((5, 5), np.int8), [0.01] * 5)),)), "w are not int8 with one scale"),
    (Lstm(given=((19, Tensor("c", (1, 5), "int8", 0.01, variable=True)),)), "c is not int16"),
])  # fmt: skip
def test_other_layers_are_refused_by_name(form: Lstm, reason: str) -> None:
    with pytest.raises(UnsupportedError, match=rf"(?s)UNIDIRECTIONAL_SEQUENCE_LSTM_0 .*{reason}"):
        compile_model(form.file())


# SVDF against TensorFlow Lite Micro over several runs: its memory is a state.

FILTERS, ROWS, INPUTS = 6, 4, 5


def svdf(rank: int, bias: bool, kind: str, rows: int = ROWS, zero: int = -128, time: str = "") -> bytes:
    units, random = FILTERS // rank, np.random.default_rng(rank)
    if kind == "float32":
        features, time, offsets = (random.uniform(-1, 1, shape).astype(np.float32)
                                   for shape in ((FILTERS, INPUTS), (FILTERS, rows), (units,)))
        ends = [Tensor("x", (1, INPUTS), kind), Tensor("y", (1, units), kind),
                constant("f", features), constant("t", time), constant("b", offsets),
                Tensor("m", (1, FILTERS * rows), kind, variable=True)]
    else:
        ends = [Tensor("x", (1, INPUTS), "int8", 0.1, 3),
                Tensor("y", (1, units), "int8", 0.4 if kind == "int8" else 2.0, zero),
                constant("f", random_input((FILTERS, INPUTS), seed=1), 0.02),
                constant("t", random_input((FILTERS, rows), time or kind, 2), 0.01 if kind == "int8" else 7e-5),
                constant("b", random.integers(-99, 99, units).astype(np.int32), 0.0008 if kind == "int8" else 7e-8),
                Tensor("m", (1, FILTERS * rows), kind, 0.08 if kind == "int8" else 1e-3,
                       -7 if kind == "int8" else 0, variable=True)]
    options = {"rank": rank, "fusedActivationFunction": RELU if kind != "float32" or bias else NONE}
    return write(ends, [Operator("SVDF", ["x", "f", "t", "b" if bias else "", "m"], ["y"], options)], ["x"], ["y"])


@pytest.mark.parametrize("kind", ("int8", "int16"))
@pytest.mark.parametrize("rows", (ROWS, 1))
@pytest.mark.parametrize("rank", (1, 2))
def test_int8_svdf_has_the_references_bytes(rank: int, rows: int, kind: str) -> None:
    """The memory is int8 or int16. The layer has a bias, because the reference crashes without one."""
    data = svdf(rank, True, kind, rows, zero=-128 if kind == "int8" else 3)
    check_exact(data, data, {"x": random_input((1, INPUTS))}, runs=7)


@pytest.mark.parametrize("rank", (1, 2))
def test_float32_svdf_agrees(rank: int) -> None:
    data = svdf(rank, True, "float32")
    reference = Tflm(data)
    with Session(compile_model(data)) as session:
        for seed in range(7):
            x = random_input((1, INPUTS), "float32", seed)
            np.testing.assert_allclose(session.run({"x": x})["y"], reference.run([x])[0], rtol=1e-5, atol=1e-6)


def test_a_memory_of_another_type_than_the_weights_is_refused() -> None:
    with pytest.raises(UnsupportedError, match=r"SVDF_0 .*a memory of int16 and time weights of int8"):
        compile_model(svdf(1, True, "int16", time="int8"))
