/* QEMU's `virt` machine: ns16550 UART, PLIC, flash bank 0. */
#include "board.h"
#include "board_image.h"

#define FLASH_BASE 0x20000000u
#define FLASH_WINDOW_BYTES 0x02000000u
#define FLASH_SECTOR_BYTES 4096u
#define FLASH_PROGRAM 0x00400040u
#define FLASH_READ_ARRAY 0x00FF00FFu
#define MSTATUS_MPP 0x1800u
#define MSTATUS_MPRV 0x20000u
#define UART_BASE 0x10000000u
#define PLIC_BASE 0x0C000000u
#define UART_IRQ 10u

/* Newer assemblers need the extension Zicsr for CSR access, but C libraries are built without it. */
#define WITH_CSR(instruction) ".option push\n\t.option arch, +zicsr\n\t" instruction "\n\t.option pop"

#define REG8(address) (*(volatile uint8_t *)(uintptr_t)(address))
#define REG32(address) (*(volatile uint32_t *)(uintptr_t)(address))

#define UART_DATA REG8(UART_BASE + 0)
#define UART_IER REG8(UART_BASE + 1)
#define UART_FCR REG8(UART_BASE + 2)
#define UART_LSR REG8(UART_BASE + 5)
#define LSR_RECEIVED 0x01u
#define LSR_CAN_SEND 0x20u

#define PLIC_PRIORITY(irq) REG32(PLIC_BASE + 4u * (irq))
#define PLIC_ENABLE REG32(PLIC_BASE + 0x2000u)
#define PLIC_THRESHOLD REG32(PLIC_BASE + 0x200000u)
#define PLIC_CLAIM REG32(PLIC_BASE + 0x200004u)
#define MIE_EXTERNAL 0x800u

const uint8_t *board_flash(void)
{
    return (const uint8_t *)(uintptr_t)FLASH_BASE;
}

uint32_t board_flash_bytes(void)
{
    return BOARD_FLASH_BYTES;
}

/* The interrupt only wakes `wfi`. It stays masked, so no handler can race with a reader. */
void board_uart_init(void)
{
    UART_FCR = 0x01; /* FIFOs on, interrupt at one byte; received bytes stay */
    UART_IER = 0x01; /* received data */
    PLIC_PRIORITY(UART_IRQ) = 1;
    PLIC_ENABLE = 1u << UART_IRQ;
    PLIC_THRESHOLD = 0;
    __asm__ volatile(WITH_CSR("csrs mie, %0") ::"r"(MIE_EXTERNAL));
}

size_t board_uart_read(uint8_t *data, size_t capacity)
{
    size_t taken = 0;
    while (taken < capacity && (UART_LSR & LSR_RECEIVED))
        data[taken++] = UART_DATA;
    return taken;
}

void board_uart_write(const uint8_t *data, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        while (!(UART_LSR & LSR_CAN_SEND)) {
        }
        UART_DATA = data[i];
    }
}

void board_wait_uart(void)
{
    if (UART_LSR & LSR_RECEIVED)
        return;
    __asm__ volatile("wfi");
    uint32_t irq = PLIC_CLAIM;
    if (irq != 0)
        PLIC_CLAIM = irq;
}

uint32_t board_instructions(void)
{
    uint32_t count;
    __asm__ volatile(WITH_CSR("csrr %0, minstret") : "=r"(count));
    return count;
}

/* PMP entry 0 allows reading and executing the 32 MB bank; entry 1 allows everything elsewhere. Without it a stray
 * write would be a command to the flash chip. The entries apply to machine mode while MSTATUS.MPRV makes its loads
 * and stores those of user mode; clearing that bit lifts the protection. Encoding: RISC-V privileged specification,
 * "Physical Memory Protection" and "Machine Status Registers". */
void board_protect_flash(void)
{
    uint32_t region = (FLASH_BASE >> 2) | ((FLASH_WINDOW_BYTES / 2 - 1) >> 2);
    uint32_t napot_execute_read = 0x18u | 0x04u | 0x01u;
    uint32_t napot_all = 0x18u | 0x04u | 0x02u | 0x01u;
    __asm__ volatile(WITH_CSR("csrw pmpaddr0, %0\n\tcsrw pmpaddr1, %1\n\tcsrw pmpcfg0, %2") ::"r"(region), "r"(~0u),
                     "r"(napot_execute_read | napot_all << 8));
    __asm__ volatile(WITH_CSR("csrc mstatus, %0\n\tcsrs mstatus, %1") ::"r"(MSTATUS_MPP), "r"(MSTATUS_MPRV) : "memory");
}

/* Writes words through QEMU's model of an Intel chip; a NULL `words` stands for copies of `fill`. The model takes any
 * value, so the caller checks that bits are only cleared. Reads return the chip's state until READ_ARRAY. */
static void write_words(uint32_t offset, const uint32_t *words, uint32_t count, uint32_t fill)
{
    volatile uint32_t *flash = (volatile uint32_t *)(uintptr_t)(FLASH_BASE + offset);
    __asm__ volatile(WITH_CSR("csrc mstatus, %0") ::"r"(MSTATUS_MPRV) : "memory");
    for (uint32_t i = 0; i < count; i++) {
        flash[i] = FLASH_PROGRAM;
        flash[i] = words != NULL ? words[i] : fill;
    }
    *flash = FLASH_READ_ARRAY;
    __asm__ volatile(WITH_CSR("csrs mstatus, %0") ::"r"(MSTATUS_MPRV) : "memory");
}

int board_flash_program(uint32_t offset, const void *from, size_t bytes)
{
    const volatile uint32_t *flash = (const volatile uint32_t *)(uintptr_t)(FLASH_BASE + offset);
    const uint32_t *words = from;
    if (offset > BOARD_FLASH_BYTES || bytes > BOARD_FLASH_BYTES - offset || ((offset | bytes | (uintptr_t)from) & 3u) != 0)
        return 0;
    for (uint32_t i = 0; i < bytes / 4; i++)
        if ((flash[i] & words[i]) != words[i])
            return 0;
    write_words(offset, words, bytes / 4, 0);
    for (uint32_t i = 0; i < bytes / 4; i++)
        if (flash[i] != words[i])
            return 0;
    return 1;
}

/* The model's chip erases 256 KB at once. So a 4 KB sector is erased by writing words. */
int board_flash_erase(uint32_t offset)
{
    if (offset % FLASH_SECTOR_BYTES != 0 || offset >= BOARD_FLASH_BYTES)
        return 0;
    write_words(offset, NULL, FLASH_SECTOR_BYTES / 4, ~0u);
    return REG32(FLASH_BASE + offset) == ~0u;
}

void board_jump(uint32_t entry)
{
    /* fence.i as a word, so that -march needs no zifencei. */
    __asm__ volatile(".word 0x0000100f\n\tjr %0" ::"r"(entry) : "memory");
    __builtin_unreachable();
}
