"""What a platform could claim of a run, or do in it: each check notices it, without any node."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from tacit.agreement import PlanHeads, SealedRows, box_hash, manifests_digest, seal_rows
from tacit.errors import LogError, UnprovenError
from tacit.records import (
    Attempt,
    BatchBegun,
    Disclosed,
    DisclosedBest,
    DisclosedProof,
    DisclosedToOwners,
    DisclosureKind,
    EvaluationBegun,
    HeardBoxes,
    InputTaken,
    Log,
    LogEvent,
    NodeLost,
    NumberAdopted,
    PlanDecided,
    PlanSealed,
    Sent,
)
from tacit.records.events import InputsFrozen
from tacit.verify.claims import Claim, check_plan
from tacit.verify.disclosed import check_answers, check_disclosed, check_populations, is_agreed
from tacit.verify.replay import check_search, replay
from tacit.verify.sealed import check_all_told, check_boxes, check_generations_asked, check_told
from tacit.verify.verdict import Finding, check_inputs
from tests.on_nodes.entries import about_search
from tests.on_nodes.owners_cast import owners_cast
from tests.on_nodes.recorded import recorded
from tests.verify.test_replay import forged
from tests.verify.test_sealed import batch_begun

EVALUATING = recorded("evaluating")
SEALED = recorded("sealed")


def changed(log: Log, change: Callable[[LogEvent], LogEvent | None]) -> list[LogEvent]:
    """A log with each line as `change` makes it, without those that it makes nothing of."""
    return [made for event in log if (made := change(event)) is not None]


def without_line(log: Log, kind: type[LogEvent], number: int) -> list[LogEvent]:
    return [e for e in log if not (isinstance(e, kind) and e.attempt.number == number)]  # type: ignore[attr-defined]


# Plans that the agreed search found.


def best_found() -> tuple[int, list[int], list[int]]:
    """The last generation, a plan of its best, and a plan that the search did not find."""
    agreement, logs, ledger = EVALUATING
    known = replay(agreement, logs[0], ledger).best_known[-1]
    plans = agreement.known_problem.plans(known.genomes).tolist()
    invented = next(p for p in ([5, 4, 3, 2, 1, 0], [0, 1, 2, 3, 4, 5]) if p not in plans)
    return known.generation, plans[0], invented


def test_a_plan_is_one_that_the_agreed_search_found_now_and_before() -> None:
    agreement, logs, ledger = EVALUATING
    answers = [entry for entry in ledger if not isinstance(entry.payload, DisclosedBest)]
    generation, best, invented = best_found()

    def check(claim: Claim) -> str:
        return check_search(agreement, logs[0], answers, claim)

    assert "one of its best" in check(Claim(best, generation, shown=best))
    for claim, words in (
        (Claim(invented, generation), "is not among the best"),
        (Claim(best, generation, others=[best, invented]), "is not among the best"),
        (Claim(best, generation, earlier=Claim(invented, generation)), "is not among the best"),
        (Claim(best, generation, shown=invented), "has shown here"),
        (Claim(best, generation, values=[(best, [5.0])]), "the nodes disclosed none"),
        (Claim(best, generation + 1), "the ledger has"),
        (Claim(best, generation, gaps=[0.0]), "proved nothing"),
    ):
        with pytest.raises(LogError, match=words):
            check(claim)


def test_another_seed_gives_other_populations() -> None:
    agreement, logs, ledger = EVALUATING
    other = replace(agreement, search=replace(agreement.search, seed=1))
    with pytest.raises(LogError, match="not what the agreed search"):
        check_search(other, logs[0], ledger, Claim())


# Answers and logs.


def test_nodes_are_asked_the_same() -> None:
    _, logs, _ = EVALUATING
    assert "asked the same" in check_populations(logs)

    def another(event: LogEvent) -> LogEvent:
        first = isinstance(event, EvaluationBegun) and event.number == 1
        return replace(event, request="ab" * 32) if first else event

    with pytest.raises(LogError, match="different things"):
        check_populations([*logs[:2], changed(logs[2], another)])


def test_a_repeated_attempt_gives_the_same_answer() -> None:
    agreement, logs, ledger = EVALUATING
    first = ledger[0]
    again = replace(forged(first), attempt=Attempt.of(1, first.attempt.epoch, 999))
    with pytest.raises(LogError, match="two answers to evaluation 1"):
        check_answers(agreement, logs, [*ledger, again])


def test_only_the_last_answer_may_lack_a_line() -> None:
    agreement, logs, ledger = EVALUATING
    answers = ledger[:3]
    assert check_answers(
        agreement, [without_line(logs[0], Sent, 3), *logs[1:]], answers
    ).counts == (2, 1)
    with pytest.raises(LogError, match="log of node 0 lacks the answer to evaluation 1"):
        check_answers(agreement, [without_line(logs[0], Sent, 1), *logs[1:]], answers)


def test_a_power_cut_takes_no_line_that_was_written_before_it() -> None:
    agreement, logs, ledger = EVALUATING
    at = next(i for i, e in enumerate(logs[0]) if isinstance(e, Sent) and e.attempt.number == 3)
    lost = NumberAdopted(0, 64, "")
    cut = [*logs[0][:at], lost]
    assert check_answers(agreement, [cut, *logs[1:]], ledger[:3]).counts == (2, 1)
    with pytest.raises(LogError, match="went on without"):
        check_answers(agreement, [without_line(cut, Sent, 1), *logs[1:]], ledger[:3])


def test_a_node_is_left_out_only_if_all_others_say_that_it_was_lost() -> None:
    agreement, logs, ledger = SEALED
    without = [*ledger[:2], replace(ledger[2], without=1)]
    lost = NodeLost(ledger[2].attempt.epoch + 1, 1)
    check_answers(agreement, [[*logs[0], lost], logs[1], [*logs[2], lost]], without)
    with pytest.raises(LogError, match="left it out"):
        check_answers(agreement, [[*logs[0], lost], *logs[1:]], without)


def test_a_disclosure_is_of_the_kind_about_the_thing_and_for_the_request_that_was_agreed() -> None:
    agreement, _, ledger = EVALUATING
    assert is_agreed(agreement, ledger[0])
    assert not is_agreed(agreement, replace(ledger[0], about=1))
    agreement, logs, ledger = SEALED
    plan = ledger[2]
    assert is_agreed(agreement, plan)
    assert not is_agreed(agreement, replace(plan, about=1))
    assert not is_agreed(agreement, replace(plan, request="ab" * 32))
    assert not is_agreed(agreement, replace(ledger[0], attempt=Attempt.of(2, 1, 1)))

    def another(event: LogEvent) -> LogEvent:
        opened = isinstance(event, Sent) and event.kind is DisclosureKind.PLAN
        return replace(event, request="ab" * 32) if opened else event

    lied = [*ledger[:2], replace(plan, request="ab" * 32)]
    with pytest.raises(LogError, match="not agreed on"):
        check_disclosed(agreement, [changed(log, another) for log in logs], lied)


# Sealed searches.


def test_a_plan_is_of_the_step_that_all_nodes_have_made() -> None:
    agreement, logs, ledger = SEALED
    plan = ledger[2].payload.plan  # type: ignore[union-attr]
    assert "the plan is theirs after 4 steps" in check_plan(
        agreement, logs, ledger, Claim(plan, 4, proved=True)
    )
    for claim, words in (
        (Claim(plan, 3), "the plan is of step 3"),
        (Claim(plan[::-1], 4), "opened another plan"),
        (Claim(plan, 4, earlier=Claim(plan[::-1])), "opened another plan"),
        (Claim(plan, 4, proved=False), "proved that none does"),
    ):
        with pytest.raises(LogError, match=words):
            check_plan(agreement, logs, ledger, claim)
    one, two, bound = batch_begun(0, 4), batch_begun(4, 2), decided("6:1:1")
    assert check_generations_asked([[one, two, bound], [one, two], [one, two]]) == 6
    with pytest.raises(LogError, match="different steps"):
        check_generations_asked([[one, two, bound], [one, two], [one]])


def proof(step: int, *, finished: bool) -> Sent:
    known = DisclosedProof(finished)
    return Sent(DisclosureKind.PROVED, 0, Attempt.of(step, 1, 1), "", "", "", known)


def test_what_is_proved_is_told_to_all_nodes_alike_and_at_every_checkpoint() -> None:
    agreement, _, _ = SEALED  # with checkpoints after 1, 4 and 5
    batches: list[BatchBegun] = [batch_begun(0, 1), batch_begun(1, 3)]
    honest: list[LogEvent] = [*batches, proof(1, finished=False), proof(4, finished=True)]
    told = check_told(agreement, [honest, honest])
    assert told == {(0, 1): False, (0, 4): True}
    check_all_told(agreement, [honest], told)
    unsaid = [replace(event, known=None) if isinstance(event, Sent) else event for event in honest]
    for logs, words in (
        ([honest, [*batches, proof(4, finished=False)]], "one of them lies"),
        ([[*honest, batch_begun(4, 1)]], "after all was proved"),
        ([[batch_begun(0, 1), batch_begun(1, 4)]], "beyond a checkpoint"),
        ([unsaid], "does not say"),
    ):
        with pytest.raises(LogError, match=words):
            check_told(agreement, logs)
    with pytest.raises(UnprovenError, match="no log says"):
        check_all_told(agreement, [batches], check_told(agreement, [batches]))


# Plans for their owners.

CAST = owners_cast()
ATTEMPT = Attempt(CAST.attempt)


def decided(attempt: str) -> PlanDecided:
    """The line of a node that has seen the votes for the state to open."""
    return PlanDecided(0, [0], Attempt(attempt), [])


def heads() -> list[PlanHeads]:
    return [each.heads for each in CAST.sealed() if each is not None]


def for_owners(bound: Sequence[PlanHeads | None]) -> Disclosed:
    return about_search(0, ATTEMPT, DisclosedToOwners([*bound]))


def owners_logs(bound: Sequence[PlanHeads], **changes: Any) -> list[list[LogEvent]]:
    """What nodes log that were bound to these, with the last line of each changed."""
    heard = HeardBoxes([each.boxes for each in bound])
    sent = Sent(DisclosureKind.OWNERS_PLAN, 0, ATTEMPT, "", "", "", heard)
    return [
        [
            batch_begun(0, 9),
            decided(ATTEMPT),
            PlanSealed(0, ATTEMPT, each.commitments, each.boxes),
            replace(sent, **changes),
        ]
        for each in bound
    ]


def test_boxes_are_of_one_plan_and_named_before_they_leave() -> None:
    bound, agreement = heads(), CAST.agreement
    entry = for_owners(bound)
    check_boxes(agreement, owners_logs(bound), [entry])
    other = replace(bound[1], commitments=["ab", bound[1].commitments[1]])
    with pytest.raises(LogError, match="one of them lies"):
        check_boxes(agreement, [], [for_owners([bound[0], other, bound[2]])])
    with pytest.raises(LogError, match="cannot hold"):
        check_boxes(
            agreement, [], [for_owners([replace(bound[0], commitments=["ab"]), None, None])]
        )
    late = owners_logs(bound, known=HeardBoxes(["", bound[1].boxes, bound[2].boxes]))
    with pytest.raises(LogError, match="was not bound to before"):
        check_boxes(agreement, late, [entry])
    others = owners_logs(bound, known=HeardBoxes(["ab" * 32] * 3))
    with pytest.raises(LogError, match="heard of other boxes"):
        check_boxes(agreement, others, [entry])
    logs = owners_logs(bound)
    logs[2].append(decided("8:1:1"))
    with pytest.raises(LogError, match="bound to another plan"):
        check_boxes(agreement, logs, [entry])


def test_a_platform_that_has_the_owners_plan_is_noticed() -> None:
    bound = heads()
    ledger, logs = [for_owners(bound)], owners_logs(bound)
    own = {0: dict(enumerate(bound))}
    said = check_plan(CAST.agreement, logs, ledger, Claim(generation=9, own_parts=own))
    assert "each owner's part is of their one plan" in said
    other = {0: {**own[0], 1: replace(bound[1], boxes="ab")}}
    for claim, words in (
        (Claim(CAST.plan, 9, own_parts=own), "of which it should know nothing"),
        (Claim(own_parts=other), "bound to other parts"),
        (Claim(own_parts={}), "brings no box"),
        (Claim(own_trouble="the box is damaged"), "the box is damaged"),
    ):
        with pytest.raises(LogError, match=words):
            check_plan(CAST.agreement, logs, ledger, claim)


# Inputs.


def test_inputs_are_those_that_their_owners_sealed_last() -> None:
    agreement, names = CAST.agreement, [*CAST.participants]
    columns, bound = agreement.problem.columns, agreement.objectives[0].weight_bound

    def sealed(name: str) -> SealedRows:
        own = np.full((len(agreement.rows_of(name, 0)), columns), bound)
        return seal_rows(agreement, name, 0, own, key=CAST.participants[name])

    manifests = {name: sealed(name) for name in names}
    shown = {(n, 0): (m.manifest.hex(), m.signature.hex()) for n, m in manifests.items()}
    digest = manifests_digest(each.manifest for each in manifests.values())

    def log(node: int, frozen: str = digest, *, last: str | None = None) -> list[LogEvent]:
        taken: list[LogEvent] = [
            InputTaken(0, name, box_hash(each.boxes[node])) for name, each in manifests.items()
        ]
        if last is not None:
            taken.append(InputTaken(0, names[0], last))
        return [*taken, InputsFrozen(0, frozen, ["ab"] * 3)]

    logs = [log(node) for node in range(3)]
    me = names[0]
    own = {0: [manifests[me].manifest]}
    assert "as this machine sealed them" in check_inputs(agreement, logs, shown, me, own)
    later = sealed(me)
    lies: list[tuple[Any, Any, Any, str]] = [
        ([*logs[:2], log(2, "ab" * 32)], shown, own, "did not freeze the same"),
        ([log(node, "ab" * 32) for node in range(3)], shown, own, "froze other inputs"),
        (logs, {**shown, (me, 0): shown[names[1], 0]}, own, "somebody or something else"),
        ([log(0, last="ab" * 32), *logs[1:]], shown, own, "took in another box"),
        (logs, shown, {0: [manifests[me].manifest, later.manifest]}, "an earlier submission"),
        (logs, shown, {0: [later.manifest]}, "rows that it did not seal"),
    ]
    for changed_logs, manifests_shown, sealed_here, words in lies:
        with pytest.raises(LogError, match=words):
            check_inputs(agreement, changed_logs, manifests_shown, me, sealed_here)


def test_what_crashes_a_check_is_wrong() -> None:
    def crash() -> str:
        raise LookupError("nothing there")

    assert not Finding.of("answers", crash).ok
