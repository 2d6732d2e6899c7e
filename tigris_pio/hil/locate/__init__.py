"""The first operator that is wrong on a board.

`trace` watches runs there kernel call by kernel call, `search` and `values` find the call (by checksums, and by rows
where float32 may differ a little), `first_wrong` says it in the model's words.
"""
