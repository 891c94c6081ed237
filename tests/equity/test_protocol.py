"""Equity on shares is that in the clear, at the declared cost; one of four cannot falsify it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tacit.equity import (
    MEMORY,
    NEUTRAL,
    UNIT,
    EquityRule,
    EquityShape,
    RunSteps,
    account,
    balance_of,
    balance_spread,
    balances,
    factor_of,
    factors,
    multiplied,
    protocol,
    saved_shares,
    steps_after,
    steps_of,
    weighted,
)
from tacit.equity.rule import BALANCE_BITS, STEP_SCALE
from tacit.errors import MismatchError, ParameterError, PeerError
from tacit.mpc import Session
from tacit.mpc.local import PartiesRun, deal_integers, parties, reveal, run_parties
from tacit.mpc.ring import from_ring
from tacit.mpc.shares import ArithmeticShare, party_name, reconstruct
from tests.mpc.both import NUMBERS, check_cost, three_and_four
from tests.mpc.test_falsified import Falsified
from tests.mpc.waiting_clock import run_without_waiting

Numbers = NDArray[np.int64]


@dataclass
class Run:
    """A run that counts: weights, reference and plan."""

    shape: EquityShape
    weights: Numbers
    reference: Numbers
    plan: Numbers

    def on_shares(self, nodes: int, *, secret: bool, word: Any = np.uint32) -> PartiesRun[RunSteps]:
        dealt = deal_integers(self.weights, nodes=nodes)
        hidden = [s.map(lambda p: p.astype(word)) for s in deal_integers(self.plan, nodes=nodes)]
        return run_parties(
            lambda s: steps_after(
                s,
                dealt[s.me],
                self.reference,
                hidden[s.me] if secret else self.plan,
                self.shape,
                label="e",
            ),
            nodes=nodes,
        )

    def check(self, nodes: int, *, secret: bool) -> None:
        run = self.on_shares(nodes, secret=secret)
        saved = saved_shares(self.weights, self.reference, self.plan, self.shape)
        assert reveal([each.saved for each in run.results]).tolist() == saved.tolist()
        steps = reveal([each.steps for each in run.results])
        assert steps.tolist() == steps_of(saved).tolist()
        assert steps.sum() == 0
        check_cost(run, protocol.cost_after(nodes, self.shape, secret=secret))


def drawn(seed: int, rows: int, columns: int, bound: int, *, masked: bool, maximize: bool) -> Run:
    """A random run; weights are often at the ends of their range."""
    rng = np.random.default_rng(seed)
    owners = [0, 3, 4, *rng.choice([0, 3, 4, 6], rows - 3).tolist()]
    weights = rng.choice([0, bound, *rng.integers(0, bound + 1, 6)], (rows, columns))
    plans = [rng.permutation(columns)[:rows] for _ in range(2)]
    forbidden = None
    if masked:
        forbidden = rng.random((rows, columns)) < 0.5
        forbidden[np.arange(rows), plans] = False
    shape = EquityShape(owners, columns, bound, forbidden=forbidden, maximize=maximize)
    return Run(shape, weights, *plans)


@three_and_four
@settings(max_examples=12, deadline=None)
@given(
    seed=st.integers(0, 999),
    rows=st.integers(3, 6),
    bound=st.sampled_from([1, 9, 10**6, 10**12]),
    masked=st.booleans(),
    maximize=st.booleans(),
    secret=st.booleans(),
)
def test_steps_are_the_clear_ones_at_the_declared_cost(
    seed: int, rows: int, bound: int, masked: bool, maximize: bool, secret: bool, nodes: int
) -> None:
    run = drawn(seed, rows, rows + seed % 3, bound, masked=masked, maximize=maximize)
    run.check(nodes, secret=secret)


@three_and_four
def test_a_plan_in_words_of_64_bits(nodes: int) -> None:
    run = drawn(3, 5, 7, 100, masked=True, maximize=False)
    found = run.on_shares(nodes, secret=True, word=np.uint64)
    saved = saved_shares(run.weights, run.reference, run.plan, run.shape)
    assert reveal([each.saved for each in found.results]).tolist() == saved.tolist()


@three_and_four
@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize("stated", [0, 9])
def test_what_is_stated_of_a_forbidden_pair_does_not_matter(
    stated: int, maximize: bool, nodes: int
) -> None:
    """A search that is cut short may end with one."""
    run = drawn(5, 4, 6, 9, masked=True, maximize=maximize)
    assert run.shape.forbidden is not None
    wrong = replace(run, plan=run.shape.forbidden.argmax(axis=1))
    assert run.shape.forbidden[np.arange(4), wrong.plan].any()
    wrong.weights[run.shape.forbidden] = stated
    wrong.check(nodes, secret=True)
    saved = saved_shares(wrong.weights, run.reference, wrong.plan, run.shape)
    wrong.weights[run.shape.forbidden] = 9 - stated
    again = saved_shares(wrong.weights, run.reference, wrong.plan, run.shape)
    assert saved.tolist() == again.tolist()


@pytest.mark.parametrize("bound", [1, 7, 4095, 65_535])
def test_everything_saved_and_everything_lost_fit_the_declared_bits(bound: int) -> None:
    """One participant goes from all to nothing, one the other way, one stays at the worst."""
    weights = np.array([[0, bound], [bound, 0], [bound, bound]])
    shape = EquityShape([0, 1, 2], 2, bound)
    run = Run(shape, weights, np.array([0, 0, 0]), np.array([1, 1, 1]))
    run.check(3, secret=True)
    assert saved_shares(weights, run.reference, run.plan, shape).tolist() == [
        -128,
        128 * bound // (bound + 1),
        0,
    ]


@given(
    costs=st.lists(st.tuples(*[st.integers(0, 10**9)] * 3), min_size=3, max_size=5),
)
def test_a_saved_share_is_a_quotient_rounded_down_and_cut(
    costs: list[tuple[int, int, int]],
) -> None:
    """Against fractions: a row per participant whose cells are reference, plan and least."""
    weights = np.array([[max(c), sorted(c)[1], min(c)] for c in costs])
    shape = EquityShape(range(len(costs)), 3, 10**9)
    at = np.zeros(len(costs), dtype=np.int64)
    for reference, plan in ((at, at + 1), (at + 1, at)):
        rows = np.arange(len(costs))
        before, after = weights[rows, reference], weights[rows, plan]
        exact = [
            Fraction(128 * int(a - b), int(a - m) + 1)
            for a, b, m in zip(before, after, weights[:, 2], strict=True)
        ]
        wanted = [max(-128, min(128, each.numerator // each.denominator)) for each in exact]
        assert saved_shares(weights, reference, plan, shape).tolist() == wanted


@given(seed=st.integers(0, 99), added=st.integers(0, 50))
def test_a_constant_added_to_a_row_changes_no_share(seed: int, added: int) -> None:
    run = drawn(seed, 4, 5, 50, masked=False, maximize=False)
    wide = EquityShape(run.shape.owners, 5, 100)
    raised = run.weights + np.array([added, 0, 0, 0])[:, None]
    both = [saved_shares(w, run.reference, run.plan, wide) for w in (run.weights, raised)]
    assert both[0].tolist() == both[1].tolist()


def history(seed: int, lengths: list[int], size: int) -> list[list[int]]:
    rng = np.random.default_rng(seed)
    return [rng.integers(-size, size + 1, length).tolist() for length in lengths]


@three_and_four
@settings(max_examples=12, deadline=None)
@given(
    seed=st.integers(0, 99),
    levels=st.integers(1, 8),
    decay=st.sampled_from([0, 700, 980, 1000]),
    spacing=st.sampled_from([1, 32]),
    lengths=st.lists(st.sampled_from([0, 1, 5, 64, 70]), min_size=3, max_size=5),
)
def test_factors_and_weights_are_the_clear_ones_at_the_declared_cost(
    seed: int, levels: int, decay: int, spacing: int, lengths: list[int], nodes: int
) -> None:
    rule = EquityRule(levels, decay, spacing)
    steps = history(seed, lengths, 1 << 18)
    dealt = [deal_integers(np.array(own, dtype=np.int64), nodes=nodes) for own in steps]
    owners = [0, 2, 1, 2]
    weights = np.random.default_rng(seed).integers(0, 1000, (4, 5))
    secret = deal_integers(weights, nodes=nodes)

    async def node(s: Any) -> tuple[ArithmeticShare, ArithmeticShare, ArithmeticShare]:
        balance = balances([own[s.me] for own in dealt], rule)
        found = await factors(s, balance, rule, label="f")
        return balance, found, await multiplied(s, secret[s.me], found, owners, label="w")

    run = run_parties(node, nodes=nodes)
    balance, found, scaled = (reveal(list(each)) for each in zip(*run.results, strict=True))
    clear = [balance_of(own, rule) for own in steps]
    assert balance.tolist() == clear
    wanted = [factor_of(each, rule) for each in clear]
    assert found.tolist() == wanted
    assert scaled.tolist() == weighted(weights, wanted, owners).tolist()
    check_cost(run, protocol.cost_before(nodes, rule, len(lengths), rows=4, columns=5))


@three_and_four
def test_a_balance_at_a_threshold_is_not_below_it(nodes: int) -> None:
    rule = EquityRule(levels=2, spacing=3)
    at = [balance for t in rule.thresholds for balance in (t - 1, t)]
    dealt = deal_integers(at, nodes=nodes)
    run = run_parties(
        lambda s: factors(s, dealt[s.me], rule, label="f"),
        nodes=nodes,
    )
    assert reveal(run.results).tolist() == [18, 17, 17, 16, 16, 15, 15, 14]
    assert [factor_of(each, rule) for each in at] == [18, 17, 17, 16, 16, 15, 15, 14]


@three_and_four
@given(values=st.lists(st.integers(-(2**34) + 1, 2**34 - 1), min_size=1, max_size=6))
@settings(max_examples=10, deadline=None)
def test_the_spread_is_the_largest_minus_the_least(values: list[int], nodes: int) -> None:
    dealt = deal_integers(values, nodes=nodes)
    run = run_parties(lambda s: balance_spread(s, dealt[s.me], label="s"), nodes=nodes)
    assert reveal(run.results).tolist() == [max(values) - min(values)]
    check_cost(run, account.cost_of_spread(nodes, len(values)))


def test_those_who_are_even_have_the_neutral_factor() -> None:
    rule, far = EquityRule(), 1 << 33
    assert factor_of(0, rule) == NEUTRAL
    assert (factor_of(-far, rule), factor_of(far, rule)) == (20, 12)


@pytest.mark.parametrize("participants", [3, 4, 5, 7, 64, 1000, 5000])
def test_balances_stay_within_their_bits(participants: int) -> None:
    """The largest step there can be, as often as a balance remembers."""
    saved = np.full(participants, -128)
    saved[0] = 128
    step = int(steps_of(saved)[0])
    rule = EquityRule(levels=15, decay=1000, spacing=1)
    most = abs(balance_of([step] * (MEMORY + 5), rule))
    assert most < 1 << (BALANCE_BITS - 2)
    assert participants > STEP_SCALE or most > 1 << (BALANCE_BITS - 4)
    with pytest.raises(ParameterError, match="out of the range of balances"):
        EquityRule(levels=15, spacing=1 << 11)
    assert EquityRule(levels=1, spacing=1 << 14).thresholds[-1] < 1 << (BALANCE_BITS - 2)


def test_weights_are_exact() -> None:
    rule = EquityRule(decay=983)
    for age, weight in enumerate(rule.weights):
        assert abs(Fraction(983, 1000) ** age * 256 - weight) <= Fraction(1, 2)
    assert len(rule.weights) == MEMORY
    assert EquityRule(decay=0).weights[:2] == (256, 0)
    assert UNIT == 1 << 19


@pytest.mark.parametrize("nodes", NUMBERS)
def test_a_run_of_40_by_60_takes_few_rounds(nodes: int) -> None:
    shape = EquityShape([r % 4 for r in range(40)], 60, 100_000)
    after = protocol.cost_after(nodes, shape, secret=True)
    whole = after.then(protocol.cost_before(nodes, EquityRule(), 4, rows=40, columns=60))
    assert whole.rounds <= 48
    assert shape.word == np.uint32


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (([0, 1, 1], 4, 10), "2 participants have rows"),
        (([0, 1, 2], 1, 10), "nothing to save"),
        (([0, 1, 2], 4, 0), "raise the bound"),
        (([0, 1, 2], 4, 1 << 57), "scale the weights down"),
    ],
)
def test_what_cannot_count_is_refused(arguments: tuple[Any, ...], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        EquityShape(*arguments)


def test_a_row_without_a_column_is_refused() -> None:
    forbidden = np.zeros((3, 4), dtype=bool)
    forbidden[1] = True
    with pytest.raises(ParameterError, match="no allowed column"):
        EquityShape([0, 1, 2], 4, 10, forbidden=forbidden)


@pytest.mark.parametrize("rule", [{"levels": 0}, {"levels": 16}, {"decay": 1001}, {"spacing": 0}])
def test_rules_out_of_range_are_refused(rule: dict[str, int]) -> None:
    with pytest.raises(ParameterError, match="use"):
        EquityRule(**rule)


SHAPE = EquityShape([0, 1, 2], columns=3, bound=20)
WEIGHTS = np.array([[1, 9, 5], [0, 4, 3], [2, 2, 2]])
REFERENCE, PLAN = np.array([1, 0, 2]), np.array([0, 1, 2])
BALANCES = [1 << 30, -5, -(1 << 30)]


def run(falsified: Falsified, what: str) -> dict[int, Any]:
    """What each of four nodes returns or raises."""
    weights = deal_integers(WEIGHTS, nodes=4)
    plan, balances = deal_integers(PLAN, nodes=4), deal_integers(BALANCES, nodes=4)

    async def node(s: Session) -> Any:
        mine = {"weights": weights[s.me], "plan": plan[s.me], "balances": balances[s.me]}
        mine[what] = falsified.share(s.me, mine[what])
        try:
            if what == "balances":
                return await factors(s, mine[what], EquityRule(), label="f")
            done = await steps_after(s, mine["weights"], REFERENCE, mine["plan"], SHAPE, label="e")
        except PeerError as error:
            return error
        return done.steps

    async def whole() -> dict[int, Any]:
        made = await parties(node, nodes=4, timeout=1)
        return dict(enumerate(made.results))

    return run_without_waiting(whole())


EXPECTED = {
    "weights": steps_of(saved_shares(WEIGHTS, REFERENCE, PLAN, SHAPE)).tolist(),
    "plan": steps_of(saved_shares(WEIGHTS, REFERENCE, PLAN, SHAPE)).tolist(),
    "balances": [12, 16, 20],
}


@pytest.mark.parametrize("what", EXPECTED)
@pytest.mark.parametrize("node", [1, 3])
def test_a_falsified_component_never_leads_to_a_wrong_balance(node: int, what: str) -> None:
    noticed = 0
    for component in set(range(4)) - {node}:
        outcomes = run(Falsified(node, component, entry=component % 3), what)
        honest = {party: outcome for party, outcome in outcomes.items() if party != node}
        for outcome in honest.values():
            if isinstance(outcome, MismatchError):
                noticed += 1
                assert party_name(node) in (outcome.peer, outcome.voucher)
        if not any(isinstance(outcome, PeerError) for outcome in honest.values()):
            assert from_ring(reconstruct(list(honest.values()))).tolist() == EXPECTED[what]
    assert noticed > 0
