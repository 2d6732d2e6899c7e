"""The exception by which contracts refuse a node."""

from __future__ import annotations


class Refusal(Exception):
    """A node that cannot be lowered; its text completes "node X (Op): …"."""
