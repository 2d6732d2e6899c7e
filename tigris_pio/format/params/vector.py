"""Functions of vectors: softmax, reductions, normalisations, and the front end of audio networks."""

from tigris_pio.format.params.shared import OutputZero, Requantise, VectorShape
from tigris_pio.format.record import Params, embed, f32, i32, u32, u32_array


class SoftmaxInt8Params(Params):
    """Softmax over vectors of `length` contiguous elements; output int8 with scale 1/256 and zero point -128, or int16
    with 1/65536 and -32768.

    TensorFlow Lite's fixed-point algorithm (5 integer bits of scaled difference, 12 of the sum). The table has the
    exponentials of all differences d to the vector's largest element: exp(-input_scale * d).
    """

    length: int = u32("elements of one vector")
    exponentials: int = u32("256 int32, Q0.31, for d = 0 … 255")


class LogSoftmaxInt8Params(Params):
    """The logarithm of softmax, by TensorFlow Lite's algorithm; output scale 1/16, zero point 127.

    The second table has the differences themselves, scaled to Q5.26. A difference gives -128 if it is at most
    max(least - 1, (log of the sum of exponentials - 32) / scale); that quotient is requantised.
    """

    length: int = u32("elements of one vector, at most 4096")
    least: int = i32("least difference that has an exponential, at most 0")
    reverse_multiplier: int = i32("Q0.31: from Q5.26 to differences")
    reverse_shift: int = i32("positive: left")
    exponentials: int = u32("256 int32, Q0.31, for d = 0 … 255")
    differences: int = u32("256 int32, Q5.26, for d = 0 … 255")


class SoftmaxFloatParams(Params):
    """Softmax over vectors of `length` contiguous float32 elements."""

    length: int = u32("elements of one vector")


class ReduceParams(Params):
    """out[o][i] = function over k of in[o][k][i]; all axes of the tensors flattened.

    Sums are compensated (Kahan), so that long vectors lose nothing.
    """

    function: int = u32("tigris_reduce_function")
    shape = embed(VectorShape)


class ReduceInt8Params(Params):
    """out[o][i] = function over k of in[o][k][i]; all axes of the tensors flattened. SUM, MEAN, MAXIMUM and MINIMUM.

    SUM and MEAN: sum of (q - input_zero_point), requantised; a mean's multiplier holds its division. MAXIMUM and
    MINIMUM are elements of the input, unchanged.
    """

    vectors = embed(ReduceParams, length="elements of one vector, at most 2^22")
    input_zero_point: int = i32("see above")
    output = embed(OutputZero)
    factor = embed(Requantise)


class ArgReduceParams(Params):
    """out[o][i] = the k at which in[o][k][i] is largest or smallest, as float32; all axes flattened."""

    smallest: int = u32("0: the largest element; 1: the smallest")
    last: int = u32("of equal elements 0: the first; 1: the last")
    shape = embed(VectorShape, length="elements of one vector, at most 2^24")


class TopKParams(Params):
    """out[o][r][i] = the k at which in[o][k][i] is the r-th largest or smallest, as float32; all axes flattened.

    Equal elements keep their order; NaN comes last. The output is one row.
    """

    smallest: int = u32("0: the largest elements; 1: the smallest")
    count: int = u32("positions of a vector, at most its length")
    shape = embed(VectorShape, length="elements of one vector, at most 2^24")


class VectorParams(Params):
    """out[o][k][i] = function of in[o][k][i] and its vector in[o][…][i]; all axes flattened."""

    function: int = u32("tigris_vector_function")
    shape = embed(VectorShape)
    epsilon: float = f32("see the function")
    exclusive: int = u32("CUMULATIVE_SUM, 1: without the element itself")
    reverse: int = u32("CUMULATIVE_SUM, 1: from the end")


class LrnParams(Params):
    """out[c] = in[c] / (bias + alpha * sum of in[j]^2) ^ beta, j from c - before to c + after, inside the pixel."""

    before: int = u32("channels before")
    after: int = u32("channels after")
    alpha: float = f32("already divided by the size of the window")
    beta: float = f32("exponent")
    bias: float = f32("see above")


class NormaliseInt8Params(Params):
    """NORMALISE: each element q of a vector of n becomes (z * factor / 2^32 + offset) / 2^output_bits, rounded down and
    clamped.

    z = (n q - S) / sqrt(V) * 2^fraction_bits with S the vector's sum, V = n Q - S^2 + epsilon / 2^variance_bits and Q
    the sum of squares; not centred: S = n * zero point, and V without S^2 of squares of q - zero point. The
    reciprocal of sqrt(V) is right to 2^-28, products are rounded down. Tensors are
    [...][points][groups][channels]; a vector is the points and channels of a group, at most 2^17 elements.
    """

    points: int = u32("see above")
    groups: int = u32("see above")
    channels: int = u32("see above")
    point_term_step: int = u32("terms from one point to the next")
    group_term_step: int = u32("from one group to the next")
    channel_term_step: int = u32("from one channel to the next")
    centred: int = u32("1: the mean is subtracted; 0: the zero point is")
    input_zero_point: int = i32("of the input")
    fraction_bits: int = u32("see above")
    variance_bits: int = u32("even, at most 30")
    epsilon_low: int = u32("low word of epsilon")
    epsilon_high: int = u32("high word of epsilon")
    output_bits: int = u32("at most 31")
    terms: int = u32("pairs of int32: factor, and offset with the zero point and half a step")


class SuppressParams(Params):
    """Non-maximum suppression: the best boxes of each class that overlap no better box by more than `threshold`.

    Inputs: boxes [boxes][4] of lowest row and column and highest row and column, and scores [boxes][classes]. Output,
    one row: [count][3] of class, box and score, class by class, the best first; unused entries are -1, -1, 0. The
    overlap of two boxes is the area of their intersection divided by that of their union, 0 if a box has no area.
    Scratch: a byte a box.
    """

    boxes: int = u32("at most 65535")
    classes: int = u32("at most 65535")
    count: int = u32("boxes found at most, 65535 or fewer")
    per_class: int = u32("boxes of one class at most")
    inclusive: int = u32("1: scores equal to the threshold count as well")
    by_score: int = u32("1: the best `count` of all classes, by their scores")
    score_threshold: float = f32("scores are greater")
    threshold: float = f32("boxes that overlap a better one by more are left out")


class CumulativeInt8Params(Params):
    """out[o][k][i] = sum up to k of in[o][k][i] in TensorFlow Lite's arithmetic; all axes flattened.

    A sum is begin + sum of (q - input_zero_point), times 2^19, modulo 2^32, requantised.
    """

    shape = embed(VectorShape)
    exclusive: int = u32("1: without the element itself")
    reverse: int = u32("1: from the last element to the first")
    begin: int = i32("see above")
    input_zero_point: int = i32("see above")
    factor = embed(Requantise)
    output = embed(OutputZero)


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
