/* TiGrIS runtime: runs a compiled neural network (a .tgrs plan) in memory that the caller provides.
 *
 * Order of calls: tigris_plan_open or tigris_model_open (tigris_port.h), tigris_session_init, then for each inference
 * write the inputs, tigris_run, read the outputs. Nothing needs to be freed but a plan of tigris_model_open.
 *
 * The caller owns all memory: plan bytes, tigris_plan, tigris_session and arenas. The runtime uses no heap, no global
 * variable and, of the C library, string.h only (float kernels: also math.h and float.h).
 *
 * Threads: no function locks. One session, with its plan and arenas, belongs to one task at a time; different sessions
 * may run in different tasks at once. No function may be called from an interrupt handler or, unless it says so, from a
 * hook of the same session.
 *
 * A plan may be any bytes: tigris_plan_open and tigris_session_init check every field before a kernel runs. An LZ4
 * weight block is the exception: tigris_run checks it when it has decompressed it, before a kernel reads it.
 *
 *     static TIGRIS_ALIGNED uint8_t fast[KWS_FAST_BYTES];
 *     const tigris_arenas arenas = {.fast = fast, .fast_bytes = sizeof fast};
 *     tigris_plan plan;
 *     tigris_session session;
 *     tigris_status status = tigris_plan_open(&plan, kws_plan, kws_plan_bytes);
 *     if (status == TIGRIS_OK)
 *         status = tigris_session_init(&session, &plan, &arenas, NULL);
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

/* The version of this header, in a number that rises: 10000 * major + 100 * minor + patch. */
#define TIGRIS_VERSION 100

/* The runtime opens only plans whose alignment, in bytes, is a multiple of this. Define it at build time to
 * override. */
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

/* Aligns an arena or an embedded plan to 32 bytes, enough for the compiler's default alignments; write it before the
 * type. For a compiler that is not listed here define it yourself. */
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

/* Places a slow arena in slow memory; TIGRIS_MODEL_..._ARENAS writes it behind the array. Define it for your board. */
#ifndef TIGRIS_SLOW_MEMORY
#define TIGRIS_SLOW_MEMORY
#endif

#if defined(__cplusplus) && __cplusplus >= 201103L
#define TIGRIS_NULL nullptr
#else
#define TIGRIS_NULL NULL
#endif

/* The result of a call: 0, or a negative reason. tigris_status_text gives a sentence for each. */
typedef enum tigris_status {
    TIGRIS_OK = 0,
    /* Mistakes of the caller. */
    TIGRIS_ERR_ARGUMENT = -1,        /* a null pointer or an index out of range */
    TIGRIS_ERR_FAST_TOO_SMALL = -2,  /* the fast arena is smaller than the plan needs */
    TIGRIS_ERR_SLOW_TOO_SMALL = -3,  /* the slow arena is smaller than the plan needs */
    TIGRIS_ERR_ARENA_ALIGNMENT = -4, /* an arena does not start on a multiple of the plan's alignment */
    TIGRIS_ERR_CANCELLED = -5,       /* the yield hook asked to stop */
    TIGRIS_ERR_NO_ROWS_HOOK = -6,    /* an input or output is streamed, and fetch_rows or take_rows is not set */
    TIGRIS_ERR_ROWS = -7,            /* fetch_rows or take_rows asked to stop */
    TIGRIS_ERR_HEADERS = -8,         /* the library was compiled with another tigris.h than the caller */
    /* The plan as a whole. */
    TIGRIS_ERR_NOT_A_PLAN = -10,   /* too short, or the magic bytes differ */
    TIGRIS_ERR_VERSION = -11,      /* compiled for another format version */
    TIGRIS_ERR_TRUNCATED = -12,    /* fewer bytes than the header says */
    TIGRIS_ERR_CRC = -13,          /* the checksum differs (tigris_plan_check_crc) */
    TIGRIS_ERR_ALIGNMENT = -14,    /* the plan's alignment is no power of two, or no multiple of TIGRIS_TENSOR_ALIGN */
    TIGRIS_ERR_PLAN_ADDRESS = -15, /* the plan does not start on a 16-byte boundary */
    /* Records of the plan. */
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
    /* The plan's place in flash (tigris_port.h). */
    TIGRIS_ERR_PARTITION = -40,           /* the partition table has no such partition */
    TIGRIS_ERR_PARTITION_TOO_SMALL = -41, /* the partition ends before the plan does */
    TIGRIS_ERR_PLAN_ABSENT = -42,         /* the flash where the plan should be is erased */
    TIGRIS_ERR_OTHER_MODEL = -43,         /* the plan is of another model than the firmware was built with */
    TIGRIS_ERR_INTERFACE = -44,           /* inputs or outputs are not those the firmware was built for */
    TIGRIS_ERR_MAPPING = -45,             /* flash cannot be read, or no address range is left to map it */
    TIGRIS_ERR_DAMAGED = -46,             /* the plan is damaged or not written to its end: upload it again */
    /* An update of the plan (tigris_update.h). */
    TIGRIS_ERR_FLASH = -47,          /* flash cannot be erased or written, or does not hold what was written */
    TIGRIS_ERR_NO_SLOTS = -48,       /* the firmware was built with one place for this model's plan */
    TIGRIS_ERR_SLOT_TOO_SMALL = -49, /* the plan is larger than a slot */
    TIGRIS_ERR_UNCONFIRMED = -50,    /* a plan is on trial: confirm it or give it up first */
    TIGRIS_ERR_ORDER = -51,          /* a step of an update was called out of order, or after a failure */

    TIGRIS_ERR_SIGNATURE = -52, /* the firmware's key did not sign the plan */
    TIGRIS_ERR_ROLLBACK = -53   /* the plan's security version is smaller than that of a confirmed one */
} tigris_status;

/* One sentence for people; never NULL. Any task may call it at any time. */
const char *tigris_status_text(tigris_status status);

/* Why and where a plan was refused or a run failed. Stage, operator and tensor are indices of the plan's records;
 * TIGRIS_NOWHERE if unknown. If status is TIGRIS_OK, the indices mean nothing. */
#define TIGRIS_NOWHERE UINT32_MAX
typedef struct tigris_fault {
    tigris_status status;
    uint32_t stage;
    uint32_t op;
    uint32_t tensor;
} tigris_fault;

/* A plan in memory or mapped flash, opened in place: pointers into its bytes. Members are read-only for callers. */
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
    uint32_t mapping;   /* the mapping of flash that tigris_model_close releases; 0: none */
    tigris_fault fault; /* set by tigris_plan_open; if that fails, all other members are zeroed */
} tigris_plan;

/* Opens the plan at `data`, which must be 16-byte aligned, and checks its structure. `bytes` may exceed the plan's
 * size. The caller keeps the bytes mapped and unchanged while the plan or one of its sessions is in use: runs read
 * them in place and do not check them again. */
TIGRIS_MUST_CHECK tigris_status tigris_plan_open(tigris_plan *plan, const void *data, size_t bytes);

/* Reads the whole open plan and compares its CRC-32. A damaged plan may pass tigris_plan_open: it then gives wrong
 * numbers, but never reads or writes outside its memory. tigris_model_open makes this check itself. */
TIGRIS_MUST_CHECK tigris_status tigris_plan_check_crc(const tigris_plan *plan);

/* Writes a fault's place for people, such as "stage 3, operator 12 (/block/MatMul)", to the `bytes` bytes at `text`,
 * cut to fit; `bytes` must be at least 1. Names need an open plan; `plan` may be NULL. Writes "" if there is no fault
 * or its place is unknown. Returns `text`. */
char *tigris_fault_text(const tigris_fault *fault, const tigris_plan *plan, char *text, size_t bytes);

struct tigris_backend;
struct tigris_kernel_call;
struct tigris_placement;
struct tigris_session;

/* A kernel; see tigris_kernel.h. */
typedef void (*tigris_kernel)(const struct tigris_kernel_call *call);

/* Most multiplications between two calls of the yield hook. */
#ifndef TIGRIS_YIELD_STEPS
#define TIGRIS_YIELD_STEPS (1U << 22)
#endif

/* Hooks run in the task that called tigris_run. Each gets the context that tigris_hooks has for it.
 *
 * The yield hook is called between operators and bands, and within operators that take long: feed the watchdog here.
 * Return 0 to go on, anything else to stop the run with TIGRIS_ERR_CANCELLED. Between two calls a run does at most
 * - TIGRIS_YIELD_STEPS multiplications, or those of two output rows, of a convolution, pooling, fully connected
 *   layer, LRN or matrix product of two activations;
 * - one step of a recurrent layer, one pass over all boxes (SUPPRESS) or over one vector (TOP_K);
 * - for any other operator, a few passes over the rows of one band, of its operands and its output, and over its
 *   weights;
 * - one copy or decompression of a stage's weights.
 *
 * If the backend has scratch of its own (ESP-NN, CMSIS-NN), or an operator takes all images of a batch at once, one
 * kernel call makes all rows of the band. */
typedef int (*tigris_yield_hook)(void *context);

/* Returns a free-running counter in any unit (cycles, ns); the runtime takes differences modulo 2^32. */
typedef uint32_t (*tigris_counter_hook)(void *context);

/* Called after each kernel call with the operator's index in the plan and the counts that the call took. */
typedef void (*tigris_profile_hook)(void *context, uint32_t op, uint32_t elapsed);

/* Rows [first, first + rows) of one image of a tensor, as a kernel sees them; `data` is the address of row `first`, for
 * reading only. If an operator takes a whole batch in one call, `rows` is batch * height. */
typedef struct tigris_band {
    const uint8_t *data;
    const tigris_tensor_record *tensor;
    int32_t first;
    int32_t rows;
    /* Inputs: rows of padding that the operator reads above and below the tensor. Outputs: no meaning. */
    int32_t pad_top;
    int32_t pad_bottom;
} tigris_band;

#define TIGRIS_MAX_OPERANDS 8U
/* Entries of a session's cache of kernels. */
#define TIGRIS_KERNEL_CACHE_ENTRIES 8U

/* Called after each kernel call with the rows that it wrote of image `image`, for debugging and for comparing layer by
 * layer. The rows are valid during the call only. */
typedef void (*tigris_trace_hook)(void *context, uint32_t op, uint32_t image, const tigris_band *output);

/* Writes rows [first, first + rows) of streamed input `input` to `destination`, in the stored layout and type. A run
 * asks for each row once, in order, a few at a time. The hook may block, for instance until a camera delivers a line.
 * Return 0 to go on, anything else to stop the run with TIGRIS_ERR_ROWS. */
typedef int (*tigris_fetch_rows_hook)(void *context, uint32_t input, uint32_t first, uint32_t rows, void *destination);

/* Receives rows [first, first + rows) of streamed output `output` at `source`, valid during the call only. Each row
 * comes once in a run, in order, as soon as it is computed. Returns as the hook above. */
typedef int (*tigris_take_rows_hook)(void *context, uint32_t output, uint32_t first, uint32_t rows, const void *source);

/* Computes one worker's part of an operator; `worker` is 0 or 1. */
typedef void (*tigris_work)(void *argument, uint32_t worker);

/* Calls work(argument, 0) and work(argument, 1) on two cores at once and returns when both have returned. Both must see
 * what the caller wrote before, and the caller must see what both wrote: the hook provides the memory barriers. */
typedef void (*tigris_parallel_hook)(void *context, tigris_work work, void *argument);

/* The hooks of a session. Those that belong together share a context, so that hooks of different sources, such as
 * tigris_esp_yield and a camera's fetch_rows, go into one struct. */
typedef struct tigris_hooks {
    tigris_yield_hook yield;
    void *yield_context;
    tigris_counter_hook counter; /* called with profile_context; `profile` needs it */
    tigris_profile_hook profile;
    void *profile_context;
    tigris_trace_hook trace;
    void *trace_context;
    tigris_fetch_rows_hook fetch_rows; /* required if an input is streamed; called with rows_context */
    tigris_take_rows_hook take_rows;   /* required if an output is streamed; called with rows_context */
    void *rows_context;
    tigris_parallel_hook parallel; /* runs two workers on two cores; NULL: no second core */
    void *parallel_context;
} tigris_hooks;

/* Runs a kernel call; tigris_split_rows is the only one. */
typedef void (*tigris_split_hook)(struct tigris_session *session, const tigris_op_record *op,
                                  const struct tigris_kernel_call *call, tigris_kernel kernel);

/* The memory that the last run used and the bytes that it moved; measured, not planned. */
typedef struct tigris_usage {
    uint32_t fast_peak;    /* bytes of the fast arena up to the highest byte used */
    uint32_t slow_peak;    /* bytes of the slow arena up to the highest byte used */
    uint32_t slow_read;    /* bytes that loads and kernels read from slow memory */
    uint32_t slow_written; /* bytes that stores and kernels wrote to slow memory */
} tigris_usage;

/* The memory that the caller gives to a session. Both arenas start on a multiple of the plan's alignment; NULL counts
 * as 0 bytes. The build plugins define TIGRIS_MODEL_<NAME>_ARENAS(name), which makes static arenas for a model and a
 * tigris_arenas `name` of them. */
typedef struct tigris_arenas {
    void *fast;
    size_t fast_bytes;
    void *slow;
    size_t slow_bytes;
} tigris_arenas;

/* One plan bound to its arenas. The caller owns the struct. */
typedef struct tigris_session {
    const tigris_plan *plan;
    tigris_hooks hooks; /* tigris_session_init sets all to NULL; the caller may set them before a run */
    /* After TIGRIS_ERR_FAST_TOO_SMALL or TIGRIS_ERR_SLOW_TOO_SMALL of tigris_session_init: bytes that the arena lacks.
     * After TIGRIS_OK: bytes of scratch that a kernel library lacks; portable kernels then run the operators that need
     * it, with the same results. */
    uint32_t bytes_short;
    tigris_fault fault; /* of tigris_session_init, or of the last tigris_run */
    tigris_usage usage;
    uint32_t runs;           /* calls of tigris_run since tigris_session_init; wraps */
    tigris_split_hook split; /* tigris_split_rows for two cores; NULL: the caller's core runs every operator */

    /* All members from here on are private. */
    const struct tigris_backend *backend;
    uint8_t *fast;
    uint8_t *slow;
    uint32_t fast_bytes;
    uint32_t slow_bytes;
    uint8_t *backend_scratch;
    uint32_t backend_scratch_bytes;
    const struct tigris_placement *placement; /* NULL: addresses are the plan's */
    uint32_t image;     /* of a batch that runs image by image: the image that runs now */
    uint8_t *band_data; /* writable address of the band that was filled last */
    /* The entry found last for each key (kind, type, packing) modulo TIGRIS_KERNEL_CACHE_ENTRIES; NULL: empty. */
    const struct tigris_kernel_entry *kernel_cache[TIGRIS_KERNEL_CACHE_ENTRIES];
    /* The operands of the kernel that runs, then its output; in the session to save stack. */
    tigris_band bands[TIGRIS_MAX_OPERANDS + 1U];
    uint32_t checked_multipliers; /* by the checks of operators, since bind or the last run began */
} tigris_session;

/* The version of this header and the size of its session, for tigris_session_bind. */
#define TIGRIS_HEADERS (TIGRIS_VERSION * UINT32_C(65536) + (uint32_t)sizeof(tigris_session))

/* Binds an open plan to arenas and kernels; tigris_session_init is the usual way to call it.
 *
 * `headers` is TIGRIS_HEADERS. If it differs from the library's, TIGRIS_ERR_HEADERS is returned and *session is not
 * touched: compile the library and the program with one tigris.h and the same definitions.
 *
 * Before: `backend` is not NULL. `placement` allows arenas smaller than the plan asks for; NULL refuses them.
 *
 * It checks every operator's parameters against its tensors and weights and proves that each band finds its rows.
 * After TIGRIS_OK a run cannot read or write outside the plan and the arenas. The proof writes the first
 * header->state_bytes of fast memory, and each state gets its first value. On failure session->fault says where; the
 * session then runs nothing, and has no inputs or outputs.
 *
 * Plan, backend, placement and the memory of the arenas must outlive the session. If `placement` is NULL, sessions may
 * share arenas, as long as no two run at once. Between runs an arena keeps inputs written for the next run, outputs not yet read, and
 * states. A bind or a run of another session may overwrite all three. tigris_session_reset gives states their first
 * values; a session whose states must last from run to run needs arenas of its own. */
TIGRIS_MUST_CHECK tigris_status tigris_session_bind(tigris_session *session, const tigris_plan *plan,
                                                    const tigris_arenas *arenas,
                                                    const struct tigris_backend *backend,
                                                    const struct tigris_placement *placement, uint32_t headers);

/* All portable kernels; naming it links every one. To link only what a model needs, pass tigris_session_init a table of
 * your own with entries from tigris_kernels.h. */
extern const struct tigris_backend tigris_portable_backend;

/* The backend that NULL stands for. The build plugins define it. */
#ifndef TIGRIS_DEFAULT_BACKEND
#define TIGRIS_DEFAULT_BACKEND tigris_portable_backend
#endif
extern const struct tigris_backend TIGRIS_DEFAULT_BACKEND;

/* The placement of tigris_session_init_dynamic. */
extern const struct tigris_placement tigris_dynamic_placement;

/* A split hook: runs the operators that the plan was compiled to split (`tigris compile --cores 2`) on two cores,
 * through hooks.parallel. One core runs an operator if the halves of its rows would touch each other's memory, or if
 * its kernel's backend has scratch of its own. The results are bit-exact. Links about 1 KB of code. */
void tigris_split_rows(tigris_session *session, const tigris_op_record *op, const struct tigris_kernel_call *call,
                       tigris_kernel kernel);

/* If 2, tigris_session_init sets session->split; the caller then sets session->hooks.parallel. The build plugins define
 * it. */
#ifndef TIGRIS_CORES
#define TIGRIS_CORES 1
#endif
static inline tigris_status tigris_session_set_split(tigris_session *session, tigris_status status)
{
#if TIGRIS_CORES > 1
    if (session != TIGRIS_NULL)
        session->split = tigris_split_rows;
#else
    (void)session;
#endif
    return status;
}

/* tigris_session_bind in arenas as large as the plan asks for; `backend` NULL means TIGRIS_DEFAULT_BACKEND. Inline, so
 * that a caller with a backend of its own does not link every portable kernel. */
TIGRIS_MUST_CHECK static inline tigris_status tigris_session_init(tigris_session *session, const tigris_plan *plan,
                                                                  const tigris_arenas *arenas,
                                                                  const struct tigris_backend *backend)
{
    backend = backend != TIGRIS_NULL ? backend : &TIGRIS_DEFAULT_BACKEND;
    return tigris_session_set_split(session, tigris_session_bind(session, plan, arenas, backend, TIGRIS_NULL,
                                                                 TIGRIS_HEADERS));
}

/* tigris_session_init in arenas of any sizes. If an arena is smaller than planned, tensors get addresses during the
 * run, move together when space runs out, and overflow from fast to slow memory: slower, but bit-exact. The
 * bookkeeping needs extra fast memory: 8 bytes for each tensor and view, 4 for each input and output. If the arenas
 * are still too small, session->bytes_short is the number of bytes that the arena of the status lacks. Addresses of
 * inputs and outputs stay the same from run to run. Such a session must not share its arenas. Links about 3 KB of
 * code. */
TIGRIS_MUST_CHECK static inline tigris_status tigris_session_init_dynamic(tigris_session *session,
                                                                          const tigris_plan *plan,
                                                                          const tigris_arenas *arenas,
                                                                          const struct tigris_backend *backend)
{
    backend = backend != TIGRIS_NULL ? backend : &TIGRIS_DEFAULT_BACKEND;
    return tigris_session_set_split(session, tigris_session_bind(session, plan, arenas, backend,
                                                                 &tigris_dynamic_placement, TIGRIS_HEADERS));
}

/* Address and bytes of input `index`; NULL and 0 if the index is out of range, the session is NULL or was refused, or
 * the input is streamed. Write every input before every run: a run reuses its memory, and outputs may overlap it. */
void *tigris_input(const tigris_session *session, uint32_t index);
uint32_t tigris_input_bytes(const tigris_session *session, uint32_t index);

/* Runs one inference, and blocks until it is done. The outputs stay valid until the caller writes an input, or
 * another run uses the arenas. On failure session->fault says where, the outputs are invalid and all states are as
 * before. A hook may not call it for its own session. */
TIGRIS_MUST_CHECK tigris_status tigris_run(tigris_session *session);

/* Gives all states their first values, as tigris_session_init does: call it where a new signal starts. Does nothing
 * for a model without states. A failed or cancelled run needs no reset. */
TIGRIS_MUST_CHECK tigris_status tigris_session_reset(tigris_session *session);

/* Address of output `index` after a run, and its bytes; NULL and 0 as for inputs. */
const void *tigris_output(const tigris_session *session, uint32_t index);
uint32_t tigris_output_bytes(const tigris_session *session, uint32_t index);

/* An input or output as it is stored; pointers point into the plan. real = (stored - zero_point) * scale; if scale is 0,
 * the values are not quantised. */
typedef struct tigris_io {
    const char *name;
    tigris_dtype dtype;
    uint32_t rank;
    const uint32_t *shape; /* `rank` sizes, the last one of neighbouring elements */
    float scale;
    int32_t zero_point;
} tigris_io;

/* Describe input or output `index`, streamed or not. TIGRIS_ERR_ARGUMENT, and *io stays as it is: the index is out of
 * range, or the session is NULL or was refused. */
TIGRIS_MUST_CHECK tigris_status tigris_describe_input(const tigris_session *session, uint32_t index, tigris_io *io);
TIGRIS_MUST_CHECK tigris_status tigris_describe_output(const tigris_session *session, uint32_t index, tigris_io *io);

/* Why and where the last step failed: the plan's fault if the plan was not opened, else the session's. */
const tigris_fault *tigris_fault_of(const tigris_plan *plan, const tigris_session *session);

/* Bytes of a whole tensor; UINT32_MAX if they do not fit 32 bits, 0 for an unknown type. */
uint32_t tigris_tensor_bytes(const tigris_tensor_record *tensor);

#ifdef __cplusplus
}
#endif

#endif
