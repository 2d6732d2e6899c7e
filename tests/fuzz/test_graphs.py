"""Random graphs, float32 and int8, against onnxruntime. `make fuzz` runs the same for as long as one likes."""

import logging
from collections import Counter

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.fuzz.check import CHECKED, check
from tests.fuzz.graphs import INPUTS, LAYERS, Step
from tests.harness.tiers import examples, sampled

STEP = st.tuples(st.integers(0, len(LAYERS) - 1), st.integers(0, 2), st.integers(0, 1 << 20))
SHAPES, SHARES = st.integers(0, len(INPUTS) - 1), st.integers(15, 99)
SCHEMES = st.sampled_from((None, None, 0, 1, 2, 3))

#: Graphs that were once wrong: the input's shape, layers, how it is quantised, and the share of memory.
FOUND: dict[str, tuple[int, list[Step], int | None, int]] = {
    "one tensor read twice where it lies": (0, [(12, 0, 0)], None, 15),
    "padded with what the input cannot hold": (2, [(13, 0, 0), (15, 0, 308115)], 0, 15),
    "windows in padding": (0, [(0, 0, 0), (0, 0, 1), (4, 0, 1), (19, 0, 0)], None, 15),
    "windows in padding, the wrong shape in the model": (0, [(4, 0, 1)], 0, 15),
    "a Gemm's vector as rows": (0, [(18, 0, 0), (21, 0, 0), (12, 0, 0)], None, 15),
    "no common factors": (0, [(0, 0, 0)] * 5 + [(19, 0, 0), (19, 0, 1)], None, 15),
    "a Gemm reads a pool": (0, [(4, 0, 817), (21, 0, 0)], None, 15),
    "9-bit weights": (4, [(6, 0, 210), (11, 0, 22846), (21, 0, 0), (14, 0, 0)], 2, 15),
    "rows of a reshape": (1, [(19, 2, 665371), (19, 0, 43474), (11, 0, 474597)], 1, 78),
    "a tensor of which no row is needed": (
        6, [(18, 1, 39966), (11, 2, 614920), (7, 1, 1041120), (12, 1, 104501), (26, 0, 854933)], 3, 90),
    "Resize to float32": (0, [(16, 2, 138992), (14, 2, 910954), (2, 2, 234901)], 3, 91),
    "rounded by the model, then transposed": (0, [(0, 0, 0)] * 3 + [(19, 0, 1)], 0, 90),
    "rounded by an activation, then transposed": (0, [(0, 0, 0), (6, 0, 0), (19, 1, 1)], 0, 15),
    "stored as its transposition only": (0, [(0, 0, 0), (0, 0, 0), (19, 1, 1)], 0, 70),
    "an output stored in another order when memory is scarce": (
        0, [(6, 0, 0), (19, 0, 31), (0, 1, 1147), (6, 2, 0), (0, 0, 95)], None, 62),
}  # fmt: skip


@pytest.mark.parametrize("name", sampled(FOUND, [name for name in FOUND if name != "no common factors"]))
def test_graphs_that_were_wrong(name: str) -> None:
    assert check(*FOUND[name]) == CHECKED


@pytest.mark.timeout(1200)
def test_random_graphs() -> None:
    """Every graph is right; nearly all are compared, few being refused by name or by onnxruntime. Some graphs take a
    hundred times what others take: half a minute on a busy machine."""
    logging.disable(logging.WARNING)
    outcomes = Counter[str]()

    @settings(max_examples=examples(6, 60), deadline=None, suppress_health_check=list(HealthCheck))
    @given(shape=SHAPES, steps=st.lists(STEP, min_size=1, max_size=examples(3, 9)), scheme=SCHEMES, share=SHARES)
    def one(shape: int, steps: list[Step], scheme: int | None, share: int) -> None:
        outcomes[check(shape, steps, scheme, share)] += 1

    one()
    assert outcomes.total() - outcomes[CHECKED] <= max(1, 0.03 * outcomes.total()), outcomes
