"""Normalisation: passes bring a graph to the operators that lowering knows.

    registry.py   normalise(), and the passes in their order; each has a file of its own, with its facts at the end
    rules.py      passes that replace single nodes
    editor.py     GraphEditor, by which passes change a graph
    verify.py     rules for a graph; finite.py refuses weights that are no numbers

Three passes do more than their name says, in files of their own:

    qdq_fold         quantisation.py, integers.py and byte_casts.py
    batchnorm_fold   layer_norm_fuse.py fuses layer normalisations, table_fuse.py functions of several nodes
    activation_fuse  bias_fuse.py folds arithmetic with constants into layers, table_fuse.py functions of one node

docs/extending.md#a-pass adds a pass step by step.
"""

from tigris_pio.compiler.normalise.registry import PASSES, normalise

__all__ = ["PASSES", "normalise"]
