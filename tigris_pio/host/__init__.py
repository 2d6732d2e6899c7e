"""Runs plans on this machine with the boards' C runtime, built as a shared library; `Session` is the interface.

- `session`, `io`, `rows`, `calls`, `cores` run a plan; `memory` holds its arenas
- `library` finds and loads the shared library
- `packing` restores the portable order of weights that are packed for a chip
- `placement` calls the planner's search for a placement in C
"""

from tigris_pio.host.session import Session

__all__ = ["Session"]
