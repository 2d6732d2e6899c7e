"""pytest fixtures for tests on boards; installed with the package as the plugin `tigris`.

    pytest --tigris-project=.                             builds, flashes and opens the project's board
    pytest --tigris-project=. --tigris-emulated=emu_rv32  starts an emulated board for the run
    pytest --tigris-boards=lab.toml --tigris-tags=psram -n 4
    pytest --tigris-port=/dev/ttyUSB0 --tigris-plan=kws.tgrs

    def test_outputs(tigris_board):
        tigris_board.assert_matches(vectors="vectors.npz")

Every option is an ini option as well, `tigris_project = .`. Tests that use a board are skipped, with the reason, when
nothing says where one is. docs/testing.md has all of it.
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
    from tigris_pio.hil.rig.choose import Wanted
    from tigris_pio.hil.rig.rig import Rig

#: Seconds for which a board that somebody else has is waited for.
DEFAULT_WAIT = 300.0
_NO_BOARD = (
    "needs a board: --tigris-port=URL, --tigris-project=DIR, --tigris-emulated=BOARD or a list tigris-boards.toml"
)
_FIXTURES = frozenset({"tigris_board", "tigris_boards", "tigris_check", "tigris_plan"})
#: Name after --tigris-, what it takes, and what it is.
OPTIONS = (
    ("port", "URL", "board's serial port, any pyserial URL or labgrid:PLACE; taken as it is"),
    ("plan", "FILE", "plan that the board should hold; the project's unless set"),
    ("baud", "RATE", "speed of the line, 115200 unless set or listed"),
    ("project", "DIR", "PlatformIO project that is built and flashed, and names port and plan"),
    ("env", "ENV[,ENV]", "the project's environments, each a board; its only or default one unless set"),
    ("model", "NAME", "which of the project's models"),
    ("emulated", "BOARD[,BOARD]", "start the project's emulated boards, emu_rv32 for one, for this run"),
    ("boards", "FILE", "list of boards; tigris-boards.toml in the root or project folder unless set"),
    ("tags", "TAG[,TAG]", "of the list, only boards that have all of these tags"),
    ("flash", "yes|no", "build and flash before the tests; by default what a project or a list names"),
    ("wait", "SECONDS", f"how long a busy board is waited for, {DEFAULT_WAIT:g} unless set"),
)

_folder_key = pytest.StashKey[Path]()
_rig_key = pytest.StashKey["Rig | None"]()
_several_key = pytest.StashKey[bool]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Command-line options, each also an ini option."""
    group = parser.getgroup("tigris", "models on a board (tigris-pio)")
    for name, value, text in OPTIONS:
        group.addoption(f"--tigris-{name}", dest=f"tigris_{name}", metavar=value, help=text)
        parser.addini(f"tigris_{name}", text)


def pytest_configure(config: pytest.Config) -> None:
    """UsageError for `--tigris-port /dev/ttyUSB0` where that costs pytest its settings: it looks for them before it has
    loaded plugins, and takes the second word for a path to tests."""
    words, folder = config.invocation_params.args, config.invocation_params.dir
    if config.inipath is not None or not (folder / "pytest.ini").is_file():
        return
    for option, value in itertools.pairwise(map(str, words)):
        if option.startswith("--tigris-") and "=" not in option and (folder / value).exists():
            raise pytest.UsageError(f"write {option}={value} in one word: pytest took {value} for a path to tests, "
                                    f"and has not read {folder / 'pytest.ini'}")  # fmt: skip


def _setting(config: pytest.Config, name: str) -> str | None:
    value = config.getoption(f"tigris_{name}") or config.getini(f"tigris_{name}")
    return str(value) if value else None


def _several(config: pytest.Config, name: str) -> tuple[str, ...]:
    return tuple(word for word in (_setting(config, name) or "").replace(",", " ").split() if word)


def _number(config: pytest.Config, name: str) -> float | None:
    text = _setting(config, name)
    try:
        return None if text is None else float(text)
    except ValueError:
        raise pytest.UsageError(f"--tigris-{name} {text}: not a number") from None


# ---- one rig a process -------------------------------------------------------------------------------------------


def _wanted(config: pytest.Config) -> Wanted:
    """Files and folders are relative to where pytest's own settings lie."""
    from tigris_pio.hil.rig.choose import Wanted  # noqa: PLC0415 - pytest loads plugins in every run

    flash = _setting(config, "flash")
    if flash not in (None, "yes", "no"):
        raise pytest.UsageError(f"--tigris-flash {flash}: yes or no")
    project, boards, baud = _setting(config, "project"), _setting(config, "boards"), _number(config, "baud")
    return Wanted(
        root=config.rootpath,
        port=_setting(config, "port"),
        baud=None if baud is None else int(baud),
        project=None if project is None else config.rootpath / project,
        envs=_several(config, "env"),
        emulated=_several(config, "emulated"),
        boards=None if boards is None else config.rootpath / boards,
        tags=_several(config, "tags"),
        flash=None if flash is None else flash == "yes",
    )


def _make_rig(config: pytest.Config) -> Rig | None:
    from tigris_pio.hil.rig.choose import choose  # noqa: PLC0415
    from tigris_pio.hil.rig.rig import Process, Rig  # noqa: PLC0415

    places = choose(_wanted(config))
    if not places:
        return None
    worker: Mapping[str, Any] = getattr(config, "workerinput", {})
    number = int(str(worker.get("workerid", "gw0")).removeprefix("gw"))
    process = Process(_run_folder(config), number, int(worker.get("workercount", 1)))
    wait, plan = _number(config, "wait"), _setting(config, "plan")
    path = None if plan is None else config.rootpath / plan
    if path is not None and not path.is_file():
        pytest.fail(f"--tigris-plan {plan}: no such file", pytrace=False)
    return Rig(places, process, DEFAULT_WAIT if wait is None else wait, path, config.stash.get(_several_key, False))


def _rig(config: pytest.Config) -> Rig:
    """The boards of this process; the test is skipped where there are none."""
    if _rig_key not in config.stash:
        config.stash[_rig_key] = _make_rig(config)
    rig = config.stash[_rig_key]
    if rig is None:
        pytest.skip(_NO_BOARD)
    return rig


def _run_folder(config: pytest.Config) -> Path:
    """The same for all processes of a run."""
    if _folder_key not in config.stash:
        given = getattr(config, "workerinput", {}).get("tigris_folder")
        config.stash[_folder_key] = Path(given or tempfile.mkdtemp(prefix="tigris-run-"))
    return config.stash[_folder_key]


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """xdist starts a process."""
    node.workerinput["tigris_folder"] = str(_run_folder(node.config))


def pytest_collection_finish(session: pytest.Session) -> None:
    """All processes collect all tests, so they agree on whether boards go from test to test."""
    session.config.stash[_several_key] = any("tigris_boards" in _fixtures(item) for item in session.items)


def pytest_unconfigure(config: pytest.Config) -> None:
    """Boards are let go of; who began the run switches off the emulated boards that were started for it."""
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
    """Logs begin with the test, and shared boards are free after it."""
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
    """A failed test shows what its boards printed, and which operator was the first to be wrong."""
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


def _asked(question: Callable[[], Any]) -> Any:
    """The answer; what prevents it fails the test in its own words."""
    from tigris_pio.errors import TigrisError  # noqa: PLC0415

    try:
        return question()
    except TigrisError as error:
        pytest.fail(str(error), pytrace=False)


@pytest.fixture(scope="session")
def tigris_board(pytestconfig: pytest.Config) -> RigBoard:
    """The board of this process: built, flashed and connected when first used. See `rig.board.RigBoard`."""
    board: RigBoard = _asked(lambda: _rig(pytestconfig).board())
    return board


@pytest.fixture(scope="session")
def tigris_boards(pytestconfig: pytest.Config) -> tuple[RigBoard, ...]:
    """All boards that fit the options, for a test that needs several; other processes have none meanwhile."""
    boards: tuple[RigBoard, ...] = _asked(lambda: _rig(pytestconfig).all())
    return boards


@pytest.fixture(scope="session")
def tigris_plan(pytestconfig: pytest.Config, request: pytest.FixtureRequest) -> Path:
    """The plan at --tigris-plan, else that of the project's model --tigris-model, built first."""
    plan = _setting(pytestconfig, "plan")
    if plan is not None:
        path = pytestconfig.rootpath / plan
        if not path.is_file():
            pytest.fail(f"--tigris-plan {plan}: no such file", pytrace=False)
        return path
    board: RigBoard = request.getfixturevalue("tigris_board")
    found: Path = _asked(lambda: board.plan_path(_setting(pytestconfig, "model")))
    return found


@pytest.fixture
def tigris_check(tigris_board: RigBoard, tigris_plan: Path) -> Callable[..., CheckReport]:
    """`tigris_check(samples, labels=None, tolerance=0)`: samples as the model takes them, run on both sides.

    Without samples, noise over the whole range of each input. A mismatch is in the report; `assert_matches` of
    `tigris_board` fails the test.
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
