"""Prints what every family takes at every budget: python -m tests.families.table [--float] [FAMILY ...]"""

from __future__ import annotations

import argparse
import logging
import time

from tests.families.catalogue import FAMILIES, float_model, int8_model
from tests.families.measure import BUDGETS, run
from tests.families.quantised import sample_inputs
from tigris_pio.compiler.options import CompileOptions
from tigris_pio.compiler.pipeline import front
from tigris_pio.errors import TigrisError


def main() -> None:
    """One line a family and budget, as it is computed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--float", action="store_true", help="the float32 networks instead of the int8 ones")
    parser.add_argument("family", nargs="*", help="families; all of them when none is named")
    arguments = parser.parse_args()
    logging.disable(logging.WARNING)
    print("| family | operators | budget | stages | fast peak | slow traffic | MACs again | seconds |")
    print("|---|---:|---|---|---:|---:|---:|---:|")
    for name in arguments.family or FAMILIES:
        model = float_model(name) if arguments.float else int8_model(name)
        inputs = sample_inputs(model, 100)
        start = front(model, CompileOptions())
        for budget, memory in BUDGETS.items():
            label = f"| {name} | {len(start.program.ops)} | {budget} |"
            began = time.perf_counter()
            try:
                result = run(start, CompileOptions(memory), inputs)
            except TigrisError as error:
                print(f"{label} {error} | | | | |")
                continue
            seconds = time.perf_counter() - began
            again = 100 * result.recomputed_macs / max(1, sum(op.macs for op in start.program.ops))
            print(f"{label} {result.strategies} | {result.fast_peak} | {result.slow_traffic} | {again:.1f} % | "
                  f"{seconds:.2f} |", flush=True)


if __name__ == "__main__":
    main()
