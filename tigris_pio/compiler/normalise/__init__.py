"""Stage 2: thirteen passes bring the graph to the operator set that lowering knows."""

from tigris_pio.compiler.normalise.manager import NormaliseResult, PassStatistics, normalise, other_schedules
from tigris_pio.compiler.normalise.passes import Parameters, Pass, PassResult, Retry
from tigris_pio.compiler.normalise.registry import PASSES

__all__ = [
    "PASSES",
    "NormaliseResult",
    "Parameters",
    "Pass",
    "PassResult",
    "PassStatistics",
    "Retry",
    "normalise",
    "other_schedules",
]
