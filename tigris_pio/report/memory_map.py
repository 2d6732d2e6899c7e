"""The memory map: blocks of an arena over the steps of an inference, as a figure with a table. Lengths in pixels."""

from collections.abc import Iterator

from markupsafe import Markup

from tigris_pio.report.blocks import KINDS, Arena, Block
from tigris_pio.report.page import Cell, Column, Figure, Grid
from tigris_pio.report.picture import Operator, Picture, PlanStage
from tigris_pio.report.svg import (
    CHARACTER,
    drawing,
    element,
    every,
    label,
    labels,
    shorten,
    size_text,
    size_ticks,
    title,
    y_axis,
)
from tigris_pio.sizes import format_size

_LEFT, _RIGHT, _TOP = 66.0, 1068.0, 60.0
_PLOT = {"fast": 360.0, "slow": 220.0}
#: y of the peak's label and of the strip of stages, both above the plot.
_PEAK_Y, _STAGE_Y, _STAGE_HEIGHT = 16.0, 30.0, 20.0
#: A budget up to this many times the peak is drawn to scale.
_IN_SCALE = 1.6
#: Smallest width of a step with its operator's name; smallest height of a block with one and with two lines of text.
_NAMED_STEP, _LABEL_HEIGHT, _TWO_LINES = 24.0, 13.0, 28.0
#: Height of a line of a block's text.
_LINE = 13.0
#: Longest operator name below the map, in characters, and the sine of the name's angle.
_STEP_NAME, _SLOPE = 19, 0.67
#: Fills of line buffers and overlays. Only the fast arena's map has them, so that a page defines them once.
_PATTERNS = Markup(
    '<defs><pattern id="tigris-rows" width="6" height="6" patternUnits="userSpaceOnUse">'
    '<rect width="6" height="6" class="rows-ground"/><path d="M0 1.5H6" class="rows-stripe"/></pattern>'
    '<pattern id="tigris-over" width="7" height="7" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">'
    '<path d="M0 0V7" class="over-stripe"/></pattern></defs>'
)


class _Plane:
    """Coordinates of steps and addresses in the drawing."""

    def __init__(self, arena: Arena, budget: int | None) -> None:
        self.arena = arena
        self.labels = labels(block.name for block in arena.blocks)
        self.overlays = list(arena.overlays())
        self.overlaid: dict[Block, list[Block]] = {}
        for one, other, _, _ in self.overlays:
            later, earlier = (one, other) if (one.birth, one.offset) > (other.birth, other.offset) else (other, one)
            self.overlaid.setdefault(earlier, []).append(later)
        self.in_scale = budget is not None and budget <= _IN_SCALE * arena.bytes
        self.high = max(arena.bytes, budget or 0) if self.in_scale else arena.bytes
        self.high = max(1, round(self.high * 1.03))
        self.height = _PLOT[arena.name]
        self.step = (_RIGHT - _LEFT) / (arena.steps + 2)
        self.bottom = _TOP + self.height

    def x(self, step: int) -> float:
        return _LEFT + (step + 1) * self.step

    def y(self, address: float) -> float:
        return self.bottom - self.height * address / self.high


def memory_map(picture: Picture, arena: Arena, budget: int | None, limit: str = "budget") -> Figure:
    """Draws the map. `budget`: a line at so many bytes, called `limit`; None: no line."""
    plane = _Plane(arena, budget)
    kinds = [kind for kind in KINDS if any(block.kind == kind for block in arena.blocks)]
    legend = [(kind, KINDS[kind]) for kind in kinds]
    if plane.overlays:
        legend.append(("over", "overlap: an output overwrites input rows that are no longer needed"))
    names = picture.operators
    named = plane.step >= _NAMED_STEP
    text = (f"{arena.name.capitalize()} memory over the steps of an inference: {format_size(arena.bytes)}, reached at "
            f"{step_text(arena.peak_step, names)}.")  # fmt: skip
    content = [
        _PATTERNS if arena.name == "fast" else "",
        *_ground(plane, picture.stages),
        y_axis(_LEFT, _RIGHT, ((plane.y(size), size_text(size)) for size in size_ticks(plane.high, 8))),
        *(_block(plane, block) for block in sorted(arena.blocks, key=lambda b: (b.birth, -b.death))),
        *(element("rect", class_="over", **_box(plane, a, b, start, end)) for a, b, start, end in plane.overlays),
        *_peak(plane, names),
        *_names(plane),
        *_budget(plane, budget, limit),
        *_steps(plane, names, named),
    ]
    longest = max((len(shorten(text, _STEP_NAME)) for text in labels(op.name for op in names).values()), default=0)
    height = plane.bottom + (32 + longest * CHARACTER * _SLOPE if named else 46)
    caption = _caption(plane, text, budget, limit)
    return Figure(drawing(height, text, *content), caption, tuple(legend), _table(arena), explore=True)


def _caption(plane: _Plane, text: str, budget: int | None, limit: str) -> str:
    notes = [text, "The x axis is the operator, the y axis the address."]
    if budget is not None and not plane.in_scale:
        notes.append(f"The {limit} of {format_size(budget)} is above the scale.")
    return " ".join(notes)


def step_text(step: int, operators: tuple[Operator, ...]) -> str:
    """A step's number and operator, or the start or end of a run."""
    if step < 0:
        return "the start, when firmware writes inputs"
    if step >= len(operators):
        return "the end, when firmware reads outputs"
    return f"step {step}, {operators[step].name}"


def address_text(block: Block) -> str:
    """Offsets of the first and last byte."""
    return f"{block.offset:,} to {block.end - 1:,}"


def span_text(block: Block, steps: int) -> str:
    """First and last step."""
    first = "start" if block.birth < 0 else str(block.birth)
    last = "end" if block.death >= steps else str(block.death)
    return first if first == last else f"{first} to {last}"


def _ground(plane: _Plane, stages: tuple[PlanStage, ...]) -> Iterator[Markup]:
    """The background: every second stage shaded, and a strip with the stages' names."""
    for stage in stages:
        x, width = plane.x(stage.first), (stage.end - stage.first) * plane.step
        shade = "even" if stage.number % 2 == 0 else "odd"
        yield element("rect", x=x, y=_TOP, width=width, height=plane.height, class_=f"stage {shade}")
        texts = stage_texts(stage)
        fits = [text for text in texts if len(text) * CHARACTER + 6 <= width]
        inner = element("rect", x=x + 0.5, y=_STAGE_Y, width=max(0.5, width - 1), height=_STAGE_HEIGHT,
                        class_="strip banded" if stage.bands > 1 else "strip")  # fmt: skip
        if fits:
            inner += label(x + width / 2, _STAGE_Y + 14, fits[0], text_anchor="middle", class_="stage-name")
        yield element("g", title(texts[0]), inner)


def stage_texts(stage: PlanStage) -> tuple[str, ...]:
    """Names of a stage, from long to short."""
    number, banded = stage.number, stage.bands > 1
    bands = f"{stage.strategy}, {stage.bands} bands" if banded else stage.strategy
    short = (f"{number}: ×{stage.bands}",) if banded else ()
    return f"stage {number}: {bands}", f"{number}: {bands}", *short, str(number)


def _box(plane: _Plane, one: Block, other: Block, start: int, end: int) -> dict[str, object]:
    birth, death = max(one.birth, other.birth), min(one.death, other.death)
    return {"x": plane.x(birth), "y": plane.y(end), "width": (death - birth + 1) * plane.step,
            "height": plane.y(start) - plane.y(end)}  # fmt: skip


def _rectangle(plane: _Plane, block: Block) -> tuple[float, float, float, float]:
    """x, y, width and height."""
    x, y = plane.x(block.birth), plane.y(block.end)
    return x, y, (block.death - block.birth + 1) * plane.step, plane.y(block.offset) - y


def _block(plane: _Plane, block: Block) -> Markup:
    x, y, width, height = _rectangle(plane, block)
    kind = KINDS[block.kind] + (f", {block.detail}" if block.detail else "")
    tooltip = (f"{block.name}: {format_size(block.bytes)}, bytes {address_text(block)}, steps "
               f"{span_text(block, plane.arena.steps)}; {kind}")  # fmt: skip
    inset = min(0.5, width / 8)
    cell = element("rect", x=x + inset, y=y, width=width - 2 * inset, height=height, class_="cell")
    return element("g", title(tooltip), cell, class_=f"block {block.kind}")


def _names(plane: _Plane) -> Iterator[Markup]:
    """Names and sizes of the blocks, large blocks first, each at the first place where it covers no other text."""
    taken: list[tuple[float, float, float, float]] = []
    for block in sorted(plane.arena.blocks, key=lambda block: (-block.bytes, block.birth)):
        for left, top, lines in _places(plane, block):
            right, low = left + max(map(len, lines)) * CHARACTER, top + len(lines) * _LINE
            if all(right <= x or end <= left or low <= y or bottom <= top for x, y, end, bottom in taken):
                taken.append((left, top, right, low))
                for place, (text, kind) in enumerate(zip(lines, ("name", "size"), strict=False)):
                    yield label(left, top + _LINE * place + 10, text, class_=kind)
                break


def _places(plane: _Plane, block: Block) -> Iterator[tuple[float, float, list[str]]]:
    """Possible places of a block's text, best first: left edge, top edge, and the name and, if it fits, the size.

    The middle of the block's height comes first, then its ends, then places further right. No place lies where another
    block grows over this one.
    """
    x, y, width, height = _rectangle(plane, block)
    over = [other for other in plane.overlaid.get(block, ()) if other.birth >= block.birth]
    if over:
        width = min(width, (min(other.birth for other in over) - block.birth) * plane.step)
    name, size = plane.labels[block.name], format_size(block.bytes)
    for step in range(block.death - block.birth + 1):
        room = int((width - step * plane.step - 8) / CHARACTER)
        if height < _LABEL_HEIGHT or room < min(len(name), 6):
            return
        lines = [shorten(name, room), size] if height >= _TWO_LINES and room >= len(size) else [shorten(name, room)]
        spare = height - len(lines) * _LINE
        for share in (0.5, 0.0, 1.0) if spare > 0 else (0.5,):
            yield x + 5 + step * plane.step, y + spare * share, lines


def _peak(plane: _Plane, operators: tuple[Operator, ...]) -> Iterator[Markup]:
    step = plane.arena.peak_step
    x, width = plane.x(step), plane.step
    yield element("rect", x=x, y=_STAGE_Y + _STAGE_HEIGHT, width=width,
                  height=plane.bottom - _STAGE_Y - _STAGE_HEIGHT, class_="peak")  # fmt: skip
    name = operators[step].name if 0 <= step < len(operators) else "start" if step < 0 else "end"
    text = f"peak {format_size(plane.arena.bytes)} at {shorten(name, 40)}"
    half = len(text) * CHARACTER / 2 + 8
    middle = min(max(x + width / 2, _LEFT + half), _RIGHT - half)
    yield element("path", d=f"M{x + width / 2:.1f} {_PEAK_Y + 4:.1f}V{_STAGE_Y:.1f}", class_="peak")
    yield label(middle, _PEAK_Y - 2, text, text_anchor="middle", class_="peak-name")


def _budget(plane: _Plane, budget: int | None, limit: str) -> Iterator[Markup]:
    if budget is None or not plane.in_scale:
        return
    y = plane.y(budget)
    yield element("line", x1=_LEFT, x2=_RIGHT, y1=y, y2=y, class_="budget")
    yield label(_RIGHT - 4, y - 4 if y > _TOP + 14 else y + 13, f"{limit} {format_size(budget)}", text_anchor="end",
                class_="budget-name")  # fmt: skip


def _steps(plane: _Plane, operators: tuple[Operator, ...], named: bool) -> Iterator[Markup]:
    """Operators' numbers and, if the steps are wide enough, their names."""
    y = plane.bottom + 15
    yield element("line", x1=_LEFT, x2=_RIGHT, y1=plane.bottom, y2=plane.bottom, class_="base")
    for index in every(len(operators), plane.step, 26.0):
        yield label(plane.x(index) + plane.step / 2, y, str(index), text_anchor="middle", class_="tick")
    if not named:
        yield label(_LEFT, y + 19, "number of the operator", class_="tick")
        return
    short = labels(op.name for op in operators)
    names = ["start", *(shorten(short[op.name], _STEP_NAME) for op in operators), "end"]
    for step, name in enumerate(names, -1):
        x, low = plane.x(step) + plane.step / 2 + 4, y + (12 if 0 <= step < len(operators) else 0)
        turn = f"rotate(-42 {x:.1f} {low:.1f})"
        yield label(x, low, name, text_anchor="end", transform=turn, class_="step")


def _table(arena: Arena) -> Grid:
    columns = (Column("block", code=True), Column("kind"), Column("bytes", True), Column("addresses", True),
               Column("steps", True))  # fmt: skip
    rows = tuple(
        (Cell(block.name), kind_cell(block), Cell(f"{block.bytes:,}"), Cell(address_text(block)),
         Cell(span_text(block, arena.steps)))
        for block in sorted(arena.blocks, key=lambda block: (block.birth, block.offset))
    )  # fmt: skip
    return Grid(f"Table of the {arena.name} arena", columns, rows)


def kind_cell(block: Block) -> Cell:
    """A cell with a block's kind and colour."""
    detail = f", {block.detail}" if block.detail else ""
    return Cell(KINDS[block.kind].split(":")[0] + detail, swatch=block.kind)
