/* TiGrIS runtime: runs a compiled neural network (.tgrs plan) in memory the caller provides.
 *
 * No heap, no globals, no libc but string.h (math.h in float kernels only). A plan is hostile
 * input: tigris_plan_open and tigris_session_init check every field before any kernel runs.
 *
 *     static TIGRIS_ALIGNED uint8_t fast[KWS_FAST_BYTES];
 *     tigris_plan plan;
 *     tigris_session session;
 *     tigris_status status = tigris_plan_open(&plan, kws_plan, kws_plan_bytes);
 *     if (status == TIGRIS_OK)
 *         status = tigris_session_init(&session, &plan, fast, sizeof fast, NULL, 0, NULL);
 *     if (status == TIGRIS_OK) {
 *         memcpy(tigris_input(&session, 0), features, tigris_input_bytes(&session, 0));
 *         status = tigris_run(&session);
 *     }
 *     if (status != TIGRIS_OK)
 *         puts(tigris_status_text(status));
 */
#ifndef TIGRIS_H
#define TIGRIS_H

#include <stddef.h>
#include <stdint.h>

#include "tigris_format.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Alignment of tensor addresses in bytes. Arenas must start on a multiple of the plan's own
 * alignment, which must be a multiple of this. Define it at build time to override. */
#ifndef TIGRIS_TENSOR_ALIGN
#if defined(__XTENSA__)
#define TIGRIS_TENSOR_ALIGN 8
#elif defined(__aarch64__)
#define TIGRIS_TENSOR_ALIGN 16
#elif defined(__x86_64__) || defined(_M_X64)
#define TIGRIS_TENSOR_ALIGN 32
#else
#define TIGRIS_TENSOR_ALIGN 4
#endif
#endif

#if defined(__GNUC__)
#define TIGRIS_MUST_CHECK __attribute__((warn_unused_result))
#else
#define TIGRIS_MUST_CHECK
#endif

/* For arenas and embedded plans, before the type: enough for any plan the compiler makes by default. For a compiler that
 * is not among these, define it: nothing else puts an arena where it must lie. */
#if !defined(TIGRIS_ALIGNED)
#if defined(__GNUC__)
#define TIGRIS_ALIGNED __attribute__((aligned(32)))
#elif defined(__CC_ARM)
#define TIGRIS_ALIGNED __align(32)
#elif defined(_MSC_VER)
#define TIGRIS_ALIGNED __declspec(align(32))
#elif defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L
#define TIGRIS_ALIGNED _Alignas(32)
#endif
#endif

#if defined(__cplusplus) && __cplusplus >= 201103L
#define TIGRIS_NULL nullptr
#else
#define TIGRIS_NULL NULL
#endif

/* 0, or a negative reason. tigris_status_text gives each as a sentence. */
typedef enum tigris_status {
    TIGRIS_OK = 0,
    /* The caller. */
    TIGRIS_ERR_ARGUMENT = -1,        /* a null pointer or an index out of range */
    TIGRIS_ERR_FAST_TOO_SMALL = -2,  /* the fast arena is smaller than the plan needs */
    TIGRIS_ERR_SLOW_TOO_SMALL = -3,  /* the slow arena is smaller than the plan needs */
    TIGRIS_ERR_ARENA_ALIGNMENT = -4, /* an arena does not start on a multiple of the plan's alignment */
    TIGRIS_ERR_CANCELLED = -5,       /* the yield hook asked to stop */
    TIGRIS_ERR_NO_ROWS_HOOK = -6,    /* an input or output is streamed, and fetch_rows or take_rows is not set */
    TIGRIS_ERR_ROWS = -7,            /* fetch_rows or take_rows asked to stop */
    /* The file as a whole. */
    TIGRIS_ERR_NOT_A_PLAN = -10,   /* too short, or the magic bytes differ */
    TIGRIS_ERR_VERSION = -11,      /* made for another format version */
    TIGRIS_ERR_TRUNCATED = -12,    /* fewer bytes than the header says */
    TIGRIS_ERR_CRC = -13,          /* checksum differs (tigris_plan_check_crc) */
    TIGRIS_ERR_ALIGNMENT = -14,    /* the plan's alignment is no power of two, or not a multiple of TIGRIS_TENSOR_ALIGN */
    TIGRIS_ERR_PLAN_ADDRESS = -15, /* the plan does not start on a 16-byte boundary */
    /* Its records. */
    TIGRIS_ERR_SECTION = -20,     /* a section lies outside the file, is misaligned or overflows */
    TIGRIS_ERR_STRING = -21,      /* a name lies outside the string section or is not terminated */
    TIGRIS_ERR_TENSOR = -22,      /* a tensor's type, shape, home or placement is invalid */
    TIGRIS_ERR_IO = -23,          /* an input or output record is invalid */
    TIGRIS_ERR_STAGE = -24,       /* a stage's ranges, bands or weight block are invalid */
    TIGRIS_ERR_VIEW = -25,        /* a view's tensor, flags or placement is invalid */
    TIGRIS_ERR_OP = -26,          /* an operator's ranges, views or scratch are invalid */
    TIGRIS_ERR_OPERAND = -27,     /* an operand's view or row map is invalid */
    TIGRIS_ERR_BANDS = -28,       /* some band needs rows that its window does not hold */
    TIGRIS_ERR_PARAMS = -29,      /* an operator's parameters contradict its tensors or its weights */
    TIGRIS_ERR_UNKNOWN_OP = -30,  /* no kernel for this operator and type is linked */
    TIGRIS_ERR_WEIGHT_BLOCK = -31, /* a compressed weight block is damaged */
    TIGRIS_ERR_PACKING = -32,      /* no kernel that reads an operator's weights as they are packed is linked */
    /* Where it was to be found (tigris_port.h). */
    TIGRIS_ERR_PARTITION = -40,           /* the partition table has no such partition */
    TIGRIS_ERR_PARTITION_TOO_SMALL = -41, /* the partition ends before the plan does */
    TIGRIS_ERR_PLAN_ABSENT = -42,         /* the flash where the plan should be is erased */
    TIGRIS_ERR_OTHER_MODEL = -43,         /* another plan than the one the firmware was built with */
    TIGRIS_ERR_INTERFACE = -44,           /* inputs or outputs are not those the firmware was built for */
    TIGRIS_ERR_MAPPING = -45,             /* flash cannot be read or mapped: the window for mapped data is full */
    TIGRIS_ERR_DAMAGED = -46,             /* damaged, or not written to its end: it is to be uploaded again */
    /* Writing it (tigris_update.h). */
    TIGRIS_ERR_FLASH = -47,          /* flash cannot be erased or written, or does not hold what was written */
    TIGRIS_ERR_NO_SLOTS = -48,       /* the firmware was built with one place for this model's plan */
    TIGRIS_ERR_SLOT_TOO_SMALL = -49, /* the plan is larger than a slot */
    TIGRIS_ERR_UNCONFIRMED = -50,    /* a plan is on trial: it must be confirmed or given up first */
    TIGRIS_ERR_ORDER = -51           /* a step of an update before the one that must precede it, or after a failure */
} tigris_status;

/* One sentence for people; never NULL. */
const char *tigris_status_text(tigris_status status);

/* Where and why a plan was refused or a run failed. Indices of the plan; TIGRIS_NOWHERE where there is none. Without a
 * failure, and before any call, status is TIGRIS_OK and the rest means nothing. */
#define TIGRIS_NOWHERE UINT32_MAX
typedef struct tigris_fault {
    tigris_status status;
    uint32_t stage;
    uint32_t op;
    uint32_t tensor;
} tigris_fault;

/* A plan in memory or mapped flash, opened in place. Members are read-only for callers. */
typedef struct tigris_plan {
    const uint8_t *base;
    const tigris_header_record *header;
    /* The sections, in the header's order. */
    const char *strings;
    const tigris_tensor_record *tensors;
    const tigris_io_record *io;
    const tigris_stage_record *stages;
    const tigris_view_record *views;
    const tigris_op_record *ops;
    const tigris_operand_record *operands;
    const uint8_t *params;
    const uint8_t *weights;
    uint32_t mapping;   /* what tigris_model_close gives back; 0: nothing */
    tigris_fault fault; /* of tigris_plan_open; when that fails everything else is zeroed */
} tigris_plan;

/* Opens the plan at `data`, 16-byte aligned, and checks its structure. The bytes are read in place by every run and not
 * checked again: they must stay where they are, mapped and unchanged, as long as the plan or a session of it is used. */
TIGRIS_MUST_CHECK tigris_status tigris_plan_open(tigris_plan *plan, const void *data, size_t bytes);

/* Reads the whole plan and compares its CRC-32: one that is damaged may pass tigris_plan_open and give wrong numbers,
 * though never wrong accesses. For plans in buffers of your own; tigris_model_open does it by itself. */
TIGRIS_MUST_CHECK tigris_status tigris_plan_check_crc(const tigris_plan *plan);

/* For people: "stage 3, operator 12 (/block/MatMul)", with names when `plan` is open and NULL otherwise, cut to what
 * `bytes`, at least 1, hold; "" when there is no fault or no place is known. Returns `text`. */
char *tigris_fault_text(const tigris_fault *fault, const tigris_plan *plan, char *text, size_t bytes);

struct tigris_backend;
struct tigris_kernel_call;
struct tigris_placement;
struct tigris_session;

/* A kernel, as tigris_kernel.h describes it. */
typedef void (*tigris_kernel)(const struct tigris_kernel_call *call);

/* Products between two calls of the yield hook. */
#ifndef TIGRIS_YIELD_STEPS
#define TIGRIS_YIELD_STEPS (1U << 22)
#endif

/* Called between operators and bands, and within operators that take long. Return 0 to go on, anything else to stop the
 * run with TIGRIS_ERR_CANCELLED. Feed the watchdog here. Between two calls a run makes at most
 * - TIGRIS_YIELD_STEPS products, or those of two rows of the output, of a convolution, pooling, fully connected layer, LRN
 *   or product of two activations;
 * - one step of a recurrent layer, one look at all boxes (SUPPRESS) or at one vector (TOP_K);
 * - for any other operator, a few looks at each element of the rows that one band has of its operands and output, and at
 *   each of its weights;
 * - one copy of a stage's weights.
 * If the backend has scratch of its own (ESP-NN, CMSIS-NN), or an operator takes all images of a batch at once, a call makes
 * all rows of the band. */
typedef int (*tigris_yield_hook)(void *context);

/* A free-running counter in any unit (cycles, ns); differences are taken modulo 2^32. */
typedef uint32_t (*tigris_counter_hook)(void *context);

/* Called after each kernel call with the operator's index in the plan and the counter's difference. */
typedef void (*tigris_profile_hook)(void *context, uint32_t op, uint32_t elapsed);

/* Rows [first, first + rows) of one image of a tensor, as a kernel sees them; `data` points at row `first`, to be
 * read. When an operator takes a whole batch in one call, rows counts those of all images: batch * height. */
typedef struct tigris_band {
    const uint8_t *data;
    const tigris_tensor_record *tensor;
    int32_t first;
    int32_t rows;
    /* Inputs: rows the operator's row map asks for above and below the tensor. Outputs: 0. */
    int32_t pad_top;
    int32_t pad_bottom;
} tigris_band;

#define TIGRIS_MAX_OPERANDS 8U
/* Kernels that a session remembers. */
#define TIGRIS_KNOWN_KERNELS 8U

/* Called after each kernel call with the rows it wrote of image `image`: for debugging and for comparing
 * layer by layer. The rows are valid during the call only. */
typedef void (*tigris_trace_hook)(void *context, uint32_t op, uint32_t image, const tigris_band *output);

/* Writes rows [first, first + rows) of streamed input `input` to `destination`, as they are stored. The rows of an input
 * are asked for in order, each once in a run, a few at a time; the hook may wait for them, as for the lines of a camera.
 * Return 0 to go on, anything else to stop the run with TIGRIS_ERR_ROWS. */
typedef int (*tigris_fetch_rows_hook)(void *context, uint32_t input, uint32_t first, uint32_t rows, void *destination);

/* Takes rows [first, first + rows) of streamed output `output` from `source`, where they are valid during the call
 * only. Each row comes once in a run, in order, as soon as it is made. Return as above. */
typedef int (*tigris_take_rows_hook)(void *context, uint32_t output, uint32_t first, uint32_t rows, const void *source);

/* One worker's part of an operator; `worker` is 0 or 1. */
typedef void (*tigris_work)(void *argument, uint32_t worker);

/* Calls work(argument, 0) and work(argument, 1) side by side, on two cores, and returns when both have returned: what
 * either wrote must be seen by the caller, and by both what the caller wrote. */
typedef void (*tigris_parallel_hook)(void *context, tigris_work work, void *argument);

/* Runs the call of an operator's kernel that it is given: tigris_split is one. */
typedef void (*tigris_split_hook)(struct tigris_session *session, const tigris_op_record *op,
                                  const struct tigris_kernel_call *call, tigris_kernel kernel);

/* What a run moved and used, measured, not planned. */
typedef struct tigris_usage {
    uint32_t fast_peak;    /* bytes of the fast arena up to the highest byte used */
    uint32_t slow_peak;    /* the same for the slow arena */
    uint32_t slow_read;    /* bytes read from slow memory by loads and kernels, last run */
    uint32_t slow_written; /* bytes written to slow memory by stores and kernels, last run */
} tigris_usage;

/* One model being run. The caller owns the struct; several may be in use at once. */
typedef struct tigris_session {
    const tigris_plan *plan;
    const struct tigris_backend *backend;
    uint8_t *fast;
    uint8_t *slow;
    uint32_t fast_bytes;
    uint32_t slow_bytes;
    uint8_t *backend_scratch;
    uint32_t backend_scratch_bytes;
    const struct tigris_placement *placement; /* NULL: everything lies where the plan says */
    /* After tigris_session_init gave TIGRIS_ERR_FAST_TOO_SMALL or TIGRIS_ERR_SLOW_TOO_SMALL: by how much. After TIGRIS_OK:
     * bytes of scratch that a kernel library asked for and the fast arena does not have; operators that want them run by
     * portable kernels, with the same results. */
    uint32_t bytes_short;
    tigris_fault fault; /* of tigris_session_init, or of the last tigris_run */
    /* Hooks: NULL after tigris_session_init, set by the caller before a run. */
    tigris_yield_hook yield;
    void *yield_context;
    tigris_counter_hook counter; /* called with profile_context; needed for `profile` */
    tigris_profile_hook profile;
    void *profile_context;
    tigris_trace_hook trace;
    void *trace_context;
    tigris_fetch_rows_hook fetch_rows; /* needed when an input is streamed; called with rows_context */
    tigris_take_rows_hook take_rows;   /* needed when an output is streamed; called with rows_context */
    void *rows_context;
    tigris_split_hook split; /* NULL: every operator runs on the core of the caller, else tigris_split */
    tigris_usage usage;
    uint32_t runs;  /* calls of tigris_run since tigris_session_init; wraps */
    uint32_t image; /* of a batch that runs image by image */
    uint8_t *rows; /* where those of the band lie that was filled in last, to be written if it is the output's */
    /* Found last for operators of kinds with the same rest when divided by their number; NULL: none yet. */
    const struct tigris_kernel_entry *kernels[TIGRIS_KNOWN_KERNELS];
    /* The operands of the kernel being run, then its output: here so that they need no stack. */
    tigris_band bands[TIGRIS_MAX_OPERANDS + 1U];
    tigris_parallel_hook parallel; /* NULL: the same; called with parallel_context */
    void *parallel_context;
    uint32_t checked; /* multipliers that the checks of operators looked at, of bind or the last run */
} tigris_session;

/* Binds a plan to arenas and kernels. `fast` and `slow` must be aligned to the plan's alignment; `slow`
 * may be NULL when header->slow_bytes is 0. Checks every operator's parameters against its tensors and
 * weights, and proves that each band finds its rows, so that a run cannot read or write outside the
 * plan and the arenas. Uses the first header->state_bytes of `fast` for the proof. `placement` is for arenas smaller
 * than the plan wants; NULL refuses them. Plan, arenas, backend and placement must outlive the session. If placement is
 * NULL, other sessions may have the same arenas: between two runs nothing is kept in them but states, which
 * tigris_session_reset begins anew. What the plan and
 * its tensors lack is told by session->fault; a refused session runs nothing and has no inputs. */
TIGRIS_MUST_CHECK tigris_status tigris_session_bind(tigris_session *session, const tigris_plan *plan, void *fast,
                                                    size_t fast_bytes, void *slow, size_t slow_bytes,
                                                    const struct tigris_backend *backend,
                                                    const struct tigris_placement *placement);

/* The portable kernels, all of them. Firmware that links only what a model needs passes a table of
 * its own of entries from tigris_kernels.h to tigris_session_init instead. */
extern const struct tigris_backend tigris_portable_backend;

/* What NULL stands for as a backend. The build plugins define it for a project that chose a kernel library. */
#ifndef TIGRIS_DEFAULT_BACKEND
#define TIGRIS_DEFAULT_BACKEND tigris_portable_backend
#endif
extern const struct tigris_backend TIGRIS_DEFAULT_BACKEND;

extern const struct tigris_placement tigris_dynamic_placement;

/* What session->split may be: operators that the plan was compiled to split (`tigris compile --cores 2`) run on two
 * cores, through session->parallel, wherever the halves of their rows do not touch each other's memory; kernels of
 * backends with scratch of their own do not. Byte for byte the same results. Links about 1 KB of code. */
void tigris_split(tigris_session *session, const tigris_op_record *op, const struct tigris_kernel_call *call,
                  tigris_kernel kernel);

/* With 2, which the build plugins define for a project that asks for it, sessions of tigris_session_init are ready for
 * two cores: session->parallel alone is left to be set. */
#ifndef TIGRIS_CORES
#define TIGRIS_CORES 1
#endif
static inline tigris_status tigris_session_with_cores(tigris_session *session, tigris_status status)
{
#if TIGRIS_CORES > 1
    if (session != TIGRIS_NULL)
        session->split = tigris_split;
#else
    (void)session;
#endif
    return status;
}

/* The same, with TIGRIS_DEFAULT_BACKEND when `backend` is NULL, in arenas as large as the plan wants. Inline, so that
 * a caller who names its own backend does not link every portable kernel. */
TIGRIS_MUST_CHECK static inline tigris_status tigris_session_init(tigris_session *session, const tigris_plan *plan,
                                                                  void *fast, size_t fast_bytes, void *slow,
                                                                  size_t slow_bytes,
                                                                  const struct tigris_backend *backend)
{
    backend = backend != TIGRIS_NULL ? backend : &TIGRIS_DEFAULT_BACKEND;
    return tigris_session_with_cores(session, tigris_session_bind(session, plan, fast, fast_bytes, slow, slow_bytes,
                                                                  backend, TIGRIS_NULL));
}

/* The same, in arenas of any sizes. Where one is smaller than planned, tensors are placed as they come and moved
 * together when room runs out, and what fast memory cannot hold lies in slow memory: slower, but byte for byte the same
 * results. Takes some more fast memory than the plan for its bookkeeping: 8 bytes a tensor and view, 4 an input and
 * output. When even that does not fit, session->bytes_short says how many bytes the arena of the status lacks.
 * Addresses of inputs and outputs stay the same from run to run. Links about 3 KB of code. */
TIGRIS_MUST_CHECK static inline tigris_status
tigris_session_init_dynamic(tigris_session *session, const tigris_plan *plan, void *fast, size_t fast_bytes,
                            void *slow, size_t slow_bytes, const struct tigris_backend *backend)
{
    backend = backend != TIGRIS_NULL ? backend : &TIGRIS_DEFAULT_BACKEND;
    return tigris_session_with_cores(session, tigris_session_bind(session, plan, fast, fast_bytes, slow, slow_bytes,
                                                                  backend, &tigris_dynamic_placement));
}

/* Where to write input `index`, and its bytes; NULL and 0 when out of range, when the session is NULL or was refused,
 * and for one that is streamed: its rows are fetched during the run. Other inputs must be written
 * before every run: their memory is used again during it, and may overlap the outputs. */
void *tigris_input(const tigris_session *session, uint32_t index);
uint32_t tigris_input_bytes(const tigris_session *session, uint32_t index);

/* One inference. Outputs are valid until the next write to an input or the next run. */
TIGRIS_MUST_CHECK tigris_status tigris_run(tigris_session *session);

/* What lives from run to run begins anew: a model that keeps a state, such as the past of a stream, has its first values
 * again, as after tigris_session_init. Does nothing for a model without. Not to be called from a hook. Nothing else is
 * needed between runs: one that fails or is cancelled leaves all states as they were. */
TIGRIS_MUST_CHECK tigris_status tigris_session_reset(tigris_session *session);

/* Where output `index` lies after a run, and its bytes; NULL and 0 as for inputs. */
const void *tigris_output(const tigris_session *session, uint32_t index);
uint32_t tigris_output_bytes(const tigris_session *session, uint32_t index);

/* Bytes of a whole tensor record; 0 when it does not fit 32 bits. */
uint32_t tigris_tensor_bytes(const tigris_tensor_record *tensor);

#ifdef __cplusplus
}
#endif

#endif
