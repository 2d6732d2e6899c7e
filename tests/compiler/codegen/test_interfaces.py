"""States, streams, hops, batches, several inputs and outputs, and names that are none in C."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.compiler.codegen.c_model import CModel, build, noise, same
from tests.compiler.lower import test_pack_int4 as four_bits
from tests.compiler.slide.test_slide import spotter
from tests.compiler.test_states import Recurrent
from tests.harness.tiers import examples
from tests.networks.folders import OWN
from tests.networks.test_batches import network
from tests.runtime.build import C99
from tigris_pio import BudgetError, Session, compile_model
from tigris_pio.compiler.codegen.schedule import schedule
from tigris_pio.compiler.pipeline import Compiled
from tigris_pio.errors import UsageError

#: The first test compiles all plans, which takes a minute on an idle machine.
pytestmark = pytest.mark.timeout(1200)


def plans() -> Iterator[tuple[str, Compiled]]:
    """Models with a label each."""
    for seed in range(examples(2, 12)):
        made = Recurrent(seed, quantised=seed % 2 == 1)
        model, ties = made.model(), made.ties()
        ample = compile_model(model, state=ties)
        yield f"states {seed}", ample
        for share in (70, 40):
            try:
                size = max(ample.plan.fast_bytes * share // 100, 64)
                yield f"states {seed} at {share}", compile_model(model, fast=size, slow="64K", state=ties)
            except BudgetError:
                pass
    for batch, fast, slow in ((2, None, 0), (3, None, 0), (3, "2K", "64K"), (3, "600", "64K")):
        yield f"batch {batch} at {fast}", compile_model(network(batch), fast=fast, slow=slow)
    for name, fast in (("kws", "6K"), ("kws", "64K"), ("resnet", "17K"))[: examples(2, 3)]:
        path = OWN / f"{name}_int8.onnx"
        yield f"{name} streamed at {fast}", compile_model(path, fast=fast, stream="input")
    yield "kws streamed out", compile_model(OWN / "kws_int8.onnx", fast="6K", stream=["input", "output"])
    for tables in (0, 2):
        yield f"4 bits, {tables}", compile_model(four_bits.network(tables), fast="12K")
    yield "hop", compile_model(spotter(end="mean"), hop=1)
    yield "hop of 4", compile_model(spotter(), hop=4)
    yield "hop, int8", compile_model(OWN / "sww_int8.onnx", fast="16K", hop=1)
    yield "hop, streamed", compile_model(OWN / "sww_int8.onnx", fast="16K", hop=3, stream="input")


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, CModel]]:
    found = dict(plans())
    generated = [plan.codegen(None, f"m{place}", layout="split") for place, plan in enumerate(found.values())]
    library = build(generated, tmp_path_factory.mktemp("interfaces"))
    sessions = [Session(plan) for plan in found.values()]
    yield {label: CModel(library, plan, made, session)
           for (label, plan), made, session in zip(found.items(), generated, sessions, strict=True)}  # fmt: skip
    for session in sessions:
        session.close()


@pytest.mark.parametrize("kind", ["states", "batch", "streamed", "hop"])
def test_the_same_bytes_run_after_run(models: dict[str, CModel], kind: str) -> None:
    wrong = []
    chosen = {label: model for label, model in models.items() if kind in label}
    for label, model in chosen.items():
        wrong += [f"{label}, run {run}" for run in range(4) if not same(model, noise(model.session, run))]
        if model.plan.program.states:
            model.reset()
            model.session.reset()
            wrong += [f"{label}, anew"] if not same(model, noise(model.session, 9)) else []
    assert len(chosen) > 3
    assert wrong == []


def test_streamed_inputs_roll(models: dict[str, CModel]) -> None:
    """Else their loops would not be tried."""
    loops = [loop for label, model in models.items() if "streamed" in label
             for stage in schedule(model.plan) for loop in stage]  # fmt: skip
    assert any(loop.iterations > 1 for loop in loops)


def test_two_models_in_one_firmware(tmp_path: Path) -> None:
    """Each file has all its kernels, under names that would collide within one file."""
    plans = [compile_model(OWN / "kws_int8.onnx", fast=fast) for fast in ("6K", "64K")]
    for place, plan in enumerate(plans):
        plan.codegen(tmp_path, f"kws{place}")
    body = "int main(void) { return kws0_model.alignment != kws1_model.alignment; }\n"
    main = f'#include "kws0.h"\n#include "kws1.h"\n{body}'
    (tmp_path / "main.c").write_text(main)
    command = ["gcc", *C99, "main.c", "kws0.c", "kws1.c", "-o", "main"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    assert subprocess.run([tmp_path / "main"], check=False).returncode == 0


def test_files_that_are_there_are_left_alone(tmp_path: Path) -> None:
    plan = compile_model(OWN / "kws_int8.onnx", fast="64K")
    plan.codegen(tmp_path, "kws")
    before = {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    plan.codegen(tmp_path, "kws")
    assert {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()} == before and len(before) == 2


def test_refusals() -> None:
    plan = compile_model(OWN / "kws_int8.onnx", fast="64K")
    with pytest.raises(UsageError, match="weights: 'flash' is unknown; use one of c, partition"):
        plan.codegen(None, "kws", "flash")
    with pytest.raises(UsageError, match="layout: 'two' is unknown; use one of one, split"):
        plan.codegen(None, "kws", layout="two")
    library = compile_model(OWN / "kws_int8.onnx", fast="64K", backend="cmsis-nn", chip="cortex-m4")
    with pytest.raises(UsageError, match="C cannot call the kernels of cmsis-nn"):
        library.codegen(None, "kws")
