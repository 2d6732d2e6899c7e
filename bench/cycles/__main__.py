"""Cycles of inference on a small RISC-V core: python -m bench.cycles [--models …] [--budgets …] [--json FILE]

Runs int8 networks of a folder in a timing model (core.h): rv32imc with CV32E40P's pipeline, and a cache before the
flash that holds code and plan. Prints instructions, cycles and lines missed, with each output compared. Exit status 1
if an output differs.

Memories:
  sram         code and plan in memory of one cycle
  c3           16 KB of cache, 8 ways, 32-byte lines, 160 cycles a line: an ESP32-C3 at 160 MHz, quad flash at 80 MHz
  slow-flash   the same cache, 608 cycles a line: two data lines (DIO) at 40 MHz
  BYTES,WAYS,LINE,MISS   any other
"""

import argparse
import sys
from collections.abc import Iterator

from bench.command import Row, command, parser_of, print_table, write_json
from bench.cycles.model import MACHINE, Cache, Program, read_program, run
from bench.emulator import build, work_folder
from bench.networks import content_of, fit, int8_networks, narrowed, recorded, smallest

#: Reading 32 bytes takes 8 clocks of command, 6 of address (DIO 12), some 6 of dummies (4) and 64 of data (128).
MEMORIES = {"sram": Cache(0, 1, 32, 0), "c3": Cache(16384, 8, 32, 160), "slow-flash": Cache(16384, 8, 32, 608)}
COLUMNS = ["network", "budget", "memory", "instructions", "cycles", "predicted", "data_misses", "code_misses",
           ("lines of weights", "weight_lines"), "right"]  # fmt: skip
OP_COLUMNS = [("operator", "name"), "kind", "instructions", "cycles", "data_misses", "code_misses"]


def memory(text: str) -> tuple[str, Cache]:
    """Name and cache of a memory model."""
    if text in MEMORIES:
        return text, MEMORIES[text]
    numbers = [int(word) for word in text.split(",") if word.isdecimal()]
    if len(numbers) != 4 or min(numbers) == 0 or numbers[0] % (numbers[1] * numbers[2]) or numbers[2] % 16:
        raise argparse.ArgumentTypeError(
            f"{text}: not one of {', '.join(MEMORIES)}, nor BYTES,WAYS,LINE,MISS with lines of a multiple of 16 bytes"
        )
    return text, Cache(*numbers)


def rows(options: argparse.Namespace, program: Program) -> Iterator[tuple[Row, list[Row]]]:
    """Each network at each budget with each memory, and its operators."""
    for network in options.models or int8_networks(options.folder):
        path, content = recorded(options.folder, network)
        model = narrowed(path, options.weights) if options.weights else path
        for budget in options.budgets:
            compiled, _ = fit(model, str(smallest(model)) if budget == "smallest" else budget)
            content = content_of(compiled) if options.weights else content
            names = [{"name": op.name, "kind": op.kind.name} for op in compiled.plan.program.ops]
            for name, cache in options.memory or MEMORIES.items():
                made = run(program, compiled.data, content, cache)
                operators = [{**names[op], **counts._asdict()} for op, counts in sorted(made.operators.items())]
                yield {
                    "network": network, "budget": budget, "memory": name, **made.counts._asdict(),
                    "weight_lines": made.weight_lines, "right": "right 1" in made.printed.splitlines(),
                    "predicted": compiled.report["predicted_cycles"]["rv32imc"],
                }, operators  # fmt: skip


@command
def main() -> int:
    """The command."""
    parser = parser_of(__doc__, "folder", "json", models=None, budgets="256K,smallest")
    parser.add_argument("--memory", action="append", type=memory, help="may be repeated; default: the first three")
    parser.add_argument("--ops", action="store_true", help="also print each run's operators (second inference)")
    parser.add_argument("--hot", action="store_true", help="with kernels and executor in SRAM (custom_tigris_hot)")
    parser.add_argument("--size", dest="level", action="store_const", const="-Os", default="-O2", help="code at -Os")
    parser.add_argument("--weights", choices=("int4", "table"), help="with weights of 4 bits, or of 16 uneven values")
    options = parser.parse_args()
    with work_folder() as folder:
        program = read_program(build(MACHINE, folder, options.level, ("-DTIGRIS_HOT_IN_IRAM",) * options.hot))
    found = []
    for row, operators in rows(options, program):
        found.append(row)
        if options.ops:
            print_table(f"{row['network']} at {row['budget']}, {row['memory']}", operators, OP_COLUMNS)
    print_table(f"rv32imc, {options.level}, the first inference; predicted: for c3 at -O2", found, COLUMNS)
    write_json(options.json, found)
    wrong = [f"{row['network']} at {row['budget']}" for row in found if not row["right"]]
    if wrong:
        print(f"\nwrong outputs: {', '.join(wrong)}", file=sys.stderr)
    return 1 if wrong else 0
