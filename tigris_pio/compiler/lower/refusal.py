"""Why a node has no kernel."""

from __future__ import annotations


class Refusal(Exception):
    """A node that cannot be lowered; its text completes "node X (Op): …"."""
