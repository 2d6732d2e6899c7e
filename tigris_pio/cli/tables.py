"""Tables for people: a compilation's report, its passes, and comparisons."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.markup import escape
from rich.table import Table

from tigris_pio.cli.console import out
from tigris_pio.compiler.normalise import PassStatistics
from tigris_pio.sizes import format_size
from tigris_pio.text import visible_name


def _limit(size: int | None) -> str:
    return ", no limit" if size is None else f" of {format_size(size)}"


def facts(rows: Sequence[tuple[str, str]]) -> Table:
    """Two columns without a frame."""
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="bold")
    table.add_column()
    for name, value in rows:
        table.add_row(name, escape(visible_name(value)))
    return table


def print_report(document: dict[str, Any]) -> None:
    """The whole report of `analyze` and `compile`."""
    memory, compute = document["memory"], document["compute"]
    # Figures of a model that does not fit are those of unlimited memory.
    budget = document["budget"] if document["fits"] else {"fast": None, "slow": None, "flash": None}
    io = "input and output included" if memory["io_in_fast"] else "input and output not included"
    rows = [
        ("model", f"{document['model']}: {document['dtype']}, {document['ops']} operators, {compute['macs']:,} MACs"),
        ("fast memory", f"{format_size(memory['fast_peak'])}{_limit(budget['fast'])} ({io})"),
        ("slow memory", f"{format_size(memory['slow_peak'])}{_limit(budget['slow'])}"),
        ("layer by layer", f"{format_size(memory['unscheduled_peak'])} of activations, without stages and bands"),
        ("placement", f"{document['allocation']['strategy']}; no placement of these stages needs less than "
                      f"{format_size(memory['lower_bound'])}"),
        ("flash", f"{format_size(document['flash']['plan'])} plan{_limit(budget['flash'])}, "
                  f"{format_size(document['flash']['weights'])} of it weights"),
        ("per inference", f"{format_size(document['traffic']['slow_read'])} read from slow memory, "
                          f"{format_size(document['traffic']['slow_written'])} written, "
                          f"{compute['recomputed_macs']:,} MACs computed again"),
    ]  # fmt: skip
    if document["states"]:
        names = ", ".join(state["name"] for state in document["states"])
        rows.append(("states", f"{format_size(memory['states'])} of that memory live from run to run: {names}"))
    backend = document["backend"]
    if backend["name"] != "portable":
        rows.append((
            "kernels", f"{backend['ops']} operators by {backend['name']}, which takes "
                       f"{format_size(memory['backend_scratch'])} more of fast memory as scratch; portable: "
                       + (", ".join(op["op"] for op in backend["portable"]) or "none")
        ))  # fmt: skip
    out.print(facts(rows))
    out.print(_stages(document["stages"]))


def _stages(stages: Sequence[dict[str, Any]]) -> Table:
    """Columns of zeros are left out, for terminals are narrow."""
    table = Table(title=f"{len(stages)} stage{'s' if len(stages) > 1 else ''}", title_justify="left")
    slow = any(stage["slow_read"] or stage["slow_written"] for stage in stages)
    again = any(stage["recomputed_macs"] for stage in stages)
    columns = [("", "right"), ("strategy", "left"), ("operators", "left"), ("bands", "right"), ("fast peak", "right")]
    columns += [("slow read", "right"), ("written", "right")] if slow else []
    columns += [("again", "right")] if again else []
    for name, justify in columns:
        table.add_column(name, justify=justify, overflow="fold" if name == "operators" else "ellipsis")  # type: ignore[arg-type]
    for number, stage in enumerate(stages, 1):
        ops = stage["ops"]
        span = ops[0] if len(ops) == 1 else f"{ops[0]} … {ops[-1]} ({len(ops)})"
        bands = str(stage["bands"]) if stage["bands"] == 1 else f"{stage['bands']} x {stage['band_rows']} rows"
        row = [str(number), stage["strategy"], escape(visible_name(span)), bands, format_size(stage["fast_peak"])]
        row += [format_size(stage["slow_read"]), format_size(stage["slow_written"])] if slow else []
        row += [f"{100 * stage['recomputed_macs'] / max(1, stage['macs']):.1f} %"] if again else []
        table.add_row(*row)
    return table


def statistics_row(row: PassStatistics) -> dict[str, Any]:
    """One pass as JSON."""
    return {"name": row.name, "nodes_in": row.nodes_in, "folded": row.folded, "nodes_out": row.nodes_out}


def print_passes(statistics: Sequence[PassStatistics]) -> None:
    """What each pass did."""
    table = Table(title="passes", title_justify="left")
    for name in ("", "pass", "nodes in", "folded", "nodes out"):
        table.add_column(name, justify="left" if name == "pass" else "right")
    for number, row in enumerate(statistics, 1):
        table.add_row(str(number), row.name, str(row.nodes_in), str(row.folded), str(row.nodes_out))
    out.print(table)
