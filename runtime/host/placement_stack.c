/* Lower bounds of what the moments of a problem take. Most of a search's time is spent here. */
#include "placement_stack.h"

static int32_t lies_before(const tigris_place_state *s, int32_t a, int32_t b) {
    return s->piece_head[a] != s->piece_head[b] ? s->piece_head[a] < s->piece_head[b] : a < b;
}

/* All pieces by head. Little changes from one node to the next, so inserting them where they were is quick. */
static void sort_pieces(tigris_place_state *s) {
    const tigris_place_problem *p = s->problem;
    for (int32_t j = 0; j < p->pieces; j++) {
        int32_t u = s->owner[j];
        s->piece_head[j] = (s->placed[u] ? s->start[u] : s->head[u]) + p->offset[j];
    }
    for (int32_t i = 1; i < p->pieces; i++) {
        int32_t j = s->by_head[i], at = i;
        for (; at > 0 && lies_before(s, j, s->by_head[at - 1]); at--) {
            s->by_head[at] = s->by_head[at - 1];
        }
        s->by_head[at] = j;
    }
}

static void clear(tigris_place_section *section) {
    section->top = section->alive = 0;
    section->least = section->first = INT32_MAX;
}

/* Puts a placed piece on the stacks of its sections. */
static void stack_placed(const tigris_place_state *s, int32_t piece, int32_t head, int32_t heads) {
    const int32_t *at = s->piece_sections + s->first_section[piece];
    const int32_t *end = s->piece_sections + s->first_section[piece + 1], size = s->problem->size[piece];
    for (; at < end && *at < s->problem->stacked; at++) {
        tigris_place_section *section = &s->sections[*at];
        int32_t top = section->top;
        section->top = (top < head && (heads || section->alive == 0) ? head : top) + size;
    }
}

/* The same with one of an open request; where the highest of these stacks ends. */
static int32_t stack_open(const tigris_place_state *s, int32_t piece, int32_t head, int32_t heads) {
    const int32_t *at = s->piece_sections + s->first_section[piece];
    const int32_t *end = s->piece_sections + s->first_section[piece + 1], size = s->problem->size[piece];
    const int32_t rank = s->question->rank[s->owner[piece]];
    int32_t highest = 0;
    for (; at < end && *at < s->problem->stacked; at++) {
        tigris_place_section *section = &s->sections[*at];
        int32_t top = section->top;
        top = (top < head && (heads || section->alive == 0) ? head : top) + size;
        section->top = top;
        section->alive++;
        section->first = rank < section->first ? rank : section->first;
        section->least = head < section->least ? head : section->least;
        highest = top > highest ? top : highest;
    }
    return highest;
}

/* Stacks the pieces of all sections; 0 when one section ends above `most`. */
static int32_t stack_pieces(tigris_place_state *s, const int32_t *open, int32_t count, int32_t heads, int32_t most) {
    int32_t mark = ++s->mark;
    for (int32_t i = 0; i < count; i++) {
        s->seen[open[i]] = mark;
    }
    for (int32_t at = 0; at < s->problem->stacked; at++) {
        clear(&s->sections[at]);
        s->active_list[at] = at;
    }
    sort_pieces(s);
    for (int32_t i = 0; i < s->problem->pieces; i++) {
        int32_t j = s->by_head[i], u = s->owner[j];
        if (s->placed[u]) {
            stack_placed(s, j, s->piece_head[j], heads);
        } else if (s->seen[u] == mark && stack_open(s, j, s->piece_head[j], heads) > most) {
            return 0;
        }
    }
    s->actives = s->problem->stacked;
    return 1;
}

/* The same where every request is one piece, what is placed lies below all others, and all sections are stacked. */
static int32_t stack_requests(tigris_place_state *s, const int32_t *open, int32_t count, int32_t heads, int32_t most) {
    s->tick++;
    s->actives = 0;
    for (int32_t i = 0; i < count; i++) {
        int32_t j = open[i];
        for (int32_t k = s->first_section[j]; k < s->first_section[j + 1]; k++) {
            int32_t at = s->piece_sections[k];
            if (s->active[at] != s->tick) {
                s->active[at] = s->tick;
                s->active_list[s->actives++] = at;
                clear(&s->sections[at]);
            }
        }
        if (stack_open(s, j, s->head[j], heads) > most) {
            return 0;
        }
    }
    return 1;
}

/* Of two sections that with the lowest open piece; else the fullest, or that with the first request to try. */
static int32_t is_better_pivot(const tigris_place_state *s, int32_t a, int32_t b) {
    const tigris_place_section *one = &s->sections[a], *other = &s->sections[b];
    if (one->least != other->least) {
        return one->least < other->least;
    }
    if (s->question->fullest_first) {
        return one->top != other->top ? one->top > other->top : a < b;
    }
    return one->first != other->first ? one->first < other->first : a < b;
}

int32_t tigris_place_stack(tigris_place_state *s, const int32_t *open, int32_t count, int32_t *pivot) {
    const uint32_t rules = s->question->rules;
    const int32_t heads = (rules & TIGRIS_PLACE_HEADS) != 0U, loads = (rules & TIGRIS_PLACE_LOADS) != 0U;
    const int32_t most = heads || loads ? s->question->capacity : INT32_MAX;
    *pivot = -1;
    if (!(s->staircases ? stack_pieces : stack_requests)(s, open, count, heads, most)) {
        return 0;
    }
    for (int32_t i = 0; i < s->actives; i++) {
        int32_t at = s->active_list[i];
        if (s->sections[at].alive == 0) {
            continue;
        }
        if (s->sections[at].top > most) {
            return 0;
        }
        if (s->sections[at].alive > 1 && (*pivot < 0 || is_better_pivot(s, at, *pivot))) {
            *pivot = at;
        }
    }
    return 1;
}
