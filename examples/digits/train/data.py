"""The digits: scikit-learn's `load_digits`, 1,797 scans of 8x8 pixels (the test part of UCI's `optdigits`).

Pixels are counts of inked dots, 0 to 16; the network takes them divided by 16, float32 [N, 1, 8, 8].
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

TEST_SHARE = 0.25


class Split(NamedTuple):
    """Images float32 [N, 1, 8, 8] in 0 … 1, labels int64 [N]."""

    images: np.ndarray
    labels: np.ndarray


def load_splits(seed: int) -> tuple[Split, Split]:
    """Training and test digits, the same share of each class in both."""
    digits = load_digits()
    images = (digits.images / 16.0).astype(np.float32)[:, np.newaxis]
    parts = train_test_split(
        images, digits.target.astype(np.int64), test_size=TEST_SHARE, random_state=seed, stratify=digits.target
    )
    return Split(parts[0], parts[2]), Split(parts[1], parts[3])


def shifted(images: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """Each image moved by -1, 0 or 1 column and row, the uncovered edge blank: more writers than there are."""
    padded = np.pad(images, ((0, 0), (0, 0), (1, 1), (1, 1)))
    down, right = generator.integers(0, 3, size=(2, len(images)))
    rows = down[:, np.newaxis] + np.arange(8)
    columns = right[:, np.newaxis] + np.arange(8)
    return padded[np.arange(len(images))[:, np.newaxis, np.newaxis], 0, rows[:, :, np.newaxis], columns[:, np.newaxis]][
        :, np.newaxis
    ]
