/* The .tgrs plan format, generated from tigris_pio/format by python -m tigris_pio.format.c_header.
 * Do not edit. All integers are little-endian; SPEC.md explains how the records work together. */
#ifndef TIGRIS_FORMAT_H
#define TIGRIS_FORMAT_H

#include <stdint.h>

/* C99 has no _Static_assert: a negative array size does the same. */
#define TIGRIS_STATIC_ASSERT(condition, name) typedef char tigris_assert_##name[(condition) ? 1 : -1]

#define TIGRIS_FORMAT_VERSION 1U
#define TIGRIS_SECTION_ALIGNMENT 16U
#define TIGRIS_CRC_COVERS_FROM 20U
#define TIGRIS_MAX_RANK 8U
#define TIGRIS_VIEW_STATE_BYTES 16U

/* Element type of a tensor, and of an operator's arithmetic. */
typedef enum tigris_dtype {
    TIGRIS_DTYPE_INT8 = 1,
    TIGRIS_DTYPE_UINT8 = 2,
    TIGRIS_DTYPE_INT16 = 3,
    TIGRIS_DTYPE_INT32 = 4,
    TIGRIS_DTYPE_INT64 = 5,
    TIGRIS_DTYPE_FLOAT32 = 6,
    TIGRIS_DTYPE_BOOL = 7
} tigris_dtype;

/* The memory that holds a whole tensor between stages. */
typedef enum tigris_home {
    /* nowhere: it exists only inside one stage, in that stage's view */
    TIGRIS_HOME_NONE = 0,
    /* at home_offset of the fast arena */
    TIGRIS_HOME_FAST = 1,
    /* at home_offset of the slow arena */
    TIGRIS_HOME_SLOW = 2,
    /* a constant at home_offset of the weights section */
    TIGRIS_HOME_FLASH = 3
} tigris_home;

/* How a stage runs. Informational: the executor's loop is the same for all. */
typedef enum tigris_strategy {
    /* one band of full height */
    TIGRIS_STRATEGY_NORMAL = 0,
    /* bands of one operator */
    TIGRIS_STRATEGY_TILED = 1,
    /* bands through several operators, halo rows computed again */
    TIGRIS_STRATEGY_CHAIN = 2,
    /* bands through several operators, halo rows kept: nothing is computed twice */
    TIGRIS_STRATEGY_ROLLING = 3
} tigris_strategy;

/* Where a stage's operators find their weights. */
typedef enum tigris_weight_mode {
    /* read from the plan itself (XIP) */
    TIGRIS_WEIGHT_MODE_IN_PLACE = 0,
    /* copied to the fast arena before the stage runs */
    TIGRIS_WEIGHT_MODE_COPY = 1,
    /* one LZ4 block, decompressed to the fast arena before the stage runs */
    TIGRIS_WEIGHT_MODE_LZ4 = 2
} tigris_weight_mode;

/* Header flags. */
typedef enum tigris_header_flag {
    /* every stage's weights are read in place */
    TIGRIS_HEADER_FLAG_XIP = 1,
    /* some input is streamed: the session needs fetch_rows */
    TIGRIS_HEADER_FLAG_FETCHES = 2,
    /* some output is streamed: the session needs take_rows */
    TIGRIS_HEADER_FLAG_TAKES = 4,
    /* float32 inputs are quantised with Rounding.HALF_AWAY */
    TIGRIS_HEADER_FLAG_HALF_AWAY = 8
} tigris_header_flag;

/* Rounding of halves when float32 becomes an integer. */
typedef enum tigris_rounding {
    /* the even neighbour: ONNX's QuantizeLinear */
    TIGRIS_ROUNDING_HALF_EVEN = 0,
    /* the neighbour that is farther from zero: TensorFlow Lite's QUANTIZE */
    TIGRIS_ROUNDING_HALF_AWAY = 1
} tigris_rounding;

/* How a tensor is stored. */
typedef enum tigris_tensor_flag {
    /* all rows share one place: row r is the sum of rows 0 to r */
    TIGRIS_TENSOR_FLAG_FOLDED = 1,
    /* it keeps its address and its value from run to run */
    TIGRIS_TENSOR_FLAG_STATE = 2
} tigris_tensor_flag;

/* How a stage sees a tensor. */
typedef enum tigris_view_flag {
    /* through a buffer of capacity_rows rows at offset; without it, at its home */
    TIGRIS_VIEW_FLAG_WINDOW = 1,
    /* rows are copied from the tensor's home when an operator needs them */
    TIGRIS_VIEW_FLAG_LOAD = 2,
    /* rows are copied to the tensor's home as soon as they are computed */
    TIGRIS_VIEW_FLAG_STORE = 4,
    /* rows that a later band reads are kept, not computed again (rolling) */
    TIGRIS_VIEW_FLAG_KEEP = 8
} tigris_view_flag;

/* Treatment of an operand's view after its operator has run in a band. */
typedef enum tigris_operand_flag {
    /* no later operator of the stage reads it: its window parks the kept rows */
    TIGRIS_OPERAND_FLAG_LAST = 1
} tigris_operand_flag;

/* How an operator may run. */
typedef enum tigris_op_flag {
    /* two cores may compute half of a call's rows each, with half of its scratch */
    TIGRIS_OP_FLAG_SPLIT = 1
} tigris_op_flag;

/* Kernel families. An operator's kernel is found by (kind, dtype, packing). */
typedef enum tigris_op_kind {
    TIGRIS_OP_KIND_CONV_2D = 1,
    TIGRIS_OP_KIND_DEPTHWISE_CONV_2D = 2,
    TIGRIS_OP_KIND_FULLY_CONNECTED = 3,
    TIGRIS_OP_KIND_AVERAGE_POOL = 4,
    TIGRIS_OP_KIND_MAX_POOL = 5,
    TIGRIS_OP_KIND_ADD = 6,
    TIGRIS_OP_KIND_SUB = 7,
    TIGRIS_OP_KIND_MUL = 8,
    TIGRIS_OP_KIND_SOFTMAX = 9,
    /* any unary function: int8 by a table of 256 bytes, int16 by linear segments */
    TIGRIS_OP_KIND_LOOKUP = 10,
    /* unary float functions, chosen by UnaryFunction */
    TIGRIS_OP_KIND_UNARY = 11,
    TIGRIS_OP_KIND_COPY = 12,
    TIGRIS_OP_KIND_TRANSPOSE = 13,
    TIGRIS_OP_KIND_CONCAT = 14,
    TIGRIS_OP_KIND_QUANTIZE = 15,
    TIGRIS_OP_KIND_DEQUANTIZE = 16,
    /* picks rows, columns and channels of the input, each by a table or a progression */
    TIGRIS_OP_KIND_SELECT = 17,
    /* weighted sums of neighbouring rows and columns */
    TIGRIS_OP_KIND_RESAMPLE = 18,
    TIGRIS_OP_KIND_TRANSPOSE_CONV = 19,
    /* unary float functions of UnaryFunction from SIN to ATANH */
    TIGRIS_OP_KIND_TRIGONOMETRIC = 30,
    /* two float inputs, chosen by BinaryFunction; INT8: comparisons */
    TIGRIS_OP_KIND_BINARY = 31,
    /* first input not 0 ? second : third */
    TIGRIS_OP_KIND_WHERE = 32,
    /* one number for each vector, chosen by ReduceFunction */
    TIGRIS_OP_KIND_REDUCE = 33,
    /* position of the largest or smallest element of a vector, as float32 */
    TIGRIS_OP_KIND_ARG_REDUCE = 34,
    /* a function of each element and its vector, chosen by VectorFunction; INT8: cumulative sums */
    TIGRIS_OP_KIND_VECTOR = 35,
    /* local response normalisation across channels */
    TIGRIS_OP_KIND_LRN = 36,
    /* matrix products of two activations */
    TIGRIS_OP_KIND_MAT_MUL = 37,
    /* converts between element types */
    TIGRIS_OP_KIND_CAST = 38,
    /* sums over the rows and columns of each channel, row by row into a folded tensor */
    TIGRIS_OP_KIND_SUM_MAP = 39,
    /* the mean of each channel from the last row of SUM_MAP's result */
    TIGRIS_OP_KIND_MEAN_OF_SUMS = 40,
    /* CONV_2D for kernel libraries: weights not packed, zero points not folded */
    TIGRIS_OP_KIND_PLAIN_CONV_2D = 41,
    TIGRIS_OP_KIND_PLAIN_DEPTHWISE_CONV_2D = 42,
    TIGRIS_OP_KIND_PLAIN_FULLY_CONNECTED = 43,
    /* CONV_2D of one group with weights of 4 bits */
    TIGRIS_OP_KIND_INT4_CONV_2D = 44,
    /* FULLY_CONNECTED with weights of 4 bits */
    TIGRIS_OP_KIND_INT4_FULLY_CONNECTED = 45,
    /* CONV_2D of one group with weights that are indices of 4 bits into tables of 16 values */
    TIGRIS_OP_KIND_TABLE_CONV_2D = 46,
    /* products of rows with their parts of a matrix, summed in a folded tensor */
    TIGRIS_OP_KIND_SUM_PRODUCTS = 47,
    /* outputs of a fully connected layer from the last row of SUM_PRODUCTS's result */
    TIGRIS_OP_KIND_SCALE_SUMS = 48,
    /* FULLY_CONNECTED with weights that are indices of 4 bits into a table of 16 values */
    TIGRIS_OP_KIND_TABLE_FULLY_CONNECTED = 49,
    /* the larger or the smaller of two int8 */
    TIGRIS_OP_KIND_EXTREME = 50,
    /* int8: negative elements times their slope */
    TIGRIS_OP_KIND_PRELU = 51,
    /* quotients of two int8 */
    TIGRIS_OP_KIND_DIVIDE = 52,
    /* squared difference of two int8 */
    TIGRIS_OP_KIND_SQUARED_DIFFERENCE = 53,
    /* CONV_2D with weights that have zero points */
    TIGRIS_OP_KIND_ASYMMETRIC_CONV_2D = 54,
    /* the weights are stored less their zero points, in 16 bits */
    TIGRIS_OP_KIND_ASYMMETRIC_DEPTHWISE_CONV_2D = 55,
    TIGRIS_OP_KIND_ASYMMETRIC_FULLY_CONNECTED = 56,
    /* gets rows of a streamed input, of any type, from the caller; has no operands */
    TIGRIS_OP_KIND_FETCH = 58,
    /* gives rows of a streamed output, of any type, to the caller; its own output has no meaning */
    TIGRIS_OP_KIND_TAKE = 59,
    /* writes the value of a state for the next run, of any type; follows all other operators */
    TIGRIS_OP_KIND_COMMIT = 60,
    /* LSTM, GRU or RNN; INT8: float32 with int8 weights; INT16: int8 with a cell of int16 */
    TIGRIS_OP_KIND_RECURRENT = 61,
    /* slices of the first input at the positions in the second, which is float32 */
    TIGRIS_OP_KIND_GATHER = 62,
    /* positions of the largest or smallest elements of a vector, in order, as float32 */
    TIGRIS_OP_KIND_TOP_K = 63,
    /* the first input, with slices of the third at the positions in the second */
    TIGRIS_OP_KIND_SCATTER = 64,
    /* int8: (element - mean of its vector) / deviation * factor + offset */
    TIGRIS_OP_KIND_NORMALISE = 65,
    /* the best boxes of each class, without those that overlap a better one */
    TIGRIS_OP_KIND_SUPPRESS = 66,
    TIGRIS_OP_KIND_LOG_SOFTMAX = 67,
    /* requantises int8 or int16 to int8 or int16, with another slope below zero */
    TIGRIS_OP_KIND_RESCALE = 80,
    /* the logistic function or the hyperbolic tangent of int16 */
    TIGRIS_OP_KIND_LOGISTIC = 81,
    /* levels of frequency bands from int16 samples */
    TIGRIS_OP_KIND_SPECTRUM = 82,
    /* a function of such levels, chosen by LevelFunction */
    TIGRIS_OP_KIND_LEVEL = 83
} tigris_op_kind;

/* The order of an operator's weights. The runtime looks for a kernel with the same packing. */
typedef enum tigris_packing {
    /* blocks of four channels, tiles of four taps; also for operators without packed weights */
    TIGRIS_PACKING_PORTABLE = 0,
    /* each channel's taps in model order */
    TIGRIS_PACKING_ROWS = 1,
    /* blocks and tiles of 16, each pixel's channels padded with zeros to whole tiles */
    TIGRIS_PACKING_LANES_16 = 2,
    /* the order of the ESP32-S3's vector kernels, requantisation included */
    TIGRIS_PACKING_PIE = 3,
    /* blocks of four channels, 16 taps of each in turn, padded with zeros to whole blocks */
    TIGRIS_PACKING_ROWS_16 = 4
} tigris_packing;

/* The algorithm of a signed plan's trailer. */
typedef enum tigris_signature_algorithm {
    /* ECDSA on the curve P-256 with SHA-256 */
    TIGRIS_SIGNATURE_ALGORITHM_P256 = 1,
    TIGRIS_SIGNATURE_ALGORITHM_ED25519 = 2
} tigris_signature_algorithm;

/* First bytes of the file. */
typedef struct tigris_header_record {
    /* the bytes "TGRS" */
    char magic[4];
    /* format version, 1 */
    uint16_t version;
    /* size of this record */
    uint16_t header_bytes;
    /* bit set of tigris_header_flag */
    uint32_t flags;
    /* size of the whole plan */
    uint32_t total_bytes;
    /* CRC-32 of every byte after this field */
    uint32_t crc32;
    /* a power of two; arenas must be aligned to it, and every arena offset is a multiple of it */
    uint16_t alignment;
    /* counts releases that may not be undone; an update to a smaller one is refused */
    uint16_t security_version;
    /* bytes of the fast arena, run-time state included */
    uint32_t fast_bytes;
    /* bytes of the slow arena; 0: none */
    uint32_t slow_bytes;
    /* run-time state at the start of the fast arena: 16 bytes per view of the largest stage */
    uint32_t state_bytes;
    /* most fast bytes that copied or decompressed weights take in one stage */
    uint32_t fast_reserved;
    /* section of zero-terminated UTF-8 names */
    uint32_t strings;
    /* bytes in that section */
    uint32_t strings_bytes;
    /* section of tensor records */
    uint32_t tensors;
    /* records in that section */
    uint32_t tensor_count;
    /* section of I/O records: inputs, then outputs */
    uint32_t io;
    /* model inputs */
    uint16_t input_count;
    /* model outputs */
    uint16_t output_count;
    /* section of stage records, in execution order */
    uint32_t stages;
    /* records in that section */
    uint32_t stage_count;
    /* section of view records, grouped by stage */
    uint32_t views;
    /* records in that section */
    uint32_t view_count;
    /* section of operator records, in execution order */
    uint32_t ops;
    /* records in that section */
    uint32_t op_count;
    /* section of operand records, grouped by operator */
    uint32_t operands;
    /* records in that section */
    uint32_t operand_count;
    /* section of kernel parameter records */
    uint32_t params;
    /* bytes in that section */
    uint32_t params_bytes;
    /* section of constants and weight blocks */
    uint32_t weights;
    /* bytes in that section */
    uint32_t weights_bytes;
    /* multiply-accumulates per inference, low word first */
    uint32_t macs[2];
    /* SHA-256 of the model that was compiled, with its data files */
    uint8_t source_sha256[32];
    /* model name */
    char name[48];
} tigris_header_record;
TIGRIS_STATIC_ASSERT(sizeof(tigris_header_record) == 200U, tigris_header_record_size);

/* One activation or constant, stored as [batch, height, width, channels], channels fastest. Tensors
 * of other ranks are reshaped to this form; a row is one index of height. A folded tensor takes the
 * memory of one row: the operator that makes row r adds to row r - 1, which no longer exists
 * afterwards. */
typedef struct tigris_tensor_record {
    /* offset in strings */
    uint32_t name;
    /* images; bands need 1 */
    uint32_t batch;
    /* rows */
    uint32_t height;
    /* columns */
    uint32_t width;
    /* channels */
    uint32_t channels;
    /* tigris_dtype */
    uint8_t dtype;
    /* tigris_home */
    uint8_t home;
    /* bit set of tigris_tensor_flag */
    uint16_t flags;
    /* offset in the region of its home; 0 without a home */
    uint32_t home_offset;
    /* real = (q - zero_point) * scale; 0: not quantised */
    float scale;
    /* see scale */
    int32_t zero_point;
} tigris_tensor_record;
TIGRIS_STATIC_ASSERT(sizeof(tigris_tensor_record) == 36U, tigris_tensor_record_size);

/* A model input or output in the form that the model has it. The model's array is the stored array,
 * viewed as stored_shape, with its axes permuted by permutation, then reshaped to shape. If
 * model_dtype is float32 and the tensor's is not, values are dequantised by its scale. If
 * model_dtype is uint8 and the tensor's int8, the model's values are 128 higher. */
typedef struct tigris_io_record {
    /* offset in strings */
    uint32_t name;
    /* index of the tensor */
    uint16_t tensor;
    /* tigris_dtype of the model's own input or output */
    uint8_t model_dtype;
    /* dimensions used in shape */
    uint8_t rank;
    /* dimensions used in stored_shape and permutation */
    uint8_t stored_rank;
    /* 0 */
    uint8_t reserved;
    /* streamed: 1 and the index of the FETCH or TAKE that moves its rows; 0: whole in an arena */
    uint16_t mover;
    /* the model's own shape; unused entries 0 */
    uint32_t shape[8];
    /* shape of the stored data; unused entries 0 */
    uint32_t stored_shape[8];
    /* permuted axis i is stored axis permutation[i] */
    uint8_t permutation[8];
} tigris_io_record;
TIGRIS_STATIC_ASSERT(sizeof(tigris_io_record) == 84U, tigris_io_record_size);

/* Operators that run together over band_count bands of rows. */
typedef struct tigris_stage_record {
    /* index of its first operator; stages cover all operators without gaps */
    uint32_t first_op;
    /* operators */
    uint32_t op_count;
    /* index of its first view */
    uint32_t first_view;
    /* views */
    uint32_t view_count;
    /* bands, at least 1; bands times views and operands, summed over stages, at most 2^20 */
    uint32_t band_count;
    /* tigris_strategy, informational */
    uint8_t strategy;
    /* tigris_weight_mode */
    uint8_t weight_mode;
    /* how often the bands run, once for each image; each of its operators has the same number */
    uint16_t images;
    /* offset of the stage's weight block in the weights section */
    uint32_t block;
    /* bytes of the block in the file */
    uint32_t block_stored_bytes;
    /* bytes of the decompressed block; equal if it is not compressed */
    uint32_t block_raw_bytes;
    /* fast-arena offset of a copied or decompressed block */
    uint32_t block_fast_offset;
} tigris_stage_record;
TIGRIS_STATIC_ASSERT(sizeof(tigris_stage_record) == 40U, tigris_stage_record_size);

/* How one stage sees one tensor: whole at its home, or some rows of it in a window. */
typedef struct tigris_view_record {
    /* index of the tensor */
    uint16_t tensor;
    /* bit set of tigris_view_flag */
    uint16_t flags;
    /* fast-arena offset of the window; 0 without one */
    uint32_t offset;
    /* rows that the window holds; the tensor's height without one */
    uint32_t capacity_rows;
    /* pace of the rows, see SPEC.md section 3; 0: rows are made as later operators need them */
    uint32_t pace_numerator;
    /* see pace_numerator; at least 1 with a pace, 0 without */
    uint32_t pace_denominator;
    /* see pace_numerator */
    int32_t pace_offset;
    /* fast-arena offset of the kept rows between bands; if equal to offset, the window's start */
    uint32_t parked;
} tigris_view_record;
TIGRIS_STATIC_ASSERT(sizeof(tigris_view_record) == 28U, tigris_view_record_size);

/* One operator: a kernel, its parameters, its input operands and its output view. */
typedef struct tigris_op_record {
    /* tigris_op_kind */
    uint16_t kind;
    /* tigris_dtype of the arithmetic; kind, dtype and packing select the kernel */
    uint8_t dtype;
    /* tigris_packing of its weights */
    uint8_t packing;
    /* inputs */
    uint8_t operand_count;
    /* bit set of tigris_op_flag */
    uint8_t flags;
    /* view of the output, counted from the stage's first view */
    uint16_t output_view;
    /* index of the first operand */
    uint32_t first_operand;
    /* the batch if a call takes one image; 1 if a call takes the whole tensors */
    uint32_t images;
    /* offset in strings */
    uint32_t name;
    /* offset of its parameters in the params section */
    uint32_t params;
    /* bytes of its parameters */
    uint32_t params_bytes;
    /* fast-arena offset of its scratch memory */
    uint32_t scratch;
    /* bytes of scratch; 0: none */
    uint32_t scratch_bytes;
} tigris_op_record;
TIGRIS_STATIC_ASSERT(sizeof(tigris_op_record) == 36U, tigris_op_record_size);

/* One input of an operator, and its row map: the input rows that a range of output rows needs.
 * Output rows [a, b) need input rows [(a * numerator + first) // denominator, ((b - 1) * numerator
 * + last) // denominator + 1), with floor division. Rows outside the tensor are padding. Numerator
 * 0, first 0 and last height - 1 ask for the whole input. */
typedef struct tigris_operand_record {
    /* view of the input, counted from the stage's first view */
    uint16_t view;
    /* see above */
    uint16_t numerator;
    /* see above; at least 1 */
    uint16_t denominator;
    /* bit set of tigris_operand_flag */
    uint16_t flags;
    /* see above */
    int32_t first;
    /* see above */
    int32_t last;
} tigris_operand_record;
TIGRIS_STATIC_ASSERT(sizeof(tigris_operand_record) == 16U, tigris_operand_record_size);

/* The trailer of a signed plan, directly behind its total_bytes bytes. It signs the SHA-256 of
 * these bytes. P256: ECDSA of that digest, r and s of 32 bytes each, high byte first. ED25519: the
 * signature of the digest's 32 bytes as a message. */
typedef struct tigris_signature_record {
    /* the bytes "TGSG" */
    char magic[4];
    /* size of this record */
    uint16_t record_bytes;
    /* tigris_signature_algorithm */
    uint16_t algorithm;
    /* see above */
    uint8_t signature[64];
} tigris_signature_record;
TIGRIS_STATIC_ASSERT(sizeof(tigris_signature_record) == 72U, tigris_signature_record_size);

#endif
