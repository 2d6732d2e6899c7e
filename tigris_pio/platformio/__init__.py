"""PlatformIO integration: the extra-script hook, partition tables and the platform of emulated boards. See README.md.

These modules run inside PlatformIO's own Python, which loads them by path under another package name. So they use the
standard library only, import each other relatively, and import nothing else of tigris_pio.
"""
