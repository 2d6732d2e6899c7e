"""Gives operators to a backend: turns them into plain kinds, or packs their weights as its kernels read them."""

from __future__ import annotations

import dataclasses

import numpy as np

from tigris_pio.compiler.backends.backend import Backend
from tigris_pio.compiler.backends.shape import SHAPED_KINDS, shape_of
from tigris_pio.compiler.ir.program import Program, ProgramOp
from tigris_pio.compiler.lower import numerics
from tigris_pio.format.enums import Packing
from tigris_pio.format.kinds import PLAIN_KINDS, TRAITS
from tigris_pio.format.packing import PACKED_KINDS
from tigris_pio.format.params import ConvInt8Params
from tigris_pio.format.work import DEPTHWISE


@dataclasses.dataclass(frozen=True)
class Assignment:
    """Gives the operators of a program to `backend` on `chip`.

    left_portable: names of operators whose scratch does not fit
    """

    backend: Backend
    chip: str
    left_portable: frozenset[str] = frozenset()

    def apply(self, program: Program) -> Program:
        """`program` with every operator that the backend runs in the backend's form."""
        return dataclasses.replace(program, ops=tuple(self._assigned(program, op) for op in program.ops))

    def portable_reasons(self, program: Program) -> dict[str, str]:
        """The reason for each operator of an assigned program that keeps a portable kernel, by name."""
        return {op.name: self._why_portable(program, op) for op in program.ops if not op.backend}

    def _refusal(self, program: Program, op: ProgramOp) -> str | None:
        if op.kind not in SHAPED_KINDS:
            made = None if self.backend.plain_params is None else self.backend.plain_params(program, op)
            return made if isinstance(made, str) else None
        shape = shape_of(program, op)
        reason = self.backend.refuses(shape)
        if reason is None and self.backend.refuses_on is not None:
            reason = self.backend.refuses_on(op, shape, self.chip)
        if reason is None and self.backend.slower_on is not None:
            reason = self.backend.slower_on(shape, self.chip)
        if reason is None and op.name in self.left_portable:
            scratch = self.backend.scratch(shape, self.chip)
            return (
                f"its scratch of up to {scratch} bytes does not fit beside the activations, or costs more than it saves"
            )
        if reason is None and self.backend.stream is not None and op.kind in PACKED_KINDS:
            found = self.backend.stream(op)
            return found if isinstance(found, str) else None
        return reason

    def _assigned(self, program: Program, op: ProgramOp) -> ProgramOp:
        if not self.backend.runs(op):
            by = self.backend.name if self.backend.accelerates(program, op) else ""
            return dataclasses.replace(op, accelerated_by=by) if by else op
        if self._refusal(program, op) is not None:
            return op
        kind = self.backend.kinds[op.kind]
        own = dataclasses.replace(op, kind=kind, backend=self.backend.name)
        if kind not in PLAIN_KINDS.values():
            return self._packed(program, own)
        bias = _unfolded_bias(op)
        if bias is None:
            return op
        return dataclasses.replace(own, blobs={**op.blobs, "bias": bias, "shift": op.blobs["shift"].astype(np.int32)})

    def _packed(self, program: Program, op: ProgramOp) -> ProgramOp:
        if op.kind not in SHAPED_KINDS and self.backend.plain_params is not None:
            params = self.backend.plain_params(program, op)
            assert not isinstance(params, str), "_refusal refuses an operator without a record"
            return dataclasses.replace(op, packing=self.backend.packing, params=params)
        packing = self.backend.packing if op.kind in PACKED_KINDS else Packing.PORTABLE
        stream = None if self.backend.stream is None or op.kind not in PACKED_KINDS else self.backend.stream(op)
        assert not isinstance(stream, str), "_refusal refuses an operator without a stream"
        scratch = op.scratch_bytes
        if self.backend.has_planned_scratch and op.kind in SHAPED_KINDS:
            scratch = self.backend.scratch(shape_of(program, op), self.chip)
        return dataclasses.replace(op, packing=packing, stream=stream, scratch_bytes=scratch)

    def _why_portable(self, program: Program, op: ProgramOp) -> str:
        if op.accelerated_by:
            return f"the instructions of {op.accelerated_by} run the loops of its portable kernel"
        if not self.backend.runs(op):
            return f"{self.backend.name} is not used for {op.kind.name} in {op.dtype.name.lower()}"
        return self._refusal(program, op) or "its bias without the input's zero point does not fit 32 bits"


def _unfolded_bias(op: ProgramOp) -> np.ndarray | None:
    """The bias without the folded zero point of the input; None if it does not fit int32.

    Fully connected layers keep the folded bias: it is exact for them, because they have no padding.
    """
    bias = op.blobs["bias"]
    if not isinstance(op.params, ConvInt8Params):
        return bias
    weights, is_depthwise = op.blobs["weights"].astype(np.int64), TRAITS[op.kind].work is DEPTHWISE
    channels = weights.shape[-1] if is_depthwise else weights.shape[0]
    by_channel = weights.reshape(-1, channels).T if is_depthwise else weights
    sums = by_channel.reshape(channels, -1).sum(axis=1)
    own = bias.astype(np.int64) + op.params.input_zero_point * sums
    own = np.where(op.blobs["multiplier"] == 0, 0, own)  # the output does not depend on the sum
    fits = own.min() >= numerics.INT32_MIN and own.max() <= numerics.INT32_MAX
    return own.astype(np.int32) if fits else None
