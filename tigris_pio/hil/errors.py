"""The harness's errors. Every message names the port and the remedy."""

from tigris_pio.errors import TigrisError, UsageError


class HarnessError(TigrisError):
    """Base class: the connection between host and board failed, which says nothing about the model."""

    exit_status = 3
    report: object = None  #: a check's results before the error, a CheckReport
    outcome = "lost"  #: of probing a port, in the list of boards


class PortError(HarnessError):
    """The port cannot be opened, or was lost."""

    outcome = "closed"


class PortNameError(UsageError, PortError):
    """The given name cannot be a port's."""


class BusyError(PortError):
    """Another program uses the board."""

    outcome = "busy"


class SilentBoardError(HarnessError):
    """The board sent nothing."""

    outcome = "silent"


class HungBoardError(SilentBoardError):
    """The board sent BUSY for a request, then nothing more."""


class NoisyBoardError(HarnessError):
    """The board sent bytes, but no answer: a boot log, other firmware, or a wrong speed."""

    outcome = "other"


class VersionError(HarnessError):
    """Board and host have different versions of the protocol or the plan format."""

    outcome = "version"


class RestartError(HarnessError):
    """The board restarted, or another host took it over, during a connection."""


class RefusedError(HarnessError):
    """The board refused a request."""


class InputsError(HarnessError):
    """The board ran on other inputs than were sent, so its result is worthless."""


class OutputsError(HarnessError):
    """The bytes read of an output are not the board's."""


class RunError(HarnessError):
    """The model cannot run on the board, or a run failed or took too long."""

    exit_status = 1


class WrongModelError(HarnessError):
    """The board holds other models than the host expects."""

    exit_status = 1
