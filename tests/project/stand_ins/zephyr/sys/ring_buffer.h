#include <stdint.h>

struct stand_in_ring {
    uint32_t size, first, end;
    uint8_t *data;
};

#define RING_BUF_DECLARE(name, bytes)     \
    static uint8_t name##_data[bytes];    \
    static struct stand_in_ring name = {bytes, 0U, 0U, name##_data}

static inline uint32_t ring_buf_put(struct stand_in_ring *ring, const uint8_t *data, uint32_t bytes)
{
    uint32_t count = 0U;
    while (count < bytes && ring->end - ring->first < ring->size) {
        ring->data[ring->end++ % ring->size] = data[count++];
    }
    return count;
}

static inline uint32_t ring_buf_get(struct stand_in_ring *ring, uint8_t *data, uint32_t bytes)
{
    uint32_t count = 0U;
    while (count < bytes && ring->first != ring->end) {
        data[count++] = ring->data[ring->first++ % ring->size];
    }
    return count;
}
