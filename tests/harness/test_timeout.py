"""A test that hangs fails alone, with a traceback, and leaves no process behind; files stay in one process."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.harness.timeout import MARK, TestTimeout, limited, started_by

ROOT = Path(__file__).resolve().parents[2]
PLUGIN = '"""The hooks of this suite."""\nfrom tests.harness.hooks import *  # noqa: F403\n'
HANGING = {
    "socket": "import socket\n\ndef {name}():\n    a, b = socket.socketpair()\n    a.recv(1)\n",
    "swallows": "import time\n\ndef {name}():\n    while True:\n        try:\n            time.sleep(60)\n"
    "        except Exception:\n            pass\n",
    "child": "import subprocess, sys\n\ndef {name}():\n    command = 'sleep 300 & sleep 301'\n"
    "    subprocess.Popen(['sh', '-c', command], start_new_session=True)\n    subprocess.run(['sleep', '302'])\n",
    "fixture": "import pytest, time\n\n@pytest.fixture\ndef slow():\n    time.sleep(60)\n\n"
    "def {name}(slow):\n    pass\n",
    "lost": "import time\n\nclass Lost:\n    def __del__(self):\n        time.sleep(60)\n\n"
    "def {name}():\n    Lost()\n    time.sleep(60)\n",
    "hypothesis": "import time\nfrom hypothesis import given, strategies\n\n@given(strategies.integers())\n"
    "def {name}(x):\n    time.sleep(60)\n",
}
IN_C = "import itertools\n\ndef test_in_c():\n    any(itertools.repeat(0))\n"
IN_ONE_PROCESS = "import os, pytest\n\n@pytest.mark.parametrize('n', range(6))\ndef test_{0}(n):\n" \
    "    open('{0}.txt', 'a').write(os.environ['PYTEST_XDIST_WORKER'] + '\\n')\n"  # fmt: skip


def pytest_in(folder: Path, *arguments: str, limit: float = 3.0) -> subprocess.CompletedProcess[str]:
    """Runs pytest on the tests in a folder, with the hooks of this suite."""
    (folder / "conftest.py").write_text(PLUGIN, "utf-8")
    limits = {"TIGRIS_TEST_TIMEOUT": str(limit), "TIGRIS_TEST_GRACE": str(limit)}
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **limits}
    environment.pop("PYTEST_XDIST_WORKER", None)
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-q", *arguments, str(folder)]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=99, check=False)


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A run in two processes of tests that hang and tests that do not: its folder and what it said."""
    folder = tmp_path_factory.mktemp("suite")
    for name, text in HANGING.items():
        (folder / f"test_{name}.py").write_text(text.format(name=f"test_{name}"), "utf-8")
    for name in "abcdef":
        (folder / f"test_{name}.py").write_text(IN_ONE_PROCESS.format(name), "utf-8")
    return folder, pytest_in(folder, "-n", "2").stdout


def test_whatever_hangs_fails_with_its_traceback_and_the_others_run(ran: tuple[Path, str]) -> None:
    _, said = ran
    assert re.search(r"5 failed, 36 passed, 1 warning, 1 error", said), said
    for name in HANGING:
        assert f"test_{name}.py::test_{name} took more than 3 s" in said
    assert "a.recv(1)" in said
    assert "Current thread" in said
    mine = [Path(f"/proc/{process}/cmdline").read_bytes() for process in started_by(os.environ[MARK])]
    assert [line for line in mine if b"sleep" in line] == []


def test_a_files_tests_share_a_process(ran: tuple[Path, str]) -> None:
    folder, _ = ran
    workers = {name: (folder / f"{name}.txt").read_text("utf-8").split() for name in "abcdef"}
    assert all(len(by) == 6 and len(set(by)) == 1 for by in workers.values()), workers
    assert len(set.union(*map(set, workers.values()))) == 2


def test_what_hangs_in_c_ends_its_process_alone(tmp_path: Path) -> None:
    """Both at the same time, too."""
    for name in "ab":
        (tmp_path / f"test_{name}.py").write_text(IN_C, "utf-8")
    for name in "cdefg":
        (tmp_path / f"test_{name}.py").write_text("def test_well():\n    pass\n", "utf-8")
    done = pytest_in(tmp_path, "-n", "2", limit=0.3)
    assert "2 failed, 5 passed" in done.stdout, done.stdout + done.stderr
    assert "test_in_c" in done.stderr


def test_a_limit_is_that_of_the_block() -> None:
    with pytest.raises(TestTimeout, match="here took more than"), limited("here", 0.05):
        while True:
            pass
    with limited("here", 60):
        pass
