"""`tacit bench`: what evaluations cost on this machine."""

from __future__ import annotations

import json as json_module
from typing import Annotated, Any

import typer
from studies.benchmarks.engine import DISCLOSURES, EngineTime, measure_engines
from studies.benchmarks.engine_mpyc import seconds_with_mpyc

from tacit.cli.printing import example
from tacit.errors import InputError
from tacit.runs import parse_duration

app = typer.Typer(no_args_is_help=True, help="Measure on this machine.")


@app.callback()
def _group() -> None:
    """Measure on this machine."""


@app.command(epilog=example("bench engine --population 100 --repeats 5"))
def engine(
    population: Annotated[int, typer.Option(min=1, help="Candidates per evaluation.")] = 300,
    size: Annotated[int, typer.Option(min=1, help="Rows and columns of the matrix.")] = 100,
    latency: Annotated[
        str | None, typer.Option(help="Delay added to every message, such as 10ms.")
    ] = None,
    nodes: Annotated[int, typer.Option(min=3, max=4, help="Nodes that evaluate.")] = 3,
    against: Annotated[
        str | None,
        typer.Option(help="Compare with mpyc, or four nodes with three in the same run."),
    ] = None,
    best: Annotated[str, typer.Option(help="value, improvement or nothing.")] = "value",
    repeats: Annotated[int, typer.Option(min=1, help="Evaluations per disclosure.")] = 20,
    measurements: Annotated[
        int, typer.Option(min=1, help="How often to measure all disclosures, one after another.")
    ] = 1,
    json: Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")] = False,
) -> None:
    """Time evaluations on local nodes: seconds, rounds, bytes per node, ratio to another engine."""
    if against not in (None, "mpyc", "three"):
        raise InputError(f"--against {against}: there are mpyc and three to compare with")
    if against == "three" and nodes == 3:
        raise InputError("--against three compares other clusters with three nodes; add --nodes 4")
    delay = 0.0 if latency is None else 1000 * parse_duration(latency)
    measured = measure_engines(
        (3, nodes) if against == "three" else (nodes,),
        population=population, size=size, latency_ms=delay, repeats=repeats,
        measurements=measurements, best=best,
    )  # fmt: skip
    others: dict[str, float] = {}
    if against == "mpyc":
        # MPyC runs without the delay, so a ratio under delay would flatter it.
        others = seconds_with_mpyc(DISCLOSURES, population=population, size=size)
    rows: dict[str, dict[str, Any]] = {}
    for name, each in measured[nodes].items():
        ratio = round(others[name] / each.seconds, 1) if name in others and not delay else None
        rows[name] = {**_row(each), "ratio_to_mpyc": ratio}
        if against == "three":
            three = measured[3][name]
            rows[name] |= {"three": _row(three), "ratio_to_three": _ratios(each, three)}
    if json:
        whole = {
            "nodes": nodes,
            "population": population,
            "size": size,
            "latency_ms": delay,
            "disclosures": rows,
        }
        typer.echo(json_module.dumps(whole, indent=2))
        return
    for name, row in rows.items():
        typer.echo(_line(name, row))


def _row(measured: EngineTime) -> dict[str, Any]:
    return {
        "seconds": round(measured.seconds, 6),
        "each_seconds": [round(seconds, 6) for seconds in measured.each_seconds],
        "rounds": measured.rounds,
        "bytes_per_node": measured.bytes_per_node,
        "processor_seconds_per_node": round(measured.processor_seconds, 6),
    }


def _ratios(measured: EngineTime, three: EngineTime) -> dict[str, float]:
    names = ("seconds", "rounds", "bytes_per_node", "processor_seconds")
    return {name: round(getattr(measured, name) / getattr(three, name), 2) for name in names}


def _line(name: str, row: dict[str, Any]) -> str:
    compared = "" if row["ratio_to_mpyc"] is None else f", {row['ratio_to_mpyc']} x MPyC"
    if "ratio_to_three" in row:
        ratios = row["ratio_to_three"]
        compared = (
            f"; of three nodes' time {ratios['seconds']:.2f}, rounds {ratios['rounds']:.2f}, "
            f"bytes {ratios['bytes_per_node']:.2f}, processor {ratios['processor_seconds']:.2f}"
        )
    each = [1000 * seconds for seconds in row["each_seconds"]]
    span = f" ({min(each):.1f} to {max(each):.1f})" if len(each) > 1 else ""
    return (
        f"{name:12} {1000 * row['seconds']:8.1f} ms{span} {row['rounds']:3} rounds "
        f"{row['bytes_per_node']:9} bytes per node "
        f"{1000 * row['processor_seconds_per_node']:6.1f} ms of its processor{compared}"
    )
