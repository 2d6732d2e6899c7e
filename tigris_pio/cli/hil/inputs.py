"""The options that choose a board's inputs, and the progress bar of its runs."""

import dataclasses
import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click
from rich.progress import TimeRemainingColumn

from tigris_pio.cli import console
from tigris_pio.cli.gather import Option, gathering
from tigris_pio.errors import UsageError
from tigris_pio.hil.check import HostPlan
from tigris_pio.hil.samples import SampleSet, random_samples, read_samples
from tigris_pio.text import counted


@dataclasses.dataclass(frozen=True)
class InputOptions:
    """The values of the options."""

    inputs: tuple[str, ...]
    data: str | None
    labels: str | None = None
    samples: int | None = None

    @property
    def source(self) -> str:
        """The inputs' file, or `random`."""
        first = next(iter(self.inputs), "random")
        return self.data or first.partition("=")[2] or first

    def choose(self, host: HostPlan, random: int) -> SampleSet:
        """Reads the given inputs, or makes --samples random ones (default: `random`)."""
        if not self.inputs and self.data is None:
            if self.labels is not None:
                raise UsageError("--labels: give the samples with --input or --data, too")
            return random_samples(host.session.inputs, self.samples or random)
        stateful = bool(host.session.states)
        chosen = read_samples(host.session.inputs, self.inputs, self.data, self.labels, stateful=stateful)
        if self.samples is None:
            return chosen
        if self.samples > len(chosen.inputs):
            raise UsageError(f"--samples {self.samples}: the data has only {counted(len(chosen.inputs), 'sample')}")
        return chosen.first(self.samples)


LABELS = click.option("--labels", metavar="Y.npy", help="Class of each sample, for the accuracy.")
SAMPLES = click.option(
    "--samples", type=click.IntRange(min=1), metavar="N", help="Number of random inputs, or of samples of the data."
)


def input_options(*more: Option) -> Option:
    """Adds --input, --data and `more`; the command gets them as one argument `given`."""
    inputs = click.option("--input", "inputs", multiple=True, metavar="[NAME=]X.npy",
                          help="Input array in the model's shape.")  # fmt: skip
    data = click.option(
        "--data", metavar="FILE.npz",
        help="Arrays by input name; an array named labels holds the classes. A model with states takes sequences: "
             "[steps, …], or [sequences, steps, …].",
    )  # fmt: skip
    return gathering("given", InputOptions, (inputs, data, *more))


@contextmanager
def progress(total: int, quiet: bool) -> Iterator[Callable[[object], None]]:
    """Shows a progress bar on stderr if that is a terminal; the yielded function is called after each run."""
    made = itertools.count(1)
    with console.bar(quiet, TimeRemainingColumn()) as steps:
        steps("running on the board", 0, total)
        yield lambda _: steps("running on the board", next(made), total)
