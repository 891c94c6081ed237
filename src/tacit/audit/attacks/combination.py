"""All combined: surviving genes as the prior's mean, anchors, and groups or pairs.

Where the disclosures say little about a cell, its survival frequency decides.
"""

from __future__ import annotations

from collections.abc import Mapping

from tacit.audit.attacks import frequency
from tacit.audit.attacks.anchor import anchored_prior
from tacit.audit.attacks.disclosed import by_what_is_disclosed
from tacit.audit.record.view import Cells, View

TRUST = 0.3
"""The weight of the frequency: about the correlation that it reaches by itself."""
ITERATIONS = 60


def recover(view: View, found: Mapping[str, Cells], /) -> Cells | None:
    """Estimate the cells, or None where exact values leave nothing to combine."""
    if view.values is not None:
        return None
    counted = frequency.recover(view, found)
    if counted is None:
        return None
    prior = anchored_prior(view, TRUST * counted)
    return by_what_is_disclosed(view, prior=prior, found=found, iterations=ITERATIONS)
