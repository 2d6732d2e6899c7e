"""What camera and firmware make of a picture: lines of RGB565, and of those the network's input, in the integers that
tigris_camera.h tells."""

from __future__ import annotations

import numpy as np

SIDE = 96  #: of the network's square input


def lines(picture: np.ndarray) -> np.ndarray:
    """uint8 [height, 2 width] of a picture uint8 [height, width, 3]: high bytes first, as an OV2640 sends them."""
    red, green, blue = (picture[:, :, channel].astype(np.uint16) for channel in range(3))
    pixels = (red >> 3) << 11 | (green >> 2) << 5 | blue >> 3
    sent: np.ndarray = pixels.astype(">u2").view(np.uint8).reshape(len(picture), -1)
    return sent


def grey(sent: np.ndarray) -> np.ndarray:
    """Lines to the network's picture, uint8 [SIDE, SIDE]: the square in the middle, the mean over each pixel's area."""
    bits = sent.view(">u2").astype(np.int64)
    red, green, blue = bits >> 11, bits >> 5 & 63, bits & 31
    red, green, blue = red << 3 | red >> 2, green << 2 | green >> 4, blue << 3 | blue >> 2
    luma = (77 * red + 150 * green + 29 * blue + 128) >> 8
    square = min(luma.shape)
    first = [(size - square) // 2 for size in luma.shape]
    crop = luma[first[0] : first[0] + square, first[1] : first[1] + square]
    ends, into = np.arange(SIDE + 1) * square, np.arange(square + 1) * SIDE
    shared = np.minimum(ends[1:, None], into[1:]) - np.maximum(ends[:-1, None], into[:-1])
    shared = np.maximum(shared, 0)
    made: np.ndarray = ((shared @ crop @ shared.T + square**2 // 2) // square**2).astype(np.uint8)
    return made
