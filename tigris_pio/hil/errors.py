"""What can go wrong between host and board; every message names the port and what to do."""

from __future__ import annotations

from tigris_pio.errors import TigrisError


class HarnessError(TigrisError):
    """Base of the harness's errors."""


class PortError(HarnessError):
    """The port cannot be opened, or went away."""


class SilentBoardError(HarnessError):
    """Nothing at all came from the board."""


class NoisyBoardError(HarnessError):
    """Bytes came, but no answer: a boot log, another firmware, a wrong speed."""


class VersionError(HarnessError):
    """Board and host speak different versions of the protocol or read different plan formats."""


class RestartError(HarnessError):
    """The board restarted, or another host took it over, in the middle of a session."""


class RefusedError(HarnessError):
    """The board refused a request."""


class RunError(HarnessError):
    """The model cannot run on the board, a run failed there, or took too long."""


class WrongModelError(HarnessError):
    """The board holds other models than the host expects."""
