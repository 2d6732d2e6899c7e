"""Random graphs against onnxruntime until the time is over: python -m tests.fuzz.run SECONDS (of processor time)

Ends with 1 and the smallest counterexample found, as arguments of tests.fuzz.check.check; with 1, too, when more than
one graph in fifty was not compared.
"""

import logging
import sys
import time
from collections import Counter

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.fuzz.check import CHECKED, check
from tests.fuzz.graphs import Step
from tests.fuzz.test_graphs import SCHEMES, SHAPES, SHARES, STEP


def main() -> int:
    """Rounds of fresh examples; prints how many there were."""
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 60.0
    logging.disable(logging.WARNING)
    end, outcomes = time.process_time() + seconds, Counter[str]()
    failed: list[bool] = []

    @settings(max_examples=200, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(shape=SHAPES, steps=st.lists(STEP, min_size=1, max_size=9), scheme=SCHEMES, share=SHARES)
    def one_round(shape: int, steps: list[Step], scheme: int | None, share: int) -> None:
        if time.process_time() > end and not failed:
            return
        failed.append(True)  # until this example has passed; a failed one is made smaller however late it is
        outcome = check(shape, steps, scheme, share)
        failed.pop()
        outcomes[outcome.splitlines()[-1].strip()] += 1

    while time.process_time() < end:
        one_round()
    for text, count in outcomes.most_common():
        print(f"{count:7} {text}")
    return 0 if outcomes[CHECKED] >= 0.98 * outcomes.total() else 1


if __name__ == "__main__":
    sys.exit(main())
