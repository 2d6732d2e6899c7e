"""Lists of tensors, which the steps of TensorFlow's loops read and write.

The graph has no lists: Network.lists holds the names of a list's items, which are known because loops are unrolled.
Files may write these operators' names with `Flex` in front.
"""

from __future__ import annotations

from collections.abc import Sequence

from tigris_pio.compiler.load.tflite.layer import Layer
from tigris_pio.compiler.load.tflite.network import Unsupported
from tigris_pio.compiler.load.tflite.operators.registry import handler

_SUMMARY = "lists of constant length, items at constant indices or at the trips of a loop"


@handler("TensorListReserve", "FlexTensorListReserve", summary=_SUMMARY)
def read_reserve(layer: Layer) -> None:
    """Items without a value."""
    (count,) = layer.integers(1, "items")
    layer.network.limits.check("nodes", count, f"{layer.where}, whose items count as")
    layer.pass_on(layer.listed([""] * count))


@handler("TensorListFromTensor", "FlexTensorListFromTensor", summary=_SUMMARY)
def read_from_tensor(layer: Layer) -> None:
    """An item for each index of the first axis."""
    shape, source = layer.shape(0), layer.input(0)
    layer.pass_on(layer.listed([layer.item(source, position) for position in range(shape[0])]))


@handler("TensorListSetItem", "FlexTensorListSetItem", summary=_SUMMARY, lists=1)
def read_set_item(layer: Layer) -> None:
    """A copy of a list with one item replaced."""
    items = _items(layer)
    items[_place(layer, items)] = layer.input(2)
    layer.pass_on(layer.listed(items))


@handler("TensorListGetItem", "FlexTensorListGetItem", summary=_SUMMARY, lists=1)
def read_get_item(layer: Layer) -> None:
    """An item."""
    items = _items(layer)
    layer.pass_on(_set(items[_place(layer, items)]))


@handler("TensorListStack", "FlexTensorListStack", summary=_SUMMARY, lists=1)
def read_stack(layer: Layer) -> None:
    """Concat of the items along a new first axis."""
    items = [_set(item) for item in _items(layer)]
    shape = layer.network.tensors[items[0]].shape if items else ()
    rows = [layer.reshaped(item, (1, *shape)) for item in items]
    layer.write("Concat", rows, (len(items), *shape), {"axis": 0})


def _items(layer: Layer) -> list[str]:
    found = layer.network.lists.get(layer.input(0))
    if found is None:
        raise Unsupported("its input 0 is no list of tensors")
    return list(found)


def _place(layer: Layer, items: Sequence[str]) -> int:
    (position,) = layer.integers(1, "index")
    if not 0 <= position < len(items):
        raise layer.fault(f"item {position} of {len(items)}")
    return position


def _set(item: str) -> str:
    if not item:
        raise Unsupported("it reads an item that nothing has set")
    return item
