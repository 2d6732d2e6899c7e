"""Random TensorFlow Lite operators against TensorFlow Lite Micro; `make fuzz` goes on from there."""

from __future__ import annotations

import logging

import pytest

from tests.fuzz.tflite import outcome
from tests.fuzz.tflite_cases import MAKERS, Draw
from tigris_pio.compiler.load.tflite.operators.registry import read_operators

#: What has cases elsewhere: layers with a memory, constants, control flow, custom operators.
ELSEWHERE = frozenset((
    "ASSIGN_VARIABLE", "CALL_ONCE", "CIRCULAR_BUFFER", "Convolution2DTransposeBias", "DENSIFY", "IF", "RANGE",
    "READ_VARIABLE", "RELU_0_TO_1", "SELECT", "SVDF", "TFLite_Detection_PostProcess", "UNIDIRECTIONAL_SEQUENCE_LSTM",
    "VAR_HANDLE",
))  # fmt: skip


def test_every_operator_has_cases() -> None:
    assert {entry.operator for entry in read_operators()} - set(MAKERS) == ELSEWHERE


@pytest.mark.parametrize("seed", range(2))
def test_random_cases(seed: int) -> None:
    """One of each operator that differs from none; those that TensorFlow Lite Micro has not are not compared."""
    logging.disable(logging.WARNING)
    found = {name: outcome(make(Draw(seed), name), False) for name, make in MAKERS.items()}
    assert not {name: text for name, text in found.items() if text.startswith("differs")}
    assert sum(text == "exact" for text in found.values()) > len(found) * 0.6
