"""Which searches nodes follow without their operators' word: those whose leakage is known."""

from __future__ import annotations

from msgspec.structs import replace

from tacit.engine.agreement.terms import PinnedSearch
from tacit.engine.derived import may_be_followed
from tacit.search import PRESETS
from tests.engine.fixtures import example_cast


def test_public_objectives_are_not_added_without_end() -> None:
    """With many, no plan is better in all of them: the search goes everywhere and tells more."""
    settings = dict(vars(PRESETS["paper-moap"]))
    search = PinnedSearch(settings.pop("algorithm"), settings, seed=None, populations="derived")
    agreement = replace(example_cast().agreement, search=search)
    secret = agreement.objectives[0]
    public = [
        replace(secret, name=f"public {k}", confidential=False, owners=[], public_weights="00")
        for k in range(6)
    ]
    assert may_be_followed(replace(agreement, objectives=[secret, public[0]]))
    assert not may_be_followed(replace(agreement, objectives=[secret, *public[:2]]))
    assert not may_be_followed(replace(agreement, objectives=[secret, *public]))
