"""A plan as a table in the names that were signed, with one's own rows marked."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np

from tacit.agreement import Agreement
from tacit.errors import TrustError
from tacit.files import replace_file, writing
from tacit.participant.account.shapes import Outcome
from tacit.plain_text import plain_cell, plain_line

YOURS = "yours"
MOST_ROWS_SHOWN = 20
"""Of a plan, where a follower prints it."""


def plan_heads(agreement: Agreement | None, /, *, of_cells: bool = False) -> tuple[str, str]:
    """What the first two entries of a line are called; of cells between places, from and to."""
    if agreement is None:
        return "row", "column"
    problem = agreement.known_problem
    return ("from", "to") if of_cells and problem.between_places else problem.heads


def plan_rows(
    outcome: Outcome, agreement: Agreement | None, account: str, /, *, number: int = 1
) -> list[list[str]]:
    """A plan as lines of row, column, and whether the row is one's own; of ways, the places.

    The names are those of the agreement that this machine signed. Without one there are numbers.
    `number` chooses one of several plans. A place is one's own if the ways from it are.
    """
    if agreement is None:
        items = enumerate(_items(outcome, number))
        return [[str(row), str(column), ""] for row, column in items]
    problem, columns = agreement.known_problem, known_columns(outcome, agreement, number)
    own = {row for k in agreement.confidential() for row in agreement.rows_of(account, k)}
    if not columns:
        return []
    if outcome.own_rows and not problem.between_places:
        rows, names = problem.labels
        return [[rows[row], names[column], YOURS] for row, column in sorted(columns.items())]
    plan = [columns[at] for at in range(len(columns))]
    pairs = problem.listed(plan)
    owners = [second if problem.between_places else first for first, second in pairs]
    return [
        [first, second, YOURS if owner in own else ""]
        for (first, second), owner in zip(problem.listed_names(plan), owners, strict=True)
    ]


def known_columns(outcome: Outcome, agreement: Agreement, number: int, /) -> Mapping[int, int]:
    """The entries of a plan that this machine knows, by their places in it.

    Of a plan for its owners these are one's own rows, or the whole tour.
    """
    if outcome.own_rows:
        return outcome.own_rows[number - 1]
    items = _items(outcome, number)
    if not items:
        return {}
    if not agreement.known_problem.have_the_form(np.array([items], dtype=np.int64)):
        raise TrustError(
            "the platform does not show a plan for the problem that was signed; ask the operator"
        )
    return dict(enumerate(items))


def _items(outcome: Outcome, number: int) -> list[int]:
    """The numbers of a plan that the platform shows; none, if it shows no plan."""
    if outcome.plan is None:
        return []
    chosen = outcome.plan if number == 1 or not outcome.front else outcome.front[number - 1]
    return chosen.items


def table_lines(
    rows: Sequence[Sequence[str]], agreement: Agreement | None, /, *, marked: bool = True
) -> list[str]:
    """A plan for a terminal, with a header; what has no name says from where it is counted.

    >>> table_lines([["F1", "08:10", "yours"], ["F10", "08:20", ""]], None)
    ['row (from 0)  column (from 0)', 'F1            08:10  *', 'F10           08:20']
    """
    heads = _counted_heads(agreement)
    width = max(len(each) for each in (heads[0], *(row[0] for row in rows)))
    lines = [f"{heads[0]:{width}}  {heads[1]}"]
    for first, second, whose in rows:
        mark = "  *" if whose and marked else ""
        lines.append(plain_line(f"{first:{width}}  {second}{mark}"))
    return lines


def _counted_heads(agreement: Agreement | None) -> tuple[str, str]:
    """The heads; positions and vehicles are counted from 1, what a file would name from 0."""
    first, second = plan_heads(agreement)
    if agreement is None:
        return f"{first} (from 0)", f"{second} (from 0)"
    problem = agreement.known_problem
    places = problem.between_places
    first_named = places or problem.row_names is not None
    second_named = problem.column_names is not None or (places and problem.row_names is not None)
    return (
        first if first_named else f"{first} (from 0)",
        second if second_named else f"{second} (from 0)",
    )


def plan_csv(
    rows: Iterable[Sequence[str]], /, *, heads: Sequence[str] = ("row", "column", "whose")
) -> str:
    r"""A plan for a spreadsheet.

    >>> plan_csv([["F1", "08:10", "yours"], ["=1+1", "@x", ""]])
    "row,column,whose\nF1,08:10,yours\n'=1+1,'@x,\n"
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(heads)
    writer.writerows([plain_cell(cell) for cell in row] for row in rows)
    return out.getvalue()


def own_lines(outcome: Outcome, agreement: Agreement, account: str, run: str, /) -> list[str]:
    """One's own rows of a plan, as a follower prints them; all rows where none is one's own."""
    rows = plan_rows(outcome, agreement, account)
    mine = [each for each in rows if each[2]] or rows
    lines = [f"{row}  {column}" for row, column, _ in mine[:MOST_ROWS_SHOWN]]
    if len(mine) > MOST_ROWS_SHOWN:
        lines.append(f"and {len(mine) - MOST_ROWS_SHOWN} more: tacit participant result {run}")
    return lines


def store_plan(outcome: Outcome, agreement: Agreement, account: str, folder: Path, /) -> bool:
    """Store the plan of a run of a series as NUMBER.csv, whole or not at all, if there is one."""
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
