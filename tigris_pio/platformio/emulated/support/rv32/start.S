/* Entry of the bootloader (first bytes of flash) and of an application. */
    .option arch, +zicsr
    .section .start, "ax"
    .globl _start
_start:
    csrw mie, zero
    .option push
    .option norelax
    la gp, __global_pointer$
    .option pop
    la sp, __stack_top
    la tp, __tls_base
    la t0, board_trap
    csrw mtvec, t0

    la a0, __data_start
    la a1, __data_end
    la a2, __data_load
1:  bgeu a0, a1, 2f
    lw t0, 0(a2)
    sw t0, 0(a0)
    addi a0, a0, 4
    addi a2, a2, 4
    j 1b
2:  la a0, __bss_start
    la a1, __bss_end
3:  bgeu a0, a1, 4f
    sw zero, 0(a0)
    addi a0, a0, 4
    j 3b
4:  la a0, __external_start
    la a1, __external_end
5:  bgeu a0, a1, 6f
    sw zero, 0(a0)
    addi a0, a0, 4
    j 5b
6:  call BOARD_ENTRY
7:  j 7b

    .balign 4
board_trap:
    csrr a0, mcause
    csrr a1, mepc
    csrr a2, mtval
    la sp, __stack_top
    call board_trap_report
8:  j 8b
