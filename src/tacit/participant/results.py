"""A participant's runs and their results."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping

import msgspec
import numpy as np

from tacit.engine.agreement import Agreement
from tacit.errors import TrustError
from tacit.participant.account.profile import Profile
from tacit.participant.account.shapes import Outcome, RunSummary, SeriesView
from tacit.participant.own_parts import fetch_own_parts
from tacit.participant.plain_text import plain_cell
from tacit.participant.receipts import fetch_receipts


def runs(profile: Profile, /) -> list[RunSummary]:
    """All runs that this participant is a member of."""
    with profile.connect() as client:
        return client.get("/runs", list[RunSummary])


def series_of(profile: Profile, /) -> list[SeriesView]:
    """All series that this participant is a member of."""
    with profile.connect() as client:
        return client.get("/series", list[SeriesView])


def result(profile: Profile, run: str, /) -> Outcome:
    """The result of a run, or its state so far."""
    with profile.connect() as client:
        outcome = client.get(f"/runs/{run}/result", Outcome)
        agreement = profile.signed_agreement(run)
        parts = []
        if agreement is not None and agreement.for_owners:
            check_shows_no_plan(outcome)
            parts = fetch_own_parts(profile, client, run, agreement) if outcome.for_owners else []
        elif outcome.for_owners:
            profile.need_signed_agreement(run)
        outcome = msgspec.structs.replace(
            outcome,
            own_rows=[own.columns for own in parts],
            rejected=[why for own in parts for why in own.rejected],
            receipts=fetch_receipts(profile, client, run),
        )
    # An interrupted run may be resumed and end with another plan; `log` checks that one then.
    if outcome.plan is not None and outcome.state != "interrupted":
        profile.keep_shown_plan(run, outcome.plan.items)
    return outcome


def check_shows_no_plan(outcome: Outcome, /) -> None:
    """A platform that shows a plan which is for its owners has made it up."""
    if outcome.plan is not None:
        raise TrustError(
            "the platform shows a plan that is for its owners alone, so it is not the nodes'; do "
            "not use it, and ask the operator"
        )


def own_plan_rows(agreement: Agreement, columns: Mapping[int, int], /) -> list[list[str]]:
    """One's own rows of a plan for its owners, or the whole tour, as lines of names."""
    problem = agreement.known_problem
    rows, names = problem.labels
    if problem.between_places:
        listed = problem.listed([columns[at] for at in range(len(columns))])
        return [[str(first), names[place], ""] for first, place in listed]
    return [[rows[row], names[column], "yours"] for row, column in sorted(columns.items())]


def plan_rows(
    outcome: Outcome, agreement: Agreement | None, account: str, /, *, number: int = 1
) -> list[list[str]]:
    """A plan as lines of row, column, and whether the row is one's own; of ways, the places.

    The names are those of the agreement that this machine signed. Without one there are numbers.
    `number` chooses one of several plans.
    """
    if outcome.own_rows and agreement is not None:
        return own_plan_rows(agreement, outcome.own_rows[number - 1])
    if outcome.plan is None:
        return []
    chosen = outcome.plan if number == 1 or not outcome.front else outcome.front[number - 1]
    items = chosen.items
    if agreement is None:
        return [[str(row), str(column), ""] for row, column in enumerate(items)]
    problem = agreement.known_problem
    if not problem.have_the_form(np.array([items], dtype=np.int64)):
        raise TrustError(
            "the platform does not show a plan for the problem that was signed; ask the operator"
        )
    rows, columns = problem.labels
    own = {row for k in agreement.confidential() for row in agreement.rows_of(account, k)}
    if problem.between_places:  # An entry is about no row of its own.
        return [[str(first), columns[place], ""] for first, place in problem.listed(items)]
    return [
        [rows[row], columns[column], "yours" if row in own else ""]
        for row, column in problem.listed(items)
    ]


def plan_csv(rows: list[list[str]], /) -> str:
    r"""A plan for a spreadsheet.

    >>> plan_csv([["F1", "08:10", "yours"], ["=1+1", "@x", ""]])
    "row,column,whose\nF1,08:10,yours\n'=1+1,'@x,\n"
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["row", "column", "whose"])
    writer.writerows([plain_cell(cell) for cell in row] for row in rows)
    return out.getvalue()
