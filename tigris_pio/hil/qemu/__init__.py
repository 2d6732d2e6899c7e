"""Runs unchanged ESP32 firmware in Espressif's QEMU: the chip's own ROM boots it from a flash image.

`build` finds the images of PlatformIO or ESP-IDF, `tools` finds QEMU and esptool and merges the images, `machine` runs
them. `chips` describes the chips.
"""
