/* The memory of a search, and what follows from the problem alone: which pieces and requests meet. */
#include "placement_state.h"

#include <stdlib.h>
#include <string.h>

int32_t tigris_place_is_staircase(const tigris_place_problem *p, int32_t request) {
    int32_t first = p->first_piece[request];
    return p->first_piece[request + 1] - first > 1 || p->offset[first] != 0;
}

static int32_t *carve(int32_t **rest, int32_t count) {
    int32_t *array = *rest;
    *rest += count;
    return array;
}

static int allocate_arrays(tigris_place_state *s) {
    const tigris_place_problem *p = s->problem;
    int32_t requests = p->requests, pieces = p->pieces, sections = p->sections, members = p->first_member[sections];
    size_t count = 8U * (size_t)requests + 1U + 6U * (size_t)pieces + 2U + 2U * (size_t)sections + (size_t)members;
    int32_t *rest = s->arrays = calloc(count, sizeof *rest);
    s->sections = calloc((size_t)sections + 1U, sizeof *s->sections);
    if (rest == NULL || s->sections == NULL) {
        return 0;
    }
    s->height = carve(&rest, requests);
    s->low = carve(&rest, requests);
    s->start = carve(&rest, requests);
    s->placed = carve(&rest, requests);
    s->postponed = carve(&rest, requests);
    s->head = carve(&rest, requests);
    s->seen = carve(&rest, requests);
    s->first_neighbour = carve(&rest, requests + 1);
    s->owner = carve(&rest, pieces);
    s->met = carve(&rest, pieces);
    s->by_head = carve(&rest, pieces);
    s->piece_head = carve(&rest, pieces);
    s->first_section = carve(&rest, pieces + 1);
    s->first_rival = carve(&rest, pieces + 1);
    s->active = carve(&rest, sections);
    s->active_list = carve(&rest, sections);
    s->piece_sections = carve(&rest, members);
    return 1;
}

static void describe(tigris_place_state *s) {
    const tigris_place_problem *p = s->problem;
    for (int32_t u = 0; u < p->requests; u++) {
        s->staircases |= tigris_place_is_staircase(p, u);
        for (int32_t j = p->first_piece[u]; j < p->first_piece[u + 1]; j++) {
            int32_t end = p->offset[j] + p->size[j];
            s->owner[j] = u;
            s->by_head[j] = j;
            s->height[u] = end > s->height[u] ? end : s->height[u];
        }
    }
    for (int32_t k = 0; k < p->first_member[p->sections]; k++) {
        s->first_section[p->members[k] + 1]++;
    }
    for (int32_t j = 0; j < p->pieces; j++) {
        s->first_section[j + 1] += s->first_section[j];
    }
    for (int32_t at = 0; at < p->sections; at++) {
        for (int32_t k = p->first_member[at]; k < p->first_member[at + 1]; k++) {
            int32_t j = p->members[k];
            s->piece_sections[s->first_section[j] + s->met[j]++] = at;
        }
    }
}

/* Counts, or when there is memory for them lists, the pieces and the requests that meet. */
static void pair_up(tigris_place_state *s, size_t *rivals, size_t *neighbours) {
    const tigris_place_problem *p = s->problem;
    int32_t *met = s->met;
    int32_t listing = s->pairs != NULL;
    *rivals = *neighbours = 0U;
    for (int32_t u = 0; u < p->requests; u++) {
        int32_t mark = ++s->mark;
        for (int32_t j = p->first_piece[u]; j < p->first_piece[u + 1]; j++) {
            int32_t own = ++s->tick;
            for (int32_t k = s->first_section[j]; k < s->first_section[j + 1]; k++) {
                int32_t at = s->piece_sections[k];
                for (int32_t m = p->first_member[at]; m < p->first_member[at + 1]; m++) {
                    int32_t rival = p->members[m], v = s->owner[rival];
                    if (v == u || met[rival] == own) {
                        continue;
                    }
                    met[rival] = own;
                    if (listing) {
                        s->rivals[*rivals] = rival;
                    }
                    (*rivals)++;
                    if (s->seen[v] != mark) {
                        s->seen[v] = mark;
                        if (listing) {
                            s->neighbours[*neighbours] = v;
                        }
                        (*neighbours)++;
                    }
                }
            }
            s->first_rival[j + 1] = (int32_t)*rivals;
        }
        s->first_neighbour[u + 1] = (int32_t)*neighbours;
    }
}

int tigris_place_prepare(tigris_place_state *s) {
    size_t rivals, neighbours;
    if (!allocate_arrays(s)) {
        return 0;
    }
    describe(s);
    memset(s->met, 0, (size_t)s->problem->pieces * sizeof *s->met);
    pair_up(s, &rivals, &neighbours);
    if (rivals + neighbours > (size_t)INT32_MAX) {
        return 0;
    }
    s->pairs = malloc((rivals + neighbours + 1U) * sizeof *s->pairs);
    if (s->pairs == NULL) {
        return 0;
    }
    s->rivals = s->pairs;
    s->neighbours = s->pairs + rivals;
    pair_up(s, &rivals, &neighbours);
    return 1;
}

void tigris_place_reset(tigris_place_state *s) {
    const size_t requests = (size_t)s->problem->requests * sizeof *s->low;
    memset(s->low, 0, requests);
    memset(s->placed, 0, requests);
    memset(s->postponed, 0, requests);
    memset(s->seen, 0, requests);
    memset(s->active, 0, (size_t)s->problem->sections * sizeof *s->active);
    s->mark = s->tick = 0;
    s->changes = 0U;
    s->failed = 0;
    s->nodes = 0;
}
