"""Random TensorFlow Lite operators against TensorFlow Lite Micro: python -m tests.fuzz.tflite SECONDS [OPERATOR …]

int8, integers and truth values byte for byte, float32 to 1e-4 of the largest value; whole and in little memory. Prints
a table of what was compared and what was refused, and each difference with the seed that makes it. Ends with 1 when
something differs. SEED is where to begin.
"""

import logging
import os
import subprocess
import sys
import time
from collections import Counter, defaultdict

import numpy as np

from tests.fuzz.tflite_cases import INT16, MAKERS, Draw
from tests.tflite.cases import Case
from tests.tflite.compare import plans
from tests.tflite.tflm import Tflm
from tigris_pio import Session
from tigris_pio.compiler.options import CompileOptions
from tigris_pio.compiler.pipeline import back, front
from tigris_pio.errors import TigrisError

_SEEDS = 1 << 20
_ENDED = "ended"


def outcome(case: Case, thorough: bool) -> str:
    """"exact", or what is not: refused here or there, or how much differs."""
    data, given = case.file(), case.arrays()
    try:
        tflm = Tflm(data)
        expected = tflm.run(list(given.values()), len(case.outputs))
    except Exception as error:  # whatever it raises, it does not compute this
        return f"not in TFLM: {type(error).__name__}"
    try:
        start = front(data, CompileOptions())
        compiled = plans(start) if thorough else [back(start, CompileOptions())]
    except TigrisError as error:
        return f"refused: {str(error).splitlines()[-1].strip()}"
    except Exception as error:  # a fault of the compiler, which must not look like one of the reference
        return f"differs: the compiler raises {error!r}"
    for plan in compiled:
        with Session(plan) as session:
            got = session.run(given)
            for output, want in zip(case.outputs, expected, strict=True):
                told = difference(got[output.name], want)
                if told:
                    return f"differs: {output.name} at {plan.plan.fast_bytes} bytes: {told}"
    return "exact"


def difference(got: np.ndarray, want: np.ndarray) -> str:
    """How two outputs differ; nothing when they do not."""
    if got.dtype != want.dtype or got.size != want.size:
        return f"{got.dtype} {got.shape} is to be {want.dtype} {want.shape}"
    got, want = got.reshape(-1), want.reshape(-1)
    if got.dtype == np.float32:
        largest = max(1.0, float(np.abs(want[np.isfinite(want)]).max(initial=0.0)))
        differs = ~np.isclose(got, want, rtol=1e-4, atol=1e-5 * largest, equal_nan=True)
    else:
        differs = got != want
    if not differs.any():
        return ""
    return f"{differs.sum()} of {differs.size}: {got[differs][:6].tolist()} is to be {want[differs][:6].tolist()}"


def told(seed: int, operator: str) -> tuple[str, str, Case]:
    """The operator and type of a seed's case, and the case: a fifth in int16."""
    case = MAKERS[operator](Draw(seed, int16=operator in INT16 and seed % 5 == 0), operator)
    activations = [item for item in case.inputs if item.data is None and item.name]
    return operator, (activations[-1 if operator == "SELECT_V2" else 0].dtype if activations else "constant"), case


def child(first: int, seconds: float, operators: list[str]) -> None:
    """One case after the other; says which before it begins, for TensorFlow Lite Micro may fall over."""
    logging.disable(logging.WARNING)
    end = time.monotonic() + seconds
    for seed in range(first, first + _SEEDS):
        if time.monotonic() > end:
            print(_ENDED, flush=True)
            return
        operator, dtype, case = told(seed, operators[seed % len(operators)])
        print(f"{seed} {operator} {dtype}", flush=True)
        print(outcome(case, seed % 7 == 0).replace("\n", " "), flush=True)


def main() -> int:
    """Runs children until the time is over; prints the table."""
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 60.0
    operators = sorted(sys.argv[2:] or MAKERS)
    end, seed = time.monotonic() + seconds, int(os.environ.get("SEED", "0")) or int(time.time()) % 100000 * 1000
    counts: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    differs = 0
    while (left := end - time.monotonic()) > 0:
        command = [sys.executable, "-m", "tests.fuzz.tflite", "--child", str(seed), str(left), *operators]
        lines = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                               check=False).stdout.splitlines()
        pairs = list(zip(lines[::2], [*lines[1::2], "TFLM fell over"], strict=False))
        for head, result in pairs:
            if head == _ENDED:
                continue
            at, operator, dtype = head.split()
            seed = int(at) + 1
            counts[operator, dtype][result.split(":")[0]] += 1
            if not result.startswith(("exact", "not in", "TFLM")):
                print(f"{operator} {dtype} seed {at}: {result}", flush=True)
                differs += result.startswith("differs")
        if lines and lines[-1] == _ENDED:
            break
    for (operator, dtype), found in sorted(counts.items()):
        print(f"{operator:26} {dtype:8} " + ", ".join(f"{count} {what}" for what, count in found.most_common()))
    return 1 if differs else 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        child(int(sys.argv[2]), float(sys.argv[3]), sys.argv[4:])
    else:
        sys.exit(main())
