"""`tigris check`: `tigris analyze` under the name of what most ask first, whether a model compiles at all."""

from __future__ import annotations

import copy

from tigris_pio.cli.analyze import analyze

check = copy.copy(analyze)
check.name = "check"
check.short_help = "List all in a model that cannot be compiled, and what to do."
