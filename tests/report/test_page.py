"""The page that `--report` writes: right figures, one file, readable by everybody."""

import dataclasses
import itertools
import re
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from tests.compiler.models import make, node
from tests.harness.command import tigris
from tests.networks.folders import OWN
from tests.report.parsed import Element, cells, check_page, parse
from tigris_pio.compiler.ir.plan import Budget, ExecutionPlan, Region
from tigris_pio.compiler.options import CompileOptions
from tigris_pio.compiler.pipeline import Compiled, analyze_front, front
from tigris_pio.format.reader import read_plan
from tigris_pio.report import palette
from tigris_pio.report.blocks import KINDS
from tigris_pio.report.compiled import compiled_page
from tigris_pio.report.html import render_html
from tigris_pio.report.page import Provenance
from tigris_pio.report.picture import picture

#: Rolling stages, a plan that spills and has overlays, no limit.
PLANS: dict[str, tuple[Any, ...]] = {
    "rolling": ("kws", 8192), "spilled": ("person_detect", 8192, 1 << 20), "whole": ("resnet", None)
}  # fmt: skip


def analysed(model: Path | onnx.ModelProto, fast: int | None, slow: int = 0) -> Compiled:
    options = CompileOptions(budget=Budget(fast, slow))
    return analyze_front(front(model, options), options)


@pytest.fixture(scope="module")
def plans() -> dict[str, Compiled]:
    return {name: analysed(OWN / f"{network}_int8.onnx", *memory) for name, (network, *memory) in PLANS.items()}


def page_of(result: Compiled) -> str:
    return render_html(compiled_page(result, Provenance("tigris analyze", "1", "2026-01-01 00:00 UTC")))


# ---- figures ------------------------------------------------------------------------------------------------------


def laid(plan: ExecutionPlan) -> list[Region]:
    """The regions of a plan. A window whose kept rows remain at its start is one region, as in the plan's file."""
    regions = {region.name: region for region in plan.regions if region.bytes}
    for name, kept in list(regions.items()):
        window = regions.get(name.replace("kept rows", "window", 1))
        if name.startswith("kept rows") and window is not None and window.offset == kept.offset:
            regions[window.name] = dataclasses.replace(window, birth=kept.birth, death=kept.death)
            del regions[name]
    return list(regions.values())


@pytest.mark.parametrize("name", PLANS)
def test_what_lies_where_is_what_the_planner_decided(plans: dict[str, Compiled], name: str) -> None:
    plan = plans[name].plan
    shown = picture(read_plan(plans[name].data))
    regions = sorted((r.offset, r.bytes, r.birth, r.death) for r in laid(plan))
    blocks = [block for block in shown.fast.blocks if block.kind != "runtime"]
    assert sorted((b.offset, b.bytes, b.birth, b.death) for b in blocks) == regions
    assert [stage.fast_peak for stage in shown.stages] == [stage.fast_peak for stage in plan.stages]
    assert [op.macs for op in shown.operators] == [op.macs for op in plan.program.ops], "from the plan alone"
    kinds = {block.kind for block in shown.fast.blocks}
    assert ("rows" in kinds) == any(stage.bands > 1 for stage in plan.stages)
    assert bool(list(shown.fast.overlays())) == (name == "spilled"), "only there does an output grow over an input"
    assert {block.name: block.offset for block in shown.slow.blocks} == {
        name: place.offset for name, place in plan.homes.items() if place.home.name == "SLOW"}  # fmt: skip


@pytest.mark.parametrize("name", PLANS)
def test_the_peak_is_named_with_what_is_live_there(plans: dict[str, Compiled], name: str) -> None:
    plan = plans[name].plan
    root = parse(page_of(plans[name]))
    (table,) = [table for table in root.all("table") if table.one("caption").text == "Blocks at the peak"]
    (text,) = [p.text for p in root.all("p") if p.text.startswith("The peak is at")]
    tops = {step: max((r.offset + r.bytes for r in laid(plan) if r.birth <= step <= r.death), default=0)
            for step in range(-1, len(plan.program.ops) + 1)}  # fmt: skip
    assert max(tops.values()) == plan.fast_bytes
    steps = [step for step, top in tops.items() if top == plan.fast_bytes]
    found = re.search(r"step (\d+), ([^:]+): (\d+) blocks", text)
    assert found and int(found[1]) in steps and found[2] == plan.program.ops[int(found[1])].name
    live = [r for r in laid(plan) if r.birth <= int(found[1]) <= r.death]
    sizes = [int(row.children[1].text.replace(",", "")) for row in table.one("tbody").all("tr")]
    assert sorted(sizes) == sorted([*(r.bytes for r in live), plan.state_bytes])
    assert sizes == sorted(sizes, reverse=True) and int(found[3]) == len(sizes)


def rectangles(drawing: Element) -> list[tuple[str, list[float]]]:
    """Of every block what is told of it, and x, y, width and height."""
    groups, sides = [group for group in drawing.all("g") if "block" in group.classes], ("x", "y", "width", "height")
    return [(group.one("title").text, [float(group.one("rect").attributes[key]) for key in sides]) for group in groups]


@pytest.mark.parametrize("name", PLANS)
def test_the_map_is_to_scale(plans: dict[str, Compiled], name: str) -> None:
    result = plans[name]
    shown = picture(read_plan(result.data))
    drawings = [svg for svg in parse(page_of(result)).all("svg") if "memory over" in svg.attributes["aria-label"]]
    for drawing, arena in zip(drawings, [arena for arena in (shown.fast, shown.slow) if arena.bytes], strict=True):
        told = dict(rectangles(drawing))
        assert len(rectangles(drawing)) == len(arena.blocks)
        found = []
        for block in arena.blocks:
            (shape,) = [told[text] for text in told if text.startswith(f"{block.name}: ")
                        and f"bytes {block.offset:,} to {block.end - 1:,}, steps" in text
                        and re.search(rf"steps ({block.birth}|start)\b", text)]  # fmt: skip
            assert shape[0] >= 0 and shape[0] + shape[2] <= 1080 and shape[1] >= 0
            found.append((shape[3], block.bytes))
        high, most = max(found)
        assert all(abs(height - size * high / most) < 0.02 for height, size in found), "one scale for all"


def test_texts_of_blocks_do_not_overlap() -> None:
    """In a plan whose line buffers share bytes."""
    page = parse(page_of(analysed(OWN / "resnet_int8.onnx", 12288)))
    drawing = next(svg for svg in page.all("svg") if "memory over" in svg.attributes["aria-label"])
    texts = [text for text in drawing.all("text") if text.attributes.get("class") in ("name", "size")]
    places = [(float(text.attributes["x"]), float(text.attributes["y"]), 6 * len(text.text)) for text in texts]
    assert len(places) > 12
    for place, (x, y, width) in enumerate(places):
        for left, low, wide in places[place + 1 :]:
            assert left >= x + width or x >= left + wide or abs(y - low) >= 11


# ---- form ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PLANS)
def test_a_page_is_one_file_for_everybody(plans: dict[str, Compiled], name: str) -> None:
    text = page_of(plans[name])
    root = check_page(text)
    assert len(text) < 120_000
    style = "".join(sheet.text for sheet in root.all("style"))
    assert not re.search(r"@media \(prefers-color-scheme: dark\)", style), "print is never dark"
    used = set(re.findall(r"var\((--[\w-]+)\)", style))
    given = set(re.findall(r"(--[\w-]+):", palette.variables(False)))
    assert used <= given == set(re.findall(r"(--[\w-]+):", palette.variables(True)))
    rules = re.sub(r"--[\w-]+: #\w+;", "", style)
    assert not re.search(r"(?<!url\()#[0-9a-fA-F]{3,8}\b", rules), "colours come from the palette, whose contrast holds"


def contrast(*colours: str) -> float:
    """The contrast of two colours by WCAG 2.2."""
    parts = np.array([[int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)] for colour in colours])
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    dark, light = np.sort(linear @ (0.2126, 0.7152, 0.0722))
    return float((light + 0.05) / (dark + 0.05))


@pytest.mark.parametrize("dark", [False, True])
def test_contrast_is_that_of_level_aa(dark: bool) -> None:
    colour = {name: values[dark] for name, values in palette.COLOURS.items()}
    texts, grounds = ("ink", "muted", "link", "good", "bad", "note"), ("page", "panel")
    pairs = [(colour[text], colour[ground], 4.5) for text, ground in itertools.product(texts, grounds)]
    pairs += [(colour["ink"], colour["track"], 4.5), (colour["axis"], colour["page"], 3.0)]
    for kind in palette.BLOCKS:
        fill, line = palette.BLOCKS[kind][dark]
        pairs += [(colour["ink"], fill, 4.5), *((line, colour[ground], 3.0) for ground in grounds)]
    weak = [(one, other, contrast(one, other)) for one, other, least in pairs if contrast(one, other) < least]
    assert weak == []
    assert set(palette.BLOCKS) == set(KINDS)


def test_names_are_text_wherever_they_stand() -> None:
    bad = '"/><script>alert(1)</script>\u202e<b/onload=x>'
    weights = {"w": np.ones((4, 4, 3, 3), np.float32)}
    nodes = [node("Conv", "x w", bad, name=bad), node("MaxPool", bad, "y", name="\x1b[31m", kernel_shape=[2, 2])]
    text = page_of(analysed(make(nodes, {"x": (1, 4, 16, 16)}, ["y"], weights), 4096))
    root = check_page(text)
    assert "alert(1)" in root.one("main").text and not [element for element in root.walk() if element.tag == "b"]
    assert "\u202e" not in text and "\x1b" not in text


def test_three_hundred_operators_are_one_readable_page() -> None:
    nodes, weights, last = [], {}, "x"
    for place in range(100):
        weights[f"w{place}"] = np.ones((8, 8, 1, 1), np.float32)
        name = f"model/block_{place // 10}/unit_{place % 10}"
        nodes += [node("Conv", f"{last} w{place}", f"c{place}", name=f"{name}/conv2d/Conv2D"),
                  node("HardSwish", f"c{place}", f"s{place}", name=f"{name}/activation/HardSwish"),
                  node("Add", f"{last} s{place}", f"a{place}", name=f"{name}/residual/Add")]  # fmt: skip
        last = f"a{place}"
    text = page_of(analysed(make(nodes, {"x": (1, 8, 32, 32)}, [last], weights), None))
    root = check_page(text)
    assert len(text) < 400_000
    ticks = [tick for tick in root.all("svg")[0].all("text") if "tick" in tick.classes and tick.text.isdigit()]
    columns = sorted(x for tick in ticks if (x := float(tick.attributes["x"])) > 66)
    assert 10 <= len(columns) <= 60 and min(np.diff(columns)) >= 20, "labels that do not touch"


# ---- commands -----------------------------------------------------------------------------------------------------


def test_the_page_says_what_made_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    path = OWN / "micro_speech_int8.onnx"
    tigris("analyze", path, "-m", "2K", "--no-sweep", "--report", "page.html", status=1)
    (verdict,) = [p for p in check_page(Path("page.html").read_text("utf-8")).all("p") if "verdict" in p.classes]
    assert "bad" in verdict.classes and "does not fit 2 KB" in verdict.text and "unlimited memory" in verdict.text
    pages = []
    for more in (["--no-sweep"], ["--no-sweep"], []):
        tigris("compile", path, "-m", "4K", "-q", "-o", "a b.tgrs", "--report", "page.html", *more)
        pages.append(Path("page.html").read_text("utf-8"))
    assert pages[0] == pages[1], "SOURCE_DATE_EPOCH makes it reproducible"
    assert ["Other budgets" in page for page in pages] == [False, False, True]
    root = check_page(pages[2])
    origin = {pair.one("dt").text: pair.one("dd").text for pair in root.one("footer").one("dl").children}
    assert origin["command"] == f"tigris compile {path} -m 4K -q -o 'a b.tgrs' --report page.html"
    assert origin["made"] == "2023-11-14 22:13 UTC" and origin["budget"] == "4 KB fast memory"
    assert origin["SHA-256 of the model"] == bytes(read_plan(Path("a b.tgrs").read_bytes()).header.source_sha256).hex()


def test_a_verification_shows_every_layer(tmp_path: Path) -> None:
    page, model = tmp_path / "page.html", tmp_path / "net.onnx"
    weights = {"w": np.ones((4, 4, 3, 3), np.float32), "v": np.ones((4, 4, 1, 1), np.float32)}
    nodes = [node("Conv", "x w", "a", name="first"), node("Conv", "a v", "y", name="second")]
    onnx.save(make(nodes, {"x": (1, 4, 16, 16)}, ["y"], weights), model)
    said = tigris("verify", model, "-m", "5K", "--samples", "2", "--report", page).stdout
    root = check_page(page.read_text("utf-8"))
    assert f"report: {page}" in said.replace("\n", "")
    (table,) = [t for t in root.all("table") if t.one("caption").text.endswith("in execution order")]
    rows = cells(table)
    assert [row["operator"] for row in rows] == ["first", "second"]
    assert all(re.fullmatch(r"[\d.e-]+ %", row["own error"]) and float(row["cosine"]) > 0.999 for row in rows)
    bars = [shape for svg in root.all("svg") if svg.attributes["aria-label"].startswith("Own error of")
            for shape in rectangles(svg)]  # fmt: skip
    assert len(bars) == 2
