"""`tacit bench`: what evaluations cost on this machine."""

from __future__ import annotations

import json as json_module
from typing import Annotated, Any

import typer

from tacit.errors import InputError

app = typer.Typer(no_args_is_help=True, help="Measure on this machine.")


@app.callback()
def _group() -> None:
    """Measure on this machine."""


@app.command()
def engine(
    population: Annotated[int, typer.Option(min=1, help="Candidates per evaluation.")] = 300,
    size: Annotated[int, typer.Option(min=1, help="Rows and columns of the matrix.")] = 100,
    latency: Annotated[
        str | None, typer.Option(help="Delay added to every message, such as 10ms.")
    ] = None,
    against: Annotated[str | None, typer.Option(help="Compare with this engine: mpyc.")] = None,
    best: Annotated[str, typer.Option(help="value, improvement or nothing.")] = "value",
    repeats: Annotated[int, typer.Option(min=1, help="Evaluations per disclosure.")] = 20,
    measurements: Annotated[
        int, typer.Option(min=1, help="How often to measure all disclosures, one after another.")
    ] = 1,
    json: Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")] = False,
) -> None:
    """Time evaluations on three local nodes: seconds, rounds, bytes per node, ratio to MPyC."""
    from tacit.engine.local import DISCLOSURES, measure_engine, seconds_with_mpyc
    from tacit.runs import parse_duration

    if against not in (None, "mpyc"):
        raise InputError(f"--against {against}: there is mpyc to compare with")
    delay = 0.0 if latency is None else 1000 * parse_duration(latency)
    measured = measure_engine(
        population=population, size=size, latency_ms=delay, repeats=repeats,
        measurements=measurements, best=best,
    )  # fmt: skip
    others: dict[str, float] = {}
    if against is not None:
        # MPyC runs without the delay, so a ratio under delay would flatter it.
        others = seconds_with_mpyc(DISCLOSURES, population=population, size=size)
    rows: dict[str, dict[str, Any]] = {}
    for name, each in measured.items():
        ratio = round(others[name] / each.seconds, 1) if name in others and not delay else None
        rows[name] = {
            "seconds": round(each.seconds, 6),
            "each_seconds": [round(seconds, 6) for seconds in each.each_seconds],
            "rounds": each.rounds,
            "bytes_per_node": each.bytes_per_node,
            "ratio_to_mpyc": ratio,
        }
    if json:
        whole = {"population": population, "size": size, "latency_ms": delay, "disclosures": rows}
        typer.echo(json_module.dumps(whole, indent=2))
        return
    for name, row in rows.items():
        compared = "" if row["ratio_to_mpyc"] is None else f", {row['ratio_to_mpyc']} x MPyC"
        measured_ms = [1000 * seconds for seconds in row["each_seconds"]]
        span = (
            f" ({min(measured_ms):.1f} to {max(measured_ms):.1f})" if len(measured_ms) > 1 else ""
        )
        typer.echo(
            f"{name:12} {1000 * row['seconds']:8.1f} ms{span} {row['rounds']:3} rounds "
            f"{row['bytes_per_node']:9} bytes per node{compared}"
        )
