"""All checks of a run, from verified logs and the platform's ledger: findings and a verdict."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from tacit.agreement import Agreement, Manifest, manifests_digest, read_manifest
from tacit.errors import LogError, SealError, UnprovenError
from tacit.problems import Problem
from tacit.records import Disclosed, InputTaken, Log, frozen_inputs
from tacit.verify.claims import Claim, check_plan
from tacit.verify.disclosed import check_disclosed, check_populations
from tacit.verify.equity import check_counted
from tacit.verify.logs import throughout, to_the_end
from tacit.verify.replay import check_search
from tacit.verify.sealed import check_asked

Manifests = Mapping[tuple[str, int], tuple[str, str]]
"""Per participant and objective, a manifest and its signature in hexadecimal."""


def check_inputs(
    agreement: Agreement,
    logs: Sequence[Log],
    shown: Manifests,
    participant: str,
    own: Mapping[int, Sequence[bytes]],
    /,
) -> str:
    """Compare the frozen inputs of all nodes with the manifests that the platform shows.

    `own` are the manifests that this machine made, per objective, in their order. An auditor takes
    part in nothing: `participant` is empty then.
    """
    frozen = [frozen_inputs(agreement, log) for log in logs]
    if not any(frozen):
        return "no inputs are frozen yet"
    known = True
    for objective in agreement.confidential():
        common = frozen[0].get(objective)
        # Shares of different inputs would add up to numbers that nobody gave.
        if common is None or any(each.get(objective) != common for each in frozen):
            raise LogError(
                f"the nodes did not freeze the same inputs of objective {objective}; the result "
                "means nothing, ask their operators"
            )
        manifests = _manifests(agreement, shown, objective)
        digest = manifests_digest(data for data, _ in manifests.values())
        if common.manifests != digest:
            raise LogError(
                f"the nodes froze other inputs of objective {objective} than the manifests that "
                "the platform shows; it hides whose rows were used"
            )
        if participant in manifests:
            known = _check_own(manifests[participant], own.get(objective, ()), logs) and known
    same = "all nodes froze the same inputs, signed by their owners"
    if not participant:
        return same
    whose = "yours are as this machine sealed them" if known else "yours were sealed elsewhere"
    return f"{same}; {whose}"


def _manifests(
    agreement: Agreement, shown: Manifests, objective: int
) -> dict[str, tuple[bytes, Manifest]]:
    """Return the signed manifests of an objective in the agreement's order of owners."""
    found = {}
    for owner in agreement.objectives[objective].owners:
        who = owner.participant
        if (who, objective) not in shown:
            raise LogError(f"the platform shows no manifest of {who!r}; ask its operator for it")
        try:
            data, signature = (bytes.fromhex(each) for each in shown[who, objective])
            manifest = read_manifest(agreement, data, signature)
        except (SealError, ValueError) as error:
            raise LogError(f"the manifest of {who!r} does not hold: {error}") from None
        if (manifest.participant, manifest.objective) != (who, objective):
            raise LogError(f"the manifest shown for {who!r} is of somebody or something else")
        found[who] = (data, manifest)
    return found


def _check_own(frozen: tuple[bytes, Manifest], own: Sequence[bytes], logs: Sequence[Log]) -> bool:
    """Check that our latest rows are in use; return False if this machine has sealed none."""
    data, manifest = frozen
    for node, log in enumerate(logs):
        boxes = [
            event.box
            for event in log
            if isinstance(event, InputTaken)
            and (event.participant, event.objective) == (manifest.participant, manifest.objective)
        ]
        if not boxes or boxes[-1] != manifest.boxes[node]:
            raise LogError(f"node {node} took in another box than your manifest names")
    if not own:
        return False
    # A platform might replay what somebody sealed earlier and took back.
    if data != own[-1]:
        when = "an earlier submission of yours" if data in own else "rows that it did not seal"
        raise LogError(
            f"the nodes use {when} and not what this machine sealed last; tell the others, and "
            "whoever has your key"
        )
    return True


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
        # A bundle that crashes the check must not count as one that passed or was never checked.
        except (ArithmeticError, LookupError, TypeError, ValueError) as error:
            # What is checked comes from others, and whatever is not well-formed counts as wrong.
            what = f"{about}: what was sent cannot be checked ({type(error).__name__}: {error})"
            return cls(about, False, f"{what}; ask the operator for the whole of it")

    def check(self) -> None:
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
        """Return whether every check was made and nothing is off."""
        made = {finding.about for finding in self.findings}
        return made >= ALWAYS and all(finding.ok for finding in self.findings)

    def lines(self) -> list[str]:
        """Return the verdict in words, some of which come from others: see `plain_line`."""
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


def check_run(
    agreement: Agreement,
    logs: Sequence[Log],
    ledger: Sequence[Disclosed],
    claim: Claim,
    /,
    *,
    public: Problem | None = None,
) -> list[Finding]:
    """What was asked, what was disclosed, and what was made of it.

    `logs` are of different nodes, `public` has the weights of public objectives.
    """
    # Who was lost is looked up inside the checks: one log that lies about it is a finding, and
    # hides no other.
    checks: dict[str, Callable[[], str]] = {
        "populations": lambda: check_populations(logs),
        "answers": lambda: check_disclosed(agreement, logs, ledger),
        "search": lambda: check_search(
            agreement, throughout(logs)[0], ledger, claim, public=public
        ),
    }
    if agreement.sealed:
        checks |= {
            "populations": lambda: check_asked(to_the_end(logs)),
            "search": lambda: check_plan(agreement, to_the_end(logs), ledger, claim),
        }
    findings = [Finding.of(about, checks[about]) for about in ("populations", "answers")]
    counted = []
    if agreement.equity is not None:
        counted = [Finding.of("balances", check_counted, agreement, logs, claim)]
    # Each check is a finding of its own, so that one failure hides no other, but for those that
    # follow from it.
    if findings[-1].ok or findings[-1].unproven:  # wrong answers lead a search anywhere
        findings.append(Finding.of("search", checks["search"]))
    return [*findings, *counted]
