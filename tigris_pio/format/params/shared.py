"""Fields that several parameter records have, by what they describe."""

from tigris_pio.format.record import Params, embed, f32, i32, i32_array, u16, u32, u32_array


class Clamp(Params):
    """Bounds of integer outputs."""

    activation_min: int = i32("lowest output value")
    activation_max: int = i32("highest output value")


class FloatClamp(Params):
    """Bounds of float32 outputs."""

    activation_min: float = f32("lowest output value; -inf: none")
    activation_max: float = f32("highest output value; inf: none")


class OutputZero(Params):
    """Zero point of outputs."""

    output_zero_point: int = i32("added after requantisation")


class Output(Params):
    """Zero point and bounds of outputs."""

    zero_point = embed(OutputZero)
    clamp = embed(Clamp)


class ScaledOutput(Params):
    """Requantisation of outputs by one factor, their zero point and bounds."""

    zero_point = embed(OutputZero)
    output_multiplier: int = i32("Q0.31")
    output_shift: int = i32("positive: left")
    clamp = embed(Clamp)


class Requantise(Params):
    """Requantisation by one factor."""

    multiplier: int = i32("Q0.31")
    shift: int = i32("positive: left")


class ChannelConstants(Params):
    """Bias and factor of each output channel of a convolution."""

    bias: int = u32("int32 per out channel, zero point folded in")
    multiplier: int = u32("int32 per out channel, Q0.31")
    shift: int = u32("int8 per out channel")


class WideChannelConstants(Params):
    """Bias and factor of each output channel of a convolution of int16."""

    bias: int = u32("int64 per out channel")
    multiplier: int = u32("int32 per out channel, Q0.31 or Q0.15")
    shift: int = u32("int8 per out channel")


class FloatChannelConstants(Params):
    """Constants of a convolution of float32."""

    weights: int = u32("float32")
    bias: int = u32("float32 per out channel")


class WindowShape(Params):
    """A window that slides over rows and columns."""

    kernel_height: int = u16("rows of the kernel")
    kernel_width: int = u16("columns of the kernel")
    stride_height: int = u16("row step")
    stride_width: int = u16("column step")
    dilation_height: int = u16("row distance of two taps")
    dilation_width: int = u16("column distance of two taps")


class ConvShape(Params):
    """The window of a convolution."""

    window = embed(WindowShape)
    pad_left: int = u16("columns of padding on the left; columns missing on the right are padding too")
    groups: int = u16("groups of CONV_2D; 1 for DEPTHWISE_CONV_2D")


class TransposeConvShape(Params):
    """The window of a transposed convolution."""

    window = embed(WindowShape, stride_height="output rows from one input row to the next",
                   stride_width="output columns from one input column to the next")  # fmt: skip
    pad_top: int = u16("rows cut off above")
    pad_left: int = u16("columns cut off on the left")


class PoolShape(Params):
    """The window of a pool."""

    window = embed(WindowShape)
    pad_left: int = u16("columns of padding on the left")


class DenseShape(Params):
    """Sizes of a product with a constant matrix."""

    rows: int = u32("vectors, each in_features long")
    in_features: int = u32("input vector length")
    out_features: int = u32("output vector length")


class SumsOutput(Params):
    """Requantisation of a fully connected layer's sums."""

    requantise_step: int = u32("0: one multiplier and shift for all outputs; 1: one per output")
    output = embed(Output)


class SumsFactors(Params):
    """Factors of a fully connected layer's sums."""

    multiplier: int = u32("int32, Q0.31")
    shift: int = u32("int8")


class ProductShape(Params):
    """Sizes and steps of a product of two activations."""

    batch: tuple[int, ...] = u32_array(3, "matrices")
    rows: int = u32("rows of a product")
    depth: int = u32("terms of a sum")
    columns: int = u32("columns of a product")
    batch_step_a: tuple[int, ...] = u32_array(3, "elements from one matrix of A to the next; 0: the same for all")
    row_step_a: int = u32("elements from one row of A to the next")
    depth_step_a: int = u32("elements from one term to the next")
    batch_step_b: tuple[int, ...] = u32_array(3, "see A")
    depth_step_b: int = u32("elements from one term to the next")
    column_step_b: int = u32("elements from one column of B to the next")
    interleaved: int = u32("0: out[b0][b1][b2][r][c]; 1: out[r][b0][b1][b2][c]; its rows are those of A")


class Operands(Params):
    """Requantisation of each of two inputs."""

    zero_point: tuple[int, ...] = i32_array(2, "of input 0 and 1")
    multiplier: tuple[int, ...] = i32_array(2, "Q0.31")
    shift: tuple[int, ...] = i32_array(2, "positive: left")


class Steps(Params):
    """Where the next elements of two inputs are that are broadcast."""

    row_step: tuple[int, ...] = i32_array(2, "elements from one row to the next, of input 0 and 1")
    column_step: tuple[int, ...] = i32_array(2, "elements from one column to the next")
    channel_step: tuple[int, ...] = i32_array(2, "elements from one channel to the next, 0 or 1")


class VectorShape(Params):
    """Vectors along one axis."""

    length: int = u32("elements of one vector")
    inner: int = u32("elements from one element of a vector to the next")


class RecurrentShape(Params):
    """Sizes of a recurrent layer."""

    cell: int = u32("tigris_recurrent_cell")
    steps: int = u32("steps in a row")
    batch: int = u32("sequences")
    inputs: int = u32("elements of one step of one sequence")
    units: int = u32("hidden values")
