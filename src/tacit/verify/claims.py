"""Hold what the platform claims of plans against what the nodes opened and proved."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import msgspec

from tacit.agreement import Agreement, PlanHeads
from tacit.errors import LogError
from tacit.records import Disclosed, DisclosedPlan, DisclosedToOwners, Log
from tacit.runs import opened_values
from tacit.verify.sealed import check_generations_asked, check_own_parts, early_words


@dataclass(frozen=True)
class Claim:
    """The result that the platform shows, as far as it shows one."""

    plan: list[int] | None = None
    generation: int | None = None
    shown: list[int] | None = None
    """The plan that this machine has shown before, if any."""
    others: Sequence[list[int]] = ()
    """Where there are several objectives: the other plans."""
    own_parts: Mapping[int, Mapping[int, PlanHeads]] | None = None
    """Per search and node, what the boxes were bound to that this machine has opened."""
    own_trouble: str = ""
    """Why this machine could not put its own part of the plan together."""
    proved: bool | None = None
    """Whether the platform says that the nodes proved the plans to be optima."""
    gaps: Sequence[float] | None = None
    """By at most how much it says that each plan is worse than the optimum."""
    found_for: Sequence[tuple[Sequence[int], Sequence[str]]] = ()
    """Plans with the weightings that each was found for, where there are several objectives."""
    values: Sequence[tuple[Sequence[int], Sequence[float | None]]] = ()
    """Plans with the values that they are said to have, where there are several objectives."""
    earlier: Claim | None = None
    """All that this machine has shown before: whoever lies then and not now has lied."""

    @property
    def told(self) -> list[Claim]:
        """Return what is said now, and what was said before."""
        return [self] if self.earlier is None else [self, self.earlier]

    def all_are_of(self, found: Iterable[Sequence[int]], /) -> bool:
        known = {tuple(plan) for plan in found}
        plans = [*([] if self.plan is None else [self.plan]), *self.others]
        return all(tuple(plan) in known for plan in plans)

    def check_shown(self) -> None:
        """Check that the plan is the one shown before, and there if there are several."""
        if any(each.plan is None and each.others for each in self.told):
            raise LogError(
                "the platform shows several plans and not which of them is the first; ask the "
                "operator"
            )
        # A platform may show one plan to act upon and another when it is checked.
        if self.shown is not None and self.plan != self.shown:
            raise LogError(
                "the plan is another than tacit participant result has shown here; compare both "
                "and ask the operator, unless the run was resumed in between"
            )


class ClaimedPlan(msgspec.Struct, frozen=True, omit_defaults=True):
    """A plan with what is said of it."""

    items: list[int]
    values: list[float | None] | None = None
    weightings: list[str] | None = None


class ClaimedResult(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the platform claims."""

    state: str
    plan: ClaimedPlan | None = None
    front: list[ClaimedPlan] | None = None
    generation: int | None = None
    proved: bool | None = None
    gaps: list[float] | None = None
    for_owners: bool = False

    @classmethod
    def of(cls, result: object, /) -> ClaimedResult:
        return msgspec.convert(result, cls, from_attributes=True)

    @property
    def says_something(self) -> bool:
        """Return whether there is anything in it to be held against the ledger."""
        return any(each is not None for each in (self.plan, self.front, self.proved, self.gaps))

    def claim(self) -> Claim:
        front = self.front or []
        plans = [*([] if self.plan is None else [self.plan]), *front]
        return Claim(
            None if self.plan is None else self.plan.items,
            self.generation,
            others=[each.items for each in front],
            proved=self.proved,
            gaps=self.gaps,
            found_for=[(each.items, each.weightings or []) for each in plans],
            values=[(each.items, each.values or []) for each in plans],
        )


_DECODER = msgspec.json.Decoder(ClaimedResult)


def read_claimed(data: bytes, /) -> ClaimedResult:
    """Read it from JSON; a `msgspec.DecodeError` if it is none."""
    return _DECODER.decode(data)


KnownValues = dict[tuple[int, ...], dict[int, float]]
"""Per plan and objective a value that was disclosed, in the user's unit."""


def opened_plans(ledger: Iterable[Disclosed], /) -> dict[int, DisclosedPlan | DisclosedToOwners]:
    return {
        entry.about: entry.payload
        for entry in ledger
        if isinstance(entry.payload, DisclosedPlan | DisclosedToOwners)
    }


def check_claimed(agreement: Agreement, ledger: Sequence[Disclosed], claim: Claim, /) -> None:
    """Check that all that is said of opened plans, now and before, is what the nodes opened."""
    for each in claim.told:
        check_proved(ledger, each)
        check_weightings(agreement, ledger, each)
        check_gaps(agreement, ledger, each)
        check_values(opened_plan_values(agreement, ledger), each)


def check_nothing_proved(claim: Claim, /) -> None:
    # Where no search is sealed, nodes prove nothing and know no weightings.
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


def what_nodes_proved(agreement: Agreement, ledger: Sequence[Disclosed], /) -> str:
    """Say what the nodes proved of the plans, whatever the platform says; empty for nothing."""
    opened = opened_plans(ledger)
    outcomes = [each.outcome for each in opened.values() if each.outcome is not None]
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


def check_proved(ledger: Sequence[Disclosed], claim: Claim, /) -> None:
    """Check that plans are said to be proved only if the nodes said so of all of them."""
    opened = opened_plans(ledger)
    proved = bool(opened) and all(each.outcome == "optimum" for each in opened.values())
    # Of all plans: one that is not proved could be called proved among others that are.
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


def check_gaps(agreement: Agreement, ledger: Sequence[Disclosed], claim: Claim, /) -> None:
    """Check that gaps are those that the nodes opened with the plans."""
    if claim.gaps is None:
        return
    if [float(gap) for gap in claim.gaps] != _opened_gaps(agreement, ledger):
        raise LogError(
            "the platform says something else of what plans lack to the optimum than the nodes "
            "opened; ask the operator"
        )


def _opened_gaps(agreement: Agreement, ledger: Sequence[Disclosed]) -> list[float]:
    objectives = agreement.objectives
    scale = objectives[0].scale if len(objectives) == 1 else 1
    opened = sorted(opened_plans(ledger).items())
    return [each.gap / scale for _, each in opened if each.gap is not None]


def opened_plan_values(agreement: Agreement, ledger: Sequence[Disclosed], /) -> KnownValues:
    """Return what was opened of each plan's own values, whatever it was found for."""
    found: KnownValues = {}
    weightings = agreement.sealed_run.weightings
    for search, each in opened_plans(ledger).items():
        if isinstance(each, DisclosedPlan) and each.value is not None:
            values = opened_values(agreement.known_problem, weightings[search], each.value)
            add_values(found, each.plan, values)
    return found


def add_values(found: KnownValues, plan: Sequence[int], values: Sequence[float | None], /) -> None:
    known = found.setdefault(tuple(plan), {})
    known.update({k: value for k, value in enumerate(values) if value is not None})


def check_values(known: KnownValues, claim: Claim, /) -> None:
    """Check that what plans are said to be worth was disclosed of them."""
    for plan, values in claim.values:
        here = known.get(tuple(plan), {})
        for k, value in enumerate(values):
            if value is not None and here.get(k) != value:
                raise LogError(
                    f"the platform shows {value:,.10g} as a plan's value of objective {k + 1}, and "
                    f"the nodes disclosed {'another' if k in here else 'none'}; ask the operator"
                )


def check_weightings(agreement: Agreement, ledger: Sequence[Disclosed], claim: Claim, /) -> None:
    """Check that each plan was opened for the weightings it is said to be found for."""
    written = [":".join(map(str, each)) for each in agreement.sealed_run.weightings]
    plans = {
        search: each.plan
        for search, each in opened_plans(ledger).items()
        if isinstance(each, DisclosedPlan)
    }
    for plan, weightings in claim.found_for:
        for each in weightings:
            if each not in written or plans.get(written.index(each)) != list(plan):
                raise LogError(
                    f"the platform shows another plan for the weighting {each} than the nodes "
                    "opened for it; ask the operator"
                )


def check_plan(
    agreement: Agreement, logs: Sequence[Log], ledger: Sequence[Disclosed], claim: Claim, /
) -> str:
    """The plan must be one that was opened, after as many steps as the platform says.

    Of several, each for the weighting that it is shown for; and proved if the nodes said so.
    """
    claim.check_shown()
    check_claimed(agreement, ledger, claim)
    proved = what_nodes_proved(agreement, ledger)
    opened = opened_plans(ledger).values()
    if any(isinstance(each, DisclosedToOwners) for each in opened):
        if claim.plan is not None:
            raise LogError("the platform shows a plan of which it should know nothing")
        if claim.own_trouble:
            raise LogError(claim.own_trouble)
        if claim.own_parts is not None:
            check_own_parts(ledger, claim.own_parts)
        generations = check_generations_asked(logs)
        return (
            "the nodes searched by themselves, and each owner's part is of their one plan after "
            f"{generations} steps{early_words(agreement, logs)}{proved}"
        )
    if claim.plan is None:
        return f"the nodes searched by themselves; no plan is shown{proved}"
    plans = [each.plan for each in opened if isinstance(each, DisclosedPlan)]
    if not all(each.all_are_of(plans) for each in claim.told):
        raise LogError("the nodes opened another plan than this; ask the operator")
    generations = check_generations_asked(logs)
    if claim.generation != generations:
        raise LogError(
            f"the platform says that the plan is of step {claim.generation}, the logs say "
            f"{generations}; ask the operator"
        )
    return (
        f"the nodes searched by themselves, and the plan is theirs after {generations} steps"
        f"{early_words(agreement, logs)}{proved}"
    )
