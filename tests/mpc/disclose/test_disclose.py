"""The secure disclosures give what the clear ones give."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tacit.errors import AbortError, DisclosureError, ParameterError
from tacit.mpc import (
    ArithmeticShare,
    Best,
    DisclosedValues,
    FitnessBound,
    Session,
    Spec,
    check_bound_fits,
    collect,
    evaluate,
)
from tacit.mpc.disclose.evaluation import Evaluated, _check_labels
from tacit.mpc.disclose.values import groups_of
from tacit.mpc.local import PartiesRun, deal_integers, reveal, run_parties
from tests.mpc.both import three_and_four
from tests.mpc.disclose.twin import disclose

RNG = np.random.default_rng(9)
ALL = ["none", "order", "quantiles:{k}", "top:{k}", "buckets:{k}", "above:{p}"]


def run(
    f: NDArray[np.int64],
    text: str,
    bound: FitnessBound,
    best: Best = "value",
    old: list[ArithmeticShare] | None = None,
    known: int | None = None,
    nodes: int = 3,
) -> PartiesRun[Evaluated]:
    shares = deal_integers(f, nodes=nodes)
    spec = Spec.parse(text)

    async def node(s: Session) -> Evaluated:
        state = old[s.me] if old else None
        return await evaluate(s, shares[s.me], spec=spec, bound=bound, best=best, best_so_far=state)

    async def coordinator(s: Session) -> DisclosedValues:
        return await collect(s, len(f), spec=spec, bound=bound, best=best, best_so_far=known)

    return run_parties(node, coordinator, nodes=nodes)


def check(f: NDArray[np.int64], text: str, bound: FitnessBound, *, nodes: int = 3) -> None:
    outcome: DisclosedValues = run(f, text, bound, nodes=nodes).coordinator
    assert outcome.labels.tolist() == disclose(f, text).tolist()
    assert outcome.best_value == f.max()


@three_and_four
@settings(max_examples=30, deadline=None)
@given(data=st.data())
@example(data=None)
@pytest.mark.slow
def test_small_populations(data: st.DataObject | None, nodes: int) -> None:
    if data is None:
        check(np.zeros(1, dtype=np.int64), "order", FitnessBound(0, 0), nodes=nodes)
        return
    low = data.draw(st.integers(-40, 10))
    high = data.draw(st.integers(low, low + 30))
    values = data.draw(st.lists(st.integers(low, high), min_size=1, max_size=12))
    k = data.draw(st.integers(1, len(values)))
    p = data.draw(st.integers(0, 100))
    text = data.draw(st.sampled_from(ALL)).format(k=k, p=p)
    check(np.array(values), text, FitnessBound(low, high), nodes=nodes)


@three_and_four
@pytest.mark.parametrize("text", ["order", "quantiles:7", "top:9", "buckets:10", "above:60"])
@pytest.mark.parametrize("kind", ["equal", "ties", "signed", "extreme"])
def test_populations_of_a_hundred(text: str, kind: str, nodes: int) -> None:
    bound = FitnessBound(1 - 2**18, 2**18 - 1)
    f = {
        "equal": np.full(100, -3),
        "ties": RNG.integers(-2, 3, 100),
        "signed": RNG.integers(bound.low, bound.high, 100, endpoint=True),
        "extreme": RNG.choice([bound.low, 0, bound.high], 100),
    }[kind]
    check(f, text, bound, nodes=nodes)


@three_and_four
@pytest.mark.parametrize("text", ["none", "order", "quantiles:2", "top:2", "buckets:3", "above:50"])
@pytest.mark.slow
def test_every_bit_length_up_to_the_rings_limit(text: str, nodes: int) -> None:
    spec = Spec.parse(text)
    for bits in [1, 2, 3, 8, 31, 32, 33, 54, 55, 56, 57, 58, 59, 60, 61, 62]:
        bound = FitnessBound(-(2**bits - 1), 0)
        f = -RNG.integers(0, 2**bits - 1, 5, endpoint=True)
        f[:2] = bound.low, bound.high
        try:
            check_bound_fits(bound, 5, spec)
        except ParameterError:
            with pytest.raises(ParameterError, match="scale the weights down"):
                run(f, text, bound, nodes=nodes)
            continue
        check(f, text, bound, nodes=nodes)


def test_table_1_of_the_paper() -> None:
    f = RNG.permutation(11)
    labels = run(f, "quantiles:3", FitnessBound(0, 10)).coordinator.labels
    assert np.bincount(labels).tolist() == [3, 4, 4]


def test_buckets_of_zero_to_a_hundred() -> None:
    f = np.arange(101)
    labels = run(f, "buckets:3", FitnessBound(0, 100)).coordinator.labels
    assert [f[labels == j].min() for j in range(3)] == [67, 34, 0]


@three_and_four
@pytest.mark.parametrize("text", ["order", "top:1", "buckets:2", "above:90"])
def test_improvements_over_several_evaluations(text: str, nodes: int) -> None:
    bound = FitnessBound(-100, 100)
    old: list[ArithmeticShare] | None = None
    best: int | None = None
    for _ in range(6):
        f = RNG.integers(-100, 101, 3)
        parties = run(f, text, bound, "improvement", old, nodes=nodes)
        top = int(f.max())
        assert parties.coordinator.improved == (best is None or top > best)
        assert parties.coordinator.best_value is None
        best = top if best is None else max(best, top)
        old = [r.best_so_far for r in parties.results if r.best_so_far is not None]
        assert reveal(old).tolist() == [best]
        assert parties.rounds <= (18 if Spec.parse(text).has_thresholds else 12)


def test_an_equal_best_is_no_improvement() -> None:
    for f, improved in (([5, 2], False), ([6, 2], True), ([4, 2], False)):
        parties = run(np.array(f), "order", FitnessBound(0, 9), "improvement", deal_integers([5]))
        assert parties.coordinator.improved is improved


def test_improvement_in_the_clear() -> None:
    f, bound = np.array([3, 5]), FitnessBound(0, 9)
    for known, improved in ((None, True), (4, True), (5, False)):
        outcome = run(f, "none", bound, "improvement", known=known).coordinator
        assert (outcome.improved, outcome.best_value) == (improved, None)


@pytest.mark.parametrize("text", ["none", "order", "above:50"])
def test_nothing_is_disclosed_of_the_best(text: str) -> None:
    outcome = run(np.array([3, 5, 4, 1]), text, FitnessBound(0, 9), "nothing").coordinator
    assert (outcome.best_value, outcome.improved) == (None, None)
    assert outcome.labels.tolist() == disclose(np.array([3, 5, 4, 1]), text).tolist()


def test_a_fitness_out_of_range_ends_in_an_abort_or_at_the_coordinator() -> None:
    # 3 bits of key for differences up to 12: the comparisons of these form a cycle.
    shares = deal_integers(np.array([0, 3, 6, 9, 12]) * 1000)
    spec, bound = Spec.parse("order"), FitnessBound(0, 1000)
    with pytest.raises(AbortError, match="form no order; an input is out of range"):
        run_parties(lambda s: evaluate(s, shares[s.me], spec=spec, bound=bound, best="nothing"))


def test_noise_is_refused_by_the_coordinator() -> None:
    f = np.array([1, 2, 3])
    with pytest.raises(AbortError, match=r"a fitness outside 0..2"):
        run(f, "none", FitnessBound(0, 2))


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        ("order", [0, 1, 1, 3, 4]),
        ("order", [0, 1, 2, 3, 5]),
        ("quantiles:2", [0, 0, 0, 1, 1]),
        ("top:2", [1, 1, 1, 0, 0]),
        ("buckets:2", [1, 1, 1, 1, 1]),
        ("buckets:2", [0, 2, 1, 1, 1]),
        ("above:50", [1, 1, 0, 0, 0]),
        ("above:50", [1, 2, 0, 0, 0]),
    ],
)
def test_labels_that_cannot_be_are_refused(text: str, labels: list[int]) -> None:
    with pytest.raises(AbortError, match=f"labels that do not fit {text}"):
        _check_labels(np.array(labels), Spec.parse(text))


@pytest.mark.parametrize(("text", "row"), [("above:50", 3), ("buckets:3", 2), ("buckets:3", 4)])
def test_bits_of_no_bucket_are_refused(text: str, row: int) -> None:
    with pytest.raises(AbortError, match="encode no bucket"):
        groups_of(np.array([[0], [row]], dtype=np.uint8), Spec.parse(text))


def test_a_disclosure_that_does_not_fit_is_refused() -> None:
    with pytest.raises(DisclosureError, match="top:4 does not fit 3 individuals"):
        run(np.array([1, 2, 3]), "top:4", FitnessBound(0, 3))


@pytest.mark.parametrize(
    ("text", "nodes"),
    [("order", 3), ("quantiles:20", 4), ("top:15", 3), ("buckets:5", 4), ("above:75", 3)],
)
def test_populations_too_large_for_all_pairs(text: str, nodes: int) -> None:
    f = RNG.integers(0, 300, 1300)
    check(f, text, FitnessBound(0, 300), nodes=nodes)
