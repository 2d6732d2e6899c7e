"""Shapes that kernels for particular processors take apart, each for a path of its own."""

from tests.runtime.random_layers import CONV, DEPTHWISE, window

NONE, SAME = (0, 0, 0, 0), (1, 1, 1, 1)
#: Kernel, stride, dilation, input channels, for pixel tiles of three: with shared columns, with separate im2col tiles,
#: of 1x1 kernels.
PIXELS3 = (
    ((3, 3), 1, 1, 16), ((3, 3), 1, 1, 48), ((2, 2), 1, 1, 32), ((4, 4), 1, 1, 16), ((1, 3), 1, 1, 16),
    ((3, 3), 2, 1, 16), ((3, 3), 1, 2, 32), ((5, 5), 1, 1, 16), ((7, 7), 2, 1, 16), ((2, 3), 3, 1, 16),
    ((1, 1), 1, 1, 80), ((1, 1), 1, 1, 128), ((1, 1), 2, 1, 16), ((1, 1), 2, 1, 48), ((3, 1), 1, 1, 16),
    ((3, 1), 2, 1, 80),
)  # fmt: skip
#: Widths of rows: tiles of three alone, of two alone, of both; and one pixel, which conv_2d_int8.h computes elsewhere.
PIXELS3_WIDTHS = (1, 2, 3, 4, 5, 7, 9)
#: Kernel, stride, dilation, input channels, for pixel tiles of four: dense 1x1, 1x1 of more taps than a patch holds,
#: rows under 3x3, few taps.
PIXELS4 = (
    ((1, 1), 1, 1, 4), ((1, 1), 1, 1, 64), ((1, 1), 1, 1, 96), ((1, 1), 1, 1, 100), ((1, 1), 2, 1, 32),
    ((3, 3), 1, 1, 16), ((3, 3), 1, 1, 48), ((3, 3), 1, 2, 24), ((3, 3), 2, 1, 16), ((3, 3), 2, 1, 3),
    ((3, 3), 1, 1, 3), ((5, 4), 2, 1, 1), ((10, 4), 2, 1, 1), ((5, 4), 1, 1, 2),
)  # fmt: skip
PIXELS4_WIDTHS = (3, 4, 5, 8, 11)
WINDOWS = [
    (DEPTHWISE, window((5, 8), (3, 3), (1, 1), SAME)), (DEPTHWISE, window((9, 4), (3, 3), (1, 1), (0, 1, 1, 0))),
    (DEPTHWISE, window((3, 6), (3, 3), (1, 1), NONE)), (DEPTHWISE, window((2, 1), (3, 3), (1, 1), SAME)),
    (DEPTHWISE, window((6, 8), (3, 3), (2, 2), (0, 1, 0, 1))), (DEPTHWISE, window((9, 7), (3, 3), (2, 2), SAME)),
    (DEPTHWISE, window((8, 3), (3, 3), (1, 2), (2, 0, 1, 1))), (DEPTHWISE, window((12, 1), (5, 1), (1, 1), NONE)),
    (DEPTHWISE, window((7, 6), (5, 4), (1, 2), (2, 2, 1, 2))), (CONV, window((5, 6), (3, 3), (1, 1), SAME)),
    (CONV, window((3, 5), (1, 1), (1, 1), NONE)), (CONV, window((7, 6), (4, 5), (2, 2), (1, 1, 2, 2), (1, 2))),
]  # fmt: skip
#: Depthwise, computed row by row where there are as many columns as the machine has registers for.
ROWS = [window((4, columns), (3, 3), (1, 1), SAME) for columns in (4, 5, 6)]
#: Window, channels in and out, for vector instructions.
CONVS = [
    (window((5, 7), (3, 3), (1, 1), SAME), 3, 16), (window((6, 5), (3, 3), (2, 2), (0, 1, 0, 1)), 5, 8),
    (window((4, 4), (3, 3), (1, 1), SAME), 32, 12), (window((3, 5), (1, 1), (1, 1), NONE), 8, 16),
    (window((3, 3), (1, 1), (1, 1), NONE), 5, 4), (window((1, 1), (1, 1), (1, 1), NONE), 16, 4),
    (window((7, 5), (1, 1), (2, 2), NONE), 36, 8), (window((12, 6), (10, 4), (2, 2), (4, 5, 1, 1)), 1, 8),
    (window((7, 6), (4, 5), (2, 2), (1, 1, 2, 2), (1, 2)), 6, 8),
    (window((6, 7), (3, 2), (1, 1), (2, 2, 0, 1), (2, 1)), 4, 4), (window((3, 3), (3, 3), (1, 1), SAME), 64, 4),
    (window((3, 3), (3, 3), (1, 1), SAME), 80, 4), (window((3, 5), (1, 1), (1, 1), NONE), 16, 6),
]  # fmt: skip
#: Window and channels of depthwise convolutions, 3x3 and others.
DEPTHWISES = [
    (window((5, 8), (3, 3), (1, 1), SAME), 16), (window((9, 4), (3, 3), (1, 1), (0, 1, 1, 0)), 20),
    (window((3, 6), (3, 3), (1, 1), NONE), 4), (window((1, 1), (3, 3), (1, 1), SAME), 8),
    (window((12, 3), (3, 3), (1, 1), SAME), 36), (window((6, 8), (3, 3), (2, 2), (0, 1, 0, 1)), 32),
    (window((9, 7), (3, 3), (2, 2), SAME), 12), (window((4, 19), (3, 3), (2, 2), (2, 2, 2, 2)), 16),
    (window((3, 3), (3, 3), (1, 1), (2, 2, 2, 2)), 8), (window((7, 6), (5, 5), (1, 1), (2, 2, 2, 2)), 16),
    (window((7, 6), (5, 4), (1, 2), (2, 2, 1, 2)), 20), (window((12, 1), (5, 1), (1, 1), NONE), 40),
    (window((1, 9), (1, 4), (1, 2), (0, 0, 1, 1)), 4), (window((7, 7), (3, 3), (1, 1), (2, 2, 2, 2), (2, 2)), 8),
    (window((9, 9), (3, 3), (3, 3), SAME), 12),
]  # fmt: skip
