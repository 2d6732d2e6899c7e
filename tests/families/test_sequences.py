"""Little fast memory for networks of tokens: what takes it, with nothing computed again, and how exact refusals are."""

import re
from collections.abc import Callable

import onnx
import pytest

from tests.families.catalogue import float_model, int8_model
from tests.families.measure import run
from tests.families.quantised import sample_inputs
from tests.families.test_families import same
from tests.harness.tiers import sampled
from tigris_pio.compiler.ir.plan import Budget
from tigris_pio.compiler.options import CompileOptions
from tigris_pio.compiler.pipeline import back, front
from tigris_pio.compiler.plan.index import ProgramIndex
from tigris_pio.compiler.plan.order.candidates import orders
from tigris_pio.compiler.plan.search import find_arrangement
from tigris_pio.errors import BudgetError

#: Bytes that are enough without slow memory.
ENOUGH = {
    float_model: {"mlp_mixer": 38_000, "tiny_vit": 152_500},
    int8_model: {"mlp_mixer": 9_600, "tiny_vit": 38_500},
}


CASES = [(kind, name) for kind, names in ENOUGH.items() for name in names]


@pytest.mark.parametrize(("kind", "name"), sampled(CASES, 1))
def test_little_memory_is_enough(kind: Callable[[str], onnx.ModelProto], name: str) -> None:
    model = kind(name)
    start, inputs = front(model, CompileOptions()), sample_inputs(model, 100)
    tight = run(start, CompileOptions(Budget(ENOUGH[kind][name])), inputs)
    assert tight.recomputed_macs == tight.slow_traffic == 0
    same(run(start, CompileOptions(), inputs), tight)


@pytest.mark.thorough
def test_a_refusal_is_exact() -> None:
    """The outputs at what it names are those of any run; in an alignment less no order works, or where the search took
    too long to end in a fiftieth less."""
    model = int8_model("mlp_mixer")
    start, inputs = front(model, CompileOptions()), sample_inputs(model, 100)
    with pytest.raises(BudgetError) as refused:
        back(start, CompileOptions(Budget(64)))
    found = re.search(r"smallest fast memory that works is (\d+)", str(refused.value))
    assert found
    least = int(found[1])
    same(run(start, CompileOptions(), inputs), run(start, CompileOptions(Budget(least)), inputs))
    less = CompileOptions(Budget(least - (least // 50 if "of the sizes tried" in str(refused.value) else 16)))
    for program in orders(start.program):
        assert find_arrangement(ProgramIndex.of(program), less.budget, less.alignment, less.weights()) is None
