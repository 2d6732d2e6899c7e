"""The model that examples/wake-word ships hears its word in sound, and nothing else."""

from __future__ import annotations

import numpy as np

from tigris_pio.format.enums import DType, OpKind

from .wake_word import compiled, listen, right, sounds, times


def test_every_word_is_heard_and_nothing_else() -> None:
    """As loud as it is trained on, and louder and quieter."""
    words = 0
    for seed, scale in ((0, 1), (1, 0.25), (1, 2), (2, 1)):
        audio, ends = sounds().stream(20, seed)
        louder = np.clip(audio * scale, -32768, 32767).astype(np.int16)
        assert right(times(listen(louder, compiled())), ends) == (0, 0), (seed, scale)
        words += len(ends)
    assert words > 18


def test_it_runs_in_int8_and_its_past_is_a_ring() -> None:
    program, report = compiled().plan.program, compiled().report
    assert {op.dtype for op in program.ops} == {DType.INT8} and not report["warnings"]
    assert [op.kind for op in program.ops if op.kind in (OpKind.SELECT, OpKind.COPY)] == []
    assert report["memory"]["states"] == 57 * 40
    assert report["memory"]["fast_peak"] < 5120
