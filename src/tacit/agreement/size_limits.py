"""How large an agreement may be: what is cheap to see before anything else is looked at.

A node keeps all its agreements in memory and checks every signature, so both are bounded, also
against a platform that invents participants and signs for them.
"""

from __future__ import annotations

from tacit.agreement.terms import Agreement
from tacit.errors import AgreementError

MOST_AGREEMENT_BYTES = 8 << 20
"""As canonical JSON: half of the pairs of 1,000 x 1,000 fit. In memory it takes 13 times that."""
MOST_PARTICIPANTS = 1000
"""Each has a signature, and checking one takes a tenth of a millisecond."""
MOST_OBJECTIVES = 64
"""As many as weightings of a sealed search; each has counters and a matrix at a node."""
LONGEST_NAME = 200
"""Characters of any name; people read them before they sign."""


def check_agreement_bytes(size: int, /) -> None:
    """Refuse an agreement by the length of its canonical form alone.

    >>> check_agreement_bytes(9 << 20)
    Traceback (most recent call last):
    tacit.errors.AgreementError: the agreement has 9 MB; 8 MB are allowed: shorten names, or \
forbid fewer pairs
    """
    if size > MOST_AGREEMENT_BYTES:
        raise AgreementError(
            f"the agreement has {size >> 20} MB; {MOST_AGREEMENT_BYTES >> 20} MB are allowed: "
            "shorten names, or forbid fewer pairs"
        )


def check_counts(agreement: Agreement, /) -> None:
    """Refuse more participants, objectives or owners than nodes take."""
    for what, there, most in (
        ("participants", len(agreement.participants), MOST_PARTICIPANTS),
        ("objectives", len(agreement.objectives), MOST_OBJECTIVES),
    ):
        if there > most:
            raise AgreementError(f"the agreement names {there} {what}; nodes take {most}")
    problem = agreement.problem
    if len(problem.forbidden) > problem.rows * problem.columns:
        raise AgreementError("more pairs are forbidden than there are; give each once")
    for terms in agreement.objectives:
        owned = sum(len(owner.rows) for owner in terms.owners)
        if len(terms.owners) > len(agreement.participants) or owned > problem.rows:
            raise AgreementError(
                f"objective {terms.name[:LONGEST_NAME]!r} lists more owners or rows than there "
                "are; every row has one owner"
            )


def check_name_length(name: str, /) -> None:
    """Refuse a name that nobody reads to its end."""
    if len(name) > LONGEST_NAME:
        raise AgreementError(
            f"the name {ascii(name)[:70]} has {len(name)} characters; {LONGEST_NAME} are allowed"
        )
