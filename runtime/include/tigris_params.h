/* Parameters of operators for their kernels, generated from tigris_pio/format by python -m tigris_pio.format.c_header.
 * Do not edit. For authors of kernels, who get it with tigris_kernel.h; applications need none of it. */
#ifndef TIGRIS_PARAMS_H
#define TIGRIS_PARAMS_H

#include "tigris_format.h"

/* Cells of OpKind.RECURRENT, with the order of their gates, as ONNX defines them. */
typedef enum tigris_recurrent_cell {
    /* input, output, forget, cell */
    TIGRIS_RECURRENT_CELL_LSTM = 1,
    /* update, reset, hidden */
    TIGRIS_RECURRENT_CELL_GRU = 2,
    /* one gate */
    TIGRIS_RECURRENT_CELL_RNN = 3
} tigris_recurrent_cell;

/* Activations of OpKind.RECURRENT, with ONNX's names. */
typedef enum tigris_recurrent_function {
    TIGRIS_RECURRENT_FUNCTION_SIGMOID = 1,
    TIGRIS_RECURRENT_FUNCTION_TANH = 2,
    TIGRIS_RECURRENT_FUNCTION_RELU = 3,
    /* alpha * x + beta */
    TIGRIS_RECURRENT_FUNCTION_AFFINE = 4,
    /* x < 0 ? alpha * x : x */
    TIGRIS_RECURRENT_FUNCTION_LEAKY_RELU = 5,
    /* x < alpha ? 0 : x */
    TIGRIS_RECURRENT_FUNCTION_THRESHOLDED_RELU = 6,
    /* alpha * tanh(beta * x) */
    TIGRIS_RECURRENT_FUNCTION_SCALED_TANH = 7,
    /* min(max(alpha * x + beta, 0), 1) */
    TIGRIS_RECURRENT_FUNCTION_HARD_SIGMOID = 8,
    /* x < 0 ? alpha * (exp(x) - 1) : x */
    TIGRIS_RECURRENT_FUNCTION_ELU = 9,
    /* x / (1 + |x|) */
    TIGRIS_RECURRENT_FUNCTION_SOFTSIGN = 10,
    /* log(1 + exp(x)) */
    TIGRIS_RECURRENT_FUNCTION_SOFTPLUS = 11
} tigris_recurrent_function;

/* Functions of OpKind.UNARY (float32). */
typedef enum tigris_unary_function {
    /* min(max(x, alpha), beta) */
    TIGRIS_UNARY_FUNCTION_CLAMP = 1,
    TIGRIS_UNARY_FUNCTION_SIGMOID = 2,
    TIGRIS_UNARY_FUNCTION_TANH = 3,
    /* x < 0 ? alpha * x : x */
    TIGRIS_UNARY_FUNCTION_LEAKY_RELU = 4,
    /* min(max(alpha * x + beta, 0), 1) */
    TIGRIS_UNARY_FUNCTION_HARD_SIGMOID = 5,
    /* x * min(max(x / 6 + 0.5, 0), 1) */
    TIGRIS_UNARY_FUNCTION_HARD_SWISH = 6,
    TIGRIS_UNARY_FUNCTION_EXP = 7,
    TIGRIS_UNARY_FUNCTION_SQRT = 8,
    TIGRIS_UNARY_FUNCTION_ABS = 9,
    TIGRIS_UNARY_FUNCTION_NEGATE = 10,
    TIGRIS_UNARY_FUNCTION_LOG = 11,
    TIGRIS_UNARY_FUNCTION_RECIPROCAL = 12,
    TIGRIS_UNARY_FUNCTION_ERF = 13,
    TIGRIS_UNARY_FUNCTION_CEIL = 14,
    TIGRIS_UNARY_FUNCTION_FLOOR = 15,
    /* halves to even */
    TIGRIS_UNARY_FUNCTION_ROUND = 16,
    TIGRIS_UNARY_FUNCTION_SIGN = 17,
    /* towards zero */
    TIGRIS_UNARY_FUNCTION_TRUNCATE = 18,
    TIGRIS_UNARY_FUNCTION_SQUARE = 19,
    /* log(1 + exp(x)) */
    TIGRIS_UNARY_FUNCTION_SOFTPLUS = 20,
    /* x / (1 + |x|) */
    TIGRIS_UNARY_FUNCTION_SOFTSIGN = 21,
    /* x < 0 ? alpha * (exp(x) - 1) : beta * x */
    TIGRIS_UNARY_FUNCTION_ELU = 22,
    /* x < 0 ? alpha * (exp(x / alpha) - 1) : x */
    TIGRIS_UNARY_FUNCTION_CELU = 23,
    /* x / 2 * (1 + erf(x / sqrt(2))) */
    TIGRIS_UNARY_FUNCTION_GELU = 24,
    /* the approximation of GELU by tanh */
    TIGRIS_UNARY_FUNCTION_GELU_TANH = 25,
    /* x * tanh(log(1 + exp(x))) */
    TIGRIS_UNARY_FUNCTION_MISH = 26,
    /* x / (1 + exp(-alpha * x)) */
    TIGRIS_UNARY_FUNCTION_SWISH = 27,
    /* x > alpha ? x : 0 */
    TIGRIS_UNARY_FUNCTION_THRESHOLD = 28,
    /* x < -alpha ? x + beta : x > alpha ? x - beta : 0 */
    TIGRIS_UNARY_FUNCTION_SHRINK = 29,
    /* 1 or 0 */
    TIGRIS_UNARY_FUNCTION_IS_NAN = 30,
    /* 1 or 0; alpha != 0 counts negative infinity, beta != 0 positive infinity */
    TIGRIS_UNARY_FUNCTION_IS_INF = 31,
    /* x == 0 ? 1 : 0 */
    TIGRIS_UNARY_FUNCTION_NOT = 32,
    /* x != 0 ? 1 : 0 */
    TIGRIS_UNARY_FUNCTION_IS_TRUE = 33,
    TIGRIS_UNARY_FUNCTION_SIN = 40,
    TIGRIS_UNARY_FUNCTION_COS = 41,
    TIGRIS_UNARY_FUNCTION_TAN = 42,
    TIGRIS_UNARY_FUNCTION_ASIN = 43,
    TIGRIS_UNARY_FUNCTION_ACOS = 44,
    TIGRIS_UNARY_FUNCTION_ATAN = 45,
    TIGRIS_UNARY_FUNCTION_SINH = 46,
    TIGRIS_UNARY_FUNCTION_COSH = 47,
    TIGRIS_UNARY_FUNCTION_ASINH = 48,
    TIGRIS_UNARY_FUNCTION_ACOSH = 49,
    TIGRIS_UNARY_FUNCTION_ATANH = 50
} tigris_unary_function;

/* Functions of OpKind.BINARY (float32). Comparisons and logic return 1 or 0; an input of logic is
 * true if not 0. */
typedef enum tigris_binary_function {
    TIGRIS_BINARY_FUNCTION_DIVIDE = 1,
    TIGRIS_BINARY_FUNCTION_POWER = 2,
    /* NaN if an input is NaN */
    TIGRIS_BINARY_FUNCTION_MAXIMUM = 3,
    /* NaN if an input is NaN */
    TIGRIS_BINARY_FUNCTION_MINIMUM = 4,
    /* remainder with the sign of the divisor */
    TIGRIS_BINARY_FUNCTION_FLOOR_MOD = 5,
    /* remainder with the sign of the dividend */
    TIGRIS_BINARY_FUNCTION_TRUNCATE_MOD = 6,
    /* a < 0 ? a * b : a */
    TIGRIS_BINARY_FUNCTION_PRELU = 7,
    TIGRIS_BINARY_FUNCTION_LESS = 8,
    TIGRIS_BINARY_FUNCTION_LESS_OR_EQUAL = 9,
    TIGRIS_BINARY_FUNCTION_GREATER = 10,
    TIGRIS_BINARY_FUNCTION_GREATER_OR_EQUAL = 11,
    TIGRIS_BINARY_FUNCTION_EQUAL = 12,
    TIGRIS_BINARY_FUNCTION_AND = 13,
    TIGRIS_BINARY_FUNCTION_OR = 14,
    TIGRIS_BINARY_FUNCTION_XOR = 15
} tigris_binary_function;

/* Functions of OpKind.REDUCE (float32). */
typedef enum tigris_reduce_function {
    TIGRIS_REDUCE_FUNCTION_SUM = 1,
    TIGRIS_REDUCE_FUNCTION_MEAN = 2,
    TIGRIS_REDUCE_FUNCTION_MAXIMUM = 3,
    TIGRIS_REDUCE_FUNCTION_MINIMUM = 4,
    TIGRIS_REDUCE_FUNCTION_PRODUCT = 5,
    TIGRIS_REDUCE_FUNCTION_L1 = 6,
    TIGRIS_REDUCE_FUNCTION_L2 = 7,
    TIGRIS_REDUCE_FUNCTION_SUM_SQUARE = 8,
    TIGRIS_REDUCE_FUNCTION_LOG_SUM = 9,
    TIGRIS_REDUCE_FUNCTION_LOG_SUM_EXP = 10
} tigris_reduce_function;

/* Functions of OpKind.VECTOR (float32). m and v: a vector's mean and variance. */
typedef enum tigris_vector_function {
    /* (x - m) / sqrt(v + epsilon) */
    TIGRIS_VECTOR_FUNCTION_STANDARDISE = 1,
    /* x / sqrt(mean of squares + epsilon) */
    TIGRIS_VECTOR_FUNCTION_RMS = 2,
    /* x / sum of |x|; 0 if the sum is 0 */
    TIGRIS_VECTOR_FUNCTION_L1 = 3,
    /* x / sqrt(sum of squares); 0 if the sum is 0 */
    TIGRIS_VECTOR_FUNCTION_L2 = 4,
    TIGRIS_VECTOR_FUNCTION_LOG_SOFTMAX = 5,
    /* 1 at the first of the largest elements, 0 elsewhere */
    TIGRIS_VECTOR_FUNCTION_HARDMAX = 6,
    TIGRIS_VECTOR_FUNCTION_CUMULATIVE_SUM = 7,
    /* (x - m) / (sqrt(v) + epsilon) */
    TIGRIS_VECTOR_FUNCTION_STANDARDISE_OUTSIDE = 8,
    TIGRIS_VECTOR_FUNCTION_SOFTMAX = 9,
    TIGRIS_VECTOR_FUNCTION_CUMULATIVE_PRODUCT = 10
} tigris_vector_function;

/* Functions of OpKind.LEVEL (uint32, as int32). */
typedef enum tigris_level_function {
    /* the mean of the first input from run to run; second input: the mean before */
    TIGRIS_LEVEL_FUNCTION_NOISE = 1,
    /* what of the first input is above the second, the noise */
    TIGRIS_LEVEL_FUNCTION_LOUDER = 2,
    /* the first input times a gain that falls with the second, the noise */
    TIGRIS_LEVEL_FUNCTION_GAIN = 3,
    /* logarithm, to int16 or int8 */
    TIGRIS_LEVEL_FUNCTION_LOG = 4
} tigris_level_function;

/* Records that others embed. A struct's comment names them; their fields stand in it without comments.
 * window_shape: A window that slides over rows and columns.
 *     kernel_height: rows of the kernel
 *     kernel_width: columns of the kernel
 *     stride_height: row step
 *     stride_width: column step
 *     dilation_height: row distance of two taps
 *     dilation_width: column distance of two taps
 * output_zero: Zero point of outputs.
 *     output_zero_point: added after requantisation
 * clamp: Bounds of integer outputs.
 *     activation_min: lowest output value
 *     activation_max: highest output value
 * conv_shape: The window of a convolution. Embeds window_shape.
 *     pad_left: columns of padding on the left; columns missing on the right are padding too
 *     groups: groups of CONV_2D; 1 for DEPTHWISE_CONV_2D
 * output: Zero point and bounds of outputs. Embeds output_zero, clamp.
 * channel_constants: Bias and factor of each output channel of a convolution.
 *     bias: int32 per out channel, zero point folded in
 *     multiplier: int32 per out channel, Q0.31
 *     shift: int8 per out channel
 * float_clamp: Bounds of float32 outputs.
 *     activation_min: lowest output value; -inf: none
 *     activation_max: highest output value; inf: none
 * float_channel_constants: Constants of a convolution of float32.
 *     weights: float32
 *     bias: float32 per out channel
 * dense_shape: Sizes of a product with a constant matrix.
 *     rows: vectors, each in_features long
 *     in_features: input vector length
 *     out_features: output vector length
 * sums_output: Requantisation of a fully connected layer's sums. Embeds output.
 *     requantise_step: 0: one multiplier and shift for all outputs; 1: one per output
 * sums_factors: Factors of a fully connected layer's sums.
 *     multiplier: int32, Q0.31
 *     shift: int8
 * pool_shape: The window of a pool. Embeds window_shape.
 *     pad_left: columns of padding on the left
 * operands: Requantisation of each of two inputs.
 *     zero_point: of input 0 and 1
 *     multiplier: Q0.31
 *     shift: positive: left
 * scaled_output: Requantisation of outputs by one factor, their zero point and bounds. Embeds
 *   output_zero, clamp.
 *     output_multiplier: Q0.31
 *     output_shift: positive: left
 * steps: Where the next elements of two inputs are that are broadcast.
 *     row_step: elements from one row to the next, of input 0 and 1
 *     column_step: elements from one column to the next
 *     channel_step: elements from one channel to the next, 0 or 1
 * transpose_conv_shape: The window of a transposed convolution. Embeds window_shape.
 *     stride_height: output rows from one input row to the next
 *     stride_width: output columns from one input column to the next
 *     pad_top: rows cut off above
 *     pad_left: columns cut off on the left
 * vector_shape: Vectors along one axis.
 *     length: elements of one vector
 *     inner: elements from one element of a vector to the next
 * requantise: Requantisation by one factor.
 *     multiplier: Q0.31
 *     shift: positive: left
 * product_shape: Sizes and steps of a product of two activations.
 *     batch: matrices
 *     rows: rows of a product
 *     depth: terms of a sum
 *     columns: columns of a product
 *     batch_step_a: elements from one matrix of A to the next; 0: the same for all
 *     row_step_a: elements from one row of A to the next
 *     depth_step_a: elements from one term to the next
 *     batch_step_b: see A
 *     depth_step_b: elements from one term to the next
 *     column_step_b: elements from one column of B to the next
 *     interleaved: 0: out[b0][b1][b2][r][c]; 1: out[r][b0][b1][b2][c]; its rows are those of A
 * recurrent_shape: Sizes of a recurrent layer.
 *     cell: tigris_recurrent_cell
 *     steps: steps in a row
 *     batch: sequences
 *     inputs: elements of one step of one sequence
 *     units: hidden values
 * wide_channel_constants: Bias and factor of each output channel of a convolution of int16.
 *     bias: int64 per out channel
 *     multiplier: int32 per out channel, Q0.31 or Q0.15
 *     shift: int8 per out channel */

/* Conv2D and depthwise Conv2D, int8. Weights:
 * [out_channels][kernel_height][kernel_width][in_channels / groups] for CONV_2D,
 * [kernel_height][kernel_width][out_channels] for DEPTHWISE_CONV_2D (out channel c reads in channel
 * c / (out_channels / in_channels)), packed as SPEC.md section 6 says. The bias already holds
 * -input_zero_point * sum of the channel's weights, so a padded tap counts as the value
 * input_zero_point. PLAIN_CONV_2D and PLAIN_DEPTHWISE_CONV_2D have weights that are not packed, the
 * model's own bias, and int32 shifts. Their products are weight * (input - input_zero_point);
 * padded taps count as 0. Embeds conv_shape, output, channel_constants. */
typedef struct tigris_conv_int8_params {
    uint16_t kernel_height;
    uint16_t kernel_width;
    uint16_t stride_height;
    uint16_t stride_width;
    uint16_t dilation_height;
    uint16_t dilation_width;
    uint16_t pad_left;
    uint16_t groups;
    /* value of a padded tap */
    int32_t input_zero_point;
    int32_t output_zero_point;
    int32_t activation_min;
    int32_t activation_max;
    /* int8, see above */
    uint32_t weights;
    uint32_t bias;
    uint32_t multiplier;
    uint32_t shift;
} tigris_conv_int8_params;
TIGRIS_STATIC_ASSERT(sizeof(tigris_conv_int8_params) == 48U, tigris_conv_int8_params_size);

/* Conv2D and depthwise Conv2D, float32. Weights as for int8; padded taps are 0. Embeds conv_shape,
 * float_clamp, float_channel_constants. */
typedef struct tigris_conv_float_params {
    uint16_t kernel_height;
    uint16_t kernel_width;
    uint16_t stride_height;
    uint16_t stride_width;
    uint16_t dilation_height;
    uint16_t dilation_width;
    uint16_t pad_left;
    uint16_t groups;
    float activation_min;
    float activation_max;
    uint32_t weights;
    uint32_t bias;
} tigris_conv_float_params;
TIGRIS_STATIC_ASSERT(sizeof(tigris_conv_float_params) == 32U, tigris_conv_float_params_size);

/* out[r][o] = requantise(bias[o] + sum_i weights[o][i] * in[r][i]); zero point folded into the
 * bias. For PLAIN_FULLY_CONNECTED the weights are not packed and shifts are int32. Embeds
 * dense_shape, sums_output, sums_factors. */
typedef struct tigris_fully_connected_int8_params {
    /* vectors, each in_features long; the input is rows * in_features contiguous bytes */
    uint32_t rows;
    uint32_t in_features;
    uint32_t out_features;
    uint32_t requantise_step;
    int32_t output_zero_point;
    int32_t activation_min;
    int32_t activation_max;
    /* int8 [out_features][in_features], packed as SPEC.md section 6 says */
    uint32_t weights;
    /* int32 per output */
    uint32_t bias;
    uint32_t multiplier;
    uint32_t shift;
} tigris_fully_connected_int8_params;
TIGRIS_STATIC_ASSERT(sizeof(tigris_fully_connected_int8_params) == 44U, tigris_fully_connected_int8_params_size);

/* out[r][o] = clamp(bias[o] + sum_i weights[o][i] * in[r][i]). Embeds dense_shape, float_clamp. */
typedef struct tigris_fully_connected_float_params {
    uint32_t rows;
    uint32_t in_features;
    uint32_t out_features;
    float activation_min;
    float activation_max;
    /* float32 [out_features][in_features] */
    uint32_t weights;
    /* float32 per output */
    uint32_t bias;
} tigris_fully_connected_float_params;
TIGRIS_STATIC_ASSERT(sizeof(tigris_fully_connected_float_params) == 28U, tigris_fully_connected_float_params_size);

/* Average and max pooling, int8, per channel. Average without rescale: the sum of the taps inside
 * the tensor, divided by their number, rounding half away from zero. With rescale: (sum - taps *
 * input_zero_point) is requantised by multiplier[taps - 1] and shift[taps - 1], then
 * output_zero_point is added. Embeds pool_shape, output. */
typedef struct tigris_pool_int8_params {
    uint16_t kernel_height;
    uint16_t kernel_width;
    uint16_t stride_height;
    uint16_t stride_width;
    uint16_t dilation_height;
    uint16_t dilation_width;
    uint16_t pad_left;
    /* 1: TensorFlow Lite's MEAN, or scales that differ; 2: halves up, as in uint8 (average only) */
    uint16_t rescale;
    /* 1: padded taps count as zeros in an average */
    uint32_t include_pad;
    /* see above */
    int32_t input_zero_point;
    /* see above */
    int32_t output_zero_point;
    int32_t activation_min;
    int32_t activation_max;
    /* int32 per number of taps, 1 … kernel_height * kernel_width; with rescale only */
    uint32_t multiplier;
    /* int8 per number of taps; with rescale only */
    uint32_t shift;
} tigris_pool_int8_params;
TIGRIS_STATIC_ASSERT(sizeof(tigris_pool_int8_params) == 44U, tigris_pool_int8_params_size);

/* Average and max pooling, float32, per channel. Embeds pool_shape, float_clamp. */
typedef struct tigris_pool_float_params {
    uint16_t kernel_height;
    uint16_t kernel_width;
    uint16_t stride_height;
    uint16_t stride_width;
    uint16_t dilation_height;
    uint16_t dilation_width;
    uint16_t pad_left;
    /* 1: padded taps count as zeros in an average */
    uint16_t include_pad;
    float activation_min;
    float activation_max;
} tigris_pool_float_params;
TIGRIS_STATIC_ASSERT(sizeof(tigris_pool_float_params) == 24U, tigris_pool_float_params_size);

/* ADD, SUB and MUL of two int8 tensors, TensorFlow Lite arithmetic. ADD/SUB: each input (q -
 * zero_point) << left_shift is scaled by its own multiplier, both are added or subtracted, the sum
 * is scaled by the output's. MUL: the product of both (q - zero_point) is scaled by the output's
 * multiplier. Element steps are 0 along broadcast axes. Embeds operands, scaled_output, steps. */
typedef struct tigris_binary_int8_params {
    int32_t zero_point[2];
    /* of input 0 and 1, Q0.31 (ADD, SUB) */
    int32_t multiplier[2];
    /* of input 0 and 1 (ADD, SUB) */
    int32_t shift[2];
    /* 20 for ADD and SUB; 0 for MUL */
    int32_t left_shift;
    /* added last */
    int32_t output_zero_point;
    int32_t output_multiplier;
    int32_t output_shift;
    int32_t activation_min;
    int32_t activation_max;
    int32_t row_step[2];
    int32_t column_step[2];
    int32_t channel_step[2];
} tigris_binary_int8_params;
TIGRIS_STATIC_ASSERT(sizeof(tigris_binary_int8_params) == 72U, tigris_binary_int8_params_size);

/* ADD, SUB and MUL of two float32 tensors. Element steps are 0 along broadcast axes. Embeds
 * float_clamp, steps. */
typedef struct tigris_binary_float_params {
    float activation_min;
    float activation_max;
    int32_t row_step[2];
    int32_t column_step[2];
    int32_t channel_step[2];
} tigris_binary_float_params;
TIGRIS_STATIC_ASSERT(sizeof(tigris_binary_float_params) == 32U, tigris_binary_float_params_size);

/* Softmax over vectors of length contiguous elements; output int8 with scale 1/256 and zero point
 * -128, or int16 with 1/65536 and -32768. TensorFlow Lite's fixed-point algorithm (5 integer bits
 * of scaled difference, 12 of the sum). The table has the exponentials of all differences d to the
 * vector's largest element: exp(-input_scale * d). */
typedef struct tigris_softmax_int8_params {
    /* elements of one vector */
    uint32_t length;
    /* 256 int32, Q0.31, for d = 0 … 255 */
    uint32_t exponentials;
} tigris_softmax_int8_params;
TIGRIS_STATIC_ASSERT(sizeof(tigris_softmax_int8_params) == 8U, tigris_softmax_int8_params_size);

/* Softmax over vectors of length contiguous float32 elements. */
typedef struct tigris_softmax_float_params {
    /* elements of one vector */
    uint32_t length;
} tigris_softmax_float_params;
TIGRIS_STATIC_ASSERT(sizeof(tigris_softmax_float_params) == 4U, tigris_softmax_float_params_size);

/* The logarithm of softmax, by TensorFlow Lite's algorithm; output scale 1/16, zero point 127. The
 * second table has the differences themselves, scaled to Q5.26. A difference gives -128 if it is at
 * most max(least - 1, (log of the sum of exponentials - 32) / scale); that quotient is requantised. */
typedef struct tigris_log_softmax_int8_params {
    /* elements of one vector, at most 4096 */
    uint32_t length;
    /* least difference that has an exponential, at most 0 */
    int32_t least;
    /* Q0.31: from Q5.26 to differences */
    int32_t reverse_multiplier;
    /* positive: left */
    int32_t reverse_shift;
    /* 256 int32, Q0.31, for d = 0 … 255 */
    uint32_t exponentials;
    /* 256 int32, Q5.26, for d = 0 … 255 */
    uint32_t differences;
} tigris_log_softmax_int8_params;
TIGRIS_STATIC_ASSERT(sizeof(tigris_log_softmax_int8_params) == 24U, tigris_log_softmax_int8_params_size);

/* out = table[in + 128], any unary int8 function, requantisation included. */
typedef struct tigris_lookup_params {
    /* 256 int8 values, for inputs -128 … 127 */
    uint32_t table;
} tigris_lookup_params;
TIGRIS_STATIC_ASSERT(sizeof(tigris_lookup_params) == 4U, tigris_lookup_params_size);

/* out = function(in; alpha, beta). */
typedef struct tigris_unary_float_params {
    /* tigris_unary_function */
    uint32_t function;
    /* see the function */
    float alpha;
    /* see the function */
    float beta;
} tigris_unary_float_params;
TIGRIS_STATIC_ASSERT(sizeof(tigris_unary_float_params) == 12U, tigris_unary_float_params_size);

/* Bytes of the input, unchanged. */
typedef struct tigris_copy_params {
    /* bytes copied; must equal the input's and the output's */
    uint32_t bytes;
} tigris_copy_params;
TIGRIS_STATIC_ASSERT(sizeof(tigris_copy_params) == 4U, tigris_copy_params_size);

/* Output element at index (i0, …) is input element at sum(i_k * input_step[k]); whole tensors. */
typedef struct tigris_transpose_params {
    /* axes used */
    uint32_t rank;
    /* 1, 2, 4 or 8 */
    uint32_t element_bytes;
    /* unused entries 1 */
    uint32_t output_shape[8];
    /* in elements; unused entries 0 */
    uint32_t input_step[8];
} tigris_transpose_params;
TIGRIS_STATIC_ASSERT(sizeof(tigris_transpose_params) == 72U, tigris_transpose_params_size);

/* Inputs side by side along one axis. */
typedef struct tigris_concat_params {
    /* 0 rows, 1 columns, 2 channels */
    uint32_t axis;
} tigris_concat_params;
TIGRIS_STATIC_ASSERT(sizeof(tigris_concat_params) == 4U, tigris_concat_params_size);

/* QUANTIZE: q = clamp(round(x / scale) + zero_point); DEQUANTIZE: x = (q - zero_point) * scale. The
 * table has the same results, for processors without floating point. DEQUANTIZE: 256 float32, for
 * -128 … 127. QUANTIZE has 255 ascending int32: for each of -127 … 127 the least float32 that gives
 * it. Their bits are compared as integers, so all bits of a negative number but its sign are
 * inverted. */
typedef struct tigris_quantize_params {
    /* positive */
    float scale;
    /* in the quantised type's range */
    int32_t zero_point;
    /* see above */
    uint32_t table;
    /* tigris_rounding of halves; of DEQUANTIZE 0 */
    uint32_t rounding;
} tigris_quantize_params;
TIGRIS_STATIC_ASSERT(sizeof(tigris_quantize_params) == 16U, tigris_quantize_params_size);

/* Output element (row, column, channel) is the input element at the three selected indices. Index i
 * of the output selects index table[i] of the input, or without a table floor((i * numerator +
 * first) / denominator). Where one of the three lies outside the input the output element is fill.
 * The arrays have one entry each for rows, columns and channels. */
typedef struct tigris_select_params {
    /* int32 per output row; 0xFFFFFFFF: no table */
    uint32_t row_table;
    /* int32 per output column; 0xFFFFFFFF: no table */
    uint32_t column_table;
    /* int32 per output channel; 0xFFFFFFFF: no table */
    uint32_t channel_table;
    /* see above; negative to turn round */
    int32_t numerator[3];
    /* see above; at least 1 */
    int32_t denominator[3];
    /* see above */
    int32_t first[3];
    /* bits of the fill value, in the lowest bytes */
    uint32_t fill;
} tigris_select_params;
TIGRIS_STATIC_ASSERT(sizeof(tigris_select_params) == 52U, tigris_select_params_size);

/* Interpolation along rows and columns, per channel. out[r][x] = sum_j sum_i row_weight[r][j] *
 * column_weight[x][i] * in[row_start[r] + j][column_start[x] + i]. Weights are float32; for int8
 * they are int16 with 10 fractional bits. The int8 sum is divided by 2^20, rounding half away from
 * zero, and saturated (TensorFlow Lite's ResizeBilinear). */
typedef struct tigris_resample_params {
    /* rows that add to one output row; at most 64 */
    uint32_t row_taps;
    /* columns that add to one output column; at most 64 */
    uint32_t column_taps;
    /* int32 per output row */
    uint32_t row_start;
    /* [output rows][row_taps] */
    uint32_t row_weight;
    /* int32 per output column */
    uint32_t column_start;
    /* [output columns][column_taps] */
    uint32_t column_weight;
} tigris_resample_params;
TIGRIS_STATIC_ASSERT(sizeof(tigris_resample_params) == 24U, tigris_resample_params_size);

/* Transposed Conv2D, int8: input row i and kernel row k add to output row i * stride + k * dilation
 * - pad. Weights: [out_channels][kernel_height][kernel_width][in_channels / groups]. A phase is the
 * remainders of output row + pad_top and of output column + pad_left by the strides. A bias
 * includes -input_zero_point times the sum of its phase's weights; a tap outside the input counts
 * as input_zero_point. Embeds transpose_conv_shape, output, channel_constants. */
typedef struct tigris_transpose_conv_int8_params {
    uint16_t kernel_height;
    uint16_t kernel_width;
    uint16_t stride_height;
    uint16_t stride_width;
    uint16_t dilation_height;
    uint16_t dilation_width;
    uint16_t pad_top;
    uint16_t pad_left;
    /* groups of channels */
    uint32_t groups;
    /* see above */
    int32_t input_zero_point;
    int32_t output_zero_point;
    int32_t activation_min;
    int32_t activation_max;
    /* int8, see above */
    uint32_t weights;
    /* int32 [stride_height][stride_width][out_channels] */
    uint32_t bias;
    uint32_t multiplier;
    uint32_t shift;
} tigris_transpose_conv_int8_params;
TIGRIS_STATIC_ASSERT(sizeof(tigris_transpose_conv_int8_params) == 52U, tigris_transpose_conv_int8_params_size);

/* Transposed Conv2D, float32. Weights as for int8. Embeds transpose_conv_shape, float_clamp,
 * float_channel_constants. */
typedef struct tigris_transpose_conv_float_params {
    uint16_t kernel_height;
    uint16_t kernel_width;
    uint16_t stride_height;
    uint16_t stride_width;
    uint16_t dilation_height;
    uint16_t dilation_width;
    uint16_t pad_top;
    uint16_t pad_left;
    /* groups of channels */
    uint32_t groups;
    float activation_min;
    float activation_max;
    uint32_t weights;
    uint32_t bias;
} tigris_transpose_conv_float_params;
TIGRIS_STATIC_ASSERT(sizeof(tigris_transpose_conv_float_params) == 36U, tigris_transpose_conv_float_params_size);

/* out = 1 where function(a, b), else 0, in float32, of two int8 tensors in TensorFlow Lite's
 * arithmetic. Each is (q - zero_point) * 256, requantised. Element steps are 0 along broadcast
 * axes. Embeds operands, steps. */
typedef struct tigris_compare_int8_params {
    /* tigris_binary_function from LESS to EQUAL */
    uint32_t function;
    int32_t zero_point[2];
    int32_t multiplier[2];
    int32_t shift[2];
    int32_t row_step[2];
    int32_t column_step[2];
    int32_t channel_step[2];
} tigris_compare_int8_params;
TIGRIS_STATIC_ASSERT(sizeof(tigris_compare_int8_params) == 52U, tigris_compare_int8_params_size);

/* out = function(a, b) of two float32 tensors. Element steps are 0 along broadcast axes. Embeds
 * steps. */
typedef struct tigris_binary_function_params {
    /* tigris_binary_function */
    uint32_t function;
    int32_t row_step[2];
    int32_t column_step[2];
    int32_t channel_step[2];
} tigris_binary_function_params;
TIGRIS_STATIC_ASSERT(sizeof(tigris_binary_function_params) == 28U, tigris_binary_function_params_size);

/* out = a is not 0 ? b : c of three tensors, the first float32. Element steps are 0 along broadcast
 * axes. */
typedef struct tigris_where_params {
    /* elements from one row to the next, of input 0, 1 and 2 */
    int32_t row_step[3];
    /* elements from one column to the next */
    int32_t column_step[3];
    /* elements from one channel to the next, 0 or 1 */
    int32_t channel_step[3];
} tigris_where_params;
TIGRIS_STATIC_ASSERT(sizeof(tigris_where_params) == 36U, tigris_where_params_size);

/* out[o][i] = function over k of in[o][k][i]; all axes of the tensors flattened. SUM, MEAN, MAXIMUM
 * and MINIMUM. SUM and MEAN: sum of (q - input_zero_point), requantised; a mean's multiplier holds
 * its division. MAXIMUM and MINIMUM are elements of the input, unchanged. Embeds reduce_params,
 * output_zero, requantise. */
typedef struct tigris_reduce_int8_params {
    uint32_t function;
    /* elements of one vector, at most 2^22 */
    uint32_t length;
    uint32_t inner;
    /* see above */
    int32_t input_zero_point;
    int32_t output_zero_point;
    int32_t multiplier;
    int32_t shift;
} tigris_reduce_int8_params;
TIGRIS_STATIC_ASSERT(sizeof(tigris_reduce_int8_params) == 28U, tigris_reduce_int8_params_size);

/* out[o][i] = function over k of in[o][k][i]; all axes of the tensors flattened. Sums are
 * compensated (Kahan), so that long vectors lose nothing. Embeds vector_shape. */
typedef struct tigris_reduce_params {
    /* tigris_reduce_function */
    uint32_t function;
    uint32_t length;
    uint32_t inner;
} tigris_reduce_params;
TIGRIS_STATIC_ASSERT(sizeof(tigris_reduce_params) == 12U, tigris_reduce_params_size);

/* out[o][i] = the k at which in[o][k][i] is largest or smallest, as float32; all axes flattened.
 * Embeds vector_shape. */
typedef struct tigris_arg_reduce_params {
    /* 0: the largest element; 1: the smallest */
    uint32_t smallest;
    /* of equal elements 0: the first; 1: the last */
    uint32_t last;
    /* elements of one vector, at most 2^24 */
    uint32_t length;
    uint32_t inner;
} tigris_arg_reduce_params;
TIGRIS_STATIC_ASSERT(sizeof(tigris_arg_reduce_params) == 16U, tigris_arg_reduce_params_size);

/* out[o][k][i] = sum up to k of in[o][k][i] in TensorFlow Lite's arithmetic; all axes flattened. A
 * sum is begin + sum of (q - input_zero_point), times 2^19, modulo 2^32, requantised. Embeds
 * vector_shape, requantise, output_zero. */
typedef struct tigris_cumulative_int8_params {
    uint32_t length;
    uint32_t inner;
    /* 1: without the element itself */
    uint32_t exclusive;
    /* 1: from the last element to the first */
    uint32_t reverse;
    /* see above */
    int32_t begin;
    /* see above */
    int32_t input_zero_point;
    int32_t multiplier;
    int32_t shift;
    int32_t output_zero_point;
} tigris_cumulative_int8_params;
TIGRIS_STATIC_ASSERT(sizeof(tigris_cumulative_int8_params) == 36U, tigris_cumulative_int8_params_size);

/* out[o][k][i] = function of in[o][k][i] and its vector in[o][…][i]; all axes flattened. Embeds
 * vector_shape. */
typedef struct tigris_vector_params {
    /* tigris_vector_function */
    uint32_t function;
    uint32_t length;
    uint32_t inner;
    /* see the function */
    float epsilon;
    /* CUMULATIVE_SUM, 1: without the element itself */
    uint32_t exclusive;
    /* CUMULATIVE_SUM, 1: from the end */
    uint32_t reverse;
} tigris_vector_params;
TIGRIS_STATIC_ASSERT(sizeof(tigris_vector_params) == 24U, tigris_vector_params_size);

/* out[c] = in[c] / (bias + alpha * sum of in[j]^2) ^ beta, j from c - before to c + after, inside
 * the pixel. */
typedef struct tigris_lrn_params {
    /* channels before */
    uint32_t before;
    /* channels after */
    uint32_t after;
    /* already divided by the size of the window */
    float alpha;
    /* exponent */
    float beta;
    /* see above */
    float bias;
} tigris_lrn_params;
TIGRIS_STATIC_ASSERT(sizeof(tigris_lrn_params) == 20U, tigris_lrn_params_size);

/* NORMALISE: each element q of a vector of n becomes (z * factor / 2^32 + offset) / 2^output_bits,
 * rounded down and clamped. z = (n q - S) / sqrt(V) * 2^fraction_bits with S the vector's sum, V =
 * n Q - S^2 + epsilon / 2^variance_bits and Q the sum of squares; not centred: S = n * zero point,
 * and V without S^2 of squares of q - zero point. The reciprocal of sqrt(V) is right to 2^-28,
 * products are rounded down. Tensors are [...][points][groups][channels]; a vector is the points
 * and channels of a group, at most 2^17 elements. */
typedef struct tigris_normalise_int8_params {
    /* see above */
    uint32_t points;
    /* see above */
    uint32_t groups;
    /* see above */
    uint32_t channels;
    /* terms from one point to the next */
    uint32_t point_term_step;
    /* from one group to the next */
    uint32_t group_term_step;
    /* from one channel to the next */
    uint32_t channel_term_step;
    /* 1: the mean is subtracted; 0: the zero point is */
    uint32_t centred;
    /* of the input */
    int32_t input_zero_point;
    /* see above */
    uint32_t fraction_bits;
    /* even, at most 30 */
    uint32_t variance_bits;
    /* low word of epsilon */
    uint32_t epsilon_low;
    /* high word of epsilon */
    uint32_t epsilon_high;
    /* at most 31 */
    uint32_t output_bits;
    /* pairs of int32: factor, and offset with the zero point and half a step */
    uint32_t terms;
} tigris_normalise_int8_params;
TIGRIS_STATIC_ASSERT(sizeof(tigris_normalise_int8_params) == 56U, tigris_normalise_int8_params_size);

/* TensorFlow Lite's BatchMatMul of int8: sums of (a - zero_point) * (b - zero_point), requantised.
 * Embeds product_shape, scaled_output. */
typedef struct tigris_mat_mul_int8_params {
    uint32_t batch[3];
    uint32_t rows;
    /* terms of a sum, at most 32768 */
    uint32_t depth;
    uint32_t columns;
    uint32_t batch_step_a[3];
    uint32_t row_step_a;
    uint32_t depth_step_a;
    uint32_t batch_step_b[3];
    uint32_t depth_step_b;
    uint32_t column_step_b;
    uint32_t interleaved;
    /* of A and B */
    int32_t zero_point[2];
    int32_t output_zero_point;
    int32_t output_multiplier;
    int32_t output_shift;
    int32_t activation_min;
    int32_t activation_max;
} tigris_mat_mul_int8_params;
TIGRIS_STATIC_ASSERT(sizeof(tigris_mat_mul_int8_params) == 96U, tigris_mat_mul_int8_params_size);

/* out = sum over k of A[b…, r, k] * B[b…, k, c], elements at the given steps. Embeds product_shape,
 * float_clamp. */
typedef struct tigris_mat_mul_float_params {
    uint32_t batch[3];
    uint32_t rows;
    uint32_t depth;
    uint32_t columns;
    uint32_t batch_step_a[3];
    uint32_t row_step_a;
    uint32_t depth_step_a;
    uint32_t batch_step_b[3];
    uint32_t depth_step_b;
    uint32_t column_step_b;
    uint32_t interleaved;
    float activation_min;
    float activation_max;
} tigris_mat_mul_float_params;
TIGRIS_STATIC_ASSERT(sizeof(tigris_mat_mul_float_params) == 76U, tigris_mat_mul_float_params_size);

/* Elements in another type. To integers: truncated and saturated, NaN becomes 0; to BOOL: 0 or 1. */
typedef struct tigris_cast_params {
    /* tigris_dtype of the input */
    uint32_t source;
    /* tigris_dtype of the output */
    uint32_t target;
} tigris_cast_params;
TIGRIS_STATIC_ASSERT(sizeof(tigris_cast_params) == 8U, tigris_cast_params_size);

/* out[c] += sum over rows and columns of in[row][column][c], from 0 at row 0; the output is folded.
 * INT8: int32 sums of the stored values. FLOAT32: in the order of rows, then columns. */
typedef struct tigris_sum_map_params {
    /* elements in each sum: height * width of the input */
    uint32_t taps;
} tigris_sum_map_params;
TIGRIS_STATIC_ASSERT(sizeof(tigris_sum_map_params) == 4U, tigris_sum_map_params_size);

/* sums[o] += sum_i weights[row][o][i] * in[row][i], from bias[o] at row 0; the output is folded. A
 * fully connected layer of a whole map, row by row. INT8: int32 sums, the zero point folded into
 * the bias. */
typedef struct tigris_sum_products_params {
    /* elements of an input row */
    uint32_t in_features;
    /* sums */
    uint32_t out_features;
    /* [rows][out_features][in_features]; int8: each row's packed as SPEC.md section 6 says */
    uint32_t weights;
    /* int32 or float32 per output */
    uint32_t bias;
} tigris_sum_products_params;
TIGRIS_STATIC_ASSERT(sizeof(tigris_sum_products_params) == 16U, tigris_sum_products_params_size);

/* out[o] = requantise(sums[o]), of the last row of sums. Embeds sums_output, sums_factors. */
typedef struct tigris_scale_sums_int8_params {
    uint32_t requantise_step;
    int32_t output_zero_point;
    int32_t activation_min;
    int32_t activation_max;
    uint32_t multiplier;
    uint32_t shift;
} tigris_scale_sums_int8_params;
TIGRIS_STATIC_ASSERT(sizeof(tigris_scale_sums_int8_params) == 24U, tigris_scale_sums_int8_params_size);

/* out[o] = clamp(sums[o]), of the last row of sums. Embeds float_clamp. */
typedef struct tigris_scale_sums_float_params {
    float activation_min;
    float activation_max;
} tigris_scale_sums_float_params;
TIGRIS_STATIC_ASSERT(sizeof(tigris_scale_sums_float_params) == 8U, tigris_scale_sums_float_params_size);

/* Without rescale: the sum divided by taps, rounding half away from zero. With rescale: (sum - taps
 * * input_zero_point) is requantised, then output_zero_point is added. Embeds output. */
typedef struct tigris_mean_of_sums_int8_params {
    /* elements in each sum, at most 2^22 */
    uint32_t taps;
    /* 1: TensorFlow Lite's MEAN, or scales that differ; 2: halves up, as in uint8 */
    uint32_t rescale;
    /* see above */
    int32_t input_zero_point;
    /* see above */
    int32_t output_zero_point;
    int32_t activation_min;
    int32_t activation_max;
    /* Q0.31; with rescale only */
    int32_t multiplier;
    /* positive: left; with rescale only */
    int32_t shift;
} tigris_mean_of_sums_int8_params;
TIGRIS_STATIC_ASSERT(sizeof(tigris_mean_of_sums_int8_params) == 32U, tigris_mean_of_sums_int8_params_size);

/* out[c] = clamp(sum[c] / taps). Embeds float_clamp. */
typedef struct tigris_mean_of_sums_float_params {
    /* elements in each sum */
    uint32_t taps;
    float activation_min;
    float activation_max;
} tigris_mean_of_sums_float_params;
TIGRIS_STATIC_ASSERT(sizeof(tigris_mean_of_sums_float_params) == 12U, tigris_mean_of_sums_float_params_size);

/* TABLE_CONV_2D: as CONV_2D, with packed indices for weights. Scratch holds the int8 weights of a
 * pass. Embeds conv_int8_params. */
typedef struct tigris_table_conv_int8_params {
    uint16_t kernel_height;
    uint16_t kernel_width;
    uint16_t stride_height;
    uint16_t stride_width;
    uint16_t dilation_height;
    uint16_t dilation_width;
    uint16_t pad_left;
    uint16_t groups;
    int32_t input_zero_point;
    int32_t output_zero_point;
    int32_t activation_min;
    int32_t activation_max;
    uint32_t weights;
    uint32_t bias;
    uint32_t multiplier;
    uint32_t shift;
    /* 16 values of int8, or 16 for each out channel */
    uint32_t tables;
    /* bytes from a channel's table to the next channel's: 16, or 0 with one table */
    uint32_t table_step;
    /* out channels of a pass, a multiple of 4 */
    uint32_t pass_channels;
} tigris_table_conv_int8_params;
TIGRIS_STATIC_ASSERT(sizeof(tigris_table_conv_int8_params) == 60U, tigris_table_conv_int8_params_size);

/* TABLE_FULLY_CONNECTED: as FULLY_CONNECTED, with packed indices for weights. Scratch holds 256
 * pairs of values. Embeds fully_connected_int8_params. */
typedef struct tigris_table_fully_connected_int8_params {
    uint32_t rows;
    uint32_t in_features;
    uint32_t out_features;
    uint32_t requantise_step;
    int32_t output_zero_point;
    int32_t activation_min;
    int32_t activation_max;
    uint32_t weights;
    uint32_t bias;
    uint32_t multiplier;
    uint32_t shift;
    /* 16 values of int8, above -128 */
    uint32_t table;
} tigris_table_fully_connected_int8_params;
TIGRIS_STATIC_ASSERT(sizeof(tigris_table_fully_connected_int8_params) == 48U, tigris_table_fully_connected_int8_params_size);

/* The larger or the smaller of two int8 elements of one scale. Element steps are 0 along broadcast
 * axes. Embeds steps. */
typedef struct tigris_extreme_params {
    /* 0: the larger; 1: the smaller */
    uint32_t smallest;
    int32_t row_step[2];
    int32_t column_step[2];
    int32_t channel_step[2];
} tigris_extreme_params;
TIGRIS_STATIC_ASSERT(sizeof(tigris_extreme_params) == 28U, tigris_extreme_params_size);

/* q >= zero_point[0]: table[q + 128]; else (q - zero_point[0]) * (slope - zero_point[1]),
 * requantised. Element steps are 0 along broadcast axes. Embeds requantise, output_zero, steps. */
typedef struct tigris_prelu_int8_params {
    /* of the input and the slopes */
    int32_t zero_point[2];
    int32_t multiplier;
    int32_t shift;
    int32_t output_zero_point;
    /* 256 int8 values; those below zero_point[0] are not read */
    uint32_t table;
    int32_t row_step[2];
    int32_t column_step[2];
    int32_t channel_step[2];
} tigris_prelu_int8_params;
TIGRIS_STATIC_ASSERT(sizeof(tigris_prelu_int8_params) == 48U, tigris_prelu_int8_params_size);

/* Quotients of two int8 tensors in TensorFlow Lite's arithmetic. Element steps are 0 along
 * broadcast axes. a and b are the inputs less their zero points, both negated if b is negative.
 * h(v) = headroom[v + 256], and x * y is the rounding doubling high multiply. The output is ((a <<
 * h(a)) * reciprocal[b] / 2) * multiplier, shifted right by power[b] + h(a) + 1, halves away from
 * zero. A quotient by 0 saturates; 0 by 0 is 0. Embeds output, steps. */
typedef struct tigris_divide_int8_params {
    /* of input 0 and 1 */
    int32_t zero_point[2];
    /* Q0.31 */
    int32_t multiplier;
    /* added last */
    int32_t output_zero_point;
    int32_t activation_min;
    int32_t activation_max;
    /* 512 int8, for -256 … 255 as int32: leading sign bits less one */
    uint32_t headroom;
    /* 256 int8: the power of two in each of 0 … 255, less the shift of the scale and 1; -64 of 0 */
    uint32_t power;
    /* 256 uint32: of 0 … 255, each times its power of two, in Q0.32 */
    uint32_t reciprocal;
    /* shifts s beyond 31 bits: 0 gives 0; 1 gives TFLM's result on x86: (x >> s % 32) + (x >= 0) */
    uint32_t modulo;
    int32_t row_step[2];
    int32_t column_step[2];
    int32_t channel_step[2];
} tigris_divide_int8_params;
TIGRIS_STATIC_ASSERT(sizeof(tigris_divide_int8_params) == 64U, tigris_divide_int8_params_size);

/* ASYMMETRIC_CONV_2D: as CONV_2D, and weight_zero_points[c] * (sum of a pixel's taps) is subtracted
 * from each sum. The bias holds -input_zero_point * sum of the channel's weights less their zero
 * point. ASYMMETRIC_DEPTHWISE_CONV_2D has the record of DEPTHWISE_CONV_2D and weights of int16, not
 * packed, less their zero points. Embeds conv_int8_params. */
typedef struct tigris_asymmetric_conv_int8_params {
    uint16_t kernel_height;
    uint16_t kernel_width;
    uint16_t stride_height;
    uint16_t stride_width;
    uint16_t dilation_height;
    uint16_t dilation_width;
    uint16_t pad_left;
    uint16_t groups;
    int32_t input_zero_point;
    int32_t output_zero_point;
    int32_t activation_min;
    int32_t activation_max;
    uint32_t weights;
    uint32_t bias;
    uint32_t multiplier;
    uint32_t shift;
    /* int8 per out channel */
    uint32_t weight_zero_points;
} tigris_asymmetric_conv_int8_params;
TIGRIS_STATIC_ASSERT(sizeof(tigris_asymmetric_conv_int8_params) == 52U, tigris_asymmetric_conv_int8_params_size);

/* As FULLY_CONNECTED, but weight_zero_points[o] * (sum of the vector) is subtracted from each sum.
 * Embeds fully_connected_int8_params. */
typedef struct tigris_asymmetric_fully_connected_int8_params {
    uint32_t rows;
    uint32_t in_features;
    uint32_t out_features;
    uint32_t requantise_step;
    int32_t output_zero_point;
    int32_t activation_min;
    int32_t activation_max;
    uint32_t weights;
    uint32_t bias;
    uint32_t multiplier;
    uint32_t shift;
    /* int8 per output */
    uint32_t weight_zero_points;
} tigris_asymmetric_fully_connected_int8_params;
TIGRIS_STATIC_ASSERT(sizeof(tigris_asymmetric_fully_connected_int8_params) == 48U, tigris_asymmetric_fully_connected_int8_params_size);

/* The input whose rows FETCH asks the caller for, or the output whose rows TAKE gives to the
 * caller. The operator's output view has a pace that completes it in the stage's bands, and no
 * window or one that keeps rows. Each row is therefore made once, in order, up to the last. */
typedef struct tigris_rows_params {
    /* index of the input or of the output, which the session's hooks receive */
    uint32_t port;
} tigris_rows_params;
TIGRIS_STATIC_ASSERT(sizeof(tigris_rows_params) == 4U, tigris_rows_params_size);

/* The output is a state. Its new value is its last kept_bytes bytes, then the bytes of the first
 * input. The second input is a constant: the value at the start of a session, repeated until the
 * state is full. Without a second input every byte is fill. The other fields are for the host, as
 * in an I/O record. */
typedef struct tigris_commit_params {
    /* bytes of the state that stay and move to its start; fewer than all */
    uint32_t kept_bytes;
    /* first value of every byte, where there is no second input */
    uint8_t fill;
    /* tigris_dtype of the model's own tensor */
    uint8_t model_dtype;
    /* dimensions used in shape */
    uint8_t rank;
    /* dimensions used in stored_shape and permutation */
    uint8_t stored_rank;
    /* the model's own shape; unused entries 0 */
    uint32_t shape[8];
    /* shape of the stored data; unused entries 0 */
    uint32_t stored_shape[8];
    /* permuted axis i is stored axis permutation[i] */
    uint8_t permutation[8];
} tigris_commit_params;
TIGRIS_STATIC_ASSERT(sizeof(tigris_commit_params) == 80U, tigris_commit_params_size);

/* state(t) = cell(in(t), state(t - 1)); the operands behind the input hold state(-1): hidden, and
 * an LSTM's cell. A state is [batch][units] of the hidden values, for LSTM [batch][2][units]:
 * hidden, then cell. An output row has the states of all steps steps of an input row, or only the
 * last one; each row continues where the row before ended. With several rows each has one step, and
 * the operator has one more operand: its own output, one row late. Tensors, bias and peepholes are
 * float32; weights of INT8 are int8 with one scale a gate and unit. Scratch: float32 [units], GRU
 * [2 * units]. Embeds recurrent_shape. */
typedef struct tigris_recurrent_params {
    uint32_t cell;
    uint32_t steps;
    uint32_t batch;
    uint32_t inputs;
    uint32_t units;
    /* 1: from the last step to the first; of one row only */
    uint32_t reverse;
    /* GRU, 1: the reset gate acts on the product, not on the state */
    uint32_t linear_before_reset;
    /* LSTM, 1: the forget gate is 1 - the input gate */
    uint32_t coupled;
    /* arguments of activations stay within -clip and clip; inf: none */
    float clip;
    /* LSTM: the cell's values stay within -cell_clip and cell_clip; inf: any */
    float cell_clip;
    /* tigris_recurrent_function of gates, candidate and, for LSTM, output */
    uint32_t function[3];
    /* of each function */
    float alpha[3];
    /* of each function */
    float beta[3];
    /* [gate][unit][inputs] */
    uint32_t input_weights;
    /* [gate][unit][units] */
    uint32_t recurrent_weights;
    /* [gate][unit], GRU one more [unit] inside the reset gate's product, for linear_before_reset */
    uint32_t bias;
    /* LSTM: input, output, forget [unit] each */
    uint32_t peepholes;
    /* INT8: [gate][unit] */
    uint32_t input_scales;
    /* INT8: [gate][unit] */
    uint32_t recurrent_scales;
} tigris_recurrent_params;
TIGRIS_STATIC_ASSERT(sizeof(tigris_recurrent_params) == 100U, tigris_recurrent_params_size);

/* out[o][k][i] = in[o][position][i], all axes flattened; position = positions[o * s0 + k * s1 + i *
 * s2]. Negative positions count from the end. A position outside is moved to the nearest inside;
 * NaN is the first. */
typedef struct tigris_gather_params {
    /* slices before the axis */
    uint32_t outer;
    /* elements along the axis */
    uint32_t length;
    /* elements behind the axis */
    uint32_t inner;
    /* positions taken along the axis */
    uint32_t count;
    /* s0, s1, s2 */
    uint32_t position_step[3];
} tigris_gather_params;
TIGRIS_STATIC_ASSERT(sizeof(tigris_gather_params) == 28U, tigris_gather_params_size);

/* out[o][r][i] = the k at which in[o][k][i] is the r-th largest or smallest, as float32; all axes
 * flattened. Equal elements keep their order; NaN comes last. The output is one row. Embeds
 * vector_shape. */
typedef struct tigris_top_k_params {
    /* 0: the largest elements; 1: the smallest */
    uint32_t smallest;
    /* positions of a vector, at most its length */
    uint32_t count;
    /* elements of one vector, at most 2^24 */
    uint32_t length;
    uint32_t inner;
} tigris_top_k_params;
TIGRIS_STATIC_ASSERT(sizeof(tigris_top_k_params) == 16U, tigris_top_k_params_size);

/* Non-maximum suppression: the best boxes of each class that overlap no better box by more than
 * threshold. Inputs: boxes [boxes][4] of lowest row and column and highest row and column, and
 * scores [boxes][classes]. Output, one row: [count][3] of class, box and score, class by class, the
 * best first; unused entries are -1, -1, 0. The overlap of two boxes is the area of their
 * intersection divided by that of their union, 0 if a box has no area. Scratch: a byte a box. */
typedef struct tigris_suppress_params {
    /* at most 65535 */
    uint32_t boxes;
    /* at most 65535 */
    uint32_t classes;
    /* boxes found at most, 65535 or fewer */
    uint32_t count;
    /* boxes of one class at most */
    uint32_t per_class;
    /* 1: scores equal to the threshold count as well */
    uint32_t inclusive;
    /* 1: the best count of all classes, by their scores */
    uint32_t by_score;
    /* scores are greater */
    float score_threshold;
    /* boxes that overlap a better one by more are left out */
    float threshold;
} tigris_suppress_params;
TIGRIS_STATIC_ASSERT(sizeof(tigris_suppress_params) == 32U, tigris_suppress_params_size);

/* out = in; then out[o][position][i] = update[o][k][i], one k after the other, all axes flattened.
 * The position is positions[o * s0 + k * s1 + i * s2]; a negative one counts from the end. An
 * update is skipped if its position is outside or NaN. Only FLOAT32 combines instead of replacing.
 * The output is one row. Embeds gather_params. */
typedef struct tigris_scatter_params {
    uint32_t outer;
    uint32_t length;
    uint32_t inner;
    /* positions along the axis */
    uint32_t count;
    uint32_t position_step[3];
    /* 0: replaced; 1: sum, 2: product, 3: larger, 4: smaller of old and update */
    uint32_t combine;
} tigris_scatter_params;
TIGRIS_STATIC_ASSERT(sizeof(tigris_scatter_params) == 32U, tigris_scatter_params_size);

/* Conv2D and depthwise Conv2D of int16, with sums and biases of 64 bits. With sum_bits 64, out =
 * (sum * multiplier + half) >> (15 - shift), and the multiplier is in Q0.15. With sum_bits 32 the
 * lowest 32 bits of the sum are requantised by a multiplier in Q0.31. Weights are not packed:
 * [out_channels][kernel_height][kernel_width][in_channels / groups] for CONV_2D,
 * [kernel_height][kernel_width][out_channels] for DEPTHWISE_CONV_2D. Padded taps are 0. Embeds
 * conv_shape, clamp, wide_channel_constants. */
typedef struct tigris_conv_int16_params {
    uint16_t kernel_height;
    uint16_t kernel_width;
    uint16_t stride_height;
    uint16_t stride_width;
    uint16_t dilation_height;
    uint16_t dilation_width;
    uint16_t pad_left;
    uint16_t groups;
    /* 32 or 64: how sums are requantised */
    uint16_t sum_bits;
    /* 1: weights are int8; 2: int16, of CONV_2D */
    uint16_t weight_bytes;
    int32_t activation_min;
    int32_t activation_max;
    /* int8 or int16, see above */
    uint32_t weights;
    uint32_t bias;
    uint32_t multiplier;
    /* int8 per out channel; at most 14 of 64 bits */
    uint32_t shift;
} tigris_conv_int16_params;
TIGRIS_STATIC_ASSERT(sizeof(tigris_conv_int16_params) == 44U, tigris_conv_int16_params_size);

/* out[r][o] = requantise(bias[o] + sum_i weights[o][i] * in[r][i]); sums as in
 * tigris_conv_int16_params. Embeds dense_shape, clamp. */
typedef struct tigris_fully_connected_int16_params {
    uint32_t rows;
    uint32_t in_features;
    uint32_t out_features;
    /* 32 or 64: how sums are requantised */
    uint32_t sum_bits;
    int32_t activation_min;
    int32_t activation_max;
    /* int8 [out_features][in_features], not packed */
    uint32_t weights;
    /* int64 per output */
    uint32_t bias;
    /* int32 per output, Q0.31 or Q0.15 */
    uint32_t multiplier;
    /* int8 per output */
    uint32_t shift;
} tigris_fully_connected_int16_params;
TIGRIS_STATIC_ASSERT(sizeof(tigris_fully_connected_int16_params) == 40U, tigris_fully_connected_int16_params_size);

/* out[r][o] = clamp(scale[o] * (bias[o] + sum_i weights[o][i] * in[r][i])): int8 in, sums of int32,
 * float32 out. Embeds dense_shape, float_clamp. */
typedef struct tigris_fully_connected_int32_params {
    uint32_t rows;
    uint32_t in_features;
    uint32_t out_features;
    /* 0: one scale for all outputs; 1: one per output */
    uint32_t scale_step;
    float activation_min;
    float activation_max;
    /* int8 [out_features][in_features], packed as SPEC.md section 6 says */
    uint32_t weights;
    /* int32 per output, the input's zero point folded in */
    uint32_t bias;
    /* float32, the input's times the weights' */
    uint32_t scale;
} tigris_fully_connected_int32_params;
TIGRIS_STATIC_ASSERT(sizeof(tigris_fully_connected_int32_params) == 36U, tigris_fully_connected_int32_params_size);

/* Softmax over vectors of length contiguous int16; the output's scale is 2^-15. As TensorFlow Lite
 * computes it: differences to the largest, requantised so that -65535 is -10, pass a table of
 * exponentials. The sum's reciprocal comes from a table of 1 / (1 + x). Entry t[i] is for the input
 * 128 * (i - 256); f steps above it the result is t[i] + ((t[i + 1] - t[i]) * f + 64) >> 7
 * (LUTLookup). Embeds requantise. */
typedef struct tigris_softmax_int16_params {
    /* elements of one vector, at most 65536 */
    uint32_t length;
    int32_t multiplier;
    int32_t shift;
    /* 513 int16, Q0.15: exp(x) of -10 … 0 */
    uint32_t exponentials;
    /* 513 int16, Q0.15: 1 / (1 + x) of 0 … 1 */
    uint32_t reciprocals;
} tigris_softmax_int16_params;
TIGRIS_STATIC_ASSERT(sizeof(tigris_softmax_int16_params) == 20U, tigris_softmax_int16_params_size);

/* Any function of one int16, piecewise linear: the table has values at -32768, -32640, … 32768, 4
 * fraction bits. With t = table + 256 + (in >> 7) and f = in & 127: clamp((128 * t[0] + f * (t[1] -
 * t[0]) + 1024) >> 11). */
typedef struct tigris_lookup_int16_params {
    /* 513 int32, from -2^22 to 2^22 */
    uint32_t table;
} tigris_lookup_int16_params;
TIGRIS_STATIC_ASSERT(sizeof(tigris_lookup_int16_params) == 4U, tigris_lookup_int16_params_size);

/* QUANTIZE: q = clamp(round(x / scale) + zero_point); DEQUANTIZE: x = (q - zero_point) * scale. */
typedef struct tigris_quantize_int16_params {
    /* positive */
    float scale;
    /* an int16 */
    int32_t zero_point;
    /* tigris_rounding of halves; of DEQUANTIZE 0 */
    uint32_t rounding;
} tigris_quantize_int16_params;
TIGRIS_STATIC_ASSERT(sizeof(tigris_quantize_int16_params) == 12U, tigris_quantize_int16_params_size);

/* Transposed Conv2D of int16, as TRANSPOSE_CONV of int8; sums as in tigris_conv_int16_params.
 * Embeds transpose_conv_shape, clamp, wide_channel_constants. */
typedef struct tigris_transpose_conv_int16_params {
    uint16_t kernel_height;
    uint16_t kernel_width;
    uint16_t stride_height;
    uint16_t stride_width;
    uint16_t dilation_height;
    uint16_t dilation_width;
    uint16_t pad_top;
    uint16_t pad_left;
    /* groups of channels */
    uint16_t groups;
    /* 32 or 64: how sums are requantised */
    uint16_t sum_bits;
    int32_t activation_min;
    int32_t activation_max;
    /* int8 [out_channels][kernel_height][kernel_width][in_channels / groups] */
    uint32_t weights;
    uint32_t bias;
    uint32_t multiplier;
    uint32_t shift;
} tigris_transpose_conv_int16_params;
TIGRIS_STATIC_ASSERT(sizeof(tigris_transpose_conv_int16_params) == 44U, tigris_transpose_conv_int16_params_size);

/* TensorFlow Lite's BatchMatMul of int16: sums of 64 bits, as in tigris_conv_int16_params. Embeds
 * product_shape, clamp. */
typedef struct tigris_mat_mul_int16_params {
    uint32_t batch[3];
    uint32_t rows;
    uint32_t depth;
    uint32_t columns;
    uint32_t batch_step_a[3];
    uint32_t row_step_a;
    uint32_t depth_step_a;
    uint32_t batch_step_b[3];
    uint32_t depth_step_b;
    uint32_t column_step_b;
    uint32_t interleaved;
    /* Q0.15 */
    int32_t output_multiplier;
    /* positive: left; at most 14 */
    int32_t output_shift;
    int32_t activation_min;
    int32_t activation_max;
} tigris_mat_mul_int16_params;
TIGRIS_STATIC_ASSERT(sizeof(tigris_mat_mul_int16_params) == 84U, tigris_mat_mul_int16_params_size);

/* LSTM of int8 with a cell of int16, as TensorFlow Lite Micro computes it; steps and rows as in
 * recurrent_params. The operands behind the input hold hidden, int8, and cell, int16, before the
 * first step. A state is int8 [batch][3 * units]: hidden, then the cell's values as two bytes each.
 * Gates are input, forget, cell, output. Each is sigmoid(i + h), the third tanh(i + h): i is the
 * product of its weights and the input, h that of its recurrent weights and hidden. Both are
 * requantised to Q3.12 and clamped to int16, as is their sum. Functions give Q0.15 by the table:
 * sigmoid(x) at 3 * x / 2^9 of it, tanh(x) at 3 * x / 2^8. Then cell = clamp(forget * cell / 2^15 +
 * input * tanh), hidden = output * tanh(cell), requantised. Scratch: int16 [units][4]. Embeds
 * recurrent_shape, output_zero. */
typedef struct tigris_recurrent_int16_params {
    /* tigris_recurrent_cell: LSTM */
    uint32_t cell;
    uint32_t steps;
    uint32_t batch;
    uint32_t inputs;
    uint32_t units;
    /* 0 */
    uint32_t reverse;
    /* int8 [unit][gate][inputs], packed as SPEC.md section 6 says */
    uint32_t input_weights;
    /* int8 [unit][gate][units], packed alike */
    uint32_t recurrent_weights;
    /* int32 [unit][gate], zero point folded in */
    uint32_t input_bias;
    /* int32 [unit][gate]: correction for the zero point */
    uint32_t recurrent_bias;
    /* 256 uint16: sigmoid(place / 24) in Q0.16 */
    uint32_t table;
    /* Q0.31, of each gate */
    int32_t input_multiplier[4];
    /* positive: left */
    int32_t input_shift[4];
    /* Q0.31, of each gate */
    int32_t recurrent_multiplier[4];
    /* positive: left */
    int32_t recurrent_shift[4];
    /* Q0.31: from Q0.30 to the cell's scale */
    int32_t cell_multiplier;
    /* positive: left */
    int32_t cell_shift;
    /* lowest value of the cell */
    int32_t cell_min;
    /* highest value of the cell */
    int32_t cell_max;
    /* of the cell's value before its tanh, whose place is this / 2^tanh_shift / 2^8 */
    uint32_t tanh_multiplier;
    /* right, rounded; at most 31 */
    uint32_t tanh_shift;
    /* Q0.31: from Q0.30 to hidden's scale */
    int32_t output_multiplier;
    /* positive: left */
    int32_t output_shift;
    int32_t output_zero_point;
} tigris_recurrent_int16_params;
TIGRIS_STATIC_ASSERT(sizeof(tigris_recurrent_int16_params) == 144U, tigris_recurrent_int16_params_size);

/* TensorFlow Lite's logistic function and tanh of int16. The output's scale is 2^-15. x = (in *
 * multiplier + half) >> shift. Results lie on straight lines between the table's entries, one for
 * each 512 (tanh: 256) steps of |x|; they are 1 from the last entry on. */
typedef struct tigris_logistic_int16_params {
    /* at most 32767; the table's steps are 1 / 24 */
    int32_t multiplier;
    /* 0 … 31, to the right */
    int32_t shift;
    /* 0: 1 / (1 + exp(-x)); 1: tanh(x) */
    uint32_t hyperbolic;
    /* 256 uint16: 65536 / (1 + exp(-i / 24)) */
    uint32_t table;
} tigris_logistic_int16_params;
TIGRIS_STATIC_ASSERT(sizeof(tigris_logistic_int16_params) == 16U, tigris_logistic_int16_params_size);

/* out = clamp(requantise(in - input_zero_point) + output_zero_point), from int8 or int16 to int8 or
 * int16. Differences of 0 and above have the first multiplier and shift, those below the second.
 * Embeds output_zero, clamp. */
typedef struct tigris_rescale_params {
    /* of the input */
    int32_t input_zero_point;
    int32_t output_zero_point;
    /* Q0.31 */
    int32_t multiplier[2];
    /* positive: left */
    int32_t shift[2];
    /* the results whose sign changes, 1: of differences from 0 up, 2: of negative ones, 3: of all;
     * 4: negative differences change theirs before they are scaled */
    uint32_t negate;
    int32_t activation_min;
    int32_t activation_max;
} tigris_rescale_params;
TIGRIS_STATIC_ASSERT(sizeof(tigris_rescale_params) == 36U, tigris_rescale_params_size);

/* Levels of frequency bands from int16 samples: window, Fourier transform, weighted sums of
 * energies, square root. Samples are multiplied by the window's elements, shifted right, and
 * together shifted left as far as 16 bits allow. The root of a band is shifted right by as many
 * bits. Output b - 1 is that of band b. The band sums the energies of its bins times their first
 * weight, and those of the bins of band b - 1 times their second. */
typedef struct tigris_spectrum_params {
    /* elements of the input, at most points */
    uint32_t samples;
    /* of the transform: a power of two, 4 to 32768 */
    uint32_t points;
    /* of products with the window, 0 to 31 */
    uint32_t shift;
    /* pairs of weights */
    uint32_t weight_count;
    /* int16, one a sample */
    uint32_t window;
    /* int16, points: 32767 sin(2 pi i / points) */
    uint32_t sine;
    /* uint16, first bin and number of bins of bands 0 to the number of outputs */
    uint32_t bands;
    /* uint16, two a bin, band by band */
    uint32_t weights;
} tigris_spectrum_params;
TIGRIS_STATIC_ASSERT(sizeof(tigris_spectrum_params) == 32U, tigris_spectrum_params_size);

/* A function of levels, uint32 that tensors hold as int32. */
typedef struct tigris_level_params {
    /* tigris_level_function */
    uint32_t function;
    /* NOISE: of the level, in even and odd channels */
    uint32_t share[2];
    /* NOISE: of the noise before */
    uint32_t rest[2];
    /* LOUDER: the least share of the level that is kept; LOG: factor of the logarithm */
    uint32_t factor;
    /* shift of levels to the left, 0 to 31 */
    uint32_t up_bits;
    /* shift of products to the right, 0 to 63 */
    uint32_t down_bits;
    /* NOISE: 1: at most the level */
    uint32_t clamp;
    /* GAIN: 125 int16; LOG: 130 uint16 */
    uint32_t table;
    /* LOG to int8: 255 uint16, ascending; the output is -128 and one for each that is reached */
    uint32_t steps;
} tigris_level_params;
TIGRIS_STATIC_ASSERT(sizeof(tigris_level_params) == 44U, tigris_level_params_size);

/* ADD and SUB with packing PIE: inputs have the output's shape, the words give the bytes of the
 * other fields. out = saturated((256 * factor[0] * a + 256 * factor[1] * b + 2^14 * offset) >> 35).
 * A word holds two signed halves of 16 bits; its value is upper * 65536 + lower. The factor of
 * SUB's second input is negative. Embeds binary_int8_params. */
typedef struct tigris_pie_sum_int8_params {
    int32_t zero_point[2];
    int32_t multiplier[2];
    int32_t shift[2];
    int32_t left_shift;
    int32_t output_zero_point;
    int32_t output_multiplier;
    int32_t output_shift;
    int32_t activation_min;
    int32_t activation_max;
    int32_t row_step[2];
    int32_t column_step[2];
    int32_t channel_step[2];
    /* factor of input 0 and 1, offset */
    int32_t words[3];
} tigris_pie_sum_int8_params;
TIGRIS_STATIC_ASSERT(sizeof(tigris_pie_sum_int8_params) == 84U, tigris_pie_sum_int8_params_size);

#endif
