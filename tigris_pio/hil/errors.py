"""What can go wrong between host and board; every message names the port and what to do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tigris_pio.errors import TigrisError, UsageError

if TYPE_CHECKING:
    from tigris_pio.hil.check import CheckReport


class HarnessError(TigrisError):
    """Base of the harness's errors: board and host do not understand each other, which says nothing of the model."""

    exit_status = 3
    report: CheckReport | None = None  #: what a check had found before it


class PortError(HarnessError):
    """The port cannot be opened, or went away."""


class PortNameError(UsageError, PortError):
    """What was given as a port cannot be one."""


class BusyError(PortError):
    """Another program talks to the board."""


class SilentBoardError(HarnessError):
    """Nothing at all came from the board."""


class HungBoardError(SilentBoardError):
    """The board said that it works on a request, and then nothing more."""


class NoisyBoardError(HarnessError):
    """Bytes came, but no answer: a boot log, another firmware, a wrong speed."""


class VersionError(HarnessError):
    """Board and host speak different versions of the protocol or read different plan formats."""


class RestartError(HarnessError):
    """The board restarted, or another host took it over, in the middle of a session."""


class RefusedError(HarnessError):
    """The board refused a request."""


class InputsError(HarnessError):
    """A run was computed from other inputs than were sent: its result is worth nothing."""


class OutputsError(HarnessError):
    """The bytes that were read of an output are not those that the board has."""


class RunError(HarnessError):
    """The model cannot run on the board, a run failed there, or took too long."""

    exit_status = 1


class WrongModelError(HarnessError):
    """The board holds other models than the host expects."""

    exit_status = 1
