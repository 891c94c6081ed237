"""Weights of public objectives: the platform brings them, and the agreement names their digest."""

from __future__ import annotations

import numpy as np

from tacit.agreement import Agreement
from tacit.client import PlatformClient
from tacit.derived import with_public_weights
from tacit.errors import AgreementError, PlatformError
from tacit.problems import Problem


def fetch_public_problem(client: PlatformClient, run: str, agreement: Agreement, /) -> Problem:
    """The problem with the weights of its public objectives, which must be those agreed on."""
    if len(agreement.confidential()) == len(agreement.objectives):
        return agreement.known_problem
    carried = client.runs.public_weights(run)
    try:
        found = {k: np.array(rows, dtype=np.int64) for k, rows in carried.objectives.items()}
    except (ValueError, OverflowError) as error:
        raise PlatformError(
            f"the platform does not bring the public weights ({error}); ask its operator"
        ) from None
    return with_public_weights(agreement, found)


def public_warnings(agreement: Agreement, /) -> list[str]:
    """What a public objective means for the confidential ones."""
    public = [repr(terms.name) for terms in agreement.objectives if not terms.confidential]
    if not public:
        return []
    return [
        f"{', '.join(public)}: a public objective decides where the search goes, too, and the "
        "figures are those of a search without one; where it was measured, more could be inferred "
        "(0.72 in place of 0.69)"
    ]


def public_refusals(client: PlatformClient, run: str, agreement: Agreement, /) -> list[str]:
    """Why an agreement with public objectives must not be signed."""
    try:
        fetch_public_problem(client, run, agreement)
    except AgreementError as error:
        return [str(error)]
    return []
