"""Random graphs, float32 and int8, against onnxruntime. `make fuzz` runs the same for as long as one likes."""

from __future__ import annotations

import logging

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.fuzz.check import check
from tests.fuzz.graphs import INPUTS, LAYERS, Step

STEPS = st.lists(
    st.tuples(st.integers(0, len(LAYERS) - 1), st.integers(0, 2), st.integers(0, 1 << 20)), min_size=1, max_size=9
)
SHAPES, SHARES = st.integers(0, len(INPUTS) - 1), st.integers(15, 99)
SCHEMES = st.sampled_from((None, None, 0, 1, 2, 3))


@settings(max_examples=120, deadline=None, suppress_health_check=list(HealthCheck))
@example(shape=0, steps=[(12, 0, 0)], scheme=None, share=15)  # one tensor read twice where it lies
@example(shape=2, steps=[(13, 0, 0), (15, 0, 308115)], scheme=0, share=15)  # padded with what the input cannot hold
@example(shape=0, steps=[(0, 0, 0), (0, 0, 1), (4, 0, 1), (19, 0, 0)], scheme=None, share=15)  # windows in padding
@example(shape=0, steps=[(4, 0, 1)], scheme=0, share=15)  # the same, with the wrong shape written into the model
@example(shape=0, steps=[(18, 0, 0), (21, 0, 0), (12, 0, 0)], scheme=None, share=15)  # a Gemm's vector cut into rows
@example(shape=0, steps=[(0, 0, 0)] * 5 + [(19, 0, 0), (19, 0, 1)], scheme=None, share=15)  # no common factors
@example(shape=0, steps=[(4, 0, 817), (21, 0, 0)], scheme=None, share=15)  # a Gemm reads such a pool
@given(shape=SHAPES, steps=STEPS, scheme=SCHEMES, share=SHARES)
def test_random_graphs(shape: int, steps: list[Step], scheme: int | None, share: int) -> None:
    logging.disable(logging.WARNING)
    check(shape, steps, scheme, share)
