"""Writes src/tables.c: `python make_tables.py`. The formulas are microfrontend's, with microWakeWord's settings."""

from __future__ import annotations

import math
from pathlib import Path

RATE, WINDOW, SPECTRUM, CHANNELS = 16000, 480, 256, 40
LOWEST, HIGHEST = 125.0, 7500.0
#: Numbers just below a half, which the reference's float32 rounds up: of the window by index, of the weights by bin.
ROUNDED_UP_IN_WINDOW, ROUNDED_UP_WEIGHTS = (17,), (149, 221)


def nearest(value: float) -> int:
    return math.floor(value + 0.5)


def window() -> list[int]:
    """A Hann window between the samples, window_util.c."""
    return [nearest((0.5 - 0.5 * math.cos(2 * math.pi * (i + 0.5) / WINDOW)) * 4096) for i in range(WINDOW)]


def sine() -> list[int]:
    return [nearest(32767 * math.sin(2 * math.pi * i / 512)) for i in range(512)]


def mel(hertz: float) -> float:
    return 1127 * math.log1p(hertz / 700)


def bands() -> tuple[list[int], list[int]]:
    """Edges and weights: channels are triangles whose centres have the same distance in mel, filterbank_util.c."""
    low, width = mel(LOWEST), (mel(HIGHEST) - mel(LOWEST)) / (CHANNELS + 1)
    bin_hertz = RATE / 2 / SPECTRUM
    index = int(1.5 + LOWEST / bin_hertz)
    edges, weights = [index], []
    for band in range(CHANNELS + 1):
        end = low + width * (band + 1)
        # The last of all lies on the end itself: it counts, and weighs nothing.
        while mel(index * bin_hertz) <= end + 1e-6:
            weights.append(nearest((end - mel(index * bin_hertz)) / width * 4096))
            index += 1
        edges.append(index)
    return edges, weights


def gain(noise: int) -> int:
    """pcan_gain_control_util.c: strength 0.95, offset 80, 21 bits; noise in 1/128 of the signal's step."""
    return min(nearest(2**21 * (noise / 128 + 80) ** -0.95), 32767)


def gains() -> list[tuple[int, int, int]]:
    """For noise of 2 to 32 bits: the parabola through its values at the power of two, the next one, and halfway."""
    parabolas = []
    for bits in range(2, 33):
        begin = 1 << (bits - 1)
        at_begin = gain(begin)
        halfway, at_end = gain(begin + begin // 2) - at_begin, gain(min(2 * begin, 2**32 - 1)) - at_begin
        slope = 4 * halfway - at_end
        parabolas.append((at_begin, slope, at_end - slope))
    return parabolas


def logarithms() -> list[int]:
    return [nearest(65536 * (math.log2(1 + i / 128) - i / 128)) for i in range(129)] + [0]


def lines(values: list[int]) -> str:
    """Fourteen numbers a line."""
    rows = [values[i : i + 14] for i in range(0, len(values), 14)]
    return "".join(f"    {' '.join(f'{value},' for value in row)}\n" for row in rows)


def source() -> str:
    """The text of src/tables.c."""
    samples, (edges, weights) = window(), bands()
    for index in ROUNDED_UP_IN_WINDOW:
        samples[index] += 1
    for index in ROUNDED_UP_WEIGHTS:
        weights[index - edges[0]] += 1
    tables = [
        ("int16_t", "speech_window[480]", lines(samples)),
        ("int16_t", "speech_sine[512]", lines(sine())),
        ("uint8_t", "speech_band_edges[42]", lines(edges)),
        ("uint16_t", "speech_band_weights[236]", lines(weights)),
        ("int16_t", "speech_gain_first[2]", lines([gain(0), gain(1)])),
        ("int16_t", "speech_gain[31][3]", "".join(f"    {{{a}, {b}, {c}}},\n" for a, b, c in gains())),
        ("uint16_t", "speech_log[130]", lines(logarithms())),
    ]
    head = '/* Written by make_tables.py. Do not edit. */\n#include "tables.h"\n'
    return head + "".join(f"\nconst {kind} {name} = {{\n{content}}};\n" for kind, name, content in tables)


if __name__ == "__main__":
    (Path(__file__).resolve().parent / "src" / "tables.c").write_text(source(), "utf-8")
