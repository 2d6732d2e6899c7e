"""Inputs from files, random inputs, and sequences for models with states."""

from pathlib import Path

import numpy as np
import pytest
from onnx import save

from tests.compiler.models import make, node
from tests.harness.command import tigris
from tests.hil.bridge import losing
from tests.hil.conftest import QUICK, Serve
from tigris_pio import Session
from tigris_pio.errors import UsageError
from tigris_pio.hil.check import check, open_plan
from tigris_pio.hil.client import Board
from tigris_pio.hil.protocol import Request
from tigris_pio.hil.samples import SampleSet, random_samples, read_samples
from tigris_pio.host.io import IoDescriptor

INT8, FLOAT = np.dtype(np.int8), np.dtype(np.float32)
IMAGE = IoDescriptor("image", (1, 2, 3, 4), FLOAT, "NHWC", 0.5, -3, (1, 3, 4, 2), INT8, (0, 3, 1, 2))
GAIN = IoDescriptor("gain", (2,), FLOAT, "plain", 0.0, 0, (2,), FLOAT, (0,))


def saved(path: Path, array: np.ndarray) -> str:
    np.save(path, array)
    return str(path)


def test_a_file_of_one_sample_is_quantised_and_put_in_stored_order(tmp_path: Path) -> None:
    x = np.arange(24, dtype=np.float32).reshape(1, 2, 3, 4)
    found = read_samples([IMAGE], [saved(tmp_path / "x.npy", x)], None, None)
    assert found.labels is None
    (sample,) = found.inputs
    assert sample["image"].shape == (1, 3, 4, 2)
    assert sample["image"].dtype == np.int8
    assert sample["image"].tolist() == (2 * x - 3).transpose(0, 2, 3, 1).tolist()


@pytest.mark.parametrize("shape", [(5, 2, 3, 4), (5, 1, 2, 3, 4)])
def test_several_samples_lie_along_the_first_axis(tmp_path: Path, shape: tuple[int, ...]) -> None:
    x = np.arange(120, dtype=np.float32).reshape(shape) / 4
    labels = saved(tmp_path / "y.npy", np.array([3, 1, 4, 1, 5]))
    found = read_samples([IMAGE], [f"image={saved(tmp_path / 'x.npy', x)}"], None, labels)
    assert found.labels == (3, 1, 4, 1, 5)
    assert len(found.inputs) == 5
    assert found.inputs[4]["image"][0, 0, 0].tolist() == [45, 51]  # 24 and 27 in halves, less 3


def test_archives_hold_arrays_by_name_with_labels_or_one_array(tmp_path: Path) -> None:
    images, gains = np.ones((3, 2, 3, 4), np.float32), np.zeros((3, 2), np.float32)
    np.savez(tmp_path / "d.npz", gain=gains, image=images, labels=np.array([1, 2, 3]), extra=images)
    found = read_samples([IMAGE, GAIN], [], str(tmp_path / "d.npz"), None)
    assert (found.labels, sorted(found.inputs[0])) == ((1, 2, 3), ["gain", "image"])
    np.savez(tmp_path / "d.npz", pictures=images)
    assert len(read_samples([IMAGE], [], str(tmp_path / "d.npz"), None).inputs) == 3


def test_random_samples_fill_the_range_and_repeat(digits_plan: Path) -> None:
    inputs = open_plan(digits_plan).session.inputs
    first, second = random_samples(inputs, 40), random_samples(inputs, 40)
    values = np.concatenate([sample["image"].ravel() for sample in first.inputs])
    assert (values.min(), values.max()) == (-128, 127)
    assert [s["image"].tolist() for s in first.inputs] == [s["image"].tolist() for s in second.inputs]


def test_wrong_inputs_are_named(tmp_path: Path) -> None:
    good = saved(tmp_path / "good.npy", np.ones((1, 2, 3, 4), np.float32))
    flat = saved(tmp_path / "flat.npy", np.ones(24, np.float32))
    words = saved(tmp_path / "words.npy", np.full((1, 2, 3, 4), "a"))
    gain = saved(tmp_path / "gain.npy", np.ones((3, 2), np.float32))
    text = tmp_path / "text.npy"
    text.write_text("1 2 3")
    np.savez(tmp_path / "other.npz", a=np.ones(3), b=np.ones(3))
    for descriptors, inputs, data, labels, message in (
        ([IMAGE], [str(tmp_path / "no.npy")], None, None, r"no\.npy: no such file"),
        ([IMAGE], [str(text)], None, None, r"text\.npy: not a NumPy"),
        ([IMAGE], [flat], None, None, r"shape \[24\] of float32; input image takes \[1, 2, 3, 4\], or \[N, 2, 3, 4\]"),
        ([IMAGE], [words], None, None, r"words\.npy: shape"),
        ([IMAGE], [f"sound={good}"], None, None, "has no input sound; its inputs are image"),
        ([IMAGE, GAIN], [good], None, None, "the model has inputs image, gain; give NAME=FILE.npy"),
        ([IMAGE, GAIN], [f"image={good}"], None, None, r"no data for input gain: give --input gain=FILE\.npy"),
        ([IMAGE, GAIN], [f"image={good}", f"gain={gain}"], None, None, r"different numbers .*image: 1, gain: 3"),
        ([IMAGE], [], str(tmp_path / "other.npz"), None, r"holds a, b, but the model's inputs are image"),
        ([IMAGE], [str(tmp_path / "other.npz")], None, None, r"the arrays a, b; give an .npz of several with --data"),
        ([IMAGE], [good], None, gain, r"gain\.npy: labels must be 1 integer,"),
    ):  # fmt: skip
        with pytest.raises(UsageError, match=message):
            read_samples(descriptors, inputs, data, labels)


# Sequences on a board: its states advance like the host's, once for each run, and are reset on request.


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
    """The first element of the output after each of `count` runs on ones."""
    host = Session(plan)
    found = []
    for sample in ones(count):
        board.write_input(0, 0, sample["x"].tobytes())
        board.run(0)
        found.append(float(np.frombuffer(board.read_output(0, 0, host.outputs[0].stored_bytes), np.float32)[0]))
    return found


def test_sequences_are_the_hosts(serve: Serve, sum_plan: Path) -> None:
    """Board and host may have had other states before."""
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
    """Its answer was lost: the board sends it again, and the state has advanced once."""
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
