"""The expected detections: answers of a network by the host's runtime, and the rule of ESPHome's micro_wake_word."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from tests.examples.wake_word import compiled
from tigris_pio import Session

QUIET_ROWS = 100


@dataclass
class Word:
    """A network with the sliding window of its probabilities, of 0 to 255, from the first row of a stream on."""

    session: Session
    cutoff: int
    window: int
    recent: list[int] = field(default_factory=list)
    rows: list[np.ndarray] = field(default_factory=list)
    quiet: int = 0

    def add(self, row: np.ndarray) -> bool:
        """Takes a row; whether the word is heard with it."""
        (source,), (output,) = self.session.inputs, self.session.outputs
        self.rows.append(row)
        answers = len(self.rows) == source.shape[1]
        if answers:
            step = np.stack(self.rows).reshape(source.stored_shape)
            answer = int(self.session.run_raw({source.name: step})[output.name].item()) - output.zero_point
            self.recent, self.rows = [*self.recent, answer][-self.window :], []
        self.quiet += self.quiet < QUIET_ROWS and (self.recent or [0])[-1] < self.cutoff
        return answers and self.quiet == QUIET_ROWS and self.is_above()

    def is_above(self) -> bool:
        return sum(self.recent) > self.cutoff * self.window

    def forget(self) -> None:
        self.recent, self.quiet = [], 0


def example(cutoff: float, window: int) -> Word:
    """The word of examples/wake-word."""
    return Word(Session(compiled()), int(cutoff * 255), window)


def heard(rows: np.ndarray, words: list[Word], voice: Word | None = None) -> Iterator[tuple[int, int]]:
    """Row and word of each detection, in which the voice's network agrees."""
    for index, row in enumerate(rows):
        if voice is not None:
            voice.add(row)
        found = [number for number, word in enumerate(words) if word.add(row)]
        for number in found if voice is None or voice.is_above() else []:
            words[number].forget()
            yield index, number
