"""Reads samples from a folder of images with Pillow."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tigris_pio.errors import ToolError, UsageError
from tigris_pio.installation import install_command
from tigris_pio.quantize.samples import Input, Sample
from tigris_pio.text import counted

SUFFIXES = (".bmp", ".gif", ".jpeg", ".jpg", ".pgm", ".png", ".ppm", ".tif", ".tiff", ".webp")
_MODES = {1: "L", 3: "RGB"}


@dataclasses.dataclass(frozen=True)
class Normalisation:
    """A pixel from 0 to 255 becomes (pixel / 255 - mean) / std; one number for all channels, or one per channel."""

    mean: tuple[float, ...] = (0.0,)
    std: tuple[float, ...] = (1.0,)


def read_images(inputs: Sequence[Input], folder: str,
                how: Normalisation) -> tuple[list[Sample], tuple[int, ...] | None]:
    """All images below `folder`, resized to the model's single input.

    If every image lies in a subfolder, the subfolders in alphabetical order are the classes; else there are none.
    """
    if len(inputs) != 1:
        names = ", ".join(item.name for item in inputs)
        raise UsageError(f"--images {folder}: the model has inputs {names}; give --data with an array for each")
    item = inputs[0]
    channels, height, width, last = _picture(item, folder)
    for name, values in (("--image-mean", how.mean), ("--image-std", how.std)):
        if len(values) not in (1, channels):
            raise UsageError(f"{name}: {counted(len(values), 'value')} for {counted(channels, 'channel')}; give one "
                             "for all or one for each")
    root = Path(folder)
    if not root.is_dir():
        raise UsageError(f"--images {folder}: no such folder")
    paths = sorted(path for path in root.rglob("*") if path.suffix.lower() in SUFFIXES and path.is_file())
    if not paths:
        raise UsageError(f"--images {folder}: has no images ({', '.join(SUFFIXES)})")
    library = _pillow()
    samples = []
    for path in paths:
        pixels = _pixels(library, path, _MODES[channels], (width, height)).reshape(height, width, channels)
        values = (pixels / 255 - np.array(how.mean)) / np.array(how.std)
        ordered = values if last else values.transpose(2, 0, 1)
        samples.append({item.name: np.ascontiguousarray(ordered, np.float32).reshape(item.shape)})
    return samples, _classes(root, paths)


def _picture(item: Input, folder: str) -> tuple[int, int, int, bool]:
    """Channels, height and width of an input, and whether it is channels-last; UsageError if it is no image."""
    shape = item.shape
    if item.dtype == np.float32 and len(shape) == 4 and shape[0] == 1:
        if shape[1] in _MODES:
            return shape[1], shape[2], shape[3], False
        if shape[3] in _MODES:
            return shape[3], shape[1], shape[2], True
    raise UsageError(f"--images {folder}: input {item.name} is {item.dtype} {list(shape)}, not an image with 1 or 3 "
                     "channels like [1, 3, 96, 96] in float32; give --data")


def _pillow() -> Any:
    try:
        from PIL import Image  # noqa: PLC0415  optional: only images need it
    except ImportError as error:
        raise ToolError(f"--images needs Pillow; install it: {install_command('pillow')}") from error
    return Image


def _pixels(library: Any, path: Path, mode: str, size: tuple[int, int]) -> np.ndarray:
    try:
        with library.open(path) as picture:
            return np.asarray(picture.convert(mode).resize(size, library.Resampling.BILINEAR), np.float32)
    except (OSError, ValueError, SyntaxError, library.DecompressionBombError) as error:
        raise UsageError(f"{path}: is no image that Pillow can read: {error}") from error


def _classes(root: Path, paths: list[Path]) -> tuple[int, ...] | None:
    folders = [path.relative_to(root).parts[0] if path.parent != root else "" for path in paths]
    names = sorted(set(folders))
    return None if "" in names or len(names) < 2 else tuple(names.index(name) for name in folders)
