"""An interpreter of the ESP32-P4's processor: those instructions of RISC-V and of Espressif's vectors (PIE, `esp.*`)
that ESP-NN's convolutions and fully connected layers use.

No emulator runs these instructions. This interpreter reads assembly sources, also a compiler's output with -S:
compilers copy inline assembly without understanding it. It runs and counts each instruction, and records every access
outside of the operands. It does not model time.

>>> from bench.riscv.machine import Machine
>>> from bench.riscv.source import parse
>>> machine = Machine(parse(".globl twice\\n twice: add a0, a0, a0\\n ret"))
>>> machine.call("twice", [21]), machine.executed
(42, 2)
"""
