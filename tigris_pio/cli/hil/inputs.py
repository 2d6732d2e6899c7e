"""The options that say what a board runs on, and the progress of its runs."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import click
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from tigris_pio.cli import console
from tigris_pio.errors import UsageError
from tigris_pio.hil.check import HostPlan
from tigris_pio.hil.samples import SampleSet, random_samples, read_samples


@dataclasses.dataclass(frozen=True)
class InputOptions:
    """What was asked for on the command line."""

    inputs: tuple[str, ...]
    data: str | None
    labels: str | None
    samples: int | None

    @property
    def source(self) -> str:
        """The file that the inputs come from, or `random`."""
        first = next(iter(self.inputs), "random")
        return self.data or first.partition("=")[2] or first

    def choose(self, host: HostPlan, random: int) -> SampleSet:
        """The inputs asked for, else `random` random ones."""
        if not self.inputs and self.data is None:
            if self.labels is not None:
                raise UsageError("--labels need the inputs they belong to: --input or --data")
            return random_samples(host.session.inputs, self.samples or random)
        stateful = bool(host.session.states)
        chosen = read_samples(host.session.inputs, self.inputs, self.data, self.labels, stateful=stateful)
        if self.samples is None:
            return chosen
        if self.samples > len(chosen.inputs):
            raise UsageError(f"--samples {self.samples}: the data holds {len(chosen.inputs)}")
        return chosen.first(self.samples)


_OPTIONS = (
    click.option("--input", "inputs", multiple=True, metavar="[NAME=]X.npy", help="Input as the model takes it."),
    click.option(
        "--data",
        metavar="FILE.npz",
        help="Inputs by name, with labels if it has an array of that name. A model with states takes sequences: "
        "[steps, …], or [sequences, steps, …].",
    ),
    click.option("--labels", metavar="Y.npy", help="Class of each sample, for the accuracy."),
    click.option(
        "--samples", type=click.IntRange(min=1), metavar="N", help="Random inputs, or the first N of the data."
    ),
)


def input_options(*left_out: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """The options that name inputs, without some; the command takes them as one argument `given`."""
    names = [field.name for field in dataclasses.fields(InputOptions)]

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(command)
        def gathered(**values: Any) -> None:
            command(given=InputOptions(**{name: values.pop(name, None) for name in names}), **values)

        wrapped: Callable[..., None] = gathered
        for name, option in reversed(list(zip(names, _OPTIONS, strict=True))):
            wrapped = wrapped if name in left_out else option(wrapped)
        return wrapped

    return decorate


@contextmanager
def progress(total: int, quiet: bool) -> Iterator[Callable[[object], None]]:
    """A bar on a terminal's stderr, nothing in a pipe; to be called after each run."""
    if quiet or not console.err.is_terminal:
        yield lambda _: None
        return
    columns = (TextColumn("running on the board"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console.err, transient=True) as bar:
        task = bar.add_task("", total=total)
        yield lambda _: bar.advance(task)
