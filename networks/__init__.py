"""Networks of the project's own making; README.md."""

from __future__ import annotations

#: What the recorded inputs must show: every activation spans at least so many of the 256 values (means less, which have
#: their map's scale), and this share of its channels varies with the input.
LEAST_SPAN, LEAST_MEAN_SPAN = 128, 32
LEAST_CHANNELS = 0.9
