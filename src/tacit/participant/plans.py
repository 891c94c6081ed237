"""Show the plans of a result in the names that were signed, and what they cost their reader.

Own costs are computed here from the participant's own file; nobody else learns them.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from msgspec.structs import asdict
from numpy.typing import NDArray

from tacit.agreement import Agreement
from tacit.client import check_finished
from tacit.errors import InputError, PlatformError, RunEndedError, TrustError
from tacit.files import replace_file, writing
from tacit.participant.costs import read_costs, show_rows
from tacit.participant.leakage_budget import load_hashes, row_hashes, secret_name
from tacit.participant.profile import Profile
from tacit.participant.receipts import receipts_words
from tacit.participant.results import OwnResult, result
from tacit.participant.series_records import CountedRun, balance_lines, balance_of_run
from tacit.participant.submission import chosen_objective
from tacit.plain_text import plain_cell, plain_line
from tacit.problems import unscaled_text

YOURS = "yours"
MOST_ROWS_SHOWN = 20
"""Of a plan, where a follower prints it."""


def plan_heads(agreement: Agreement | None, /, *, of_cells: bool = False) -> tuple[str, str]:
    """The heads of the first two columns; of cells between places, from and to."""
    if agreement is None:
        return "row", "column"
    problem = agreement.known_problem
    return ("from", "to") if of_cells and problem.between_places else problem.heads


def plan_rows(
    outcome: OwnResult, agreement: Agreement | None, account: str, /, *, number: int = 1
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


def known_columns(outcome: OwnResult, agreement: Agreement, number: int, /) -> Mapping[int, int]:
    """The entries of a plan that this machine knows, by their places in it.

    Of a plan for its owners these are one's own rows, or the whole tour.
    """
    if outcome.own_rows:
        return outcome.own_rows[number - 1]
    items = _items(outcome, number)
    if not items:
        return {}
    # The plan is the platform's word: names of the agreement are put to nothing else.
    if not agreement.known_problem.have_the_form(np.array([items], dtype=np.int64)):
        raise TrustError(
            "the platform does not show a plan for the problem that was signed; ask the operator"
        )
    return dict(enumerate(items))


def _items(outcome: OwnResult, number: int) -> list[int]:
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
    # Others chose these names, and a spreadsheet runs what begins like a formula.
    writer.writerows([plain_cell(cell) for cell in row] for row in rows)
    return out.getvalue()


def own_lines(outcome: OwnResult, agreement: Agreement, account: str, run: str, /) -> list[str]:
    """One's own rows of a plan, as a follower prints them; all rows where none is one's own."""
    rows = plan_rows(outcome, agreement, account)
    mine = [each for each in rows if each[2]] or rows
    lines = [f"{row}  {column}" for row, column, _ in mine[:MOST_ROWS_SHOWN]]
    if len(mine) > MOST_ROWS_SHOWN:
        lines.append(f"and {len(mine) - MOST_ROWS_SHOWN} more: tacit participant result {run}")
    return lines


def store_plan(outcome: OwnResult, agreement: Agreement, account: str, folder: Path, /) -> bool:
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


MOST_OWN = 6
"""Of one's own rows, so many are in a line."""


def plan_title(outcome: OwnResult, agreement: Agreement | None, number: int, /) -> str:
    """The weighting a plan was found for, and its own values as far as the platform has them.

    >>> from tacit.client import Plan
    >>> plans = [Plan(items=[0]), Plan(items=[1], weightings=["3:1"])]
    >>> found = OwnResult(state="finished", reason=None, front=plans)
    >>> plan_title(found, None, 2)
    'plan 2 of 2, weighting 3:1'
    """
    words = f"plan {number} of {outcome.count}"
    if outcome.own_rows:
        if agreement is None:
            return words
        factors = agreement.sealed_run.weightings[number - 1]
        return f"{words}, weighting {':'.join(map(str, factors))}"
    plan = outcome.front[number - 1] if outcome.front else None
    if plan is None:
        return words
    names = [] if agreement is None else [each.name for each in agreement.objectives]
    return plan.title(number, outcome.count, names)


def other_plans(
    outcome: OwnResult,
    agreement: Agreement | None,
    account: str,
    shown: int,
    /,
    *,
    sums: Sequence[str] = (),
) -> list[str]:
    """A line for each plan but the shown one, with what it has for one's own rows.

    `sums` are what one's own rows cost under each plan, where that was computed.
    """
    lines = []
    for number in range(1, outcome.count + 1):
        if number == shown:
            continue
        rows = plan_rows(outcome, agreement, account, number=number)
        own = [f"{row} {column}" for row, column, whose in rows if whose]
        more = f" and {len(own) - MOST_OWN} more" if len(own) > MOST_OWN else ""
        yours = f"; yours: {', '.join(own[:MOST_OWN])}{more}" if own else ""
        cost = f"; your sum: {sums[number - 1]}" if sums else ""
        lines.append(plan_title(outcome, agreement, number) + cost + yours)
    return lines


@dataclass(frozen=True)
class OwnCosts:
    """One's own rows of every plan, by one's own file."""

    objective: str
    sense: str
    scale: int
    plans: list[list[tuple[str, str, int]]]
    """Of each plan the row, what it gets, and the scaled weight of that."""
    notes: list[str]

    def sum_text(self, number: int, /) -> str:
        """The sum of a plan, in one's own unit; plans are counted from 1."""
        return unscaled_text(sum(cost for _, _, cost in self.plans[number - 1]), self.scale)

    @property
    def sums(self) -> list[str]:
        return [self.sum_text(number + 1) for number in range(len(self.plans))]

    def to_json(self) -> dict[str, Any]:
        plans = [
            {"rows": self.rows(number), "sum": total}
            for number, total in enumerate(self.sums, start=1)
        ]
        return {"objective": self.objective, "sense": self.sense, "plans": plans}

    def rows(self, number: int, /) -> list[list[str]]:
        return [
            [row, column, unscaled_text(cost, self.scale)]
            for row, column, cost in self.plans[number - 1]
        ]

    def lines(self, number: int, /) -> list[str]:
        """The costs under one plan for a terminal, with their sum."""
        rows = [*self.rows(number), ["sum", "", self.sum_text(number)]]
        widths = [max(len(row[i]) for row in rows) for i in range(3)]
        return [
            f"yours by {self.objective!r} ({self.sense}), computed here from your file",
            *(
                f"{row:{widths[0]}}  {column:{widths[1]}}  {cost:>{widths[2]}}"
                for row, column, cost in rows
            ),
        ]


def own_costs(
    profile: Profile,
    run: str,
    outcome: OwnResult,
    costs: Path,
    /,
    *,
    objective: str | None = None,
) -> OwnCosts:
    """Compute what one's own rows cost under each plan of a result.

    `costs` is the CSV that was sealed; it is checked against the signed agreement as before it was
    sealed. Where this machine remembers the sealed rows, those that are others now are noted.
    """
    agreement = profile.need_signed_agreement(run)
    number = chosen_objective(agreement, profile.account, objective)
    weights = read_costs(costs, agreement, profile.account, number)
    own = agreement.rows_of(profile.account, number)
    line_of = {row: line for line, row in enumerate(own)}
    rows, columns = agreement.known_problem.labels
    plans = [
        [
            (rows[row], columns[column], factor * int(weights[line_of[row], column]))
            for row, column, factor in own_cells(outcome, agreement, own, plan)
        ]
        for plan in range(1, outcome.count + 1)
    ]
    terms = agreement.objectives[number]
    notes = _notes(profile, run, agreement, number, weights)
    return OwnCosts(terms.name, terms.sense, terms.scale, plans, notes)


def own_cells(
    outcome: OwnResult, agreement: Agreement, own: list[int], number: int, /
) -> list[tuple[int, int, int]]:
    """The cells of one's own rows that a plan adds up, and how often each counts."""
    columns, problem = known_columns(outcome, agreement, number), agreement.known_problem
    if outcome.own_rows and not problem.between_places:
        # The columns of the other rows are not known here, and these cells do not depend on them.
        return [(row, columns[row], 1) for row in own if row in columns]
    if not columns:
        return []
    plan = np.array([[columns[at] for at in range(len(columns))]], dtype=np.int64)
    cells = problem.cells(plan)
    factors = np.int64(1) if cells.factors is None else cells.factors
    parts = np.broadcast_arrays(cells.rows, cells.columns, factors)
    picked = zip(*(part[0].tolist() for part in parts), strict=True)
    return sorted(each for each in picked if each[0] in set(own) and each[2])


def _notes(
    profile: Profile,
    run: str,
    agreement: Agreement,
    objective: int,
    weights: NDArray[np.int64],
) -> list[str]:
    """Name rows that are not as they were sealed; hashes of an earlier key tell nothing."""
    kept = load_hashes(profile, run, objective)
    if kept is None or kept.secret != secret_name(profile.keys()):
        return ["this machine does not know what was sealed, so it cannot compare your file"]
    now = row_hashes(weights, agreement.objectives[objective].scale, profile.keys())
    own = agreement.rows_of(profile.account, objective)
    other = [row for row, digest in zip(own, now, strict=True) if digest not in kept.rows]
    if not other:
        return []
    return [f"in your file {show_rows(agreement, other)} is not what you sealed for this run"]


OWN_PART = "this is your own part of the plan; nobody but you has it, so keep it"


@dataclass(frozen=True)
class ShownPlan:
    """One plan of a result, as its participant sees it."""

    profile: Profile
    run: str
    result: OwnResult
    agreement: Agreement | None
    number: int
    rows: list[list[str]]
    own: OwnCosts | None
    """What one's own rows cost, if a file of costs was given."""

    @property
    def has_equity(self) -> bool:
        return self.agreement is not None and self.agreement.equity is not None

    @property
    def counted(self) -> CountedRun | None:
        """What the run disclosed of balances, as far as that is known here."""
        if self.agreement is None or not self.has_equity:
            return None
        return balance_of_run(self.profile, self.run, self.agreement)

    def check(self, *, waited: bool) -> None:
        """Raise an error if there is no plan to show."""
        state, reason = self.result.state, self.result.reason
        if self.result.count:
            return
        # Whoever waited for the end learns how it ended; whoever did not may ask again later.
        if waited:
            check_finished(self.run, state, reason)
        if state in ("cancelled", "failed"):
            raise RunEndedError(f"{self.run} is {state} and will have no plan")
        raise PlatformError(f"{self.run} is {state} and has no plan; try again when it has run")

    def notes(self) -> list[str]:
        """Notes on boxes that were rejected, and on the file of costs."""
        rejected = [f"rejected a box of {why}" for why in self.result.rejected]
        return [*rejected, *([] if self.own is None else self.own.notes)]

    def status(self) -> list[str]:
        """Say how the run ended, and what is proved of the plan."""
        outcome = self.result
        lines = [
            f"{self.run} is {outcome.state}" + (f": {outcome.reason}" if outcome.reason else "")
        ]
        if outcome.proved:
            what = " for costs with their factors" if self.has_equity else ""
            lines.append(f"no plan is better{what}: the nodes proved it, says the platform")
        elif outcome.gaps:
            most = max(outcome.gaps)
            lines.append(f"no plan is better by more than {most:,}, says the platform")
        return lines

    def lines(self) -> list[str]:
        """The plan as a table, what it costs here, and the other plans in a line each."""
        outcome, agreement, several = self.result, self.agreement, self.result.count > 1
        lines = [plan_title(outcome, agreement, self.number)] if several else []
        lines += table_lines(self.rows, agreement, marked=self._is_marked)
        if self.own is not None:
            lines += ["", *self.own.lines(self.number)]
        if several:
            lines += ["", "the others; --plan N shows one of them whole, and --json has all"]
        sums = () if self.own is None else self.own.sums
        lines += other_plans(outcome, agreement, self.profile.account, self.number, sums=sums)
        return [plain_line(line, longest=2000) for line in lines]

    @property
    def _is_marked(self) -> bool:
        """Whether one's own rows are marked: not where all are one's own."""
        return not all(whose for _, _, whose in self.rows)

    def footnotes(self) -> list[str]:
        """Explain the marks, what the run counts for, and which receipts were kept."""
        agreement, counted, lines = self.agreement, self.counted, list[str]()
        if self.result.plan is None:
            lines.append(OWN_PART)
        elif self._is_marked and agreement is not None and agreement.known_problem.between_places:
            lines.append("* yours: what the way from here costs is in your file")
        elif self._is_marked:
            lines.append("* yours")
        if counted is not None:
            lines += balance_lines(counted) or [
                f"run {counted.number} counts for balances, and nothing is told of it"
            ]
        elif self.has_equity:
            lines.append(f"tacit participant log {self.run} tells what it means for balances")
        return [*lines, receipts_words(self.profile, self.run, self.result.receipts)]

    def csv(self) -> str:
        """The plan, or with a file of costs one's own rows of it, for a spreadsheet."""
        third, rows = (
            ("whose", self.rows) if self.own is None else ("cost", self.own.rows(self.number))
        )
        heads = plan_heads(self.agreement, of_cells=self.own is not None)
        return plan_csv(rows, heads=(*heads, third))

    def to_json(self) -> dict[str, Any]:
        shown = {**asdict(self.result), "rows": self.rows}
        if self.has_equity:
            shown["account"] = self.counted
        return shown if self.own is None else {**shown, "own_costs": self.own.to_json()}


def show_plan(
    profile: Profile,
    run: str,
    /,
    *,
    number: int = 1,
    costs: Path | None = None,
    objective: str | None = None,
) -> ShownPlan:
    """Fetch the result of a run, and prepare one of its plans to be shown.

    `costs` is the CSV that was sealed for `objective`: what one's own rows cost is computed here.
    """
    if objective is not None and costs is None:
        raise InputError("--objective says what --costs is for; give both, or neither")
    outcome, agreement = result(profile, run), profile.signed_agreement(run)
    outcome.check_number(number)
    own = None
    if costs is not None and outcome.count:
        own = own_costs(profile, run, outcome, costs, objective=objective)
    rows = plan_rows(outcome, agreement, profile.account, number=number)
    return ShownPlan(profile, run, outcome, agreement, number, rows, own)
