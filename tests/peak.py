"""The most memory that this process has used.

``getrusage`` counts what the parent had at the fork, even past ``exec``: a test's child would report the test runner's
memory. Linux's ``VmHWM`` belongs to the address space, which ``exec`` makes anew (proc_pid_status(5))."""

import resource
import sys
from pathlib import Path


def peak() -> int:
    """Bytes that lay in memory at most since this program began; where there is no /proc, since its parent's fork."""
    status = Path("/proc/self/status")
    if status.exists():
        (line,) = (line for line in status.read_text().splitlines() if line.startswith("VmHWM:"))
        return int(line.split()[1]) << 10
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most << 10
