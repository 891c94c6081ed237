"""Equity in agreements: what would betray balances is refused, and boxes tell each its own."""

from __future__ import annotations

import secrets
import time
from dataclasses import replace as changed
from typing import Any

import msgspec
import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from msgspec.structs import replace

from tacit.agreement import (
    Agreement,
    RunOfSeries,
    check_agreement,
    check_series,
    departures,
    draft_agreement,
    open_told,
    pin_sealed,
    seal_told,
)
from tacit.agreement.terms import AgreementLimits, PinnedSearch, canonical
from tacit.equity import FIRST_HEAD, EquityTerms, RunEquity
from tacit.errors import AgreementError, SealError
from tacit.identity.keys import Keys
from tacit.local.engine import public_keys
from tacit.mpc.local import deal_integers
from tacit.search.moves import AssignmentParameters, TourParameters
from tests.agreement.made_series import run_of, series_like
from tests.on_nodes.equity_series import problem_of
from tests.on_nodes.fixtures import offered_by

TERMS = EquityTerms(
    levels=4, decay=980, spacing=32, reference="first come", told="balance", every=2
)
TEN_STEPS = AssignmentParameters(generations=2, iterations=8)
RULES = {"evaluations": 10, "population_min": 1, "population_max": 1, "distinct_min": 1}
VARYING: dict[str, Any] = {"least_rows": 3, "most_rows": 9, "most_columns": 9}
KEYS = {f"participant {k}": Ed25519PrivateKey.generate() for k in (1, 2, 3)}


def plain(nodes: int = 3, search: Any = None) -> Agreement:
    """A run of three participants without a series."""
    nonce, platform = secrets.token_hex(16), f"{9:064x}"
    named = [
        offered_by(
            Keys.new("node"), X25519PrivateKey.generate(), at + 1, nonce=nonce, platform=platform
        )
        for at in range(nodes)
    ]
    return draft_agreement(
        problem_of(1),
        participants=public_keys(KEYS),
        nodes=named,
        platform=platform,
        search=pin_sealed(search or TEN_STEPS, [(1,)]),
        limits=AgreementLimits(10, 1, 1, 1, int(time.time()) + 600),
        nonce=nonce,
    )


def with_equity(agreement: Agreement, **changes: Any) -> Agreement:
    given = {"terms": TERMS, "head": FIRST_HEAD, "reference": [*range(6)], **changes}
    return replace(agreement, series=RunOfSeries("ab" * 32, 2), equity=RunEquity(**given))


def test_bounds_are_those_of_weights_with_factors() -> None:
    before, after = plain(), with_equity(plain())
    check_agreement(after)
    assert after.known_problem.objectives[0].weight_bound == 20 * 1000
    assert after.objectives[0].weight_bound == before.objectives[0].weight_bound == 1000
    assert after.fitness_bound(0).low == 20 * before.fitness_bound(0).low
    assert b"equity" not in canonical(before)


def changed_objective(agreement: Agreement, **changes: Any) -> Agreement:
    return replace(agreement, objectives=[replace(agreement.objectives[0], **changes)])


def ranked(agreement: Agreement, **changes: Any) -> Agreement:
    """The same run with ranks disclosed."""
    populations = changes.pop("populations", "derived")
    pinned = PinnedSearch("genetic", {"population": 8, "elites": 2}, None, populations)
    limits = AgreementLimits(10, 4, 300, 2, int(time.time()) + 600)
    told = changed_objective(agreement, **{"disclosure": "top:3", **changes})
    return replace(told, search=pinned, limits=limits)


def test_ranks_may_be_disclosed_with_equity() -> None:
    for told, best in (("top:3", "nothing"), ("quantiles:4", "improvement"), ("order", "nothing")):
        check_agreement(ranked(with_equity(plain()), disclosure=told, best=best))


def fewer(agreement: Agreement) -> Agreement:
    first, second, third = agreement.objectives[0].owners
    joined = [first, replace(second, rows=sorted([*second.rows, *third.rows]))]
    return changed_objective(agreement, owners=joined)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda a: ranked(a, disclosure="none"), "how far values are apart"),
        (lambda a: ranked(a, disclosure="buckets:3"), "how far values are apart"),
        (lambda a: ranked(a, disclosure="above:90"), "how far values are apart"),
        (lambda a: ranked(a, best="value"), "would tell factors"),
        (lambda a: ranked(a, populations="chosen"), "derive the populations"),
        (lambda a: changed_objective(a, best="value"), "would tell factors"),
        (lambda a: _searched(a, changed(TEN_STEPS, gap=10)), "leave gap"),
        (
            lambda a: _searched(a, changed(TEN_STEPS, checkpoints="6:8")),
            "leave gap and checkpoints",
        ),
        (lambda a: _searched(a, TourParameters()), "settings of another kind"),
        (fewer, "at least 3"),
        (lambda a: replace(a, series=None), "runs of one"),
        (lambda a: replace(a, equity=replace(a.equity, head="ab")), "not a hash"),
        (lambda a: replace(a, equity=replace(a.equity, reference=[0] * 6)), "column twice"),
        (lambda a: replace(a, equity=replace(a.equity, reference=[0, 1])), "each row a column"),
        (lambda a: replace(a, equity=replace(a.equity, reference=[-1, *range(5)])), "each row"),
        (lambda a: _terms(a, every=0), "every 1 to"),
        (lambda a: _terms(a, levels=16), "levels are not known"),
        (lambda a: _terms(a, spacing=1 << 30), "out of the range"),
    ],
)
def test_what_betrays_balances_or_cannot_be_counted_is_refused(change: Any, why: str) -> None:
    with pytest.raises(AgreementError, match=why):
        check_agreement(change(with_equity(plain())))


def _searched(agreement: Agreement, search: TourParameters | AssignmentParameters) -> Agreement:
    return replace(agreement, search=pin_sealed(search, [(1,)]))


def _terms(agreement: Agreement, **changes: Any) -> Agreement:
    assert agreement.equity is not None
    return replace(agreement, equity=replace(agreement.equity, terms=replace(TERMS, **changes)))


def test_four_nodes_must_not_go_on_without_one() -> None:
    with pytest.raises(AgreementError, match="counted by all nodes"):
        check_agreement(replace(with_equity(plain(4)), on_loss="three"))


def test_a_series_with_equity_has_three_in_every_run() -> None:
    pattern = plain()
    good = {**VARYING, "least_participants": 3}
    series = series_like(pattern, equity=TERMS, varying=good, limits=RULES)
    with pytest.raises(AgreementError, match="would tell balances"):
        check_series(replace(series, varying=replace(series.varying, least_participants=2)))
    run = run_of(series, pattern, 1)
    honest = RunEquity(terms=TERMS, head=FIRST_HEAD, reference=[*range(6)])
    assert departures(series, replace(run, equity=honest), now=time.time()) == []
    for equity, why in (
        (None, "not in the run"),
        (replace(honest, terms=replace(TERMS, told="nothing")), "rule of equity"),
        (replace(honest, reference=[1, 0, *range(2, 6)]), "not first come"),
    ):
        found = departures(series, replace(run, equity=equity), now=time.time())
        assert any(why in each for each in found), (why, found)
    plainly = series_like(pattern, varying=good, limits=RULES)
    assert any(
        "not in the run" in each
        for each in departures(plainly, replace(run, equity=honest), now=time.time())
    )


@pytest.mark.parametrize("nodes", [3, 4])
def test_each_opens_its_own_and_a_lying_node_is_noticed(nodes: int) -> None:
    agreement = with_equity(plain(nodes))
    numbers = np.array([[84, 14, -5], [41, 16, 7], [-28, 18, -2]])
    dealt = deal_integers(numbers, nodes=nodes)
    boxes = [seal_told(agreement, node, dealt[node]) for node in range(nodes)]
    for place, (name, key) in enumerate(KEYS.items()):
        own = {node: boxes[node][place] for node in range(nodes)}
        told = open_told(agreement, name, own, place=2, key=key)
        assert (told.saved, told.factor, told.balance) == tuple(numbers[place])
        assert told.level == numbers[place][1] - 16
        # Of the others' nothing opens.
        others = {node: boxes[node][place - 1] for node in range(nodes)}
        with pytest.raises(SealError):
            open_told(agreement, name, others, place=2, key=key)
        lie = seal_told(agreement, 0, dealt[0].map(lambda part: part + np.uint64(1)))[place]
        if nodes == 3:
            with pytest.raises(SealError, match="no two nodes sealed the same"):
                open_told(agreement, name, {**own, 0: lie}, place=2, key=key)
        else:
            assert open_told(agreement, name, {**own, 0: lie}, place=2, key=key) == told
        # A box of another run is no box of this one.
        other = msgspec.structs.replace(agreement, nonce="cd" * 16)
        old = {node: seal_told(other, node, dealt[node])[place] for node in range(nodes)}
        with pytest.raises(SealError):
            open_told(agreement, name, old, place=2, key=key)
