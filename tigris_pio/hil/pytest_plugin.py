"""pytest fixtures for tests on a board; installed with the package as the plugin `tigris`.

    pytest --tigris-project . --tigris-port /dev/ttyUSB0
    pytest --tigris-port /dev/ttyUSB0 --tigris-plan kws.tgrs

    def test_outputs(tigris_check, features):
        report = tigris_check([{"input": features}])
        assert report.equal, list(mismatch_lines(report.samples))

A PlatformIO project names port and plan where they are not given: the port by its test_port, upload_port or
monitor_port, or by the emulated board that was started; the plan is the one it built. Tests that use a board are
skipped, with the reason, when neither is given.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tigris_pio.hil.check import CheckReport
    from tigris_pio.hil.client import Board
    from tigris_pio.hil.project import Project


#: Inputs that a check without samples draws.
DEFAULT_SAMPLES = 8


def pytest_addoption(parser: pytest.Parser) -> None:
    """Command-line options, each also an ini option."""
    group = parser.getgroup("tigris", "models on a board (tigris-pio)")
    for option, text in (
        ("tigris-port", "board's serial port, any pyserial URL"),
        ("tigris-plan", "plan that the board should hold"),
        ("tigris-baud", "speed of the line, 115200 unless set"),
        ("tigris-project", "PlatformIO project that names port and plan where they are not given"),
        ("tigris-env", "the project's environment; its only or default one unless set"),
        ("tigris-model", "which of the project's models"),
    ):
        name = option.replace("-", "_")
        group.addoption(f"--{option}", dest=name, metavar=option[7:].upper(), help=text)
        parser.addini(name, text)


def _setting(config: pytest.Config, name: str) -> str | None:
    value = config.getoption(name) or config.getini(name)
    return str(value) if value else None


def _project(config: pytest.Config) -> Project | None:
    """The project named, relative to where pytest's own settings lie."""
    from tigris_pio.hil.project import open_project  # noqa: PLC0415 - pytest loads plugins in every run

    folder = _setting(config, "tigris_project")
    if folder is None:
        return None
    return open_project(str(config.rootpath / folder), _setting(config, "tigris_env"))


@pytest.fixture(scope="session")
def tigris_board(pytestconfig: pytest.Config) -> Iterator[Board]:
    """The board at --tigris-port, connected once for all tests."""
    from tigris_pio.hil.client import Board  # noqa: PLC0415 - pytest loads plugins in every run

    place = _project(pytestconfig)
    port = _setting(pytestconfig, "tigris_port") or (place.port() if place else None)
    if port is None:
        pytest.skip("needs a board: --tigris-port URL, or --tigris-project DIR")
    with Board(port, int(_setting(pytestconfig, "tigris_baud") or 115200)) as board:
        yield board


@pytest.fixture(scope="session")
def tigris_plan(pytestconfig: pytest.Config) -> Path:
    """The plan at --tigris-plan."""
    plan = _setting(pytestconfig, "tigris_plan")
    place = _project(pytestconfig) if plan is None else None
    if place is not None:
        return place.plan(_setting(pytestconfig, "tigris_model"))
    if plan is None:
        pytest.skip("needs a plan: --tigris-plan FILE.tgrs, or --tigris-project DIR")
    path = pytestconfig.rootpath / plan
    if not path.is_file():
        pytest.fail(f"--tigris-plan {plan}: no such file")
    return path


@pytest.fixture
def tigris_check(tigris_board: Board, tigris_plan: Path) -> Callable[..., CheckReport]:
    """`tigris_check(samples, labels=None, tolerance=0)`: samples as the model takes them, run on both sides.

    Without samples, noise over the whole range of each input.
    """
    from tigris_pio.hil.check import check, open_plan  # noqa: PLC0415
    from tigris_pio.hil.samples import random_samples  # noqa: PLC0415

    plan = open_plan(tigris_plan)

    def run(
        samples: Sequence[Mapping[str, Any]] | None = None,
        labels: Sequence[int] | None = None,
        tolerance: float = 0.0,
    ) -> CheckReport:
        if samples is None:
            noise = random_samples(plan.session.inputs, DEFAULT_SAMPLES)
            return check(tigris_board, plan, noise.inputs, tolerance=tolerance, starts=noise.starts)
        stored = [
            {io.name: io.to_stored(io.check_model_array(sample[io.name])) for io in plan.session.inputs}
            for sample in samples
        ]
        return check(tigris_board, plan, stored, labels, tolerance=tolerance)

    return run
