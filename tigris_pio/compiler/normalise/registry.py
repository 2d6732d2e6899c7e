"""The passes in the order they run; manager.check_order checks their requirements."""

from __future__ import annotations

from tigris_pio.compiler.normalise import (
    activation_fuse,
    batchnorm_fold,
    clip_to_relu6,
    concat_axis,
    constant_fold,
    conv1d_relabel,
    depthwise_relabel,
    output_transpose_trim,
    qdq_fold,
    reduce_mean_to_pool,
    resize_scales,
    shape_fold,
    silu_decompose,
)
from tigris_pio.compiler.normalise.passes import Pass

PASSES: tuple[Pass, ...] = (
    constant_fold.PASS,
    qdq_fold.PASS,
    batchnorm_fold.PASS,
    silu_decompose.PASS,
    depthwise_relabel.PASS,
    conv1d_relabel.PASS,
    clip_to_relu6.PASS,
    reduce_mean_to_pool.PASS,
    shape_fold.PASS,
    resize_scales.PASS,
    concat_axis.PASS,
    output_transpose_trim.PASS,
    activation_fuse.PASS,
)
