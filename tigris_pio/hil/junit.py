"""A check's report as JUnit XML for Jenkins (schema junit-10), GitLab and others.

A check is one test suite; each requested run is a test case, in order. A run with different outputs is a failure. If
the check ended early, the interrupted run is an error, or a failure if the model is at fault; later runs are skipped.
A check that ended before its first run has one case, `board`.
"""

import dataclasses
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from datetime import datetime, timezone

from tigris_pio.hil.check import CheckReport, Sample
from tigris_pio.identity import IDENTITY
from tigris_pio.text import visible


@dataclasses.dataclass(frozen=True)
class Ending:
    """The reason why a check ended early; `kind` is its name in the JSON document."""

    kind: str
    message: str
    is_failure: bool = False  #: the model is at fault, not the line


def junit(report: CheckReport | None, names: Sequence[str], log: str = "", ending: Ending | None = None) -> bytes:
    """Returns the document. `names`: of all requested runs; `log`: the firmware's text."""
    if report is None:
        name, cases, seconds = "tigris hil", [_board_case(ending)], 0.0
    else:
        name, seconds = f"tigris hil {report.model.name}", report.seconds
        cases = _cases(report, names, f"tigris.hil.{report.model.name}", ending)
    suite = ET.Element("testsuite", _attributes(name, cases, seconds))
    properties = ET.SubElement(suite, "properties")
    for name, value in _properties(report):
        ET.SubElement(properties, "property", name=name, value=visible(value))
    suite.extend(cases)
    if log:
        ET.SubElement(suite, "system-out").text = visible(log)
    suites = ET.Element("testsuites")
    suites.append(suite)
    ET.indent(suites)
    text: bytes = ET.tostring(suites, "utf-8", xml_declaration=True)
    return text + b"\n"


def _attributes(name: str, cases: Sequence[ET.Element], seconds: float) -> dict[str, str]:
    counts = {
        plural: str(sum(case.find(kind) is not None for case in cases))
        for plural, kind in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped"))
    }
    begun = datetime.now(timezone.utc).timestamp() - seconds
    stamp = datetime.fromtimestamp(begun, timezone.utc).isoformat(timespec="seconds")
    return {"name": visible(name), "tests": str(len(cases)), **counts, "time": f"{seconds:.3f}", "timestamp": stamp}


def _properties(report: CheckReport | None) -> list[tuple[str, str]]:
    found = [("tigris-pio", IDENTITY.version)]
    if report is None:
        return found
    board, model = report.board, report.model
    found += [("port", report.port), ("board", board.name), ("protocol", str(board.protocol))]
    found += [("model", model.name), ("source_sha256", model.source_sha256), ("plan_bytes", str(model.plan_bytes))]
    return [*found, ("plan_crc32", f"{model.plan_crc32:08x}"), ("repeated_requests", str(report.repeats))]


def _cases(report: CheckReport, names: Sequence[str], classname: str, ending: Ending | None) -> list[ET.Element]:
    cases = []
    for index, name in enumerate(names):
        case = ET.Element("testcase", name=visible(name), classname=visible(classname))
        if index < len(report.samples):
            _fill_case(case, report, report.samples[index])
        elif index == len(report.samples) and ending is not None:
            _add_ending(case, ending)
        else:
            ET.SubElement(case, "skipped", message="not run: the check ended before")
        cases.append(case)
    if ending is not None and len(report.samples) == len(names):
        cases.append(_board_case(ending))
    return cases


def _fill_case(case: ET.Element, report: CheckReport, sample: Sample) -> None:
    """Adds the time that the board measured, if its counter measures time, and the mismatches."""
    if report.board.counter_hz:
        case.set("time", f"{sample.run.elapsed / report.board.counter_hz:.6f}")
    if sample.mismatches:
        sentences = [visible(mismatch.sentence()) for mismatch in sample.mismatches]
        failure = ET.SubElement(case, "failure", type="Mismatch", message=sentences[0])
        found = report.first_wrong
        if found and found.sample == sample.index:
            sentences += map(visible, found.sentences())
        failure.text = "\n".join(sentences)


def _board_case(ending: Ending | None) -> ET.Element:
    assert ending is not None
    case = ET.Element("testcase", name="board", classname="tigris.hil")
    _add_ending(case, ending)
    return case


def _add_ending(case: ET.Element, ending: Ending) -> None:
    message = visible(ending.message)
    kind = "failure" if ending.is_failure else "error"
    ET.SubElement(case, kind, type=ending.kind, message=message.splitlines()[0]).text = message
