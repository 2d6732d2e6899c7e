"""What inference costs on the ESP32-S3's vectors: python -m bench.s3 [--models …] [--json FILE]

Instructions of this project's PIE kernels (runtime/src/kernels/pie) for each convolution and fully connected layer of
the int8 networks of a folder, counted by an interpreter that runs them with the networks' own weights on a few pixels
of
random input. Every output is compared with the portable kernels' arithmetic. What the kernels do not take is left to
others and said so. Exit status 1 if an output differs.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
import onnx

from bench.instructions import Row, add_folder, int8_networks, print_table
from bench.xtensa import kernels
from tigris_pio.compiler.backends.pie_scales import Scale
from tigris_pio.compiler.backends.pie_streams import Layer, dense, depthwise
from tigris_pio.compiler.ir.program import Program, ProgramOp
from tigris_pio.compiler.pipeline import CompileOptions, front
from tigris_pio.format.enums import OpKind
from tigris_pio.format.params import ConvInt8Params, FullyConnectedInt8Params

PIXELS = 3  # that are run; the cost of the rest follows
COLUMNS = [("operator", "operator", ""), ("shape", "shape", ""), ("products", "macs", ",d"), ("kernel", "kernel", ""),
           ("instructions", "instructions", ",d"), ("each", "each", ".3f"), ("right", "right", "")]  # fmt: skip


@dataclass(frozen=True)
class Work:
    """An operator in a kernel's words. `weights`: of a depthwise one [3, 3, channels], else [outputs, products];
    `pixels`
    and `rows` of the whole output; `taps`: rows of the window and vectors of each that are gathered, or none."""

    weights: np.ndarray
    scale: Scale
    pixels: int
    rows: int
    stride: int
    taps: tuple[int, int] | None
    layer: Layer | None

    @property
    def macs(self) -> int:
        return self.pixels * self.weights.size


def work_of(op: ProgramOp, program: Program) -> Work | str:
    """The operator for a PIE kernel, or why there is none."""
    params, output = op.params, program.tensors[op.output]
    weights = op.blobs["weights"]
    own = {name: op.blobs[name].astype(np.int64) for name in ("multiplier", "shift", "bias")}
    if isinstance(params, FullyConnectedInt8Params):
        matrix = weights.reshape(params.out_features, params.in_features)
        pixels = output.bytes // params.out_features
        scale = _scale(own, params, len(matrix))
        return Work(matrix, scale, pixels, 1, 1, None, dense(matrix, scale))
    assert isinstance(params, ConvInt8Params)
    pixels = output.height * output.width
    is_depthwise = op.kind == OpKind.DEPTHWISE_CONV_2D
    kernel = (params.kernel_height, params.kernel_width)
    if (params.dilation_height, params.dilation_width) != (1, 1) or params.groups != 1:
        return "dilation or groups"
    if is_depthwise:
        shaped = weights.reshape(*kernel, -1)
        if kernel != (3, 3) or shaped.shape[2] % 16:
            return f"depthwise {kernel[0]}x{kernel[1]} of {shaped.shape[2]}"
        scale = _scale(own, params, shaped.shape[2])
        return Work(shaped, scale, pixels, output.height, params.stride_width, None, depthwise(shaped, scale))
    matrix = weights.reshape(output.channels, -1)
    inputs = matrix.shape[1] // (kernel[0] * kernel[1])
    if kernel != (1, 1) and inputs * kernel[1] % 16:
        return f"{kernel[0]}x{kernel[1]} of {inputs}: rows are no whole vectors"
    scale = _scale(own, params, len(matrix))
    taps = None if kernel == (1, 1) else (kernel[0], kernel[1] * inputs // 16)
    return Work(matrix, scale, pixels, output.height, params.stride_width, taps, dense(matrix, scale))


def _scale(own: dict[str, np.ndarray], params: ConvInt8Params | FullyConnectedInt8Params, channels: int) -> Scale:
    """The bias already holds what the input's zero point adds."""
    spread = [np.broadcast_to(own[name], channels) for name in ("multiplier", "shift")]
    return Scale(spread[0], spread[1], own["bias"], params.output_zero_point, params.activation_min,
                 params.activation_max)  # fmt: skip


def measured(work: Work, choose: np.random.Generator) -> tuple[int, bool]:
    """Instructions for the whole output, and whether what was run is right."""
    assert work.layer is not None
    counts, right = [], True
    for pixels in (1, PIXELS):
        if work.weights.ndim == 3:
            shape = (3, (pixels - 1) * work.stride + 3, work.weights.shape[2])
            data = choose.integers(-128, 128, shape, np.int8)
            got, executed = kernels.depthwise(work.layer, data, work.stride)
            windows = np.stack([data[:, x * work.stride :][:, :3] for x in range(pixels)])
            sums = (windows.astype(np.int64) * work.weights).sum(axis=(1, 2))[None]
        else:
            data = choose.integers(-128, 128, (pixels, work.weights.shape[1]), np.int8)
            got, executed = kernels.dense(work.layer, data, len(work.weights))
            sums = data.astype(np.int64) @ work.weights.T.astype(np.int64)
        counts.append(executed)
        right &= np.array_equal(got, work.scale.exact(sums))
    each = (counts[1] - counts[0]) // (PIXELS - 1)
    gathered = work.taps[0] * (2 * work.taps[1] + 5) + 2 if work.taps else 0
    return work.rows * (counts[0] - each) + work.pixels * (each + gathered), right


def rows_of(network: Path) -> list[Row]:
    """A row for each convolution and fully connected layer, and one for all that the kernels take."""
    program = front(onnx.load(network), CompileOptions(backend="esp-nn", chip="esp32s3")).program
    choose, rows = np.random.default_rng(1), []
    for op in program.ops:
        if op.kind not in (OpKind.CONV_2D, OpKind.DEPTHWISE_CONV_2D, OpKind.FULLY_CONNECTED):
            continue
        work, output = work_of(op, program), program.tensors[op.output]
        shape = f"{output.height}x{output.width}x{output.channels}"
        row: Row = {"operator": op.kind.name, "shape": shape, "macs": op.macs}
        if isinstance(work, str) or work.layer is None:
            why = work if isinstance(work, str) else "no exact words"
            rows.append({**row, "kernel": f"- ({why})", "instructions": 0, "each": 0.0, "right": True})
            continue
        count, right = measured(work, choose)
        rows.append({**row, "macs": work.macs, "kernel": work.layer.function.removeprefix("tigris_pie_"),
                     "instructions": count, "each": count / work.macs, "right": right})  # fmt: skip
    own = [row for row in rows if row["instructions"]]
    macs, count = sum(row["macs"] for row in own), sum(row["instructions"] for row in own)
    total = {"operator": f"{len(own)} of {len(rows)}", "shape": "", "kernel": "", "macs": macs, "instructions": count,
             "each": count / max(macs, 1), "right": all(row["right"] for row in own)}  # fmt: skip
    return [*rows, total]


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", help="names, separated by commas; default: all")
    parser.add_argument("--json", type=Path, help="writes the rows, too")
    add_folder(parser)
    options = parser.parse_args()
    names = options.models.split(",") if options.models else int8_networks(options.folder)
    tables = {}
    for name in names:
        tables[name] = rows_of(options.folder / f"{name}_int8.onnx")
        print_table(f"{name} on the ESP32-S3's vectors, instructions", tables[name], COLUMNS)
    if options.json:
        options.json.write_text(json.dumps(tables, indent=1) + "\n")
    return 0 if all(row.get("right", True) for rows in tables.values() for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
