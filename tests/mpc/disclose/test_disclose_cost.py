"""Declared rounds and bytes are the measured ones, and stay below the promised limits."""

import numpy as np
import pytest

from tacit.mpc import Best, FitnessBound, Session, Spec, collect, evaluate
from tacit.mpc.disclose.node import Evaluated
from tacit.mpc.disclose.node import cost as evaluation_cost
from tacit.mpc.local import PartiesRun, deal_integers, run_parties

RNG = np.random.default_rng(10)
LIMITS = {"none": (2, 0.01), "ranked": (12, 0.8), "thresholds": (18, 0.9)}
TEXTS = ["none", "order", "quantiles:5", "top:10", "buckets:5", "above:75"]


def limit(text: str) -> tuple[int, float]:
    if text == "none":
        return LIMITS["none"]
    return LIMITS["thresholds" if Spec.parse(text).has_thresholds else "ranked"]


def measure(n: int, text: str, bound: FitnessBound, best: Best, has: bool) -> PartiesRun[Evaluated]:
    shares = deal_integers(RNG.integers(bound.low, bound.high, n, endpoint=True))
    old = deal_integers([bound.low])
    spec = Spec.parse(text)

    async def node(s: Session) -> Evaluated:
        state = old[s.me] if has else None
        return await evaluate(s, shares[s.me], spec=spec, bound=bound, best=best, best_so_far=state)

    return run_parties(node, lambda s: collect(s, n, spec=spec, bound=bound, best=best))


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("best", ["value", "improvement", "nothing"])
@pytest.mark.parametrize("has", [False, True])
@pytest.mark.slow
def test_declared_is_measured(text: str, best: Best, has: bool) -> None:
    for n in (10, 11, 64, 130):
        for bits in (1, 7, 18, 45):
            bound = FitnessBound(0, 2**bits - 1)
            run = measure(n, text, bound, best, has)
            declared = evaluation_cost(
                n, spec=Spec.parse(text), bound=bound, best=best, has_best=has
            )
            assert (run.rounds, run.sent) == (declared.rounds, declared.sent)
            assert declared.rounds <= limit(text)[0]


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("text", ["order", "buckets:1", "above:3"])
def test_declared_is_measured_for_the_smallest(n: int, text: str) -> None:
    bound = FitnessBound(0, 5)
    run = measure(n, text, bound, "improvement", True)
    declared = evaluation_cost(
        n, spec=Spec.parse(text), bound=bound, best="improvement", has_best=True
    )
    assert (run.rounds, run.sent) == (declared.rounds, declared.sent)


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("best", ["value", "improvement"])
def test_limits_at_300_individuals(text: str, best: Best) -> None:
    for bound in (FitnessBound(0, 2**18 - 1), FitnessBound(1 - 2**18, 2**18 - 1)):
        run = measure(300, text, bound, best, True)
        rounds, megabytes = limit(text)
        assert run.rounds <= rounds
        assert max(run.sent) <= megabytes * 1e6
        declared = evaluation_cost(
            300, spec=Spec.parse(text), bound=bound, best=best, has_best=True
        )
        assert (run.rounds, run.sent) == (declared.rounds, declared.sent)


@pytest.mark.parametrize("text", ["order", "buckets:5"])
def test_limits_at_5000_individuals(text: str) -> None:
    bound = FitnessBound(0, 2**18 - 1)
    run = measure(5000, text, bound, "improvement", True)
    assert run.rounds <= 40
    assert max(run.sent) <= 10e6
    declared = evaluation_cost(
        5000,
        spec=Spec.parse(text),
        bound=bound,
        best="improvement",
        has_best=True,
        batches=run.results[0].batches,
    )
    assert (run.rounds, run.sent) == (declared.rounds, declared.sent)
    typical = evaluation_cost(
        5000, spec=Spec.parse(text), bound=bound, best="improvement", has_best=True
    )
    assert typical.rounds == declared.rounds
    assert 0.5 < typical.bytes_per_node / declared.bytes_per_node < 2
