"""Element orders: every description is checked against numpy."""

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tigris_pio.compiler.lower.element_order import (
    Layout,
    refined,
    row_major,
    same_bytes,
    transpose_strides,
    transposed,
)


@st.composite
def layouts(draw: st.DrawFn) -> Layout:
    factors = draw(st.lists(st.integers(1, 4), min_size=0, max_size=5))
    return Layout(tuple(factors), tuple(draw(st.permutations(range(len(factors))))))


@st.composite
def reshaped(draw: st.DrawFn) -> tuple[Layout, tuple[int, ...]]:
    """A layout and another shape of the same tensor."""
    layout = draw(layouts())
    left = math.prod(layout.factors)
    shape = []
    while left > 1 and len(shape) < 4:
        size = draw(st.sampled_from([n for n in range(1, left + 1) if left % n == 0]))
        shape.append(size)
        left //= size
    return layout, (*shape, left)


def elements(layout: Layout) -> np.ndarray:
    """The stored order of the tensor's row-major element numbers."""
    return layout.apply(np.arange(math.prod(layout.factors))).reshape(-1)


def gathered(array: np.ndarray, moves: tuple[tuple[int, ...], tuple[int, ...]]) -> np.ndarray:
    sizes, step = moves
    index = np.indices(sizes).reshape(len(sizes), -1)
    return array[np.tensordot(np.array(step), index, axes=1)]


@given(layouts(), layouts())
def test_same_bytes_means_equal_orders(first: Layout, second: Layout) -> None:
    equal = np.array_equal(elements(first), elements(second))
    assert same_bytes(first, second) == equal


@given(reshaped())
def test_refine_keeps_the_order_and_splits_the_shape(case: tuple[Layout, tuple[int, ...]]) -> None:
    layout, shape = case
    fine = refined(layout, shape)
    if fine is not None:
        result, groups = fine
        np.testing.assert_array_equal(elements(result), elements(layout))
        assert tuple(math.prod(result.factors[part] for part in group) for group in groups) == shape
        assert [part for group in groups for part in group] == list(range(len(result.factors)))


def test_refine_knows_its_limits() -> None:
    assert refined(Layout((2, 3), (1, 0)), (3, 2)) is None
    assert refined(Layout((2, 6), (1, 0)), (3, 4)) is None
    assert refined(row_major((2, 3)), (3, 2)) == (row_major((3, 2)), ((0,), (1,)))  # row-major order fits any shape
    assert refined(row_major((2, 3)), (3, 4)) is None
    assert refined(row_major((2, 6)), (4, 3)) == (Layout((2, 2, 3), (0, 1, 2)), ((0, 1), (2,)))


@given(reshaped(), st.randoms())
def test_transposed_reads_the_same_memory(case: tuple[Layout, tuple[int, ...]], shuffle: object) -> None:
    layout, shape = case
    permutation = list(range(len(shape)))
    shuffle.shuffle(permutation)  # type: ignore[attr-defined]
    moved = transposed(layout, shape, permutation)
    if moved is not None:
        tensor = np.arange(math.prod(shape)).reshape(shape)
        np.testing.assert_array_equal(moved.apply(tensor.transpose(permutation)).reshape(-1),
                                      layout.apply(tensor).reshape(-1))


@given(reshaped(), st.randoms())
def test_steps_bring_one_order_to_another(case: tuple[Layout, tuple[int, ...]], shuffle: object) -> None:
    source, shape = case
    order = list(range(len(shape)))
    shuffle.shuffle(order)  # type: ignore[attr-defined]
    target = Layout(shape, tuple(order))
    moves = transpose_strides(source, target)
    if moves is not None:
        np.testing.assert_array_equal(gathered(elements(source), moves), elements(target))
