"""bench.mca: the blocks that QEMU's plugin counts are those of an inference."""

import shutil
from pathlib import Path

import pytest

from bench.emulator import MACHINES, NETWORKS, build, measure
from bench.mca import build_plugin, counted
from bench.networks import fit, recorded
from tests.runtime.boards import few_sources


@pytest.mark.thorough
@pytest.mark.skipif(shutil.which("llvm-objdump") is None, reason="needs the package llvm")
def test_blocks_make_up_an_inference(tmp_path: Path) -> None:
    machine = MACHINES["cortex-m4"]
    model, content = recorded(NETWORKS, "ad")
    plan = fit(model, "256K")[0].data
    program = build(machine, tmp_path, runtime=few_sources())
    blocks, right = counted(machine, program, plan, content, build_plugin(tmp_path))
    assert right
    instructions = measure(machine, program, plan, content).run
    assert sum(block.weight for block in blocks) == pytest.approx(instructions, rel=1e-3)
