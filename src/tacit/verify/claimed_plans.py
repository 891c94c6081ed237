"""Whether the platform says of opened plans what the nodes said: proved or not, and what for."""

from __future__ import annotations

from collections.abc import Sequence

from tacit.engine.agreement import Agreement, bisects, follows, sealed_terms
from tacit.engine.records import LedgerEntry, OpenedPlan, OwnersPlan
from tacit.errors import LogError, UnprovenError
from tacit.verify.verdict import Claim


def check_proved(ledger: Sequence[LedgerEntry], claim: Claim, /) -> str:
    """Plans are said to be proved if the nodes said so of all of them; in words."""
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
    return ", and they proved that no plan is better" if claim.proved else ""


def check_gaps(agreement: Agreement, ledger: Sequence[LedgerEntry], claim: Claim, /) -> None:
    """Gaps must be those that the nodes opened with the plans."""
    if claim.gaps is None:
        return
    opened = {e.search: e.gap for e in ledger if isinstance(e, (OpenedPlan, OwnersPlan))}
    objectives = agreement.objectives
    scale = objectives[0].scale if len(objectives) == 1 else 1
    told = [gap / scale for _, gap in sorted(opened.items()) if gap is not None]
    if [float(gap) for gap in claim.gaps] != told:
        raise LogError(
            "the platform says something else of what plans lack to the optimum than the nodes "
            "opened; ask the operator"
        )


def check_left_out(agreement: Agreement, ledger: Sequence[LedgerEntry], /) -> str:
    """Where weightings are bisected, those without a plan must lie between equal proved ones."""
    if not bisects(agreement):
        return ""
    opened = [entry for entry in ledger if isinstance(entry, OpenedPlan)]
    proved = {entry.search: entry.plan for entry in opened if entry.outcome == "optimum"}
    weightings = sealed_terms(agreement).weightings
    left_out = sorted(set(range(len(weightings))) - {entry.search for entry in opened})
    for search in left_out:
        if not follows(search, proved):
            written = ":".join(map(str, weightings[search]))
            raise UnprovenError(
                f"there is no plan for the weighting {written}, and none follows from equal ones "
                "at both sides; there may have been no time for it"
            )
    return f"; {len(left_out)} of {len(weightings)} weightings follow from equal plans beside them"


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
