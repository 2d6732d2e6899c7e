"""Every family by name."""

import functools
from collections.abc import Callable, Mapping

import onnx
from onnx.version_converter import convert_version

from tests.families import classifiers, dense, habits, sequences, signals
from tests.families.quantised import SCHEMES, Scheme, quantise

_MODULES = {
    classifiers: ("mobilenet_v2", "mobilenet_v3", "resnet", "inception", "shufflenet", "convnext"),
    dense: ("detector", "dilated_segmentation", "decoder", "super_resolution", "fully_convolutional"),
    signals: ("sensor_cnn", "temporal_cnn", "dscnn", "audio_embedding", "streaming_spotter"),
    habits: ("pooling_variants", "leftovers", "keras", "keras_unet", "opset_7", "opset_9"),
    sequences: ("mlp_mixer", "tiny_vit"),
}

FAMILIES: Mapping[str, Callable[[], onnx.ModelProto]] = {
    **{name: getattr(module, name) for module, names in _MODULES.items() for name in names},
    "mobilenet_v3_decomposed": lambda: classifiers.mobilenet_v3(hard_swish_op=False),
}
#: quantize_static takes operator sets from 11 on, and older than 13 per tensor only; onnx converts these before.
_OLD = {"opset_7": SCHEMES[0], "opset_9": SCHEMES[2]}


@functools.cache
def float_model(name: str) -> onnx.ModelProto:
    """The family in float32."""
    return FAMILIES[name]()


def scheme_of(name: str) -> Scheme:
    """The scheme a family is tested with; all schemes occur about equally often."""
    return _OLD[name] if name in _OLD else SCHEMES[list(FAMILIES).index(name) % len(SCHEMES)]


@functools.cache
def int8_model(name: str, scheme: Scheme | None = None) -> onnx.ModelProto:
    """The family quantised by onnxruntime."""
    model = float_model(name)
    return quantise(convert_version(model, 11) if name in _OLD else model, scheme or scheme_of(name))
