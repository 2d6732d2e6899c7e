"""An interpreter of the ESP32-S3's processor: Xtensa LX7 with the vector instructions (PIE) of Espressif.

No emulator that can be had without the chip's maker runs these instructions. This one runs assembly, read from its
source (`source.read`) or from objdump's text (`objdump.read`), instruction by instruction; counts them, and notes every
address that they touch outside of what they were given. It knows nothing of time: an instruction is an instruction.

>>> from bench.xtensa.machine import Machine
>>> from bench.assembly.source import parse
>>> machine = Machine(parse(".global twice\\n twice: entry a1, 32\\n add a2, a2, a2\\n retw"))
>>> machine.call("twice", [21]), machine.executed
(42, 3)
"""
