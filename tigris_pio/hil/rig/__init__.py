"""A rig of boards for tests.

`choose` turns options and a list of boards (`board_list`) into places (`place`). `rig` locks and flashes the boards.
`board` is a board as tests use it. `labgrid` acquires places of a labgrid installation.
"""
