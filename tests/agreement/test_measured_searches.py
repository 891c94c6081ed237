"""Nodes follow a search without their operators' word only where its leakage was measured."""

from __future__ import annotations

from msgspec.structs import replace

from tacit.agreement.terms import PinnedSearch
from tacit.derived import may_be_followed
from tacit.search import PRESETS
from tests.on_nodes.fixtures import example_cast


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


def test_a_small_population_has_as_many_elites_as_the_preset() -> None:
    """They fill the best group; with fewer, each evaluation tells of candidates that are new."""

    def followed(**changes: int) -> bool:
        settings = dict(vars(PRESETS["tuned-ap"])) | changes
        search = PinnedSearch(settings.pop("algorithm"), settings, seed=None, populations="derived")
        return may_be_followed(replace(example_cast().agreement, search=search))

    assert followed(population=100, elites=15)
    assert not followed(population=100, elites=5)
    assert not followed(population=100, elites=14)
    assert not followed(population=600, elites=15)
