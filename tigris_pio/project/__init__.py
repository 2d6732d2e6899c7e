"""Writes the PlatformIO project of `tigris new`: `boards` finds the board, `memory` a budget, `create` the files."""
