"""An interpreter of the ESP32-P4's processor: RISC-V (rv32imafc) with the vector instructions (PIE, `esp.*`) and the
hardware loops (`esp.lp.*`) of Espressif.

No emulator runs these instructions. This interpreter reads assembly sources, also a compiler's output with -S:
compilers copy inline assembly without understanding it. It runs and counts each instruction, and records every access
outside of the operands. It does not model time.

>>> from bench.riscv.machine import Machine
>>> from bench.riscv.source import parse
>>> machine = Machine(parse(".globl twice\\n twice: add a0, a0, a0\\n ret"))
>>> machine.call("twice", [21]), machine.executed
(42, 2)
"""
