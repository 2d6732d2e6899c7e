"""Fits predictions for the ESP32-S3 to firmware on the emulated chip: python -m bench.emulated_s3 [--write]

EMULATED holds millions of instructions an inference of firmware on Espressif's emulated chip: QEMU 9.2.2, ESP-IDF
5.5.5, GCC 12.2 with -O2, 64 KB, one core, ESP-NN 1.2.3. Prints predictions beside these counts. A factor scales each
row of ESP-NN, whose C around its assembly is an estimate. Least squares of relative errors find the factors. They are
drawn to the factor of the portable kernels, because networks are fewer than rows. The portable fully connected layer
has a factor too. `--write` writes the factors to tigris_pio/compiler/cost/table.json.

The kernels of `pie` were emulated in an earlier version only. Their counts are the interpreter's, with rv32imc for C.
"""

from collections import Counter
from collections.abc import Iterable, Mapping

import numpy as np

from bench.command import Row, command, parser_of, print_table
from bench.emulator import NETWORKS
from bench.fit import write_table
from tigris_pio import compile_model
from tigris_pio.compiler.cost.kernel import kernel_of
from tigris_pio.compiler.cost.model import TABLE, CostModel, row_name
from tigris_pio.compiler.ir.plan import ExecutionPlan
from tigris_pio.compiler.plan.band.calls import plan_stage_calls
from tigris_pio.compiler.plan.prediction import predicted_instructions

CHIP = "esp32s3"
#: By network: portable kernels, ESP-NN; and `pie`, counted as said above.
EMULATED = {
    "kws": (12.55, 4.06, 0.752), "ad": (2.02, 0.241, 0.0584), "sww": (4.07, 1.060, 0.245),
    "resnet": (56.7, 31.1, 3.036), "vww": (40.0, 15.1, 3.094), "person_detect": (38.6, 14.9, 2.908),
    "micro_speech": (2.16, 1.137, 0.329),
}  # fmt: skip
BACKENDS = ("portable", "esp-nn", "pie")
#: Weight of a factor's distance from that of the portable kernels, beside relative errors of networks.
DRAWN = 0.05
#: The portable kernel with a factor of its own, and the network that consists of it.
PORTABLE_ROW, PORTABLE_NETWORK = "FULLY_CONNECTED INT8", "ad"
COLUMNS = ["network", "backend", "counted", "predicted", ("error", "error", ".1%")]


def plan_of(network: str, backend: str) -> ExecutionPlan:
    """The plan that was emulated."""
    return compile_model(NETWORKS / f"{network}_int8.onnx", fast="64K", backend=backend, chip=CHIP).plan


def shares(plan: ExecutionPlan, backend: str) -> Mapping[str, float]:
    """Predicted instructions by row of a library or of the portable kernels, and "" for all others."""
    model, found, tensors = CostModel.of(CHIP), Counter[str](), plan.program.tensors
    rows = model.rows if backend == "portable" else model.libraries[backend]
    for stage in plan.stages:
        calls = plan_stage_calls(plan, stage).calls
        for op, counts in zip(plan.program.ops[stage.first_op : stage.end_op], calls, strict=True):
            own = (op.backend or op.accelerated_by or "portable") == backend
            name = row_name(rows, kernel_of(op, tensors).name) if own else None
            found[name or ""] += op.images * model.calls(op, tensors, counts)
    found[""] += predicted_instructions(plan, CHIP) - sum(found.values())
    return found


def library_factors() -> dict[str, float]:
    """The factor of each row of ESP-NN, over the present one."""
    parts = {network: shares(plan_of(network, "esp-nn"), "esp-nn") for network in EMULATED}
    names = sorted({name for found in parts.values() for name in found} - {""})
    counts = {network: 1e6 * count for network, (_, count, _) in EMULATED.items()}
    work = [[found[name] / counts[network] for name in names] for network, found in parts.items()]
    wanted = [1 - found[""] / counts[network] for network, found in parts.items()]
    present = TABLE["processors"][CHIP].get("factors", {}).get("esp-nn", {})
    drawn = [TABLE["processors"][CHIP]["times"] / present.get(name, 1.0) for name in names]
    matrix = np.vstack([work, DRAWN * np.eye(len(names))])
    found, *_ = np.linalg.lstsq(matrix, np.concatenate([wanted, DRAWN * np.array(drawn)]), rcond=None)
    return {name: round(float(factor) * present.get(name, 1.0), 2) for name, factor in zip(names, found, strict=True)}


def portable_factor() -> float:
    """The factor of PORTABLE_ROW, over the present one."""
    found = shares(plan_of(PORTABLE_NETWORK, "portable"), "portable")
    others = sum(found.values()) - found[PORTABLE_ROW]
    return (1e6 * EMULATED[PORTABLE_NETWORK][0] - others) / found[PORTABLE_ROW]


def rows(networks: Iterable[str] = tuple(EMULATED)) -> list[Row]:
    """Predictions beside counts."""
    made = []
    for network in networks:
        for backend, millions in zip(BACKENDS, EMULATED[network], strict=True):
            counted, predicted = round(1e6 * millions), predicted_instructions(plan_of(network, backend), CHIP)
            made.append({"network": network, "backend": backend, "counted": counted, "predicted": predicted,
                         "error": predicted / counted - 1})  # fmt: skip
    return made


@command
def main() -> None:
    """The command."""
    parser = parser_of(__doc__)
    parser.add_argument("--write", action="store_true", help="write the factors")
    if parser.parse_args().write:
        present = TABLE["processors"][CHIP].get("factors", {}).get("portable", {}).get(PORTABLE_ROW, 1.0)
        factors = {"portable": {PORTABLE_ROW: round(present * portable_factor(), 2)}, "esp-nn": library_factors()}
        TABLE["processors"][CHIP]["factors"] = factors
        write_table(TABLE)
        CostModel.of.cache_clear()
    print_table("ESP32-S3, instructions of firmware on the emulated chip", rows(), COLUMNS)
