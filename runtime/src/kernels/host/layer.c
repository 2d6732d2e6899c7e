#include "layer.h"

#if TIGRIS_HOST_AVX2 || TIGRIS_HOST_NEON

#define BLOCK 4 /* channels of a block of packed weights */
#define TILE TIGRIS_HOST_TILE
#define LANES TIGRIS_HOST_LANES
#define VECTORS 4 /* vectors at a time: registers hold their sums */

/* The weights of eight channels. */
typedef struct weights {
    const int8_t *tiles[LANES]; /* a channel's first tile */
    const int8_t *tail[LANES];  /* its first tap behind the whole tiles */
    int32_t tile_step[LANES];   /* from a tile of a channel to its next */
    int32_t tail_step[LANES];
} weights;

/* Finds the weights of the channels from `first` on, a multiple of eight. Lanes without a channel read the first
 * lane's. */
static void find(const tigris_host_layer *layer, int32_t first, int32_t count, weights *w)
{
    const int32_t length = layer->length, tiled = length & ~(TILE - 1), blocked = layer->outputs & ~(BLOCK - 1);
    for (int32_t lane = 0; lane < LANES; lane++) {
        const int32_t channel = first + (lane < count ? lane : 0);
        const int32_t channels = channel < blocked ? BLOCK : 1, place = channel & (channels - 1);
        const int8_t *block = layer->weights + (channel - place) * length;
        w->tiles[lane] = block + place * TILE;
        w->tail[lane] = block + tiled * channels + place;
        w->tile_step[lane] = channels * TILE;
        w->tail_step[lane] = channels;
    }
}

static uint32_t byte_at(const int8_t *from)
{
    return (uint32_t)(uint8_t)*from;
}

/* The `count` taps of a channel behind its whole tiles, 1 … 3, as a tile. */
static uint32_t tail_word(const weights *w, int32_t lane, int32_t count)
{
    const int8_t *from = w->tail[lane];
    const int32_t step = w->tail_step[lane];
    const uint32_t second = count > 1 ? byte_at(from + step) << 16 : 0U;
    return byte_at(from) | second | (count > 2 ? byte_at(from + 2 * step) << 8 : 0U);
}

/* A tile of four channels from `lane` on. */
TIGRIS_HOST_INLINE tigris_host_tile lanes_tile(const weights *w, int32_t lane, int32_t tile)
{
    const int8_t *const *from = w->tiles + lane;
    const int32_t *step = w->tile_step + lane;
    return tigris_host_tile_of(tigris_host_four(from[0] + tile * step[0]), tigris_host_four(from[1] + tile * step[1]),
                               tigris_host_four(from[2] + tile * step[2]), tigris_host_four(from[3] + tile * step[3]));
}

TIGRIS_HOST_INLINE tigris_host_tile tail_tile(const weights *w, int32_t lane, int32_t count)
{
    return tigris_host_tile_of(tail_word(w, lane, count), tail_word(w, lane + 1, count), tail_word(w, lane + 2, count),
                               tail_word(w, lane + 3, count));
}

/* Adds a tile of each four channels and of each vector. */
TIGRIS_HOST_INLINE void add_tiles(const tigris_host_tap *const *taps, int32_t at, tigris_host_tile a,
                                  tigris_host_tile b, int32_t vectors, tigris_host_words *first,
                                  tigris_host_words *second)
{
    for (int32_t i = 0; i < vectors; i++) {
        first[i] = tigris_host_add_tile(first[i], a, taps[i] + at);
        second[i] = tigris_host_add_tile(second[i], b, taps[i] + at);
    }
}

/* The sums of eight channels for `vectors` vectors, a number that the compiler knows. `whole`: the channels are two
 * blocks. */
TIGRIS_HOST_INLINE void add_up(const weights *w, int32_t length, const tigris_host_tap *const *taps, int32_t vectors,
                               int whole, tigris_host_words *sums)
{
    const int32_t tiles = length / TILE, tail = length % TILE;
    const int8_t *const a = w->tiles[0], *const b = w->tiles[BLOCK];
    tigris_host_words first[VECTORS], second[VECTORS];
    for (int32_t i = 0; i < vectors; i++) {
        first[i] = second[i] = tigris_host_zero();
    }
    for (int32_t tile = 0; tile < tiles; tile++) {
        if (whole) {
            add_tiles(taps, tile * TILE, tigris_host_tile_at(a + tile * (BLOCK * TILE)),
                      tigris_host_tile_at(b + tile * (BLOCK * TILE)), vectors, first, second);
        } else {
            add_tiles(taps, tile * TILE, lanes_tile(w, 0, tile), lanes_tile(w, BLOCK, tile), vectors, first, second);
        }
    }
    if (tail != 0) {
        add_tiles(taps, tiles * TILE, tail_tile(w, 0, tail), tail_tile(w, BLOCK, tail), vectors, first, second);
    }
    for (int32_t i = 0; i < vectors; i++) {
        sums[i] = tigris_host_join(first[i], second[i]);
    }
}

/* Eight channels or fewer of up to four vectors. */
TIGRIS_HOST_INLINE void run_vectors(const weights *w, const tigris_host_layer *layer, const tigris_host_tap *taps,
                                    int32_t vectors, int32_t count, tigris_host_words *sums)
{
    const int32_t filled = tigris_host_filled(layer->length);
    /* Lanes without a vector repeat the first. */
    const tigris_host_tap *const all[VECTORS] = {taps, vectors > 1 ? taps + filled : taps,
                                                 vectors > 2 ? taps + 2 * filled : taps,
                                                 vectors > 3 ? taps + 3 * filled : taps};
    if (vectors == 1 && count == LANES) {
        add_up(w, layer->length, all, 1, 1, sums);
    } else if (vectors == 1) {
        add_up(w, layer->length, all, 1, 0, sums);
    } else if (count == LANES) {
        add_up(w, layer->length, all, VECTORS, 1, sums);
    } else {
        add_up(w, layer->length, all, VECTORS, 0, sums);
    }
}

TIGRIS_HOST_CODE void tigris_host_run_layer(const tigris_host_layer *layer, const tigris_host_tap *taps,
                                            int32_t vectors, int8_t *output, int32_t output_stride)
{
    const tigris_host_stage end = tigris_host_stage_of(&layer->stage);
    const int32_t filled = tigris_host_filled(layer->length);
    for (int32_t channel = 0; channel < layer->outputs; channel += LANES) {
        const int32_t left = layer->outputs - channel, count = left < LANES ? left : LANES;
        const tigris_host_channels channels =
            tigris_host_channels_at(layer->bias + channel, layer->multiplier + channel * layer->step,
                                    layer->shift + channel * layer->step, layer->step, count);
        weights w;
        tigris_host_words sums[VECTORS];
        find(layer, channel, count, &w);
        for (int32_t at = 0; at < vectors; at += VECTORS) {
            const int32_t some = vectors - at < VECTORS ? vectors - at : VECTORS;
            run_vectors(&w, layer, taps + at * filled, some, count, sums);
            for (int32_t i = 0; i < some; i++) {
                tigris_host_output(tigris_host_plus(sums[i], channels.bias), &channels.scale, &end, count,
                                   output + (at + i) * output_stride + channel);
            }
        }
    }
}

#endif
