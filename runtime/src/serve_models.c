/* Handlers of requests about models, except RUN, RESET, TRANSFER, TRACE and ROWS. */
#include <string.h>

#include "band.h"
#include "crc32.h"
#include "serve_requests.h"

/* Bytes of the plan's checksum between two yields. */
#define CHECK_PIECE_BYTES 4096U

const tigris_plan *tigris_serve_plan(const tigris_serve_model *model)
{
    return model->plan != NULL && model->plan->header != NULL ? model->plan : NULL;
}

tigris_session *tigris_serve_session(const tigris_serve_model *model)
{
    const int is_ready = model->status == TIGRIS_OK && tigris_is_bound(model->session);

    return is_ready ? model->session : NULL;
}

void tigris_serve_info_request(tigris_serve *server, const tigris_serve_model *model, const tigris_serve_query *query)
{
    const tigris_plan *plan = tigris_serve_plan(model);
    tigris_serve_info answer;

    (void)query;
    memset(&answer, 0, sizeof answer);
    answer.status = (int32_t)model->status;
    if (answer.status == 0 && tigris_serve_session(model) == NULL) {
        answer.status = (int32_t)TIGRIS_ERR_ARGUMENT;
    }
    if (model->arenas != NULL) {
        answer.fast_given = (uint32_t)model->arenas->fast_bytes;
        answer.slow_given = (uint32_t)model->arenas->slow_bytes;
    }
    if (plan != NULL) {
        answer.plan_bytes = plan->header->total_bytes;
        answer.plan_crc32 = plan->header->crc32;
        answer.fast_needed = plan->header->fast_bytes;
        if (answer.status == 0 && model->session->bytes_short != 0U) { /* scratch that its kernels lack */
            answer.fast_needed = answer.fast_given + model->session->bytes_short;
        }
        answer.slow_needed = plan->header->slow_bytes;
        answer.input_count = plan->header->input_count;
        answer.output_count = plan->header->output_count;
        memcpy(answer.source_sha256, plan->header->source_sha256, sizeof answer.source_sha256);
        memcpy(answer.name, plan->header->name, sizeof answer.name);
    }
    tigris_serve_respond(server, &answer, (uint32_t)sizeof answer);
}

void tigris_serve_tensor_request(tigris_serve *server, const tigris_serve_model *model, const tigris_serve_query *query)
{
    const tigris_plan *plan = model->session->plan;
    const uint32_t index = query->range.index;
    const int output = TIGRIS_SERVE_QUERY_DIRECTION(query) == (uint8_t)TIGRIS_SERVE_DIRECTION_OUTPUT;
    const uint32_t count = output ? plan->header->output_count : plan->header->input_count;
    tigris_serve_tensor answer;

    if (index >= count) {
        tigris_serve_refuse(server, TIGRIS_SERVE_REFUSAL_TENSOR);
        return;
    }
    const tigris_io_record *io = &plan->io[(output ? plan->header->input_count : 0U) + index];
    memset(&answer, 0, sizeof answer);
    answer.stored_bytes =
        output ? tigris_output_bytes(model->session, index) : tigris_input_bytes(model->session, index);
    answer.dtype = plan->tensors[io->tensor].dtype;
    tigris_serve_copy_text(answer.name, plan->strings + io->name, sizeof answer.name);
    tigris_serve_respond(server, &answer, (uint32_t)sizeof answer);
}

int tigris_serve_inside(tigris_serve *server, const void *memory, uint32_t bytes, const tigris_serve_range *range)
{
    if (memory == NULL) {
        tigris_serve_refuse(server, TIGRIS_SERVE_REFUSAL_TENSOR);
        return 0;
    }
    if (range->first > bytes || range->count > bytes - range->first) {
        tigris_serve_refuse(server, TIGRIS_SERVE_REFUSAL_RANGE);
        return 0;
    }
    return 1;
}

void tigris_serve_write_request(tigris_serve *server, const tigris_serve_model *model, const tigris_serve_query *query)
{
    const tigris_serve_range *range = &query->range;
    uint8_t *input = (uint8_t *)tigris_input(model->session, range->index);

    if (!tigris_serve_inside(server, input, tigris_input_bytes(model->session, range->index), range)) {
        return;
    }
    if (range->count != query->data_bytes) {
        tigris_serve_refuse(server, TIGRIS_SERVE_REFUSAL_LENGTH);
        return;
    }
    tigris_serve_invalidate_outputs(server);
    memcpy(input + range->first, query->data, query->data_bytes);
    tigris_serve_respond(server, NULL, 0U);
}

int tigris_serve_has_output(tigris_serve *server, const tigris_serve_model *model)
{
    if (server->output_model < server->model_count && &server->models[server->output_model] == model &&
        server->output_run == model->session->runs) {
        return 1;
    }
    tigris_serve_refuse(server, TIGRIS_SERVE_REFUSAL_NO_OUTPUT);
    return 0;
}

void tigris_serve_read_request(tigris_serve *server, const tigris_serve_model *model, const tigris_serve_query *query)
{
    const tigris_serve_range *range = &query->range;
    const uint8_t *output = (const uint8_t *)tigris_output(model->session, range->index);

    if (!tigris_serve_has_output(server, model)) {
        return;
    }
    if (range->count > TIGRIS_SERVE_PAYLOAD) {
        tigris_serve_refuse(server, TIGRIS_SERVE_REFUSAL_RANGE);
    } else if (tigris_serve_inside(server, output, tigris_output_bytes(model->session, range->index), range)) {
        tigris_serve_respond(server, output + range->first, range->count);
    }
}

void tigris_serve_checksum_request(tigris_serve *server, const tigris_serve_model *model,
                                   const tigris_serve_query *query)
{
    const uint8_t *output = (const uint8_t *)tigris_output(model->session, query->range.index);
    tigris_serve_checksum answer;

    if (output == NULL) {
        tigris_serve_refuse(server, TIGRIS_SERVE_REFUSAL_TENSOR);
    } else if (tigris_serve_has_output(server, model)) {
        answer.status = 0;
        answer.crc32 = tigris_crc32(output, tigris_output_bytes(model->session, query->range.index));
        tigris_serve_respond(server, &answer, (uint32_t)sizeof answer);
    }
}

/* tigris_plan_check_crc with BUSY frames. A plan that is C in the firmware has no base: nothing of it can be read. */
void tigris_serve_plan_check_request(tigris_serve *server, const tigris_serve_model *model,
                                     const tigris_serve_query *query)
{
    const tigris_plan *plan = tigris_serve_plan(model);
    tigris_serve_checksum answer;
    uint32_t crc = 0U;
    int stop = 0;

    (void)query;
    if (plan == NULL) {
        tigris_serve_refuse(server, TIGRIS_SERVE_REFUSAL_NOT_READY);
        return;
    }
    const uint32_t end = plan->base != NULL ? plan->header->total_bytes : 0U;
    tigris_serve_start_work(server, tigris_serve_session(model));
    for (uint32_t at = TIGRIS_CRC_COVERS_FROM; at < end && !stop;) {
        const uint32_t bytes = end - at < CHECK_PIECE_BYTES ? end - at : CHECK_PIECE_BYTES;
        crc = tigris_crc32_append(crc, plan->base + at, bytes);
        at += bytes;
        stop = at < end && tigris_serve_yield(server);
    }
    answer.crc32 = plan->header->crc32;
    const int is_equal = end == 0U || crc == answer.crc32;
    answer.status = (int32_t)(stop ? TIGRIS_ERR_CANCELLED : is_equal ? TIGRIS_OK : TIGRIS_ERR_CRC);
    tigris_serve_respond(server, &answer, (uint32_t)sizeof answer);
}

void tigris_serve_profile_request(tigris_serve *server, const tigris_serve_model *model,
                                  const tigris_serve_query *query)
{
    const tigris_serve_range *range = &query->range;
    tigris_serve_profile answer[TIGRIS_SERVE_LEAST_PAYLOAD / sizeof(tigris_serve_profile)];
    const uint32_t most = (uint32_t)(sizeof answer / sizeof answer[0]);
    const uint32_t known = model->profile != NULL ? model->profile_count : 0U;
    uint32_t count = range->first < known ? known - range->first : 0U;

    count = count < range->count ? count : range->count;
    count = count < most ? count : most;
    for (uint32_t i = 0; i < count; i++) {
        const tigris_serve_counts *counts = &model->profile[range->first + i];
        answer[i].calls = counts->calls;
        answer[i].elapsed[0] = (uint32_t)counts->elapsed;
        answer[i].elapsed[1] = (uint32_t)(counts->elapsed >> 32);
    }
    tigris_serve_respond(server, answer, count * (uint32_t)sizeof answer[0]);
}

/* The place where the model was refused or its last run failed. It is in the session if the plan could be opened. */
void tigris_serve_fault_request(tigris_serve *server, const tigris_serve_model *model, const tigris_serve_query *query)
{
    const tigris_plan *plan = tigris_serve_plan(model);
    const tigris_fault *fault = plan == NULL ? (model->plan != NULL ? &model->plan->fault : NULL)
                                             : (model->session != NULL ? &model->session->fault : NULL);
    tigris_serve_fault answer;

    (void)query;
    memset(&answer, 0, sizeof answer);
    answer.stage = answer.op = answer.tensor = TIGRIS_NOWHERE;
    if (fault != NULL && fault->status != TIGRIS_OK) {
        answer.status = (int32_t)fault->status;
        answer.stage = fault->stage;
        answer.op = fault->op;
        answer.tensor = fault->tensor;
        if (plan != NULL && fault->op < plan->header->op_count) {
            tigris_serve_copy_text(answer.name, plan->strings + plan->ops[fault->op].name, sizeof answer.name);
        } else if (plan != NULL && fault->tensor < plan->header->tensor_count) {
            tigris_serve_copy_text(answer.name, plan->strings + plan->tensors[fault->tensor].name, sizeof answer.name);
        }
    }
    tigris_serve_respond(server, &answer, (uint32_t)sizeof answer);
}
