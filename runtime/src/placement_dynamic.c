/* Placement in arenas that are smaller than planned: tigris_session_init_dynamic.
 *
 * Room is made operator by operator, or for a whole stage when it has several bands or images. What an operator touches is placed
 * at the end of fast memory, or of slow memory for tensors that the plan keeps there; where that is full, the objects
 * in use are moved together; where that is not enough, the other arena takes it. An object's room is free again after
 * the last operator that touches it.
 *
 * All this depends on the plan and the sizes of the arenas only. So `bind` rehearses a run without data, which
 * proves that a run finds its room, and a run does the same steps again. The bookkeeping lies in fast memory behind the
 * run-time state; kernels cannot reach it. */
#include "extents.h"
#include "memory.h"
#include "move.h"

#define NOWHERE UINT32_MAX
#define END UINT16_MAX /* of an arena's objects */

enum { FAST, SLOW, ARENA_COUNT };

/* One arena. Objects lie in [start, top); the first four are multiples of the plan's alignment. */
typedef struct room {
    uint32_t start;
    uint32_t top;
    uint32_t limit; /* its size */
    uint32_t most;  /* `limit`, or more in a rehearsal that finds out how much is missing */
    uint32_t peak;  /* highest `top` */
    uint16_t first; /* index of the lowest object */
    uint16_t holes; /* something was released since the objects were moved together */
} room;

/* A tensor's home, a window, a weight block or scratch. */
typedef struct object {
    uint32_t at;   /* offset in its arena, plus the arena: offsets are multiples of 4 */
    uint16_t uses; /* of operators to come; windows: of the stage that runs */
    uint16_t next; /* index of the one above it in its arena */
} object;

/* At the start of fast memory, behind the run-time state; indices instead of pointers, so that its size is the same
 * everywhere. Followed by objects: each tensor, each view of the largest stage, a block, scratch; and by the places of
 * inputs and outputs, one word each. */
typedef struct bookkeeping {
    room rooms[ARENA_COUNT];
    uint32_t stage;    /* entered last */
    uint32_t first_op; /* room was made for operators [first_op, next_op) of it */
    uint32_t next_op;
    uint32_t scratch_bytes; /* the most that one of them wants */
    uint32_t rehearsing;    /* nothing is moved */
    uint32_t failed;        /* there was no room */
    object objects[];
} bookkeeping;

typedef enum visited { WINDOWS, HOMES } visited;
typedef void (*visitor)(tigris_session *session, uint32_t index);

static uint32_t round_up(uint32_t value, const tigris_session *session)
{
    const uint32_t mask = session->plan->header->alignment - 1U;
    return (value + mask) & ~mask;
}

static bookkeeping *books_of(const tigris_session *session)
{
    return (bookkeeping *)(void *)(session->fast + round_up(session->plan->header->state_bytes, session));
}

static uint32_t block_index(const tigris_session *session)
{
    const tigris_header_record *header = session->plan->header;
    return header->tensor_count + header->state_bytes / TIGRIS_VIEW_STATE_BYTES;
}

static uint32_t scratch_index(const tigris_session *session)
{
    return block_index(session) + 1U;
}

static object *object_of(const tigris_session *session, uint32_t index)
{
    return &books_of(session)->objects[index];
}

static uint32_t *io_place(const tigris_session *session, uint32_t index)
{
    return (uint32_t *)(void *)object_of(session, scratch_index(session) + 1U) + index;
}

static uint32_t io_count(const tigris_session *session)
{
    return (uint32_t)session->plan->header->input_count + session->plan->header->output_count;
}

/* Where objects in fast memory begin: behind the run-time state and the bookkeeping. */
static uint32_t start_of_room(const tigris_session *session)
{
    const uint32_t state = round_up(session->plan->header->state_bytes, session);
    const uint32_t bytes = (uint32_t)(sizeof(bookkeeping) + (scratch_index(session) + 1U) * sizeof(object) +
                                      io_count(session) * sizeof(uint32_t));
    return state + round_up(bytes, session);
}

static const tigris_stage_record *stage_of(const tigris_session *session)
{
    return &session->plan->stages[books_of(session)->stage];
}

static uint32_t object_bytes(const tigris_session *session, uint32_t index)
{
    const tigris_plan *plan = session->plan;
    const uint32_t tensors = plan->header->tensor_count;
    if (index < tensors) {
        return tigris_tensor_bytes(&plan->tensors[index]);
    }
    if (index == block_index(session)) {
        return stage_of(session)->block_raw_bytes;
    }
    if (index == scratch_index(session)) {
        return books_of(session)->scratch_bytes;
    }
    const tigris_view_record *view = &plan->views[stage_of(session)->first_view + index - tensors];
    const tigris_tensor_record *tensor = tigris_view_tensor(plan, view);
    return tigris_rows_bytes(tensor, view->capacity_rows) * tigris_window_images(stage_of(session), tensor);
}

static uint8_t *address_of(const tigris_session *session, uint32_t at)
{
    return ((at & 1U) == SLOW ? session->slow : session->fast) + (at & ~1U);
}

/* Puts `with` where `index` is in the order of an arena's objects. */
static void relink(bookkeeping *books, uint32_t which, uint32_t index, uint32_t with)
{
    uint16_t *link = &books->rooms[which].first;
    while (*link != index) {
        link = &books->objects[*link].next;
    }
    *link = (uint16_t)with;
}

/* Moves the objects of an arena together, to its start. */
static void compact(tigris_session *session, uint32_t which)
{
    bookkeeping *books = books_of(session);
    room *in = &books->rooms[which];
    uint32_t top = in->start;
    for (uint32_t index = in->first; index != END; index = books->objects[index].next) {
        const uint32_t bytes = object_bytes(session, index);
        object *moved = &books->objects[index];
        const uint32_t at = moved->at;
        moved->at = top | which;
        if (moved->at != at && books->rehearsing == 0U) {
            const uint8_t *from = address_of(session, at);
            uint8_t *to = address_of(session, moved->at);
            tigris_move(to, from, bytes);
            tigris_count(session, from, bytes, TIGRIS_READ);
            tigris_count(session, to, bytes, TIGRIS_WRITE);
        }
        top += round_up(bytes, session);
    }
    in->top = top;
    in->holes = 0U;
}

/* Gives object `index` room below `most` of an arena; 0 when there is none. */
static int place_in(tigris_session *session, uint32_t index, uint32_t which, uint32_t most)
{
    bookkeeping *books = books_of(session);
    room *in = &books->rooms[which];
    const uint32_t bytes = object_bytes(session, index);
    if (in->holes != 0U && !tigris_fits(in->top, bytes, in->limit)) {
        compact(session, which);
    }
    if (!tigris_fits(in->top, bytes, most)) {
        return 0;
    }
    books->objects[index].at = in->top | which;
    books->objects[index].next = END;
    relink(books, which, END, index);
    in->top += round_up(bytes, session);
    in->peak = in->top > in->peak ? in->top : in->peak;
    return 1;
}

static void place(tigris_session *session, uint32_t index, uint32_t preferred)
{
    bookkeeping *books = books_of(session);
    if (books->objects[index].at == NOWHERE &&
        !place_in(session, index, preferred, books->rooms[preferred].most) &&
        !place_in(session, index, preferred ^ 1U, books->rooms[preferred ^ 1U].most)) {
        books->failed = 1U;
    }
}

static void release(tigris_session *session, uint32_t index)
{
    bookkeeping *books = books_of(session);
    object *released = &books->objects[index];
    if (released->at != NOWHERE) {
        const uint32_t which = released->at & 1U;
        relink(books, which, index, released->next);
        books->rooms[which].holes = 1U;
        released->at = NOWHERE;
    }
}

/* Visitors. */

static void count(tigris_session *session, uint32_t index)
{
    object_of(session, index)->uses++;
}

static void place_preferably(tigris_session *session, uint32_t index)
{
    const tigris_plan *plan = session->plan;
    const int in_slow = index < plan->header->tensor_count && plan->tensors[index].home == TIGRIS_HOME_SLOW;
    place(session, index, in_slow ? SLOW : FAST);
}

static void use(tigris_session *session, uint32_t index)
{
    if (--object_of(session, index)->uses == 0U) {
        release(session, index);
    }
}

static int is_movable(const tigris_tensor_record *tensor)
{
    return tensor->home == TIGRIS_HOME_FAST || tensor->home == TIGRIS_HOME_SLOW;
}

/* The window of view `index` of a stage, or its tensor's home where rows go to it or come from it. */
static void visit_view(tigris_session *session, const tigris_stage_record *stage, uint32_t index, visited what,
                       visitor visit)
{
    const tigris_plan *plan = session->plan;
    const tigris_view_record *view = &plan->views[stage->first_view + index];
    if (what == WINDOWS) {
        if (tigris_is_window(view)) {
            visit(session, plan->header->tensor_count + index);
        }
    } else if ((!tigris_is_window(view) || (view->flags & (TIGRIS_VIEW_FLAG_LOAD | TIGRIS_VIEW_FLAG_STORE)) != 0U) &&
               is_movable(tigris_view_tensor(plan, view))) {
        visit(session, view->tensor);
    }
}

/* The windows or the homes that operators [first, end) of a stage touch. */
static void visit_ops(tigris_session *session, const tigris_stage_record *stage, uint32_t first, uint32_t end,
                      visited what, visitor visit)
{
    const tigris_plan *plan = session->plan;
    for (; first < end; first++) {
        const tigris_op_record *op = &plan->ops[first];
        for (uint32_t i = 0; i < op->operand_count; i++) {
            visit_view(session, stage, plan->operands[op->first_operand + i].view, what, visit);
        }
        visit_view(session, stage, op->output_view, what, visit);
    }
}

static void empty_room(room *in, uint32_t start, uint32_t bytes, uint32_t alignment, int endless)
{
    in->start = start;
    in->top = start;
    in->limit = bytes & ~(alignment - 1U);
    in->most = endless ? ~(alignment - 1U) : in->limit;
    in->peak = start;
    in->first = END;
    in->holes = 0U;
}

/* Places what lives from run to run: first, for good, and so in the same place in each run. */
static void place_states(tigris_session *session)
{
    const tigris_plan *plan = session->plan;
    for (uint32_t i = 0; i < plan->header->tensor_count; i++) {
        if ((plan->tensors[i].flags & TIGRIS_TENSOR_FLAG_STATE) != 0U && is_movable(&plan->tensors[i])) {
            place_preferably(session, i);
            object_of(session, i)->uses++; /* by the next run */
        }
    }
}

/* Places the inputs, which are written before a run, and outputs that no operator touches. */
static void place_io(tigris_session *session)
{
    for (uint32_t i = 0; i < io_count(session); i++) {
        const uint32_t tensor = session->plan->io[i].tensor;
        object *home = object_of(session, tensor);
        const int is_input = i < session->plan->header->input_count;
        if (is_movable(&session->plan->tensors[tensor]) && (is_input || home->uses == 0U)) {
            place_preferably(session, tensor);
        }
        if (is_input) {
            *io_place(session, i) = home->at;
        } else {
            home->uses++; /* by the caller, after the run */
        }
    }
}

/* Everything as it is before a run, `endless` being an arena that is taken to have no end. */
static void reset(tigris_session *session, uint32_t endless)
{
    const tigris_plan *plan = session->plan;
    const tigris_header_record *header = plan->header;
    bookkeeping *books = books_of(session);
    empty_room(&books->rooms[FAST], start_of_room(session), session->fast_bytes, header->alignment, endless == FAST);
    empty_room(&books->rooms[SLOW], 0U, session->slow_bytes, header->alignment, endless == SLOW);
    books->first_op = 0U;
    books->next_op = 0U;
    for (uint32_t i = 0; i <= scratch_index(session); i++) {
        books->objects[i] = (object){NOWHERE, 0U, END};
    }
    for (uint32_t i = 0; i < header->stage_count; i++) {
        const tigris_stage_record *stage = &plan->stages[i];
        visit_ops(session, stage, stage->first_op, stage->first_op + stage->op_count, HOMES, count);
    }
    place_states(session);
    place_io(session);
}

static void begin(tigris_session *session)
{
    reset(session, ARENA_COUNT);
    session->usage.fast_peak = books_of(session)->rooms[FAST].start;
}

/* Frees what only the operators entered last needed. */
static void leave(tigris_session *session)
{
    bookkeeping *books = books_of(session);
    if (books->next_op == books->first_op) {
        return;
    }
    const tigris_stage_record *stage = stage_of(session);
    visit_ops(session, stage, books->first_op, books->next_op, WINDOWS, use);
    visit_ops(session, stage, books->first_op, books->next_op, HOMES, use);
    release(session, scratch_index(session));
    if (books->next_op == stage->first_op + stage->op_count) {
        release(session, block_index(session));
    }
}

/* A block that is a mere copy may as well stay where it is. */
static void place_block(tigris_session *session, const tigris_stage_record *stage)
{
    if (stage->weight_mode == TIGRIS_WEIGHT_MODE_LZ4) {
        place(session, block_index(session), FAST);
    } else if (stage->weight_mode == TIGRIS_WEIGHT_MODE_COPY) {
        (void)place_in(session, block_index(session), FAST, books_of(session)->rooms[FAST].limit);
    }
}

static void enter(tigris_session *session, const tigris_stage_record *stage, uint32_t op)
{
    bookkeeping *books = books_of(session);
    if (op < books->next_op) {
        return;
    }
    leave(session);
    const uint32_t end = stage->first_op + stage->op_count;
    if (op == stage->first_op) {
        books->stage = (uint32_t)(stage - session->plan->stages);
        visit_ops(session, stage, op, end, WINDOWS, count);
        place_block(session, stage);
    }
    books->first_op = op;
    /* What runs again needs its room until then. */
    books->next_op = stage->band_count > 1U || stage->images > 1U ? end : op + 1U;
    books->scratch_bytes = 0U;
    for (uint32_t i = op; i < books->next_op; i++) {
        const uint32_t bytes = session->plan->ops[i].scratch_bytes;
        books->scratch_bytes = bytes > books->scratch_bytes ? bytes : books->scratch_bytes;
    }
    if (books->scratch_bytes != 0U) {
        place(session, scratch_index(session), FAST);
    }
    visit_ops(session, stage, op, books->next_op, WINDOWS, place_preferably);
    visit_ops(session, stage, op, books->next_op, HOMES, place_preferably);
}

/* Goes through a run without data. 0: something found no room. */
static int rehearse(tigris_session *session, uint32_t endless)
{
    const tigris_plan *plan = session->plan;
    bookkeeping *books = books_of(session);
    books->rehearsing = 1U;
    books->failed = 0U;
    reset(session, endless);
    for (uint32_t i = 0; i < plan->header->stage_count; i++) {
        const tigris_stage_record *stage = &plan->stages[i];
        for (uint32_t op = 0; op < stage->op_count; op++) {
            enter(session, stage, stage->first_op + op);
        }
    }
    for (uint32_t i = plan->header->input_count; i < io_count(session); i++) {
        *io_place(session, i) = object_of(session, plan->io[i].tensor)->at;
    }
    books->rehearsing = 0U;
    return books->failed == 0U;
}

/* A rehearsal takes at most as many steps: nothing can stop it. Large networks take less than a tenth. */
#define MOST_STEPS (UINT32_C(1) << 24)

/* Indices and uses have 16 bits: room for 65 thousand objects and operands. */
static int is_countable(const tigris_session *session)
{
    const tigris_header_record *header = session->plan->header;
    const uint32_t uses = header->op_count + header->operand_count + io_count(session) + 1U;
    return scratch_index(session) < END && uses <= UINT16_MAX &&
           tigris_multiply(scratch_index(session), uses) <= MOST_STEPS;
}

static tigris_status bind(tigris_session *session)
{
    const tigris_header_record *header = session->plan->header;
    if (session->fast_bytes >= header->fast_bytes && session->slow_bytes >= header->slow_bytes) {
        session->placement = NULL; /* as planned */
        return TIGRIS_OK;
    }
    const uint32_t start = is_countable(session) ? start_of_room(session) : UINT32_MAX;
    if (start > session->fast_bytes) {
        session->bytes_short = start != UINT32_MAX ? start - session->fast_bytes : UINT32_MAX;
        return TIGRIS_ERR_FAST_TOO_SMALL;
    }
    if (rehearse(session, ARENA_COUNT)) {
        return TIGRIS_OK;
    }
    /* How much would do? More slow memory if there is any, or the plan was made for some. */
    const uint32_t small = session->slow_bytes != 0U || header->slow_bytes != 0U ? SLOW : FAST;
    const uint32_t given = small == SLOW ? session->slow_bytes : session->fast_bytes;
    session->bytes_short = rehearse(session, small) ? books_of(session)->rooms[small].peak - given : UINT32_MAX;
    return small == SLOW ? TIGRIS_ERR_SLOW_TOO_SMALL : TIGRIS_ERR_FAST_TOO_SMALL;
}

static uint8_t *locate(const tigris_session *session, tigris_placed what, const void *record)
{
    const tigris_plan *plan = session->plan;
    uint32_t at = NOWHERE;
    switch (what) {
    case TIGRIS_PLACED_HOME:
        at = object_of(session, (uint32_t)((const tigris_tensor_record *)record - plan->tensors))->at;
        break;
    case TIGRIS_PLACED_IO:
        at = *io_place(session, (uint32_t)((const tigris_io_record *)record - plan->io));
        break;
    case TIGRIS_PLACED_WINDOW: {
        const tigris_view_record *first = &plan->views[stage_of(session)->first_view];
        at = object_of(session,
                       plan->header->tensor_count + (uint32_t)((const tigris_view_record *)record - first))->at;
        break;
    }
    case TIGRIS_PLACED_BLOCK:
        at = object_of(session, block_index(session))->at;
        if (at == NOWHERE) {
            return (uint8_t *)(uintptr_t)(plan->weights + ((const tigris_stage_record *)record)->block);
        }
        break;
    case TIGRIS_PLACED_SCRATCH:
        at = object_of(session, scratch_index(session))->at;
        break;
    }
    return address_of(session, at);
}

const tigris_placement tigris_dynamic_placement = {bind, begin, enter, locate};
