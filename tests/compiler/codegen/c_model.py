"""Models as C on this machine: compiled to a shared library, called with arenas between guard bytes."""

import ctypes
import os
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

from tests.runtime.build import C99, compile_each, program
from tigris_pio import Session
from tigris_pio.compiler.codegen import Generated
from tigris_pio.compiler.pipeline import Compiled
from tigris_pio.format.enums import OpKind

GUARD = 64
M4 = ("-mcpu=cortex-m4", "-mthumb", "-mfloat-abi=hard", "-mfpu=fpv4-sp-d16")
Array = np.ndarray
ROWS = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_uint32, ctypes.c_void_p)


def build(generated: Sequence[Generated], folder: Path, *flags: str, compiler: str = "gcc") -> ctypes.CDLL:
    """The models in one library; warnings are errors."""
    for model in generated:
        model.save(folder)
    command = [compiler, *C99, "-fPIC", *(flags or ("-O0",))]
    objects = compile_each(command, sorted(folder.glob("*.c")), folder)
    library = folder / "models.so"
    link = [compiler, *flags, "-shared", "-o", str(library), *map(str, objects), "-lm"]
    subprocess.run(link, check=True, capture_output=True)
    return ctypes.CDLL(str(library))


def compile_for_m4(folder: Path, optimise: str) -> None:
    """m.c to m.o, with its call graph beside it."""
    command = [program("arm-none-eabi-gcc", "gcc-arm-none-eabi"), *M4, "-std=c99", optimise, "-fcallgraph-info=su"]
    environment = {**os.environ, "CCACHE_DISABLE": "1"}  # which would leave the call graph out
    subprocess.run([*command, "-c", "m.c", "-o", "m.o"], cwd=folder, env=environment, check=True)


class Arena:
    """Aligned bytes between guards, filled with noise: a run must not read bytes before it writes them."""

    def __init__(self, size: int) -> None:
        self._all = raw = np.full(size + 2 * GUARD + 64, 0xA5, np.uint8)
        start = -raw.ctypes.data % 64 + GUARD
        self.bytes = raw[start : start + size]
        self.bytes[:] = np.random.default_rng(size).integers(0, 256, size)
        self._around = (raw[start - GUARD : start], raw[start + size : start + size + GUARD])

    @property
    def intact(self) -> bool:
        """Whether the guards are unchanged."""
        return all((around == 0xA5).all() for around in self._around)

    @property
    def pointer(self) -> ctypes.c_void_p:
        """Its address."""
        return ctypes.c_void_p(self.bytes.ctypes.data)


class CModel:
    """One model of a library."""

    def __init__(self, library: ctypes.CDLL, compiled: Compiled, generated: Generated, session: Session) -> None:
        self.name, self.plan, self.session = generated.name, compiled.plan, session
        self._run, self._library = getattr(library, f"{self.name}_run"), library
        self.fast, self.slow = Arena(max(generated.fast_bytes, 1)), Arena(max(generated.slow_bytes, 1))
        content = generated.files.get(f"{self.name}_weights.bin", b"")
        self.weights = Arena(len(content))
        self.weights.bytes[:] = np.frombuffer(content, np.uint8)
        self._has_weights = f"{self.name}_weights.bin" in generated.files
        if self.plan.program.states:
            self.reset()

    def _memory(self) -> list[ctypes.c_void_p]:
        return [self.fast.pointer, *([self.slow.pointer] if self.plan.slow_bytes else [])]

    def reset(self) -> None:
        """States begin anew."""
        assert getattr(self._library, f"{self.name}_reset")(*self._memory()) == 0

    def run(self, inputs: Mapping[str, Array]) -> dict[str, Array]:
        """Stored arrays in, stored arrays out."""
        streams = self.plan.program.movers
        outputs = {io.name: np.zeros(io.stored_shape, io.stored_dtype) for io in self.session.outputs}
        kept: list[object] = []
        sides: list[list[ctypes.c_void_p]] = [[], []]
        for side, (kind, ios, arrays) in enumerate(
            ((OpKind.FETCH, self.session.inputs, inputs), (OpKind.TAKE, self.session.outputs, outputs))
        ):
            for place, io in enumerate(ios):
                array = np.ascontiguousarray(arrays[io.name]) if side == 0 else arrays[io.name]
                kept.append(array)
                if (kind, place) in streams:
                    ports = self.plan.program.outputs if side else self.plan.program.inputs
                    function = ROWS(_mover(array, self.plan.program.tensors[ports[place].tensor].height, side == 0))
                    kept.append(function)
                    sides[side] += [ctypes.cast(function, ctypes.c_void_p), ctypes.c_void_p(place)]
                else:
                    sides[side].append(ctypes.c_void_p(array.ctypes.data))
        if len(self.session.inputs) == 1 and len(self.session.outputs) == 1:
            arguments: list[object] = [*sides[0], *sides[1]]
        else:
            arguments = [(ctypes.c_void_p * len(side))(*side) for side in sides if side]
        arguments += self._memory() + ([self.weights.pointer] if self._has_weights else [])
        assert self._run(*arguments) == 0
        assert self.fast.intact and self.slow.intact
        return outputs


def _mover(array: Array, height: int, gives: bool) -> Callable[..., int]:
    flat = array.reshape(height, -1).view(np.uint8)
    done = [0]

    def move(_: int, first: int, rows: int, data: int) -> int:
        assert first == done[0]
        done[0] += rows
        part = flat[first : first + rows]
        if gives:
            ctypes.memmove(data, np.ascontiguousarray(part).ctypes.data, part.nbytes)
        else:
            part[:] = np.ctypeslib.as_array((ctypes.c_uint8 * part.nbytes).from_address(data)).reshape(part.shape)
        return 0

    return move


def noise(session: Session, seed: int) -> dict[str, Array]:
    """Stored inputs of a session."""
    rng = np.random.default_rng(seed)
    limits = {"b": (0, 2), "i": (-128, 128), "u": (0, 256)}
    kinds = {io.name: (np.dtype(io.stored_dtype), io.stored_shape) for io in session.inputs}
    return {name: (rng.integers(*limits[kind.kind], shape) if kind.kind in limits else rng.standard_normal(shape))
            .astype(kind)
            for name, (kind, shape) in kinds.items()}


def same(model: CModel, inputs: Mapping[str, Array]) -> bool:
    """Whether the C and the plan give the same bytes."""
    expected, got = model.session.run_raw(inputs), model.run(inputs)
    return all(got[name].tobytes() == array.tobytes() for name, array in expected.items())
