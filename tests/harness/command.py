"""The command line, run in this process: starting another one takes most of a second, nearly all of it imports."""

import io
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout

from tigris_pio.cli.main import main


def tigris(*arguments: object, status: int | None = 0) -> subprocess.CompletedProcess[str]:
    """What a command prints in pipes, and its exit status, which must be `status` unless that is None."""
    words = list(map(str, arguments))
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        try:
            main(words)
            code = 0
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 1 if end.code else 0
    return _checked(subprocess.CompletedProcess(words, code, out.getvalue(), err.getvalue()), status)


def tigris_process(*arguments: object, status: int | None = 0) -> subprocess.CompletedProcess[str]:
    """The same in a process of its own, as users start it."""
    command = [sys.executable, "-m", "tigris_pio", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    return _checked(done, status)


def _checked(done: subprocess.CompletedProcess[str], status: int | None) -> subprocess.CompletedProcess[str]:
    assert status is None or done.returncode == status, done.stderr
    assert "Traceback" not in done.stderr + done.stdout
    return done
