/* A stand-in for the runtime, for tests of the line: a model of two inputs and two outputs.
 *
 * Input 0 has 1,000 bytes, input 1 has 7. Output 0 is input 0 reversed, each byte times 3 plus the sum of input 1.
 * Output 1 is the first 300 bytes of input 0. A run destroys its inputs; it has ten yields and 20 operator calls. A
 * model whose name begins with X has a wrong checksum, one whose name begins with L has a plan of 1 MB.
 * standin_resize: other sizes of input 0 and output 1, up to INPUT0. standin_work: called by each operator. */
#include <string.h>

#include "../../runtime/src/crc32.h"
#include "tigris_serve.h"

#ifndef INPUT0
#define INPUT0 1000U
#endif
#define INPUT1 7U
#define OUTPUT1 300U
#define OPS 20U

int standin_is_running;
void (*standin_work)(void);

static uint8_t input0[INPUT0], input1[INPUT1], output0[INPUT0], output1[INPUT0];
static uint8_t *const tensors[2][2] = {{input0, input1}, {output0, output1}};
static uint32_t sizes[2][2] = {{INPUT0, INPUT1}, {INPUT0, OUTPUT1}};

void standin_resize(uint32_t input0_bytes, uint32_t output1_bytes);

void standin_resize(uint32_t input0_bytes, uint32_t output1_bytes)
{
    sizes[0][0] = sizes[1][0] = input0_bytes;
    sizes[1][1] = output1_bytes;
}

const char *tigris_status_text(tigris_status status)
{
    return status == TIGRIS_OK ? "ok" : status == TIGRIS_ERR_CANCELLED ? "cancelled" : "some other status";
}

#define TENSOR(type, function, table, none)                      \
    type function(const tigris_session *session, uint32_t index) \
    {                                                            \
        (void)session;                                           \
        return index < 2U ? (table)[index] : (none);             \
    }
TENSOR(void *, tigris_input, tensors[0], NULL)
TENSOR(const void *, tigris_output, tensors[1], NULL)
TENSOR(uint32_t, tigris_input_bytes, sizes[0], 0U)
TENSOR(uint32_t, tigris_output_bytes, sizes[1], 0U)

uint32_t tigris_rows_bytes(const tigris_tensor_record *tensor, uint32_t rows)
{
    return tensor->width * rows;
}

uint32_t tigris_row_bytes(const tigris_tensor_record *tensor)
{
    return tensor->width;
}

/* Calls the hooks for a kernel call of an operator, which read input 1 and made output 0. */
static void call_kernel(tigris_session *session, uint32_t op)
{
    static const tigris_tensor_record one = {.batch = 1U, .height = 1U, .width = INPUT1};
    const tigris_tensor_record row = {.batch = 1U, .height = 1U, .width = sizes[0][0]};

    if (standin_work != NULL)
        standin_work();
    session->bands[0] = (tigris_band){.data = input1, .tensor = &one, .rows = 1};
    session->bands[1] = (tigris_band){.data = output0, .tensor = &row, .rows = 1};
    if (session->hooks.trace != NULL) {
        (void)session->hooks.counter(session->hooks.profile_context);
        session->hooks.trace(session->hooks.trace_context, op, 0U, &session->bands[1]);
        (void)session->hooks.counter(session->hooks.profile_context);
    }
    if (session->hooks.profile != NULL)
        session->hooks.profile(session->hooks.profile_context, op, 100U + op);
}

tigris_status tigris_run(tigris_session *session)
{
    uint8_t sum = 0U;

    for (uint32_t i = 0; i < INPUT1; i++)
        sum = (uint8_t)(sum + input1[i]);
    for (uint32_t i = 0; i < sizes[0][0]; i++)
        output0[sizes[0][0] - 1U - i] = (uint8_t)(3U * input0[i] + sum);
    memcpy(output1, input0, sizes[1][1]);
    memset(input0, 0xEE, sizes[0][0]);
    memset(input1, 0xEE, INPUT1);
    standin_is_running = 1;
    for (uint32_t op = 0; op < OPS; op++) {
        call_kernel(session, op);
        if (op % 2U == 1U && session->hooks.yield != NULL && session->hooks.yield(session->hooks.yield_context) != 0) {
            session->fault = (tigris_fault){TIGRIS_ERR_CANCELLED, 0U, op, TIGRIS_NOWHERE};
            standin_is_running = 0;
            return TIGRIS_ERR_CANCELLED;
        }
    }
    standin_is_running = 0;
    session->fault.status = TIGRIS_OK;
    session->usage.fast_peak = 2000U;
    session->usage.slow_peak = 1U;
    session->usage.slow_read = 2U;
    session->usage.slow_written = 3U;
    return TIGRIS_OK;
}

tigris_status tigris_session_reset(tigris_session *session)
{
    (void)session;
    return TIGRIS_OK;
}

void standin_open(tigris_plan *plan, tigris_session *session, const char *name);

void standin_open(tigris_plan *plan, tigris_session *session, const char *name)
{
    static union {
        tigris_header_record header;
        uint8_t bytes[4096];
    } files[4];
    static union {
        tigris_header_record header;
        uint8_t bytes[1U << 20];
    } large;
    static tigris_op_record ops[OPS];
    static tigris_tensor_record records[4];
    static tigris_io_record io[4];
    static int opened;
    const int is_large = name[0] == 'L';
    tigris_header_record *header = is_large ? &large.header : &files[opened].header;

    header->total_bytes = is_large ? (uint32_t)sizeof large : 4096U;
    header->fast_bytes = 2000U;
    header->input_count = 2U;
    header->output_count = 2U;
    header->op_count = OPS;
    memset(header->source_sha256, name[0], sizeof header->source_sha256);
    for (uint32_t i = 0; name[i] != '\0' && i + 1U < sizeof header->name; i++)
        header->name[i] = name[i];
    plan->base = is_large ? large.bytes : files[opened].bytes;
    opened = (opened + 1) % 4;
    plan->ops = ops;
    header->crc32 = tigris_crc32(plan->base + TIGRIS_CRC_COVERS_FROM, header->total_bytes - TIGRIS_CRC_COVERS_FROM);
    if (name[0] == 'X')
        header->crc32 ^= 1U;
    for (uint32_t i = 0; i < 4U; i++) {
        records[i].dtype = TIGRIS_DTYPE_INT8;
        io[i].tensor = (uint16_t)i;
        io[i].name = 2U * i;
    }
    plan->header = header;
    plan->tensors = records;
    plan->io = io;
    plan->strings = "a\0b\0c\0d";
    session->plan = plan;
}
