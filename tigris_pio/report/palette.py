"""The colours of a page by meaning, for light and dark mode."""

from collections.abc import Mapping

#: Name to (light, dark). Text: ink, muted, good, bad, note, link. Surfaces: page, panel, rule, track.
COLOURS: Mapping[str, tuple[str, str]] = {
    "page": ("#ffffff", "#14181d"),
    "panel": ("#f4f6f8", "#1c2229"),
    "rule": ("#d5dbe1", "#343c46"),
    "track": ("#e3e8ed", "#2c343d"),
    "ink": ("#1b2027", "#e4e8ed"),
    "muted": ("#566069", "#a3adb8"),
    "axis": ("#7a8590", "#848f9b"),
    "link": ("#0b5cad", "#7ab8f5"),
    "good": ("#1a7036", "#6cc58a"),
    "bad": ("#b3261e", "#ff938a"),
    "note": ("#8f4a00", "#f0b060"),
    "bar": ("#c4d7ee", "#2c4766"),
}

#: Kind of block to (fill, outline) in light and in dark mode. Text on a fill has the colour ink.
BLOCKS: Mapping[str, tuple[tuple[str, str], tuple[str, str]]] = {
    "io": (("#c9dcf8", "#2c63b8"), ("#22406b", "#77a8ee")),
    "home": (("#c8e6e3", "#1c7d74"), ("#1b4a46", "#5cbfb3")),
    "inner": (("#e6e9ed", "#6c7783"), ("#343d47", "#94a0ad")),
    "rows": (("#fbe3b9", "#9a6200"), ("#55400f", "#d9a441")),
    "carried": (("#e5d5f5", "#7b4bb0"), ("#44305f", "#b590e0")),
    "scratch": (("#f7d3db", "#b13a58"), ("#5c2636", "#ea8aa3")),
    "weights": (("#d8eac4", "#4f7d1e"), ("#33481c", "#94c45c")),
    "runtime": (("#d3d7dc", "#59636e"), ("#434c56", "#a6b0bb")),
}


def variables(dark: bool) -> str:
    """The colours as CSS custom properties."""
    pairs = [(name, values[dark]) for name, values in COLOURS.items()]
    for name, values in BLOCKS.items():
        fill, line = values[dark]
        pairs += [(f"{name}-fill", fill), (f"{name}-line", line)]
    return " ".join(f"--{name}: {value};" for name, value in pairs)
