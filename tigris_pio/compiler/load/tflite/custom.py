"""Reads numbers from the options of custom operators, which are flexbuffers."""

from __future__ import annotations

from flatbuffers import flexbuffers

from tigris_pio.compiler.load.tflite.layer import Layer

#: Largest size of options in bytes; supported operators have a few hundred.
_LARGEST = 1 << 16


def number(layer: Layer, key: str, default: float | None = None) -> float:
    """The option `key`, or else `default`. Raises ModelError if there is neither."""
    data = layer.operator.custom
    if len(data) > _LARGEST:
        raise layer.fault(f"options of {len(data)} bytes")
    try:
        items = flexbuffers.GetRoot(data).AsMap if data else {}
        value = items[key]
        return float(value.AsFloat if value.IsFloat else value.AsInt)
    except KeyError:
        if default is None:
            raise layer.fault(f"its options have no {key}") from None
        return default
    except Exception as error:  # the package checks nothing, so invalid bytes raise any exception
        raise layer.fault(f"options that are no flexbuffer ({type(error).__name__})") from None
