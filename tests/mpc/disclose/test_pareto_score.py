"""Pareto scores are those of the clear version, and one of four cannot falsify them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tacit.disclosure.pareto_score import pareto_score
from tacit.errors import DisclosureError, MismatchError, ParameterError, PeerError
from tacit.mpc import COORDINATOR, FitnessBound, ParetoWidths, Session, Spec
from tacit.mpc.disclose.evaluation import Evaluated, labels_of_ranks
from tacit.mpc.disclose.pareto_score import (
    collect_pareto,
    cost,
    evaluate_pareto,
    rounded_up,
    steps,
)
from tacit.mpc.local import PartiesRun, deal_integers, parties, run_parties
from tacit.mpc.shares import party_name
from tests.mpc.both import check_cost, three_and_four
from tests.mpc.disclose import twin
from tests.mpc.test_falsified import Falsified
from tests.mpc.waiting_clock import run_without_waiting

RNG = np.random.default_rng(17)


def run(
    values: twin.Values, bounds: Sequence[FitnessBound], text: str, nodes: int, told: bool = False
) -> PartiesRun[Evaluated]:
    shares = [deal_integers(list(line), nodes=nodes) for line in values]
    spec, widths = Spec.parse(text), ParetoWidths(bounds, len(values[0]))

    async def node(s: Session) -> Evaluated:
        mine = [each[s.me] for each in shares]
        return await evaluate_pareto(s, mine, spec=spec, widths=widths, told=told)

    made = run_parties(node, lambda s: collect_pareto(s, spec=spec, widths=widths), nodes=nodes)
    check_cost(made, cost(nodes, spec=spec, widths=widths, told=told))
    return made


def check(values: twin.Values, bounds: Sequence[FitnessBound], nodes: int) -> None:
    expected = twin.pareto_ranks(values, [bound.span for bound in bounds])
    assert run(values, bounds, "order", nodes).coordinator.labels.tolist() == expected
    score = pareto_score(np.array(values), spans=[bound.span for bound in bounds])
    assert (len(expected) - 1 - score).tolist() == expected


@st.composite
def crowded(draw: st.DrawFn) -> tuple[list[list[int]], list[FitnessBound]]:
    """Few values in each objective, so that there are many ties, and duplicated candidates."""
    m, n = draw(st.integers(2, 4)), draw(st.integers(1, 9))
    low, width = draw(st.integers(-3, 3)), draw(st.integers(0, 4))
    column = st.tuples(*[st.integers(low, low + width)] * m)
    columns = draw(st.lists(column, min_size=n, max_size=n))
    slack = draw(st.integers(0, 40))
    bounds = [FitnessBound(low - slack, low + width)] * m
    return [list(line) for line in zip(*columns, strict=True)], bounds


@three_and_four
@settings(max_examples=20, deadline=None)
@given(case=crowded())
@example(case=([[0], [0]], [FitnessBound(0, 0)] * 2))
@example(case=([[3, 5, 1, 5], [5, 2, 5, 0]], [FitnessBound(0, 6)] * 2))
@example(case=([[5, 5, 1, 5], [6, 3, 6, 2], [6, 1, 6, 0]], [FitnessBound(0, 6)] * 3))
@example(case=([[1, 1, 1], [2, 2, 2], [3, 3, 3]], [FitnessBound(0, 3)] * 3))
def test_ties_and_duplicates(case: tuple[list[list[int]], list[FitnessBound]], nodes: int) -> None:
    check(*case, nodes)


@three_and_four
@pytest.mark.parametrize(
    ("spans", "n"), [((100_000, 100_000), 60), ((2**30, 50), 41), ((2**17, 900, 31), 30)]
)
def test_wide_and_uneven_objectives(spans: tuple[int, ...], n: int, nodes: int) -> None:
    bounds = [FitnessBound(-span, 0) for span in spans]
    values = [RNG.integers(-span, 0, n, endpoint=True).tolist() for span in spans]
    for line in values:
        line[:3] = [-1, -1, 0]
    check(values, bounds, nodes)


@three_and_four
@pytest.mark.parametrize("text", ["order", "quantiles:3", "top:4"])
def test_labels_and_nodes_that_are_told(text: str, nodes: int) -> None:
    values = RNG.integers(0, 9, (2, 11)).tolist()
    bounds = [FitnessBound(0, 9)] * 2
    made = run(values, bounds, text, nodes, told=True)
    labels = labels_of_ranks(np.array(twin.pareto_ranks(values, [9, 9])), Spec.parse(text)).tolist()
    assert made.coordinator.labels.tolist() == labels
    assert made.coordinator.best_value is None
    for result in made.results:
        assert result.told is not None
        assert result.told.labels.tolist() == labels


def test_two_objectives_that_are_too_wide_are_scored_in_steps() -> None:
    """And the two kinds of crowding do order candidates differently."""
    wide = [FitnessBound(0, 2**22)] * 2
    assert not ParetoWidths(wide, 300).exact
    assert ParetoWidths(wide, 10).exact  # fewer candidates leave more room
    assert not ParetoWidths([FitnessBound(0, 2**28)] * 2, 5).exact
    values = [[0, 3, 5, 9, 17], [17, 8, 6, 5, 0]]
    for bounds in ([FitnessBound(0, 17)] * 2, [FitnessBound(0, 2**28)] * 2):
        check(values, bounds, 3)


def test_what_does_not_fit_is_refused() -> None:
    two = [FitnessBound(0, 9)] * 2
    with pytest.raises(ParameterError, match="needs two objectives or more; got 1"):
        ParetoWidths(two[:1], 5)
    with pytest.raises(ParameterError, match=r"for 1\.\.1000 candidates at once; got 1001"):
        ParetoWidths(two, 1001)
    with pytest.raises(ParameterError, match="needs 70 bits, the ring has 64; scale the weights"):
        ParetoWidths([FitnessBound(0, 2**30 - 1)] * 2, 300)
    for text in ("none", "buckets:2", "above:50"):
        with pytest.raises(DisclosureError, match=f"{text} depends on values"):
            run([[1, 2], [2, 1]], two, text, 3)


def test_rounding_a_span_is_off_by_an_eighth_at_most() -> None:
    for span in [*range(1, 400), 2**17, 2**17 + 1, 2**18 - 1, 100_001]:
        assert rounded_up(span) == twin.rounded_up(span)
        assert span <= rounded_up(span) <= span * 9 / 8
    for largest in (1, 2, 15, 16, 17, 100, 1000):
        assert list(steps(largest)) == sorted({rounded_up(s) for s in range(1, largest + 1)})
    assert len(steps(2**18)) <= 129


@pytest.mark.parametrize(("nodes", "rounds", "megabytes"), [(3, 26, 2.5), (4, 30, 3.5)])
def test_limits_at_300_candidates(nodes: int, rounds: int, megabytes: float) -> None:
    for bound in (FitnessBound(-100_000, 0), FitnessBound(0, 2**18 - 1)):
        widths = ParetoWidths([bound] * 2, 300)
        declared = cost(nodes, spec=Spec.parse("quantiles:20"), widths=widths, told=True)
        assert declared.rounds <= rounds
        assert declared.bytes_per_node <= megabytes * 1e6


@three_and_four
def test_300_candidates_measured(nodes: int) -> None:
    values = RNG.integers(-100_000, 0, (2, 300)).tolist()
    made = run(values, [FitnessBound(-100_000, 0)] * 2, "quantiles:20", nodes)
    ranks = np.array(twin.pareto_ranks(values, [100_000] * 2))
    expected = labels_of_ranks(ranks, Spec.parse("quantiles:20")).tolist()
    assert made.coordinator.labels.tolist() == expected


VALUES = [[5, 9, 0, 5], [1, 2, 7, 3]]
ASK: dict[str, Any] = {
    "spec": Spec.parse("order"),
    "widths": ParetoWidths([FitnessBound(0, 9)] * 2, 4),
}


def run_falsified(falsified: Falsified, objective: int) -> dict[int, Any]:
    """What each party of four returns or raises."""
    shares = [deal_integers(line, nodes=4) for line in VALUES]

    async def guarded(work: Any) -> Any:
        try:
            return await work
        except PeerError as error:
            return error

    def node(s: Session) -> Any:
        mine = [each[s.me] for each in shares]
        mine[objective] = falsified.share(s.me, mine[objective])
        return guarded(evaluate_pareto(s, mine, told=True, **ASK))

    async def whole() -> dict[int, Any]:
        made = await parties(node, lambda s: guarded(collect_pareto(s, **ASK)), nodes=4, timeout=1)
        return {**dict(enumerate(made.results)), COORDINATOR: made.coordinator}

    return run_without_waiting(whole())


@pytest.mark.parametrize("node", range(4))
def test_a_falsified_component_never_leads_to_a_wrong_answer(node: int) -> None:
    expected, noticed = twin.pareto_ranks(VALUES, [9, 9]), 0
    for component in set(range(4)) - {node}:
        outcomes = run_falsified(Falsified(node, component, entry=component), component % 2)
        for party, outcome in outcomes.items():
            if party == node:
                continue
            if isinstance(outcome, MismatchError):
                noticed += 1
                assert party_name(node) in (outcome.peer, outcome.voucher)
            elif not isinstance(outcome, PeerError):
                values = outcome if party == COORDINATOR else outcome.told
                assert values.labels.tolist() == expected
    # The first stage of the shuffle replaces all that node 0 holds.
    assert (noticed > 0) == (node > 0)
