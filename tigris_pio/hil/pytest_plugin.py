"""pytest fixtures for tests on boards; installed with the package as the plugin `tigris`.

    pytest --tigris-project=.                             builds, flashes and opens the project's board
    pytest --tigris-project=. --tigris-emulated=emu_rv32  starts an emulated board for the run
    pytest --tigris-boards=lab.toml --tigris-tags=psram -n 4
    pytest --tigris-port=/dev/ttyUSB0 --tigris-plan=kws.tgrs

    def test_outputs(tigris_board):
        tigris_board.assert_matches(vectors="vectors.npz")

Every option is an ini option as well, `tigris_project = .`. Without a board, tests that use one are skipped with the
reason. docs/testing.md describes all options and fixtures.
"""

from __future__ import annotations

import itertools
import shutil
import tempfile
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tigris_pio.hil.check import CheckReport
    from tigris_pio.hil.rig.board import RigBoard
    from tigris_pio.hil.rig.choose import Selection
    from tigris_pio.hil.rig.rig import Rig

#: Seconds to wait for a board that another program uses.
DEFAULT_WAIT = 300.0
_NO_BOARD = (
    "needs a board: --tigris-port=URL, --tigris-project=DIR, --tigris-emulated=BOARD or a list tigris-boards.toml"
)
_FIXTURES = frozenset({"tigris_board", "tigris_boards", "tigris_check", "tigris_plan"})
#: Name after --tigris-, metavariable and help text.
OPTIONS = (
    ("port", "URL", "the board's serial port, any pyserial URL or labgrid:PLACE; it is not flashed"),
    ("plan", "FILE", "the plan that the board should hold; default: the project's"),
    ("baud", "RATE", "speed of the line; default: the list's, or 115200"),
    ("project", "DIR", "PlatformIO project to build and flash; it names port and plan"),
    ("env", "ENV[,ENV]", "the project's environments, one for each board; default: its only or default one"),
    ("model", "NAME", "the project's model to test, if it has several"),
    ("emulated", "BOARD[,BOARD]", "start the project's emulated boards, for example emu_rv32, for this run"),
    ("boards", "FILE", "list of boards; default: tigris-boards.toml in the root or project folder"),
    ("tags", "TAG[,TAG]", "use only the list's boards that have all of these tags"),
    ("flash", "yes|no", "build and flash before the tests; default: yes, except for a port without env"),
    ("wait", "SECONDS", f"how long to wait for a busy board; default: {DEFAULT_WAIT:g}"),
)

_folder_key = pytest.StashKey[Path]()
_rig_key = pytest.StashKey["Rig | None"]()
_needs_all_key = pytest.StashKey[bool]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Command-line options, each also an ini option."""
    group = parser.getgroup("tigris", "models on a board (tigris-pio)")
    for name, value, text in OPTIONS:
        group.addoption(f"--tigris-{name}", dest=f"tigris_{name}", metavar=value, help=text)
        parser.addini(f"tigris_{name}", text)


def pytest_configure(config: pytest.Config) -> None:
    """Raises UsageError for `--tigris-port /dev/ttyUSB0` if pytest took the second word for a path to tests.

    pytest looks for its settings before it loads plugins. It then searches them at that path and misses pytest.ini.
    """
    words, folder = config.invocation_params.args, config.invocation_params.dir
    if config.inipath is not None or not (folder / "pytest.ini").is_file():
        return
    for option, value in itertools.pairwise(map(str, words)):
        if option.startswith("--tigris-") and "=" not in option and (folder / value).exists():
            raise pytest.UsageError(f"write {option}={value} in one word: pytest took {value} for a path to tests, "
                                    f"and did not read {folder / 'pytest.ini'}")  # fmt: skip


def _setting(config: pytest.Config, name: str) -> str | None:
    value = config.getoption(f"tigris_{name}") or config.getini(f"tigris_{name}")
    return str(value) if value else None


def _list_setting(config: pytest.Config, name: str) -> tuple[str, ...]:
    return tuple(word for word in (_setting(config, name) or "").replace(",", " ").split() if word)


def _number_setting(config: pytest.Config, name: str) -> float | None:
    text = _setting(config, name)
    try:
        return None if text is None else float(text)
    except ValueError:
        raise pytest.UsageError(f"--tigris-{name} {text}: not a number") from None


# ---- the process's rig -------------------------------------------------------------------------------------------


def _selection(config: pytest.Config) -> Selection:
    """The options as a selection of boards. Files and folders are relative to pytest's root folder."""
    from tigris_pio.hil.rig.choose import Selection  # noqa: PLC0415 - pytest loads plugins in every run

    flash = _setting(config, "flash")
    if flash not in (None, "yes", "no"):
        raise pytest.UsageError(f"--tigris-flash {flash}: must be yes or no")
    project, boards, baud = _setting(config, "project"), _setting(config, "boards"), _number_setting(config, "baud")
    return Selection(
        root=config.rootpath,
        port=_setting(config, "port"),
        baud=None if baud is None else int(baud),
        project=None if project is None else config.rootpath / project,
        envs=_list_setting(config, "env"),
        emulated=_list_setting(config, "emulated"),
        boards=None if boards is None else config.rootpath / boards,
        tags=_list_setting(config, "tags"),
        flash=None if flash is None else flash == "yes",
    )


def _make_rig(config: pytest.Config) -> Rig | None:
    from tigris_pio.hil.rig.choose import choose  # noqa: PLC0415
    from tigris_pio.hil.rig.rig import Process, Rig  # noqa: PLC0415

    places = choose(_selection(config))
    if not places:
        return None
    worker: Mapping[str, Any] = getattr(config, "workerinput", {})
    number = int(str(worker.get("workerid", "gw0")).removeprefix("gw"))
    process = Process(_run_folder(config), number, int(worker.get("workercount", 1)))
    wait, needs_all = _number_setting(config, "wait"), config.stash.get(_needs_all_key, False)
    return Rig(places, process, DEFAULT_WAIT if wait is None else wait, _given_plan(config), needs_all)


def _given_plan(config: pytest.Config) -> Path | None:
    plan = _setting(config, "plan")
    if plan is not None and not (config.rootpath / plan).is_file():
        pytest.fail(f"--tigris-plan {plan}: no such file", pytrace=False)
    return None if plan is None else config.rootpath / plan


def _rig(config: pytest.Config) -> Rig:
    """The boards of this process; skips the test if there are none."""
    if _rig_key not in config.stash:
        config.stash[_rig_key] = _make_rig(config)
    rig = config.stash[_rig_key]
    if rig is None:
        pytest.skip(_NO_BOARD)
    return rig


def _run_folder(config: pytest.Config) -> Path:
    """A temporary folder, the same for all processes of a run."""
    if _folder_key not in config.stash:
        given = getattr(config, "workerinput", {}).get("tigris_folder")
        config.stash[_folder_key] = Path(given or tempfile.mkdtemp(prefix="tigris-run-"))
    return config.stash[_folder_key]


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Called when xdist starts a process: passes the run's folder on."""
    node.workerinput["tigris_folder"] = str(_run_folder(node.config))


def pytest_collection_finish(session: pytest.Session) -> None:
    """Notes whether a test needs several boards. All processes collect all tests, so all come to the same result."""
    session.config.stash[_needs_all_key] = any("tigris_boards" in _fixtures(item) for item in session.items)


def pytest_unconfigure(config: pytest.Config) -> None:
    """Releases the boards; the main process switches off the emulated boards that were started for the run."""
    rig = config.stash.get(_rig_key, None)
    if rig is not None:
        rig.close()
    if _folder_key in config.stash and not hasattr(config, "workerinput"):
        from tigris_pio.hil.rig.rig import switch_off  # noqa: PLC0415

        switch_off(config.stash[_folder_key])
        shutil.rmtree(config.stash[_folder_key], ignore_errors=True)


# ---- around each test --------------------------------------------------------------------------------------------


def _fixtures(item: pytest.Item) -> Sequence[str]:
    return getattr(item, "fixturenames", ())


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[Any]:
    """Clears the boards' logs before a test, and releases shared boards after it."""
    rig = item.config.stash.get(_rig_key, None)
    if rig is not None:
        rig.begin_test("tigris_boards" in _fixtures(item))
    try:
        return (yield)
    finally:
        rig = item.config.stash.get(_rig_key, None)
        if rig is not None:
            rig.end_test()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Adds to a failed test's report what its boards printed, and the first wrong operator."""
    report = yield
    rig = item.config.stash.get(_rig_key, None)
    if rig is not None and report.failed and not _FIXTURES.isdisjoint(_fixtures(item)):
        from tigris_pio.hil.errors import HarnessError  # noqa: PLC0415

        for board in rig.boards:
            report.sections += board.sections()
        if call.excinfo is not None and call.excinfo.errisinstance(HarnessError):
            for board in rig.boards:
                board.close()  # the next test gets a line that works
    return report


# ---- fixtures ----------------------------------------------------------------------------------------------------


def _or_fail(question: Callable[[], Any]) -> Any:
    """Returns the result of `question`; a TigrisError fails the test with its message, without a traceback."""
    from tigris_pio.errors import TigrisError  # noqa: PLC0415

    try:
        return question()
    except TigrisError as error:
        pytest.fail(str(error), pytrace=False)


@pytest.fixture(scope="session")
def tigris_board(pytestconfig: pytest.Config) -> RigBoard:
    """The board of this process, built, flashed and connected at its first use. See `rig.board.RigBoard`."""
    board: RigBoard = _or_fail(lambda: _rig(pytestconfig).board())
    return board


@pytest.fixture(scope="session")
def tigris_boards(pytestconfig: pytest.Config) -> tuple[RigBoard, ...]:
    """All boards that fit the options, for a test that needs several; other processes wait meanwhile."""
    boards: tuple[RigBoard, ...] = _or_fail(lambda: _rig(pytestconfig).all_boards())
    return boards


@pytest.fixture(scope="session")
def tigris_plan(pytestconfig: pytest.Config, request: pytest.FixtureRequest) -> Path:
    """The plan of --tigris-plan, else of the project's model --tigris-model, built first."""
    plan = _given_plan(pytestconfig)
    if plan is not None:
        return plan
    board: RigBoard = request.getfixturevalue("tigris_board")
    found: Path = _or_fail(lambda: board.plan_path(_setting(pytestconfig, "model")))
    return found


@pytest.fixture
def tigris_check(tigris_board: RigBoard, tigris_plan: Path) -> Callable[..., CheckReport]:
    """`tigris_check(samples, labels=None, tolerance=0)`: runs samples, as the model takes them, on board and host.

    Without samples it runs noise over the whole range of each input. A mismatch is in the report and fails no test;
    `assert_matches` of `tigris_board` does.
    """
    from tigris_pio.hil.vectors import random_vectors  # noqa: PLC0415

    def run(
        samples: Sequence[Mapping[str, Any]] | None = None,
        labels: Sequence[int] | None = None,
        tolerance: float = 0.0,
    ) -> CheckReport:
        plan = tigris_board.plan(tigris_plan)
        if samples is None:
            noise = random_vectors(plan).samples
            return tigris_board.check_stored(plan, noise.inputs, None, tolerance, noise.starts)
        stored = [
            {io.name: io.to_stored(io.check_model_array(sample[io.name])) for io in plan.session.inputs}
            for sample in samples
        ]
        return tigris_board.check_stored(plan, stored, labels, tolerance)

    return run
