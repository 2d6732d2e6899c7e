"""Vector files: their content, their model, and the messages of a check."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.hil.conftest import CALM, Connect, Serve
from tests.hil.test_commands import falls_silent
from tigris_pio.errors import UsageError
from tigris_pio.hil.check import HostPlan, open_plan
from tigris_pio.hil.client import Board, Timing
from tigris_pio.hil.suite import run_suite
from tigris_pio.hil.vectors import check_vectors, vector_files, vectors_of

SHAPE = (6, 5, 4)


@pytest.fixture(scope="module")
def plan(two_inputs_plan: Path) -> HostPlan:
    """total = left + right, product = left * right."""
    return open_plan(two_inputs_plan)


def arrays(count: int = 3, **more: Any) -> dict[str, Any]:
    generator = np.random.default_rng(2)
    left, right = (generator.standard_normal((count, *SHAPE)).astype(np.float32) for _ in range(2))
    return {"left": left, "right": right, "total": left + right, **more}


def test_outputs_in_the_file_are_compared(serve: Serve, plan: HostPlan, two_inputs_plan: Path) -> None:
    right, wrong = arrays(), arrays()
    wrong["total"] = wrong["total"].copy()
    wrong["total"][2, 1, 0, 3] += 0.25
    with Board(serve(two_inputs_plan), timing=CALM) as board:
        assert check_vectors(board, plan, vectors_of(right, "a.npz", plan)).passed
        found = check_vectors(board, plan, vectors_of(wrong, "a.npz", plan))
        assert not found.passed and found.report.equal
        (unexpected,) = found.unexpected
        assert (unexpected.sample, unexpected.mismatch.first, unexpected.mismatch.differing) == (2, 23, 1)
        assert unexpected.mismatch.largest_difference == pytest.approx(0.25, abs=1e-6)
        assert next(found.lines()) == "3/3 outputs equal to the host, 1 not as a.npz expects"
        tolerant = vectors_of({**wrong, "tolerance": 0.3}, "a.npz", plan)
        assert check_vectors(board, plan, tolerant).passed
        assert not check_vectors(board, plan, tolerant, tolerance=0.1).passed


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"totl": np.zeros(3)}, "a.npz: holds an array totl, which is neither an input (left, right) nor an output "
                                "(total, product) of the model, nor labels or tolerance"),
        ({"right": None}, "a.npz: has no array for input right"),
        ({"total": np.zeros((2, *SHAPE))}, "total has shape [2, 6, 5, 4] of float64; 3 samples of output total are "
                                           "[3, 1, 6, 5, 4] of float32"),
        ({"total": np.zeros((3, *SHAPE), complex)}, "of complex128"),
        ({"tolerance": -1.0}, "tolerance must be one number, 0 or more"),
        ({"labels": [1, 2]}, "a.npz: labels: labels must be 3 integers"),
    ],
)  # fmt: skip
def test_arrays_that_do_not_fit_are_named(plan: HostPlan, change: dict[str, Any], message: str) -> None:
    given = {name: array for name, array in {**arrays(), **change}.items() if array is not None}
    with pytest.raises(UsageError) as refused:
        vectors_of(given, "a.npz", plan)
    assert message in str(refused.value)


def test_files_belong_to_models_by_their_names(tmp_path: Path) -> None:
    names = ("kws.npz", "kws_small-1.npy", "kws_1.npz", "vww/any.npz", "test_x/kws_2.npz", "readme.txt")
    for name in names:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    found = vector_files(tmp_path, ("kws", "kws_small", "vww"))
    assert {model: [path.name for path in paths] for model, paths in found.items()} == {
        "kws": ["kws.npz", "kws_1.npz"], "kws_small": ["kws_small-1.npy"], "vww": ["any.npz"],
    }  # fmt: skip
    assert len(vector_files(tmp_path / "vww", ("other",))["other"]) == 1
    (tmp_path / "kwsx.npz").touch()
    with pytest.raises(UsageError, match=r"kwsx.npz: which of the models .* Call it kws_kwsx.npz"):
        vector_files(tmp_path, ("kws", "vww"))


def test_after_a_broken_line_the_rest_is_skipped(
    digits: Serve, digits_plan: Path, line: Connect, tmp_path: Path
) -> None:
    for name in ("a.npy", "b.npy", "c.npy"):
        np.save(tmp_path / name, np.zeros((3, 1, 8, 8), np.float32))
    url = digits(to_host=falls_silent(3))
    with Board(url, timing=Timing(answer=0.1, longest_answer=0.2, tries=3, silence=0.3)) as board:
        cases = list(run_suite(board, {"digits": open_plan(digits_plan)}, tmp_path))
    assert [(case.name, case.status) for case in cases] == [
        ("digits: a.npy", "passed"), ("digits: b.npy", "errored"), ("digits: c.npy", "skipped"),
    ]  # fmt: skip
    assert "sent no sign of life" in cases[1].message and cases[2].message == "not run: the line failed before"
