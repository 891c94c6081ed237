"""`tacit log`: verify a node's log, and see whether the platform followed the agreed search."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from tacit.errors import LogError, UnprovenError
from tacit.files import read_bytes

app = typer.Typer(no_args_is_help=True, help="Check what a node logged.")

LogPath = Annotated[Path, typer.Argument(help="A node's log.jsonl.")]


@app.command()
def verify(path: LogPath) -> None:
    """Check that the chain of a log is unbroken, and count what is in it."""
    from collections import Counter

    from tacit.engine.records.node_log import FIRST, line_hash, verify_log

    data = read_bytes(path)
    entries = verify_log(data)
    lines = data.splitlines()
    typer.echo(f"unbroken, {len(entries)} lines, head {line_hash(lines[-1]) if lines else FIRST}")
    for event, count in sorted(Counter(str(entry["event"]) for entry in entries).items()):
        typer.echo(f"{count:8} {event}")


def _shown(numbers: Sequence[int]) -> str:
    """Numbers in their order, of many the first and the last ones."""
    words = [str(each) for each in numbers]
    return ", ".join(words if len(words) <= 8 else [*words[:4], "...", *words[-3:]])


@app.command()
def replay(
    path: LogPath,
    agreement: Annotated[Path, typer.Option(help="The agreement, agreement.json.")],
    ledger: Annotated[Path, typer.Option(help="What the platform says was revealed.")],
    problem: Annotated[
        str | None, typer.Option(help="The problem file, if it has public objectives.")
    ] = None,
    other: Annotated[
        list[Path] | None, typer.Option(help="The log of another node; give those of both.")
    ] = None,
) -> None:
    """Compute every population again and compare it, and the answers, with the log."""
    from tacit.engine.agreement.terms import agreement_hash, read_agreement
    from tacit.engine.records.ledger import load_ledger
    from tacit.engine.records.node_log import verify_log
    from tacit.problems import load_problem
    from tacit.verify.answers import UNPROVEN, check_answers
    from tacit.verify.replay import replay as follow
    from tacit.verify.sealed_answers import check_sealed_answers

    agreed = read_agreement(read_bytes(agreement).strip())
    logs = [verify_log(read_bytes(each)) for each in (path, *(other or []))]
    for entries in logs:
        if not entries or entries[0].get("agreement") != agreement_hash(agreed).hex():
            raise LogError("the log belongs to another agreement; give the one it names")
    told = load_ledger(ledger)
    if agreed.sealed:
        report = check_sealed_answers(agreed, logs, told)
        typer.echo(f"the nodes searched by themselves: {report.generations} generations as agreed")
        typer.echo(
            f"{report.plans} plans and {report.improvements} bits were told; "
            f"{report.senders} parts of the plans are as {len(logs)} of 3 nodes logged them"
        )
        typer.echo(
            "the temperature follows from how many generations the platform expected: "
            f"{_shown(report.horizons)}"
        )
        return
    public = None if problem is None else load_problem(problem)
    answers = check_answers(agreed, logs, told)
    found = follow(agreed, logs[0], told, public=public)
    if not found.complete:
        raise LogError(
            f"generation {found.followed} of {found.generations} is not what the agreed search "
            "asks for; the platform did not follow it"
        )
    typer.echo(f"all {found.generations} populations are those of the agreed search")
    total = answers.confirmed + answers.unconfirmed
    typer.echo(f"{answers.confirmed} of {total} answers are as {len(logs)} of 3 nodes logged them")
    if len(logs) < 3:
        typer.echo("give the logs of all nodes with --other: fewer do not prove an answer")
    if answers.unconfirmed:
        raise UnprovenError(f"{answers.unconfirmed} of {total} answers are not proven: {UNPROVEN}")
