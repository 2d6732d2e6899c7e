"""The search against the cheapest plan there is: python -m tests.compiler.plan.oracle.compare [--cases N]

Random programs of up to 7 operators, each at a budget of fast and slow memory. Prints how many of the plans found cost
at most 1 % more than the cheapest, the mean and the worst, refusals where there is a plan, and how often the smallest
fast memory is exact to the alignment.
"""

import argparse
import dataclasses
import math
import random
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from tests.compiler.plan.oracle.cuts import Cuts, all_cuts
from tests.compiler.plan.oracle.exhaustive import Planner, Undecided
from tests.compiler.plan.oracle.networks import random_network
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

ALIGNMENT = 4
#: What a plan found may cost, over the cheapest.
CLOSE = 1.01
#: Programs with more orders are left out, by whether there is slow memory; networks have few.
MOST_ORDERS = {False: 24, True: 6}
AMPLE = 1 << 20
KINDS = ("network", "network", "network", "random", "network", "network", "wild", "network", "batched")
#: By place in the list of cases: no slow memory, ample, and some.
SLOW = ("none", "ample", "none", "some")


@dataclasses.dataclass(frozen=True)
class Case:
    """A program and what share of its smallest fast memory without slow memory it is given."""

    name: str
    program: Program
    cuts: Cuts
    share: float
    slow: int


class Outcome(NamedTuple):
    """Costs; infinite where nothing was found. best None: undecided."""

    budget: Budget
    ours: float
    best: float | None
    smallest_found: bool  #: whether the search finds something in the smallest memory, without slow memory

    @property
    def ratio(self) -> float | None:
        """What is found over the cheapest; None where there is nothing, or nothing is known."""
        return None if self.best is None or math.isinf(self.best) else self.ours / self.best


def cases(count: int, most_ops: int = 7) -> Iterator[Case]:
    """The same ones each time."""
    place = seed = 0
    while place < count:
        rng = random.Random(seed)
        kind, length = KINDS[place % len(KINDS)], rng.randint(3, most_ops)
        program, slow = _program(kind, seed, length), SLOW[place % len(SLOW)]
        seed += 1
        try:
            cuts = all_cuts(program, MOST_ORDERS[slow != "none"])
        except ValueError:
            continue
        total = sum(tensor.bytes for tensor in program.tensors.values())
        amount = {"none": 0, "ample": AMPLE, "some": int(total * rng.uniform(0.5, 1.0))}[slow]
        share = rng.choice([1.0, 1.05, 1.15, 1.3, 1.6] if slow == "none" else [0.45, 0.6, 0.8, 0.95, 1.1])
        yield Case(f"{kind} {seed - 1} of {len(program.ops)}", program, cuts, share, amount)
        place += 1


def _program(kind: str, seed: int, length: int) -> Program:
    if kind == "network":
        return random_network(seed, length)
    if kind == "batched":
        return batched(random_network(seed, min(length, 5)), 2)
    return random_program(seed, length) if kind == "random" else wild_program(seed, min(length, 5))


def search(program: Program, budget: Budget) -> tuple[float, tuple[ProgramIndex, Arrangement] | None]:
    """What the planner finds: the cheapest of its orders."""
    indices = [ProgramIndex.of(order) for order in orders(program)]
    arranged = ((index, find_arrangement(index, budget, ALIGNMENT, WeightOptions())) for index in indices)
    found = [(plan_cost(index, plan.drafts), (index, plan)) for index, plan in arranged if plan is not None]
    return min(found, key=lambda item: item[0], default=(math.inf, None))


def judge(case: Case) -> Outcome | None:
    """The planner's plan and the cheapest; None when too much had to be tried for the smallest memory."""
    alone = Planner(case.cuts, ALIGNMENT)
    try:
        smallest = Planner(case.cuts, ALIGNMENT, small=True).smallest(0)
    except Undecided:
        return None
    _, least_plan = search(case.program, Budget(smallest))
    less = Budget(smallest - ALIGNMENT)
    _, less_plan = search(case.program, less)
    if less_plan is not None:
        check(*less_plan, less)
    budget = Budget(int(case.share * smallest), case.slow)
    ours, plan = search(case.program, budget)
    best: float | None
    try:
        optimum = alone.cheapest(dataclasses.replace(budget, slow=0))
        if case.slow:
            limit = min(ours, math.inf if optimum is None else optimum.cost) * (1 + 1e-9)
            optimum = Planner.deepening(case.cuts, ALIGNMENT, budget, limit)
        best = math.inf if optimum is None else optimum.cost
    except Undecided:
        optimum, best = None, None
    if optimum is not None:
        check(optimum.index, optimum.arrangement, budget)
    cheaper = best is not None and ours < best * (1 - 1e-9)
    if cheaper and plan is not None:
        check(*plan, budget)
        best = ours
    return Outcome(budget, ours, best, least_plan is not None)


def check(index: ProgramIndex, arrangement: Arrangement, budget: Budget) -> ExecutionPlan:
    """A plan hands every operator the rows it needs, and fits."""
    plan = finish(index, budget, ALIGNMENT, WeightOptions(), arrangement)
    assert budget.fast is not None and plan.fast_bytes <= budget.fast and plan.slow_bytes <= budget.slow
    Simulator(plan).run()
    return plan


def statistics(judged: Sequence[Outcome | None]) -> Mapping[str, float]:
    """Of many cases. close: the share of at most CLOSE among those that both find. exact: the share of the smallest
    fast memories in which the search finds something."""
    outcomes = [outcome for outcome in judged if outcome is not None]
    ratios = [ratio for outcome in outcomes if (ratio := outcome.ratio) is not None and math.isfinite(ratio)]
    return {
        "compared": len(ratios),
        "close": sum(ratio <= CLOSE for ratio in ratios) / max(1, len(ratios)),
        "mean": sum(ratios) / max(1, len(ratios)),
        "worst": max(ratios, default=1.0),
        "refused": sum(outcome.ratio == math.inf for outcome in outcomes),
        "undecided": len(judged) - sum(outcome.best is not None for outcome in outcomes),
        "exact": sum(outcome.smallest_found for outcome in outcomes) / max(1, len(outcomes)),
    }


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=300)
    outcomes: list[Outcome | None] = []
    for place, case in enumerate(cases(parser.parse_args().cases)):
        outcomes.append(outcome := judge(case))
        told = f"{outcome.budget}: {outcome.ours:.0f}, cheapest {outcome.best}" if outcome else "undecided"
        print(place, case.name, told, "" if outcome is None or outcome.smallest_found else "NOT FOUND", flush=True)
    print({name: round(value, 4) for name, value in statistics(outcomes).items()})


if __name__ == "__main__":
    main()
