"""The front end of audio networks, from samples to levels and their logarithms; TensorFlow Lite Micro's bytes."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from flatbuffers import flexbuffers

from tests.tflite.compare import check_exact
from tests.tflite.writer import Operator, Tensor, constant, write
from tigris_pio import ModelError, UnsupportedError, compile_model
from tigris_pio.compiler.pipeline import Compiled

INT32 = "int32"


@dataclasses.dataclass
class Chain:
    """A file in the making. `last` is the tensor that the next operator reads."""

    samples: int
    points: int
    channels: int
    tensors: list[Tensor] = dataclasses.field(default_factory=list)
    operators: list[Operator] = dataclasses.field(default_factory=list)
    last: str = "x"

    def add(self, op: str, shape: tuple[int, ...], dtype: str, *others: str, more: tuple[Tensor, ...] = (),
            custom: dict[str, Any] | None = None, **options: Any) -> Chain:
        """An operator of the last tensor, others and, behind its output, `more` outputs."""
        name = f"t{len(self.tensors)}"
        self.tensors += [Tensor(name, shape, dtype), *more]
        self.operators.append(Operator(op, [self.last, *others], [name, *(item.name for item in more)], options, 1,
                                       None if custom is None else bytes(flexbuffers.Dumps(custom))))
        self.last = name
        return self

    def constant(self, values: Any, dtype: str = "int16") -> str:
        """The name of a constant."""
        name = f"c{len(self.tensors)}"
        self.tensors.append(constant(name, np.array(values, dtype)))
        return name

    def file(self) -> bytes:
        """The file of the operators so far; its output is the last tensor."""
        return write([Tensor("x", (1, self.samples), "int16"), *self.tensors], self.operators, ["x"], [self.last])


def levels(samples: int, points: int, channels: int, window: bool = True, zeroed: bool = True,
           shift: int = 12) -> Chain:
    """The chain from samples to SignalFilterBankSquareRoot."""
    chain, random = Chain(samples, points, channels), np.random.default_rng(points)
    if window:
        hann = (np.hanning(samples) * (1 << shift)).round()
        chain.add("SignalWindow", (1, samples), "int16", chain.constant(hann), custom={"shift": shift})
    chain.add("RESHAPE", (samples,), "int16", chain.constant([-1], INT32))
    chain.add("SignalFftAutoScale", (samples,), "int16", more=(Tensor("scale", (), INT32),), custom={})
    chain.add("SignalRfft", (points + 2,), "int16", custom={"T": 7, "fft_length": points})
    bins, start = points // 2 + 1, 1 if zeroed else 0
    end = bins - 1 if zeroed else bins
    chain.add("SignalEnergy", (bins,), "uint32", custom={"start_index": start, "end_index": end})
    if zeroed:
        chain.add("CAST", (bins,), INT32)
        limits = [chain.constant([value], INT32) for value in (start, end, 1)]
        chain.add("STRIDED_SLICE", (end - start,), INT32, *limits)
        zeros = [chain.constant([0] * count, INT32) for count in (start, bins - end)]
        inner, chain.last = chain.last, zeros[0]
        chain.add("CONCATENATION", (bins,), INT32, inner, zeros[1], axis=0)
        chain.add("CAST", (bins,), "uint32")
    edges = np.linspace(start, bins - 1, channels + 2).astype(int)
    widths = np.minimum(np.diff(edges) + 2, bins - edges[:-1])
    starts = np.cumsum(widths) - widths
    weights = random.integers(0, 4097, (2, widths.sum()))
    weights[:, :2] = 0
    tables = [chain.constant(values) for values in (*weights, edges[:-1], starts, widths)]
    chain.add("SignalFilterBank", (channels,), "uint64", *tables, custom={"num_channels": channels})
    return chain.add("SignalFilterBankSquareRoot", (channels,), "uint32", "scale", custom={})


def subtracted(chain: Chain, clamping: bool = False, bits: int = 14) -> Chain:
    one = 1 << bits
    options = {"smoothing": one // 40, "alternate_smoothing": one // 16, "smoothing_bits": 10, "clamping": clamping,
               "min_signal_remaining": one // 20, "num_channels": chain.channels, "spectral_subtraction_bits": bits}
    options |= {"one_minus_smoothing": one - one // 40, "alternate_one_minus_smoothing": one - one // 16}
    return chain.add("SignalFilterBankSpectralSubtraction", (chain.channels,), "uint32", custom=options,
                     more=(Tensor("noise", (chain.channels,), "uint32"),))


def amplified(chain: Chain, shift: int = 6) -> Chain:
    table = np.random.default_rng(shift).integers(0, 32768, 125) // np.where(np.arange(125) % 4 == 2, 1, 8)
    return chain.add("SignalPCAN", (chain.channels,), "uint32", "noise", chain.constant(table),
                     custom={"snr_shift": shift})


def logarithms(chain: Chain, scale: int = 64, bits: int = 3) -> Chain:
    return chain.add("SignalFilterBankLog", (chain.channels,), "int16",
                     custom={"output_scale": scale, "input_correction_bits": bits})


def quantised(chain: Chain, *functions: tuple[str, int]) -> Chain:
    chain.add("CAST", (chain.channels,), INT32)
    for op, value in functions:
        chain.add(op, (chain.channels,), INT32, chain.constant(value, INT32))
    return chain.add("CAST", (chain.channels,), "int8")


TAIL = (("MUL", 256), ("ADD", 333), ("DIV", 666), ("ADD", -128), ("MINIMUM", 127), ("MAXIMUM", -128))


def check(chain: Chain, runs: int = 5) -> Compiled:
    """Loud noise, rolled on from run to run, with the ends of its range; then the same, soft."""
    data = chain.file()
    random = np.random.default_rng(chain.samples)
    loud = random.integers(-1 << 15, 1 << 15, (1, chain.samples), dtype=np.int16)
    loud[0, chain.samples // 2] = -1 << 15
    for x in (loud, loud // 512, loud * np.int16(0)):
        compiled = check_exact(data, data, {"x": x}, runs, tight=x is loud)
    return compiled


def test_the_whole_front_end() -> None:
    """micro_speech's front end with other tables: integers only, without a warning."""
    compiled = check(quantised(logarithms(amplified(subtracted(levels(480, 512, 40)))), *TAIL))
    assert not compiled.report["warnings"]
    kinds = {op.kind.name for op in compiled.plan.program.ops}
    assert kinds == {"SPECTRUM", "LEVEL", "COMMIT"}


@pytest.mark.parametrize("chain", [
    pytest.param(lambda: logarithms(levels(3, 4, 1, zeroed=False)), id="smallest"),
    pytest.param(lambda: logarithms(levels(8, 8, 2, window=False)), id="no window"),
    pytest.param(lambda: logarithms(levels(200, 256, 13, shift=15), 256, 0), id="8 kHz, no noise"),
    pytest.param(lambda: logarithms(subtracted(levels(960, 1024, 32, zeroed=False), True, 12)), id="clamped, no gain"),
    pytest.param(lambda: quantised(logarithms(subtracted(levels(30, 32, 5))), ("SUB", 300), ("MAXIMUM", -128),
                                   ("MINIMUM", 127)), id="another scale"),
    pytest.param(lambda: logarithms(amplified(subtracted(levels(64, 64, 7)), 12), 20000, 31), id="saturated"),
])  # fmt: skip
def test_other_front_ends(chain: Any) -> None:
    check(chain(), 3)


@pytest.mark.thorough
@pytest.mark.parametrize("points", [1 << bits for bits in range(2, 15)])
@pytest.mark.parametrize("share", (0.6, 1.0))
def test_all_lengths(points: int, share: float) -> None:
    check(logarithms(levels(int(points * share), points, min(40, points // 4), zeroed=points > 4), 1000, 0), 3)


def _with(chain: Chain, kind: str, **changes: Any) -> Chain:
    """The chain with changes to the operators of one kind."""
    chain.operators = [dataclasses.replace(item, **changes) if item.op == kind else item for item in chain.operators]
    return chain


def _without(chain: Chain, count: int) -> Chain:
    """The chain without its last operators."""
    chain.operators = chain.operators[:-count]
    chain.last = chain.operators[-1].outputs[0]
    return chain


def _noisy_zeros(chain: Chain) -> Chain:
    chain.tensors = [dataclasses.replace(item, data=item.data + 1)
                     if item.data is not None and item.shape == (1,) and not item.data.any() else item
                     for item in chain.tensors]
    return chain


def _small() -> Chain:
    return levels(30, 32, 5)


REFUSED = {
    "spectrum": (lambda: _without(_small(), 7), r"SignalRfft_3 .*compiled only within the chain SignalWindow, "),
    "sums": (lambda: _without(_small(), 1), r"SignalFilterBank_9 .*compiled only within the chain"),
    "another link": (lambda: _with(_small(), "SignalRfft", op="SignalIrfft"),
                     r"SquareRoot_10 .*input 0 of SignalEnergy_4 is computed by SignalIrfft_3 instead of SignalRfft"),
    "frames": (lambda: _with(_small(), "SignalWindow", op="SignalFramer"), r"SignalFramer_0 .*windows of them"),
    "other lengths": (lambda: levels(48, 48, 5), r"SquareRoot_10 .*a transform of 48 points of int16"),
    "no zeros": (lambda: _noisy_zeros(_small()), r"SquareRoot_10 .*CONCATENATION_7 from other than zeros"),
    "an output": (_small, r"graph output.* has type uint32"),
    "arithmetic": (lambda: logarithms(_small().add("CAST", (5,), "float32")), r"CAST_11 .*audio front end"),
    "levels that are none": (lambda: logarithms(Chain(5, 4, 5)), r"SignalFilterBankLog_0 .*int16; levels of uint32"),
    "a tail that wraps": (lambda: quantised(logarithms(_small())), r"CAST_13 .*int8, which cannot hold all values"),
    "a tail that falls": (lambda: quantised(logarithms(_small()), ("MUL", -1), ("MAXIMUM", -128)),
                          r"CAST_15 .*int8, which cannot hold all values"),
    "a shift": (lambda: logarithms(_small(), 64, 32), r"SignalFilterBankLog_11 .*input_correction_bits 32; 0 to 31"),
    "too many samples": (lambda: levels(33, 32, 5), r"33 samples of int16 for a window of 33 and 32 points"),
    "no whole number": (lambda: _with(_small(), "SignalRfft", custom=bytes(flexbuffers.Dumps({"fft_length": 30.5}))),
                        r"SignalRfft_3.*fft_length 30.5"),
    "no number": (lambda: _with(_small(), "SignalRfft", custom=bytes(flexbuffers.Dumps({"fft_length": float("nan")}))),
                  r"SignalRfft_3.*fft_length nan"),
    "bands beyond": (lambda: _with(_small(), "SignalRfft", custom=bytes(flexbuffers.Dumps({"fft_length": 16}))),
                     r"30 samples of int16"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_other_chains_are_refused(name: str) -> None:
    make, reason = REFUSED[name]
    with pytest.raises((ModelError, UnsupportedError), match=reason):
        compile_model(make().file())


def test_whole_numbers_of_a_logarithm_are_exact() -> None:
    """A warning is given only for numbers that float32 cannot hold."""
    for factor, warned in ((500, False), (600, True)):
        chain = logarithms(_small()).add("CAST", (5,), INT32)
        chain.add("MUL", (5,), INT32, chain.constant([factor], INT32))
        assert any("rounded" in text for text in check(chain, 1).report["warnings"]) == warned
