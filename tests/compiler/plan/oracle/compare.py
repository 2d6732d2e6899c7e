"""The planner against the cheapest plan there is: python -m tests.compiler.plan.oracle.compare [--cases N]

Random programs of up to 12 operators in the planner's orders, each at a budget of fast and slow memory. Prints how many
of the planner's plans cost at most 1 % and 2 % more than the cheapest, the mean and the worst, refusals where there is
a plan, cases that the solver leaves undecided, and how often the smallest fast memory is exact to the alignment.
"""

import argparse
import math
import random
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from tests.compiler.plan.oracle.model import Undecided, cheapest, smallest
from tests.compiler.plan.oracle.networks import random_network
from tests.compiler.plan.oracle.ways import Ways
from tests.compiler.simulator import Simulator
from tests.compiler.synthetic import batched, random_program, wild_program
from tigris_pio.compiler.ir.plan import Budget, ExecutionPlan
from tigris_pio.compiler.ir.program import Program
from tigris_pio.compiler.plan.cost import plan_cost
from tigris_pio.compiler.plan.finish import finish
from tigris_pio.compiler.plan.index import ProgramIndex
from tigris_pio.compiler.plan.order.candidates import orders
from tigris_pio.compiler.plan.placement import Arrangement
from tigris_pio.compiler.plan.search import find_arrangement
from tigris_pio.compiler.plan.settings import WeightOptions
from tigris_pio.sizes import round_up

ALIGNMENT = 4
AMPLE = 1 << 20
#: Kinds of programs, and the most operators of those that need more memory and drafts than networks.
KINDS = ("network", "network", "network", "random", "network", "network", "wild", "network", "batched")
LONGEST = {"wild": 7, "batched": 7}
#: By place in the list of cases: no slow memory, ample, and some.
SLOW = ("none", "ample", "none", "some")


class Case(NamedTuple):
    """A program, and the share of its smallest fast memory without slow memory that it is given."""

    name: str
    program: Program
    share: float
    slow: int


class Outcome(NamedTuple):
    """Costs; infinite where nothing was found. best None: undecided."""

    budget: Budget
    ours: float
    best: float | None
    smallest_found: bool  #: the planner finds a plan in the smallest memory, without slow memory

    @property
    def ratio(self) -> float | None:
        """The planner's cost over the cheapest; None where there is no plan, or nothing is known."""
        return None if self.best is None or math.isinf(self.best) else self.ours / self.best


def cases(count: int, most_ops: int = 12) -> Iterator[Case]:
    """The same ones each time."""
    for seed in range(count):
        rng = random.Random(seed)
        kind, slow = KINDS[seed % len(KINDS)], SLOW[seed % len(SLOW)]
        program = _program(kind, seed, min(rng.randint(3, most_ops), LONGEST.get(kind, most_ops)))
        total = sum(tensor.bytes for tensor in program.tensors.values())
        amount = {"none": 0, "ample": AMPLE, "some": int(total * rng.uniform(0.5, 1.0))}[slow]
        share = rng.choice([1.0, 1.05, 1.15, 1.3, 1.6] if slow == "none" else [0.45, 0.6, 0.8, 0.95, 1.1])
        yield Case(f"{kind} {seed} of {len(program.ops)}", program, share, amount)


def _program(kind: str, seed: int, length: int) -> Program:
    if kind == "batched":
        return batched(random_network(seed, length), 2)
    return {"network": random_network, "random": random_program, "wild": wild_program}[kind](seed, length)


def search(program: Program, budget: Budget) -> tuple[float, tuple[ProgramIndex, Arrangement] | None]:
    """The planner's plan: the cheapest of its orders."""
    indices = [ProgramIndex.of(order) for order in orders(program)]
    arranged = ((index, find_arrangement(index, budget, ALIGNMENT, WeightOptions())) for index in indices)
    found = [(plan_cost(index, plan.drafts), (index, plan)) for index, plan in arranged if plan is not None]
    return min(found, key=lambda item: item[0], default=(math.inf, None))


def judge(case: Case) -> Outcome:
    """The planner's plan and the cheapest."""
    orderings = [Ways(ProgramIndex.of(order), ALIGNMENT) for order in orders(case.program)]
    try:
        lowest = min((smallest(stages) for stages in orderings), key=lambda found: found[1].fast_bytes)
    except Undecided:
        return Outcome(Budget(None), math.inf, None, False)
    least = Budget(round_up(lowest[1].fast_bytes, ALIGNMENT))
    check(*lowest, least)
    _, least_plan = search(case.program, least)
    assert least.fast is not None
    budget = Budget(int(case.share * least.fast), case.slow)
    ours, plan = search(case.program, budget)
    best: float | None = ours
    try:
        for stages in orderings:
            cheaper = cheapest(stages, budget, best)
            if cheaper is not None:
                plan, best = cheaper, plan_cost(cheaper[0], cheaper[1].drafts)
    except Undecided:
        best = None
    if plan is not None:
        check(*plan, budget)
    return Outcome(budget, ours, best, least_plan is not None)


def check(index: ProgramIndex, arrangement: Arrangement, budget: Budget) -> ExecutionPlan:
    """A plan hands every operator the rows it needs, and fits."""
    plan = finish(index, budget, ALIGNMENT, WeightOptions(), arrangement)
    assert budget.fast is not None and plan.fast_bytes <= budget.fast and plan.slow_bytes <= budget.slow
    Simulator(plan).run()
    return plan


def statistics(outcomes: Sequence[Outcome]) -> Mapping[str, float]:
    """Shares of the cases that both have a plan for; of the smallest fast memories, the share that the planner uses."""
    ratios = [ratio for outcome in outcomes if (ratio := outcome.ratio) is not None and math.isfinite(ratio)]
    return {
        "compared": len(ratios),
        "within 1 %": sum(ratio <= 1.01 for ratio in ratios) / max(1, len(ratios)),
        "within 2 %": sum(ratio <= 1.02 for ratio in ratios) / max(1, len(ratios)),
        "mean": sum(ratios) / max(1, len(ratios)),
        "worst": max(ratios, default=1.0),
        "refused": sum(outcome.ratio == math.inf for outcome in outcomes),
        "undecided": sum(outcome.best is None for outcome in outcomes),
        "exact": sum(outcome.smallest_found for outcome in outcomes) / max(1, len(outcomes)),
    }


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=300)
    outcomes: list[Outcome] = []
    for place, case in enumerate(cases(parser.parse_args().cases)):
        outcomes.append(found := judge(case))
        missed = "" if found.smallest_found else "SMALLEST NOT FOUND"
        print(place, case.name, f"{found.budget}: {found.ours:.0f}, cheapest {found.best}", missed, flush=True)
    print({name: round(value, 4) for name, value in statistics(outcomes).items()})


if __name__ == "__main__":
    main()
