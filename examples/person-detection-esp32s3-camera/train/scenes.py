"""Pictures of drawn rooms, with and without a drawn person: what this example's camera sees.

Furniture, lamps, balls and posts are drawn of the same parts as persons are: discs, bars and boxes.
"""

from __future__ import annotations

import numpy as np

WIDTH, HEIGHT = 160, 120  #: of the camera's pictures
_V, _U = np.mgrid[0:HEIGHT, 0:WIDTH].astype(np.float32)
Point = tuple[float, float]


def _paint(picture: np.ndarray, distance: np.ndarray, colour: np.ndarray) -> None:
    """Where the distance to the edge is positive, with an edge one pixel wide; lighter above than below."""
    cover = np.clip(distance + 0.5, 0, 1)[:, :, None]
    picture += cover * (colour * (1.08 - 0.16 * _V[:, :, None] / HEIGHT) - picture)


def _bar(picture: np.ndarray, first: Point, last: Point, radius: float, colour: np.ndarray) -> None:
    """A bar with round ends; of no length, a disc."""
    along_u, along_v = last[0] - first[0], last[1] - first[1]
    way = ((_U - first[0]) * along_u + (_V - first[1]) * along_v) / max(along_u**2 + along_v**2, 1e-3)
    way = np.clip(way, 0, 1)
    _paint(picture, radius - np.hypot(_U - first[0] - way * along_u, _V - first[1] - way * along_v), colour)


def _box(picture: np.ndarray, middle: Point, half: Point, colour: np.ndarray) -> None:
    _paint(picture, np.minimum(half[0] - abs(_U - middle[0]), half[1] - abs(_V - middle[1])), colour)


def _colour(rng: np.random.Generator) -> np.ndarray:
    return rng.uniform(20, 235, 3)


def person(picture: np.ndarray, rng: np.random.Generator) -> None:
    """Standing or walking, from the picture's whole height to a third of it; the feet may be below the picture."""
    size = HEIGHT * rng.uniform(0.45, 1.0)
    u, feet = WIDTH / 2 + rng.uniform(-0.3, 0.3) * HEIGHT, HEIGHT * rng.uniform(0.82, 1.0)
    feet = max(feet, 1.02 * size)
    skin = np.array([200, 150, 120]) * rng.uniform(0.35, 1.2)
    shirt, trousers = _colour(rng), _colour(rng)
    shoulder, hip, lean = feet - 0.80 * size, feet - 0.46 * size, rng.normal(0, 0.02) * size
    stride = rng.uniform(0.01, 0.14, 2) * size
    for side, step in zip((-1, 1), stride, strict=True):
        _bar(picture, (u + side * 0.06 * size, hip), (u + side * (0.05 * size + step), feet - 0.03 * size),
             0.055 * size, trousers)  # fmt: skip
    chest = u + lean
    for side in (-1, 1):
        bend, reach = rng.uniform(0, 1.2), rng.uniform(0.14, 0.17) * size
        elbow = (chest + side * (0.13 * size + reach * np.sin(bend)), shoulder + reach * np.cos(bend))
        bend += rng.uniform(-0.3, 1.0)
        hand = (elbow[0] + side * reach * np.sin(bend), elbow[1] + reach * np.cos(bend))
        _bar(picture, (chest + side * 0.12 * size, shoulder + 0.02 * size), elbow, 0.04 * size, shirt)
        _bar(picture, elbow, hand, 0.035 * size, skin)
    for place in (-0.07, 0, 0.07):
        top, bottom = (chest + place * size, shoulder + 0.02 * size), (u + 0.8 * place * size, hip)
        _bar(picture, top, bottom, 0.065 * size, shirt)
    _bar(picture, (chest, shoulder - 0.06 * size), (chest, shoulder), 0.035 * size, skin)
    _bar(picture, (chest, shoulder - 0.115 * size), (chest, shoulder - 0.09 * size), 0.07 * size, skin)
    if rng.random() < 0.7:
        _bar(picture, (chest - 0.03 * size, shoulder - 0.16 * size), (chest + 0.03 * size, shoulder - 0.16 * size),
             0.04 * size, _colour(rng) * 0.5)  # fmt: skip


def _thing(picture: np.ndarray, rng: np.random.Generator) -> None:
    """One of: a box, a ball, a lamp, a post, a table, a fallen post."""
    u, v, size, colour = rng.uniform(0, WIDTH), rng.uniform(0.3, 1) * HEIGHT, rng.uniform(8, 40), _colour(rng)
    kind = rng.integers(6)
    if kind == 0:
        _box(picture, (u, v), (size * rng.uniform(0.3, 1), size * rng.uniform(0.3, 1)), colour)
    elif kind == 1:
        _bar(picture, (u, v), (u, v), size / 2, colour)
    elif kind == 2:
        _bar(picture, (u, v), (u, v - 1.6 * size), 1.5, colour)
        _bar(picture, (u, v - 1.6 * size), (u, v - 1.7 * size), size * rng.uniform(0.15, 0.4), _colour(rng))
    elif kind == 3:
        _bar(picture, (u, HEIGHT), (u + rng.uniform(-3, 3), v - size), size * rng.uniform(0.05, 0.2), colour)
    elif kind == 4:
        _box(picture, (u, v), (size, 3), colour)
        for side in (-0.85, 0.85):
            _bar(picture, (u + side * size, v), (u + side * size, v + size), 2, colour)
    else:
        _bar(picture, (u, v), (u + rng.uniform(-60, 60), v + rng.uniform(-25, 25)), size * 0.15, colour)


def scene(with_person: bool, rng: np.random.Generator) -> np.ndarray:
    """uint8 [HEIGHT, WIDTH, 3], red first: a wall, a floor, things behind and before, and a person or none."""
    picture = np.ones((HEIGHT, WIDTH, 3)) * _colour(rng)
    _box(picture, (WIDTH / 2, HEIGHT), (WIDTH, HEIGHT * rng.uniform(0.1, 0.45)), _colour(rng))
    slope = rng.normal(0, 0.25, 2)
    picture *= 1 + (slope[0] * (_U / WIDTH - 0.5) + slope[1] * (_V / HEIGHT - 0.5))[:, :, None]
    for _ in range(rng.integers(2, 8)):
        _thing(picture, rng)
    if with_person:
        person(picture, rng)
        if rng.random() < 0.3:
            _box(picture, (rng.uniform(0, WIDTH), HEIGHT), (rng.uniform(8, 30), rng.uniform(8, 25)), _colour(rng))
    picture = picture * rng.uniform(0.5, 1.2) + rng.normal(0, rng.uniform(1, 6), picture.shape)
    seen: np.ndarray = np.clip(np.rint(picture), 0, 255).astype(np.uint8)
    return seen


def scenes(count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Pictures, every other with a person: uint8 [count, HEIGHT, WIDTH, 3], and bool [count]."""
    rng = np.random.default_rng(seed)
    persons = np.arange(count) % 2 == 1
    rng.shuffle(persons)
    return np.array([scene(bool(person_), rng) for person_ in persons]), persons
