"""Firmware for an ESP32, unchanged, in Espressif's QEMU: the chip's own ROM boots it from a flash image.

`build` reads what PlatformIO or ESP-IDF built, `tools` finds QEMU and esptool and makes the image, `machine` runs it.
"""
