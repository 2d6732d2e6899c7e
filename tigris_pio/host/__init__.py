"""Host execution: the same C runtime that runs on boards, built as a shared library."""

from tigris_pio.host.session import Session

__all__ = ["Session"]
