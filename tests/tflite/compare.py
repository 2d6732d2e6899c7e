"""Compares a compiled model's output bytes with TensorFlow Lite Micro's, at several budgets."""

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from tests.tflite.tflm import Tflm
from tigris_pio import Session
from tigris_pio.compiler.emit.writer import write_plan
from tigris_pio.compiler.ir.plan import Budget
from tigris_pio.compiler.options import CompileOptions
from tigris_pio.compiler.pipeline import Compiled, Front, back, front
from tigris_pio.compiler.plan.index import ProgramIndex
from tigris_pio.compiler.plan.search import find_plan

SLOW = 1 << 20
#: Share of the memory of a plan without a limit.
SHARES = (0.3, 0.5, 0.7, 0.9)


def random_input(shape: tuple[int, ...], dtype: str = "int8", seed: int = 0) -> np.ndarray:
    """Random values: all of an integer type, with its limits if the shape allows; float32 from -4 to 4."""
    random = np.random.default_rng(seed)
    if dtype == "float32":
        return random.uniform(-4, 4, shape).astype(np.float32)
    ends = np.iinfo(dtype)
    values = random.integers(ends.min, ends.max, shape, endpoint=True, dtype=dtype)
    if values.size > 2:
        values.reshape(-1)[random.choice(values.size, 2, replace=False)] = ends.min, ends.max
    return values


def plans(start: Front) -> list[Compiled]:
    """Plans without a limit, and in nearly the smallest fast memory, alone and with slow memory; in one order."""
    result = [back(start, CompileOptions())]
    whole = result[0].plan.fast_bytes
    index = ProgramIndex.of(start.program)
    for slow in (0, SLOW):
        for share in SHARES:
            options = CompileOptions(Budget(int(whole * share), slow))
            plan = find_plan(index, options.budget, options.alignment, options.weights())
            if plan is not None:
                result.append(dataclasses.replace(result[0], data=write_plan(plan, options.xip), plan=plan))
                break
    return result


def check_exact(reference: bytes, ours: Any, inputs: Mapping[str, np.ndarray], runs: int = 1,
                tight: bool = True) -> Compiled:
    """Compares all output bytes over `runs` runs; returns the plan without a limit.

    `tight`: also in little memory.
    """
    start = front(ours, CompileOptions())
    compiled = plans(start) if tight else [back(start, CompileOptions())]
    tflm = Tflm(reference)
    sessions = [Session(item) for item in compiled]
    try:
        outputs = [item.name for item in sessions[0].outputs]
        for index in range(runs):
            given = {name: np.roll(array, index) for name, array in inputs.items()}
            expected = tflm.run(list(given.values()), len(outputs))
            for session, item in zip(sessions, compiled, strict=True):
                got = session.run(given)
                for name, want in zip(outputs, expected, strict=True):
                    assert got[name].dtype == want.dtype and got[name].size == want.size, name
                    _check_same(got[name].reshape(-1), want.reshape(-1),
                                f"{name}, run {index} at {item.plan.fast_bytes} bytes")
    finally:
        for session in sessions:
            session.close()
    return compiled[0]


def _check_same(got: np.ndarray, want: np.ndarray, where: str) -> None:
    differs = got != want
    assert not differs.any(), (
        f"{where}: {differs.sum()} of {differs.size} differ, {got[differs][:8]} is to be {want[differs][:8]}")
