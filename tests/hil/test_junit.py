"""`tigris hil check --junit` and `--repeat`: the report for continuous integration."""

import json
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

from tests.harness.command import tigris
from tests.hil.conftest import DIGITS, Serve
from tests.hil.test_check import corrupting
from tests.hil.test_commands import falls_silent

#: The relevant part of the schema junit-10 of Jenkins' xUnit plugin: for each element the required and the allowed
#: attributes, and the elements in it. Times are digits with a point.
OUTPUT = "system-out system-err"
SCHEMA = {name: tuple(set(words.split()) for words in given) for name, given in {
    "testsuites": ("", "name time tests failures errors", "testsuite"),
    "testsuite": ("name tests failures errors", "group time skipped timestamp hostname id package file log url",
                  f"testsuite properties testcase {OUTPUT}"),
    "properties": ("", "", "property"),
    "property": ("name value", "", ""),
    "testcase": ("name", "time classname group", f"skipped error failure {OUTPUT}"),
    **dict.fromkeys(("skipped", "error", "failure"), ("", "type message", "")),
    "system-out": ("", "", ""),
}.items()}  # fmt: skip


def read(path: Path) -> ET.Element:
    """The test suite of a report; asserts that the schema allows it and that its totals are right."""
    root = ET.parse(path).getroot()
    assert root.tag == "testsuites"
    for element in root.iter():
        needed, allowed, inside = SCHEMA[element.tag]
        assert needed <= set(element.keys()) <= needed | allowed, element.tag
        assert {child.tag for child in element} <= inside, element.tag
        assert float(element.get("time", "0")) >= 0
    (suite,) = root
    cases = suite.findall("testcase")
    assert int(suite.get("tests", "")) == len(cases)
    for kind, plural in (("failure", "failures"), ("error", "errors"), ("skipped", "skipped")):
        assert int(suite.get(plural, "")) == sum(case.find(kind) is not None for case in cases)
    return suite


def outcomes(suite: ET.Element) -> str:
    """A letter for each test case: `.`, `F`ailure, `E`rror, `s`kipped."""
    letters = {"failure": "F", "error": "E", "skipped": "s"}
    return "".join(next((letters[child.tag] for child in case if child.tag in letters), ".")
                   for case in suite.iter("testcase"))  # fmt: skip


@pytest.fixture
def report(tmp_path: Path) -> Path:
    return tmp_path / "hil.xml"


def test_each_run_is_a_case(digits: Serve, digits_plan: Path, report: Path) -> None:
    boot = b"I (31) boot: ESP-IDF\x1b[0m & <1>\r\n"
    url = digits(greeting=boot)
    data = DIGITS / "model" / "digits_test.npz"
    words = ("--data", data, "--samples", 3, "--repeat", 2, "--junit", report, "--json")
    done = tigris("hil", "check", digits_plan, "--port", url, *words)
    suite = read(report)
    assert outcomes(suite) == "......"
    names = [case.get("name") for case in suite.iter("testcase")]
    assert names == [f"digits_test.npz[{index}] pass {turn}" for turn in (1, 2) for index in range(3)]
    assert {case.get("classname") for case in suite.iter("testcase")} == {"tigris.hil.digits"}
    found, document = {item.get("name"): item.get("value") for item in suite.iter("property")}, json.loads(done.stdout)
    assert (found["board"], found["model"], found["port"]) == ("test board", "digits", url)
    assert found["plan_crc32"] == f"{document['model']['plan_crc32']:08x}"
    times = [float(case.get("time", "x")) for case in suite.iter("testcase")]
    assert abs(sum(times) / 6 - document["elapsed"]["mean"] / 1e9) < 1e-5
    assert suite.findtext("system-out") == "I (31) boot: ESP-IDF\\x1b[0m & <1>\n"


@pytest.mark.parametrize(("options", "status", "letters", "message"), [
    ({"to_host": corrupting(2, 0, 0x10)}, 1, "..F..", "output probability: 1 of 10 elements differ, first at index 0"),
    ({"to_host": falls_silent(2)}, 3, "..Ess", "sent no sign of life for 1 s"),
    ({"fast": "64"}, 1, "F", "has 64 bytes, the plan needs"),
    (None, 3, "E", "/dev/ttyNONE: cannot be opened"),
])  # fmt: skip
def test_failures_and_errors_are_distinguished(
    digits: Serve, digits_plan: Path, report: Path, options: dict[str, Any] | None, status: int, letters: str,
    message: str,
) -> None:  # fmt: skip
    """A check without any run has one case."""
    words = ("--fast", options.pop("fast")) if options and "fast" in options else ()
    port = "/dev/ttyNONE" if options is None else digits(*words, **options)
    words = ("--port", port, "--samples", 5, "--silence", 1, "--junit", report)
    tigris("hil", digits_plan, *words, status=status)
    suite = read(report)
    assert outcomes(suite) == letters
    (wrong,) = [*suite.iter("failure"), *suite.iter("error")]
    assert message in (wrong.get("message") or "")
