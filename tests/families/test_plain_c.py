"""Families as plain C: the bytes of the plan, each at another budget and with weights in another way."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.compiler.codegen.c_model import CModel, build, noise, same
from tests.families.catalogue import FAMILIES, float_model, int8_model
from tests.harness.tiers import examples
from tigris_pio import Session
from tigris_pio.compiler.ir.plan import Budget
from tigris_pio.compiler.options import CompileOptions
from tigris_pio.compiler.pipeline import Compiled, back, front
from tigris_pio.errors import BudgetError

SLOW = 8 << 20
WAYS: tuple[tuple[float, dict[str, Any], str], ...] = (
    (1.0, {}, "c"), (0.6, {}, "c"), (0.4, {"compress": "lz4"}, "c"), (0.3, {}, "partition"),
    (0.6, {"copy_weights": True}, "c"),
)  # fmt: skip


def plans(turn: int) -> Iterator[tuple[str, Compiled, str]]:
    """A plan of each family: its float32 form or the int8 one, at a share of the memory that it would take."""
    for place, name in enumerate(FAMILIES):
        share, options, weights = WAYS[(place + turn) % len(WAYS)]
        start = front((float_model if (place + turn) % 2 else int8_model)(name), CompileOptions())
        plan = back(start, CompileOptions())
        if share < 1.0 or options:
            try:
                plan = back(start, CompileOptions(Budget(int(plan.plan.fast_bytes * share), SLOW), **options))
            except BudgetError:
                weights = "c"
        yield name, plan, weights


def check(turn: int, folder: Path) -> None:
    found = list(plans(turn))
    generated = [plan.codegen(None, f"f{place}", weights, "split") for place, (_, plan, weights) in enumerate(found)]
    library = build(generated, folder)
    wrong = []
    for (name, plan, _), made in zip(found, generated, strict=True):
        with Session(plan) as session:
            wrong += [] if same(CModel(library, plan, made, session), noise(session, turn)) else [name]
    assert wrong == []


@pytest.mark.fuzzed
@pytest.mark.thorough
def test_each_in_some_way(tmp_path: Path) -> None:
    for turn in range(examples(1, 1, 10)):
        check(turn, tmp_path / str(turn))
