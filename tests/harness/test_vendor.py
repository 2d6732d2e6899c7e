"""make test-vendor never succeeds for want of something to run, and says what is missing."""

from pathlib import Path

import pytest

from tests import vendor
from tests.harness.vendors import VENDORS

TESTS = {
    "tests/a.py::test_nn": ("TIGRIS_ESP_NN",),
    "tests/a.py::test_idf": ("IDF_PATH",),
    "tests/a.py::test_both": ("IDF_PATH", "TIGRIS_ESP_NN"),
}


@pytest.fixture(autouse=True)
def nothing_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VENDORS:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(vendor, "collect", lambda: TESTS)


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that passes for ESP-NN."""
    sign = tmp_path / VENDORS["TIGRIS_ESP_NN"].sign
    sign.parent.mkdir(parents=True)
    sign.touch()
    monkeypatch.setenv("TIGRIS_ESP_NN", str(tmp_path))
    return tmp_path


def finished(status: int, **counts: int) -> object:
    """Stands in for pytest: writes its report of as many tests as there would be."""

    def run(command: list[str], **_: object) -> object:
        report = next(word.split("=", 1)[1] for word in command if word.startswith("--junit-xml="))
        attributes = " ".join(f'{name}="{count}"' for name, count in counts.items())
        Path(report).write_text(f"<testsuites><testsuite {attributes}/></testsuites>", "utf-8")
        return type("Done", (), {"returncode": status})

    return run


def test_without_any_variable_it_fails_and_names_all(capsys: pytest.CaptureFixture[str]) -> None:
    assert vendor.main([]) == 2
    said = capsys.readouterr()
    assert "nothing to run; set one of TIGRIS_ESP_NN, TIGRIS_CMSIS_NN, IDF_PATH, TIGRIS_ESPRESSIF32" in said.err
    assert "2 tests with ESP-NN" in said.out
    assert "TIGRIS_ESP_NN is not set: git clone" in said.out


@pytest.mark.parametrize("name", [name for name, named in VENDORS.items() if named.sign])
def test_a_folder_that_is_no_checkout_is_refused(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for folder in (tmp_path, tmp_path / "absent"):
        monkeypatch.setenv(name, str(folder))
        assert vendor.main([]) == 2
        assert f"{name} = {folder}: no checkout of" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("status", "counts", "expected"),
    [
        (0, {"tests": 1}, 0),
        (1, {"tests": 2, "failures": 1}, 1),
        (0, {"tests": 1, "skipped": 1}, 1),
        (5, {"tests": 0}, 1),
    ],
)
def test_success_is_that_something_passed_and_nothing_failed(
    checkout: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
    status: int, counts: dict[str, int], expected: int,
) -> None:  # fmt: skip
    monkeypatch.setattr("tests.vendor.subprocess.run", finished(status, **counts))
    assert vendor.main([]) == expected
    said = capsys.readouterr().out
    assert "running 1 of 3" in said
    assert "2 not run for want of a variable" in said


def test_a_variable_that_is_missing_is_named_where_its_tests_are_skipped(request: pytest.FixtureRequest) -> None:
    from tests.harness.vendors import skip_reason

    request.node.add_marker(pytest.mark.vendor("IDF_PATH"))
    assert skip_reason(request.node) == "set IDF_PATH (a checkout of ESP-IDF), then make test-vendor"
