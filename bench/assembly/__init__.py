"""What the interpreters of assembly share: how its source is read, memory that notes what is touched outside of what it
was given, lanes of vectors, the loop that runs and counts, and TensorFlow Lite's arithmetic in numpy.

Of a processor's own: `bench.xtensa` (ESP32-S3) and `bench.riscv` (ESP32-P4).
"""
