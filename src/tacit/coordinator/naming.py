"""Who departed from the protocol, as far as signed statements prove it.

Once something that nodes sent did not fit, all attempts of the run are signed: whoever lies again
leaves proof. What nodes show as evidence is checked here, and again by every node that is asked to
go on without another.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from tacit.agreement.terms import Agreement
from tacit.errors import LogError, MismatchError
from tacit.mpc import Statement
from tacit.records.evidence import describe_suspects, read_evidence, suspects


class Naming:
    """What the platform knows of nodes that lie."""

    def __init__(self, agreement: Agreement, /) -> None:
        self._agreement = agreement
        self.signed = False
        """Whether attempts are signed from now on."""
        self.evidence: list[bytes] = []
        """Statements that prove what we know."""
        self.suspects: frozenset[int] = frozenset()
        """One of these departed from the protocol; nobody is known to have, if it is empty."""

    def hear(self, reason: BaseException, /) -> None:
        """An attempt failed for this reason."""
        if isinstance(reason, MismatchError):
            self.signed = True
            self.examine(reason.evidence)

    def examine(self, evidence: Sequence[bytes], /) -> None:
        """Keep what proves more than we know; whoever makes something up proves nothing."""
        more = [each for each in evidence if each not in self.evidence]
        if not more:
            return
        try:
            read = read_evidence(self._agreement, [*self.evidence, *more])
            left = suspects(read)
        except LogError:
            return
        if left != self.suspects:
            signed = dict(zip(read, [*self.evidence, *more], strict=True))
            self.suspects = left
            self.evidence = [signed[statement] for statement in _needed(read, left)]

    @property
    def named(self) -> int | None:
        """The one node that is proven to have departed from the protocol."""
        return next(iter(self.suspects)) if len(self.suspects) == 1 else None

    @property
    def words(self) -> str:
        """What is known, for whoever waits for an answer; empty if nothing is."""
        return describe_suspects(self.suspects) if self.suspects else ""


def _needed(statements: Sequence[Statement], left: frozenset[int]) -> list[Statement]:
    """What it takes to prove it: whoever lies may have added any number of other statements."""
    kept = [*statements]
    for each in statements:
        rest = [other for other in kept if other != each]
        with suppress(LogError):
            if suspects(rest) == left:
                kept = rest
    return kept
