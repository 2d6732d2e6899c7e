/* tigris_session_bind: checks the arenas, carves the backend's scratch, and proves the plan. */
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

/* Carves the backend's scratch from the top of the fast arena, above the plan's `kept` bytes. If less is left than
 * the backend asks for, it gets the rest, and portable kernels run the operators that need more. Returns the missing
 * bytes. */
static uint32_t carve_scratch(tigris_session *session, uint32_t kept, uint32_t mask)
{
    const uint32_t scratch = backend_scratch_bytes(session->plan, session->backend);
    const uint32_t given = session->fast_bytes;
    const uint32_t left = given > kept ? given - kept : 0U;
    const uint32_t taken = scratch < left ? scratch : left;
    if (taken != 0U) {
        session->fast_bytes = (given - taken) & ~mask;
        session->backend_scratch = session->fast + session->fast_bytes;
        session->backend_scratch_bytes = taken;
    }
    return scratch != 0U && given < kept ? scratch + (kept - given) : scratch - taken;
}

/* Checks alignment and sizes of the arenas; sets session->bytes_short. */
static tigris_status bind_arenas(tigris_session *session, const tigris_header_record *header,
                                 const tigris_placement *placement)
{
    const uint32_t mask = header->alignment - 1U;
    if ((((uintptr_t)session->fast | (uintptr_t)session->slow) & mask) != 0U) {
        return TIGRIS_ERR_ARENA_ALIGNMENT;
    }
    /* With a placement the scratch comes first, because the placement works in an arena of any size. */
    const uint32_t kept = placement == NULL ? (header->fast_bytes + mask) & ~mask : 0U;
    session->bytes_short = carve_scratch(session, kept, mask);
    if (placement != NULL) {
        session->placement = placement;
        return TIGRIS_OK;
    }
    if (session->fast_bytes < header->fast_bytes) {
        if (session->bytes_short == 0U) {
            session->bytes_short = (header->fast_bytes - session->fast_bytes + mask) & ~mask;
        }
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
    return status == TIGRIS_OK ? tigris_run_stages(session, 1) : status;
}

tigris_status tigris_session_bind(tigris_session *session, const tigris_plan *plan, const tigris_arenas *arenas,
                                  const tigris_backend *backend, const tigris_placement *placement, uint32_t headers)
{
    if (session == NULL) {
        return TIGRIS_ERR_ARGUMENT;
    }
    if (headers != TIGRIS_HEADERS) {
        return TIGRIS_ERR_HEADERS;
    }
    memset(session, 0, sizeof *session);
    session->fault.status = TIGRIS_ERR_ARGUMENT; /* four stores are smaller than a copied literal */
    session->fault.stage = session->fault.op = session->fault.tensor = TIGRIS_NOWHERE;
    if (plan == NULL || plan->header == NULL || arenas == NULL || backend == NULL) {
        return TIGRIS_ERR_ARGUMENT;
    }
    session->plan = plan;
    session->backend = backend;
    session->fast = arenas->fast;
    session->slow = arenas->slow;
    session->fast_bytes = arenas->fast != NULL ? limit_to_32_bits(arenas->fast_bytes) : 0U;
    session->slow_bytes = arenas->slow != NULL ? limit_to_32_bits(arenas->slow_bytes) : 0U;
    const tigris_status status = bind_and_prove(session, placement);
    session->fault.status = status;
    if (status != TIGRIS_OK) {
        session->plan = NULL; /* marks the session as unbound: tigris_run refuses it, and it has no inputs or outputs */
    }
    return status;
}
