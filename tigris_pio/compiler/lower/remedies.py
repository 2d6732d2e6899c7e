"""Remedies for unsupported operators, from which docs/operators.md is written, too."""

from __future__ import annotations

import dataclasses
from fnmatch import fnmatchcase

_FIRMWARE = "end the model in front of it and do the rest in the firmware"
_CUSTOM = "a custom operator: export the model without it, or compute it in the firmware"


@dataclasses.dataclass(frozen=True)
class Remedy:
    """The remedy for some unsupported operators.

    operators: names or patterns, each with its domain if that is not ONNX's own
    remedy: the reason and the remedy
    """

    operators: str
    remedy: str

    def matches(self, name: str) -> bool:
        """Whether a pattern matches an operator."""
        return any(fnmatchcase(name, pattern) for pattern in self.operators.split())


#: The first entry that matches an operator counts.
REMEDIES = (
    Remedy("RandomNormal RandomNormalLike RandomUniform RandomUniformLike Bernoulli Multinomial tflite.RANDOM_* "
           "tflite.MULTINOMIAL",
           "it draws random numbers: draw them in the firmware and give them as an input"),
    Remedy("NonZero Unique tflite.WHERE tflite.UNIQUE",
           f"its output has as many elements as the data say: {_FIRMWARE}"),
    Remedy("Sequence* Split*Sequence *FromSequence Optional*", "export the model with tensors in place of sequences"),
    Remedy("String* RegexFullMatch TfIdfVectorizer ai.onnx.ml.CategoryMapper ai.onnx.ml.DictVectorizer "
           "ai.onnx.ml.LabelEncoder tflite.HASHTABLE*",
           "it computes with texts: make numbers of them in the firmware, and export the model from there on"),
    Remedy("ai.onnx.ml.TreeEnsemble*", "trees: emlearn and m2cgen write them as C"),
    Remedy("ai.onnx.ml.SVMClassifier",
           "three and more classes have their probabilities by iteration, which is not compiled: train it with "
           "probability=False"),
    Remedy("NegativeLogLikelihoodLoss SoftmaxCrossEntropyLoss ai.onnx.preview.training.*",
           "it is for training: export the model for inference"),
    Remedy("tflite.ethos-u", "the file was compiled by Vela for an NPU: give the file from before Vela"),
    Remedy("tflite.edgetpu-custom-op tflite.NeutronGraph",
           "the file was compiled for an NPU: give the file from before"),
    Remedy("tflite.Signal*", "it is of the audio front end: frame, delay and stack samples in the firmware, and "
           "give the model windows of them"),
    Remedy("tflite.Flex*", "it is TensorFlow's own: convert the model without SELECT_TF_OPS"),
    Remedy("tflite.[A-Z]*[a-z]*", _CUSTOM),
    Remedy("com.microsoft.MatMulNBits",
           "its weights are computed, or in groups of an order of their own (g_idx): quantise it again without"),
    Remedy("com.microsoft.DynamicQuantizeLSTM com.microsoft.QAttention com.microsoft.QEmbedLayerNormalization",
           "onnxruntime's quantiser wrote it: give the float model, or what `tigris quantize` makes of it"),
    Remedy("com.microsoft.*",
           "it is onnxruntime's own: give the file from before onnxruntime optimised it, or use ORT_ENABLE_BASIC"),
    Remedy("ai.onnx.ml.*", _FIRMWARE),
    Remedy("tflite.*", f"convert that part to other operators, or {_FIRMWARE}"),
    Remedy("*.*", _CUSTOM),
    Remedy("*", f"export that part in other operators, or {_FIRMWARE}"),
)  # fmt: skip


def not_supported(domain: str, operator: str) -> str:
    """The refusal of an operator without a contract: reason and remedy."""
    name = f"{domain}.{operator}" if domain else operator
    return f"this operator is not supported; {next(item.remedy for item in REMEDIES if item.matches(name))}"
