"""Enumerations stored in a plan. Values are part of the format: never renumber, only append."""

import enum


class DType(enum.IntEnum):
    """Element type of a tensor, and of an operator's arithmetic."""

    INT8 = 1
    UINT8 = 2
    INT16 = 3
    INT32 = 4
    INT64 = 5
    FLOAT32 = 6
    BOOL = 7

    @property
    def bytes(self) -> int:
        """Bytes of one element."""
        return {1: 1, 2: 1, 3: 2, 4: 4, 5: 8, 6: 4, 7: 1}[self.value]


class Home(enum.IntEnum):
    """The memory that holds a whole tensor between stages."""

    NONE = 0  #: nowhere: it exists only inside one stage, in that stage's view
    FAST = 1  #: at `home_offset` of the fast arena
    SLOW = 2  #: at `home_offset` of the slow arena
    FLASH = 3  #: a constant at `home_offset` of the weights section


class Strategy(enum.IntEnum):
    """How a stage runs. Informational: the executor's loop is the same for all."""

    NORMAL = 0  #: one band of full height
    TILED = 1  #: bands of one operator
    CHAIN = 2  #: bands through several operators, halo rows computed again
    ROLLING = 3  #: bands through several operators, halo rows kept: nothing is computed twice


class WeightMode(enum.IntEnum):
    """Where a stage's operators find their weights."""

    IN_PLACE = 0  #: read from the plan itself (XIP)
    COPY = 1  #: copied to the fast arena before the stage runs
    LZ4 = 2  #: one LZ4 block, decompressed to the fast arena before the stage runs


class HeaderFlag(enum.IntFlag):
    """Header flags."""

    XIP = 1  #: every stage's weights are read in place
    FETCHES = 2  #: some input is streamed: the session needs fetch_rows
    TAKES = 4  #: some output is streamed: the session needs take_rows
    HALF_AWAY = 8  #: float32 inputs are quantised with Rounding.HALF_AWAY


class Rounding(enum.IntEnum):
    """Rounding of halves when float32 becomes an integer."""

    HALF_EVEN = 0  #: the even neighbour: ONNX's QuantizeLinear
    HALF_AWAY = 1  #: the neighbour that is farther from zero: TensorFlow Lite's QUANTIZE


class TensorFlag(enum.IntFlag):
    """How a tensor is stored."""

    FOLDED = 1  #: all rows share one place: row r is the sum of rows 0 to r
    STATE = 2  #: it keeps its address and its value from run to run


class ViewFlag(enum.IntFlag):
    """How a stage sees a tensor."""

    WINDOW = 1  #: through a buffer of `capacity_rows` rows at `offset`; without it, at its home
    LOAD = 2  #: rows are copied from the tensor's home when an operator needs them
    STORE = 4  #: rows are copied to the tensor's home as soon as they are computed
    KEEP = 8  #: rows that a later band reads are kept, not computed again (rolling)


class OperandFlag(enum.IntFlag):
    """Treatment of an operand's view after its operator has run in a band."""

    LAST = 1  #: no later operator of the stage reads it: its window parks the kept rows


class OpFlag(enum.IntFlag):
    """How an operator may run."""

    SPLIT = 1  #: two cores may compute half of a call's rows each, with half of its scratch


class OpKind(enum.IntEnum):
    """Kernel families. An operator's kernel is found by (kind, dtype, packing)."""

    CONV_2D = 1
    DEPTHWISE_CONV_2D = 2
    FULLY_CONNECTED = 3
    AVERAGE_POOL = 4
    MAX_POOL = 5
    ADD = 6
    SUB = 7
    MUL = 8
    SOFTMAX = 9
    LOOKUP = 10  #: any unary function: int8 by a table of 256 bytes, int16 by linear segments
    UNARY = 11  #: unary float functions, chosen by UnaryFunction
    COPY = 12
    TRANSPOSE = 13
    CONCAT = 14
    QUANTIZE = 15
    DEQUANTIZE = 16
    SELECT = 17  #: picks rows, columns and channels of the input, each by a table or a progression
    RESAMPLE = 18  #: weighted sums of neighbouring rows and columns
    TRANSPOSE_CONV = 19
    TRIGONOMETRIC = 30  #: unary float functions of UnaryFunction from SIN to ATANH
    BINARY = 31  #: two float inputs, chosen by BinaryFunction; INT8: comparisons
    WHERE = 32  #: first input not 0 ? second : third
    REDUCE = 33  #: one number for each vector, chosen by ReduceFunction
    ARG_REDUCE = 34  #: position of the largest or smallest element of a vector, as float32
    VECTOR = 35  #: a function of each element and its vector, chosen by VectorFunction; INT8: cumulative sums
    LRN = 36  #: local response normalisation across channels
    MAT_MUL = 37  #: matrix products of two activations
    CAST = 38  #: converts between element types
    SUM_MAP = 39  #: sums over the rows and columns of each channel, row by row into a folded tensor
    MEAN_OF_SUMS = 40  #: the mean of each channel from the last row of SUM_MAP's result
    PLAIN_CONV_2D = 41  #: CONV_2D for kernel libraries: weights not packed, zero points not folded
    PLAIN_DEPTHWISE_CONV_2D = 42
    PLAIN_FULLY_CONNECTED = 43
    INT4_CONV_2D = 44  #: CONV_2D of one group with weights of 4 bits
    INT4_FULLY_CONNECTED = 45  #: FULLY_CONNECTED with weights of 4 bits
    TABLE_CONV_2D = 46  #: CONV_2D of one group with weights that are indices of 4 bits into tables of 16 values
    # 47 and 48 differ from 39 and 40 in one bit; runtime/src/dispatch.c knows kinds with folded tensors by it.
    SUM_PRODUCTS = 47  #: products of rows with their parts of a matrix, summed in a folded tensor
    SCALE_SUMS = 48  #: outputs of a fully connected layer from the last row of SUM_PRODUCTS's result
    TABLE_FULLY_CONNECTED = 49  #: FULLY_CONNECTED with weights that are indices of 4 bits into a table of 16 values
    EXTREME = 50  #: the larger or the smaller of two int8
    PRELU = 51  #: int8: negative elements times their slope
    DIVIDE = 52  #: quotients of two int8
    SQUARED_DIFFERENCE = 53  #: squared difference of two int8
    ASYMMETRIC_CONV_2D = 54  #: CONV_2D with weights that have zero points
    ASYMMETRIC_DEPTHWISE_CONV_2D = 55  #: the weights are stored less their zero points, in 16 bits
    ASYMMETRIC_FULLY_CONNECTED = 56
    FETCH = 58  #: gets rows of a streamed input, of any type, from the caller; has no operands
    TAKE = 59  #: gives rows of a streamed output, of any type, to the caller; its own output has no meaning
    COMMIT = 60  #: writes the value of a state for the next run, of any type; follows all other operators
    RECURRENT = 61  #: LSTM, GRU or RNN; INT8: float32 with int8 weights; INT16: int8 with a cell of int16
    GATHER = 62  #: slices of the first input at the positions in the second, which is float32
    TOP_K = 63  #: positions of the largest or smallest elements of a vector, in order, as float32
    SCATTER = 64  #: the first input, with slices of the third at the positions in the second
    NORMALISE = 65  #: int8: (element - mean of its vector) / deviation * factor + offset
    SUPPRESS = 66  #: the best boxes of each class, without those that overlap a better one
    LOG_SOFTMAX = 67
    RESCALE = 80  #: requantises int8 or int16 to int8 or int16, with another slope below zero
    LOGISTIC = 81  #: the logistic function or the hyperbolic tangent of int16
    SPECTRUM = 82  #: levels of frequency bands from int16 samples
    LEVEL = 83  #: a function of such levels, chosen by LevelFunction


class Packing(enum.IntEnum):
    """The order of an operator's weights. The runtime looks for a kernel with the same packing."""

    PORTABLE = 0  #: blocks of four channels, tiles of four taps; also for operators without packed weights
    ROWS = 1  #: each channel's taps in model order
    LANES_16 = 2  #: blocks and tiles of 16, each pixel's channels padded with zeros to whole tiles
    PIE = 3  #: the order of the ESP32-S3's vector kernels, requantisation included
    ROWS_16 = 4  #: blocks of four channels, 16 taps of each in turn, padded with zeros to whole blocks


class SignatureAlgorithm(enum.IntEnum):
    """The algorithm of a signed plan's trailer."""

    P256 = 1  #: ECDSA on the curve P-256 with SHA-256
    ED25519 = 2


class ParameterEnum(enum.IntEnum):
    """Values of a field of a parameter record."""


class RecurrentCell(ParameterEnum):
    """Cells of OpKind.RECURRENT, with the order of their gates, as ONNX defines them."""

    LSTM = 1  #: input, output, forget, cell
    GRU = 2  #: update, reset, hidden
    RNN = 3  #: one gate


class RecurrentFunction(ParameterEnum):
    """Activations of OpKind.RECURRENT, with ONNX's names."""

    SIGMOID = 1
    TANH = 2
    RELU = 3
    AFFINE = 4  #: alpha * x + beta
    LEAKY_RELU = 5  #: x < 0 ? alpha * x : x
    THRESHOLDED_RELU = 6  #: x < alpha ? 0 : x
    SCALED_TANH = 7  #: alpha * tanh(beta * x)
    HARD_SIGMOID = 8  #: min(max(alpha * x + beta, 0), 1)
    ELU = 9  #: x < 0 ? alpha * (exp(x) - 1) : x
    SOFTSIGN = 10  #: x / (1 + |x|)
    SOFTPLUS = 11  #: log(1 + exp(x))


class UnaryFunction(ParameterEnum):
    """Functions of OpKind.UNARY (float32)."""

    CLAMP = 1  #: min(max(x, alpha), beta)
    SIGMOID = 2
    TANH = 3
    LEAKY_RELU = 4  #: x < 0 ? alpha * x : x
    HARD_SIGMOID = 5  #: min(max(alpha * x + beta, 0), 1)
    HARD_SWISH = 6  #: x * min(max(x / 6 + 0.5, 0), 1)
    EXP = 7
    SQRT = 8
    ABS = 9
    NEGATE = 10
    LOG = 11
    RECIPROCAL = 12
    ERF = 13
    CEIL = 14
    FLOOR = 15
    ROUND = 16  #: halves to even
    SIGN = 17
    TRUNCATE = 18  #: towards zero
    SQUARE = 19
    SOFTPLUS = 20  #: log(1 + exp(x))
    SOFTSIGN = 21  #: x / (1 + |x|)
    ELU = 22  #: x < 0 ? alpha * (exp(x) - 1) : beta * x
    CELU = 23  #: x < 0 ? alpha * (exp(x / alpha) - 1) : x
    GELU = 24  #: x / 2 * (1 + erf(x / sqrt(2)))
    GELU_TANH = 25  #: the approximation of GELU by tanh
    MISH = 26  #: x * tanh(log(1 + exp(x)))
    SWISH = 27  #: x / (1 + exp(-alpha * x))
    THRESHOLD = 28  #: x > alpha ? x : 0
    SHRINK = 29  #: x < -alpha ? x + beta : x > alpha ? x - beta : 0
    IS_NAN = 30  #: 1 or 0
    IS_INF = 31  #: 1 or 0; alpha != 0 counts negative infinity, beta != 0 positive infinity
    NOT = 32  #: x == 0 ? 1 : 0
    IS_TRUE = 33  #: x != 0 ? 1 : 0
    SIN = 40
    COS = 41
    TAN = 42
    ASIN = 43
    ACOS = 44
    ATAN = 45
    SINH = 46
    COSH = 47
    ASINH = 48
    ACOSH = 49
    ATANH = 50


class BinaryFunction(ParameterEnum):
    """Functions of OpKind.BINARY (float32). Comparisons and logic return 1 or 0; an input of logic is true if not 0."""

    DIVIDE = 1
    POWER = 2
    MAXIMUM = 3  #: NaN if an input is NaN
    MINIMUM = 4  #: NaN if an input is NaN
    FLOOR_MOD = 5  #: remainder with the sign of the divisor
    TRUNCATE_MOD = 6  #: remainder with the sign of the dividend
    PRELU = 7  #: a < 0 ? a * b : a
    LESS = 8
    LESS_OR_EQUAL = 9
    GREATER = 10
    GREATER_OR_EQUAL = 11
    EQUAL = 12
    AND = 13
    OR = 14
    XOR = 15


class ReduceFunction(ParameterEnum):
    """Functions of OpKind.REDUCE (float32)."""

    SUM = 1
    MEAN = 2
    MAXIMUM = 3
    MINIMUM = 4
    PRODUCT = 5
    L1 = 6
    L2 = 7
    SUM_SQUARE = 8
    LOG_SUM = 9
    LOG_SUM_EXP = 10


class VectorFunction(ParameterEnum):
    """Functions of OpKind.VECTOR (float32). m and v: a vector's mean and variance."""

    STANDARDISE = 1  #: (x - m) / sqrt(v + epsilon)
    RMS = 2  #: x / sqrt(mean of squares + epsilon)
    L1 = 3  #: x / sum of |x|; 0 if the sum is 0
    L2 = 4  #: x / sqrt(sum of squares); 0 if the sum is 0
    LOG_SOFTMAX = 5
    HARDMAX = 6  #: 1 at the first of the largest elements, 0 elsewhere
    CUMULATIVE_SUM = 7
    STANDARDISE_OUTSIDE = 8  #: (x - m) / (sqrt(v) + epsilon)
    SOFTMAX = 9
    CUMULATIVE_PRODUCT = 10


class LevelFunction(ParameterEnum):
    """Functions of OpKind.LEVEL (uint32, as int32)."""

    NOISE = 1  #: the mean of the first input from run to run; second input: the mean before
    LOUDER = 2  #: what of the first input is above the second, the noise
    GAIN = 3  #: the first input times a gain that falls with the second, the noise
    LOG = 4  #: logarithm, to int16 or int8
