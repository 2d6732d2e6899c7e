/* tigris_session_bind: arenas, the backend's scratch, and the proof. */
#include <string.h>

#include "executor.h"
#include "placement.h"
#include "tigris_kernel.h"

static uint32_t backend_scratch_bytes(const tigris_plan *plan, const tigris_backend *backend)
{
    uint32_t bytes = 0U;
    for (; backend != NULL; backend = backend->fallback) {
        const uint32_t wanted = backend->prepare != NULL ? backend->prepare(plan) : 0U;
        bytes = wanted > bytes ? wanted : bytes;
    }
    return bytes;
}

static uint32_t limit_to_32_bits(size_t bytes)
{
    return bytes > UINT32_MAX ? UINT32_MAX : (uint32_t)bytes;
}

/* Carves the backend's scratch from the top of the fast arena, and compares sizes and alignment. */
static tigris_status bind_arenas(tigris_session *session, const tigris_header_record *header,
                                 const tigris_placement *placement)
{
    const uint32_t mask = header->alignment - 1U;
    if ((((uintptr_t)session->fast | (uintptr_t)session->slow) & mask) != 0U) {
        return TIGRIS_ERR_ARENA_ALIGNMENT;
    }
    const uint32_t scratch = backend_scratch_bytes(session->plan, session->backend);
    uint32_t lacking = 0U;
    if (scratch != 0U) {
        const uint32_t given = session->fast_bytes;
        lacking = scratch > given ? scratch - given : 0U;
        session->fast_bytes = (given + lacking - scratch) & ~mask;
        session->backend_scratch = session->fast + session->fast_bytes;
        session->backend_scratch_bytes = scratch;
    }
    if (placement != NULL && lacking == 0U) {
        session->placement = placement;
        return TIGRIS_OK;
    }
    if (lacking != 0U || session->fast_bytes < header->fast_bytes) {
        session->bytes_short = lacking + ((header->fast_bytes - session->fast_bytes + mask) & ~mask);
        return TIGRIS_ERR_FAST_TOO_SMALL;
    }
    if (session->slow_bytes < header->slow_bytes) {
        session->bytes_short = header->slow_bytes - session->slow_bytes;
        return TIGRIS_ERR_SLOW_TOO_SMALL;
    }
    return TIGRIS_OK;
}

static tigris_status bind_and_prove(tigris_session *session, const tigris_placement *placement)
{
    tigris_status status = bind_arenas(session, session->plan->header, placement);
    if (status == TIGRIS_OK && session->placement != NULL) {
        status = session->placement->bind(session);
    }
    return status == TIGRIS_OK ? tigris_walk(session, 1) : status;
}

tigris_status tigris_session_bind(tigris_session *session, const tigris_plan *plan, void *fast, size_t fast_bytes,
                                  void *slow, size_t slow_bytes, const tigris_backend *backend,
                                  const tigris_placement *placement)
{
    if (session == NULL) {
        return TIGRIS_ERR_ARGUMENT;
    }
    memset(session, 0, sizeof *session);
    session->fault.status = TIGRIS_ERR_ARGUMENT; /* one by one: smaller than a literal that is copied */
    session->fault.stage = TIGRIS_NOWHERE;
    session->fault.op = TIGRIS_NOWHERE;
    session->fault.tensor = TIGRIS_NOWHERE;
    if (plan == NULL || plan->header == NULL || backend == NULL || (fast == NULL && plan->header->fast_bytes != 0U)) {
        return TIGRIS_ERR_ARGUMENT;
    }
    session->plan = plan;
    session->backend = backend;
    session->fast = fast;
    session->slow = slow;
    session->fast_bytes = fast != NULL ? limit_to_32_bits(fast_bytes) : 0U;
    session->slow_bytes = slow != NULL ? limit_to_32_bits(slow_bytes) : 0U;
    const tigris_status status = bind_and_prove(session, placement);
    session->fault.status = status;
    if (status != TIGRIS_OK) {
        session->plan = NULL; /* refused by tigris_run; without inputs and outputs */
    }
    return status;
}
