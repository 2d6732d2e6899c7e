"""`python -m tests.node_tests.table [OPERATOR…]`: node tests by outcome, refusals by reason: float32, quantised."""

from __future__ import annotations

import re
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Sequence

from tests.node_tests.cases import Case, direct_float_cases, quantised_cases
from tests.node_tests.runner import Outcome, Verdict, judge

_NODE = re.compile(r"^.*cannot be compiled\s*", re.DOTALL)


def main(operators: Sequence[str]) -> None:
    """Prints the table; with operators named, only theirs."""
    for name, cases in (("float32", direct_float_cases()), ("quantised", quantised_cases())):
        print_table(name, [case for case in cases if not operators or case.operator in operators])


def print_table(name: str, cases: Sequence[Case]) -> None:
    """One kind of tests."""
    start = time.perf_counter()
    verdicts = [judge(case) for case in cases]
    for outcome in (Outcome.TRACEBACK, Outcome.WRONG, Outcome.REFUSED_BY_RUNTIME):
        for verdict in verdicts:
            if verdict.outcome == outcome:
                print(f"{outcome.name.lower()}: {verdict.name}: {verdict.reason}")
    print_refusals([verdict for verdict in verdicts if verdict.outcome == Outcome.REFUSED])
    counts = Counter(verdict.outcome for verdict in verdicts)
    print(", ".join(f"{outcome.name.lower().replace('_', ' ')} {counts[outcome]}" for outcome in sorted(Outcome)),
          f"of {len(cases)} {name} node tests, {time.perf_counter() - start:.1f} s")


def print_refusals(verdicts: Sequence[Verdict]) -> None:
    """One line an operator and reason, the most frequent first."""
    groups: dict[tuple[str, str], list[str]] = defaultdict(list)
    for verdict in verdicts:
        reason = re.sub(r"\d+", "N", _NODE.sub("", verdict.reason).split("): ")[-1])
        groups[verdict.operator, reason[:110]].append(verdict.name)
    for (operator, reason), names in sorted(groups.items(), key=lambda item: (-len(item[1]), item[0])):
        print(f"{len(names):4d}  {operator:24s} {reason}  ({names[0]})")


if __name__ == "__main__":
    main(sys.argv[1:])
