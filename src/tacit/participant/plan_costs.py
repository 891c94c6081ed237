"""What one's own rows cost under a plan: computed here, from one's own file, and told to nobody."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.agreement import Agreement
from tacit.participant.account.profile import Profile
from tacit.participant.account.sealed_before import load_hashes, row_hashes, secret_name
from tacit.participant.account.shapes import Outcome
from tacit.participant.costs import read_costs, show_rows
from tacit.participant.plan_table import known_columns
from tacit.participant.several_plans import count_plans
from tacit.participant.submission import chosen_objective
from tacit.problems import unscaled_text


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
        """What a plan costs in all, in one's own unit; plans are counted from 1."""
        return unscaled_text(sum(cost for _, _, cost in self.plans[number - 1]), self.scale)

    @property
    def sums(self) -> list[str]:
        """The same of every plan."""
        return [self.sum_text(number + 1) for number in range(len(self.plans))]

    def to_json(self) -> dict[str, Any]:
        """All of it, in one's own unit."""
        plans = [
            {"rows": self.rows(number), "sum": total}
            for number, total in enumerate(self.sums, start=1)
        ]
        return {"objective": self.objective, "sense": self.sense, "plans": plans}

    def rows(self, number: int, /) -> list[list[str]]:
        """Row, column and cost, in one's own unit."""
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
    outcome: Outcome,
    costs: Path,
    /,
    *,
    objective: str | None = None,
) -> OwnCosts:
    """What one's own rows cost under each plan of a result.

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
        for plan in range(1, count_plans(outcome) + 1)
    ]
    terms = agreement.objectives[number]
    notes = _notes(profile, run, agreement, number, weights)
    return OwnCosts(terms.name, terms.sense, terms.scale, plans, notes)


def own_cells(
    outcome: Outcome, agreement: Agreement, own: list[int], number: int, /
) -> list[tuple[int, int, int]]:
    """The cells of one's own rows that a plan adds up, and how often each counts."""
    columns, problem = known_columns(outcome, agreement, number), agreement.known_problem
    if outcome.own_rows and not problem.between_places:
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
    """Which rows are not as they were sealed; hashes of an earlier key tell nothing."""
    kept = load_hashes(profile, run, objective)
    if kept is None or kept.secret != secret_name(profile.keys()):
        return ["this machine does not know what was sealed, so it cannot compare your file"]
    now = row_hashes(weights, agreement.objectives[objective].scale, profile.keys())
    own = agreement.rows_of(profile.account, objective)
    other = [row for row, digest in zip(own, now, strict=True) if digest not in kept.rows]
    if not other:
        return []
    return [f"in your file {show_rows(agreement, other)} is not what you sealed for this run"]
