"""Kernel parameter records, one per (kind, dtype).

Fields that name data ("weights", "bias", …) hold byte offsets into the stage's weight block;
every such array starts on a 16-byte boundary. Names, signs and rounding follow the TensorFlow
Lite int8 specification: real = (q - zero_point) * scale, requantisation by a Q0.31 multiplier and
a power of two, shift > 0 meaning left.
"""

from tigris_pio.format.params.elementwise import *
from tigris_pio.format.params.int16 import *
from tigris_pio.format.params.matrix import *
from tigris_pio.format.params.movement import *
from tigris_pio.format.params.recurrent import *
from tigris_pio.format.params.vector import *
from tigris_pio.format.params.window import *
