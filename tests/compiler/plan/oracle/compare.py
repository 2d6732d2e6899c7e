"""The search against the cheapest plan there is: python -m tests.compiler.plan.oracle.compare [--cases N] [--worst N]

Random programs of up to 7 operators, each at a budget of fast and slow memory. Prints how many of the plans found cost
at most 1 % more than the cheapest, the mean and the worst, refusals where there is a plan, how often the smallest fast
memory is exact to the alignment, and of the worst cases both plans.
"""

from __future__ import annotations

import argparse
import dataclasses
import itertools
import math
import random
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from tests.compiler.plan.oracle.cuts import Cuts, all_cuts
from tests.compiler.plan.oracle.exhaustive import Found, Planner, Undecided
from tests.compiler.plan.oracle.networks import random_network
from tests.compiler.simulator import Simulator
from tests.compiler.synthetic import batched, random_program, wild_program
from tigris_pio.compiler.ir.plan import Budget, ExecutionPlan
from tigris_pio.compiler.ir.program import Program
from tigris_pio.compiler.plan.aim import WeightOptions
from tigris_pio.compiler.plan.cost import plan_cost
from tigris_pio.compiler.plan.finish import finish
from tigris_pio.compiler.plan.index import ProgramIndex
from tigris_pio.compiler.plan.order.candidates import orders
from tigris_pio.compiler.plan.placement import Arrangement
from tigris_pio.compiler.plan.search import find_arrangement

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

    case: Case
    budget: Budget
    ours: float
    best: float | None
    found: tuple[ProgramIndex, Arrangement] | None
    optimum: Found | None
    smallest: int  #: without slow memory
    smallest_found: bool  #: whether the search finds something there
    bettered: bool  #: whether the search finds what is cheaper, or smaller: windows may park there, not here
    seconds: float

    def __str__(self) -> str:
        exact = "" if self.smallest_found else "NOT FOUND THERE "
        return (f"{self.case.name}, fast {self.budget.fast}, slow {self.budget.slow}: {self.ours:.0f}, cheapest "
                f"{self.best}, ratio {self.ratio}, smallest {self.smallest} {exact}{self.seconds:.1f} s")  # fmt: skip

    @property
    def ratio(self) -> float | None:
        """What is found over the cheapest; None where there is nothing, or nothing is known."""
        if self.best is None or math.isinf(self.best):
            return None
        return self.ours / self.best


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
    started = time.process_time()
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
    return Outcome(
        case, budget, ours, best, plan, optimum, smallest, least_plan is not None, cheaper or less_plan is not None,
        time.process_time() - started,
    )  # fmt: skip


def check(index: ProgramIndex, arrangement: Arrangement, budget: Budget) -> ExecutionPlan:
    """A plan hands every operator the rows it needs, and fits."""
    plan = finish(index, budget, ALIGNMENT, WeightOptions(), arrangement)
    assert budget.fast is not None and plan.fast_bytes <= budget.fast and plan.slow_bytes <= budget.slow
    Simulator(plan).run()
    return plan


def described(index: ProgramIndex, arrangement: Arrangement) -> str:
    """A plan in a line: stages with their operators, bands, work done again and slow bytes, and what is slow."""
    stages = []
    for draft in arrangement.drafts:
        names = ",".join(op.output for op in index.ops[draft.segment.first : draft.segment.end])
        strategy = "DIRECT" if draft.segment.direct else draft.strategy.name
        stages.append(f"{strategy} {names} x{draft.bands} again {draft.recomputed_macs} "
                      f"slow {draft.slow_read + draft.slow_written}")  # fmt: skip
    slow = [name for name, home in arrangement.homes.items() if home.name == "SLOW"]
    return " | ".join(stages) + f"; slow: {','.join(slow)}"


def statistics(judged: Sequence[Outcome | None]) -> Mapping[str, float]:
    """Of many cases. close: the share of at most CLOSE among those that both find. exact: the share of the smallest
    fast memories in which the search finds something. bettered: where it finds what is cheaper or smaller than all that
    is tried here, where windows do not park and rows that are read do not make room."""
    outcomes = [outcome for outcome in judged if outcome is not None]
    ratios = [ratio for outcome in outcomes if (ratio := outcome.ratio) is not None and math.isfinite(ratio)]
    return {
        "cases": len(judged),
        "compared": len(ratios),
        "close": sum(ratio <= CLOSE for ratio in ratios) / max(1, len(ratios)),
        "mean": sum(ratios) / max(1, len(ratios)),
        "worst": max(ratios, default=1.0),
        "refused": sum(outcome.ratio == math.inf for outcome in outcomes),
        "nothing fits": sum(outcome.best == math.inf for outcome in outcomes),
        "undecided": len(judged) - sum(outcome.best is not None for outcome in outcomes),
        "bettered": sum(outcome.bettered for outcome in outcomes),
        "exact": sum(outcome.smallest_found for outcome in outcomes) / max(1, len(outcomes)),
    }


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=300)
    parser.add_argument("--first", type=int, default=0, help="cases left out at the beginning")
    parser.add_argument("--worst", type=int, default=10, help="cases to show")
    options = parser.parse_args()
    outcomes: list[Outcome | None] = []
    for place, case in enumerate(itertools.islice(cases(options.cases), options.first, None), options.first):
        outcomes.append(outcome := judge(case))
        print(place, outcome or f"{case.name} undecided", flush=True)
    print({name: round(value, 4) for name, value in statistics(outcomes).items()})
    decided = [outcome for outcome in outcomes if outcome is not None]
    for outcome in sorted(decided, key=lambda outcome: -(outcome.ratio or 0))[: options.worst]:
        print(f"\n{outcome}\n  found   ", "nothing" if outcome.found is None else described(*outcome.found))
        if outcome.optimum is not None:
            print("  cheapest", described(outcome.optimum.index, outcome.optimum.arrangement))


if __name__ == "__main__":
    main()
