"""What a check of the logs came to, as findings and in words."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from tacit.engine.agreement import PlanHeads
from tacit.errors import LogError, UnprovenError

WOULD_SHOW = {
    "log of node 0": "lines that were changed, left out or cut off, and old logs shown as new",
    "log of node 1": "the same",
    "log of node 2": "the same",
    "inputs": "other rows in place of yours, or different ones at different nodes",
    "populations": "nodes played off against each other",
    "answers": "a ledger with something else, or less, than the nodes disclosed",
    "balances": "a plan that was opened and not counted, or counted twice or otherwise",
    "search": "a platform that asked for more than the agreed search, or chose another plan",
    "signatures": "an agreement that somebody has not signed",
}
"""What each check would have shown."""
ALWAYS = frozenset(WOULD_SHOW) - {"balances", "signatures"}
"""Made of every run; balances are there only where a series has equity, and signatures are looked
at in a bundle: whoever takes part has checked them before."""


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
        """What is said now, and what was said before."""
        return [self] if self.earlier is None else [self, self.earlier]

    def all_are_of(self, found: Iterable[Sequence[int]], /) -> bool:
        """Whether all plans are among those that were found."""
        known = {tuple(plan) for plan in found}
        plans = [*([] if self.plan is None else [self.plan]), *self.others]
        return all(tuple(plan) in known for plan in plans)

    def check_shown(self) -> None:
        """The plan must be the one that was shown before, and there if there are several."""
        if any(each.plan is None and each.others for each in self.told):
            raise LogError(
                "the platform shows several plans and not which of them is the first; ask the "
                "operator"
            )
        if self.shown is not None and self.plan != self.shown:
            raise LogError(
                "the plan is another than tacit participant result has shown here; compare both "
                "and ask the operator, unless the run was resumed in between"
            )


@dataclass(frozen=True)
class Finding:
    """One check: what it was about, whether all is well, and the detail."""

    about: str
    ok: bool
    detail: str
    unproven: bool = False
    """Nothing contradicts it, and yet the logs do not prove it."""

    @classmethod
    def of(cls, about: str, check: Callable[..., str], *arguments: object) -> Finding:
        """Carry a check out: it returns words, or raises a `LogError`."""
        try:
            return cls(about, True, check(*arguments))
        except LogError as error:
            return cls(about, False, str(error), unproven=isinstance(error, UnprovenError))
        except (ArithmeticError, LookupError, TypeError, ValueError) as error:
            # What is checked comes from others, and whatever is not well-formed counts as wrong.
            what = f"{about}: what was sent cannot be checked ({type(error).__name__}: {error})"
            return cls(about, False, f"{what}; ask the operator for the whole of it")

    def check(self) -> None:
        """Raise an error if something is off."""
        if not self.ok:
            raise UnprovenError(self.detail) if self.unproven else LogError(self.detail)


@dataclass(frozen=True)
class Verdict:
    """All findings about a run."""

    run: str
    state: str
    findings: list[Finding] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    """Worth knowing, and no proof of anything: clocks that differ, requests that were refused."""

    @property
    def ok(self) -> bool:
        """Whether every check was made and nothing is off."""
        made = {finding.about for finding in self.findings}
        return made >= ALWAYS and all(finding.ok for finding in self.findings)

    def lines(self) -> list[str]:
        """The verdict in words, some of which come from others: see `plain_line`."""
        shown = [f"run {self.run} ({self.state})"]
        for finding in self.findings:
            mark = "ok " if finding.ok else "???" if finding.unproven else "BAD"
            shown.append(f"  {mark}  {finding.detail}")
            if finding.ok:
                lie = WOULD_SHOW.get(finding.about, "the same")
                shown.append(f"       (would have shown {lie})")
        made = {finding.about for finding in self.findings}
        missing = [about for about in WOULD_SHOW if about in ALWAYS - made]
        if missing:
            shown.append(f"  --   not checked, since a check before failed: {', '.join(missing)}")
        shown += [f"  note: {note}" for note in self.notes]
        return shown

    def check(self) -> None:
        """Raise an error that names everything that is off."""
        if self.ok:
            return
        failed = [finding for finding in self.findings if not finding.ok]
        bad = [finding for finding in failed if not finding.unproven]
        what = "; ".join(finding.detail for finding in bad or failed)
        if failed and not bad:
            raise UnprovenError(f"nothing is off in {self.run}, and yet not all is proven: {what}")
        raise LogError(
            f"{len(bad)} of the checks of {self.run} failed: {what}. Keep what you have, and talk "
            "to the other participants and to the nodes' operators"
        )
