"""PlatformIO integration: the extra-script hook, partition tables and the platform of emulated boards.

Everything here but tests runs inside PlatformIO's own Python: standard library only, loaded by path
under another package name, so modules import each other relatively and nothing of the rest of tigris_pio.
"""
