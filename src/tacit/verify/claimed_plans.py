"""Whether the platform says of opened plans what the nodes said: proved or not, and what for."""

from __future__ import annotations

from collections.abc import Sequence

from tacit.engine.agreement import Agreement, sealed_terms
from tacit.engine.records import LedgerEntry, OpenedPlan, OwnersPlan
from tacit.errors import LogError
from tacit.runs import opened_values
from tacit.verify.verdict import Claim

KnownValues = dict[tuple[int, ...], dict[int, float]]
"""Per plan and objective a value that was disclosed, in the user's unit."""


def check_claimed(agreement: Agreement, ledger: Sequence[LedgerEntry], claim: Claim, /) -> None:
    """All that is said of opened plans, now and before, must be what the nodes opened with them."""
    for each in claim.told:
        check_proved(ledger, each)
        check_weightings(agreement, ledger, each)
        check_gaps(agreement, ledger, each)
        check_values(opened_plan_values(agreement, ledger), each)


def check_nothing_proved(claim: Claim, /) -> None:
    """Where no search is sealed, nodes prove nothing and know no weightings."""
    for each in claim.told:
        if each.proved or each.gaps:
            raise LogError(
                "the platform says how far the plan is from the optimum, and the nodes proved "
                "nothing: the search is not sealed; ask the operator"
            )
        if any(weightings for _, weightings in each.found_for):
            raise LogError(
                "the platform says what weighting a plan was found for, and none was agreed; ask "
                "the operator"
            )


def what_nodes_proved(agreement: Agreement, ledger: Sequence[LedgerEntry], /) -> str:
    """The nodes' own word on the plans, whatever the platform says; empty if they have none."""
    opened = {e.search: e for e in ledger if isinstance(e, (OpenedPlan, OwnersPlan))}
    outcomes = [entry.outcome for entry in opened.values() if entry.outcome is not None]
    if not outcomes:
        return ""
    proved = sum(outcome == "optimum" for outcome in outcomes)
    if proved == len(opened):
        return ", and they proved that no plan is better"
    words = ", and they did not prove that no plan is better"
    if proved:
        words += f" but of {proved} of {len(opened)}"
    gaps = _opened_gaps(agreement, ledger)
    return f"{words}; the optimum is better by at most {max(gaps):,.10g}" if gaps else words


def check_proved(ledger: Sequence[LedgerEntry], claim: Claim, /) -> None:
    """Plans are said to be proved if the nodes said so of all of them."""
    opened = [entry for entry in ledger if isinstance(entry, (OpenedPlan, OwnersPlan))]
    proved = bool(opened) and all(entry.outcome == "optimum" for entry in opened)
    if claim.proved and not proved:
        raise LogError(
            "the platform says that no plan is better, and the nodes did not prove it; ask the "
            "operator"
        )
    if claim.proved is False and proved:
        raise LogError(
            "the platform says that a better plan may exist, and the nodes proved that none does; "
            "ask the operator"
        )


def check_gaps(agreement: Agreement, ledger: Sequence[LedgerEntry], claim: Claim, /) -> None:
    """Gaps must be those that the nodes opened with the plans."""
    if claim.gaps is None:
        return
    if [float(gap) for gap in claim.gaps] != _opened_gaps(agreement, ledger):
        raise LogError(
            "the platform says something else of what plans lack to the optimum than the nodes "
            "opened; ask the operator"
        )


def _opened_gaps(agreement: Agreement, ledger: Sequence[LedgerEntry]) -> list[float]:
    opened = {e.search: e.gap for e in ledger if isinstance(e, (OpenedPlan, OwnersPlan))}
    objectives = agreement.objectives
    scale = objectives[0].scale if len(objectives) == 1 else 1
    return [gap / scale for _, gap in sorted(opened.items()) if gap is not None]


def opened_plan_values(agreement: Agreement, ledger: Sequence[LedgerEntry], /) -> KnownValues:
    """Per opened plan what was opened of its own values, whatever it was found for."""
    found: KnownValues = {}
    weightings = sealed_terms(agreement).weightings
    for entry in ledger:
        if isinstance(entry, OpenedPlan) and entry.value is not None:
            values = opened_values(agreement.known_problem, weightings[entry.search], entry.value)
            add_values(found, entry.plan, values)
    return found


def add_values(found: KnownValues, plan: Sequence[int], values: Sequence[float | None], /) -> None:
    """One more thing that is known of a plan."""
    known = found.setdefault(tuple(plan), {})
    known.update({k: value for k, value in enumerate(values) if value is not None})


def check_values(known: KnownValues, claim: Claim, /) -> None:
    """What plans are said to be worth must be what was disclosed of them."""
    for plan, values in claim.values:
        here = known.get(tuple(plan), {})
        for k, value in enumerate(values):
            if value is not None and here.get(k) != value:
                raise LogError(
                    f"the platform shows {value:,.10g} as a plan's value of objective {k + 1}, and "
                    f"the nodes disclosed {'another' if k in here else 'none'}; ask the operator"
                )


def check_weightings(agreement: Agreement, ledger: Sequence[LedgerEntry], claim: Claim, /) -> None:
    """Each plan must be the one that was opened for the weightings it is said to be found for."""
    written = [":".join(map(str, each)) for each in sealed_terms(agreement).weightings]
    plans = {entry.search: entry.plan for entry in ledger if isinstance(entry, OpenedPlan)}
    for plan, weightings in claim.found_for:
        for each in weightings:
            if each not in written or plans.get(written.index(each)) != list(plan):
                raise LogError(
                    f"the platform shows another plan for the weighting {each} than the nodes "
                    "opened for it; ask the operator"
                )
