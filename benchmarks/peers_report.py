"""What benchmarks/peers.py found: medians and ratios, as JSON, as tables and as a chart."""

import statistics
from html import escape
from typing import Any

from peers_environments import Side
from rich import markup
from rich.console import Console
from rich.table import Table

Answers = list[dict[str, Any]]
RATES = {
    "enqueue": "Enqueue, one caller, one at a time",
    "50": "Waiting to acked, 4 workers, 50 keys",
    "1": "Waiting to acked, 4 workers, 1 key",
}
TARGETS = {"50": 2.0, "1": 3.0}
PLAIN_TARGET = 0.75
OURS = "turnledger"
STORES = {"sqlite": "SQLite", "postgresql": "PostgreSQL"}


def figures(
    facts: dict[Side, dict[str, Any]],
    answers: dict[str, dict[Side, Answers]],
    counts: dict[str, int],
) -> dict[str, Any]:
    """Everything that was found, for programs."""
    sides = [
        {"name": side.title, "store": side.store, "fifo": fifo(side, answers), **facts[side]}
        for side in facts
    ]
    found: dict[str, Any] = {"sides": sides, "rates": [], "latency": [], "targets": []}
    for store in STORES:
        for what in RATES:
            given = {
                side: one for side, one in answers.get(what, {}).items() if side.store == store
            }
            rows = rates(given, counts[what])
            for row, side in rows:
                row |= {"what": what, "store": store, "fifo": fifo(side, answers)}
            found["rates"] += [row for row, _ in rows]
            found["targets"] += targets(what, store, rows)
        for side, given_answers in answers.get("latency", {}).items():
            if side.store == store:
                found["latency"].append({"store": store, **latency(side, given_answers)})
    return found


def fifo(side: Side, answers: dict[str, dict[Side, Answers]]) -> str:
    """Whether each key's turns are handled in order: what is promised, if it held in each round."""
    seen = [each for what in ("fifo", "50", "1") for each in answers.get(what, {}).get(side, [])]
    if not all(each["exactly"] for each in seen):
        return "LOST OR TWICE"
    if not side.fifo or not seen:
        return "no" if seen else ""
    return "yes" if all(each["fifo"] for each in seen) else "BROKEN"


def rates(given: dict[Side, Answers], count: int) -> list[tuple[dict[str, Any], Side]]:
    """Of each side the median rate, and turnledger's over it, round by round."""
    seconds = {side: [each["seconds"] for each in one] for side, one in given.items()}
    medians = {side: statistics.median(each) for side, each in seconds.items()}
    ours = [side for side in medians if side.name == OURS]
    best = min(ours, key=medians.__getitem__) if ours else None
    rows = []
    for side, each in seconds.items():
        row: dict[str, Any] = {"side": side.title, "per_second": round(count / medians[side], 1)}
        if best is not None:
            ratios = [theirs / mine for theirs, mine in zip(each, seconds[best], strict=False)]
            row["ratio"] = round(statistics.median(ratios), 3)
            row["ratio_range"] = [round(min(ratios), 3), round(max(ratios), 3)]
        rows.append((row, side))
    return sorted(rows, key=lambda row: -row[0]["per_second"])


def targets(what: str, store: str, rows: list[tuple[dict[str, Any], Side]]) -> list[dict[str, Any]]:
    """What is to be reached, and whether it is."""
    peers = [(row, side) for row, side in rows if side.name != OURS and "ratio" in row]
    if what in TARGETS:
        keepers = [row for row, _ in peers if row["fifo"] == "yes"]
        wanted = [(row, TARGETS[what]) for row in keepers[:1]]  # the fastest
    else:
        wanted = [(row, PLAIN_TARGET if side.plain else 1.0) for row, side in peers]
    return [
        {
            "what": what,
            "store": store,
            "peer": row["side"],
            "ratio": row["ratio"],
            "target": target,
            "reached": row["ratio"] >= target,
        }
        for row, target in wanted
    ]


def latency(side: Side, given: Answers) -> dict[str, Any]:
    """From append to the claim, in milliseconds; and the part of it that is the append's own."""
    seconds = sorted(each for one in given for each in one["seconds"])
    append = [each for one in given for each in one["append"]]
    idle = [one["idle_cpu"] for one in given if one["idle_cpu"] is not None]
    return {
        "side": side.title,
        "p50_ms": round(statistics.median(seconds) * 1e3, 1),
        "p95_ms": round(statistics.quantiles(seconds, n=20, method="inclusive")[-1] * 1e3, 1),
        "append_p50_ms": round(statistics.median(append) * 1e3, 1),
        "turns": len(seconds),
        "idle_cpu_percent": round(statistics.median(idle) * 100, 2) if idle else None,
    }


def show(found: dict[str, Any], console: Console) -> None:
    """Print the tables."""
    for store, name in STORES.items():
        for what, title in RATES.items():
            rows = [r for r in found["rates"] if (r["what"], r["store"]) == (what, store)]
            if not rows:
                continue
            table = Table(
                *("", "turns/s", "turnledger's / its", "lowest to highest"),
                *(() if what == "enqueue" else ("FIFO per key",)),
                title=f"{name}: {title}",
            )
            for row in rows:
                spread = " to ".join(f"{one:.2f}" for one in row.get("ratio_range", ()))
                ratio = f"{row['ratio']:.2f}" if "ratio" in row else ""
                cells = (row["side"], f"{row['per_second']:,.0f}", ratio, spread)
                table.add_row(*cells, *(() if what == "enqueue" else (row["fifo"],)))
            console.print(table)
        rows = [row for row in found["latency"] if row["store"] == store]
        if rows:
            head = ("", "p50 ms", "p95 ms", "of these the append", "idle CPU of the worker")
            table = Table(*head, title=f"{name}: From append to the claim in another process")
            for row in sorted(rows, key=lambda row: row["p50_ms"]):
                idle = row["idle_cpu_percent"]
                times = [f"{row[each]:,.1f}" for each in ("p50_ms", "p95_ms", "append_p50_ms")]
                table.add_row(row["side"], *times, "" if idle is None else f"{idle:.2f} %")
            console.print(table)
    _show_targets(found, console)
    _show_sides(found, console)


def _show_targets(found: dict[str, Any], console: Console) -> None:
    table = Table("", "store", "peer", "ratio", "wanted", "reached", title="Targets")
    for row in found["targets"]:
        numbers = (f"{row['ratio']:.2f}", f"{row['target']:.2f}")
        reached = "yes" if row["reached"] else "[red]no[/]"
        table.add_row(RATES[row["what"]], STORES[row["store"]], row["peer"], *numbers, reached)
    console.print(table)


def _show_sides(found: dict[str, Any], console: Console) -> None:
    console.print("How each was used:")
    for side in found["sides"]:
        what = [side[each] for each in ("version", "durability", "workers", "note") if each in side]
        console.print(f"- {side['name']} on {STORES[side['store']]}: {'; '.join(what)}.")
        for measure, reason in side.get("problems", {}).items():
            console.print(f"  [red]not measured, {measure}[/]: {markup.escape(reason)}")


def chart(found: dict[str, Any]) -> str:
    """Bars, as an SVG."""
    panels = []
    for store, name in STORES.items():
        for what, title in RATES.items():
            rows = [r for r in found["rates"] if (r["what"], r["store"]) == (what, store)]
            bars = [
                (
                    r["side"] + ("" if r["fifo"] != "no" or what == "enqueue" else " *"),
                    r["per_second"],
                )
                for r in rows
            ]
            panels.append((f"{name}: {title}, turns/s", bars, "{:,.0f}"))
        waits = [(r["side"], r["p50_ms"]) for r in found["latency"] if r["store"] == store]
        waits.sort(key=lambda bar: bar[1])
        panels.append((f"{name}: append to claim, p50, ms (less is better)", waits, "{:,.1f}"))
    parts, top = [], 28
    for title, bars, form in panels:
        if not bars:
            continue
        parts.append(f'<text x="12" y="{top}" class="title">{escape(title)}</text>')
        longest = max(value for _, value in bars)
        for number, (label, value) in enumerate(bars):
            y = top + 12 + number * 22
            kind = "ours" if label.startswith(OURS) else "peer"
            width = max(1.0, 420 * value / longest)
            parts.append(
                f'<text x="200" y="{y + 13}" class="label">{escape(label)}</text>'
                f'<rect x="208" y="{y}" width="{width:.1f}" height="17" rx="2" class="{kind}"/>'
                f'<text x="{214 + width:.1f}" y="{y + 13}">{form.format(value)}</text>'
            )
        top += len(bars) * 22 + 46
    parts.append(f'<text x="12" y="{top - 8}">* keeps no order within a key</text>')
    style = (
        "text{font:12px sans-serif;fill:#222}.title{font-weight:bold;font-size:13px}"
        ".label{text-anchor:end}.ours{fill:#0b7285}.peer{fill:#adb5bd}rect.back{fill:#fff}"
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 {top}" width="720" '
        f'height="{top}"><style>{style}</style>'
        f'<rect class="back" width="720" height="{top}"/>\n' + "\n".join(parts) + "\n</svg>\n"
    )
