"""Operators that resize images."""

from __future__ import annotations

from tigris_pio.compiler.load.tflite.layer import Layer
from tigris_pio.compiler.load.tflite.operators.registry import handler

_KINDS = {"RESIZE_BILINEAR": ("linear", "ResizeBilinearOptions"),
          "RESIZE_NEAREST_NEIGHBOR": ("nearest", "ResizeNearestNeighborOptions")}


@handler(*_KINDS, summary="constant size; align_corners, half_pixel_centers and neither")
def read_resize(layer: Layer) -> None:
    """Resize to sizes."""
    mode, kind = _KINDS[layer.operator.name]
    options, shape, size = layer.options(kind), layer.shape(0), layer.integers(1, "sizes")
    if len(shape) != 4 or len(size) != 2 or min(size) < 1:
        raise layer.fault(f"{list(shape)} to {size}")
    corners, half = bool(options["AlignCorners"]), bool(options["HalfPixelCenters"])
    coordinates = "align_corners" if corners else "half_pixel" if half else "asymmetric"
    attributes = {"mode": mode, "coordinate_transformation_mode": coordinates}
    if mode == "nearest":
        # With aligned corners or half-pixel centres, a point in the middle between two is rounded up.
        attributes["nearest_mode"] = "round_prefer_ceil" if corners else "floor"
        if half and not corners:
            attributes["nearest_mode"] = "round_prefer_ceil"
    sizes = layer.numbers((shape[0], shape[3], *size))
    layer.write("Resize", [layer.image(0), "", "", sizes], (shape[0], *size, shape[3]), attributes, image=True)
