"""`tigris hil check --report`: the board's figures beside the plan's, also for a failed check."""

import json
from pathlib import Path

from tests.harness.command import tigris
from tests.hil.conftest import Serve
from tests.hil.locating import Wrong
from tests.report.parsed import Element, cells, check_page
from tigris_pio.format.enums import DType, OpKind


def table(root: Element, caption: str) -> list[dict[str, str]]:
    (found,) = [item for item in root.all("table") if item.one("caption").text.startswith(caption)]
    return cells(found)


def test_a_check_has_a_page_with_the_boards_measurements(digits: Serve, digits_plan: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    url = digits()
    done = tigris("hil", "check", digits_plan, "--port", url, "--samples", "3", "--json", "--report", page)
    document = json.loads(done.stdout)
    root = check_page(page.read_text("utf-8"))
    assert "✓" not in root.one("h1").text and "3/3 outputs equal to the host." in root.one("header").text
    memory = {row[""]: row for row in table(root, "Memory in bytes")}
    assert memory["fast memory, peak"]["board"] == f"{document['memory']['fast_peak']:,}"
    assert memory["fast memory, peak"]["planned"] == memory["fast memory, peak"]["host"]
    operators = table(root, "10 operators")
    for row, op in zip(operators, document["ops"], strict=True):
        assert (row["operator"], row["ns, board"]) == (op["name"], f"{op['elapsed']:,.0f}")
    macs = [int(row["MACs"].replace(",", "")) for row in operators]
    assert sum(macs) == 106_976 and all(bool(count) == bool(row["ns per MAC"]) for row, count in zip(
        operators, macs, strict=True))  # fmt: skip
    assert [row["outputs"] for row in table(root, "3 runs")] == ["equal"] * 3


def test_wrong_runs_stand_first_and_the_first_wrong_operator_is_marked(
    digits: Serve, digits_plan: Path, tmp_path: Path
) -> None:
    page, wrong = tmp_path / "page.html", Wrong(OpKind.SOFTMAX, DType.INT8, 0, 2, more="skip=2")
    url = digits("--fault", wrong.spec)
    tigris("hil", "check", digits_plan, "--port", url, "--samples", "4", "--report", page, status=1)
    root = check_page(page.read_text("utf-8"))
    rows = table(root, "4 runs")
    assert [row["run"] for row in rows] == ["2", "3", "0", "1"]
    assert "1 of 10 elements differ, first at index 2" in rows[0]["outputs"]
    (verdict,) = [p for p in root.all("p") if "verdict" in p.classes]
    assert "bad" in verdict.classes and "2/4 outputs equal" in verdict.text
    (section,) = [item for item in root.all("section") if item.one("h2").text == "First wrong operator"]
    assert "softmax int8, in stage" in section.text and "Row 0, column 0, channel 2: board " in section.text
    marked = [row["kernel"] for row in table(root, "10 operators") if "first wrong" in row.values()]
    assert marked == ["softmax int8"]
