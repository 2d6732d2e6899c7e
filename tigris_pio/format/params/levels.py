"""The front end of audio networks: levels of frequency bands."""

from __future__ import annotations

from tigris_pio.format.record import Params, u32, u32_array


class SpectrumParams(Params):
    """Levels of frequency bands from int16 samples: window, Fourier transform, weighted sums of energies, square root.

    Samples are multiplied by the window's elements, shifted right, and together shifted left as far as 16 bits allow.
    The root of a band is shifted right by as many bits. Output b - 1 is that of band b. The band sums the energies of
    its bins times their first weight, and those of the bins of band b - 1 times their second.
    """

    samples: int = u32("elements of the input, at most `points`")
    points: int = u32("of the transform: a power of two, 4 to 32768")
    shift: int = u32("of products with the window, 0 to 31")
    weight_count: int = u32("pairs of weights")
    window: int = u32("int16, one a sample")
    sine: int = u32("int16, `points`: 32767 sin(2 pi i / points)")
    bands: int = u32("uint16, first bin and number of bins of bands 0 to the number of outputs")
    weights: int = u32("uint16, two a bin, band by band")


class LevelParams(Params):
    """A function of levels, uint32 that tensors hold as int32."""

    function: int = u32("tigris_level_function")
    share: tuple[int, ...] = u32_array(2, "NOISE: of the level, in even and odd channels", (0, 0))
    rest: tuple[int, ...] = u32_array(2, "NOISE: of the noise before", (0, 0))
    factor: int = u32("LOUDER: the least share of the level that is kept; LOG: factor of the logarithm", 0)
    up_bits: int = u32("shift of levels to the left, 0 to 31", 0)
    down_bits: int = u32("shift of products to the right, 0 to 63", 0)
    clamp: int = u32("NOISE: 1: at most the level", 0)
    table: int = u32("GAIN: 125 int16; LOG: 130 uint16", 0)
    steps: int = u32("LOG to int8: 255 uint16, ascending; the output is -128 and one for each that is reached", 0)
