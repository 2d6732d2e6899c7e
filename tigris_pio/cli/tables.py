"""Tables of `analyze` and `compile`: the report, the passes, and the search's attempts."""

import dataclasses
from collections.abc import Sequence
from typing import Any

from tigris_pio.cli.console import out
from tigris_pio.compiler.cost.flash import FLASHES
from tigris_pio.compiler.cost.model import machines
from tigris_pio.compiler.passes import PassStatistics
from tigris_pio.compiler.plan.attempt import Attempt
from tigris_pio.fitted import Column, Facts, FittedTable
from tigris_pio.sizes import format_estimate, format_size
from tigris_pio.text import counted


def _limit(size: int | None) -> str:
    return ", no limit" if size is None else f" of {format_size(size)}"


def print_report(document: dict[str, Any]) -> None:
    """Prints a compilation's report: facts, stages and, for a kernel library, its split of memory."""
    memory, compute = document["memory"], document["compute"]
    # The figures of a model that does not fit are for unlimited memory.
    budget = document["budget"] if document["fits"] else {"fast": None, "slow": None, "flash": None}
    proved = ", proved optimal" if document["allocation"]["proved_optimal"] else ""
    io = "input and output included" if memory["io_in_fast"] else "input and output not included"
    rows = [
        ("model", f"{document['model']}: {document['dtype']}, {counted(document['ops'], 'operator')}, "
                  f"{counted(compute['macs'], 'MAC')}"),
        ("fast memory", f"{format_size(memory['fast_peak'])}{_limit(budget['fast'])} ({io})"),
        ("slow memory", f"{format_size(memory['slow_peak'])}{_limit(budget['slow'])}"),
        ("layer by layer", f"{format_size(memory['unscheduled_peak'])} of activations without stages and bands"),
        ("placement", f"{document['allocation']['strategy']}{proved}; lower bound of these stages: "
                      f"{format_size(memory['lower_bound'])}"),
        ("flash", f"{format_size(document['flash']['plan'])} plan{_limit(budget['flash'])}: "
                  f"{format_size(document['flash']['stored'])} weights, "
                  f"{format_size(document['flash']['records'])} records"),
        ("per inference", f"{format_size(document['traffic']['slow_read'])} read from slow memory, "
                          f"{format_size(document['traffic']['slow_written'])} written, "
                          f"{compute['recomputed_macs']:,} MACs recomputed"),
        ("instructions", _predicted(document)),
        *_cycles(document),
    ]  # fmt: skip
    if document["states"]:
        names = ", ".join(state["name"] for state in document["states"])
        rows.append(("states", f"{format_size(memory['states'])} of that memory keep values between runs: {names}"))
    if "hop" in document:
        rows += _hop(document["hop"])
    streamed = [io["name"] for io in (*document["inputs"], *document["outputs"]) if io["home"] == "stream"]
    if streamed:
        rows.append(("streamed", f"{', '.join(streamed)}: row by row during the run"))
    cores = document["cores"]
    if cores["number"] > 1:
        taken = ", ".join(f"{format_estimate(count)} on {processor}" for processor, count in
                          cores["predicted_instructions"].items())  # fmt: skip
        shared = counted(len(cores["split"]), "operator")
        rows.append(("two cores", f"split {shared}; predicted for the slower core: {taken}"))
    backend = document["backend"]
    if backend["name"] != "portable":
        rows.append((
            "kernels", f"{counted(backend['ops'], 'operator')} by {backend['name']}, which needs "
                       f"{format_size(memory['backend_scratch'])} of fast memory for scratch; portable: "
                       + (", ".join(op["op"] for op in backend["portable"]) or "none")
        ))  # fmt: skip
    if document["kernels"]["chip"]:
        rows.append(("chosen", f"{backend['name']} for {document['kernels']['chip']}: {document['kernels']['why']}"))
    out.print(Facts(rows))
    out.print(_stages(document["stages"]))
    if len(backend.get("balance", ())) > 1:
        out.print(_balance(backend))


def _predicted(document: dict[str, Any]) -> str:
    counts = ", ".join(f"{format_estimate(count)} on {processor}" for processor, count
                       in document["predicted_instructions"].items())  # fmt: skip
    name = document["backend"]["name"]
    of = "" if name == "portable" else f", with {name}" if machines(name) else f", with portable kernels, not {name}"
    return f"predicted: {counts}{of}"


def _cycles(document: dict[str, Any]) -> list[tuple[str, str]]:
    """Where a cache is before the flash."""
    counts = [f"{format_estimate(count)} on {name}, {format_size(FLASHES[name].cache)} of cache before the flash"
              for name, count in document["predicted_cycles"].items()]  # fmt: skip
    return [("cycles", f"predicted: {'; '.join(counts)}")] if counts else []


def _balance(backend: dict[str, Any]) -> FittedTable:
    """Cost of each split of fast memory between scratch and arena."""
    columns = (Column("scratch", True), Column("arena", True), Column("operators", True), Column("instructions", True),
               Column("cost", True), Column(""))  # fmt: skip
    rows = [
        (format_size(point["scratch"]), format_size(point["arena"]), str(point["ops"]), f"{point['instructions']:,}",
         f"{point['cost']:,}", "chosen" if point["chosen"] else "")
        for point in backend["balance"]
    ]  # fmt: skip
    return FittedTable(f"split of fast memory between {backend['name']}'s scratch and the arena", columns, rows)


def _hop(hop: dict[str, Any]) -> list[tuple[str, str]]:
    """Compares a run on hop rows with a run on a whole window."""
    whole = "none fits" if hop["whole_fast"] is None else format_size(hop["whole_fast"])
    return [
        ("hop", f"{hop['rows']} of {hop['window']} rows, axis {hop['axis']} of the input: {hop['macs']:,} MACs a run, "
                f"{format_size(hop['fast'])} of fast memory"),
        ("whole windows", f"{hop['whole_macs']:,} MACs a run, {whole} of fast memory"),
    ]  # fmt: skip


def _stages(stages: Sequence[dict[str, Any]]) -> FittedTable:
    """One row per stage; columns that are all zero are left out."""
    slow = any(stage["slow_read"] or stage["slow_written"] for stage in stages)
    recomputed = any(stage["recomputed_macs"] for stage in stages)
    columns = [Column("", True), Column("strategy"), Column("operators", is_name=True), Column("bands", True),
               Column("fast peak", True)]  # fmt: skip
    columns += [Column("slow read", True, detail=1), Column("written", True, detail=2)] if slow else []
    columns += [Column("recomputed", True, detail=3)] if recomputed else []
    rows = []
    for number, stage in enumerate(stages, 1):
        ops = stage["ops"]
        span = ops[0] if len(ops) == 1 else f"{ops[0]} … {ops[-1]} ({len(ops)})"
        bands = str(stage["bands"]) + (f" x {counted(stage['band_rows'], 'row')}" if stage["bands"] > 1 else "")
        row = [str(number), stage["strategy"], span, bands, format_size(stage["fast_peak"])]
        row += [format_size(stage["slow_read"]), format_size(stage["slow_written"])] if slow else []
        row += [f"{100 * stage['recomputed_macs'] / max(1, stage['macs']):.1f} %"] if recomputed else []
        rows.append(row)
    return FittedTable(counted(len(stages), "stage"), tuple(columns), rows)


def statistics_row(row: PassStatistics) -> dict[str, Any]:
    """One pass as JSON."""
    return {"name": row.name, "nodes_in": row.nodes_in, "folded": row.folded, "nodes_out": row.nodes_out}


def attempt_row(attempt: Attempt) -> dict[str, Any]:
    """One attempt of the search as JSON."""
    return {**dataclasses.asdict(attempt), "cost": None if attempt.cost is None else round(attempt.cost)}


def print_attempts(attempts: Sequence[Attempt]) -> None:
    """Prints the search's attempts: the number of the operator order, the method and the outcome."""
    columns = (Column("", True), Column("order", True), Column("slow", True), Column("attempt", is_name=True),
               Column("stages", True), Column("fast", True), Column("cost", True), Column("outcome"))  # fmt: skip
    rows = []
    for number, one in enumerate(attempts, 1):
        figures = ("" if value is None else f"{value:,.0f}" for value in (one.stages, one.fast, one.cost))
        slow = format_size(one.slow_limit) if one.slow_limit else "none"
        method = f"products folded; {one.how}" if one.folded else f"columns; {one.how}" if one.columns else one.how
        rows.append((str(number), str(one.order), slow, method, *figures, one.outcome))
    out.print(FittedTable("attempts; cost: instructions beyond those of whole operators", columns, rows))


def print_passes(statistics: Sequence[PassStatistics]) -> None:
    """Prints each pass with its node counts."""
    names = ("", "pass", "nodes in", "folded", "nodes out")
    columns = tuple(Column(name, name != "pass", name == "pass") for name in names)
    rows = [(str(number), row.name, str(row.nodes_in), str(row.folded), str(row.nodes_out))
            for number, row in enumerate(statistics, 1)]  # fmt: skip
    out.print(FittedTable("passes", columns, rows))
