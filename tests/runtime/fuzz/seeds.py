"""Valid plans to damage: `python -m tests.runtime.fuzz.seeds FOLDER` writes them, the compiler's and the kept corpus as
files."""

import itertools
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.runtime.chains import example_chain, plan_of, walk
from tests.runtime.fuzz.geometries import geometries
from tests.runtime.kernel_harness import Way, plan_for
from tests.runtime.operators import operators
from tests.runtime.pie_cases import int16_layers, layers, pools, sums
from tigris_pio.format.enums import WeightMode


def seeds() -> Iterator[tuple[str, bytes]]:
    """Every kernel whole, in bands through windows, with compressed weights; tiled and rolling chains."""
    for index, op in enumerate(operators()):
        name = f"{index:02}-{op.kind.name.lower()}-{op.dtype.name.lower()}"
        height = op.output_shape[1]
        yield f"{name}-whole", plan_for(op, Way(height))
        yield f"{name}-rolling", plan_for(op, Way(2, windows=True, keep=True))
        if op.blobs:
            yield f"{name}-lz4", plan_for(op, Way(height, weights=WeightMode.LZ4))
    for keep in (False, True):
        chain = example_chain(keep)
        for mode in WeightMode:
            yield f"chain-{'rolling' if keep else 'tiled'}-{mode.name.lower()}", plan_of(chain, walk(chain)[0], mode)


if __name__ == "__main__":
    from tests.runtime.fuzz.compiled import compiled_seeds
    from tests.runtime.fuzz.keep import extract

    folder = Path(sys.argv[1])
    plain = ((f"geometry-{index:03}", seed) for index, seed in enumerate(geometries(300, dilated=True)))
    own = (*layers(60), *sums(12), *pools(12), *int16_layers(12))
    vectors = ((f"pie-{index:02}", plan_for(op, way)) for index, (op, way) in enumerate(own))
    for seed_name, seed_plan in itertools.chain(seeds(), plain, vectors, compiled_seeds()):
        (folder / seed_name).write_bytes(seed_plan)
    extract(folder)
