"""Status codes of opening and binding a plan, without `Session`'s exceptions."""

import enum
import re

from tests.runtime.build import INCLUDE
from tigris_pio.format.records import Header
from tigris_pio.host import library
from tigris_pio.host.memory import Arena, aligned_copy

_TEXT = (INCLUDE / "tigris.h").read_text(encoding="utf-8")
_FOUND = re.findall(r"^    TIGRIS_(OK|ERR_\w+) = (-?\d+)", _TEXT, re.MULTILINE)
#: The statuses of tigris.h, such as Status.ERR_BANDS.
Status = enum.IntEnum("Status", {name: int(value) for name, value in _FOUND})


def bind_status_of_a_refused_plan(plan: bytes) -> int:
    """The status of binding a plan that did not open."""
    runtime = library.load()
    data, host, arena = aligned_copy(plan), Arena(int(runtime.tigris_host_bytes())), Arena(4096, 4096)
    assert runtime.tigris_host_open(host.address, data.address, len(plan)) != 0
    profile = (library.HostProfile * 1)()
    memory = (arena.address, arena.data.size)
    return int(runtime.tigris_host_bind(host.address, *memory, *memory, profile, 0))


def bind_status(plan: bytes) -> int:
    """The status of opening the plan and binding it to arenas of the sizes it asks for."""
    runtime = library.load()
    data = aligned_copy(plan)
    host = Arena(int(runtime.tigris_host_bytes()))
    status = int(runtime.tigris_host_open(host.address, data.address, len(plan)))
    if status != 0:
        return status
    header = Header.unpack(plan)
    fast, slow = Arena(header.fast_bytes, 4096), Arena(header.slow_bytes, 4096)
    profile = (library.HostProfile * max(1, header.op_count))()
    return int(
        runtime.tigris_host_bind(host.address, fast.address, fast.data.size, slow.address, slow.data.size, profile, 0)
    )
