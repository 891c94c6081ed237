"""The final reveal: the plan that is shown is the one that the nodes revealed to be the best."""

from __future__ import annotations

from collections.abc import Sequence

from tacit.agreement import Agreement
from tacit.records import Disclosed, DisclosedBest, Log
from tacit.verify import Claim, check_run
from tacit.verify.replay import replay
from tests.on_nodes.entries import lying
from tests.on_nodes.recorded import recorded

Run = tuple[Agreement, Sequence[Log], Sequence[Disclosed]]


def best_known(run: Run) -> tuple[int, list[list[int]]]:
    """The generation of the best-known set, and its plans."""
    agreement, logs, ledger = run
    known = replay(agreement, logs[0], ledger).best_known[-1]
    return known.generation, agreement.known_problem.plans(known.genomes).tolist()


def accepted(run: Run, claim: Claim) -> bool:
    agreement, logs, ledger = run
    return all(each.ok for each in check_run(agreement, logs, ledger, claim))


def showing(run: Run, index: int) -> Claim:
    """The plan with this index is shown as the best, and the others after it."""
    generation, plans = best_known(run)
    return Claim(plans[index], generation, others=[plans[index], *plans])


def test_another_plan_of_the_best_known_set_is_not_the_best() -> None:
    agreement, logs, ledger = run = recorded("evaluating")
    (entry,) = (each for each in ledger if isinstance(each.payload, DisclosedBest))
    assert isinstance(entry.payload, DisclosedBest)
    best, plans = entry.payload.index, best_known(run)[1]
    assert accepted(run, showing(run, best))
    others = [k for k, plan in enumerate(plans) if plan != plans[best]]
    assert others
    for other in others:
        assert not accepted(run, showing(run, other))
        changed = [lying(each, index=other) if each is entry else each for each in ledger]
        assert not accepted((agreement, logs, changed), showing(run, other))
    without = [each for each in ledger if each is not entry]
    assert not accepted((agreement, logs, without), showing(run, others[0]))
