"""The runs one takes part in, and what came of them."""

from __future__ import annotations

import csv
import io

from tacit.engine.agreement import Agreement
from tacit.participant.profile import Profile
from tacit.participant.shapes import Outcome, RunSummary


def runs(profile: Profile, /) -> list[RunSummary]:
    """All runs that this participant is a member of.

    >>> runs.__name__
    'runs'
    """
    with profile.connect() as client:
        return client.get("/runs", list[RunSummary])


def result(profile: Profile, run: str, /) -> Outcome:
    """What came of a run, or how it stands.

    >>> result.__name__
    'result'
    """
    with profile.connect() as client:
        return client.get(f"/runs/{run}/result", Outcome)


def plan_rows(outcome: Outcome, agreement: Agreement | None, account: str, /) -> list[list[str]]:
    """A plan as lines of row, column, and whether the row is one's own.

    >>> from tacit.engine.cast import example_cast
    >>> from tacit.participant.shapes import Plan
    >>> plan_rows(Outcome("finished", plan=Plan([1, 0])), example_cast().agreement, "owner")
    [['0', '1', 'yours'], ['1', '0', 'yours']]
    """
    if outcome.plan is None:
        return []
    pairs = outcome.plan.named
    if pairs is None:
        pairs = [(str(row), str(column)) for row, column in enumerate(outcome.plan.items)]
    own: set[int] = set()
    is_assignment = agreement is not None and agreement.problem.kind == "assignment"
    if agreement is not None and is_assignment:
        own = {row for k in agreement.confidential() for row in agreement.rows_of(account, k)}
    return [[row, column, "yours" if r in own else ""] for r, (row, column) in enumerate(pairs)]


def plan_csv(rows: list[list[str]], /) -> str:
    r"""A plan for a spreadsheet.

    >>> plan_csv([["F1", "08:10", "yours"]])
    'row,column,whose\nF1,08:10,yours\n'
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["row", "column", "whose"])
    writer.writerows(rows)
    return out.getvalue()
