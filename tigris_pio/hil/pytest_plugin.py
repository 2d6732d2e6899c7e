"""pytest fixtures for tests on a board; installed with the package as the plugin `tigris`.

    pytest --tigris-port /dev/ttyUSB0 --tigris-plan kws.tgrs

    def test_outputs(tigris_check, features):
        report = tigris_check([{"input": features}])
        assert report.equal, list(mismatch_lines(report.samples))

Tests that use a board are skipped, with the reason, when no port is given.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tigris_pio.hil.check import CheckReport
    from tigris_pio.hil.client import Board


def pytest_addoption(parser: pytest.Parser) -> None:
    """Command-line options, each also an ini option."""
    group = parser.getgroup("tigris", "models on a board (tigris-pio)")
    for option, text in (
        ("tigris-port", "board's serial port, any pyserial URL"),
        ("tigris-plan", "plan that the board should hold"),
        ("tigris-baud", "speed of the line, 115200 unless set"),
    ):
        name = option.replace("-", "_")
        group.addoption(f"--{option}", dest=name, metavar=option[7:].upper(), help=text)
        parser.addini(name, text)


def _setting(config: pytest.Config, name: str) -> str | None:
    value = config.getoption(name) or config.getini(name)
    return str(value) if value else None


@pytest.fixture(scope="session")
def tigris_board(pytestconfig: pytest.Config) -> Iterator[Board]:
    """The board at --tigris-port, connected once for all tests."""
    from tigris_pio.hil.client import Board  # noqa: PLC0415 - pytest loads plugins in every run

    port = _setting(pytestconfig, "tigris_port")
    if port is None:
        pytest.skip("needs a board: --tigris-port URL")
    with Board(port, int(_setting(pytestconfig, "tigris_baud") or 115200)) as board:
        yield board


@pytest.fixture(scope="session")
def tigris_plan(pytestconfig: pytest.Config) -> Path:
    """The plan at --tigris-plan."""
    plan = _setting(pytestconfig, "tigris_plan")
    if plan is None:
        pytest.skip("needs a plan: --tigris-plan FILE.tgrs")
    path = pytestconfig.rootpath / plan
    if not path.is_file():
        pytest.fail(f"--tigris-plan {plan}: no such file")
    return path


@pytest.fixture
def tigris_check(tigris_board: Board, tigris_plan: Path) -> Callable[..., CheckReport]:
    """`tigris_check(samples, labels=None, tolerance=0)`: samples as the model takes them, run on both sides."""
    from tigris_pio.hil.check import check, open_plan  # noqa: PLC0415

    plan = open_plan(tigris_plan)

    def run(
        samples: Sequence[Mapping[str, Any]], labels: Sequence[int] | None = None, tolerance: float = 0.0
    ) -> CheckReport:
        stored = [
            {io.name: io.to_stored(io.check_model_array(sample[io.name])) for io in plan.session.inputs}
            for sample in samples
        ]
        return check(tigris_board, plan, stored, labels, tolerance=tolerance)

    return run
