"""The passes of graphs, in the order they run, and `normalise`, which runs them."""

from __future__ import annotations

from collections.abc import Sequence

from tigris_pio.compiler.internal import compiler_step
from tigris_pio.compiler.ir.graph import Graph
from tigris_pio.compiler.normalise import (
    activation_fuse,
    batchnorm_fold,
    constant_fold,
    output_transpose_trim,
    qdq_fold,
    rules,
    shape_fold,
)
from tigris_pio.compiler.normalise.finite import check_finite
from tigris_pio.compiler.normalise.verify import check_graph
from tigris_pio.compiler.passes import Pass, PassStatistics, run_passes

PASSES: tuple[Pass[Graph], ...] = (
    constant_fold.PASS,
    qdq_fold.PASS,
    batchnorm_fold.PASS,
    rules.silu_decompose,
    rules.depthwise_relabel,
    rules.conv1d_relabel,
    rules.clip_to_relu6,
    rules.reduce_mean_to_pool,
    shape_fold.PASS,
    rules.resize_scales,
    rules.concat_axis,
    output_transpose_trim.PASS,
    activation_fuse.PASS,
)


def normalise(graph: Graph, passes: Sequence[Pass[Graph]] = PASSES) -> tuple[Graph, tuple[PassStatistics, ...]]:
    """Runs all passes over `graph`, whose remaining nodes keep their order. Raises ModelError.

    A graph that breaks the rules of verify.py raises InternalError.
    """
    check_finite(graph)
    graph, statistics = run_passes(graph, passes)
    with compiler_step("normalise"):
        check_graph(graph)
    check_finite(graph)  # again, for constants that nodes computed
    return graph, statistics
