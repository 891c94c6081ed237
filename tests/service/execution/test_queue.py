"""Slots go round between operators, first come first served among the runs of one."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tacit.service.execution.queue import FairQueue, Waiting


def names(taken: list[Waiting]) -> list[str]:
    return [each.run_id for each in taken]


def test_no_operator_waits_behind_all_runs_of_another() -> None:
    queue = FairQueue({"main": 1})
    for run_id, operator in (("a1", "north"), ("a2", "north"), ("a3", "north"), ("b1", "south")):
        queue.add(Waiting(run_id, "main", operator))
    order = []
    while taken := queue.take():
        order += names(taken)
        queue.release(taken[0].run_id)
    assert order == ["a1", "b1", "a2", "a3"]


def test_clusters_do_not_wait_for_each_other() -> None:
    queue = FairQueue({"north": 1, "south": 2})
    for k in range(4):
        queue.add(Waiting(f"n{k}", "north", "desk"))
        queue.add(Waiting(f"s{k}", "south", "desk"))
    assert names(queue.take()) == ["n0", "s0", "s1"]
    assert queue.take() == []
    assert (queue.running("south"), queue.waiting("south")) == (2, 2)


def test_a_run_is_queued_once_and_can_leave() -> None:
    queue = FairQueue({"main": 1})
    first, second = Waiting("r1", "main", "north"), Waiting("r2", "main", "north")
    for each in (first, first, second):
        queue.add(each)
    assert names(queue.take()) == ["r1"]
    queue.remove("r2")
    queue.release("r1")
    assert queue.take() == []


def test_a_run_that_is_resumed_before_it_has_left_its_slot_is_not_forgotten() -> None:
    queue = FairQueue({"main": 2})
    again = Waiting("r1", "main", "north")
    queue.add(again)
    assert names(queue.take()) == ["r1"]
    queue.add(again)
    queue.add(again)
    assert queue.take() == []
    queue.release("r1")
    assert names(queue.take()) == ["r1"]
    queue.release("r1")
    assert queue.take() == []


@given(
    st.lists(
        st.tuples(st.sampled_from("xyz"), st.sampled_from(["north", "south", "desk"])), max_size=30
    )
)
def test_everybody_runs_once_and_waits_for_at_most_one_of_each_other(
    arrivals: list[tuple[str, str]],
) -> None:
    queue = FairQueue(dict.fromkeys("xyz", 1))
    for k, (cluster, operator) in enumerate(arrivals):
        queue.add(Waiting(str(k), cluster, operator))
    served: list[Waiting] = []
    while taken := queue.take():
        served += taken
        for each in taken:
            queue.release(each.run_id)
    assert sorted(int(each.run_id) for each in served) == list(range(len(arrivals)))
    for cluster in "xyz":
        operators = [each.operator for each in served if each.cluster == cluster]
        for at, operator in enumerate(operators[1:], start=1):
            if operator == operators[at - 1]:  # twice in a row: nobody else was waiting
                assert set(operators[at:]) == {operator}
