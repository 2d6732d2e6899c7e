"""Shared parts of the interpreters of assembly: the reader of sources, memory that records accesses outside of its
regions, lanes of vectors, instructions, the loop that runs and counts them, and whole plans with interpreted kernels.

The processors are `bench.xtensa` (ESP32-S3) and `bench.riscv` (ESP32-P4).
"""
