"""Sequences on a board: its states go on from run to run as the host's do, once a run, and begin anew when asked."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from onnx import save

from tests.compiler.models import make, node
from tests.harness.command import tigris
from tests.hil.bridge import losing
from tests.hil.conftest import QUICK, Serve
from tests.hil.test_samples import GAIN, IMAGE
from tigris_pio import Session
from tigris_pio.errors import UsageError
from tigris_pio.hil.check import check, open_plan
from tigris_pio.hil.client import Board
from tigris_pio.hil.protocol import Request
from tigris_pio.hil.samples import SampleSet, random_samples, read_samples


@pytest.fixture(scope="module")
def sum_plan(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """y = the sum of all inputs since the reset, through a chain that yields several times."""
    nodes = [node("Add", "x sum", "a"), node("Neg", "a", "b"), node("Neg", "b", "new"), node("Neg", "b", "c"),
             node("Identity", "c", "y")]
    folder = tmp_path_factory.mktemp("plans")
    save(make(nodes, {"x": (1, 6), "sum": (1, 6)}, ["y", "new"]), folder / "sum.onnx")
    tigris("compile", folder / "sum.onnx", "-m", "4K", "--state", "new=sum", "-o", folder / "sum.tgrs")
    return folder / "sum.tgrs"


def ones(count: int) -> tuple[dict[str, np.ndarray], ...]:
    return ({"x": np.ones((1, 6), np.float32)},) * count


def totals(board: Board, plan: Path, count: int) -> list[float]:
    """What the first element of the output is after each of `count` runs on ones."""
    host = Session(plan)
    found = []
    for sample in ones(count):
        board.write_input(0, 0, sample["x"].tobytes())
        board.run(0)
        found.append(float(np.frombuffer(board.read_output(0, 0, host.outputs[0].stored_bytes), np.float32)[0]))
    return found


def test_sequences_are_the_hosts(serve: Serve, sum_plan: Path) -> None:
    """Also when board and host were elsewhere before."""
    plan = open_plan(sum_plan)
    samples = random_samples(plan.session.inputs, 12)
    with Board(serve(sum_plan), timing=QUICK) as board:
        assert totals(board, sum_plan, 3) == [1, 2, 3]
        plan.session.run_raw(samples.inputs[0])
        report = check(board, plan, samples.inputs, starts=(0, 5, 6))
        assert report.equal and report.output_bytes == 12 * 24
        whole = sum((sample["x"] for sample in samples.inputs[6:]), np.zeros((1, 6), np.float32))
        assert np.allclose(plan.session.state()["sum"], whole)
        plan.session.reset()
        assert not check(board, plan, samples.inputs, starts=()).equal


@pytest.mark.parametrize(("request_type", "times"), [(Request.RUN, 2), (Request.RESET, 1)])
def test_a_repeated_request_steps_once(serve: Serve, request_type: Request, times: int, sum_plan: Path) -> None:
    """Its answer was lost: the board sends it again, and the state is where one run has left it."""
    with Board(serve(sum_plan, to_host=losing(request_type | 0x80, times)), timing=QUICK) as board:
        board.reset(0)
        assert totals(board, sum_plan, 3) == [1, 2, 3]
        assert board.repeats >= times


def test_sequences_from_files(serve: Serve, sum_plan: Path, tmp_path: Path) -> None:
    url = serve(sum_plan)
    rng = np.random.default_rng(3)
    for shape, words in (((7, 6), "7/7"), ((7, 1, 6), "7/7"), ((2, 4, 6), "8/8"), ((2, 4, 1, 6), "8/8")):
        np.savez(tmp_path / "x.npz", x=rng.standard_normal(shape).astype(np.float32))
        done = tigris("hil", sum_plan, "--port", url, "--data", tmp_path / "x.npz")
        assert done.stdout.splitlines()[-1] == f"{words} outputs equal to the host"


def test_an_axis_before_the_steps_counts_sequences(tmp_path: Path) -> None:
    def read(image: tuple[int, ...], gain: tuple[int, ...]) -> SampleSet:
        arrays = {"image": np.ones(image, np.float32), "gain": np.arange(np.prod(gain)).reshape(gain)}
        np.savez(tmp_path / "d.npz", **arrays, labels=np.arange(np.prod(gain[:-1])).reshape(gain[:-1]))
        return read_samples([IMAGE, GAIN], [], str(tmp_path / "d.npz"), None, stateful=True)

    found = read((2, 3, 2, 3, 4), (2, 3, 2))
    assert (len(found.inputs), found.starts, found.labels) == (6, (0, 3), (0, 1, 2, 3, 4, 5))
    assert found.inputs[4]["gain"].tolist() == [8, 9]
    assert found.repeated(2).starts == (0, 3, 6, 9)
    assert found.first(4).starts == (0, 3) and found.first(3).starts == (0,)
    for gain in ((6, 2), (2, 4, 2)):
        with pytest.raises(UsageError, match="different forms"):
            read((2, 3, 2, 3, 4), gain)
