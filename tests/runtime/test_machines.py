"""Kernels with instructions that no host has, on emulated machines: DSP instructions (Cortex-M4) and
vectors (Cortex-M55). Outputs must equal those of the portable kernels, which other tests compare with numpy."""

import dataclasses
import functools
import itertools
from collections.abc import Iterable, Iterator

import numpy as np
import pytest

from bench.emulator import NETWORKS
from bench.layers import LAYERS, build_layer
from bench.networks import fit
from tests.harness.tiers import examples
from tests.networks.plans import compiled
from tests.runtime.boards import Case, answers, board_program, case_of
from tests.runtime.kernel_harness import Operator, operator
from tests.runtime.layer_tables import CONVS, DEPTHWISES, NONE, PIXELS3, PIXELS3_WIDTHS, ROWS, SAME, WINDOWS
from tests.runtime.loader import Status
from tests.runtime.operators import operators
from tests.runtime.plan_builder import with_crc
from tests.runtime.random_layers import CONV, DEPTHWISE, FULL_RANGE, PART_RANGE, addition, tiled_layers, window
from tests.runtime.strategies import int8_array
from tests.runtime.test_conv import int8_case
from tests.runtime.test_vectors import exponentials_of, fully_connected_case, softmax_int8
from tigris_pio.compiler.pipeline import Compiled
from tigris_pio.format.enums import DType, OpKind, Packing
from tigris_pio.format.params import PoolInt8Params
from tigris_pio.format.reader import read_plan
from tigris_pio.host import Session
from tigris_pio.host.library import status_text

MACHINES = ("cortex-m4", "cortex-m55")


def with_left_shifts(op: Operator) -> Operator:
    """The operator with left shifts in some channels, and with small weights so that not all outputs saturate."""
    random = np.random.default_rng(3)
    shift = op.blobs["shift"].copy()
    shift[::3] = random.integers(-1, 4, len(shift[::3]))
    multiplier = op.blobs["multiplier"].copy()
    multiplier[::3] = random.integers(1 << 22, 1 << 26, len(shift[::3]))
    return dataclasses.replace(op, blobs={**op.blobs, "shift": shift, "multiplier": multiplier})


def convolutions() -> Iterator[Case]:
    """Whole and row by row, of usual scales, of left shifts and of rare ones."""
    ops = [int8_case(CONV, shape, 1, 1, inputs, outputs, inputs)[0] for shape, inputs, outputs in CONVS]
    ops += [int8_case(DEPTHWISE, shape, 1, channels, 1, 1, channels)[0] for shape, channels in DEPTHWISES]
    # What no kernel for vectors takes.
    ops += [int8_case(DEPTHWISE, DEPTHWISES[0][0], 1, *form, 5)[0] for form in ((6, 1, 1), (4, 1, 2))]
    yield from (case_of(op, rows) for op in ops for rows in (0, 1))
    yield from map(case_of, map(with_left_shifts, ops))
    for shape, channels in DEPTHWISES:
        yield case_of(int8_case(DEPTHWISE, shape, 1, channels, 1, 1, channels, strays=True)[0])
    for kind, shape in WINDOWS:
        form = (6, 1, 1) if kind == DEPTHWISE else (1, 5, 9)
        for seed, rows in ((FULL_RANGE, 0), (PART_RANGE, min(2, shape.output[0]))):
            yield case_of(int8_case(kind, shape, 1, *form, seed)[0], rows)
    for shape, rows, seed, strays in itertools.product(ROWS, (1, 2, 4), (FULL_RANGE, PART_RANGE), (False, True)):
        yield case_of(int8_case(DEPTHWISE, shape, 1, 8, 1, 1, seed, strays)[0], rows)
    yield from map(case_of, tiled_layers(PIXELS3, PIXELS3_WIDTHS[:: examples(3, 1)]))


def vectors() -> Iterator[Case]:
    """Fully connected layers, sums and products, and softmax."""
    for inputs, outputs in itertools.product((5, 16, 27, 640, 1061), (1, 4, 11)):
        op, _ = fully_connected_case(3, inputs, outputs, 0, inputs != 16, inputs)
        yield from (case_of(op), case_of(with_left_shifts(op)))
    for kind, seed in itertools.product((OpKind.ADD, OpKind.SUB, OpKind.MUL), range(examples(1, 3))):
        for channels, first, second in ((19, (5, 3), (5, 3)), (8, (4, 3), (1, 1)), (5, (4, 3), (4, 1))):
            op = addition(kind, channels, seed, first, second)
            yield from (case_of(op), case_of(op, 2))
    for length, scale in itertools.product((1, 4, 10, 67), (2**-8, 0.1, 0.5)):
        x = int8_array(np.random.default_rng(length), (1, 3, 2, length))
        yield case_of(softmax_int8(x, exponentials_of(scale)))


def pools() -> Iterator[Case]:
    random = np.random.default_rng(5)
    shapes = (window((7, 6), (2, 2), (2, 2), NONE), window((6, 7), (3, 3), (1, 2), SAME),
              window((5, 5), (3, 4), (2, 1), (2, 2, 3, 3), (2, 1)))  # fmt: skip
    forms = ((8, 0, -128), (19, 1, -128), (33, 2, -100))
    for kind, shape, (channels, wanted, low) in itertools.product(
        (OpKind.AVERAGE_POOL, OpKind.MAX_POOL), shapes, forms):  # fmt: skip
        rescale = wanted if kind == OpKind.AVERAGE_POOL else 0
        taps = shape.kernel[0] * shape.kernel[1]
        params = PoolInt8Params(
            **shape.geometry, rescale=rescale, include_pad=channels % 2, input_zero_point=-7,
            output_zero_point=4 if rescale == 1 else -7, activation_min=low, activation_max=120, multiplier=0, shift=0,
        )  # fmt: skip
        blobs = {"multiplier": np.array([(1 << 30) + (1 << 29) // k for k in range(1, taps + 1)], np.int32),
                 "shift": np.array([1 if k == 1 else -(k // 2) for k in range(1, taps + 1)], np.int8)}
        x = int8_array(random, (1, *shape.input, channels))
        op = operator(kind, params, x, rows=shape.rows, out=(1, *shape.output, channels),
                      **(blobs if rescale == 1 else {}))  # fmt: skip
        yield from (case_of(op), case_of(op, 1))


def network(name: str, **options: object) -> Case:
    """A recorded input and its output."""
    data = np.load(NETWORKS / f"{name}_vectors.npz")
    return Case(compiled(name, **options).data, data["input_q"][0].tobytes(), data["output_tflm_q"][0].tobytes())


@functools.cache
def cases() -> list[Case]:
    return [*convolutions(), *vectors(), *pools(), network("kws", fast="6K", slow="1M")]


@pytest.mark.parametrize("machine", MACHINES)
def test_kernels(machine: str) -> None:
    found = answers(machine, board_program(machine), cases())
    assert {answer.status for answer in found} == {"0"}
    assert [place for place, answer in enumerate(found) if not answer.right] == []


@pytest.mark.thorough
@pytest.mark.parametrize("machine", MACHINES)
def test_every_int8_operator(machine: str) -> None:
    given = [case_of(op) for op in operators() if op.dtype == DType.INT8]
    given += [network("sww", fast="4K", slow="1M"), network("resnet", fast="20K", slow="1M")]
    found = answers(machine, board_program(machine, every_kernel=True), given)
    assert all(answer.status == "0" and answer.right for answer in found)


def in_rows(ops: Iterable[Operator]) -> list[Operator]:
    return [dataclasses.replace(op, packing=Packing.ROWS_16) for op in ops]


def test_weights_in_rows_of_16() -> None:
    """Kernels with vectors read them; others refuse the plan, and so do these what the compiler does not give them."""
    convs = in_rows(int8_case(CONV, shape, 1, 1, *form, form[0])[0] for shape, *form in CONVS)
    convs += in_rows(int8_case(CONV, shape, 1, 1, 5, 8, seed)[0] for seed in (FULL_RANGE, PART_RANGE)
                     for kind, shape in WINDOWS if kind == CONV)  # fmt: skip
    layers = in_rows(fully_connected_case(3, *sizes, 0, sizes[0] != 16, sizes[0])[0]
                     for sizes in itertools.product((5, 16, 27, 640, 1061), (1, 4, 11)))  # fmt: skip
    taken, others = [], []
    for op in convs:
        has_kernel = op.output_shape[3] % 4 == 0 and op.blobs["weights"][0].size <= 576
        (taken if has_kernel else others).append(op)
    given = [case_of(op, rows) for op in (*taken, *map(with_left_shifts, taken)) for rows in (0, 1)]
    given += [case_of(op) for op in (*layers, *map(with_left_shifts, layers))]
    given += [network("kws", fast="6K", slow="1M", chip="cortex-m55"), network("resnet", chip="cortex-m55")]
    found = answers("cortex-m55", board_program("cortex-m55"), given)
    assert [place for place, answer in enumerate(found) if answer.status != "0" or not answer.right] == []
    assert others
    refused = [*map(case_of, others), *map(beyond_its_block, (taken[0], layers[0]))]
    found = answers("cortex-m55", board_program("cortex-m55"), refused)
    assert {answer.status for answer in found} == {status_text(Status.ERR_PARAMS)}
    (answer,) = answers("cortex-m4", board_program("cortex-m4"), given[:1])
    assert answer.status == status_text(Status.ERR_PACKING)


def beyond_its_block(op: Operator) -> Case:
    """The operator with weights that end inside their block, and zeros of the packing that do not."""
    case = case_of(op)
    plan = read_plan(case.plan)
    (record,), (stage,) = plan.ops, plan.stages
    start = (stage.block_raw_bytes - op.blobs["weights"].size) & -16
    params = dataclasses.replace(plan.params(record), weights=start)  # type: ignore[type-var]
    place = plan.header.params + record.params
    damaged = case.plan[:place] + params.pack() + case.plan[place + record.params_bytes :]
    return dataclasses.replace(case, plan=with_crc(damaged))


#: Instructions a multiplication at most on a Cortex-M55, an eighth above what was counted with -O1.
MOST = {
    "conv 3x3 16x16x32-32": 0.20, "depthwise 3x3 48x48x16": 0.98, "conv 1x1 24x24x32-64": 0.33,
    "conv 3x3 32x32x3-16": 0.68, "depthwise 3x3 s2 24x24x32": 1.36, "fully connected 640-128": 0.23,
}  # fmt: skip


def layer_case(layer: Compiled) -> Case:
    """Any input, with the host's output."""
    with Session(layer) as session:
        (source,), (result,) = session.inputs, session.outputs
        x = np.random.default_rng(1).integers(-128, 128, source.stored_shape).astype(np.int8)
        return Case(layer.data, x.tobytes(), session.run_raw({source.name: x})[result.name].tobytes())


def test_layers_take_few_instructions_with_vectors() -> None:
    """Counts above these limits would show a portable kernel."""
    layers = {layer.name: fit(build_layer(layer), None)[0] for layer in LAYERS if layer.name in MOST}
    found = answers("cortex-m55", board_program("cortex-m55"), list(map(layer_case, layers.values())))
    assert all(answer.right for answer in found)
    for (name, layer), answer in zip(layers.items(), found, strict=True):
        assert answer.instructions <= MOST[name] * sum(op.macs for op in layer.plan.program.ops), name
