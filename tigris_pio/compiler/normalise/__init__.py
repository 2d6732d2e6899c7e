"""Stage 2: thirteen passes bring the graph to the operator set that lowering knows."""

from tigris_pio.compiler.normalise.manager import NormaliseResult, PassStatistics, normalise
from tigris_pio.compiler.normalise.passes import Pass, PassResult
from tigris_pio.compiler.normalise.registry import PASSES

__all__ = ["PASSES", "NormaliseResult", "Pass", "PassResult", "PassStatistics", "normalise"]
