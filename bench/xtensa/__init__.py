"""An interpreter of the ESP32-S3's processor: Xtensa LX7 with the vector instructions (PIE) of Espressif.

Only the chip maker's emulator runs these instructions. This interpreter reads assembly sources (bench.assembly.source),
runs and counts each instruction, and records every access outside of the operands. It does not model time.

>>> from bench.xtensa.machine import Machine
>>> from bench.assembly.source import parse
>>> machine = Machine(parse(".global twice\\n twice: entry a1, 32\\n add a2, a2, a2\\n retw"))
>>> machine.call("twice", [21]), machine.executed
(42, 3)
"""
