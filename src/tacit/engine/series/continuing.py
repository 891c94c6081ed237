"""A series that continues another takes over its balances, with the same nodes or with others."""

from __future__ import annotations

from tacit.engine.series.terms import Series
from tacit.errors import AgreementError


def moves(before: Series, series: Series, /) -> bool:
    """Whether balances are shared anew: a node is whoever has its signing key, in its place.

    An address may change, and a certificate. Whoever comes with another key may be somebody else,
    and gets no share that was another's.
    """
    return [each.signing_key for each in before.nodes] != [
        each.signing_key for each in series.nodes
    ]


def check_continues(before: Series, series: Series, /) -> None:
    """Refuse a series unless everybody whose balances it takes over is in it, and so signed it."""
    if before.equity is None:
        raise AgreementError("the series continues one that has no balances")
    signed = {each.name: each.signing_key for each in series.participants}
    for each in before.participants:
        if signed.get(each.name) != each.signing_key:
            raise AgreementError(
                f"the series continues one of {each.name!r}, who has not signed it with the same "
                "key; name everybody, also those who take no part any more"
            )
