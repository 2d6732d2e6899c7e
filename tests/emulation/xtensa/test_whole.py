"""Whole operators and networks: the runtime's C on this machine, every call of assembly under the interpreter."""

import itertools
from pathlib import Path

import numpy as np
import pytest

from bench import s3
from bench.xtensa import whole
from tests.harness.tiers import examples, sampled
from tests.networks.folders import OWN, Network, networks
from tests.runtime.build import PLAIN, RUNTIME, compile_program
from tests.runtime.kernel_harness import plan_for
from tests.runtime.pie_cases import int16_layers, layers, pools, sums
from tigris_pio import Session, compile_model
from tigris_pio.format.enums import OpKind

#: Of those that a variable names, too; the project's own ResNet-8 and visual wake words take the interpreter half a
#: minute, and `python -m bench.s3` runs them.
NETWORKS = sampled((network for network in networks() if network.name in ("kws", "resnet", "vww") and
                    (network.folder != OWN or network.name == "kws")), ["kws"])  # fmt: skip


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """As whole.build makes it, of the core that other tests have compiled."""
    sources = [Path(whole.__file__).with_name("by_pipe.c"), *(RUNTIME / "src" / "kernels" / "pie").glob("*.c")]
    return compile_program(tmp_path_factory.mktemp("pie") / "by_pipe", sources, *PLAIN, "-DTIGRIS_PIE", variant="pie")


def test_layers_of_all_sizes(program: Path) -> None:
    """Channels that are no whole vectors, padding, strides and dilation; whole, in bands and through windows."""
    cases = (layers(examples(3, 30), 21), sums(examples(2, 12), 21), pools(examples(4, 24), 21),
             int16_layers(examples(6, 30), 21))  # fmt: skip
    for op, way in itertools.chain(*cases):
        plan = plan_for(op, way)
        with Session(plan) as session:
            values = {f"in{place}": data for place, data in enumerate(op.inputs)}
            expected = session.run_raw(values)["out"].tobytes()
        found = whole.run(program, plan, b"".join(data.tobytes() for data in op.inputs))
        assert (found.status, found.output) == (0, expected), (op, way)


@pytest.mark.parametrize("network", NETWORKS, ids=str)
def test_networks_give_their_recorded_outputs(network: Network, program: Path) -> None:
    compiled = compile_model(network.path, fast="64K", backend="pie", chip="esp32s3")
    data = network.recorded()[0]
    found = whole.run(program, compiled.data, data["input_q"][0].tobytes())
    assert found.status == 0
    np.testing.assert_array_equal(np.frombuffer(found.output, np.int8), data["output_tflm_q"][0].ravel())
    ops = enumerate(compiled.plan.program.ops)
    taken = {place for place, op in ops if op.backend or op.kind is OpKind.SUM_MAP}
    assert {place for place, count in found.instructions.items() if count} == taken


@pytest.mark.thorough
def test_the_bench_counts_instructions_of_each_operator(program: Path) -> None:
    """In bands, with rows that come and go."""
    *rows, total = s3.rows_of(OWN / "kws_int8.onnx", program, "5K")
    assert total["right"] is True
    assert total["operator"] == "11 of 11"
    assert total["instructions"] == sum(row["instructions"] for row in rows)
    pointwise = [row for row in rows if row["operator"] == OpKind.CONV_2D.name][1:]
    assert all(row["kernel"].startswith("dense_64") and row["each"] <= 0.14 for row in pointwise)
    threes = [row for row in rows if row["operator"] == OpKind.DEPTHWISE_CONV_2D.name]
    assert all(row["each"] <= 0.9 for row in threes)
