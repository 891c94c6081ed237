"""Logs of a run that counts for balances: whatever is out of order is a finding."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from msgspec.structs import replace

from tacit.agreement import Agreement, plan_digest
from tacit.equity import FIRST_HEAD, RunEntry, head_after
from tacit.errors import LogError, UnprovenError
from tacit.records import NO_ATTEMPT, Attempt, DisclosureKind, EvaluationBegun, RunCounted, Sent
from tacit.verify import Claim, check_counted, surely_counted
from tests.agreement.test_equity import KEYS, TERMS, plain, ranked, with_equity

SENT = Sent(DisclosureKind.PLAN, 0, Attempt("2:3:4"), "00", "00", "00")
EVALUATED = Sent(DisclosureKind.LABELS, 0, Attempt("1:3:4"), "00", "00", "00")


AGREEMENT = with_equity(plain(), terms=replace(TERMS, spread=True))
TOLD = [("spread", 1200)]


@pytest.fixture(scope="module")
def agreement() -> Agreement:
    return AGREEMENT


def head_of(attempt: str) -> str:
    digest = AGREEMENT.digest.hex()
    return head_after(FIRST_HEAD, RunEntry(2, attempt, tuple(KEYS), place=4, agreement=digest))


def counted(**changes: Any) -> RunCounted:
    line = RunCounted(2, "3:5", list(KEYS), head_of("3:5"), 4, TOLD, ["aa"] * 3)
    return replace(line, **changes)


def test_a_run_that_counts_everywhere_before_its_plan_is_opened(agreement: Agreement) -> None:
    log: list[Any] = [counted(), SENT]
    assert "counts once" in check_counted(agreement, [log, log, log], Claim())
    # One node may not have come to it.
    assert "counts once" in check_counted(agreement, [log, log, []], Claim())
    with pytest.raises(UnprovenError, match="a plan that nobody saw"):
        check_counted(agreement, [[counted()]] * 3, Claim())
    assert "no balance has moved" in check_counted(agreement, [[], [], []], Claim())


@pytest.mark.parametrize(
    ("log", "why"),
    [
        ([SENT], "before the run counted"),
        ([SENT, counted()], "before the run counted"),
        ([replace(SENT, kind=DisclosureKind.OWNERS_PLAN), counted()], "before the run counted"),
        ([counted(), counted()], "2 times"),
        ([counted(attempt="3:6")], "does not follow"),
        ([counted(number=3)], "another number"),
        ([counted(participants=["participant 1"])], "others than have rows"),
        ([counted(head="ab" * 32)], "does not follow"),
        ([counted(boxes=[])], "something else"),
        ([counted(opened=[])], "something else"),
        ([counted(opened=[("saved", 1200)])], "something else"),
        ([counted(place=3)], "does not follow"),
    ],
)
def test_what_is_out_of_order_is_noticed(agreement: Agreement, log: list[Any], why: str) -> None:
    with pytest.raises(LogError, match=why):
        check_counted(agreement, [log, [counted(), SENT], [counted(), SENT]], Claim())


def test_a_node_that_counted_otherwise_is_noticed(agreement: Agreement) -> None:
    other = counted(attempt="9:9", head=head_of("9:9"))
    with pytest.raises(LogError, match="node 2 counted another run"):
        check_counted(agreement, [[counted()], [counted()], [other]], Claim())
    lying = counted(opened=[("spread", 7)])
    with pytest.raises(LogError, match="node 2 tells all other numbers"):
        check_counted(agreement, [[counted()], [counted()], [lying]], Claim())


def test_a_public_plan_is_the_one_that_counts() -> None:
    """Where ranks are disclosed the platform could show another, or go on searching."""
    told = ranked(with_equity(plain(), terms=replace(TERMS, spread=True)))
    plan, other = [*range(6)], [1, 0, *range(2, 6)]
    entry = RunEntry(2, "3:5", tuple(KEYS), place=4, agreement=told.digest.hex())
    entry = dataclasses.replace(entry, plan=plan_digest(told, plan))
    line = replace(counted(), plan=entry.plan, head=head_after(FIRST_HEAD, entry))
    log: list[Any] = [EvaluationBegun(0, 1, "aa", NO_ATTEMPT), EVALUATED, line]
    assert "counts once" in check_counted(told, [log] * 3, Claim(plan))
    assert "no balance has moved" in check_counted(told, [log[:1]] * 3, Claim())
    more: list[Any] = [*log, EvaluationBegun(0, 2, "bb", NO_ATTEMPT)]
    lying: list[Any] = [replace(line, plan=plan_digest(told, other))]
    for logs, claim, why in (
        ([log] * 3, Claim(other), "not the one that was counted"),
        ([log] * 3, Claim(plan, earlier=Claim(other)), "not the one that was counted"),
        ([log[:1]] * 3, Claim(plan), "no node counted the run"),
        ([log, log, more], Claim(plan), "node 2 evaluated more"),
        ([lying] * 3, Claim(other), "does not follow"),
        ([log] * 3, Claim(), "a plan that nobody saw"),
        ([log, log, log[:1]], Claim(plan), "only 2 of 3 nodes"),
    ):
        with pytest.raises(LogError, match=why):
            check_counted(told, logs, claim)


def test_one_node_that_lies_does_not_make_a_run_count() -> None:
    """Of four nodes one says with the platform that the run counts, or alone that it does not."""
    made = ranked(with_equity(plain(), terms=replace(TERMS, spread=True)))
    told = replace(made, nodes=[*made.nodes, made.nodes[0]])
    plan = [*range(6)]
    entry = RunEntry(2, "3:5", tuple(KEYS), place=4, agreement=told.digest.hex())
    entry = dataclasses.replace(entry, plan=plan_digest(told, plan))
    line = replace(counted(), plan=entry.plan, head=head_after(FIRST_HEAD, entry))
    without: list[Any] = [EvaluationBegun(0, 1, "aa", NO_ATTEMPT)]
    log = [*without, line]
    more = [*without, EvaluationBegun(0, 2, "bb", NO_ATTEMPT)]
    assert "counts once" in check_counted(told, [log, log, log, without], Claim(plan))
    for logs in ([without] * 3 + [log], [without] * 2 + [log] * 2, [log, log]):
        with pytest.raises(UnprovenError, match="of 4 nodes say that they counted"):
            check_counted(told, logs, Claim(plan))
    for logs in ([more] * 3 + [log], [log] * 3 + [more]):
        with pytest.raises(LogError, match="evaluated what those that counted") as caught:
            check_counted(told, logs, Claim(plan))
        assert not isinstance(caught.value, UnprovenError)
    assert surely_counted(told, [without] * 3 + [log]) is None
    assert surely_counted(told, [without] * 2 + [log] * 2) == line


def test_a_line_of_another_agreement_is_noticed(agreement: Agreement) -> None:
    other = with_equity(plain(), terms=replace(TERMS, spread=True))
    with pytest.raises(LogError, match="does not follow"):
        check_counted(other, [[counted()]] * 3, Claim())
