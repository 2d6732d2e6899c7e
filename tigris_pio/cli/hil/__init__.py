"""`tigris hil`: the group `hil` in `group`, and one module per command: `check`, `list`, `bench`, `monitor`.

`options` holds the options that choose a board, `inputs` those that choose inputs.
"""

from tigris_pio.cli.hil.group import hil

__all__ = ["hil"]
