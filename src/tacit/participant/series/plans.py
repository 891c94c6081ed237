"""The plans of a series' runs: shown where a machine follows it, and stored for other programs."""

from __future__ import annotations

from pathlib import Path

from tacit.engine.agreement import Agreement
from tacit.files import replace_file, writing
from tacit.participant.account.profile import Profile
from tacit.participant.account.shapes import Outcome
from tacit.participant.plan_table import plan_csv, plan_heads, plan_rows

MOST_ROWS_SHOWN = 20


def is_shown(profile: Profile, run: str, /) -> bool:
    """Whether this machine has shown a plan of a run, or its own part of one."""
    return profile.shown_plan(run) is not None or bool(profile.own_heads(run))


def own_lines(outcome: Outcome, agreement: Agreement, account: str, run: str, /) -> list[str]:
    """One's own rows of a plan; all rows where none is one's own."""
    rows = plan_rows(outcome, agreement, account)
    mine = [each for each in rows if each[2]] or rows
    lines = [f"{row}  {column}" for row, column, _ in mine[:MOST_ROWS_SHOWN]]
    if len(mine) > MOST_ROWS_SHOWN:
        lines.append(f"and {len(mine) - MOST_ROWS_SHOWN} more: tacit participant result {run}")
    return lines


def store_plan(outcome: Outcome, agreement: Agreement, account: str, folder: Path, /) -> bool:
    """The plan as NUMBER.csv, whole or not at all; whether there is one."""
    rows = plan_rows(outcome, agreement, account)
    if not rows:
        return False
    assert agreement.series is not None
    path = folder / f"{agreement.series.number}.csv"
    with writing(path):
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        text = plan_csv(rows, heads=(*plan_heads(agreement), "whose"))
        replace_file(path, text.encode())
    return True
