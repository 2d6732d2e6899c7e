/* Feeds a server what standard input holds, in pieces of all sizes, and throws away what it says.
 *
 * The server lies between guard bytes, and its models' buffers are the stand-in's. Built with the
 * sanitisers on: whatever arrives, nothing outside the buffers may be touched. Prints how many requests
 * were served and how many bytes were sent. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tigris_serve.h"

extern int standin_is_running;
void standin_open(tigris_plan *plan, tigris_session *session, const char *name);

typedef struct feed {
    uint8_t *data;
    size_t bytes;
    size_t at;
    size_t sent;
    uint32_t seed;
    int in_frame; /* what is sent has begun and not ended */
} feed;

static size_t feed_read(void *context, uint8_t *data, size_t bytes)
{
    feed *f = (feed *)context;
    if (standin_is_running) /* what arrives meanwhile would be dropped, and those after it refused */
        return 0U;
    f->seed = f->seed * 1664525U + 1013904223U;
    size_t piece = (f->seed >> 16) % (bytes + 1U);

    piece = piece < f->bytes - f->at ? piece : f->bytes - f->at;
    /* Nothing behind the end of a frame: the server would take it during a run. */
    const uint8_t *end = memchr(f->data + f->at, 0, piece);
    piece = end != NULL ? (size_t)(end - (f->data + f->at)) + 1U : piece;
    memcpy(data, f->data + f->at, piece);
    f->at += piece;
    return piece;
}

static void feed_write(void *context, const uint8_t *data, size_t bytes)
{
    feed *f = (feed *)context;

    /* Frames: delimiters outside, none inside, in pieces. */
    if (bytes < 1U || bytes > 128U)
        abort();
    for (size_t i = 0; i < bytes; i++) {
        if (!f->in_frame && data[i] != 0U)
            abort();
        if (data[i] == 0U)
            f->in_frame = !f->in_frame;
    }
    f->sent += bytes;
}

int main(void)
{
    static struct {
        uint8_t before[64];
        tigris_serve server;
        uint8_t after[64];
    } guarded;
    static tigris_plan plans[2];
    static tigris_session session;
    static tigris_serve_counts counts[20];
    static feed f;
    tigris_serve_model models[2] = {{0}};
    const tigris_serve_board board = {"hostile", NULL, NULL, 0U, NULL, 0U};
    const tigris_serve_transport transport = {feed_read, feed_write, &f};
    uint32_t served = 0U;

    f.data = (uint8_t *)malloc(1U << 26);
    if (f.data == NULL)
        return 2;
    f.bytes = fread(f.data, 1, 1U << 26, stdin);
    standin_open(&plans[0], &session, "digits");
    models[0].plan = &plans[0];
    models[0].session = &session;
    models[0].profile = counts;
    models[0].profile_count = 20U;
    models[1].status = TIGRIS_ERR_NOT_A_PLAN;
    memset(guarded.before, 0xA5, sizeof guarded.before);
    memset(guarded.after, 0xA5, sizeof guarded.after);
    tigris_serve_init(&guarded.server, &transport, &board, models, 2U);
    while (f.at < f.bytes)
        served += (uint32_t)tigris_serve_poll(&guarded.server);
    while (tigris_serve_poll(&guarded.server)) /* what the server had read already */
        served++;
    for (size_t i = 0; i < sizeof guarded.before; i++)
        if (guarded.before[i] != 0xA5U || guarded.after[i] != 0xA5U)
            abort();
    if (f.in_frame)
        abort();
    free(f.data);
    printf("%u %zu\n", (unsigned)served, f.sent);
    return 0;
}
