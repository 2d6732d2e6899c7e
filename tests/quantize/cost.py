"""Prints the loss by quantisation of each network: python -m tests.quantize.cost [NAME …]

The rows of the table in docs/models.md: accuracy of the float twin and of the int8 plan on held-out samples, the
outputs' error, RAM and flash of both without a budget.
"""

import sys
import tempfile
from pathlib import Path

from tests.quantize.twins import written
from tigris_pio.compiler.options import CompileOptions
from tigris_pio.quantize.workflow import Quantised, QuantizeOptions, quantise

#: Samples for the ranges, and held-out ones.
SAMPLES = {"digits": (200, 250), "kws": (200, 1000), "micro_speech": (200, 1000), "person_detect": (100, 500),
           "resnet": (200, 1000), "sww": (200, 1000), "vww": (100, 1000)}  # fmt: skip


def cost(name: str) -> Quantised:
    """The network quantised with the settings that are used by themselves."""
    ranges, held_out = SAMPLES[name]
    with tempfile.TemporaryDirectory() as folder:
        model, data = written(name, ranges + held_out, Path(folder))
        options = QuantizeOptions(data=str(data), held_out=held_out)
        return quantise(str(model), options, CompileOptions(), lambda *_: None)


def row(name: str, found: Quantised) -> str:
    """A line of the table."""
    assert found.float_accuracy is not None and found.int8_accuracy is not None and found.on_runtime
    before, after = found.before.report, found.after.report
    cells = [name, f"{len(found.samples.calibration)}, {len(found.samples.held_out):,}",
             f"{100 * found.float_accuracy:.1f} %", f"{100 * found.int8_accuracy:.1f} %", f"{100 * found.error:.1f} %",
             *(f"{report['memory']['total_ram']:,}" for report in (before, after)),
             *(f"{report['flash']['plan']:,}" for report in (before, after))]  # fmt: skip
    return "| " + " | ".join(cells) + " |"


if __name__ == "__main__":
    for network in sys.argv[1:] or SAMPLES:
        print(row(network, cost(network)), flush=True)
