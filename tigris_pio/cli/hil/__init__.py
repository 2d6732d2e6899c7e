"""`tigris hil`, one command a file; `hil` is the group."""

from tigris_pio.cli.hil.group import hil

__all__ = ["hil"]
