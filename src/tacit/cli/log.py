"""`tacit log`: verify a node's log, and see whether the platform followed the agreed search."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tacit.cli.printing import AsJson, command_group, echo_verdict
from tacit.errors import LogError
from tacit.files import read_bytes

LogPath = Annotated[Path, typer.Argument(help="A node's log.jsonl.")]


def verify(path: LogPath) -> None:
    """Check that the chain of a log is unbroken, and count what is in it."""
    from collections import Counter

    from tacit.records import FIRST, read_log

    head, counts = FIRST, Counter[str]()
    for line in read_log(path):
        head = line.hash
        counts[line.event.name] += 1
    typer.echo(f"unbroken, {counts.total()} lines, head {head}")
    for event, count in sorted(counts.items()):
        typer.echo(f"{count:8} {event}")


def check(
    bundle: Annotated[Path, typer.Argument(help="An audit bundle, from tacit run bundle.")],
    as_json: AsJson = False,
) -> None:
    """Check a run from its audit bundle alone, without an account and without the platform.

    Needs tacit's extra "participant". The keys are those that the agreement names: compare them
    with their owners. Ends with 3 if anything is off, and with 5 if something is not proven.
    """
    from tacit.verify import check_bundle, read_bundle

    echo_verdict(check_bundle(read_bundle(read_bytes(bundle))), as_json=as_json)


def replay(
    path: LogPath,
    agreement: Annotated[Path, typer.Option(help="The agreement, agreement.json.")],
    ledger: Annotated[Path, typer.Option(help="The platform's ledger of what was disclosed.")],
    problem: Annotated[
        str | None, typer.Option(help="The problem file, if it has public objectives.")
    ] = None,
    other: Annotated[
        list[Path] | None, typer.Option(help="The log of another node; give those of both.")
    ] = None,
) -> None:
    """Compute every population again and compare it, and the answers, with the log.

    Only the logs of all nodes prove an answer.
    """
    from tacit.agreement import read_agreement
    from tacit.problems import load_problem
    from tacit.records import is_of, load_ledger, verify_log
    from tacit.verify import Claim, check_run

    # An editor may have added a line break, which is not among the signed bytes.
    agreed = read_agreement(read_bytes(agreement).strip())
    # An answer is the sum of what all nodes sent: one log alone proves populations, not answers.
    logs = [verify_log(read_bytes(each)) for each in (path, *(other or []))]
    if not all(is_of(agreed, log) for log in logs):
        raise LogError("the log belongs to another agreement; give the one it names")
    entries = load_ledger(ledger)
    public = None if problem is None else load_problem(problem)
    findings = check_run(agreed, logs, entries, Claim(), public=public)
    for found in findings:
        if found.ok:
            typer.echo(found.detail)
    # The first error ends the command, so what is off comes before what is only unproven.
    for found in sorted(findings, key=lambda each: each.unproven):
        found.check()


app = command_group(
    "log",
    "Check what a node logged.",
    ("verify", verify, "log.jsonl"),
    ("check", check, "run.zip"),
    (
        "replay",
        replay,
        "node-0.jsonl --other node-1.jsonl --other node-2.jsonl --agreement agreement.json "
        "--ledger ledger.jsonl",
    ),
)
