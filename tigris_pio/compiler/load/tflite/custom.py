"""Options of custom operators: flexbuffers, of which single numbers are read."""

from __future__ import annotations

from flatbuffers import flexbuffers

from tigris_pio.compiler.load.tflite.layer import Layer

#: Of options, in bytes: those of the operators that are read have a few hundred.
_LARGEST = 1 << 16


def number(layer: Layer, key: str, default: float | None = None) -> float:
    """A number by its name. Raises ModelError where there is neither it nor a default."""
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
    except Exception as error:  # the package checks nothing, so bytes of any kind raise anything
        raise layer.fault(f"options that are no flexbuffer ({type(error).__name__})") from None
