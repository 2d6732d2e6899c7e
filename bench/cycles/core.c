/* See core.h. Compressed instructions are expanded to full ones by a table. */
#include "core.h"

#include <stdlib.h>
#include <string.h>

#define BASE 0x80000000U
#define BYTES (64U << 20)
#define UART_DATA 0x10000000U
#define UART_STATUS 0x10000005U
#define TEST_DEVICE 0x00100000U
#define PRINTED_BYTES 65536U
#define MINSTRET 0xB02U
#define SMALLEST_LINE 16U

struct core {
    uint8_t *memory;
    uint32_t *expanded; /* full instructions of the 3 * 2^14 compressed ones; 0: illegal */
    uint32_t *tags;     /* line numbers, set by set */
    uint64_t *used;     /* when each was used last */
    uint8_t *touched;   /* of each line of flash: read as data */
    core_timing timing;
    core_cache cache;
    uint32_t code_bytes, flash_start, flash_end;
    uint32_t x[32], pc;
    uint64_t ready[32]; /* cycle from which each register can be read without a stall */
    int busy;           /* the last instruction took several cycles in the execute stage */
    uint32_t code_line;
    uint64_t clock;
    core_counts counts, reads[2];
    uint32_t printed_bytes;
    char printed[PRINTED_BYTES];
    int ended, failed;
};

/* ---- compressed instructions (RISC-V unprivileged specification, chapter "C") ---- */

static uint32_t bits(uint32_t value, uint32_t low, uint32_t count, uint32_t to)
{
    return (value >> low & ((1U << count) - 1U)) << to;
}

static uint32_t i_type(uint32_t opcode, uint32_t f3, uint32_t rd, uint32_t rs1, uint32_t immediate)
{
    return opcode | rd << 7 | f3 << 12 | rs1 << 15 | (immediate & 0xFFFU) << 20;
}

static uint32_t r_type(uint32_t f7, uint32_t f3, uint32_t rd, uint32_t rs1, uint32_t rs2)
{
    return 0x33U | rd << 7 | f3 << 12 | rs1 << 15 | rs2 << 20 | f7 << 25;
}

static uint32_t store_word(uint32_t rs1, uint32_t rs2, uint32_t immediate)
{
    return 0x23U | bits(immediate, 0, 5, 7) | 2U << 12 | rs1 << 15 | rs2 << 20 | bits(immediate, 5, 7, 25);
}

static uint32_t jump(uint32_t rd, uint32_t immediate)
{
    return 0x6FU | rd << 7 | bits(immediate, 12, 8, 12) | bits(immediate, 11, 1, 20) | bits(immediate, 1, 10, 21) |
           bits(immediate, 20, 1, 31);
}

static uint32_t branch(uint32_t f3, uint32_t rs1, uint32_t immediate)
{
    return 0x63U | bits(immediate, 11, 1, 7) | bits(immediate, 1, 4, 8) | f3 << 12 | rs1 << 15 |
           bits(immediate, 5, 6, 25) | bits(immediate, 12, 1, 31);
}

static uint32_t signed_bits(uint32_t value, uint32_t sign_bit)
{
    const uint32_t sign = 1U << sign_bit;
    return (value ^ sign) - sign;
}

static uint32_t expand_quadrant0(uint32_t c)
{
    const uint32_t rs = 8U + bits(c, 7, 3, 0), rd = 8U + bits(c, 2, 3, 0);
    const uint32_t word = bits(c, 10, 3, 3) | bits(c, 6, 1, 2) | bits(c, 5, 1, 6);
    const uint32_t frame = bits(c, 11, 2, 4) | bits(c, 7, 4, 6) | bits(c, 6, 1, 2) | bits(c, 5, 1, 3);
    switch (c >> 13) {
    case 0: return frame != 0U ? i_type(0x13U, 0U, rd, 2U, frame) : 0U;
    case 2: return i_type(0x03U, 2U, rd, rs, word);
    case 6: return store_word(rs, rd, word);
    default: return 0U;
    }
}

static uint32_t expand_arithmetic(uint32_t c, uint32_t immediate)
{
    static const uint8_t f3[4] = {0U, 4U, 6U, 7U};
    const uint32_t rd = 8U + bits(c, 7, 3, 0), rs2 = 8U + bits(c, 2, 3, 0), which = bits(c, 5, 2, 0);
    switch (bits(c, 10, 2, 0)) {
    case 0: return i_type(0x13U, 5U, rd, rd, immediate & 31U);
    case 1: return i_type(0x13U, 5U, rd, rd, (immediate & 31U) | 0x400U);
    case 2: return i_type(0x13U, 7U, rd, rd, immediate);
    default: return r_type(which == 0U ? 0x20U : 0U, f3[which], rd, rd, rs2);
    }
}

static uint32_t expand_quadrant1(uint32_t c)
{
    const uint32_t rd = bits(c, 7, 5, 0), rs = 8U + bits(c, 7, 3, 0);
    const uint32_t immediate = signed_bits(bits(c, 12, 1, 5) | bits(c, 2, 5, 0), 5U);
    const uint32_t far = signed_bits(bits(c, 12, 1, 11) | bits(c, 11, 1, 4) | bits(c, 9, 2, 8) | bits(c, 8, 1, 10) |
                                         bits(c, 7, 1, 6) | bits(c, 6, 1, 7) | bits(c, 3, 3, 1) | bits(c, 2, 1, 5),
                                     11U);
    const uint32_t near = signed_bits(bits(c, 12, 1, 8) | bits(c, 10, 2, 3) | bits(c, 5, 2, 6) | bits(c, 3, 2, 1) |
                                          bits(c, 2, 1, 5),
                                      8U);
    const uint32_t frame = signed_bits(bits(c, 12, 1, 9) | bits(c, 6, 1, 4) | bits(c, 5, 1, 6) | bits(c, 3, 2, 7) |
                                           bits(c, 2, 1, 5),
                                       9U);
    switch (c >> 13) {
    case 0: return i_type(0x13U, 0U, rd, rd, immediate);
    case 1: return jump(1U, far);
    case 2: return i_type(0x13U, 0U, rd, 0U, immediate);
    case 3: return rd == 2U ? i_type(0x13U, 0U, 2U, 2U, frame) : 0x37U | rd << 7 | immediate << 12;
    case 4: return expand_arithmetic(c, immediate);
    case 5: return jump(0U, far);
    case 6: return branch(0U, rs, near);
    default: return branch(1U, rs, near);
    }
}

static uint32_t expand_quadrant2(uint32_t c)
{
    const uint32_t rd = bits(c, 7, 5, 0), rs2 = bits(c, 2, 5, 0);
    const uint32_t load = bits(c, 12, 1, 5) | bits(c, 4, 3, 2) | bits(c, 2, 2, 6);
    const uint32_t store = bits(c, 9, 4, 2) | bits(c, 7, 2, 6);
    const uint32_t link = bits(c, 12, 1, 0);
    switch (c >> 13) {
    case 0: return i_type(0x13U, 1U, rd, rd, rs2);
    case 2: return i_type(0x03U, 2U, rd, 2U, load);
    case 4: return rs2 == 0U ? i_type(0x67U, 0U, link, rd, 0U) : r_type(0U, 0U, rd, link != 0U ? rd : 0U, rs2);
    case 6: return store_word(2U, rs2, store);
    default: return 0U;
    }
}

static uint32_t expand(uint32_t c)
{
    switch (c & 3U) {
    case 0: return expand_quadrant0(c);
    case 1: return expand_quadrant1(c);
    case 2: return expand_quadrant2(c);
    default: return 0U;
    }
}

/* ---- memory ---- */

/* Whether the line of flash had to be fetched. */
static int is_miss(core *core, uint32_t address)
{
    const core_cache *cache = &core->cache;
    if (cache->bytes == 0U) {
        return 0;
    }
    const uint32_t line = address / cache->line, sets = cache->bytes / cache->line / cache->ways;
    const uint32_t first = line % sets * cache->ways;
    uint32_t oldest = first;
    core->clock++;
    for (uint32_t i = first; i < first + cache->ways; i++) {
        if (core->tags[i] == line) {
            core->used[i] = core->clock;
            return 0;
        }
        if (core->used[i] < core->used[oldest]) {
            oldest = i;
        }
    }
    core->tags[oldest] = line;
    core->used[oldest] = core->clock;
    core->counts.cycles += cache->miss;
    return 1;
}

static void fetch_code(core *core)
{
    const uint32_t line = core->pc / core->cache.line;
    if (line != core->code_line && core->pc - BASE < core->code_bytes) {
        core->code_line = line;
        core->counts.code_misses += (uint32_t)is_miss(core, core->pc);
    }
}

static void read_flash(core *core, uint32_t address)
{
    const int stored = address - core->flash_start < core->flash_end - core->flash_start;
    if (stored) {
        core->touched[(address - core->flash_start) / SMALLEST_LINE] = 1U;
    }
    if (stored || address - BASE < core->code_bytes) {
        core->counts.data_misses += (uint32_t)is_miss(core, address);
    }
}

/* `count` bytes of the memory, or NULL. */
static uint8_t *at(const core *core, uint32_t address, uint32_t count)
{
    return address - BASE <= BYTES - count ? core->memory + (address - BASE) : NULL;
}

static uint32_t little(const uint8_t *from, uint32_t count)
{
    uint32_t value = 0U;
    memcpy(&value, from, count);
    return value;
}

static uint32_t crossing_cycles(const core *core, uint32_t address, uint32_t count)
{
    return (address & 3U) + count > 4U ? core->timing.misaligned : 0U;
}

static void keep_busy(core *core, uint32_t cycles)
{
    core->counts.cycles += cycles;
    core->busy = cycles != 0U;
}

static uint32_t load(core *core, uint32_t address, uint32_t f3)
{
    const uint32_t count = 1U << (f3 & 3U);
    const uint8_t *from = at(core, address, count);
    if (from == NULL) {
        core->failed |= address != UART_STATUS;
        return 0U;
    }
    keep_busy(core, crossing_cycles(core, address, count));
    read_flash(core, address);
    const uint32_t value = little(from, count);
    return f3 < 2U ? signed_bits(value, 8U * count - 1U) : value;
}

static void store(core *core, uint32_t address, uint32_t f3, uint32_t value)
{
    const uint32_t count = 1U << f3;
    uint8_t *to = at(core, address, count);
    if (to != NULL) {
        keep_busy(core, crossing_cycles(core, address, count));
        memcpy(to, &value, count);
    } else if (address == UART_DATA && core->printed_bytes < PRINTED_BYTES) {
        core->printed[core->printed_bytes++] = (char)value;
    } else if (address == TEST_DEVICE) {
        core->ended = 1;
    } else {
        core->failed = 1;
    }
}

/* ---- instructions ---- */

static uint32_t shifted_right(uint32_t a, uint32_t by, int arithmetic)
{
    return arithmetic && (a >> 31) != 0U ? ~(~a >> by) : a >> by;
}

static uint32_t integer(uint32_t f3, uint32_t a, uint32_t b, int other)
{
    switch (f3) {
    case 0: return other ? a - b : a + b;
    case 1: return a << (b & 31U);
    case 2: return (int32_t)a < (int32_t)b;
    case 3: return a < b;
    case 4: return a ^ b;
    case 5: return shifted_right(a, b & 31U, other);
    case 6: return a | b;
    default: return a & b;
    }
}

/* Bits by which a divisor is shifted: its leading zeros, or its repeated signs if negative. */
static uint32_t divisor_shift(uint32_t b, int is_signed)
{
    const uint32_t found = is_signed && b >> 31 != 0U ? ~b << 1 | 1U : b;
    uint32_t zeros = 0U;
    while (zeros < 32U && (found << zeros) >> 31 == 0U) {
        zeros++;
    }
    return zeros;
}

static uint32_t quotient(core *core, uint32_t f3, uint32_t a, uint32_t b)
{
    const int overflows = a == 1U << 31 && b == UINT32_MAX;
    keep_busy(core, core->timing.division - 1U + divisor_shift(b, (f3 & 1U) == 0U));
    switch (f3) {
    case 4: return b == 0U ? UINT32_MAX : overflows ? a : (uint32_t)((int32_t)a / (int32_t)b);
    case 5: return b == 0U ? UINT32_MAX : a / b;
    case 6: return b == 0U ? a : overflows ? 0U : (uint32_t)((int32_t)a % (int32_t)b);
    default: return b == 0U ? a : a % b;
    }
}

static uint32_t product(core *core, uint32_t f3, uint32_t a, uint32_t b)
{
    if (f3 >= 4U) {
        return quotient(core, f3, a, b);
    }
    if (f3 == 0U) {
        return a * b;
    }
    keep_busy(core, core->timing.high_product - 1U);
    uint32_t high = (uint32_t)((uint64_t)a * b >> 32);
    high -= f3 != 3U && a >> 31 != 0U ? b : 0U; /* a is signed */
    return high - (f3 == 1U && b >> 31 != 0U ? a : 0U);
}

static int is_taken(uint32_t f3, uint32_t a, uint32_t b)
{
    const int holds = f3 < 4U ? a == b : f3 < 6U ? (int32_t)a < (int32_t)b : a < b;
    return holds != (int)(f3 & 1U);
}

/* Goes to `target`, which takes `cycles`. */
static void go(core *core, uint32_t target, uint32_t cycles)
{
    const uint8_t *code = at(core, target, 4U);
    core->pc = target;
    core->counts.cycles += cycles - 1U;
    if (code != NULL && (code[0] & 3U) == 3U) {
        core->counts.cycles += crossing_cycles(core, target, 4U);
    }
}

static uint32_t csr(core *core, uint32_t number)
{
    if (number != MINSTRET) {
        return 0U; /* the hart's number, and what start-up code sets */
    }
    core->reads[1] = core->reads[0];
    core->reads[0] = core->counts;
    core->counts.cycles += core->timing.flush - 1U;
    return (uint32_t)core->reads[0].instructions;
}

static uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* Cycles until the instruction can begin. A jump to a register needs the register a cycle earlier than other
 * instructions do. A result waits for a load to the same register. */
static uint32_t stall(const core *core, uint32_t i)
{
    const uint32_t opcode = i & 0x7FU;
    uint64_t ready = core->counts.cycles;
    if (opcode != 0x37U && opcode != 0x17U && opcode != 0x6FU) {
        ready = later(ready, core->ready[i >> 15 & 31U] + (opcode == 0x67U));
    }
    if (opcode == 0x33U || opcode == 0x63U || opcode == 0x23U) {
        ready = later(ready, core->ready[i >> 20 & 31U]);
    }
    if (opcode == 0x13U || opcode == 0x33U || opcode == 0x17U || opcode == 0x37U || opcode == 0x73U) {
        ready = later(ready, core->ready[i >> 7 & 31U]);
    }
    return (uint32_t)(ready - core->counts.cycles);
}

/* Runs an instruction of `bytes` bytes. */
static void execute(core *core, uint32_t i, uint32_t bytes)
{
    const uint32_t opcode = i & 0x7FU, f3 = i >> 12 & 7U, rd = i >> 7 & 31U, rs1 = i >> 15 & 31U, rs2 = i >> 20 & 31U;
    const uint32_t immediate = signed_bits(i >> 20, 11U), a = core->x[rs1], b = core->x[rs2];
    const uint32_t here = core->pc, waited = stall(core, i);
    const uint32_t jump = core->timing.jump - (core->busy && waited == 0U); /* its fetch begins in the decoder */
    uint32_t result = 0U, to = rd;
    core->counts.instructions++;
    core->counts.cycles += 1U + waited;
    core->busy = 0;
    core->pc = here + bytes;
    switch (opcode) {
    case 0x37U: result = i & 0xFFFFF000U; break;
    case 0x17U: result = here + (i & 0xFFFFF000U); break;
    case 0x13U: result = integer(f3, a, immediate, f3 == 5U && (i >> 30 & 1U) != 0U); break;
    case 0x33U: result = (i >> 25) == 1U ? product(core, f3, a, b) : integer(f3, a, b, (int)(i >> 30 & 1U)); break;
    case 0x03U: result = load(core, a + immediate, f3); break;
    case 0x23U:
        store(core, a + signed_bits(bits(i, 25, 7, 5) | bits(i, 7, 5, 0), 11U), f3, b);
        to = 0U;
        break;
    case 0x63U:
        if (is_taken(f3, a, b)) {
            go(core, here + signed_bits(bits(i, 31, 1, 12) | bits(i, 7, 1, 11) | bits(i, 25, 6, 5) | bits(i, 8, 4, 1),
                                        12U), core->timing.branch);
        }
        to = 0U;
        break;
    case 0x6FU:
        result = core->pc;
        go(core, here + signed_bits(bits(i, 31, 1, 20) | bits(i, 12, 8, 12) | bits(i, 20, 1, 11) | bits(i, 21, 10, 1),
                                    20U), jump);
        break;
    case 0x67U:
        result = core->pc;
        go(core, (a + immediate) & ~1U, jump);
        break;
    case 0x0FU:
        go(core, core->pc, core->timing.flush);
        to = 0U;
        break;
    case 0x73U: result = csr(core, i >> 20); break;
    default: core->failed = 1; break;
    }
    if (to != 0U) {
        core->x[to] = result;
        core->ready[to] = core->counts.cycles + (opcode == 0x03U ? core->timing.load_use : 0U);
    }
}

static void step(core *core)
{
    const uint8_t *code = at(core, core->pc, 4U);
    if (code == NULL) {
        core->failed = 1;
        return;
    }
    fetch_code(core);
    const uint32_t half = little(code, 2U);
    if ((half & 3U) == 3U) {
        execute(core, little(code, 4U), 4U);
    } else {
        execute(core, core->expanded[half], 2U);
    }
}

/* ---- what the driver calls ---- */

core *core_new(const core_timing *timing, const core_cache *cache, uint32_t code_bytes, uint32_t flash_start,
               uint32_t flash_end)
{
    core *made = calloc(1U, sizeof *made);
    const uint32_t lines = cache->bytes != 0U ? cache->bytes / cache->line : 1U;
    if (made == NULL) {
        return NULL;
    }
    made->memory = calloc(BYTES, 1U);
    made->expanded = malloc(65536U * sizeof *made->expanded);
    made->tags = malloc(lines * sizeof *made->tags);
    made->used = calloc(lines, sizeof *made->used);
    made->touched = calloc((flash_end - flash_start) / SMALLEST_LINE + 1U, 1U);
    if (made->memory == NULL || made->expanded == NULL || made->tags == NULL || made->used == NULL ||
        made->touched == NULL) {
        core_free(made);
        return NULL;
    }
    for (uint32_t c = 0U; c < 65536U; c++) {
        made->expanded[c] = expand(c);
    }
    memset(made->tags, 0xFF, lines * sizeof *made->tags);
    made->timing = *timing;
    made->cache = *cache;
    made->code_bytes = code_bytes;
    made->flash_start = flash_start;
    made->flash_end = flash_end;
    made->pc = BASE;
    made->code_line = UINT32_MAX;
    return made;
}

void core_free(core *core)
{
    free(core->memory);
    free(core->expanded);
    free(core->tags);
    free(core->used);
    free(core->touched);
    free(core);
}

int core_load(core *core, uint32_t address, const uint8_t *bytes, uint32_t count)
{
    uint8_t *to = at(core, address, count);
    if (to != NULL) {
        memcpy(to, bytes, count);
    }
    return to != NULL;
}

int core_run(core *core, const uint32_t *addresses, uint32_t count)
{
    while (!core->ended && !core->failed) {
        step(core);
        for (uint32_t i = 0U; i < count; i++) {
            if (core->pc == addresses[i]) {
                return (int)i;
            }
        }
    }
    return core->failed ? CORE_FAILED : CORE_ENDED;
}

uint32_t core_register(const core *core, uint32_t number)
{
    return core->x[number];
}

uint32_t core_program_counter(const core *core)
{
    return core->pc;
}

core_counts core_now(const core *core)
{
    return core->counts;
}

core_counts core_read(const core *core, uint32_t back)
{
    return core->reads[back];
}

void core_forget_lines(core *core)
{
    memset(core->touched, 0, (core->flash_end - core->flash_start) / SMALLEST_LINE + 1U);
}

uint32_t core_distinct_lines(const core *core)
{
    const uint32_t step = core->cache.line / SMALLEST_LINE;
    const uint32_t places = (core->flash_end - core->flash_start) / SMALLEST_LINE;
    uint32_t lines = 0U;
    for (uint32_t first = 0U; first < places; first += step) {
        int touched = 0;
        for (uint32_t i = first; i < first + step && i < places; i++) {
            touched |= core->touched[i];
        }
        lines += (uint32_t)touched;
    }
    return lines;
}

const char *core_printed(const core *core, uint32_t *count)
{
    *count = core->printed_bytes;
    return core->printed;
}
