"""Instructions that a second core saves: python -m bench.two_cores [--models …] [--budgets …] [--folder …]

Counts the instructions of a run on rv32imc on one core, and on the busier of two cores: all calls that are not split,
and the larger half of every split call. The halves run one after the other to be counted. Then both run at the same
time on the two harts of QEMU's `virt`, uncounted. Waking the other core and waiting for it are not counted. Every
output is compared with the recorded one. Exit status 1 if one differs.
"""

from collections.abc import Sequence
from pathlib import Path

from bench.command import Row, command, parser_of, print_table
from bench.emulator import MACHINES, BenchError, emulate, link, numbers, runtime_sources, work_folder
from bench.networks import fit, recorded

COLUMNS = [("network", "name"), "budget", ("one core", "one"), ("longer of two", "longer"),
           ("share", "share", ".3f"), ("predicted", "predicted", ".3f"), "calls", "split",
           ("on two harts", "shared")]  # fmt: skip
MACHINE = MACHINES["rv32imc"]


def build(folder: Path, runtime: Sequence[Path] = ()) -> Path:
    """The program. runtime: objects of the whole runtime for this machine, if there are some."""
    return link(MACHINE, folder / "two_cores.elf", "two_cores.c", *(runtime or runtime_sources()))


def measure(program: Path, plan: bytes, content: bytes) -> dict[str, int]:
    """The numbers that the program prints: counted on one hart, and with both harts at once."""
    counted = numbers(emulate(MACHINE, program, plan, content))
    shared = numbers(emulate(MACHINE, program, plan, content, ("-smp", "2")))
    if "shared" not in shared:
        raise BenchError("the second hart did not come")
    return counted | {"shared": shared["shared"]}


def row_of(program: Path, networks: Path, name: str, fast: str) -> Row:
    """One line of the table."""
    network, content = recorded(networks, name)
    compiled, budget = fit(network, fast, cores=2)
    found = measure(program, compiled.data, content)
    predicted = compiled.report["cores"]["predicted_instructions"]["rv32imc"]
    return {
        "name": name, "budget": budget, **found, "share": found["longer"] / found["one"],
        "predicted": predicted / compiled.report["predicted_instructions"]["rv32imc"],
        "calls": sum(stage.bands * (stage.end_op - stage.first_op) for stage in compiled.plan.stages),
    }  # fmt: skip


@command
def main() -> None:
    """The command."""
    options = parser_of(__doc__, "folder", models="kws,resnet,vww", budgets="256K,64K,32K,16K").parse_args()
    with work_folder() as folder:
        program = build(folder)
        rows = [row_of(program, options.folder, name, fast) for name in options.models for fast in options.budgets]
        print_table("rv32imc, -O2: instructions of a run", rows, COLUMNS)
