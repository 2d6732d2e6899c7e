"""Random graphs, float32 and int8, against onnxruntime. `make fuzz` runs the same for as long as one likes."""

from __future__ import annotations

import logging
from collections import Counter

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.fuzz.check import CHECKED, check
from tests.fuzz.graphs import INPUTS, LAYERS, Step

STEPS = st.lists(
    st.tuples(st.integers(0, len(LAYERS) - 1), st.integers(0, 2), st.integers(0, 1 << 20)), min_size=1, max_size=9
)
SHAPES, SHARES = st.integers(0, len(INPUTS) - 1), st.integers(15, 99)
SCHEMES = st.sampled_from((None, None, 0, 1, 2, 3))


@pytest.mark.timeout(1200)
def test_random_graphs() -> None:
    """Every graph is right; nearly all are compared, few being refused by name or by onnxruntime. What is drawn differs
    from run to run, and some of it takes a hundred times what other graphs take: half a minute on a busy machine."""
    logging.disable(logging.WARNING)
    outcomes = Counter[str]()

    @settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
    @example(shape=0, steps=[(12, 0, 0)], scheme=None, share=15)  # one tensor read twice where it lies
    @example(shape=2, steps=[(13, 0, 0), (15, 0, 308115)], scheme=0, share=15)  # padded with what the input cannot hold
    @example(shape=0, steps=[(0, 0, 0), (0, 0, 1), (4, 0, 1), (19, 0, 0)], scheme=None, share=15)  # windows in padding
    @example(shape=0, steps=[(4, 0, 1)], scheme=0, share=15)  # the same, with the wrong shape written into the model
    @example(shape=0, steps=[(18, 0, 0), (21, 0, 0), (12, 0, 0)], scheme=None, share=15)  # a Gemm's vector as rows
    @example(shape=0, steps=[(0, 0, 0)] * 5 + [(19, 0, 0), (19, 0, 1)], scheme=None, share=15)  # no common factors
    @example(shape=0, steps=[(4, 0, 817), (21, 0, 0)], scheme=None, share=15)  # a Gemm reads such a pool
    @example(shape=4, steps=[(6, 0, 210), (11, 0, 22846), (21, 0, 0), (14, 0, 0)], scheme=2, share=15)  # 9-bit weights
    @example(shape=1, steps=[(19, 2, 665371), (19, 0, 43474), (11, 0, 474597)], scheme=1, share=78)  # rows of a reshape
    @example(shape=6, steps=[(18, 1, 39966), (11, 2, 614920), (7, 1, 1041120), (12, 1, 104501), (26, 0, 854933)],
             scheme=3, share=90)  # a tensor of which no row is needed
    @example(shape=0, steps=[(16, 2, 138992), (14, 2, 910954), (2, 2, 234901)], scheme=3, share=91)  # Resize to float32
    @example(shape=0, steps=[(0, 0, 0)] * 3 + [(19, 0, 1)], scheme=0, share=15)  # rounded by the model, then transposed
    @example(shape=0, steps=[(0, 0, 0), (6, 0, 0), (19, 1, 1)], scheme=0, share=15)
    @example(shape=0, steps=[(0, 0, 0), (0, 0, 0), (19, 1, 1)], scheme=0, share=15)  # stored as its transposition only
    @example(shape=0, steps=[(6, 0, 0), (19, 0, 31), (0, 1, 1147), (6, 2, 0), (0, 0, 95)], scheme=None,
             share=62)  # an output stored in another order when memory is scarce
    @given(shape=SHAPES, steps=STEPS, scheme=SCHEMES, share=SHARES)
    def one(shape: int, steps: list[Step], scheme: int | None, share: int) -> None:
        outcomes[check(shape, steps, scheme, share)] += 1

    one()
    assert outcomes[CHECKED] >= 0.97 * outcomes.total(), outcomes
