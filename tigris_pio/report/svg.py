"""SVG elements, axes and labels as text. Lengths are CSS pixels at full width."""

from collections import Counter
from collections.abc import Iterable

from markupsafe import Markup, escape

from tigris_pio.sizes import format_size
from tigris_pio.text import visible_name

#: Width of a drawing; a page shows it at this width or less.
WIDTH = 1080.0
#: Advance of a character of a label (11 px) in a wide font.
CHARACTER = 6.9
ELLIPSIS = "…"


def element(tag: str, *content: str, **attributes: object) -> Markup:
    """An element. Attributes that are None are left out; underscores become hyphens. Attribute values are escaped."""
    given = "".join(
        f' {name.rstrip("_").replace("_", "-")}="{escape(_value(value))}"'
        for name, value in attributes.items()
        if value is not None
    )
    inner = Markup("").join(content)
    return Markup(f"<{tag}{given}>{inner}</{tag}>") if inner else Markup(f"<{tag}{given}/>")


def _value(value: object) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else visible_name(str(value))


def label(x: float, y: float, text: str, **attributes: object) -> Markup:
    """A text element."""
    return element("text", escape(visible_name(text)), x=x, y=y, **attributes)


def title(text: str) -> Markup:
    """A title element, which browsers show as the tooltip of the element around it."""
    return element("title", escape(visible_name(text)))


def drawing(height: float, name: str, *content: str) -> Markup:
    """The whole image; `name` is its text for screen readers."""
    box = f"0 0 {WIDTH:g} {height:g}"
    return element("svg", *content, viewBox=box, width=WIDTH, height=height, role="img", aria_label=name)


def shorten(text: str, most: int) -> str:
    """Shortens `text` to `most` characters by an ellipsis in its middle."""
    if len(text) <= most:
        return text
    if most < 2:
        return ELLIPSIS[:most]
    head = most // 2
    return f"{text[:head]}{ELLIPSIS}{text[len(text) - (most - 1 - head):]}"


def labels(names: Iterable[str]) -> dict[str, str]:
    """Short labels of names like model/block_1/Relu: the last part that no other name has, or else the whole name."""
    found = dict.fromkeys(names)
    parts = {name: [part for part in name.split("/") if part] for name in found}
    seen = Counter(part for several in parts.values() for part in set(several))
    own = {name: [part for part in several if seen[part] == 1 and len(part) > 1] for name, several in parts.items()}
    return {name: own[name][-1] if own[name] else name for name in found}


def size_ticks(top: int, most: int) -> list[int]:
    """Multiples of a power of two from 0 to `top`, at most `most` + 1."""
    step = 1
    while top / step > most:
        step *= 2
    return list(range(0, top + 1, step))


def count_ticks(top: float, most: int) -> list[float]:
    """Multiples of 1, 2 or 5 times a power of ten from 0 to `top`, at most `most` + 1."""
    if top <= 0:
        return [0.0]
    power = 1.0
    while top / power > most:
        power *= 10
    while top / power <= most / 10:
        power /= 10
    step = next(power * share for share in (0.1, 0.2, 0.5, 1) if top / (power * share) <= most)
    return [step * place for place in range(int(top / step + 1e-9) + 1)]


def every(count: int, width: float, least: float) -> Iterable[int]:
    """Indices of the labelled places out of `count`, at distance `width`, if labels need `least`: every 1st, 2nd, 5th,
    10th …"""
    step = next(s for k in range(9) for s in (10**k, 2 * 10**k, 5 * 10**k) if s * width >= least)
    return range(0, count, step)


def y_axis(left: float, right: float, ticks: Iterable[tuple[float, str]]) -> Markup:
    """Grid lines and labels of a y axis, for each (y, text)."""
    return Markup("").join(
        element("line", x1=left, x2=right, y1=y, y2=y, class_="grid")
        + label(left - 8, y + 4, text, class_="tick", text_anchor="end")
        for y, text in ticks
    )


def size_text(size: int) -> str:
    """The text of a tick on an axis of bytes."""
    return "0" if size == 0 else format_size(size)
