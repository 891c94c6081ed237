from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from math import prod
from typing import Any

import pytest
from msgspec.structs import replace

from tacit.agreement import sealed_groups
from tacit.agreement.draft import check_agreement, check_sealed
from tacit.agreement.signatures import check_signatures
from tacit.agreement.sizes import MOST_PARTICIPANTS
from tacit.agreement.terms import Agreement, agreement_hash, canonical, read_agreement
from tacit.errors import AgreementError
from tacit.problems import Problem
from tests.on_nodes.fixtures import example_cast
from tests.on_nodes.owners_cast import owners_cast
from tests.on_nodes.sealed_agreed_cluster import symmetric_tour


@pytest.fixture
def agreement() -> Agreement:
    return example_cast().agreement


def test_there_is_one_form(agreement: Agreement) -> None:
    data = canonical(agreement)
    assert read_agreement(data) == agreement
    assert b" " not in data
    for other in (data.replace(b":", b": ", 1), data.replace(b"}", b',"extra":1}', 1)):
        with pytest.raises(AgreementError):
            read_agreement(other)


def test_every_field_counts(agreement: Agreement) -> None:
    changes: list[dict[str, Any]] = [
        {"nonce": "ab" * 16},
        {"reveal_best": False},
        {"limits": replace(agreement.limits, evaluations=11)},
        {"objectives": [replace(agreement.objectives[0], weight_bound=10)]},
        {"search": replace(agreement.search, seed=4)},
    ]
    hashes = {agreement_hash(replace(agreement, **change)) for change in changes}
    assert len(hashes | {agreement_hash(agreement)}) == len(changes) + 1


@pytest.mark.parametrize(
    ("objective", "limits", "reason"),
    [
        ({"weight_bound": 1 << 60}, {}, "more than 48 bits"),
        ({"disclosure": "top:3"}, {}, "does not fit 2 individuals"),
        ({"disclosure": "top:01"}, {}, "plain form"),
        ({"disclosure": "median"}, {}, "not a disclosure"),
        ({"owners": []}, {}, "have no owner"),
        ({}, {"population_min": 0}, "limits are empty"),
        ({}, {"population_max": 1}, "limits are empty"),
        ({}, {"distinct_min": 101}, "distinct"),
        ({}, {"evaluations": 0}, "allow an evaluation"),
    ],
)
def test_contradictions_are_refused_when_the_agreement_is_made(
    agreement: Agreement, objective: dict[str, Any], limits: dict[str, Any], reason: str
) -> None:
    wrong = replace(
        agreement,
        objectives=[replace(agreement.objectives[0], **objective)],
        limits=replace(agreement.limits, **limits),
    )
    with pytest.raises(AgreementError, match=reason):
        check_agreement(wrong)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda a: {"nonce": "ab" * 8}, "nonce is short"),
        (lambda a: {"nonce": "xy" * 16}, "nonce is short"),
        (lambda a: {"nodes": [a.nodes[0], a.nodes[0], a.nodes[2]]}, "share a signing key"),
        (
            lambda a: {
                "participants": [replace(a.participants[0], signing_key=a.nodes[0].signing_key)]
            },
            "share a signing key",
        ),
        (lambda a: {"platform": a.nodes[0].certificate}, "share a certificate"),
        (lambda a: {"participants": [*a.participants] * 2}, "share a name"),
        (
            lambda a: {
                "participants": [
                    replace(a.participants[0], name=f"n{k}", signing_key=f"{k:064x}")
                    for k in range(MOST_PARTICIPANTS + 1)
                ]
            },
            "names 1001 participants",
        ),
        (lambda a: {"nodes": a.nodes[:2]}, "three or four"),
        (lambda a: {"on_loss": "three"}, "cannot lose one"),
    ],
)
def test_parties_have_their_own_keys_and_a_nonce_that_nobody_draws_again(
    agreement: Agreement, change: Callable[[Agreement], dict[str, Any]], reason: str
) -> None:
    with pytest.raises(AgreementError, match=reason):
        check_agreement(replace(agreement, **change(agreement)), offered=False)


@pytest.mark.parametrize("rows", [[[0, 1], [1]], [[0, 1], []], [[0, 1], [6]], [[-1, 0], [1]]])
def test_every_row_has_one_owner(rows: list[list[int]]) -> None:
    agreement = owners_cast().agreement
    terms = agreement.objectives[0]
    shown = [*rows, [3, 4, 5]]
    owners = [replace(each, rows=own) for each, own in zip(terms.owners, shown, strict=True)]
    check_agreement(agreement)
    with pytest.raises(AgreementError, match=r"every row has one|has another owner"):
        check_agreement(replace(agreement, objectives=[replace(terms, owners=owners)]))


def test_what_is_revealed_at_the_end_fits_the_ring_too(agreement: Agreement) -> None:
    """A reveal compares, which takes more bits than the values that are disclosed."""
    wide = replace(agreement.objectives[0], disclosure="none", weight_bound=(1 << 47) - 1)
    many = replace(agreement.limits, population_max=1 << 18)
    with pytest.raises(AgreementError, match="top:1 of 262144 individuals"):
        check_agreement(replace(agreement, limits=many, objectives=[wide]))
    check_agreement(replace(agreement, objectives=[wide]))


def test_everybody_must_sign_this_very_agreement() -> None:
    cast = example_cast()
    check_signatures(cast.agreement, cast.signatures)
    with pytest.raises(AgreementError, match="'owner' has not signed"):
        check_signatures(replace(cast.agreement, nonce="ab" * 16), cast.signatures)


def test_the_problem_comes_back_without_its_weights(agreement: Agreement) -> None:
    problem = agreement.known_problem
    assert (problem.rows, problem.columns, problem.kind) == (2, 2, "assignment")
    assert problem.objectives[0].weights is None


@pytest.mark.parametrize(("rows", "columns"), [(10**8, 1), (1, 10**8), (0, 1), (60_000, 60_000)])
def test_what_is_too_large_is_refused_before_anything_is_made_of_it(
    agreement: Agreement, rows: int, columns: int
) -> None:
    problem = replace(agreement.problem, kind="capacitated", rows=rows, columns=columns)
    tracemalloc.start()
    try:
        with pytest.raises(AgreementError, match="at most 65536 of either"):
            check_agreement(replace(agreement, problem=problem))
        assert tracemalloc.get_traced_memory()[1] < 10_000_000
    finally:
        tracemalloc.stop()


def test_a_kind_with_a_long_name_is_unknown_and_not_kept(agreement: Agreement) -> None:
    problem = replace(agreement.problem, kind="k" * 10**6)
    with pytest.raises(AgreementError, match="unknown here") as refused:
        check_agreement(replace(agreement, problem=problem))
    assert len(str(refused.value)) < 1000


@pytest.mark.parametrize("problem", [symmetric_tour(), None], ids=["tour", "assignment"])
def test_a_sealed_state_fits_a_message_as_a_whole(
    monkeypatch: pytest.MonkeyPatch, problem: Problem | None
) -> None:
    """A node that is back gets all of it together, which is more than any other message."""
    agreement = owners_cast(problem=problem, plan_for="everybody").agreement
    (group,) = agreement.sealed_run.groups
    state = sum(prod(size) * word.itemsize for size, word in group.state_sizes)
    # As where tables are so large that no comparison takes more.
    monkeypatch.setattr(type(group), "largest_message", state // 2)
    monkeypatch.setattr(sealed_groups, "ROOM", state)
    check_sealed(agreement)
    monkeypatch.setattr(sealed_groups, "ROOM", state - 1)
    with pytest.raises(AgreementError, match="would take a message"):
        check_sealed(agreement)
