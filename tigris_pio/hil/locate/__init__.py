"""Finds the first wrong operator on a board.

`trace` observes a run's kernel calls on board and host. `search` finds the first call that differs, by checksums;
`values` does it by rows, for float32 with a tolerance. `first_wrong` describes the call with the model's names.
"""
