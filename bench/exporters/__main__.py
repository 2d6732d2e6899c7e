"""Models of today's exporters, from end to end: `make zoo`, or `python -m bench.exporters [EXPORTER ...]`.

Each exporter has an environment of its own under .tigris/zoo, with the versions in requirements/. Its models are kept
until the requirements or its program change. Models are compiled without a limit and with little fast memory, run on
the host, and compared with onnxruntime or LiteRT.
"""

import hashlib
import subprocess
import sys
import venv
from collections import Counter
from pathlib import Path

import numpy as np

from bench.command import command, parser_of
from tigris_pio import Session, compile_model
from tigris_pio.compiler.pipeline import Compiled
from tigris_pio.errors import BudgetError, ModelError, TigrisError, UnsupportedError

HERE, ZOO = Path(__file__).parent, Path(".tigris/zoo")
#: Whose models each exporter works on.
EXPORTERS = {"torch": "", "onnxruntime": "torch", "keras": "", "quantizer": "keras", "sklearn": ""}
#: The most by which an output may differ, as a share of its largest number: in float32, in integers (LiteRT computes
#: files of dynamic range in integers, too), and where the reference computes in float16. Integers may differ by a step.
CLOSE, CLOSE_IN_INTEGERS, CLOSE_IN_HALF = 1e-4, 0.02, 2e-3
#: Shares of the fast memory that a plan takes without a limit, beside slow memory.
TIGHT, SLOW = (0.5, 0.75, 0.9), "16M"


def environment(name: str) -> Path:
    """The Python of an exporter's environment, which is made where it is not there as required."""
    folder, wanted = ZOO / name, HERE / "requirements" / f"{name}.txt"
    stamp, python = folder / "installed.txt", folder / "bin" / "python"
    if not stamp.exists() or stamp.read_bytes() != wanted.read_bytes():
        venv.create(folder, with_pip=True, clear=True)
        subprocess.run([python, "-m", "pip", "install", "-q", "-r", wanted], check=True)
        stamp.write_bytes(wanted.read_bytes())
    return python.absolute()


def models(name: str) -> Path:
    """The folder of an exporter's models, which are written where they are not there."""
    source = EXPORTERS[name]
    given = models(source) if source else None
    parts = (HERE / "recorded.py", HERE / f"{name}_models.py", HERE / "requirements" / f"{name}.txt")
    made_of = hashlib.sha256(b"".join(path.read_bytes() for path in parts))
    made_of.update(b"" if given is None else (given / "made_of").read_bytes())
    folder = (ZOO / "models" / name).absolute()
    if not (folder / "made_of").exists() or (folder / "made_of").read_text() != made_of.hexdigest():
        for path in folder.glob("*"):
            path.unlink()
        print(f"{name}: writing models", file=sys.stderr)
        command = [str(environment(name)), f"{name}_models.py", str(folder), *([str(given)] if given else [])]
        with (ZOO / f"{name}.log").open("w") as log:
            subprocess.run(command, cwd=HERE, check=True, stdout=log, stderr=log)
        (folder / "made_of").write_text(made_of.hexdigest())
    return folder


def judged(path: Path) -> tuple[str, str, int]:
    """right, refused or wrong; why or how far apart; bytes of the plan."""
    try:
        ample = compile_model(path)
        plans = [ample, *tight(path, ample)]
        apart = [compared(path, plan) for plan in plans]
    except UnsupportedError as error:
        return "refused", "; ".join(f"{name}: {reason}" for name, _, reason in error.refused) or str(error), 0
    except TigrisError as error:
        return ("refused" if isinstance(error, ModelError) else "wrong"), str(error), 0
    except Exception as error:  # the compiler's own fault
        return "wrong", f"{type(error).__name__}: {error}", 0
    worst = max(apart)
    return ("right" if worst[0] <= 1 else "wrong"), f"{worst[1]} at {len(plans)} budgets", len(ample.data)


def tight(path: Path, ample: Compiled) -> list[Compiled]:
    """A plan in little memory, if there is one."""
    for share in TIGHT:
        try:
            return [compile_model(path, fast=max(256, int(share * ample.plan.fast_bytes)), slow=SLOW)]
        except BudgetError:
            continue
    return []


def compared(path: Path, plan: Compiled) -> tuple[float, str]:
    """The largest difference of an output over its limit, and that in words."""
    found = [(0.0, "equal")]
    with np.load(path.with_suffix(".npz")) as recorded, Session(plan) as session:
        result = session.run({name[3:]: recorded[name] for name in recorded.files if name.startswith("in:")})
        steps = {item["name"]: item["scale"] for item in plan.report["outputs"]}
        for name, value in result.items():
            if f"out:{name}" not in recorded.files:
                return float("inf"), f"the reference has no output {name}"
            expected = recorded[f"out:{name}"]
            most = float(np.abs(expected.astype(np.float64)).max(initial=0)) or 1.0
            off = float(np.abs(value.astype(np.float64).reshape(expected.shape) - expected).max(initial=0))
            close = CLOSE if plan.report["dtype"] == "float32" else CLOSE_IN_INTEGERS
            close = CLOSE_IN_HALF if expected.dtype == np.float16 else close
            close = CLOSE_IN_INTEGERS if path.suffix == ".tflite" and "dynamic" in path.stem else close
            step = 1.0 if expected.dtype.kind in "iu" and steps[name] else steps[name]
            found.append((off / max(close * most, 1.001 * step), f"{name} {off / most:.1e} of the largest apart"))
    return max(found)


@command
def main() -> int:
    parser = parser_of(__doc__)
    parser.add_argument("exporters", nargs="*", choices=[[], *EXPORTERS], metavar="EXPORTER", help=", ".join(EXPORTERS))
    names = parser.parse_args().exporters or list(EXPORTERS)
    counts: Counter[tuple[str, str]] = Counter()
    for exporter in names:
        folder = models(exporter)
        for path in sorted(folder.iterdir()):
            if path.suffix == ".txt":
                counts[exporter, "not written"] += 1
                print(f"{path.stem:<36} {exporter:<12} not written  {path.read_text()[:100]!r}")
            elif path.suffix in (".onnx", ".tflite") and path.with_suffix(".npz").exists():
                verdict, why, size = judged(path)
                counts[exporter, verdict] += 1
                print(f"{path.stem:<36} {exporter:<12} {verdict:<8} {size or '':>8}  {' '.join(why.split())[:160]}")
                sys.stdout.flush()
    for exporter in names:
        print(f"{exporter}: " + ", ".join(f"{counts[exporter, kind]} {kind}"
                                          for kind in ("right", "refused", "wrong", "not written")))  # fmt: skip
    return 1 if any(kind == "wrong" for _, kind in counts) else 0
