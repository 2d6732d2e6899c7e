"""Costs of runs on overlapping windows: python -m bench.hop [--folder …] [--hops 1,2,4]

Each keyword-spotting network at each hop size, beside runs on whole windows: multiply-accumulates a run, bytes of state
between runs, and the smallest fast memory that works. `streaming_spotter` is the family of that name in tests/families,
quantised; the other networks are files of a folder.
"""

from bench.command import command, parser_of, print_cells
from bench.networks import Model, smallest
from tests.families.catalogue import int8_model
from tigris_pio import compile_model
from tigris_pio.errors import UsageError

NETWORKS = ("sww", "kws", "micro_speech")
HEADINGS = ("network", "hop", "MACs a run", "of whole", "kept bytes", "smallest fast", "edge rows again")


def rows(name: str, model: Model, hops: list[int]) -> list[tuple[str, ...]]:
    """One row for whole windows and one for each hop."""
    whole = compile_model(model).report["compute"]["macs"]
    found: list[tuple[str, ...]] = [(name, "whole windows", f"{whole:,}", "", "0", f"{smallest(model):,}", "")]
    for hop in hops:
        try:
            said = compile_model(model, hop=hop).report["hop"]
        except UsageError as error:
            found.append(("", str(hop), str(error), "", "", "", ""))
            continue
        anew = sum(edges["rows"] - edges["new"] for edges in said["edges"])
        found.append(("", f"{hop} of {said['window']} rows", f"{said['macs']:,}", f"{100 * said['macs'] / whole:.1f} %",
                      f"{said['states']:,}", f"{smallest(model, hop=hop):,}", str(anew or "")))  # fmt: skip
    return found


@command
def main() -> None:
    """The command."""
    options = parser_of(__doc__, "folder", hops="1,2,4").parse_args()
    models: dict[str, Model] = {name: options.folder / f"{name}_int8.onnx" for name in NETWORKS}
    models["streaming_spotter"] = int8_model("streaming_spotter")
    hops = list(map(int, options.hops))
    found = [row for name, model in models.items() for row in rows(name, model, hops)]
    print_cells("runs on overlapping windows, int8", HEADINGS, found)
