"""Normalisation: thirteen passes bring a graph to the operators that lowering knows.

    manager.py    normalise(): runs the passes, checks the result
    registry.py   the passes in their order; each has a file of its own
    passes.py     Pass and PassResult, the interface of a pass
    editor.py     GraphEditor, by which passes change a graph
    verify.py     rules for a graph; finite.py refuses weights that are no numbers

Helpers of passes: quantisation.py, integers.py and byte_casts.py (qdq_fold), layer_norm_fuse.py and table_fuse.py
(batchnorm_fold), bias_fuse.py (activation_fuse).
"""

from tigris_pio.compiler.normalise.manager import NormaliseResult, PassStatistics, normalise
from tigris_pio.compiler.normalise.passes import Pass, PassResult
from tigris_pio.compiler.normalise.registry import PASSES

__all__ = ["PASSES", "NormaliseResult", "Pass", "PassResult", "PassStatistics", "normalise"]
