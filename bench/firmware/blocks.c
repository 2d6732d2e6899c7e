/* A plugin of QEMU 7 and 8: counts how often each block of instructions runs between the first call of one function and
 * the first of another after it. Arguments, each NAME=VALUE: the addresses of both, and the file for the lines "address instructions
 * count". The declarations are those of qemu-plugin.h, which distributions do not install. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef uint64_t plugin_id;
struct qemu_plugin_tb;
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
uint64_t qemu_plugin_tb_vaddr(const struct qemu_plugin_tb *tb);
void qemu_plugin_register_vcpu_tb_trans_cb(plugin_id id, void (*call)(plugin_id, struct qemu_plugin_tb *));
void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *tb, void (*call)(unsigned, void *), int flags,
                                          void *data);

#define MOST 65536
__attribute__((visibility("default"))) int qemu_plugin_version = 1;
static struct block {
    uint64_t address, instructions, count;
} blocks[MOST];
static size_t used;
static uint64_t first, last;
static const char *file;
static enum { BEFORE, BETWEEN, AFTER } now;

static void write_counts(void)
{
    FILE *out = fopen(file, "w");
    for (size_t i = 0; out != NULL && i < used; i++) {
        fprintf(out, "%llx %llu %llu\n", (unsigned long long)blocks[i].address,
                (unsigned long long)blocks[i].instructions, (unsigned long long)blocks[i].count);
    }
    if (out == NULL || fclose(out) != 0) {
        abort();
    }
}

static void ran(unsigned cpu, void *data)
{
    struct block *block = data;
    (void)cpu;
    if (now == BEFORE && block->address == first) {
        now = BETWEEN;
    } else if (now == BETWEEN && block->address == last) {
        now = AFTER;
        write_counts();
    }
    block->count += now == BETWEEN;
}

static void translated(plugin_id id, struct qemu_plugin_tb *tb)
{
    struct block *block = &blocks[used++];
    (void)id;
    if (used > MOST) {
        abort();
    }
    block->address = qemu_plugin_tb_vaddr(tb);
    block->instructions = qemu_plugin_tb_n_insns(tb);
    qemu_plugin_register_vcpu_tb_exec_cb(tb, ran, 0, block);
}

__attribute__((visibility("default"))) int qemu_plugin_install(plugin_id id, const void *info, int count, char **given)
{
    (void)info;
    if (count != 3) {
        return 1;
    }
    first = strtoull(strchr(given[0], '=') + 1, NULL, 16);
    last = strtoull(strchr(given[1], '=') + 1, NULL, 16);
    file = strchr(given[2], '=') + 1;
    qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
    return 0;
}
