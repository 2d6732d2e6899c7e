"""`tigris check`: `tigris analyze` under the name that fits the first question, whether a model compiles."""

import copy

from tigris_pio.cli.analyze import analyze

check = copy.copy(analyze)
check.name = "check"
check.short_help = "List all nodes that cannot be compiled, each with its remedy."
