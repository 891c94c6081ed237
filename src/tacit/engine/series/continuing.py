"""Whether a series may take over the balances of another: who stays, who comes back, who leaves.

Everybody with a balance is named: as a participant, or among those who left. So a name keeps the
key that it had, also if it comes back after years, and nobody else gets its balance. Those who stay
decide, since whoever has left may not answer any more; but they are three and more than those who
leave at once, or strangers could take the balances over.
"""

from __future__ import annotations

from collections.abc import Collection

from tacit.engine.agreement.terms import ParticipantTerms
from tacit.engine.series.terms import Series
from tacit.errors import AgreementError
from tacit.mpc.equity import LEAST_PARTICIPANTS


def moves(before: Series, series: Series, /) -> bool:
    """Whether balances are shared anew: a node is whoever has its signing key, in its place.

    An address may change, and a certificate. Whoever comes with another key may be somebody else,
    and gets no share that was another's.
    """
    return [each.signing_key for each in before.nodes] != [
        each.signing_key for each in series.nodes
    ]


def who_left(before: Series, participants: Collection[str], /) -> list[ParticipantTerms]:
    """Those with a balance who take no part in a series that continues this one."""
    known = [*before.participants, *before.left]
    return sorted(
        (each for each in known if each.name not in participants), key=lambda each: each.name
    )


def check_who_stays(before: Collection[str], participants: Collection[str], /) -> None:
    """Refuse to let so many leave at once that those who stay are not the series any more.

    >>> check_who_stays(["a", "b", "c", "d"], ["a", "b", "c", "e"])
    """
    stay = len(set(before) & set(participants))
    leave = len(set(before)) - stay
    if stay < LEAST_PARTICIPANTS or stay <= leave:
        raise AgreementError(
            f"{stay} of the series would stay and {leave} leave; at least "
            f"{LEAST_PARTICIPANTS}, and more than leave at once, go on with its balances"
        )


def check_continues(before: Series, series: Series, /) -> None:
    """Refuse a series that gives a balance to another key, forgets one, or drops too many."""
    if before.equity is None:
        raise AgreementError("the series continues one that has no balances")
    named = {each.name: each.signing_key for each in (*series.participants, *series.left)}
    known = {each.name: each.signing_key for each in (*before.participants, *before.left)}
    for name, key in known.items():
        if named.get(name) != key:
            raise AgreementError(
                f"the series continues one of {name!r}, who has not signed it with the same key, "
                "and is not among those who left with it; name everybody who has a balance"
            )
    for each in series.left:
        if each.name not in known:
            raise AgreementError(f"{each.name!r} left a series in which it never was")
    check_who_stays(
        [each.name for each in before.participants], [each.name for each in series.participants]
    )
