"""An interpreter of the ESP32-P4's processor: RISC-V (rv32imafc) with the vector instructions (PIE, `esp.*`) and the
hardware loops (`esp.lp.*`) of Espressif.

No emulator runs these instructions. This one runs assembly, read from its source, what a compiler writes with -S too:
of inline assembly a compiler understands no word, and writes it as it stands. Instructions are counted, and every
address noted that they touch outside of what they were given. It knows nothing of time: an instruction is an
instruction.

>>> from bench.riscv.machine import Machine
>>> from bench.riscv.source import parse
>>> machine = Machine(parse(".globl twice\\n twice: add a0, a0, a0\\n ret"))
>>> machine.call("twice", [21]), machine.executed
(42, 2)
"""
